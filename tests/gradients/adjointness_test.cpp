// The kernel's adjointness check: what it proves, how it says what is wrong, and what it refuses.
#include "kernel/gradients/adjointness/adjointness.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "kernel/gradients/adjointness/cases.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

using gradients::AdjointCase;
using gradients::AdjointMethod;
using gradients::check_adjointness;
using gradients::Domain;

// A graph y(x0, ...) over small real tensors; f appends the nodes and gives y.
template <class F>
AdjointCase case_of(const std::string& name, const std::vector<Shape>& shapes, const F& f, std::vector<double> kinks = {},
                    Domain domain = {}) {
  AdjointCase one{name, {}, {}, std::move(kinks)};
  std::vector<NodeId> x;
  for (const Shape& shape : shapes) {
    x.push_back(one.graph.append_input(DType::float32, shape, "x" + std::to_string(x.size())));
    one.domains.push_back(domain);
  }
  one.graph.mark_output(f(one.graph, x), "y");
  return one;
}

// A vector-Jacobian product written by hand: the inputs of the case and y_bar to one cotangent per input.
template <class F>
Graph vjp_of(const AdjointCase& one, const F& f) {
  Graph graph;
  std::vector<NodeId> x;
  for (std::size_t k = 0; k < one.graph.inputs.size(); ++k)
    x.push_back(graph.append_input(DType::float32, one.graph.node(one.graph.inputs[k]).shape, one.graph.input_names[k]));
  x.push_back(graph.append_input(DType::float32, one.graph.node(one.graph.outputs[0]).shape, "y_bar"));
  std::size_t k = 0;
  for (const NodeId bar : f(graph, x)) graph.mark_output(bar, "x" + std::to_string(k++) + "_bar");
  return graph;
}

NodeId put(Graph& graph, Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
  return graph.append(op, std::move(operands), std::move(attributes)).value();
}
NodeId number(Graph& graph, float value) { return graph.append_constant(Tensor::of_floats({}, std::vector<float>{value})); }
ReduceAttributes over(std::int64_t axis, bool keep_dims = true) { return {{axis}, keep_dims}; }

using Ids = std::vector<NodeId>;

std::string code(const Outcome<gradients::Adjointness>& outcome) { return outcome.ok() ? "proved" : outcome.rejection().code; }

}  // namespace

TEST_CASE("adjointness: the rule of every op is proved on its representative set", "[adjointness]") {
  for (int k = 0; k < kOpCount; ++k) {
    CAPTURE(op_row(static_cast<Op>(k)).name);
    for (const AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      for (const std::uint64_t seed : {1U, 2U}) {
        const auto outcome = check_adjointness(one, seed);
        INFO(one.name << ", seed " << seed << ": " << (outcome.ok() ? "" : outcome.rejection().to_text()));
        REQUIRE(outcome.ok());
        CHECK(outcome.value().points >= 2);
        CHECK((one.kinks.empty() || outcome.value().directions > 0));
        if (outcome.value().method == AdjointMethod::probed) CHECK(outcome.value().miss_log2 < -40);
      }
    }
  }
}

TEST_CASE("adjointness: the only ops without cases have no real operand or no real result", "[adjointness]") {
  std::set<std::string> without;
  for (int k = 0; k < kOpCount; ++k) {
    const std::vector<AdjointCase> cases = gradients::adjoint_cases(static_cast<Op>(k));
    if (cases.empty()) without.emplace(op_row(static_cast<Op>(k)).name);
    std::set<std::string> names;
    for (const AdjointCase& one : cases) {
      CHECK(names.insert(one.name).second);
      CHECK(one.graph.node(one.graph.outputs[0]).op == static_cast<Op>(k));
    }
  }
  const std::set<std::string> expected{"input",  "constant",   "bitwise_and", "bitwise_or",  "bitwise_xor", "equal",
                                       "less",   "less_equal", "logical_not", "logical_and", "logical_or",  "logical_xor",
                                       "is_nan", "is_inf",     "arg_max",     "arg_min",     "arg_sort"};
  CHECK(without == expected);
}

TEST_CASE("adjointness: the method follows from what the op is", "[adjointness]") {
  const auto method = [](Op op) { return check_adjointness(gradients::adjoint_cases(op)[0], 1).value().method; };
  for (const Op op : {Op::conv, Op::matmul, Op::div, Op::reduce_prod, Op::permute, Op::avg_pool})
    CHECK(method(op) == AdjointMethod::probed);
  for (const Op op : {Op::relu, Op::max_pool, Op::where, Op::mod, Op::hard_swish, Op::floor}) CHECK(method(op) == AdjointMethod::exact);
  for (const Op op : {Op::exp, Op::softmax, Op::gelu, Op::normalise, Op::sqrt, Op::power}) CHECK(method(op) == AdjointMethod::opaque);
}

TEST_CASE("adjointness: a wrong entry is named with both sides", "[adjointness]") {
  const AdjointCase one = case_of("products", {{2}, {2}}, [](Graph& g, const Ids& x) { return put(g, Op::mul, {x[0], x[1]}); });
  const Graph wrong = vjp_of(one, [](Graph& g, const Ids& x) {
    const NodeId swapped = put(g, Op::gather, {x[0]}, GatherAttributes{0, {0, 0}, {2}});
    return Ids{put(g, Op::mul, {x[2], x[1]}), put(g, Op::mul, {x[2], swapped})};
  });
  const auto outcome = check_adjointness(one, wrong, 1);
  REQUIRE(code(outcome) == "adjointness.entry");
  CHECK(outcome.rejection().kind == Rejection::Kind::rejected);
  CHECK(outcome.rejection().place == "case 'products', d y[1] / d x1[1]");
  CHECK(outcome.rejection().found.find(" modulo 2^61 - 1 and ") != std::string::npos);
}

TEST_CASE("adjointness: not linear in the cotangent", "[adjointness]") {
  const AdjointCase one = case_of("identity", {{2}}, [](Graph& g, const Ids& x) { return put(g, Op::scale, {x[0]}, ScaleAttributes{1}); });
  const Graph squares = vjp_of(one, [](Graph& g, const Ids& x) { return Ids{put(g, Op::mul, {x[1], x[1]})}; });  // right for unit vectors
  CHECK(code(check_adjointness(one, squares, 1)) == "adjointness.entry");
}

TEST_CASE("adjointness: an operand used twice collects both cotangents", "[adjointness]") {
  const AdjointCase one = case_of("x exp(x)", {{3}}, [](Graph& g, const Ids& x) {
    return put(g, Op::mul, {x[0], put(g, Op::exp, {x[0]})});
  });
  CHECK(code(check_adjointness(one, 1)) == "proved");
  const Graph one_branch = vjp_of(one, [](Graph& g, const Ids& x) { return Ids{put(g, Op::mul, {x[1], put(g, Op::exp, {x[0]})})}; });
  CHECK(code(check_adjointness(one, one_branch, 1)) == "adjointness.entry");
  const Graph forward_again = vjp_of(one, [](Graph& g, const Ids& x) { return Ids{put(g, Op::mul, {x[1], put(g, Op::exp, {x[1]})})}; });
  CHECK(code(check_adjointness(one, forward_again, 1)) == "adjointness.entry");
}

TEST_CASE("adjointness: the product of all over one of them has no value at 0", "[adjointness]") {
  const AdjointCase one = gradients::adjoint_cases(Op::reduce_prod)[2];  // everything
  const Graph quotient = vjp_of(one, [](Graph& g, const Ids& x) {
    const NodeId y = put(g, Op::reduce_prod, {x[0]}, ReduceAttributes{{0, 1}, false});
    return Ids{put(g, Op::mul, {x[1], put(g, Op::div, {y, x[0]})})};
  });
  CHECK(code(check_adjointness(one, quotient, 1)) == "adjointness.domain");
}

TEST_CASE("adjointness: a convention at a kink is outside the set", "[adjointness]") {
  const AdjointCase one = gradients::adjoint_cases(Op::relu)[0];
  for (const Op relation : {Op::less, Op::less_equal}) {
    const Graph convention = vjp_of(one, [relation](Graph& g, const Ids& x) {
      return Ids{put(g, Op::where, {put(g, relation, {number(g, 0), x[0]}), x[1], number(g, 0)})};
    });
    CHECK(code(check_adjointness(one, convention, 1)) == "adjointness.kink");
  }
  const Graph wide = vjp_of(one, [](Graph& g, const Ids& x) {  // step + step - step: right at each side, [-1, 2] at 0
    const NodeId step = put(g, Op::step, {x[0]});
    return Ids{put(g, Op::mul, {x[1], put(g, Op::sub, {put(g, Op::add, {step, step}), step})})};
  });
  CHECK(code(check_adjointness(one, wide, 1)) == "adjointness.hull");
}

TEST_CASE("adjointness: one order of equal elements is a convention, too", "[adjointness]") {
  const AdjointCase one = case_of("sorted", {{3}},
                                  [](Graph& g, const Ids& x) {
                                    return put(g, Op::sort, {x[0]}, SortAttributes{0, 3, true});
                                  },
                                  {0, 1});
  CHECK(code(check_adjointness(one, 1)) == "proved");
  const Graph by_position = vjp_of(one, [](Graph& g, const Ids& x) {
    const NodeId order = put(g, Op::arg_sort, {x[0]}, SortAttributes{0, 3, true});
    const NodeId back = put(g, Op::arg_sort, {put(g, Op::neg, {order})}, SortAttributes{0, 3, true});
    return Ids{put(g, Op::take, {back, x[1]}, ConcatAttributes{0})};
  });
  CHECK(code(check_adjointness(one, by_position, 1)) == "adjointness.kink");
  AdjointCase off_ties = one;
  off_ties.kinks.clear();
  CHECK(code(check_adjointness(off_ties, by_position, 1)) == "proved");
}

TEST_CASE("adjointness: statistics that are taken for constants", "[adjointness]") {
  const AdjointCase one = case_of("centred over deviation", {{2, 3}}, [](Graph& g, const Ids& x) {
    return put(g, Op::normalise, {x[0]}, NormaliseAttributes{{1}, 0.5, NormaliseAttributes::Form::centered});
  });
  CHECK(code(check_adjointness(one, 1)) == "proved");
  const auto rule = [&](bool mean, bool variance) {
    return vjp_of(one, [&](Graph& g, const Ids& x) {
      const NodeId centered = put(g, Op::sub, {x[0], put(g, Op::reduce_mean, {x[0]}, over(1))});
      const NodeId v = put(g, Op::reduce_mean, {put(g, Op::mul, {centered, centered})}, over(1));
      const NodeId r = put(g, Op::reciprocal, {put(g, Op::sqrt, {put(g, Op::add, {v, number(g, 0.5F)})})});
      const NodeId y = put(g, Op::mul, {centered, r});
      NodeId bar = x[1];
      if (mean) bar = put(g, Op::sub, {bar, put(g, Op::reduce_mean, {x[1]}, over(1))});
      if (variance) bar = put(g, Op::sub, {bar, put(g, Op::mul, {y, put(g, Op::reduce_mean, {put(g, Op::mul, {x[1], y})}, over(1))})});
      return Ids{put(g, Op::mul, {bar, r})};
    });
  };
  CHECK(code(check_adjointness(one, rule(true, true), 1)) == "proved");
  CHECK(code(check_adjointness(one, rule(false, true), 1)) == "adjointness.entry");
  CHECK(code(check_adjointness(one, rule(true, false), 1)) == "adjointness.entry");
}

TEST_CASE("adjointness: another way to write a rule down is no fault", "[adjointness]") {
  const AdjointCase softmax = gradients::adjoint_cases(Op::softmax)[0];
  const Graph by_exponentials = vjp_of(softmax, [](Graph& g, const Ids& x) {
    const NodeId e = put(g, Op::exp, {x[0]}), y = put(g, Op::div, {e, put(g, Op::reduce_sum, {e}, over(1))});
    const NodeId product = put(g, Op::mul, {x[1], y});
    return Ids{put(g, Op::sub, {product, put(g, Op::mul, {y, put(g, Op::reduce_sum, {product}, over(1))})})};
  });
  CHECK(code(check_adjointness(softmax, by_exponentials, 1)) == "proved");
  const AdjointCase tanh = gradients::adjoint_cases(Op::tanh)[0];
  const Graph by_cosh = vjp_of(tanh, [](Graph& g, const Ids& x) {
    const NodeId c = put(g, Op::cosh, {x[0]});
    return Ids{put(g, Op::div, {x[1], put(g, Op::mul, {c, c})})};
  });
  CHECK(code(check_adjointness(tanh, by_cosh, 1)) == "proved");
  const AdjointCase relu = gradients::adjoint_cases(Op::relu)[0];
  const Graph by_abs = vjp_of(relu, [](Graph& g, const Ids& x) {  // 1 - step(-x)
    return Ids{put(g, Op::mul, {put(g, Op::sub, {number(g, 1), put(g, Op::step, {put(g, Op::neg, {x[0]})})}), x[1]})};
  });
  CHECK(code(check_adjointness(relu, by_abs, 1)) == "proved");
}

TEST_CASE("adjointness: a gradient is proved as an op of its own", "[adjointness]") {
  for (const Op op : {Op::softmax, Op::conv, Op::tanh, Op::normalise}) {
    const AdjointCase one = gradients::adjoint_cases(op)[0];
    const Graph vjp = gradients::reverse_of(one.graph).value();
    std::vector<Domain> domains = one.domains;
    domains.emplace_back();
    AdjointCase second{one.name + ", second order", vjp, domains, {}};
    second.graph.outputs.resize(1);
    second.graph.output_names.resize(1);
    const auto outcome = check_adjointness(second, 1);
    INFO(one.name << (outcome.ok() ? "" : outcome.rejection().to_text()));
    CHECK(outcome.ok());
  }
}

TEST_CASE("adjointness: points are drawn inside of domains of any size", "[adjointness]") {
  const auto abs = [](Graph& graph, const Ids& x) { return put(graph, Op::abs, {x[0]}); };
  for (const Domain domain : {Domain{-1.7e308, 1.7e308}, Domain{-1e-300, 1e-300}}) {
    const AdjointCase one = case_of("abs", {{3}}, abs, {}, domain);
    const Graph wrong = vjp_of(one, [](Graph& graph, const Ids& x) {
      return Ids{put(graph, Op::neg, {put(graph, Op::mul, {x[1], put(graph, Op::sign, {x[0]})})})};
    });
    CHECK(code(check_adjointness(one, wrong, 5)) == "adjointness.entry");
    CHECK(code(check_adjointness(one, 5)) == "proved");
  }
}

TEST_CASE("adjointness: a rule that never has a residue where the meaning has one proves nothing", "[adjointness]") {
  const AdjointCase one =
      case_of("asin", {{100}}, [](Graph& graph, const Ids& x) { return put(graph, Op::asin, {x[0]}); }, {}, {-0.9, 0.9});
  // 17 is no square modulo the prime; 17 (1 - x^2) is one where 1 - x^2 is none.
  const Graph constant = vjp_of(one, [](Graph& graph, const Ids& x) {
    return Ids{put(graph, Op::mul, {x[1], put(graph, Op::sqrt, {number(graph, 17)})})};
  });
  const Graph opposite = vjp_of(one, [](Graph& graph, const Ids& x) {
    const NodeId rest = put(graph, Op::sub, {number(graph, 1), put(graph, Op::mul, {x[0], x[0]})});
    return Ids{put(graph, Op::mul, {x[1], put(graph, Op::sqrt, {put(graph, Op::mul, {number(graph, 17), rest})})})};
  });
  const Graph half = vjp_of(one, [](Graph& graph, const Ids& x) {  // right but for the last element, whose root is another one
    std::vector<float> factors(100, 1);
    factors.back() = 17;
    const NodeId rest = put(graph, Op::sub, {number(graph, 1), put(graph, Op::mul, {x[0], x[0]})});
    const NodeId root = put(graph, Op::sqrt, {put(graph, Op::mul, {graph.append_constant(Tensor::of_floats({100}, factors)), rest})});
    return Ids{put(graph, Op::div, {x[1], root})};
  });
  CHECK(code(check_adjointness(one, constant, 5)) != "proved");
  CHECK(code(check_adjointness(one, opposite, 5)) != "proved");
  CHECK(code(check_adjointness(one, half, 5)) != "proved");
  CHECK(code(check_adjointness(one, 5)) == "proved");
}

TEST_CASE("adjointness: a quotient by 0 that a choice leaves out is no fault, one that it takes is", "[adjointness]") {
  const AdjointCase one = case_of("nothing", {{3}}, [](Graph& graph, const Ids& x) { return put(graph, Op::sub, {x[0], x[0]}); });
  const auto rule = [&](float otherwise) {
    return vjp_of(one, [otherwise](Graph& graph, const Ids& x) {
      const NodeId zero = put(graph, Op::sub, {x[0], x[0]});
      const NodeId is_zero = put(graph, Op::equal, {zero, number(graph, otherwise)});
      return Ids{put(graph, Op::where, {is_zero, zero, put(graph, Op::div, {x[1], zero})})};
    });
  };
  CHECK(code(check_adjointness(one, rule(0), 5)) == "proved");
  CHECK(code(check_adjointness(one, rule(1), 5)) == "adjointness.domain");
}

TEST_CASE("adjointness: a masked softmax that the product computes anew, with -infinity", "[adjointness]") {
  enum class Wrong { none, mask, other_mask, sum, fill };
  const auto infinity = [](Graph& graph, float sign) { return number(graph, sign * std::numeric_limits<float>::infinity()); };
  const auto masked = [&](Graph& graph, NodeId x, bool turned) {
    const std::vector<float> mask = turned ? std::vector<float>{1, 0, 0, 1, 1, 0} : std::vector<float>{1, 1, 0, 0, 1, 1};
    const NodeId open = put(graph, Op::equal, {graph.append_constant(Tensor::of_floats({2, 3}, mask)), number(graph, 1)});
    return put(graph, Op::where, {open, x, infinity(graph, -1)});
  };
  const auto by_hand = [&](Graph& graph, NodeId z) {  // exp(z - max) over its sum
    const NodeId power = put(graph, Op::exp, {put(graph, Op::sub, {z, put(graph, Op::reduce_max, {z}, over(1))})});
    return put(graph, Op::div, {power, put(graph, Op::reduce_sum, {power}, over(1))});
  };
  const AdjointCase one = case_of("masked", {{2, 3}}, [&](Graph& graph, const Ids& x) {
    return put(graph, Op::softmax, {masked(graph, x[0], false)}, SoftmaxAttributes{1});
  });
  const auto rule = [&](Wrong wrong, bool is_by_hand) {
    return vjp_of(one, [&](Graph& graph, const Ids& x) {
      const NodeId z = wrong == Wrong::mask ? x[0] : masked(graph, x[0], wrong == Wrong::other_mask);
      const NodeId y = is_by_hand ? by_hand(graph, z) : put(graph, Op::softmax, {z}, SoftmaxAttributes{1});
      const NodeId sum = put(graph, Op::reduce_sum, {put(graph, Op::mul, {x[1], y})}, over(1));
      const NodeId bar = put(graph, Op::mul, {y, wrong == Wrong::sum ? x[1] : put(graph, Op::sub, {x[1], sum})});
      return Ids{wrong == Wrong::fill ? put(graph, Op::add, {bar, infinity(graph, 1)}) : bar};
    });
  };
  for (const bool is_by_hand : {false, true}) {
    CHECK(code(check_adjointness(one, rule(Wrong::none, is_by_hand), 5)) == "proved");
    for (const Wrong wrong : {Wrong::mask, Wrong::other_mask, Wrong::sum})
      CHECK(code(check_adjointness(one, rule(wrong, is_by_hand), 5)) == "adjointness.entry");
    CHECK(code(check_adjointness(one, rule(Wrong::fill, is_by_hand), 5)) == "adjointness.domain");
  }
  const Graph of_nan = vjp_of(one, [&](Graph& graph, const Ids& x) { return Ids{put(graph, Op::add, {x[1], number(graph, NAN)})}; });
  CHECK(code(check_adjointness(one, of_nan, 5)) == "adjointness.graph");
}

TEST_CASE("adjointness: an infinite result has no derivative, and the cotangents of the others are judged", "[adjointness]") {
  const auto fill = [](Graph& graph) {
    const float infinity = std::numeric_limits<float>::infinity();
    return graph.append_constant(Tensor::of_floats({3}, std::vector<float>{0, -infinity, 0}));
  };
  const AdjointCase one = case_of("filled", {{3}}, [&](Graph& graph, const Ids& x) { return put(graph, Op::add, {x[0], fill(graph)}); });
  const Graph right = vjp_of(one, [](Graph& graph, const Ids& x) { return Ids{put(graph, Op::neg, {put(graph, Op::neg, {x[1]})})}; });
  const Graph constant = vjp_of(one, [](Graph& graph, const Ids& x) {  // 1 more where the result is infinite
    return Ids{put(graph, Op::add, {x[1], graph.append_constant(Tensor::of_floats({3}, std::vector<float>{0, 1, 0}))})};
  });
  const Graph twice = vjp_of(one, [](Graph& graph, const Ids& x) { return Ids{put(graph, Op::add, {x[1], x[1]})}; });
  CHECK(code(check_adjointness(one, right, 5)) == "proved");
  CHECK(code(check_adjointness(one, constant, 5)) == "adjointness.entry");
  CHECK(code(check_adjointness(one, twice, 5)) == "adjointness.entry");
}

TEST_CASE("adjointness: what it refuses", "[adjointness]") {
  const AdjointCase one = case_of(
      "root", {{2}}, [](Graph& g, const Ids& x) { return put(g, Op::sqrt, {x[0]}); }, {}, Domain{-2, -1});
  const auto nowhere = check_adjointness(one, 1);
  CHECK(code(nowhere) == "adjointness.points");
  CHECK(nowhere.rejection().kind == Rejection::Kind::declined);
  const AdjointCase relu = gradients::adjoint_cases(Op::relu)[0];
  CHECK(code(check_adjointness(relu, relu.graph, 1)) == "adjointness.graph");
  const Graph other_shape = vjp_of(relu, [](Graph& g, const Ids& x) { return Ids{put(g, Op::reduce_sum, {x[1]}, over(0))}; });
  CHECK(code(check_adjointness(relu, other_shape, 1)) == "adjointness.graph");
  AdjointCase no_domains = relu;
  no_domains.domains.clear();
  CHECK(code(check_adjointness(no_domains, gradients::reverse_of(relu.graph).value(), 1)) == "adjointness.graph");
}

}  // namespace assay::test
