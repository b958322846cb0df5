#include "frontends/onnx/edits.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "frontends/onnx/format/proto.h"
#include "frontends/onnx/format/tensor.h"
#include "frontends/onnx/lowering/refusal.h"
#include "frontends/onnx/text.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kMostExtent = (std::int64_t{1} << 31) - 1;
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;  // of an input that --set fixes

Rejection wrong(std::string place, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::malformed, "onnx.option", std::move(place), std::move(required), std::move(found), std::move(advice)};
}

[[noreturn]] void refuse_option(std::string place, std::string required, std::string found, std::string advice) {
  throw Refused{wrong(std::move(place), std::move(required), std::move(found), std::move(advice))};
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> extent(std::string_view text) {
  const auto value = number<std::int64_t>(text);
  return value && *value >= 0 && *value <= kMostExtent ? value : std::nullopt;
}

std::string text_of(const Shape& shape) {
  std::vector<std::string> parts;
  for (const std::int64_t one : shape) parts.push_back(std::to_string(one));
  return joined(parts, ",");
}

// Keeps the value of a name; another value for the same name is refused.
template <class Map, class Value>
Outcome<Done> keep(Map& map, std::string_view option, const std::string& name, Value value) {
  const auto [entry, is_first] = map.emplace(name, value);
  if (is_first || entry->second == value) return Done{};
  return wrong(std::string(option) + " " + printable(name), "one value", "two that differ", "leave one of them out");
}

}  // namespace

Outcome<Done> Edits::add(std::string_view option, const std::string& text) {
  const std::string place = std::string(option) + " " + printable(text);
  if (option == "--outputs") {
    for (const std::string& name : split_at(text, ',')) {
      if (name.empty() || std::ranges::count(outputs, name) > 0)
        return wrong(place, "names of outputs, each once", name.empty() ? "an empty name" : in_quotes(name) + " twice",
                     "write for example --outputs y,z");
      outputs.push_back(name);
    }
    return Done{};
  }
  const std::size_t equals = text.rfind('=');
  const std::string name = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (equals == std::string::npos || name.empty()) {
    return option == "--dim" ? wrong(place, "the name of an axis and its extent", "another text", "write for example --dim seq=16")
           : option == "--set"
               ? wrong(place, "the name of an input and its value", "another text", "write for example --set sr=16000")
               : wrong(place, "the name of an input and its shape", "another text", "write for example --shape x=1,3,48,96");
  }
  if (option == "--set") return keep(constants, option, name, value);
  if (option == "--dim") {
    const auto one = extent(value);
    if (!one) return wrong(place, "a whole number from 0 to 2^31 - 1 behind =", in_quotes(value), "write for example --dim seq=16");
    return keep(dims, option, name, *one);
  }
  Shape shape;
  for (const std::string& part : value.empty() ? std::vector<std::string>() : split_at(value, ',')) {
    const auto one = extent(part);
    if (!one) return wrong(place, "whole numbers from 0 to 2^31 - 1 behind =", in_quotes(part), "write for example --shape x=1,3,48,96");
    shape.push_back(*one);
  }
  return keep(shapes, option, name, std::move(shape));
}

std::vector<std::pair<std::string, std::string>> Edits::options() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, shape] : shapes) all.emplace_back("--shape", name + "=" + text_of(shape));
  for (const auto& [name, value] : dims) all.emplace_back("--dim", name + "=" + std::to_string(value));
  for (const auto& [name, value] : constants) all.emplace_back("--set", name + "=" + value);
  if (!outputs.empty()) all.emplace_back("--outputs", joined(outputs, ","));
  return all;
}

std::string Edits::to_text() const {
  std::string text;
  for (const auto& [option, value] : options()) text += (text.empty() ? "" : " ") + option + " " + shell_word(value);
  return text;
}

std::string Edits::words() const { return empty() ? "" : " " + to_text(); }

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.,=/:+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

namespace {

std::string listed(const std::vector<ValueInfo>& values) {
  std::vector<std::string> names;
  for (const ValueInfo& value : values) names.push_back(printable(value.name));
  return names.empty() ? "none" : joined(names, ", ");
}

class Editor {
 public:
  Editor(const Edits& edits, GraphProto& graph, std::vector<std::string>& notes) : edits_(edits), graph_(graph), notes_(notes) {}

  void run() {
    for (const auto& [name, extent_given] : edits_.dims) set_axis(name, extent_given);
    for (const auto& [name, shape] : edits_.shapes) set_shape(name, shape);
    spread();
    for (const auto& [name, value] : edits_.constants) set_constant(name, value);
    if (!edits_.outputs.empty()) keep_outputs();
  }

 private:
  ValueInfo& input_named(const char* option, const std::string& name) {
    const auto found = std::ranges::find(graph_.inputs, name, &ValueInfo::name);
    if (found == graph_.inputs.end())
      refuse_option(option + shell_word(name), "the name of an input", "another name", "the inputs are " + listed(graph_.inputs));
    return *found;
  }

  void set_axis(const std::string& name, std::int64_t value) {
    std::set<std::string> names;
    bool is_met = false;
    for (ValueInfo& input : graph_.inputs) {
      for (Dimension& dim : input.dims) {
        if (!dim.value && !dim.symbol.empty()) names.insert(printable(dim.symbol));
        if (dim.value || dim.symbol != name) continue;
        dim.value = value;
        is_met = true;
      }
    }
    if (is_met) {
      symbols_[name] = value;
      return;
    }
    refuse_option("--dim " + shell_word(name), "the name of an open axis of an input", "another name",
                  names.empty() ? "no open axis has a name: give the input's shape with --shape"
                                : "the open axes are " + joined({names.begin(), names.end()}, ", "));
  }

  void set_shape(const std::string& name, const Shape& shape) {
    ValueInfo& input = input_named("--shape ", name);
    if (std::ranges::find(graph_.initializers, name, &TensorProto::name) != graph_.initializers.end())
      refuse_option("--shape " + shell_word(name), "an input without a value in the file", "one that has a value", "leave the option out");
    if (!input.has_shape) input.dims.resize(shape.size());
    input.has_shape = true;
    if (input.dims.size() != shape.size())
      refuse_option("--shape " + shell_word(name) + "=" + text_of(shape), "the extents of " + std::to_string(input.dims.size()) + " axes",
                    std::to_string(shape.size()), "the file declares " + declared(input));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Dimension& dim = input.dims[axis];
      if (dim.value.value_or(-1) >= 0 && *dim.value != shape[axis])
        refuse_option(
            "--shape " + shell_word(name) + "=" + text_of(shape) + ", axis " + std::to_string(axis),
            "the extent " + std::to_string(*dim.value) + (dim.symbol.empty() ? ", which the file declares" : ", which --dim gives"),
            std::to_string(shape[axis]), "only open axes can be chosen: " + declared(input));
      dim.value = shape[axis];
      if (dim.symbol.empty()) continue;
      const auto [known, is_first] = symbols_.emplace(dim.symbol, shape[axis]);
      if (!is_first && known->second != shape[axis]) several_.insert(dim.symbol);
    }
  }

  // Axes of one name have one extent: what --shape says of one of them holds for the others. A name that --shape gives several extents says
  // nothing about further axes: some exporters write one name for all.
  void spread() {
    for (const std::string& name : several_) symbols_.erase(name);
    for (std::vector<ValueInfo>* values : {&graph_.inputs, &graph_.value_infos}) {
      for (ValueInfo& value : *values) {
        for (Dimension& dim : value.dims) {
          if (const auto known = symbols_.find(dim.symbol); !dim.value && !dim.symbol.empty() && known != symbols_.end())
            dim.value = known->second;
        }
      }
    }
  }

  static std::string declared(const ValueInfo& input) {
    std::vector<std::string> parts;
    for (const Dimension& dim : input.dims)
      parts.push_back(dim.value.value_or(-1) >= 0 ? std::to_string(*dim.value) : dim.symbol.empty() ? "?" : printable(dim.symbol));
    return "[" + joined(parts, ", ") + "]";
  }

  // The shape of an input that becomes a constant of `count` numbers: one open axis may follow from the count, a first one is the batch.
  static Shape shape_of(const ValueInfo& input, const std::string& place, std::size_t count) {
    Shape shape;
    std::optional<std::size_t> open;
    std::size_t known = 1;
    for (std::size_t axis = 0; axis < input.dims.size(); ++axis) {
      const std::int64_t value = input.dims[axis].value.value_or(-1);
      const bool is_second = value < 0 && open.has_value();
      if (is_second && *open != 0)
        refuse_option(place, "an input of at most one open axis", declared(input), "fix its axes with --dim or --shape");
      if (is_second) shape[*open] = 1;
      if (value < 0) open = axis;
      shape.push_back(value < 0 ? 1 : value);
      known *= value < 0 ? 1 : static_cast<std::size_t>(std::min(value, kMostExtent));
      if (known > kMostNumbers) refuse_option(place, "an input of at most 2^20 elements", "a larger one", "edit the file instead");
    }
    if (open && known > 0 && count > 1 && count % known == 0) shape[*open] = static_cast<std::int64_t>(count / known);
    return shape;
  }

  void set_constant(const std::string& name, const std::string& text) {
    const std::string place = "--set " + shell_word(name + "=" + text);
    const ValueInfo input = input_named("--set ", name);
    DType dtype = DType::float32;
    if (!input.is_tensor || input.element_type == kFloat16 || input.element_type == kBfloat16 || !dtype_of(input.element_type, dtype))
      refuse_option(place, "an input of float, double, an integer type of 8 to 64 bits, or bool",
                    input.is_tensor ? element_type_name(input.element_type) : "a sequence, a map or an optional value",
                    "edit the file instead");
    if (!input.has_shape)
      refuse_option(place, "an input with a declared shape", "none", "give it with --shape " + shell_word(name + "=..."));
    const std::vector<std::string> parts = split_at(text, ',');
    const Shape shape = shape_of(input, place, parts.size());
    const std::size_t count = element_count(shape);
    if (parts.size() != count && parts.size() != 1)
      refuse_option(place, "one value for all elements, or " + std::to_string(count) + " for the shape " + to_string(shape),
                    std::to_string(parts.size()), "write them row by row, with commas");
    TensorProto tensor;
    tensor.name = name;
    tensor.dims = shape;
    tensor.element_type = input.element_type;
    for (std::size_t i = 0; i < count; ++i) append(tensor, parts[parts.size() == 1 ? 0 : i], place);
    std::erase_if(graph_.inputs, [&](const ValueInfo& one) { return one.name == name; });
    std::erase_if(graph_.initializers, [&](const TensorProto& one) { return one.name == name; });
    graph_.initializers.push_back(std::move(tensor));
    notes_.push_back("input " + in_quotes(name) + " is the constant " + printable(text));
  }

  void append(TensorProto& tensor, const std::string& text, const std::string& place) {
    DType dtype = DType::float32;
    (void)dtype_of(tensor.element_type, dtype);
    if (is_float(dtype)) {
      const auto wide = number<double>(text);
      const auto narrow = number<float>(text);
      const bool fits = dtype == DType::float64 ? wide && std::isfinite(*wide) : narrow && std::isfinite(*narrow);
      if (!fits) refuse_option(place, std::string("finite numbers of ") + to_string(dtype), in_quotes(text), "write for example 0.5");
      if (dtype == DType::float64)
        tensor.doubles.push_back(std::bit_cast<std::uint64_t>(*wide));
      else
        tensor.floats.push_back(std::bit_cast<std::uint32_t>(*narrow));
      return;
    }
    const bool is_truth = dtype == DType::boolean && (text == "true" || text == "false");
    const auto value = is_truth ? std::optional<std::int64_t>(text == "true" ? 1 : 0) : number<std::int64_t>(text);
    if (!value || !fits(dtype, *value))
      refuse_option(place, std::string("values of ") + to_string(dtype), in_quotes(text),
                    dtype == DType::boolean ? "write true or false" : "write whole numbers that the type holds");
    if (dtype == DType::int64)
      tensor.int64s.push_back(*value);
    else if (dtype == DType::uint32 || dtype == DType::uint64)
      tensor.uint64s.push_back(*value);
    else
      tensor.int32s.push_back(*value);
  }

  // Outputs of the file, or other results of its nodes.
  void keep_outputs() {
    std::vector<ValueInfo> kept;
    for (const std::string& name : edits_.outputs) {
      const auto found = std::ranges::find(graph_.outputs, name, &ValueInfo::name);
      const bool is_result =
          std::ranges::any_of(graph_.nodes, [&](const NodeProto& node) { return std::ranges::count(node.outputs, name) > 0; });
      if (found == graph_.outputs.end() && !is_result)
        refuse_option("--outputs " + shell_word(name), "the name of an output, or of another result of a node", "another name",
                      "the outputs are " + listed(graph_.outputs));
      kept.push_back(found == graph_.outputs.end() ? ValueInfo{} : *found);
      kept.back().name = name;
    }
    graph_.outputs = std::move(kept);
  }

  const Edits& edits_;
  GraphProto& graph_;
  std::vector<std::string>& notes_;
  std::map<std::string, std::int64_t> symbols_;  // axes whose extents are chosen
  std::set<std::string> several_;                // of these, the ones that are given several
};

}  // namespace

void apply(const Edits& edits, GraphProto& graph, std::vector<std::string>& notes) { Editor(edits, graph, notes).run(); }

}  // namespace assay::onnx
