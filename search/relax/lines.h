// Lines below and above elementwise functions in double arithmetic. The kernel derives the same lines rigorously in
// relu_line and unary_line, so the search optimises the bound that the kernel will find.
//
// Source: the lines of CROWN (Zhang et al. 2018) for relu, and for functions with one inflection. The slope is a
// parameter; the intercept follows from it as the tightest one that holds on the box.
#pragma once

#include "search/relax/network.h"

namespace assay::search {

// slope * z + intercept, touching the function at `point`.
struct Line {
  double slope = 0, intercept = 0, point = 0;
};

// Whether the lines of the op have a closed form here; function_lines.h handles other functions with a record.
[[nodiscard]] bool has_closed_lines(Op op);
// The highest (lowest) line of the given slope below (above) f on [l, u].
[[nodiscard]] Line line_below(const Step& step, double slope, double l, double u);
[[nodiscard]] Line line_above(const Step& step, double slope, double l, double u);
// The range of slopes worth trying.
struct SlopeRange {
  double least, most;
};
[[nodiscard]] SlopeRange slope_range(const Step& step);
// The slopes that the optimisation starts from.
[[nodiscard]] double first_slope_below(const Step& step, double l, double u);
[[nodiscard]] double first_slope_above(const Step& step, double l, double u);

}  // namespace assay::search
