#!/usr/bin/env python3
"""Controls of the kernel's tests: the kernel without one side condition, one payment or one direction at a time.

    kernel_mutants.py BUILD_DIR [--only TEXT] [--changed COMMIT] [--jobs N]

BUILD_DIR holds a finished release build with tests. Each mutant is one replaced piece of one file; the sources that hold it
are compiled alone, linked before the kernel's library, and must turn the named test red. The table below is thus also the list of what
each inequality is there for. Exit code 0: every mutant was caught, and the unchanged kernel passes.
The working tree is never changed: mutants live in a temporary folder.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

from mutants import changed_since, flags_of, passes

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["kernel/logic", "kernel/relax", "kernel/rows", "kernel/exact", "kernel/floats", "semantics/functions", "semantics/ops", "semantics/statement", "certificates/check"]

# (text that occurs once in the folders below, replacement, names of tests of which one must fail)
MUTANTS = [
    # Rule case: boxes outward, vacuity exact, environment and semantics known.
    ("box->lo.push_back(exact.lo[at].double_down());", "box->lo.push_back(exact.lo[at].double_up());", "root: decimal ends are rounded outward"),
    ("std::max(-floor(-box->lo[i]), least)", "std::max(-floor(-box->lo[i]) + Rational(1), least)", "a box over an integer input*"),
    ("std::min(floor(box->hi[i]), most)", "std::min(floor(box->hi[i]), most - Rational(1))", "a box over an integer input*"),
    ("box.hi[i] = add_up(box.hi[i], form.bias_error[i]);", "", "layout of integers keeps their ends"),
    ("box->hi.push_back(exact.hi[at].double_up());", "box->hi.push_back(exact.hi[at].double_down());", "root: decimal ends are rounded outward"),
    ("if (box.lo[i] > box.hi[i] ||", "if (box.lo[i] >= box.hi[i] ||", "empty: an empty box in the statement is vacuous*"),
    ("if (floating_point_environment_is_standard()) return Done{};", "return Done{};", "the floating-point environment is checked at every entry"),
    # Networks: what a problem does not share is checked for each.
    ("if (const auto problems = validate_property(of.graph_, property); !problems.empty()) return problems.front();", "", "each property is validated*"),
    ("if (const auto problems = statement::validate_graph(owned); !problems.empty()) return problems.front();", "", "each property is validated*"),
    # Executions: what each node pays.
    ("size[i] = (size[i] + bias) * kInflate", "size[i] = size[i] * kInflate", "executions: a bias is a term"),
    ("double terms = 1;\n  for (const rows::AffineForm::Part& part : form.parts) terms +=", "double terms = 0;\n  for (const AffineForm::Part& part : form.parts) terms +=", "executions: a product of m terms*"),
    ("const double u = (narrow ? 0x1p-53 : unit_roundoff(format)) * (cut_off ? 2 : 1), joined", "const double u = (narrow ? 0x1p-53 : unit_roundoff(format)) * (cut_off ? 2 : 0.5), joined", "executions: a product of m terms*"),
    ("joined = std::fmax(terms - 1, 0);", "joined = std::fmax(terms - 2, 0);", "executions: a product of m terms*"),
    ("if (model.flush_results || model.flush_operands)\n    errors.absolute", "if (false)\n    errors.absolute", "executions: subnormal results*"),
    ("if (model_->flush_results) absolute =", "if (false) absolute =", "executions: a subnormal result inside*"),
    ("if (model.flush_operands) factors.absolute += smallest_normal(format);", "", "executions: operands that may be flushed*"),
    ("if (all < largest(format) && error < kInfinity) result[i] = error;", "if (error < kInfinity) result[i] = error;", "executions: a box on which a partial sum*"),
    ("relative = std::fmax(relative, mul_up(bound, 2 * u));", "", "executions: a function pays*"),
    ("if (!has_rows(name) || argument.empty)", "if (argument.empty)", "executions: a function pays*"),
    ("error += error_bound.rounding[i];", ";", "executions: each layer pays*"),
    ("error[j] += rounding[j];", ";", "executions: each layer pays*"),
    ("step = network_->folded_into(*step)) {", "step = std::nullopt) {", "executions: a product and the bias*"),
    ("affine_[x] && folds ?", "affine_[x] ?", "executions: a product and the bias*"),
    ("  widen(box, *rounding_[node]);\n  return box;", "  return box;", "executions: a product and the bias*"),
    ("error_bounds_[node]->rounding != rounding", "false", "executions: errors are found again*"),
    ("if (rounding_[node]) widen(box, *rounding_[node]);", "", "executions: a function pays*"),
    ("sub_down(relaxation->lower_intercept[i], (*rounding_[node])[i])", "relaxation->lower_intercept[i]", "executions: relaxations move outward"),
    ("add_up(relaxation->upper_intercept[i], (*rounding_[node])[i])", "relaxation->upper_intercept[i]", "executions: relaxations move outward"),
    ("if (problem_->floating() && !boxes_[node]) return not_boxed(\"conclude.S4\", node);", "", "executions: a box on which a partial sum*"),
    ("if (!one.read_twice) continue;", "continue;", "executions: products of several readers*"),
    ("sum->further_roundings += sum->products && model.bias_in_product ? 1 : 0;", "", "executions: a bias that joins*"),
    ("if (model.bias_in_product && floats::has_factors(graph_.node(one.product).op))", "if (false)", "executions: a bias that joins*"),
    ("errors[i] = all < format.overflow ? add_up(errors[i], add_up(mul_up(format.unit, all), format.smallest)) : floats::kInfinity;", "", "executions: storage rounds*"),
    ("errors[i] = all < format.overflow ?", "errors[i] = true ?", "executions: storage rounds*"),
    ("value = Interval(number_below(format, value.lo()), number_above(format, value.hi()));", ";", "executions: storage rounds*"),
    ("if (!most || !(row.strict ? -*most < row.bound : -*most <= row.bound))", "if (false)", "executions: a witness holds*"),
    ("if (problem->floating() && !whole && !floats::has_number(problem->statement().semantics, x, x))", "if (false)", "executions: a witness is a number*"),
    ("(of_floats && !floats::has_number(network.semantics_, box.lo[i], box.hi[i]))", "false", "executions: a box without a number*"),
    ("if (is_float(node.dtype) && node.dtype != format)", "if (false)", "executions: values of another format*"),
    ("a.operations + b.operations + 1,", "a.operations + b.operations,", "executions: factors that may be combined*"),
    ("const double of_weights = gamma_up(formula.operations, u);", "const double of_weights = 0;", "executions: factors that may be combined*"),
    ("++quotient.operations;", "", "executions: a quotient may be*"),
    ("x.terms + y.terms,", "1,", "executions: a factor that may be distributed*"),
    ("result.operations += kBatchNormRoundings;", "", "executions: weights that normalisation*"),
    ("for (Interval& mean : sizes[3].values) mean = -mean;", "", "executions: weights that normalisation*"),
    ("if (normal && most < largest(format) && error < kInfinity) errors[i] = error;", "errors[i] = error;", "executions: constants that may overflow*"),
    ("!constants_.is_constant[operand] && readers_[operand] == 1 &&", "!constants_.is_constant[operand] &&", "executions: a step that is read twice*"),
    ("add_up(add_up(error, of_differences->values[i].magnitude()), underflows)", "add_up(error, underflows)", "executions: a variance in one pass pays for what*"),
    ("if (normal && most < largest(format)", "if (most < largest(format)", "executions: divisors whose product*"),
    ("for (std::size_t i = 0; i < more.size(); ++i) errors[i] = std::max(errors[i], more[i]);", "", "executions: a factor that may be distributed*"),
    ("add_up(mul_up(mul_up(2, m), of_mean), mul_up(gamma_up(n + 10, u), sizes))", "mul_up(gamma_up(n + 10, u), sizes)", "executions: a variance in one pass*"),
    ("add_up(mul_up(mul_up(2, m), of_mean), mul_up(gamma_up(n + 10, u), sizes))", "mul_up(mul_up(2, m), of_mean)", "executions: a variance in one pass*"),
    ("product.operations += 2 * operand.operations;", "product.operations += operand.operations;", "executions: a factor that moves*"),
    ("product.factors = mul_up(product.factors, operand.factors);", "", "executions: a product whose moved factor*"),
    ("if (floats::is_algebraic(node) || is_product) {", "if (floats::is_algebraic(node)) {", "executions: a factor that moves*"),
    ("if (!is_mean(mean, x)) std::swap(x, mean);", "", "executions: a variance in one pass is one where*"),
    ("static_cast<std::size_t>(axis)] == 1; });", "static_cast<std::size_t>(axis)] == 0; });", "executions: a variance in one pass is one where*"),
    # Rule split, one side.
    ("|| !(literal.element < graph.size(literal.node))", "|| !(literal.element <= graph.size(literal.node))", "assume S1: the literal names*"),
    ("|| problem_->is_constant(literal.node) ||", "||", "assume S1: the literal names*"),
    ("if (!std::isfinite(literal.threshold))", "if (std::isnan(literal.threshold))", "assume S2: the threshold is finite"),
    ("context_->depth >= kMaxDepth", "context_->depth > kMaxDepth", "assume S3: at most 10000 literals"),
    ("return gives_integers(node.op, node.dtype) && !(problem.floating() && is_float(node.dtype));", "return true;", "a literal on an element of integers*"),
    ("gives_integers(node.op, node.dtype) && !(problem.floating() && is_float(node.dtype))", "gives_integers(node.op, node.dtype)", "floats of an execution keep*"),
    ("box.hi[i] = std::floor(box.hi[i]);", "box.hi[i] = std::floor(box.hi[i]) - 1;", "a node that takes integers alone*"),
    ("box.lo[i] = std::ceil(box.lo[i]);", "box.lo[i] = std::floor(box.lo[i]) + 1;", "a literal on an element of integers*"),
    ("if (literal.node != node) continue;", "continue;", "assume: a literal meets the box*"),
    # Rule meet.
    ("if (other.context_ != context_)", "if (false)", "meet S1: facts of a scope with the same context*"),
    ("if (boxes_[node] && other.boxes_[node] && boxes_[node] != other.boxes_[node])", "if (other.boxes_[node])", "meet S1: facts of a scope with the same context*"),
    # Rule empty.
    ("contradiction_ |= box.lo[i] > box.hi[i];", "contradiction_ |= box.lo[i] >= box.hi[i];", "catalogue CONSTIN*,empty S1: some box has lo > hi*"),
    ("if (!contradiction_) return reject(\"empty.S1\"", "if (false) return reject(\"empty.S1\"", "empty S1: some box has lo > hi*"),
    # Rule box.
    ("if (result.value().values[i].is_undefined())\n      return reject(\"propagate_box.S3\"", "if (false)\n      return reject(\"propagate_box.S3\"", "propagate_box S3: the op is defined on the whole box"),
    ("width = (hi[i] + (error[i] + absolute)) * kOut;", "width = hi[i] * kOut;", "rounding: the sum of products of one element of a box"),
    ("width = (hi[i] + (error[i] + absolute)) * kOut;", "width = (error[i] + absolute) * kOut;", "random graphs: no sampled point*"),
    ("lo[i] = finite ? l - std::fabs(l) * kStep : -INFINITY;", "lo[i] = l - std::fabs(l) * kStep;", "box: what overflows is the whole line"),
    ("const double bias_factor = terms(std::max(size, most));", "const double bias_factor = terms(size);", "rounding: a large bias before many terms of a convolution"),
    # Rule back-substitution: what the filter pays.
    ("const double bias_factor = terms(std::max(size, most));", "const double bias_factor = 0;", "rounding: the sum of biases of one row"),
    ("const double factor = 2 * terms(most);", "const double factor = 0;", "back-substitution: errors that underflow*"),
    ("+ error_bound.sizes->errors[i]) * kInflate", ") * kInflate", "rounding: constants that intervals enclose widely"),
    ("return slope > 0 ? factor * slope * x[element] : 0.0;", "return 0.0 * slope;", "rounding: a chain of lines"),
    ("factor * intercept)", "0 * intercept)", "rounding: the sum of intercepts of one row"),
    ("sums.error *= terms(size);", "sums.error *= 0;", "rounding: the concretisation at the inputs"),
    ("error_bound_[row] += 2 * kUnit * error * kInflate;", ";", "rounding: many paths that meet in one node"),
    ("(sums_[row].error + absolute + 2 * kUnit * std::fabs(constant_[row]))", "(sums_[row].error + absolute)", "rounding: the constant*"),
    ("error + (slot == 0 ? 0 : 2 * kUnit * std::fabs(slot + coefficient))", "error", "rounding: many literals on one coefficient"),
    ("error + (slot == 0 ? 0 : 2 * kUnit * std::fabs(slot + coefficient))", "(slot == 0 ? 0 : 2 * kUnit * std::fabs(slot + coefficient))", "conclude: coefficients that are no doubles*"),
    ("const double lower = sub_down(constant_[row], error_bound_[row] * kInflate);", "const double lower = constant_[row];", "conclude S3: strictness decides*,catalogue ORDER1*,rounding:*"),
    ("{product, std::fma(m, threshold, -product)});", "{-product, 0.0});", "conclude: a literal helps by its multiplier*"),
    ("const double m = at_least ? hints.beta[i] : -hints.beta[i],", "const double m = at_least ? -hints.beta[i] : hints.beta[i],", "random graphs: no sampled point*"),
    ("from_lane((kLanes - n % kLanes) % kLanes, rest);", "from_lane(0, rest);", "random graphs*,rounding*"),
    ("sum.error += x != zero ? (positive ? x : -x) * lanes(p + j) : zero;", "sum.error += x != zero ? x * lanes(p + j) : zero;", "rounding: the sum of biases of one row"),
    # The exact path.
    ("constant_[row].add(-lossy * block.width,", "constant_[row].add(0 * block.width,", "exact path: bits that are dropped are covered"),
    ("lossy += bits.below(drop) ? 1 : 0;", "", "exact path: bits that are dropped are covered"),
    ("lossy = (bits.below(-left_new) ? 1 : 0) + (old.below(-left_old) ? 1 : 0);", "", "exact path: what an alignment drops*"),
    ("if (lossy > 0 && !block.finite) failed_[row] = true;", "", "exact path: a coefficient that vanishes*"),
    ("if (m[j] != 0 && grid.infinite[j + (m[j] > 0 ? 0 : size)]) failed_[row] = true;", "", "a bound beyond all doubles*"),
    ("mantissa_ += mantissa >> std::min(exponent_ - exponent, 127);", "mantissa_ += mantissa / (Int128{1} << std::min(exponent_ - exponent, 126));", "lower sums*"),
    ("if (over > 0) mantissa_ >>= over;", "if (over > 0) mantissa_ = (mantissa_ >> over) + 1;", "lower sums*"),
    ("if (round != Round::up && beyond < -least) --mantissa;", "", "grids: below*"),
    ("v > 0 ? 0.25 : v < 0 ? -0.25 : 0.0", "0.0", "grids: below*"),
    ("for (double& error : minus) error = -error;", "", "grids: errors*"),
    ("if (half_step > 0) {", "if (false) {", "exact path: every rounded grid value is covered"),
    ("error[j] += half_step * product[j] * kInflate + kUnderflow;", "error[j] += half_step * product[j] * kInflate;", "back-substitution: errors that underflow*"),
    ("result.error.resize(form.bias.size());", "result.error.assign(form.bias.size(), 0.0);", "exact path: every rounded grid value is covered"),
    ("if (off[k] > 0) lower[j] =", "if (false) lower[j] =", "exact path: slopes between grid points are covered"),
    ("if (off[upper_off + k] > 0) upper[j] =", "if (false) upper[j] =", "exact path: slopes between grid points are covered"),
    ("if (off != nullptr && beyond != 0) (*off)[first + i] =", "if (false) (*off)[first + i] =", "grids: to nearest*"),
    ("put(positive, Round::down, grid, nullptr);", "put(positive, Round::up, grid, nullptr);", "exact path: ends of boxes*"),
    ("put(negative, Round::up, grid, nullptr);", "put(negative, Round::down, grid, nullptr);", "exact path: ends of boxes*"),
    ("if (part.error) {", "if (false) {", "rounding: constants that intervals enclose widely"),
    ("constant_[row].add(-lost.mantissa, lost.exponent);", "", "conclude: coefficients that are no doubles*"),
    ("{product, std::fma(m, threshold, -product)}", "{product, 0.0}", "exact: a literal's multiplier times its threshold*"),
    ("off.empty() ? 0.0 : std::ranges::max(off)", "0.0", "integer entries of extreme weights"),
    # Rule refine.
    ("if (!(std::max(bound, known) >= claim) &&", "if (std::max(bound, known) < claim &&", "tighten S3: a claim is implied*"),
    ("!(settled(targets, row, hints, bounds.value()[row], claim, tried) >= claim)", "!(add_up(bounds.value()[row].estimate, bounds.value()[row].error_bound) >= claim)", "tighten S3: a claim between*"),
    ("claims->lo[row / 2] : -claims->hi[row / 2], known", "claims->lo[row / 2] : -claims->hi[row / 2] - 1e-6, known", "tighten S3*"),
    ("if (exact && !(", "if (false && !(", "tighten S3: a claim between*"),
    ("bound = float_down(bound);", "bound = static_cast<float>(bound);", "tighten: derived bounds rounded to float go outward,random graphs: no sampled point*"),
    ("end = lower ? bound : -bound;", "end = bound;", "random graphs: no sampled point*"),
    ("return !(element < graph.size(node)); }))", "return !(element <= graph.size(node)); }))", "tighten: node*"),
    ("claims->lo.size() != elements.size() || claims->hi.size() != elements.size()", "claims->lo.size() != elements.size()", "tighten: node*"),
    # Hints and multipliers.
    ("return m >= 0 && std::isfinite(m);", "return !(m < 0) && !std::isinf(m);", "hints: slopes have the node's size*"),
    ("return m >= 0 && std::isfinite(m);", "return std::isfinite(m);", "conclude S2*"),
    ("slopes.size() != graph.size(node)", "slopes.size() < graph.size(node)", "hints: slopes have the node's size*"),
    # Rule conclude.
    ("*value > required ||", "*value >= required ||", "conclude S3: strictness decides*"),
    ("(strict && *value == required)", "*value == required", "conclude S3: strictness decides*"),
    ("Interval(box.lo[e.element], box.hi[e.element]);\n  }\n  return sum.lo();", "Interval(box.lo[e.element]);\n  }\n  return sum.lo();", "conclude: a case that the boxes refute*"),
    ("return sum.lo();", "return sum.hi();", "conclude: a case that the boxes refute*"),
    ("found == nullptr && asked.value().proved", "asked.value().proved", "conclude: a case that the boxes refute*"),
    ("if (m.sign() == 0) continue;", "", "conclude S3: a strict row counts only*"),
    ("asked.required += m * rows[r].bound;", "asked.required += rows[r].bound;", "conclude S2*,conclude: rows over inputs*,conclude S3:*"),
    ("down, sub_up(coefficient.double_up(), down)});", "down, 0.0});", "conclude: coefficients that are no doubles*"),
    ("if (!(one.position < group.size()))", "if (!(one.position <= group.size()))", "conclude S1*"),
    ("if (!single && one.rows.size() != rows.size())", "if (!single && one.rows.size() < rows.size())", "conclude S1*"),
    # Rules merge, split, unsat.
    ("if (a.content_->context != b.content_->context)", "if (a.content_->context->group != b.content_->context->group)", "merge S1*"),
    ("if (parent == nullptr || at_most.parent.get() != parent || at_least.parent.get() != parent)", "if (parent == nullptr || at_most.parent.get() != parent)", "join S1 to S3*"),
    ("a.node != b.node ||", "", "join S1 to S3*"),
    ("a.element != b.element ||", "", "join S1 to S3*"),
    ("!(a.threshold == b.threshold)", "a.threshold > b.threshold", "join S1 to S3*"),
    ("if (a.at_least || !b.at_least)", "if (a.at_least)", "join S1 to S3*"),
    ("at_most.cases()[i] && at_least.cases()[i]", "at_most.cases()[i] || at_least.cases()[i]", "join: the cases of both sides only"),
    ("at_most.vacuous() && at_least.vacuous()", "at_most.vacuous() || !at_least.vacuous()", "join: the cases of both sides only"),
    ("if (context.problem != problem || context.parent)", "if (context.parent)", "unsatisfiable S1*"),
    ("if (context.problem != problem || context.parent)", "if (context.problem != problem)", "unsatisfiable S1*"),
    ("if (!r.complete())", "if (false)", "unsatisfiable S1*"),
    ("if (none != seen.end())", "if (false)", "unsatisfiable S1*"),
    # Rule witness.
    ("box.lo[i] <= x && x <= box.hi[i]", "box.lo[i].double_down() <= x.double_up() && x.double_down() <= box.hi[i].double_up()", "satisfiable S1 to S3*"),
    ("&& (!whole || floor(x) == x)", "", "a witness holds values of the inputs' types"),
    ("strict ? upper < bound : upper <= bound", "upper <= bound", "satisfiable S1 to S3*"),
    ("positive ? *hi : *lo", "positive ? *lo : *hi", "satisfiable: what no precision decides*"),
    ("upper <= bound)) return Truth::open;", "upper <= bound)) continue;", "satisfiable: what no precision decides*"),
    # Lines and planes.
    ("sub_up(u, mul_down(slope, u))", "(u - slope * u)", "relu_line: the intercept*,lines of one operand*"),
    ("if (!(below >= 0 && below <= 1)) result", "if (!(below >= 0 && below <= 2)) result", "lines of one operand*"),
    ("if (l >= 0) {", "if (l >= -1) {", "lines of one operand*"),
    ("return {{-kEverywhere, 0, linear}, {0, kEverywhere, linear}};", "return {{-kEverywhere, kEverywhere, linear}};", "lines of one operand*"),
    ("{lo, hi, linear}, {hi, kEverywhere, linear}", "{lo, kEverywhere, linear}", "lines of one operand*"),
    ("case Op::asinh:\n      return {{-kEverywhere, 0, convex}, {0, kEverywhere, concave}};", "case Op::asinh:\n      return {{-kEverywhere, kEverywhere, convex}};", "lines of one operand*"),
    ("even ? positive : Curve::concave", "positive", "lines of one operand*"),
    ("std::min(result, t.lo()) : std::max(result, t.hi())", "std::min(result, t.hi()) : std::max(result, t.lo())", "lines of one operand*"),
    ("before{-INFINITY, first + d, Curve::affine", "before{-INFINITY, first + d + 1, Curve::affine", "lines over jumps*"),
    ("Curve::affine, true, 1, Interval(-d, 1 - d)}", "Curve::affine, true, 1, Interval(-d, 0)}", "lines over jumps*"),
    ("Curve::affine, false, 0, last}", "Curve::affine, false, 0, first}", "lines over jumps*"),
    ("} else if (std::max(-l, u) < 0x1p51) {", "} else {", "lines over jumps*"),
    ("add_steps(Staircase::ceil, l, std::min(u, 0.0), pieces);", "add_steps(Staircase::floor, l, std::min(u, 0.0), pieces);", "lines over jumps*"),
    ("{-alpha, alpha, affine, true, 0, 0.0},", "{-alpha, alpha, affine, true, 0, beta},", "lines over jumps*"),
    ("{-kEverywhere, 0, affine, true, 0, -1.0}", "{-kEverywhere, 0, affine, true, 0, 0.0}", "lines over jumps*"),
    ("(s.to == u && !s.jumps)) return;", "s.to == u) return;", "lines over jumps*"),
    ("if (from == to && segments_.steps() == Staircase::none)", "if (segments_.steps() == Staircase::none)", "lines over jumps*"),
    ("on(Dual<Interval>(Interval(from))).value(), 0.0}", "on(Dual<Interval>(middle)).value(), 0.0}", "lines over jumps*"),
    ("(s.to == from && from < u && !s.jumps)) continue;", "(s.to == from && from < u)) continue;", "lines over jumps*"),
    ("is_integer(node.dtype) ? Segments(Segments::Staircase::truncate) : Segments()", "is_integer(node.dtype) ? Segments{{-kEverywhere, kEverywhere, Curve::linear}} : Segments()", "lines over jumps*"),
    ("t = std::max(t, gap.hi());", "t = gap.hi();", "selection planes hold*"),
    ("return !(x[k].hi() >= floor);", "return !(x[k].midpoint() >= floor);", "selection planes hold*"),
    ("lower ? -plane.t : plane.t", "plane.t", "selection planes hold*"),
    ("lower ? rank[j] + 1 : candidates.size() - rank[j]", "lower ? rank[j] + 1 : candidates.size() - rank[j] - 1", "selection planes hold*"),
    ("lower ? rank[j] + 1 : candidates.size() - rank[j]", "lower ? std::max<std::size_t>(rank[j], 1) : candidates.size() - rank[j]", "selection planes hold*"),
    ("descending ? r : lines[line].size() - 1 - r", "r", "selection planes hold*"),
    ("at.offset() + static_cast<std::size_t>(k < 0 ? k + extent : k)", "at.offset() + static_cast<std::size_t>(k < 0 ? -k - 1 : k)", "selection planes of take*"),
    ("last = std::floor(index.hi[j]);", "last = std::ceil(index.lo[j]);", "selection planes of take*"),
    ("strides[axis] = 0;", "", "selection planes of take*"),
    ("p == 0 ? boxes[0]->hi[gate[j]] <= 0", "p == 0 ? boxes[0]->lo[gate[j]] <= 0", "selection planes hold*"),
    # What a rule is given, whatever it is.
    ("chosen.common = std::isfinite(chosen.common) ? chosen.common : 0;", "", "choices: whatever*"),
    ("if (k && *k < candidates.size()) put", "if (k) put", "choices: whatever*"),
    ("weighted.p < x.size() && weighted.q < x.size() && ", "", "choices: whatever*"),
    ("if (!(chosen.weights[j] > 0)) continue;", "", "choices: whatever*"),
    # Rule cut: what a term is, the bound's direction, its use, and what both halves have.
    ("if (!(term.node < graph.nodes.size()) || problem_->is_constant(term.node) || !(term.element < graph.size(term.node)))", "if (!(term.node < graph.nodes.size()) || !(term.element < graph.size(term.node)))", "cut S1 to S3*"),
    ("!(term.element < graph.size(term.node)))", "!(term.element <= graph.size(term.node)))", "cut S1 to S3*"),
    ("if (!std::isfinite(term.coefficient))", "if (false)", "cut S1 to S3*"),
    ("const float bound = float_down(bounds.value()[0].lower);", "const float bound = float_up(bounds.value()[0].lower);", "cut: a sum over relus*,cut: the bound counts*"),
    ("if (!std::isfinite(bound)) return reject(\"cut.S3\"", "if (false) return reject(\"cut.S3\"", "cut S1 to S3*"),
    ("if (!usable(hints.cuts)) return reject(", "if (false) return reject(", "cut S1 to S3*"),
    ("result.constants.push_back(m * static_cast<double>(cuts_[k]->bound));", "result.constants.push_back(0.0);", "cut: a sum over relus*,cut: the bound counts*"),
    ("rows.add(row, node, term->element, -term->coefficient, 0.0);", "rows.add(row, node, term->element, term->coefficient, 0.0);", "cut: a sum over relus*"),
    ("if (!result.terms.empty()) result.start = std::max(start, result.terms.front().node);", "", "cut: with terms behind*"),
    ("cuts_.push_back(left.bound <= right.bound ? a.cuts_[k] : b.cuts_[k]);", "cuts_.push_back(left.bound >= right.bound ? a.cuts_[k] : b.cuts_[k]);", "cut: of both halves*"),
    ("if (left.terms != right.terms) break;", "", "cut: of both halves*"),
    ("std::ranges::mismatch(cuts_, other.cuts_).in2,", "other.cuts_.begin(),", "cut: a scope meets*"),
    ("static_cast<double>(rows.hints->cuts.size()) + of_terms(rows)", "static_cast<double>(rows.hints->cuts.size())", "cut: terms and cuts*"),
    ("sum += idle_work_[e.node];", "sum += 0 * e.coefficient;", "cut: rows that start in a folded node*"),
    # Rows of feature maps pay for what they touched, and for a whole row in each tile.
    ("beside(work) + row_work_[work.node];", "beside(work);", "windows: rows pay for what they touch"),
    ("return static_cast<double>(work.multiply_adds) +", "return", "windows: rows pay for what they touch"),
    ("return order->size() * fan_in_ + out.elements->size();", "return out.elements->size();", "windows: rows pay for what they touch"),
    ("targets.windows ? 2 * kElementsTogether", "targets.windows ? 3 * kElementsTogether", "windows: rows pay for what they touch"),
    # Products by entries: every weight that is not 0, and every coefficient.
    ("if (w[k] != 0) entries.push_back(", "if (w[k] > 0) entries.push_back(", "affine forms:*"),
    ("is_matrix && !weights.error_alone && weights.used", "is_matrix && weights.used", "affine forms: a matrix with weights that are 0 but*"),
    ("is_matrix && !weights.error_alone &&", "!weights.error_alone &&", "affine forms: products with weights*"),
    ("count += a[i] != 0 ? 1 : 0;", "count += a[i] > 0 ? 1 : 0;", "affine forms: products with weights*"),
    # McCormick's planes: the rest over the ranges, a factor that is a point, and which products need no number of their own.
    ("(v - Interval(b)) * (w - Interval(a)) - Interval(a) * Interval(b)", "(v - Interval(b)) * (w - Interval(a))", "matmul planes hold on every box*"),
    ("return {a, b, lower ? rest.lo() : rest.hi()};", "return {a, b, rest.midpoint()};", "matmul planes hold on every box*"),
    ("v.is_point() ? 0 : lower ? between(w.lo(), w.hi()) : between(w.hi(), w.lo())", "lower ? between(w.lo(), w.hi()) : between(w.hi(), w.lo())", "product planes*"),
    ("constant_ += Interval(plane.t);", "", "matmul planes hold on every box*"),
    ("constant_ = Interval(plane.t);", "constant_ = Interval(0.0);", "composed planes of*,planes of several operands*"),
    ("if (term.first < x_.size() || !(term.second == Interval(1.0))) return false;", "if (term.first < x_.size()) return false;", "matmul planes hold on every box*,planes of several operands*"),
    ("mccormick(x_[step.a], x_[step.b], lower ? mixes_.below : mixes_.above, lower)", "mccormick(x_[step.a], x_[step.b], mixes_.below, lower)", "composed planes: the mix*"),
    ("push_back(x[v].is_point() && !is_product(node) ?", "push_back(x[v].is_point() ?", "product planes: a formula that is read once*"),
    # denoted_plane: the inequalities of each step, what a factor's sign asks for, and what rounding the slopes costs.
    ("(factor.lo() >= 0) == lower ? *v.below : *v.above", "lower ? *v.below : *v.above", "composed planes of*,bounded: forms of random*"),
    ("if (!(factor.lo() >= 0 || factor.hi() <= 0)) {", "if (factor.is_undefined()) {", "bounded: a factor without a sign*"),
    ("constant_ += is_one ? form.constant : factor * form.constant;", "", "bounded: forms of random*"),
    ("constant_ = Interval(unary_intercept(f, pieces, lower, line));", "constant_ = Interval(0.0);", "bounded: forms of random*"),
    ("add(Interval(line.slope), v, lower);", "add(Interval(line.slope), v, true);", "bounded: forms of random*"),
    ("range += coefficient * at(v).range;", "", "bounded: forms of random*"),
    ("range_over(*below, x_).lo(), range_over(*above, x_).hi()", "range_over(*below, x_).lo(), range_over(*below, x_).hi()", "bounded: forms of random*"),
    ("{lo > range.lo() ? lo : range.lo(), hi < range.hi() ? hi : range.hi()}", "{lo > range.lo() ? lo : range.lo(), hi}", "bounded: what is known*,softmax planes hold*"),
    ("log(Interval(known.lo())).lo()", "log(Interval(known.hi())).lo()", "softmax planes hold*"),
    ("log(Interval(known.hi())).hi()", "log(Interval(known.lo())).hi()", "softmax planes hold*"),
    ("if (step.kind == Kind::exp) v.range", "if (true) v.range", "composed planes of quotients*"),
    ("constant_ -= weight * log(weight);", "constant_ -= weight * log(weight) * Interval(1.5);", "softmax planes hold*"),
    ("const Interval weight = Interval(chosen.weights[j]) / total;", "const Interval weight = Interval(chosen.weights[j]) / total * Interval(1.01);", "softmax planes hold*"),
    ("constant_ = -h - Interval(1.0);", "constant_ = -h - Interval(1.5);", "softmax planes hold*"),
    ("max(from - slope * lo, to - slope * hi)", "from - slope * lo", "softmax planes hold*"),
    ("(common + log(Interval(high.hi()))).hi()", "(common + log(Interval(low.lo()))).hi()", "bounded: forms of random*"),
    ("(common + log(Interval(low.lo()))).lo()", "(common + log(Interval(high.hi()))).lo()", "bounded: forms of random*"),
    ("below ? w.below : v.below, above ? w.above : v.above", "below ? w.above : v.below, above ? w.below : v.above", "normalise planes hold*"),
    ("Form{Interval(lower ? range.lo() : range.hi()), {}}", "Form{Interval(range.midpoint()), {}}", "bounded: forms of random*"),
    ("has_slope_[k] = 0;", "", "bounded: forms of random*"),
    ("r == Rational(2) ? Op::mul :", "r == Rational(2) ? Op::abs :", "bounded: forms of random*"),
    ("f.op = Op::clip;", "f.op = Op::relu;", "bounded: forms of random*"),
    ("plane.t = lower ? rest.lo() : rest.hi();", "plane.t = rest.midpoint();", "softmax planes hold*,normalise planes hold*"),
    ("if (!(a == Interval(slope))) rest += (a - Interval(slope)) * x[k];", "", "softmax planes hold*,normalise planes hold*"),
    ("return is_float(node.dtype) && element_count", "return element_count", "composed planes: integers*"),
    ("x[v].is_point() && !is_product(node) ? Symbolic(x[v])", "true ? Symbolic(x[v])", "softmax and normalise planes touch*,composed planes touch*"),
    ("part.index.push_back(v - first);", "part.index.push_back(v);", "matmul planes hold*"),
    ("part.lower.push_back(v == of_lower ? (lower++)->second : 0.0);", "part.lower.push_back(v == of_lower ? (lower++)->second : 1.0);", "softmax planes hold*,matmul planes hold*"),
    # Linear maps and forms.
    ("w_.row(block * in + i)[o] = transposed_.row(g * out + o)[k * in + i] = w[(block * in + i) * out + o];",
     "w_.row(block * in + i)[o] = w[(block * in + i) * out + o], transposed_.row(g * out + o)[k * in + i] = w[block * in * out + o];", "affine forms*"),
    ("for (double& w : magnitudes.values()) w = std::fabs(w);", "", "affine forms*"),
    ("for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = from[r * inner_ + i];", "for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = from[r + i * rows.size()];", "dense maps of every layout*"),
    ("transposed ? w[j * rows + i] : w[i * columns + j]", "w[i * columns + j]", "affine forms*"),
    ("is_transpose ? geometry.transposed_taps(o) : geometry.taps(o)", "geometry.taps(o)", "affine forms*"),
    ("if (node.op == Op::pad) form.bias[i] = map.fill[i];", "", "affine forms*"),
    ("set_bias(form, i, bias.values[i / positions % channels]);", "set_bias(form, i, bias.values[i % channels]);", "affine forms*"),
    ("form.bias_error[i] = s.half_width;", "form.bias_error[i] = 0;", "affine forms*,random graphs: no sampled point*"),
    ("multiply_block<kRows, kGroups>(tile, first, {panel.w + at, panel.stride}, out + at, out_stride, j - at);",
     "multiply_block<kRows, kGroups>(tile, first, {panel.w + at, panel.stride}, out + at, out_stride, 0);", "dense maps*"),
    ("for (; j < run.count; ++j) {\n        for (std::size_t t = 0;", "for (; j + 1 < run.count; ++j) {\n        for (std::size_t t = 0;", "affine forms*"),
    ("terms += coefficients[i] != 0 ? 1 : 0;", "terms += coefficients[i] > 0 ? 1 : 0;", "affine forms*"),
    ("size = fits ? mul_up(gamma, size) : kInfinity;", "size = 0;", "executions: what is added to a product of constants*"),
    ("if (floats::joins_constants(node, constants_, model)) add_errors(", "if (false) add_errors(", "executions: what is added to a product of constants*"),
    ("const bool fits = adds && gamma", "const bool fits = gamma", "executions: what is added to a product of constants*"),
    ("&& mul_up(2, add_up(size, terms_size)) < largest(format)", "", "executions: what is added to a product of constants*"),
    ("terms = moves ? std::fmax(terms, constants.product_terms[operand]) : terms;", "(void)moves, (void)operand;", "executions: what is added to a product of constants*"),
]

# Known survivors, with the reason why no test can see them. kInflate: the relative rounding of the sums of error bounds themselves, 2^-26, below
# the spare 8 u of every error. The floors by kUnderflow in the filter's errors: the box of the node where a row starts is already
# wider than they are. The factor 2 in affine_error_bound: midpoint and radius together are at most the operand's magnitude, up to their
# own rounding. The step of 2 u in affine_box: below the spare 8 u of the error. A line whose products exceed their sharing: the
# width demanded of a sum stops the program first. A gap between two segments of a function (unary_function.cpp): propagate_box S3 declines such a
# box first; the tests of semantics see it. The kink in lower_intercept of relu_line: for a slope outside [0, 1] the least value is at an end.


def compile_command(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]).resolve() == source.resolve():
            return flags_of(entry)
    sys.exit(f"{source}: no compile command in {build}")


def link(build, mutants, binary):
    objects = sorted((build / "tests" / "CMakeFiles" / "test_kernel.dir").rglob("*.o"))
    objects += sorted((build / "tests" / "CMakeFiles" / "assay_test_main.dir").rglob("*.o"))
    libraries = [build / name for name in ("certificates/libassay_certificate_check.a", "certificates/libassay_certificate_format.a", "kernel/inspect/libassay_kernel_inspect.a", "kernel/logic/libassay_logic.a", "policy/libassay_policy.a", "kernel/relax/libassay_relax.a", "kernel/floats/libassay_floats.a",
                                          "semantics/libassay_semantics.a")]
    catch = [] if pathlib.Path("/usr/include/catch2/catch.hpp").exists() else ["-lCatch2"]
    words = ["c++", *map(str, objects), *map(str, mutants), *map(str, libraries), "-lmpfr", "-lgmp", *catch, "-o", str(binary)]
    subprocess.run(words, check=True)


def sources(suffixes):
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.*")) if path.suffix in suffixes]


def places(text):
    return [path for path in sources((".cpp", ".h")) if text in path.read_text()]


def check(build, folder, number, mutant):
    old, new, tests = mutant
    label = f"{old[:80]!r} -> {new[:60]!r}"
    files = places(old)
    if len(files) != 1 or files[0].read_text().count(old) != 1:
        return label, f"stale: found in {[str(path.relative_to(ROOT)) for path in files]}"
    name = files[0].relative_to(ROOT)
    place = folder / str(number)
    (place / name.parent).mkdir(parents=True)
    (place / name).write_text(files[0].read_text().replace(old, new))
    include = f'#include "{name}"'
    affected = [path for path in sources((".cpp",)) if path == files[0] or include in path.read_text()]
    objects = []
    for source in affected:
        changed = place / name if source == files[0] else source
        objects.append(place / f"{source.stem}.o")
        compiler, *flags = compile_command(build, source)
        command = [compiler, f"-I{place}", *flags, "-w", "-O1", "-c", str(changed), "-o", str(objects[-1])]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
            return label, "does not compile"
    link(build, objects, place / "test")
    caught = any(not passes(place / "test", test) for test in tests.split(","))
    (place / "test").unlink()
    return label, "" if caught else f"survives {tests!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutants whose text or test contains this")
    parser.add_argument("--changed", help="mutants of the files that differ from this commit, and those that are found in no file")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if any(arguments.only in part for part in m)]
    if arguments.changed:
        changed = changed_since(ROOT, arguments.changed, FOLDERS)
        chosen = [m for m in chosen if not places(m[0]) or changed & set(places(m[0]))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        link(arguments.build, [], folder / "unchanged")
        if not passes(folder / "unchanged", "~[slow]"):
            sys.exit("the unchanged kernel fails its tests")
        failures = []
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for label, problem in pool.map(lambda pair: check(arguments.build, folder, *pair), enumerate(chosen)):
                print(("CAUGHT   " if not problem else "SURVIVES ") + label + (f" ({problem})" if problem else ""), flush=True)
                if problem:
                    failures.append(label)
    print(f"{len(chosen) - len(failures)} of {len(chosen)} mutants caught")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
