#include "frontends/onnx/lint.h"

#include <algorithm>
#include <new>
#include <set>

#include "frontends/onnx/importer.h"

namespace assay::onnx {
namespace {

// The importer's walk, which continues behind a problem. Results of a refused node take the shapes that the file declares, as if
// they were inputs, or block the nodes that read them.
class Linter : public Importer {
 public:
  using Importer::Importer;

  std::vector<Rejection> problems(const std::string& path, std::vector<std::string>* options) {
    options_ = options;
    try {
      walk(path);
      if (problems_.empty()) (void)finish(path);
    } catch (const Refused& refused) {
      problems_.push_back(refused.why);
    } catch (const std::bad_alloc&) {
      problems_.push_back(out_of_memory(path));
    }
    return std::move(problems_);
  }

 private:
  template <class Part>
  bool attempt(Part part) {
    try {
      part();
      return true;
    } catch (const Refused& refused) {
      problems_.push_back(refused.why);
      return false;
    }
  }

  void import_input(const ValueInfo& input) override {
    if (attempt([&] { Importer::import_input(input); })) return;
    blocked_.insert(input.name);
    if (problems_.back().code == "onnx.input_shape") need(options_for(input));
  }

  void lower(const NodeProto& node) override {
    bool is_blocked = false;
    const bool fine = attempt([&] {
      (void)row_of(node);
      for (const std::string& name : node.inputs) {
        is_blocked = is_blocked || blocked_.contains(name);
        if (!name.empty() && !blocked_.contains(name)) (void)entry_of(name, place_of(node));
      }
      if (!is_blocked) Importer::lower(node);
    });
    const bool is_guessed =
        is_blocked || std::ranges::any_of(node.inputs, [&](const std::string& name) { return guessed_.contains(name); });
    for (const std::string& name : node.outputs)
      if ((is_guessed || !fine) && !name.empty()) guessed_.insert(name);
    const bool may_be_constant = is_guessed && !is_blocked && !fine && problems_.back().code == "onnx.not_constant";
    if (may_be_constant) problems_.pop_back();  // a number that follows from an open axis, for example
    const bool has_graph = std::ranges::any_of(node.attributes, [](const AttributeProto& one) { return one.graph != nullptr; });
    if (has_graph && (is_blocked || (!fine && !may_be_constant && problems_.back().code == "onnx.condition")))
      for (std::size_t i = 0; i < std::min<std::size_t>(node.inputs.size(), node.op_type == "If" ? 1 : node.op_type == "Loop" ? 2 : 0); ++i)
        for (const std::string& input : inputs_behind(node.inputs[i])) need("--set " + shell_word(input + "=VALUE"));
    if (!fine || is_blocked) return stand_in(node);
    for (const std::string& name : node.outputs)  // of a branch that went on behind a problem
      if (!name.empty() && has_graph && !values_.at(name).operand) blocked_.insert(name);
  }

  Operand result_of_branch(const ValueInfo& output, const NodeProto& node) override {
    return blocked_.contains(output.name) ? nullptr : Importer::result_of_branch(output, node);
  }

  void need(const std::string& option) {
    if (options_ != nullptr && std::ranges::count(*options_, option) == 0) options_->push_back(option);
  }

  void import_output(const ValueInfo& output) override {
    if (!blocked_.contains(output.name)) attempt([&] { Importer::import_output(output); });
  }

  // Inputs of the declared shapes in place of the node's results.
  void stand_in(const NodeProto& node) {
    define(node, {});
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      const auto shape = declared_shape(name);
      if (!shape) {
        blocked_.insert(name);
        continue;
      }
      const NodeId id = lowering_.graph.append_input(DType::float32, *shape, name);
      values_.at(name).operand = std::make_shared<Value>(Value{DType::float32, *shape, std::nullopt, id, name});
    }
  }

  // Of a tensor of float32 with elements.
  [[nodiscard]] std::optional<Shape> declared_shape(const std::string& name) {
    if (declared_.empty())
      for (const ValueInfo& info : proto_.graph->value_infos) declared_.emplace(info.name, &info);
    const auto info = declared_.find(name);
    if (info == declared_.end() || !info->second->has_shape || info->second->element_type != kFloat) return std::nullopt;
    Shape shape;
    for (const Dimension& dim : info->second->dims) shape.push_back(dim.value.value_or(0));
    std::size_t count = 0;
    if (!checked_element_count(shape, (std::size_t{1} << 31) - 1, count) || count == 0) return std::nullopt;
    return shape;
  }

  std::vector<Rejection> problems_;
  std::vector<std::string>* options_ = nullptr;
  std::set<std::string> blocked_;  // names of values that nothing is known of
  std::set<std::string> guessed_;  // and of those that depend on them, with a declared shape
  std::unordered_map<std::string, const ValueInfo*> declared_;
};

}  // namespace

std::vector<Rejection> lint(const std::string& path, const MemoryRule& memory, const Edits& edits, std::vector<std::string>* options) {
  return Linter(path, memory, edits).problems(path, options);
}

}  // namespace assay::onnx
