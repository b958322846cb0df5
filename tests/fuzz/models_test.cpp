// Models by seeded rules, with extreme numbers where shapes, axes, counts and windows are read, and files of such models bent byte by byte:
// each is read, opened and swept, or refused, within its budget.
#include <map>

#include "api/check/cost.h"
#include "certificates/check/session.h"
#include "frontends/onnx/import.h"
#include "tests/frontends/onnx_builder.h"
#include "tests/fuzz/fuzz.h"

using namespace assay;
using namespace assay::onnx_test;

namespace {

std::int64_t number(fuzz::Random& random) {
  static const std::vector<std::int64_t> kNumbers{
      1, 2, 0, 3, -1, 4, 5, 7, 64, 1000, 65536, 1 << 20, 1 << 24, 200'000'000, 1'000'000'000, 2147483647};
  const std::size_t most = fuzz::below(random, 10) == 0 ? kNumbers.size() : fuzz::below(random, 4) == 0 ? 8 : 4;
  return fuzz::below(random, 40) == 0 ? static_cast<std::int64_t>(fuzz::extreme(random)) : kNumbers[fuzz::below(random, most)];
}

std::vector<std::int64_t> numbers(fuzz::Random& random, std::size_t most) {
  std::vector<std::int64_t> list(1 + fuzz::below(random, most));
  for (std::int64_t& one : list) one = number(random);
  return list;
}

// A chain of ops on x [1, 2, 4, 4], whose other operands are constants with numbers from above.
class Maker {
 public:
  explicit Maker(fuzz::Random& random) : random_(random) {
    text_.inputs = {value("x", {1, 2, 4, 4})};
    text_.opset = 13 + static_cast<std::int64_t>(fuzz::below(random, 6));
  }

  std::string model() {
    for (std::size_t left = 1 + fuzz::below(random_, 6); left > 0; --left) add();
    text_.outputs = {untyped(last_)};
    return text_.bytes();
  }

 private:
  std::string constant(const std::vector<std::int64_t>& values) {
    const std::string name = "c" + std::to_string(++count_);
    text_.initializers.push_back(ints(name, values));
    return name;
  }
  std::string weights(const std::vector<std::int64_t>& dims) {
    const std::string name = "c" + std::to_string(++count_);
    std::size_t size = 1;
    for (const std::int64_t dim : dims) size *= static_cast<std::size_t>(dim);
    std::vector<float> values(size);
    for (float& one : values) one = static_cast<float>(fuzz::below(random_, 9)) / 4 - 1;
    text_.initializers.push_back(onnx_test::floats(name, dims, values));
    return name;
  }
  // The last result becomes the operand of the next op.
  void then(const std::string& op, const std::vector<std::string>& others, const std::vector<std::string>& attributes = {}) {
    std::vector<std::string> inputs{last_};
    inputs.insert(inputs.end(), others.begin(), others.end());
    last_ = "t" + std::to_string(++count_);
    text_.nodes.push_back(node(op, inputs, {last_}, attributes));
  }
  std::int64_t some() { return number(random_); }
  std::vector<std::int64_t> list(std::size_t most = 4) { return numbers(random_, most); }

  void add() {
    static const std::vector<std::string> kUnary{"Relu",  "Sigmoid",  "Tanh",       "Exp",   "Softmax",       "Erf",     "Neg", "Abs",
                                                 "Floor", "Gelu",     "Transpose",  "Shape", "Size",          "NonZero", "Not", "Sqrt",
                                                 "Log",   "Identity", "LogSoftmax", "Elu",   "GlobalMaxPool", "Det"};
    switch (fuzz::below(random_, 24)) {
      case 0:
        return then("Expand", {constant(list(6))});
      case 1:
        return then("Reshape", {constant(list(6))});
      case 2:
        return then("Tile", {constant({some(), some(), some(), some()})});
      case 3:
        return then("Pad", {constant({some(), some(), some(), some(), some(), some(), some(), some()})});
      case 4:
        return then("Resize", {"", "", constant({1, 2, some(), some()})},
                    {attr("mode", fuzz::below(random_, 2) == 0 ? "linear" : "nearest")});
      case 5:
        return then("Gather", {constant(list(9))}, {attr("axis", some())});
      case 6:
        return then("Slice", {constant(list(4)), constant(list(4)), constant(list(4)), constant(list(4))});
      case 7:
        return then("MaxPool", {}, {attr("kernel_shape", list(3)), attr("pads", list(4)), attr("strides", list(2))});
      case 8:
        return then("AveragePool", {}, {attr("kernel_shape", {some(), some()}), attr("strides", {some(), some()})});
      case 9:
        return then("Conv", {weights({1 + static_cast<std::int64_t>(fuzz::below(random_, 3)), 2, 3, 3})},
                    {attr("pads", {some(), some(), some(), some()}), attr("dilations", {some(), some()}), attr("group", some())});
      case 10:
        return then("CumSum", {constant({some()})});
      case 11:
        return then("TopK", {constant({some()})}, {attr("axis", some())});
      case 12:
        return then("ArgMax", {}, {attr("axis", some()), attr("keepdims", 0)});
      case 13:
        return then("Cast", {}, {attr("to", static_cast<std::int64_t>(fuzz::below(random_, 17)))});
      case 14:
        return then("MatMul", {weights({4, 1 + static_cast<std::int64_t>(fuzz::below(random_, 5))})});
      case 15:
        return then(fuzz::below(random_, 2) == 0 ? "Mul" : "Add", {last_});
      case 16:
        return then("Einsum", {last_}, {attr("equation", fuzz::below(random_, 2) == 0 ? "abcd,efgh->abcdefgh" : "abcd,abef->cdef")});
      case 17:
        return then("ReduceSum", {constant(list(3))});
      case 18:
        return then("DepthToSpace", {}, {attr("blocksize", some())});
      case 19:
        return then("LRN", {}, {attr("size", some())});
      case 20:
        return then("ConstantOfShape", {});
      case 21:
        return then("OneHot", {constant({some()}), weights({2})});
      case 22:
        return then("Unsqueeze", {constant(list(3))});
      default:
        return then(kUnary[fuzz::below(random_, kUnary.size())], {});
    }
  }

  fuzz::Random& random_;
  ModelText text_;
  std::string last_ = "x";
  std::size_t count_ = 0;
};

// The code of the refusal, or that of the sweep, or "swept".
std::string outcome_of(const std::string& path) {
  const auto limits = fuzz::limits();
  auto model = onnx::import_model(path, check::memory_rule(limits));
  if (!model) return model.rejection().code;
  if (auto fits = check::check_size(model.value().graph, limits, model.value().stored); !fits) return fits.rejection().code;
  std::size_t inputs = 0;
  for (const NodeId id : model.value().graph.inputs) inputs += model.value().graph.size(id);
  auto box = std::make_shared<statement::InputBox>();
  box->lo.assign(inputs, Rational(-1, 8));
  box->hi.assign(inputs, Rational(1, 8));
  statement::Statement statement{std::move(model.value().graph), {{{std::move(box), {{{}, Rational(-1), false}}}}}, ExecutionModel{}, {}};
  auto problem = logic::Problem::open(std::move(statement));
  if (!problem) return problem.rejection().code;
  certificate::Session session(problem.value(), {fuzz::kWork, fuzz::kMemory});
  if (auto begun = session.begin_group(0); !begun) return begun.rejection().code;
  const auto swept = session.sweep(0, true);
  return swept ? "swept" : swept.rejection().code;
}

}  // namespace

TEST_CASE("bent models: read and swept, or refused", "[fuzz]") {
  const Folder folder;
  std::map<std::string, std::size_t> codes;
  fuzz::run("models", fuzz::cases(400), [&](fuzz::Random& random) {
    std::string bytes = Maker(random).model();
    if (fuzz::below(random, 3) == 0) bytes = fuzz::bent(bytes, Maker(random).model(), random);
    ++codes[outcome_of(folder.write("m.onnx", bytes))];
  });
  for (const auto& [code, count] : codes) std::fprintf(stderr, "  %-28s %zu\n", code.c_str(), count);
  CHECK(codes["swept"] > 0);
  CHECK(codes.size() > 10);
}
