// ScalarGraph: a small network as a list of scalar functions and products of affine forms, so that many boxes can be
// bounded side by side.
//
// Atoms are the concatenated inputs, followed by the results of the non-linear ops element by element ("neurons",
// as NeuronGraph numbers them). Every affine node between them is flattened into forms over atoms. Non-rigorous
// doubles; immutable.
//
// Strong branching of inputs bounds all halves of a box with it. The dense forms are made once, so it serves only small
// networks, such as controllers with products.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::search {

struct ScalarEntry {
  std::uint32_t atom;
  double value;
};

struct ScalarForm {
  std::uint32_t first, last;  // range of the entries
  double constant;
  std::uint32_t end_neuron;  // one past the last neuron that the form reads; 0: it reads only inputs
};

class ScalarGraph {
 public:
  struct Neuron {
    const Step* step;
    std::uint32_t element;  // of the step's node
    std::uint32_t p, q;     // operand forms; p = q for a function of one variable
    std::uint32_t product;  // number among the products; kNone for a function of one variable
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Nullopt if the network is not small, if it has ops other than functions of one variable with lines and
  // elementwise products, if it has no product (only the mixes of products are optimised), or if the group is more
  // than a box of reals.
  static std::optional<ScalarGraph> of(const NeuronGraph& graph, std::size_t group);

  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] std::size_t inputs() const { return network_->input_size(); }
  [[nodiscard]] std::size_t atoms() const { return inputs() + neurons_.size(); }
  [[nodiscard]] std::size_t products() const { return products_; }
  [[nodiscard]] const std::vector<Neuron>& neurons() const { return neurons_; }
  // The forms that neurons read, in the order of first use.
  [[nodiscard]] const std::vector<ScalarForm>& operands() const { return operands_; }
  [[nodiscard]] std::span<const ScalarEntry> entries(const ScalarForm& form) const {
    return std::span(entries_).subspan(form.first, form.last - form.first);
  }
  // The rows of a case (an index into the statement), each divided by its scale. A row is met where its form is <= 0.
  [[nodiscard]] const std::vector<ScalarForm>& rows(std::uint32_t one) const { return rows_[one]; }

 private:
  explicit ScalarGraph(const Network& network) : network_(&network) {}
  [[nodiscard]] bool add_neurons(const NeuronGraph& graph);
  [[nodiscard]] bool add_rows();
  ScalarForm add_form(const std::vector<double>& dense, double constant);
  const Network* network_;
  std::size_t products_ = 0;
  std::vector<Neuron> neurons_;
  std::vector<ScalarForm> operands_;
  std::vector<std::vector<ScalarForm>> rows_;  // by case
  std::vector<ScalarEntry> entries_;
  // Only during construction: by node, [element, 1 + atoms], the constant first.
  std::vector<std::vector<double>> dense_;
};

}  // namespace assay::search
