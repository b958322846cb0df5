// The walk through a model: inputs, needed nodes in their order, outputs. The first problem ends it, thrown as Refused. Internal
// to this folder.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/onnx/import.h"
#include "frontends/onnx/lowering/handlers.h"
#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {

// What to write on a command line so that the input has a shape, with N in place of numbers: its named axes, or all of them.
[[nodiscard]] std::string options_for(const ValueInfo& input);

[[nodiscard]] std::vector<std::string> names_of(const std::vector<ValueInfo>& values);

class Importer {
 public:
  Importer(const std::string& path, const MemoryRule& memory, const Edits& edits) : lowering_(path, memory), edits_(edits) {}
  virtual ~Importer() = default;
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  Model run(const std::string& path);

 protected:
  // The meaning of a name during the walk through the nodes.
  struct Entry {
    Operand operand;                           // null until known
    const TensorProto* initializer = nullptr;  // read when first used
    const NodeProto* producer = nullptr;       // the node that gives it
    std::size_t output = 0;                    // which of its outputs
    bool done = false;                         // the producer has been lowered
    std::vector<std::string> sources = {};     // of an input of a body: the values that it may stand for
  };

  // The parts of the walk, each of which one problem ends.
  virtual void import_input(const ValueInfo& input);
  virtual void lower(const NodeProto& node);
  virtual void import_output(const ValueInfo& output);

  // Everything up to the outputs, and the model that it gives.
  void walk(const std::string& path);
  Model finish(const std::string& path) const;
  bool is_known(const NodeProto& node) const;  // whether its operator and version are among the rows
  const OperatorRow& row_of(const NodeProto& node) const;
  struct Operators {
    const std::vector<OperatorRow>& rows;
    std::int64_t opset;
  };
  Operators operators_of(const NodeProto& node) const;  // the table of its domain, and the version that the model imports
  Entry& entry_of(const std::string& name, const std::string& user);
  void define(const NodeProto& node, const std::vector<Operand>& results);
  // The value that a branch or a body gives; null where a walk that continues behind problems knows nothing of it.
  virtual Operand result_of_branch(const ValueInfo& output, const NodeProto& node);
  // The inputs of the model on whose values the value depends, by way of any nodes but those that read shapes.
  std::vector<std::string> inputs_behind(const std::string& name) const;

  Lowering lowering_;
  const Edits edits_;
  ModelProto proto_;
  std::unordered_map<std::string, Entry> values_;

 private:
  void check_versions();
  // Takes a name of the whole graph or of a branch; false where it has it already.
  using Declare = std::function<bool(const std::string& name, const Entry& entry)>;
  void declare_values();
  void declare_inputs();
  void declare_initializers(const GraphProto& graph, const Declare& take);
  void declare_nodes(const GraphProto& graph, const Declare& take);  // and chooses the order in which they are lowered
  Shape input_shape(const ValueInfo& input);
  // Lowers the nodes that these values depend on, as far as they have not been lowered.
  void require(const std::vector<std::string>& names);
  class Inside;
  void lower_if(const NodeProto& node);
  void lower_loop(const NodeProto& node);  // Loop Scan
  void follow_halves(const Call& call);
  [[noreturn]] void refuse_condition(const NodeProto& node, const std::string& name, const std::string& what) const;
  bool decided(const NodeProto& node, const Operand& condition, const std::string& name) const;

  // The names of a branch, known until its last node.
  class Inside {
   public:
    explicit Inside(std::unordered_map<std::string, Entry>& values) : values_(values) {}
    ~Inside() { leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    bool declare(const std::string& name, const Entry& entry) {
      const bool is_new = values_.emplace(name, entry).second;
      if (is_new) names_.push_back(name);
      return is_new;
    }
    void leave() {
      for (const std::string& name : names_) values_.erase(name);
      names_.clear();
    }

   private:
    std::unordered_map<std::string, Entry>& values_;
    std::vector<std::string> names_;
  };

  // The attribute, a graph with so many inputs and outputs.
  const GraphProto& graph_of(const NodeProto& node, const std::string& name, std::size_t inputs, std::size_t outputs) const;
  // The results of a graph inside of a node, with these operands; its names stay known until `inside` leaves.
  Results results_of(Inside& inside, const NodeProto& node, const GraphProto& graph, const Results& operands = {});
  Results results_of_turn(Inside& inside, const Call& call, const GraphProto& body, const Results& operands);

  std::array<std::int64_t, 3> opsets_{};    // by domain (domains() of import.cpp); 0: not imported
  std::unordered_set<std::string> halves_;  // names of values of float16 and bfloat16
  statement::Digest sha256_{};
  std::set<std::string> outputs_;                            // names so far
  std::unordered_map<const NodeProto*, std::size_t> place_;  // of declared nodes in the order of lowering
  std::unordered_set<const NodeProto*> lowered_;
  std::size_t unrolled_ = 0;  // nodes in all turns of loops
};

}  // namespace assay::onnx
