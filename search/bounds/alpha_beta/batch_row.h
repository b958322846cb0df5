// Private to alpha_beta_crown.cpp, scores.cpp and shared_alphas.cpp: steps of the ascent, and the state of a batch row
// besides its neurons.
//
// A batch row is one task: a case on one subdomain, or one end of one neuron's range. Rows share only the maps of the
// network, so that a batch consists of independent ascents.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/relax/function_lines.h"
#include "search/relax/softmax_planes.h"

namespace assay::search {

struct Multiplier {
  double value = 0, moment = 0, square = 0, scale = 0, best = 0;
};

// Adam's decay rates; short memories, since there are few iterations.
constexpr double kFirstMoment = 0.8, kSecondMoment = 0.9;
// Relative to a row's scale, added to Adam's normaliser: smaller gradients are rounding.
constexpr double kLeastGradient = 1e-9;
// Relative to a row's scale: a bound that rises by less is not worth other parameters.
constexpr double kLeastRise = 1e-9;

inline void adam(Multiplier& m, double gradient, double rate) {
  m.moment = kFirstMoment * m.moment + (1 - kFirstMoment) * gradient;
  m.square = kSecondMoment * m.square + (1 - kSecondMoment) * gradient * gradient;
  m.value = std::max(0.0, m.value + rate * m.scale * m.moment / (std::sqrt(m.square) + kLeastGradient));
}

// The planes of a softmax, and the boxes that they were made on: first the operand's, then its own.
struct AlphaBetaCrown::Softmax {
  std::vector<double> lo, hi;
  std::vector<SoftmaxPlanes> planes;
};

struct AlphaBetaCrown::Row {
  const BoundTask* task = nullptr;
  BoundResult* result = nullptr;
  std::vector<Multiplier> beta, weights;
  std::vector<double> best_x;
  double bound = 0, best = 0, checkpoint = 0;
  // By activation; the first iteration prepares them for the task's boxes.
  std::vector<FunctionLines> lines;
  std::vector<std::shared_ptr<const Softmax>> softmax;  // by activation, prepared like the lines
  bool prepared = true;
  bool fresh = true;   // no iteration yet: multipliers have no scale
  bool final = false;  // the best parameters are in place, to be scored
};

}  // namespace assay::search
