#include "frontends/statement/read.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "frontends/files.h"
#include "semantics/graph/attribute_fields.h"

namespace assay::statement_file {
namespace {

// Thrown to stop the reading of one file; caught by read().
struct Malformed {
  std::size_t at;
  std::string required, found;
};

constexpr std::size_t kMostElements = std::size_t{1} << 31;  // of one tensor

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> raw(std::uint64_t count) {
    if (count > left()) fail(std::to_string(count) + " more bytes", std::to_string(left()));
    const std::span<const std::byte> part = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::span<const std::byte> part = raw(8);
    for (std::size_t i = part.size(); i > 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(part[i - 1]);
    return value;
  }
  // A count of things that take at least `size` bytes each, or a number below `limit`: no more than the file can hold.
  std::size_t count(std::size_t size) { return below(left() / size + 1, "a count of things that the file has bytes for"); }
  std::size_t below(std::uint64_t limit, const char* what) {
    const std::uint64_t value = number();
    if (!(value < limit)) fail(std::string(what) + " (below " + std::to_string(limit) + ")", std::to_string(value));
    return static_cast<std::size_t>(value);
  }
  std::string text() {
    const std::span<const std::byte> part = raw(count(1));
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::uint8_t code(std::uint8_t limit, const char* what) {
    const auto value = std::to_integer<std::uint8_t>(raw(1)[0]);
    if (!(value < limit)) fail(std::string(what) + " (below " + std::to_string(limit) + ")", std::to_string(value));
    return value;
  }
  Rational rational() {
    const std::string spelling = text();
    const std::optional<Rational> value = Rational::parse(spelling);
    if (!value) fail("a fraction", "\"" + printable(spelling, 40) + "\"");
    return *value;
  }
  std::vector<std::int64_t> list() {
    std::vector<std::int64_t> values(count(8));
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(number());
    return values;
  }
  std::vector<Rational> rationals() {
    std::vector<Rational> values(count(8));
    for (Rational& value : values) value = rational();
    return values;
  }
  std::vector<NodeId> ids(std::size_t limit) {
    std::vector<NodeId> values(count(8));
    for (NodeId& value : values) value = static_cast<NodeId>(below(limit, "the number of an earlier node"));
    return values;
  }

  // Attributes by their fields.
  void field(std::int64_t& value) { value = static_cast<std::int64_t>(number()); }
  void field(double& value) { value = std::bit_cast<double>(number()); }
  void field(bool& value) { value = code(2, "a flag") == 1; }
  void field(NormaliseAttributes::Form& value) { value = static_cast<NormaliseAttributes::Form>(below(5, "a form")); }
  void field(Rational& value) { value = rational(); }
  void field(std::vector<std::int64_t>& values) { values = list(); }
  void field(std::vector<Rational>& values) { values = rationals(); }

  [[noreturn]] void fail(std::string required, std::string found) const { throw Malformed{at_, std::move(required), std::move(found)}; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// Indexed by the code of docs/reference/canonical-graph.md.
constexpr std::array<DType, 12> kDTypes{DType::float32, DType::float64,   DType::int64, DType::int32,  DType::uint8,  DType::int8,
                                        DType::boolean, DType::complex64, DType::int16, DType::uint16, DType::uint32, DType::uint64};

Op op_named(const std::string& name, const Bytes& bytes) {
  for (int i = 0; i < kOpCount; ++i) {
    if (op_row(static_cast<Op>(i)).name == name) return static_cast<Op>(i);
  }
  bytes.fail("the name of an operation", "\"" + printable(name, 40) + "\"");
}

// The alternative of Attributes that the op has, with its fields.
template <std::size_t I = 0>
Attributes attributes_of(Bytes& bytes, std::size_t index) {
  if constexpr (I < std::variant_size_v<Attributes>) {
    if (I != index) return attributes_of<I + 1>(bytes, index);
    std::variant_alternative_t<I, Attributes> kind{};
    if constexpr (!std::is_same_v<decltype(kind), CastAttributes>)
      visit_fields(kind, [&](const char*, auto& field) { bytes.field(field); });
    return kind;
  } else {
    return NoAttributes{};
  }
}

Node read_node(Bytes& bytes, std::size_t id) {
  Node node;
  node.op = op_named(bytes.text(), bytes);
  node.operands = bytes.ids(id);
  node.attributes = attributes_of(bytes, op_row(node.op).attributes);
  const std::uint8_t code = bytes.code(kDTypes.size(), "an element type");
  node.dtype = kDTypes[code];
  if (auto* cast = std::get_if<CastAttributes>(&node.attributes)) cast->to = static_cast<std::uint8_t>(node.dtype);
  node.shape = bytes.list();
  if (node.op != Op::constant) return node;
  std::size_t elements = 0;
  if (!checked_element_count(node.shape, kMostElements, elements)) bytes.fail("fewer than 2^31 elements", to_string(node.shape));
  const std::span<const std::byte> data = bytes.raw(std::uint64_t{elements} * byte_size(node.dtype));
  node.value = Tensor(node.dtype, node.shape, std::make_shared<const std::vector<std::byte>>(data.begin(), data.end()));
  return node;
}

Graph read_graph(Bytes& bytes) {
  if (bytes.text() != "assay graph 1") bytes.fail("the text \"assay graph 1\"", "another text");
  Graph graph;
  const std::size_t count = bytes.count(33);  // the shortest node
  graph.nodes.reserve(count);
  for (std::size_t id = 0; id < count; ++id) graph.nodes.push_back(read_node(bytes, id));
  graph.inputs = bytes.ids(count);
  graph.outputs = bytes.ids(count);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) graph.input_names.push_back("input " + std::to_string(i));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) graph.output_names.push_back("output " + std::to_string(i));
  return graph;
}

statement::Row read_row(Bytes& bytes) {
  statement::Row row;
  row.terms.resize(bytes.count(32));
  for (statement::Term& term : row.terms) {
    term.variable.side = bytes.below(2, "a side") == 1 ? statement::Variable::Side::output : statement::Variable::Side::input;
    term.variable.tensor = static_cast<std::uint32_t>(bytes.below(std::uint64_t{1} << 32, "the number of a tensor"));
    term.variable.element = bytes.number();
    term.coefficient = bytes.rational();
  }
  row.bound = bytes.rational();
  row.strict = bytes.below(2, "1 for a strict row, or 0") == 1;
  return row;
}

statement::Property read_property(Bytes& bytes) {
  std::vector<std::shared_ptr<const statement::InputBox>> boxes(bytes.count(16));
  for (auto& box : boxes) {
    statement::InputBox ends;
    ends.lo = bytes.rationals();
    ends.hi = bytes.rationals();
    box = std::make_shared<const statement::InputBox>(std::move(ends));
  }
  statement::Property property;
  property.cases.resize(bytes.count(16));
  for (statement::Case& one : property.cases) {
    one.box = boxes[bytes.below(boxes.size(), "the number of a box")];
    one.rows.resize(bytes.count(17));
    for (statement::Row& row : one.rows) row = read_row(bytes);
  }
  return property;
}

ExecutionModel read_model(Bytes& bytes) {
  ExecutionModel model;
  model.kind = static_cast<ExecutionModel::Kind>(bytes.below(2, "a kind of semantics"));
  model.format = static_cast<ExecutionModel::Format>(bytes.below(2, "a float format"));
  model.rounding = static_cast<ExecutionModel::Rounding>(bytes.below(1, "a rounding"));
  for (bool* flag : {&model.flush_operands, &model.flush_results, &model.fused_multiply_add}) *flag = bytes.below(2, "a flag") == 1;
  model.accumulator = static_cast<ExecutionModel::Accumulator>(bytes.below(3, "an order of sums"));
  model.bias_in_product = bytes.below(2, "a flag") == 1;
  model.math_table = bytes.text();
  if (model.kind == ExecutionModel::Kind::real) return model;
  auto spelled = parse_execution_model(bytes.text());
  if (!spelled) bytes.fail("an execution model: " + spelled.rejection().required, spelled.rejection().found);
  return std::move(spelled).value();
}

Rejection malformed(const std::string& path, const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed,
          code,
          printable(path) + std::move(place),
          std::move(required),
          std::move(found),
          "write the file anew: assay statement MODEL PROPERTY"};
}

}  // namespace

Outcome<statement::Statement> read(const std::string& path) {
  auto contents = read_file(path);
  if (!contents) return contents.rejection();
  auto statement = parse(contents.value().bytes, path);
  if (statement) statement.value().sources.push_back({"statement", path, contents.value().sha256});
  return statement;
}

Outcome<statement::Statement> parse(std::span<const std::byte> file, const std::string& path) {
  Bytes bytes(file);
  try {
    if (bytes.text() != statement::kStatementMagic) bytes.fail("a statement file of version 1", "another text");
    statement::Statement statement;
    statement.graph = read_graph(bytes);
    statement.property = read_property(bytes);
    statement.semantics = read_model(bytes);
    if (bytes.left() != 0) bytes.fail("the end of the file", std::to_string(bytes.left()) + " more bytes");
    // One statement has one spelling: a file that says it otherwise is none of ours, whatever its writer meant.
    if (!std::ranges::equal(statement::statement_bytes(statement), file))
      return malformed(path, "statement_file.canonical", "", "canonical bytes: fractions in lowest terms, terms in order, each box once",
                       "another spelling");
    return statement;
  } catch (const Malformed& why) {
    return malformed(path, "statement_file.bytes", ", byte " + std::to_string(why.at), why.required, why.found);
  }
}

}  // namespace assay::statement_file
