// Lines below and above elementwise functions in double arithmetic: what the kernel derives
// rigorously in relu_line and unary_line, so that the search optimises the bound that the kernel
// will find.
//
// Source: the lines of CROWN (Zhang et al. 2018) for relu, and of functions with one inflection. A
// slope is the parameter; the intercept follows from it as the tightest one that holds on the box.
#pragma once

#include "search/relax/network.h"

namespace assay::search {

// slope * z + intercept, touching the function at `point`.
struct Line {
  double slope = 0, intercept = 0, point = 0;
};

// Ops whose lines have a closed form here; of others with a record function_lines.h has them.
[[nodiscard]] bool has_closed_lines(Op op);
// The highest (lowest) line of the given slope below (above) f on [l, u].
[[nodiscard]] Line line_below(const Step& step, double slope, double l, double u);
[[nodiscard]] Line line_above(const Step& step, double slope, double l, double u);
// Between these lie the slopes that are worth trying.
struct SlopeRange {
  double least, most;
};
[[nodiscard]] SlopeRange slope_range(const Step& step);
// Slopes to start from.
[[nodiscard]] double first_slope_below(const Step& step, double l, double u);
[[nodiscard]] double first_slope_above(const Step& step, double l, double u);

}  // namespace assay::search
