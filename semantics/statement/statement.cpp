// Statement: validation, and the canonical bytes from which digests are computed.

#include "semantics/statement/statement.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "semantics/ops/integer_range.h"

namespace assay::statement {

namespace {

// The order of the terms of a row has no meaning, so they are sorted by side (inputs first), tensor, element.
std::tuple<bool, std::uint32_t, std::uint64_t> key(const Variable& v) { return {v.side == Variable::Side::output, v.tensor, v.element}; }

// ---- canonical bytes (docs/reference/canonical-graph.md) ----

void put(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<std::byte>(value >> shift & 0xff));
}
void put(std::vector<std::byte>& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}
void put(std::vector<std::byte>& out, const Rational& value) { put(out, value.to_string()); }
void put(std::vector<std::byte>& out, const Digest& digest) {
  for (const std::uint8_t byte : digest) out.push_back(static_cast<std::byte>(byte));
}

void put(std::vector<std::byte>& out, const InputBox& box) {
  for (const auto* ends : {&box.lo, &box.hi}) {
    put(out, std::uint64_t{ends->size()});
    for (const Rational& end : *ends) put(out, end);
  }
}

Digest box_digest(const InputBox& box) {
  std::vector<std::byte> out;
  put(out, box);
  return sha256(out);
}

void put(std::vector<std::byte>& out, const Row& row) {
  std::vector<const Term*> terms;
  for (const Term& term : row.terms) terms.push_back(&term);
  std::stable_sort(terms.begin(), terms.end(), [](const Term* a, const Term* b) { return key(a->variable) < key(b->variable); });
  put(out, std::uint64_t{terms.size()});
  for (const Term* term : terms) {
    put(out, std::uint64_t{term->variable.side == Variable::Side::output});
    put(out, std::uint64_t{term->variable.tensor});
    put(out, term->variable.element);
    put(out, term->coefficient);
  }
  put(out, row.bound);
  put(out, std::uint64_t{row.strict});
}

void put(std::vector<std::byte>& out, const std::vector<Row>& rows) {
  put(out, std::uint64_t{rows.size()});
  for (const Row& row : rows) put(out, row);
}

void put(std::vector<std::byte>& out, const Property& property) {
  // Cases that share a box share the pointer, so its digest is computed once.
  std::map<const InputBox*, Digest> known;
  put(out, std::uint64_t{property.cases.size()});
  for (const Case& one : property.cases) {
    const auto [place, is_new] = known.try_emplace(one.box.get());
    if (is_new && one.box) place->second = box_digest(*one.box);
    put(out, place->second);
    put(out, one.rows);
  }
}

void put(std::vector<std::byte>& out, const ExecutionModel& model) {
  put(out, static_cast<std::uint64_t>(model.kind));
  put(out, static_cast<std::uint64_t>(model.format));
  put(out, static_cast<std::uint64_t>(model.rounding));
  put(out, std::uint64_t{model.flush_operands});
  put(out, std::uint64_t{model.flush_results});
  put(out, std::uint64_t{model.fused_multiply_add});
  put(out, static_cast<std::uint64_t>(model.accumulator));
  put(out, std::uint64_t{model.bias_in_product});
  put(out, model.math_table);
  if (model.kind == ExecutionModel::Kind::floating) put(out, to_string(model));  // the spelling names every field
}

// ---- validation ----

class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph) {}

  std::vector<Rejection> of_graph() {
    problems_ = assay::validate(graph_);
    if (!problems_.empty()) return std::move(problems_);
    for (const NodeId id : graph_.inputs) check_real("input", id);
    for (const NodeId id : graph_.outputs) check_real("output", id);
    return std::move(problems_);
  }

  std::vector<Rejection> of(const Property& property) {
    for (const NodeId id : graph_.inputs) input_elements_ += graph_.size(id);
    if (property.cases.empty()) {
      add("statement.no_case", "property", "at least one case", "none", "a property without cases claims nothing");
    }
    for (std::size_t i = 0; i < property.cases.size(); ++i) check_case(property.cases[i], "case " + std::to_string(i));
    return std::move(problems_);
  }

 private:
  void add(std::string code, std::string place, std::string required, std::string found, std::string advice,
           Rejection::Kind kind = Rejection::Kind::malformed) {
    problems_.push_back({kind, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)});
  }

  void check_real(const std::string& role, NodeId id) {
    if (graph_.node(id).dtype != DType::complex64) return;
    add("statement." + role + "_dtype", role + " node " + std::to_string(id) + " '" + graph_.node(id).name + "'",
        "float, integer or boolean elements", to_string(graph_.node(id).dtype), "export real and imaginary part as two tensors",
        Rejection::Kind::unsupported);
  }

  void check_case(const Case& one, const std::string& place) {
    if (one.box == nullptr) {
      add("statement.no_box", place, "an input box", "none", "bound every input from both sides");
    } else if (checked_.insert(one.box.get()).second && (one.box->lo.size() != input_elements_ || one.box->hi.size() != input_elements_)) {
      add("statement.box_size", place, std::to_string(input_elements_) + " lower and upper bounds, one per input element",
          std::to_string(one.box->lo.size()) + " and " + std::to_string(one.box->hi.size()), "bound every input from both sides");
    }
    for (std::size_t i = 0; i < one.rows.size(); ++i) check_row(one.rows[i], place + ", row " + std::to_string(i));
  }

  void check_row(const Row& row, const std::string& place) {
    std::set<std::tuple<bool, std::uint32_t, std::uint64_t>> seen;
    for (std::size_t i = 0; i < row.terms.size(); ++i) {
      const Term& term = row.terms[i];
      const std::string here = place + ", term " + std::to_string(i);
      check_variable(term.variable, here);
      if (term.coefficient.sign() == 0) add("statement.zero_coefficient", here, "coefficient != 0", "0", "drop the term");
      if (!seen.insert(key(term.variable)).second) {
        add("statement.repeated_variable", here, "each variable at most once in a row", "a variable twice", "add the coefficients up");
      }
    }
  }

  void check_variable(const Variable& variable, const std::string& place) {
    const bool is_output = variable.side == Variable::Side::output;
    const std::vector<NodeId>& tensors = is_output ? graph_.outputs : graph_.inputs;
    const std::string side = is_output ? "output" : "input";
    if (variable.tensor >= tensors.size()) {
      return add("statement.variable", place, "one of " + std::to_string(tensors.size()) + " " + side + " tensors",
                 "tensor " + std::to_string(variable.tensor), "name a tensor of the model");
    }
    const std::size_t size = graph_.size(tensors[variable.tensor]);
    if (variable.element >= size) {
      add("statement.variable", place, "element < " + std::to_string(size) + " of " + side + " tensor " + std::to_string(variable.tensor),
          "element " + std::to_string(variable.element), "the property was written for a model of another shape");
    }
  }

  const Graph& graph_;
  std::size_t input_elements_ = 0;
  std::set<const InputBox*> checked_;
  std::vector<Rejection> problems_;
};

}  // namespace

std::shared_ptr<const InputBox> values_in(const Graph& graph, const std::shared_ptr<const InputBox>& box) {
  const auto all_reals = [&](NodeId id) { return is_float(graph.node(id).dtype); };
  if (std::ranges::all_of(graph.inputs, all_reals)) return box;
  const auto inside = std::make_shared<InputBox>(*box);
  std::size_t i = 0;
  for (const NodeId id : graph.inputs) {
    const std::size_t end = i + graph.size(id);
    if (all_reals(id)) i = end;
    if (i == end) continue;
    const auto [least, most] = range_of(graph.node(id).dtype);
    for (; i < end; ++i) {
      inside->lo[i] = std::max(-floor(-box->lo[i]), least);
      inside->hi[i] = std::min(floor(box->hi[i]), most);
    }
  }
  return inside;
}

Digest graph_digest(const Graph& graph) { return sha256(canonical_bytes(graph)); }

Digest statement_digest(const Digest& graph, const Property& property, const ExecutionModel& semantics) {
  std::vector<std::byte> out;
  put(out, "assay statement 1");
  put(out, graph);
  put(out, property);
  put(out, semantics);
  return sha256(out);
}

Digest statement_digest(const Statement& statement) {
  return statement_digest(graph_digest(statement.graph), statement.property, statement.semantics);
}

std::vector<std::byte> statement_bytes(const Statement& statement) {
  std::vector<std::byte> out;
  put(out, kStatementMagic);
  const std::vector<std::byte> graph = canonical_bytes(statement.graph);
  out.insert(out.end(), graph.begin(), graph.end());
  std::map<const InputBox*, std::uint64_t> numbers;
  std::vector<const InputBox*> boxes;
  for (const Case& one : statement.property.cases) {
    if (numbers.try_emplace(one.box.get(), boxes.size()).second) boxes.push_back(one.box.get());
  }
  put(out, std::uint64_t{boxes.size()});
  for (const InputBox* box : boxes) put(out, *box);
  put(out, std::uint64_t{statement.property.cases.size()});
  for (const Case& one : statement.property.cases) {
    put(out, numbers.at(one.box.get()));
    put(out, one.rows);
  }
  put(out, statement.semantics);
  return out;
}

std::vector<Rejection> validate_graph(const Graph& graph) { return Validator(graph).of_graph(); }
std::vector<Rejection> validate_property(const Graph& graph, const Property& property) { return Validator(graph).of(property); }
std::vector<Rejection> validate(const Statement& statement) {
  auto problems = validate_graph(statement.graph);  // on an invalid graph, element counts and variables have no meaning
  return problems.empty() ? validate_property(statement.graph, statement.property) : problems;
}

}  // namespace assay::statement
