// The variables of a query: what was declared, and which element of which network tensor each one is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/vnnlib/lexer.h"
#include "frontends/vnnlib/read.h"

namespace assay::vnnlib {

// Scalars are numbered through: all input tensors, concatenated in the network's order, then all output tensors.
using Scalar = std::uint32_t;

class Signature {
 public:
  // The elements of the network's inputs and outputs. Complains when there is no network, or one too large.
  static std::optional<Signature> of_network(const Graph* graph, Diagnostics& diagnostics);

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] std::uint32_t input_count() const { return input_count_; }
  [[nodiscard]] std::uint32_t scalar_count() const { return input_count_ + output_count_; }
  [[nodiscard]] bool is_input(Scalar scalar) const { return scalar < input_count_; }
  [[nodiscard]] statement::Variable variable(Scalar scalar) const;
  // "X_3" or "X[0,3]": as the query writes it.
  [[nodiscard]] std::string name(Scalar scalar) const;

  // Version 1.0: (declare-const X_i Real), with `lexer` behind the word declare-const.
  bool read_constant(Lexer& lexer, Diagnostics& diagnostics);
  // Version 2: (declare-network ...), with `lexer` behind the word declare-network.
  bool read_network(Lexer& lexer, Diagnostics& diagnostics, const std::string& offered_name);
  // Every element of the network is declared.
  bool check_complete(Diagnostics& diagnostics) const;
  // Takes the variable that comes next in an expression.
  bool read_reference(Lexer& lexer, Diagnostics& diagnostics, Scalar& scalar) const;

  [[nodiscard]] bool is_version_1() const { return version_1_; }
  void set_version_1(bool value) { version_1_ = value; }
  // Moves what was declared into the result.
  void describe_to(PropertyFile& file) const;

 private:
  using Side = statement::Variable::Side;
  struct Declared : TensorDeclaration {
    std::string node_name;  // the ONNX name, if written
    Position at;
  };

  [[nodiscard]] const std::vector<NodeId>& tensors(Side side) const;
  [[nodiscard]] std::uint32_t first_scalar(Side side, std::uint32_t tensor) const;
  [[nodiscard]] bool parse_constant_name(std::string_view name, Side& side, std::uint64_t& index) const;
  bool read_tensor(Lexer& lexer, Diagnostics& diagnostics, Side side);
  bool bind_tensors(Diagnostics& diagnostics, Position at, Side side);
  bool check_tensor(Diagnostics& diagnostics, const Declared& declared) const;
  [[nodiscard]] std::string advice_on_batch() const;  // where all tensors have the same several items
  bool read_indices(Lexer& lexer, Diagnostics& diagnostics, const Declared& declared, Scalar& scalar) const;

  const Graph* graph_ = nullptr;
  bool version_1_ = true;
  std::uint32_t input_count_ = 0, output_count_ = 0;
  std::vector<std::uint32_t> input_first_, output_first_;  // first scalar of each tensor
  std::vector<bool> constant_declared_;                    // version 1.0, by scalar
  std::string network_name_;
  std::vector<Declared> declared_;
};

}  // namespace assay::vnnlib
