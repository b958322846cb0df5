// Private to dual_ascent.cpp and dual_scores.cpp: what a batch row carries besides its slots.
#pragma once

#include <vector>

#include "certificates/search/ascent/dual_ascent.h"
#include "certificates/search/network/function_lines.h"

namespace assay::search {

struct Multiplier {
  double value = 0, moment = 0, square = 0, scale = 0, best = 0;
};

struct DualAscent::Row {
  const DualTask* task = nullptr;
  DualResult* result = nullptr;
  std::vector<Multiplier> beta, weights;
  std::vector<double> best_x;
  double bound = 0, best = 0, checkpoint = 0;
  std::vector<FunctionLines> lines;  // by activation; prepared for the task's boxes by the first iteration
  bool prepared = true;
  bool fresh = true;   // no iteration yet: multipliers have no scale
  bool final = false;  // the best parameters are in place, to be scored
  int extra = 0;       // iterations since the task was closed
};

}  // namespace assay::search
