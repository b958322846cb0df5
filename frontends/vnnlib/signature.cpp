#include "frontends/vnnlib/signature.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "frontends/files.h"

namespace assay::vnnlib {
namespace {

// Scalars are 32-bit numbers; a query about more elements than this would not fit into memory anyway.
constexpr std::size_t kMaxElements = std::size_t{1} << 28;

// Appends the first scalar of each tensor; false when there are too many elements.
bool number_tensors(const Graph& graph, const std::vector<NodeId>& tensors, std::size_t& next, std::vector<std::uint32_t>& first) {
  for (const NodeId id : tensors) {
    std::size_t count = 0;
    if (!checked_element_count(graph.node(id).shape, kMaxElements, count)) return false;
    first.push_back(static_cast<std::uint32_t>(next));
    next += count;
    if (next > kMaxElements) return false;
  }
  return true;
}

// A whole decimal integer without sign; false when it is not one or does not fit.
bool parse_index(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && (text.size() == 1 || text.front() != '0');
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "\"" : ", \"") + printable(names[i]) + "\"";
  return text + (names.size() > kMost ? ", ..." : "");
}

const char* side_word(statement::Variable::Side side) { return side == statement::Variable::Side::input ? "input" : "output"; }

}  // namespace

std::optional<Signature> Signature::of_network(const Graph* graph, Diagnostics& diagnostics) {
  if (graph == nullptr) {
    diagnostics.malformed_file("network_missing", "a network for the property to speak about", "none", "name the model file");
    return std::nullopt;
  }
  Signature signature;
  signature.graph_ = graph;
  std::size_t next = 0;
  bool fits = number_tensors(*graph, graph->inputs, next, signature.input_first_);
  signature.input_count_ = fits ? static_cast<std::uint32_t>(next) : 0;
  fits = fits && number_tensors(*graph, graph->outputs, next, signature.output_first_);
  if (!fits) {
    diagnostics.unsupported_file("network_too_large", "at most " + std::to_string(kMaxElements) + " input and output elements",
                                 "a network with more", "state a property of a smaller network");
    return std::nullopt;
  }
  signature.output_count_ = static_cast<std::uint32_t>(next) - signature.input_count_;
  signature.constant_declared_.assign(next, false);
  return signature;
}

const std::vector<NodeId>& Signature::tensors(Side side) const { return side == Side::input ? graph_->inputs : graph_->outputs; }

std::uint32_t Signature::first_scalar(Side side, std::uint32_t tensor) const {
  return side == Side::input ? input_first_[tensor] : output_first_[tensor];
}

statement::Variable Signature::variable(Scalar scalar) const {
  const Side side = is_input(scalar) ? Side::input : Side::output;
  const std::vector<std::uint32_t>& first = side == Side::input ? input_first_ : output_first_;
  const auto after = std::upper_bound(first.begin(), first.end(), scalar);
  const auto tensor = static_cast<std::uint32_t>(after - first.begin() - 1);
  return {side, tensor, scalar - first[tensor]};
}

std::string Signature::name(Scalar scalar) const {
  if (version_1_) return is_input(scalar) ? "X_" + std::to_string(scalar) : "Y_" + std::to_string(scalar - input_count_);
  const statement::Variable where = variable(scalar);
  const auto found =
      std::find_if(declared_.begin(), declared_.end(), [&](const Declared& d) { return d.side == where.side && d.tensor == where.tensor; });
  if (found == declared_.end()) return std::string(side_word(where.side)) + " element " + std::to_string(where.element);
  std::string indices;
  std::uint64_t rest = where.element;
  for (std::size_t axis = found->shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(found->shape[axis]);
    indices.insert(0, std::to_string(rest % extent) + (indices.empty() ? "" : ","));
    rest /= extent;
  }
  return found->shape.empty() ? found->name : found->name + "[" + indices + "]";
}

// ---- version 1.0 ---------------------------------------------------------------------------------------------------

bool Signature::parse_constant_name(std::string_view name, Side& side, std::uint64_t& index) const {
  if (name.size() < 3 || name[1] != '_' || (name[0] != 'X' && name[0] != 'Y')) return false;
  side = name[0] == 'X' ? Side::input : Side::output;
  return parse_index(name.substr(2), index);
}

bool Signature::read_constant(Lexer& lexer, Diagnostics& diagnostics) {
  const Token name = lexer.take();
  Side side = Side::input;
  std::uint64_t index = 0;
  if (name.kind != Token::Kind::word || !parse_constant_name(name.text, side, index))
    return diagnostics.malformed(
        name.at, "variable_name", "a variable X_i (input) or Y_i (output), i = 0, 1, ...", describe(name),
        advice_on(name, "rename it, or declare tensors of any name in a file that begins with (vnnlib-version <2.0>)"));
  const std::uint32_t count = side == Side::input ? input_count_ : output_count_;
  if (index >= count) {
    return diagnostics.malformed(name.at, "size_mismatch",
                                 "a variable for one of the network's " + std::to_string(count) + " " + side_word(side) + " elements",
                                 describe(name), "is this the property of another network?");
  }
  const Scalar scalar = static_cast<Scalar>(index) + (side == Side::input ? 0 : input_count_);
  if (constant_declared_[scalar])
    return diagnostics.malformed(name.at, "duplicate_declaration", "one declaration per variable", "a second one of " + describe(name),
                                 "remove one of the two");
  constant_declared_[scalar] = true;
  const Token type = lexer.take();
  if (type.kind != Token::Kind::word || (type.text != "Real" && type.text != "real"))
    return diagnostics.unsupported(type.at, "element_type", "the type Real", describe(type), "version 1.0 has no other type");
  return true;
}

// Exporters fix the number of items that a model takes at once; properties are about one.
std::string Signature::advice_on_batch() const {
  std::int64_t batch = 0;
  for (const std::vector<NodeId>* side : {&graph_->inputs, &graph_->outputs}) {
    for (const NodeId id : *side) {
      const Shape& shape = graph_->node(id).shape;
      if (shape.empty() || shape[0] < 2 || (batch != 0 && shape[0] != batch)) return "";
      batch = shape[0];
    }
  }
  return "the model takes a batch of " + std::to_string(batch) +
         " items at once: export it with a batch of 1, or state the property of all of them; ";
}

bool Signature::check_complete(Diagnostics& diagnostics) const {
  if (!version_1_)  // bind_tensors() has seen to the rest
    return !network_name_.empty() ||
           diagnostics.malformed_file("network_missing", "a (declare-network ...)", "none",
                                      "declare the network with its tensors: (declare-network f (declare-input X float32 [1,5]) "
                                      "(declare-output Y float32 [1,2]))");
  for (Scalar scalar = 0; scalar < constant_declared_.size(); ++scalar) {
    if (!constant_declared_[scalar]) {
      return diagnostics.malformed_file("size_mismatch",
                                        "a declaration for each of the network's " + std::to_string(input_count_) + " input and " +
                                            std::to_string(output_count_) + " output elements",
                                        "none of " + name(scalar), advice_on_batch() + "is this the property of another network?");
    }
  }
  return true;
}

// ---- version 2 -----------------------------------------------------------------------------------------------------

namespace {

struct TypeName {
  std::string_view name;
  std::optional<DType> dtype;  // empty: no network of ours has this type
};

constexpr TypeName kElementTypes[] = {
    {"float32", DType::float32},      {"float64", DType::float64},      {"int64", DType::int64},
    {"int32", DType::int32},          {"uint8", DType::uint8},          {"int8", DType::int8},
    {"bool", DType::boolean},         {"complex64", DType::complex64},  {"float16", std::nullopt},
    {"bfloat16", std::nullopt},       {"complex128", std::nullopt},     {"int16", DType::int16},
    {"uint16", DType::uint16},        {"uint32", DType::uint32},        {"uint64", DType::uint64},
    {"int4", std::nullopt},           {"uint4", std::nullopt},          {"string", std::nullopt},
    {"float8e4m3fn", std::nullopt},   {"float8e4m3fnuz", std::nullopt}, {"float8e5m2", std::nullopt},
    {"float8e5m2fnuz", std::nullopt}, {"float4e2m1", std::nullopt},
};

const TypeName* find_type(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kElementTypes), std::end(kElementTypes), [&](const TypeName& t) { return t.name == name; });
  return found == std::end(kElementTypes) ? nullptr : found;
}

bool is_real(std::string_view type) { return type == "Real" || type == "real"; }

// Real arithmetic is the arithmetic of these types, where it is defined.
bool is_exact(std::string_view type) {
  const TypeName* const found = find_type(type);
  return found != nullptr && found->dtype && (is_integer(*found->dtype) || *found->dtype == DType::boolean);
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// "[1, 5]" or "[]": extents of a shape, indices of an element.
bool read_integers(Lexer& lexer, Diagnostics& diagnostics, std::vector<std::int64_t>& values) {
  constexpr std::size_t kMaxRank = 64;  // far above any tensor's
  if (!expect(lexer, diagnostics, Token::Kind::open_bracket, "\"[\"")) return false;
  while (lexer.peek().kind != Token::Kind::close_bracket) {
    if (!values.empty() && !expect(lexer, diagnostics, Token::Kind::comma, "\",\" or \"]\"")) return false;
    const Token number = lexer.take();
    std::uint64_t value = 0;
    if (number.kind != Token::Kind::word || !parse_index(number.text, value) || value > kMaxElements || values.size() == kMaxRank)
      return diagnostics.malformed(number.at, "syntax", "an integer from 0 to " + std::to_string(kMaxElements), describe(number),
                                   advice_on(number, "extents and indices are whole numbers without a sign; indices count from 0"));
    values.push_back(static_cast<std::int64_t>(value));
  }
  lexer.take();
  return true;
}

}  // namespace

bool Signature::read_tensor(Lexer& lexer, Diagnostics& diagnostics, Side side) {
  const Token name = lexer.take();
  if (name.kind != Token::Kind::word || !is_identifier(name.text))
    return diagnostics.malformed(name.at, "variable_name", "a name of letters, digits and underscores", describe(name),
                                 advice_on(name, "rename it; a name begins with a letter"));
  const auto offered = static_cast<std::ptrdiff_t>(tensors(side).size());
  if (std::count_if(declared_.begin(), declared_.end(), [&](const Declared& d) { return d.side == side; }) >= offered) {
    return diagnostics.malformed(name.at, "size_mismatch",
                                 "a declaration for each of the network's " + std::to_string(offered) + " " + side_word(side) + "s",
                                 "one more, " + describe(name), "is this the property of another network?");
  }
  const bool taken = std::any_of(declared_.begin(), declared_.end(), [&](const Declared& d) { return d.name == name.text; });
  if (taken)
    return diagnostics.malformed(name.at, "duplicate_declaration", "one declaration per variable", "a second one of " + describe(name),
                                 "remove one of the two, or rename it");
  const Token type = lexer.take();
  if (type.kind != Token::Kind::word || (!is_real(type.text) && find_type(type.text) == nullptr))
    return diagnostics.malformed(
        type.at, "element_type", "Real or an ONNX element type such as float32", describe(type),
        advice_on(type, "types are written in lower case, as in float32, float64, int64, bool; Real asks about exact arithmetic"));
  Declared declared;
  declared.side = side;
  declared.name = name.text;
  declared.type = type.text;
  declared.at = name.at;
  if (!read_integers(lexer, diagnostics, declared.shape)) return false;
  while (lexer.peek().kind == Token::Kind::word || lexer.peek().kind == Token::Kind::quoted) {
    const Token option = lexer.take();
    if (option.kind == Token::Kind::quoted) {
      declared.node_name = option.text;
    } else if (option.text == "initialized") {
      return diagnostics.unsupported(option.at, "initialized_input", "inputs without a default value", "the theory of initialized inputs",
                                     "assert the wanted values as bounds");
    } else if (option.text != ":onnx") {
      return diagnostics.malformed(option.at, "syntax", "an ONNX name in quotes or \")\"", describe(option),
                                   "after the shape nothing else may follow");
    }
  }
  declared_.push_back(std::move(declared));
  return true;
}

bool Signature::read_network(Lexer& lexer, Diagnostics& diagnostics, const std::string& offered_name) {
  const Token name = lexer.take();
  if (name.kind != Token::Kind::word || !is_identifier(name.text))
    return diagnostics.malformed(name.at, "variable_name", "a network name of letters, digits and underscores", describe(name),
                                 advice_on(name, "name the network: (declare-network f ...); a name begins with a letter"));
  if (!network_name_.empty()) {
    return diagnostics.unsupported(name.at, "multiple_networks", "one network per query",
                                   "the theory of multiple networks (" + network_name_ + ", " + describe(name) + ")",
                                   "join the networks into one model with several inputs and outputs");
  }
  if (!offered_name.empty() && offered_name != name.text) {
    return diagnostics.malformed(name.at, "network_missing", "a model for the network " + describe(name),
                                 "one for \"" + offered_name + "\" only", "give --network " + std::string(name.text) + "=FILE");
  }
  network_name_ = name.text;
  while (lexer.peek().kind == Token::Kind::open) {
    lexer.take();
    const Token word = lexer.take();
    constexpr const char* kTensors = "inside (declare-network ...) stand (declare-input ...) and (declare-output ...) alone";
    if (word.kind != Token::Kind::word)
      return diagnostics.malformed(word.at, "syntax", "declare-input, declare-hidden or declare-output", describe(word),
                                   advice_on(word, kTensors));
    if (word.text == "declare-hidden") {
      return diagnostics.unsupported(word.at, "hidden_nodes", "variables for inputs and outputs only",
                                     "the theory of hidden nodes (declare-hidden)", "make the hidden tensor an output of the model");
    }
    if (word.text == "equal-to" || word.text == "isomorphic-to") {
      return diagnostics.unsupported(word.at, "multiple_networks", "one network per query",
                                     "the theory of multiple networks (" + std::string(word.text) + ")",
                                     "join the networks into one model with several inputs and outputs");
    }
    const bool is_output = word.text == "declare-output";
    if (!is_output && word.text != "declare-input")
      return diagnostics.malformed(word.at, "syntax", "declare-input, declare-hidden or declare-output", describe(word), kTensors);
    if (!read_tensor(lexer, diagnostics, is_output ? Side::output : Side::input) ||
        !expect(lexer, diagnostics, Token::Kind::close, "\")\""))
      return false;
  }
  return bind_tensors(diagnostics, name.at, Side::input) && bind_tensors(diagnostics, name.at, Side::output);
}

// By order, or by ONNX names if all declarations of the side carry one.
bool Signature::bind_tensors(Diagnostics& diagnostics, Position at, Side side) {
  const std::vector<std::string>& node_names = side == Side::input ? graph_->input_names : graph_->output_names;
  std::vector<bool> bound(tensors(side).size(), false);
  std::uint32_t seen = 0;
  std::uint32_t named = 0;
  for (Declared& declared : declared_) {
    if (declared.side != side) continue;
    named += declared.node_name.empty() ? 0 : 1;
    declared.tensor = seen++;
    if (named != 0 && named != seen) {
      return diagnostics.malformed(declared.at, "onnx_name", std::string("an ONNX name for every ") + side_word(side) + " or for none",
                                   "both kinds of declaration", "name all of them or none");
    }
    if (named != 0) {
      const auto found = std::find(node_names.begin(), node_names.end(), declared.node_name);
      if (found == node_names.end()) {
        return diagnostics.malformed(declared.at, "onnx_name", std::string("the ONNX name of an ") + side_word(side) + " of the network",
                                     "\"" + declared.node_name + "\"", "the network's are " + quoted(node_names));
      }
      declared.tensor = static_cast<std::uint32_t>(found - node_names.begin());
    }
    if (declared.tensor < bound.size() && bound[declared.tensor])
      return diagnostics.malformed(declared.at, "onnx_name", "each tensor declared once", "\"" + declared.node_name + "\" again",
                                   "remove one of the two, or give it the name of another tensor");
    if (declared.tensor < bound.size() && !check_tensor(diagnostics, declared)) return false;
    if (declared.tensor < bound.size()) bound[declared.tensor] = true;
  }
  if (seen != bound.size()) {
    return diagnostics.malformed(
        at, "size_mismatch",
        std::string("a declaration for each of the network's ") + std::to_string(bound.size()) + " " + side_word(side) + "s",
        std::to_string(seen) + " of them", "is this the property of another network?");
  }
  return true;
}

bool Signature::check_tensor(Diagnostics& diagnostics, const Declared& declared) const {
  const Node& node = graph_->node(tensors(declared.side)[declared.tensor]);
  if (node.shape != declared.shape) {
    return diagnostics.malformed(declared.at, "shape_mismatch", declared.name + " of the network's shape " + to_string(node.shape),
                                 "shape " + to_string(declared.shape),
                                 advice_on_batch() + "declare it with the network's shape; or is this the property of another network?");
  }
  const bool all_reals = is_real(declared.type) && !is_float(node.dtype) && declared.side == Side::input;
  if (all_reals || (!is_real(declared.type) && find_type(declared.type)->dtype != node.dtype)) {
    return diagnostics.malformed(declared.at, "type_mismatch", declared.name + " of the network's element type " + to_string(node.dtype),
                                 "element type " + declared.type,
                                 all_reals ? std::string("the tensor takes no other values: declare it ") + to_string(node.dtype)
                                           : std::string("declare it ") + to_string(node.dtype) +
                                                 (is_float(node.dtype) ? ", or Real to ask about exact arithmetic" : ""));
  }
  return true;
}

// ---- references ----------------------------------------------------------------------------------------------------

bool Signature::read_reference(Lexer& lexer, Diagnostics& diagnostics, Scalar& scalar) const {
  const Token name = lexer.take();
  if (!version_1_) {
    const auto found = std::find_if(declared_.begin(), declared_.end(), [&](const Declared& d) { return d.name == name.text; });
    if (found == declared_.end()) {
      std::string known;
      for (const Declared& each : declared_) known += (known.empty() ? "" : ", ") + printable(each.name);
      return diagnostics.malformed(
          name.at, "unknown_variable", "a declared variable (" + known + ") or a decimal number", describe(name),
          advice_on(name, "declare it inside (declare-network ...), or correct its name; a number begins with a digit or a sign"));
    }
    return read_indices(lexer, diagnostics, *found, scalar);
  }
  Side side = Side::input;
  std::uint64_t index = 0;
  if (parse_constant_name(name.text, side, index) && index < (side == Side::input ? input_count_ : output_count_)) {
    scalar = static_cast<Scalar>(index) + (side == Side::input ? 0 : input_count_);
    if (constant_declared_[scalar]) return true;
  }
  const auto all = [](const char* letter, std::uint32_t count) {
    return count == 0   ? std::string("none")
           : count == 1 ? letter + std::string("_0")
                        : letter + std::string("_0 to ") + letter + "_" + std::to_string(count - 1);
  };
  const std::string known = "the network's inputs are " + all("X", input_count_) + ", its outputs " + all("Y", output_count_) +
                            "; each is declared, (declare-const X_0 Real), before it is used";
  return diagnostics.malformed(name.at, "unknown_variable", "a declared variable or a decimal number", describe(name),
                               advice_on(name, known));
}

bool Signature::read_indices(Lexer& lexer, Diagnostics& diagnostics, const Declared& declared, Scalar& scalar) const {
  const Position at = lexer.peek().at;
  std::vector<std::int64_t> indices;
  if (lexer.peek().kind == Token::Kind::open_bracket && !read_integers(lexer, diagnostics, indices)) return false;
  std::uint64_t element = 0;
  bool inside = indices.size() == declared.shape.size();
  for (std::size_t axis = 0; inside && axis < indices.size(); ++axis) {
    inside = indices[axis] < declared.shape[axis];
    element = element * static_cast<std::uint64_t>(declared.shape[axis]) + static_cast<std::uint64_t>(indices[axis]);
  }
  if (!inside) {
    return diagnostics.malformed(at, "index", "one index per axis of " + declared.name + " with shape " + to_string(declared.shape),
                                 declared.name + to_string(indices), "indices count from 0");
  }
  scalar = first_scalar(declared.side, declared.tensor) + static_cast<Scalar>(element);
  return true;
}

void Signature::describe_to(PropertyFile& file) const {
  const auto add_type = [&](const std::string& type) {
    const auto same = [&](const TensorDeclaration& earlier) { return earlier.type == type; };
    if (std::none_of(file.declarations.begin(), file.declarations.end(), same))
      file.declared_type += (file.declared_type.empty() ? "" : ", ") + type;
  };
  file.declared_real = true;
  file.network_outputs = output_count_;
  if (version_1_) {
    file.declarations = {{Side::input, 0, "X", "Real", {input_count_}}, {Side::output, 0, "Y", "Real", {output_count_}}};
    file.declared_type = "Real";
    file.input_names = {"X"};
    file.output_names = {"Y"};
    return;
  }
  file.input_names.resize(graph_->inputs.size());
  file.output_names.resize(graph_->outputs.size());
  for (const Declared& declared : declared_) {
    add_type(declared.type);
    file.declared_real = file.declared_real && (is_real(declared.type) || is_exact(declared.type));
    (declared.side == Side::input ? file.input_names : file.output_names)[declared.tensor] = declared.name;
    file.declarations.push_back(declared);
  }
}

}  // namespace assay::vnnlib
