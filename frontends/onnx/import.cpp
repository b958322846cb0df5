#include "frontends/onnx/importer.h"

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <span>
#include <unordered_map>

#include "frontends/onnx/lowering/masks.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kNoOpset = -1;        // of a model that does not import ai.onnx
constexpr std::int64_t kFirstIrVersion = 3;  // the first with opset imports
constexpr std::int64_t kLastIrVersion = 14;

bool is_half(std::int64_t element_type) { return element_type == kFloat16 || element_type == kBfloat16; }

// Domains whose operators are read, the standard one first.
struct Domain {
  std::string_view name;
  const std::vector<OperatorRow>& (*rows)();
  std::int64_t last;       // version
  std::string_view usual;  // a version that a model may import
};
constexpr std::array<Domain, 3> kDomains = {Domain{"ai.onnx", operator_rows, kLastOpset, "21"},
                                            {"ai.onnx.ml", ml_operator_rows, kLastMlOpset, "3"},
                                            {"com.microsoft", microsoft_operator_rows, 1, "1"}};
constexpr std::size_t kStandard = 0, kMicrosoft = 2;

// The place in kDomains, or behind it.
std::size_t domain_of(const std::string& name) {
  const auto found = std::ranges::find(kDomains, name.empty() ? kDomains[kStandard].name : name, &Domain::name);
  return static_cast<std::size_t>(found - kDomains.begin());
}

bool is_standard(const std::string& domain) { return domain_of(domain) == kStandard; }

}  // namespace

void Importer::check_versions() {
  if (!proto_.graph) refuse_malformed("onnx.model", "the model", "a graph", "none", "this is not a complete ONNX model");
  if (proto_.ir_version < kFirstIrVersion || proto_.ir_version > kLastIrVersion) {
    refuse_unsupported("onnx.ir_version", "the model", "IR version 3 to 14", std::to_string(proto_.ir_version),
                       "export the model with a current exporter");
  }
  for (const auto& [domain, version] : proto_.opsets) {
    const std::size_t place = domain_of(domain);
    if (place == kDomains.size()) continue;
    std::int64_t& imported = opsets_[place];
    if (imported != 0 && imported != version)
      refuse_malformed("onnx.opset", "the model", "one version of " + (domain.empty() ? "ai.onnx" : domain), "two",
                       "export the model again");
    imported = version;
  }
  const bool imports = std::ranges::any_of(proto_.opsets, [](const auto& opset) { return is_standard(opset.first); });
  std::int64_t& opset = opsets_[kStandard];
  if (!imports) opset = kNoOpset;
  if (imports && (opset < kFirstOpset || opset > kLastOpset)) {
    refuse_unsupported("onnx.opset", "the model", "an opset from 1 to 28", std::to_string(opset),
                       "convert it with onnx.version_converter, or export it again");
  }
  for (const std::string& domain : proto_.function_domains) {
    if (domain_of(domain) != kDomains.size()) {
      refuse_unsupported("onnx.function", "the model", "no functions that redefine operators that are read",
                         "one of domain " + in_quotes(domain), "inline the functions (onnx.inliner)");
    }
  }
  if (proto_.graph->has_sparse_initializers) {
    refuse_unsupported("onnx.sparse", "the graph", "dense initializers", "sparse ones", "store the weights as dense tensors");
  }
}

void Importer::declare_values() {
  const Declare once = [this](const std::string& name, const Entry& entry) { return values_.emplace(name, entry).second; };
  declare_initializers(*proto_.graph, once);
  declare_inputs();
  declare_nodes(*proto_.graph, once);
}

void Importer::declare_inputs() {
  std::set<std::string> names;
  for (const ValueInfo& input : proto_.graph->inputs) {
    if (input.name.empty() || !names.insert(input.name).second) {
      refuse_malformed("onnx.duplicate_value", "input " + in_quotes(input.name), "a name of its own", "an empty or repeated name",
                       "export the model again");
    }
    if (values_.contains(input.name)) {
      lowering_.note("inputs with initializers are constants");
      continue;
    }
    values_[input.name].done = true;
    import_input(input);
  }
}

Shape Importer::input_shape(const ValueInfo& input) {
  const std::string place = "input " + in_quotes(input.name);
  if (!input.has_shape) refuse_unsupported("onnx.input_shape", place, "a declared shape", "none", "give it with " + options_for(input));
  Shape shape;
  std::string open, axes;
  for (std::size_t axis = 0; axis < input.dims.size(); ++axis) {
    const Dimension& dim = input.dims[axis];
    const std::string shown = dim.symbol.empty() ? "an open one" : in_quotes(dim.symbol);
    if (dim.value.value_or(-1) >= 0) {  // an extent of 0 that is written down is one
      shape.push_back(*dim.value);
    } else if (axis == 0) {
      shape.push_back(1);
      lowering_.note("axis 0 of " + place + " (" + (dim.symbol.empty() ? std::to_string(dim.value.value_or(0)) : shown) +
                     ") is the batch, fixed to 1");
    } else {
      axes += (axes.empty() ? ", axis " : " and axis ") + std::to_string(axis);
      open += (open.empty() ? "" : " and ") + shown;
    }
  }
  if (!open.empty())
    refuse_unsupported("onnx.input_shape", place + axes, "a fixed extent (only axis 0 may be symbolic)", open,
                       "fix it, with numbers in place of N: " + options_for(input));
  return shape;
}

void Importer::import_input(const ValueInfo& input) {
  DType dtype = DType::float32;
  if (!input.is_tensor || !dtype_of(input.element_type, dtype)) {
    refuse_unsupported("onnx.input_type", "input " + in_quotes(input.name),
                       "a dense tensor of float, double, float16, bfloat16, an integer type of 8 to 64 bits, or bool",
                       input.is_tensor ? element_type_name(input.element_type) : "a sequence, a map or an optional value",
                       "export the model with float32 inputs");
  }
  if (is_half(input.element_type)) halves_.insert(input.name);
  const Shape shape = input_shape(input);
  std::size_t count = 0;
  if (shape.size() > 64 || !checked_element_count(shape, (std::size_t{1} << 31) - 1, count)) {
    refuse_malformed("onnx.input_shape", "input " + in_quotes(input.name), "at most 64 axes and fewer than 2^31 elements", to_string(shape),
                     "export the model again");
  }
  const NodeId id = lowering_.graph.append_input(dtype, shape, input.name);
  values_[input.name].operand = std::make_shared<Value>(Value{dtype, shape, std::nullopt, id, input.name});
}

// The entry of a name that `user` needs; initializers are read here, on their first use.
Importer::Entry& Importer::entry_of(const std::string& name, const std::string& user) {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    refuse_malformed("onnx.undefined_value", user, "a value named " + in_quotes(name), "nothing of that name", "export the model again");
  }
  Entry& entry = found->second;
  if (entry.operand) return entry;
  if (entry.initializer != nullptr) {
    if (is_half(entry.initializer->element_type)) halves_.insert(name);
    Tensor tensor = lowering_.read(*entry.initializer);
    const DType dtype = tensor.dtype();
    Shape shape = tensor.shape();
    entry.operand = std::make_shared<Value>(Value{dtype, std::move(shape), std::move(tensor), std::nullopt, name});
    return entry;
  }
  if (!entry.done) {
    refuse_malformed("onnx.order", user, "operands that other nodes give", in_quotes(name) + ", which depends on this node's result",
                     "the graph has a cycle: export it again");
  }
  refuse_unsupported("onnx.output", user, "only the main result of " + place_of(*entry.producer),
                     "its output " + std::to_string(entry.output),
                     "do without that output (mask, indices, labels or training statistics): --outputs names those that remain");
}

namespace {

// Advice for operators that are missing for a reason.
std::string advice_for(const std::string& op) {
  static const std::set<std::string> kControl = {"SequenceMap"};
  if (kControl.contains(op)) return "export by tracing, without control flow, or fold it (onnxsim)";
  static const std::set<std::string> kOpenShape = {"Unique", "NonMaxSuppression"};
  if (kOpenShape.contains(op)) return "the result's shape would depend on the data: end the network before it";
  return "rewrite it with operators listed in docs/reference/onnx.md, or remove it before export";
}

// For the operators of ONNX Runtime: its quantisation and its fusions write them.
std::string advice_for_microsoft(const std::string& op) {
  const bool is_quantised =
      op.starts_with("QLinear") || op.starts_with("DynamicQuantize") || op.starts_with("MatMulInteger") || op.starts_with("QGemm");
  return is_quantised ? "quantise the float model to QDQ (onnxruntime.quantization, QuantFormat.QDQ), or take the float model"
                      : "take the model that ONNX Runtime optimised, or save it at ORT_ENABLE_BASIC, which fuses nothing";
}

bool lists(std::string_view names, const std::string& name) {
  std::size_t start = 0;
  while (start < names.size()) {
    const std::size_t end = std::min(names.find(' ', start), names.size());
    if (names.substr(start, end - start) == name) return true;
    start = end + 1;
  }
  return false;
}

void check_counts(const NodeProto& node, const OperatorRow& row) {
  const auto inputs = static_cast<std::int64_t>(node.inputs.size());
  const auto outputs = static_cast<std::int64_t>(node.outputs.size());
  if (inputs < row.fewest_inputs || (row.most_inputs >= 0 && inputs > row.most_inputs)) {
    refuse_malformed(
        "onnx.arity", place_of(node),
        std::to_string(row.fewest_inputs) + (row.most_inputs < 0 ? " or more" : " to " + std::to_string(row.most_inputs)) + " inputs",
        std::to_string(inputs), "check the model with onnx.checker");
  }
  for (std::int64_t i = 0; i < row.fewest_inputs; ++i) {
    if (node.inputs[static_cast<std::size_t>(i)].empty())
      refuse_malformed("onnx.arity", place_of(node), "input " + std::to_string(i), "an omitted one", "check the model with onnx.checker");
  }
  const bool gives_two = lists("CausalConvWithState LinearAttention TopK", node.op_type);
  const std::int64_t fewest = row.op == "DynamicQuantizeLinear" ? 3 : gives_two ? 2 : 1;
  if (outputs < fewest || (row.most_outputs >= 0 && outputs > row.most_outputs)) {
    refuse_malformed("onnx.arity", place_of(node), std::to_string(fewest) + " to " + std::to_string(row.most_outputs) + " outputs",
                     std::to_string(outputs), "check the model with onnx.checker");
  }
}

constexpr std::string_view kOfSequences = "ConcatFromSequence Identity SequenceAt SequenceErase SequenceInsert SequenceLength";

// Attributes that are 0 or 1.
constexpr std::string_view kFlags =
    "align_corners allowzero antialias ceil_mode count_include_pad detect_negative detect_positive do_rotary exclude_outside exclusive "
    "fmod input_forget interleaved inverse is_causal keepdims largest layout linear_before_reset new_axis noop_with_empty_axes onesided "
    "reverse "
    "rotary_interleaved saturate select_last_index sorted storage_order training_mode transA transB upper";

// Values to which no version of the standard gives a meaning, of attributes that handlers may pass over.
void check_value(const NodeProto& node, const AttributeProto& attribute) {
  const std::string& name = attribute.name;
  const auto refuse = [&](const char* required, const std::string& found) {
    refuse_malformed("onnx.attribute", place_of(node), name + " " + required, found, "check the model with onnx.checker");
  };
  if (name == "round_mode" && !lists("up down nearest", attribute.text)) refuse("up, down or nearest", in_quotes(attribute.text));
  const bool is_flag = lists(kFlags, name), is_type = name == "stash_type" || name == "precision";
  if (!is_flag && !is_type && name != "block_size") return;
  if (attribute.kind != AttributeKind::integer) refuse("of its own type", "a " + attribute.kind_name);
  const std::int64_t value = attribute.integer;
  DType type = DType::float32;
  if (is_flag && value != 0 && value != 1) refuse("of 0 or 1", std::to_string(value));
  if (is_type && !(dtype_of(value, type) && is_float(type)) && (value != 0 || name != "precision"))
    refuse("as a float type", std::to_string(value));
  if (name == "block_size" && value < 0) refuse("of at least 0", std::to_string(value));
}

void check_attributes(const NodeProto& node, const OperatorRow& row) {
  std::set<std::string> seen;
  for (const AttributeProto& attribute : node.attributes) {
    if (!lists(row.attributes, attribute.name)) {
      refuse_unsupported("onnx.attribute", place_of(node), "an attribute known to this version of the operator", in_quotes(attribute.name),
                         "remove the attribute, or convert the model to a version that defines it");
    }
    if (!seen.insert(attribute.name).second) {
      refuse_malformed("onnx.attribute", place_of(node), "each attribute once", in_quotes(attribute.name) + " twice",
                       "export the model again");
    }
    check_value(node, attribute);
  }
}

}  // namespace

Importer::Operators Importer::operators_of(const NodeProto& node) const {
  const std::size_t place = domain_of(node.domain);
  static const std::vector<OperatorRow> kNone;
  if (place == kDomains.size()) return {kNone, 0};
  return {kDomains[place].rows(), opsets_[place]};
}

const OperatorRow& Importer::row_of(const NodeProto& node) const {
  const std::size_t place = domain_of(node.domain);
  if (place == kDomains.size()) {
    refuse_unsupported("onnx.domain", place_of(node), "operators of the domains ai.onnx, ai.onnx.ml and com.microsoft",
                       "domain " + in_quotes(node.domain),
                       "export with standard operators, or inline the model's functions (onnx.inliner)");
  }
  const std::string domain(kDomains[place].name);
  const auto& [rows, opset] = operators_of(node);
  const bool is_known_op = std::ranges::find(rows, node.op_type, &OperatorRow::op) != rows.end();
  if (!is_known_op) {
    refuse_unsupported("onnx.unknown_op", place_of(node), "a supported operator", printable(node.op_type) + " of domain " + domain,
                       place == kStandard    ? advice_for(node.op_type)
                       : place == kMicrosoft ? advice_for_microsoft(node.op_type)
                                             : "end the model before it with --outputs, or write it with operators of ai.onnx");
  }
  if (opset < 1) {
    refuse_malformed("onnx.opset", place_of(node),
                     "a model that imports an opset of " + domain + ", from 1 to " + std::to_string(kDomains[place].last), "none",
                     "add it: model.opset_import.append(onnx.helper.make_opsetid(\"" + (place == kStandard ? "" : domain) + "\", " +
                         std::string(kDomains[place].usual) + "))");
  }
  std::string versions;
  for (const OperatorRow& row : rows) {
    if (row.op != node.op_type) continue;
    if (row.first <= opset && opset <= row.last) {
      check_counts(node, row);
      check_attributes(node, row);
      return row;
    }
    versions += (versions.empty() ? "" : ", ") + std::to_string(row.first) + " to " + std::to_string(row.last);
  }
  refuse_unsupported("onnx.version", place_of(node), node.op_type + " of opset " + versions,
                     printable(node.op_type) + " of domain " + domain + ", opset " + std::to_string(opset),
                     "convert the model to one of these opsets (onnx.version_converter)");
}

bool Importer::is_known(const NodeProto& node) const {
  const auto& [rows, opset] = operators_of(node);
  return std::ranges::any_of(
      rows, [&, version = opset](const OperatorRow& row) { return row.op == node.op_type && row.first <= version && version <= row.last; });
}

void Importer::define(const NodeProto& node, const std::vector<Operand>& results) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    Entry& entry = values_.at(node.outputs[i]);
    entry.done = true;
    if (i < results.size()) entry.operand = results[i];
  }
}

// Values of float16 and bfloat16 are real numbers here, and of type float32. Programs round them, so float theorems are refused where a
// node computes one, or takes one beside numbers of float32. Nodes that move elements, or give constants, do not round.
void Importer::follow_halves(const Call& call) {
  const NodeProto& node = call.node;
  constexpr std::string_view kMoves =
      "Concat ConcatFromSequence Constant ConstantOfShape Expand Flatten Gather Identity Reshape SequenceAt SequenceConstruct "
      "SequenceErase SequenceInsert SequenceLength Shape Slice Split SplitToSequence Squeeze Transpose Unsqueeze";
  bool reads = false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    reads = reads || (call.has(i) && is_float(call.in(i)->dtype) && halves_.contains(node.inputs[i]));
  bool gives = reads, rounds = reads && !lists(kMoves, node.op_type);
  if (node.op_type == "Cast" || node.op_type == "CastLike") {
    const bool is_like = node.op_type == "CastLike" && node.inputs.size() > 1 && halves_.contains(node.inputs[1]);
    gives = rounds = is_like || (node.op_type == "Cast" && is_half(call.attribute("to", std::int64_t{0})));
  }
  gives = gives || std::ranges::any_of(node.attributes, [](const AttributeProto& one) { return is_half(one.tensor.element_type); });
  if (gives) halves_.insert(node.outputs.begin(), node.outputs.end());
  if (!rounds) return;
  lowering_.note("arithmetic in float16 and bfloat16 is read as that of real numbers");
  call.real_only(false, "arithmetic in float32 or float64", "float16 or bfloat16");
}

void Importer::lower(const NodeProto& node) {
  const OperatorRow& row = row_of(node);
  if (row.lower == nullptr) return row.op == "If" ? lower_if(node) : lower_loop(node);
  std::vector<Operand> operands;
  for (const std::string& name : node.inputs) {
    operands.push_back(name.empty() ? nullptr : entry_of(name, place_of(node)).operand);
    const bool reads_sequence = operands.size() == 1 && lists(kOfSequences, node.op_type);
    if (operands.back() && operands.back()->parts && !reads_sequence)
      refuse_malformed("onnx.operand", place_of(node), "a tensor", "the sequence " + in_quotes(name), "check the model with onnx.checker");
  }
  const std::int64_t opset = operators_of(node).opset;
  const bool is_fused = domain_of(node.domain) == kMicrosoft;
  if (!is_fused) check_operands(node, opset, operands);
  Call call(lowering_, node, opset, std::move(operands));
  follow_halves(call);
  if (is_fused) call.real_only(false, "operators of ai.onnx", "an operator of ONNX Runtime, whose roundings no page tells");
  std::optional<Results> masked = lower_masked(call, row.lower);
  define(node, masked ? *masked : row.lower(call));
}

void Importer::import_output(const ValueInfo& output) {
  const std::string place = "output " + in_quotes(output.name);
  if (!outputs_.insert(output.name).second)
    refuse_malformed("onnx.duplicate_value", place, "a name of its own", "a repeated name", "export the model again");
  Value& value = *entry_of(output.name, place).operand;
  if (value.open)
    refuse_unsupported("onnx.nonfinite", place, "numbers", "-infinity where a mask shuts", "give the value behind the softmax instead");
  DType declared_type = value.dtype;
  const bool fits_type = output.element_type == 0 || (dtype_of(output.element_type, declared_type) && declared_type == value.dtype);
  if (!fits_type) {
    refuse_unsupported("onnx.output_type", place, "the type of the result, " + std::string(to_string(value.dtype)),
                       "declared " + element_type_name(output.element_type), "declare the type that the node gives");
  }
  bool agrees = !output.has_shape || output.dims.size() == value.shape.size();
  std::string declared;
  for (std::size_t axis = 0; axis < output.dims.size(); ++axis) {
    const Dimension& dim = output.dims[axis];
    const std::int64_t extent = dim.value.value_or(0);
    declared += (axis == 0 ? "" : ", ") + (extent > 0 ? std::to_string(extent) : dim.symbol.empty() ? "?" : printable(dim.symbol));
    if (agrees && extent > 0) agrees = extent == value.shape[axis];
  }
  declared = "[" + declared + "]";
  const bool is_chosen = !edits_.shapes.empty() || !edits_.dims.empty();  // the file may declare what other extents of its inputs give
  if (!agrees && (is_chosen || (lowering_.inference_may_differ && output.dims.size() == value.shape.size()))) {
    lowering_.note(place + " has the shape " + to_string(value.shape) + ", which programs compute; the file declares " + declared);
  } else if (!agrees) {
    refuse_malformed("onnx.output_shape", place, "the declared shape " + declared, to_string(value.shape),
                     "check the model with onnx.checker and shape inference");
  }
  lowering_.graph.mark_output(lowering_.in_graph(value, place), output.name);
}

void Importer::walk(const std::string& path) {
  Outcome<FileContents> contents = read_file(path);
  if (!contents) throw Refused{contents.rejection()};
  lowering_.stored = contents.value().stored;
  sha256_ = contents.value().sha256;
  proto_ = decode_model(contents.value().bytes);
  check_versions();
  apply(edits_, *proto_.graph, lowering_.notes);
  declare_values();
  const GraphProto& graph = *proto_.graph;
  require(names_of(graph.outputs));
  for (const NodeProto& node : graph.nodes) {  // no result depends on the others, and programs refuse the model if they are malformed
    if (!lowered_.contains(&node) && edits_.outputs.empty() && is_known(node)) (void)row_of(node);
  }
  if (graph.outputs.empty()) refuse_malformed("onnx.model", "the graph", "at least one output", "none", "export the model again");
  for (const ValueInfo& output : graph.outputs) import_output(output);
  const auto dropped = std::ranges::count_if(graph.nodes, [&](const NodeProto& node) { return !lowered_.contains(&node); });
  if (dropped != 0) lowering_.note(std::to_string(dropped) + " nodes that no output depends on are dropped");
}

Model Importer::finish(const std::string& path) const {
  Model model;
  for (const Rejection& why : validate(lowering_.graph)) throw Refused{why};
  model.graph = without_dead_nodes(lowering_.graph);
  model.sources = lowering_.external.sources();
  model.sources.insert(model.sources.begin(), {"model", path, sha256_});
  if (const std::string text = edits_.to_text(); !text.empty())
    model.sources.push_back({"model options", text, statement::sha256(std::as_bytes(std::span(text)))});
  model.ir_version = proto_.ir_version;
  model.opsets = proto_.opsets;
  model.producer = proto_.producer;
  model.notes = lowering_.notes;
  model.real_only = lowering_.real_only;
  model.real_or_onnxruntime = lowering_.real_or_onnxruntime;
  model.stored = lowering_.stored + lowering_.external.stored();
  return model;
}

Model Importer::run(const std::string& path) {
  walk(path);
  return finish(path);
}

Rejection out_of_memory(const std::string& path) {
  return {Rejection::Kind::declined, "onnx.memory", printable(path),
          "memory for the model",    "too little",  "allow more with --memory, or use a smaller model"};
}

std::optional<Rejection> Model::obstacle(const ExecutionModel& semantics) const {
  if (semantics.kind == ExecutionModel::Kind::real) return std::nullopt;
  return real_only || semantics.math_table == "onnxruntime" ? real_only : real_or_onnxruntime;
}

Outcome<Model> import_model(const std::string& path, const MemoryRule& memory, const Edits& edits) {
  try {
    return Importer(path, memory, edits).run(path);
  } catch (const Refused& refused) {
    return refused.why;
  } catch (const std::bad_alloc&) {
    return out_of_memory(path);
  }
}

const std::vector<OperatorSupport>& supported_operators() {
  static const std::vector<OperatorSupport> kOperators = [] {
    std::vector<OperatorSupport> operators;
    for (const Domain& domain : kDomains) {
      for (const OperatorRow& row : domain.rows()) {
        const bool is_new = operators.empty() || operators.back().op != row.op || operators.back().domain != domain.name;
        if (is_new) operators.push_back({std::string(row.op), row.first, row.last, std::string(row.notes), std::string(domain.name)});
        operators.back().last_opset = row.last;
        if (!row.notes.empty()) operators.back().notes = row.notes;
      }
    }
    std::ranges::stable_sort(operators, {}, &OperatorSupport::op);
    return operators;
  }();
  return kOperators;
}

}  // namespace assay::onnx
