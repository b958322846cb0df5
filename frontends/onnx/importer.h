// The walk through a model: inputs, needed nodes in their order, outputs. The first problem ends it, thrown as Refused. Internal
// to this folder.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/import.h"
#include "frontends/onnx/lowering/handlers.h"
#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {

class Importer {
 public:
  Importer(const std::string& path, const MemoryRule& memory) : lowering_(path, memory) {}
  virtual ~Importer() = default;
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  Model run(const std::string& path);

 protected:
  // The meaning of a name during the walk through the nodes.
  struct Entry {
    Operand operand;                           // null until known
    const TensorProto* initializer = nullptr;  // read when first used
    std::size_t producer = kNone;              // index of the node that gives it
    std::size_t output = 0;                    // which of its outputs
    bool done = false;                         // the producer has been lowered

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
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
  Entry& entry_of(const std::string& name, const std::string& user);
  void define(const NodeProto& node, const std::vector<Operand>& results);

  Lowering lowering_;
  ModelProto proto_;
  std::unordered_map<std::string, Entry> values_;

 private:
  void check_versions();
  void declare_inputs();
  void declare_nodes();
  void declare_values();
  Shape input_shape(const ValueInfo& input);
  std::vector<bool> needed_nodes() const;

  std::int64_t opset_ = 0;
  statement::Digest sha256_{};
  std::set<std::string> outputs_;  // names so far
};

}  // namespace assay::onnx
