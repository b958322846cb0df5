// Influence: how much the bounds of pre-activations matter to the conclusions of a proof, to first order.
//
// Every conclusion is a row that is carried back to the inputs. At an activation with the coefficient c, the row's bound falls by
// the distance between the activation and its line, times |c|: below for c > 0, above for c < 0. A looser box moves the line away
// by some distance d, so that the bound falls by about |c| d more.
//
// Boxes are bounds of rows of their own, and become looser with the boxes before them. A row for an element's box therefore
// counts by the change of all conclusions for each unit by which that box grows. Nothing here is rigorous.
#pragma once

#include <span>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/relax/network.h"

namespace assay::certificate {

class Influence {
 public:
  // Every activation's lines have a closed form.
  [[nodiscard]] static bool supports(const search::NeuronGraph& graph);
  // `tight`: the boxes of the proof; `loose`: those that its elements have where they are not refined.
  Influence(const search::NeuronGraph& graph, const search::NeuronBoxes& tight, search::NeuronBoxes loose);

  // A conclusion on a scope with these boxes, whose bound is `margin` > 0 above what is required.
  void add(const logic::CaseMultipliers& entry, std::uint32_t case_index, const logic::Hints& hints, const search::NeuronBoxes& boxes,
           double margin);
  // Called after all conclusions: adds the rows of boxes, of the elements in `refined`, by slot.
  void descend(const std::vector<bool>& refined);

  // By slot: the share of the margins that is lost where the box of the slot's operand is the loose one.
  [[nodiscard]] const std::vector<double>& losses() const { return loss_; }

 private:
  // Of one slot: the lines on its box, how far the loose box moves them at most, and how far each unit of a wider box does.
  struct Side {
    double slope = 0, loss = 0, rate = 0;
  };
  struct Neuron {
    Side below, above;
  };
  [[nodiscard]] static Neuron slot_of(const search::Step& step, double l, double u, double loose_l, double loose_u, const float* hint);
  void walk(std::size_t rows, std::vector<std::vector<double>> a, std::span<const double> weights, const std::vector<Neuron>& slots);

  const search::NeuronGraph& graph_;
  const search::NeuronBoxes& tight_;
  const search::NeuronBoxes loose_;
  std::vector<Neuron> slots_;
  std::vector<double> loss_, rate_;  // by slot, so far
};

}  // namespace assay::certificate
