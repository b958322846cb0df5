#!/usr/bin/env python3
"""Controls of the kernel's tests: the kernel without one side condition, one payment or one direction at a time.

    kernel_mutants.py BUILD_DIR [--only TEXT] [--jobs N]

BUILD_DIR holds a finished release build with tests. Each mutant is one replaced piece of one source file; it is compiled
alone, linked before the kernel's library, and must turn the named test red. The table below is thus also the list of what
each inequality is there for. Exit code 0: every mutant was caught, and the unchanged kernel passes.
The working tree is never changed: mutants live in a temporary folder.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# (text that occurs once in kernel/, replacement, names of tests of which one must fail)
MUTANTS = [
    # Rule case: boxes outward, vacuity exact, environment and semantics known.
    ("box->lo.push_back(exact.lo[at].double_down());", "box->lo.push_back(exact.lo[at].double_up());", "case: decimal ends are rounded outward"),
    ("box->hi.push_back(exact.hi[at].double_up());", "box->hi.push_back(exact.hi[at].double_down());", "case: decimal ends are rounded outward"),
    ("if (box.lo[i] > box.hi[i]) return true;", "if (box.lo[i] >= box.hi[i]) return true;", "empty: an empty box in the statement is vacuous*"),
    ("if (floating_point_environment_is_standard()) return Done{};", "return Done{};", "the floating-point environment is checked at every entry"),
    ("statement.semantics.kind != ExecutionModel::Kind::real", "false", "case: an unknown semantics is declined"),
    # Rule split, one side.
    ("|| !(literal.element < graph.size(literal.node))", "|| !(literal.element <= graph.size(literal.node))", "split S1: the literal names*"),
    ("|| problem_->is_constant(literal.node) ||", "||", "split S1: the literal names*"),
    ("if (!std::isfinite(literal.threshold))", "if (std::isnan(literal.threshold))", "split S2: the threshold is finite"),
    ("context_->depth >= kMaxDepth", "context_->depth > kMaxDepth", "split S3: at most 10000 literals"),
    ("if (literal.node != node) continue;", "continue;", "split: a literal meets the box*"),
    # Rule empty.
    ("contradiction_ = contradiction_ || box.lo[i] > box.hi[i];", "contradiction_ = contradiction_ || box.lo[i] >= box.hi[i];", "catalogue CONSTIN*"),
    ("contradiction_ = contradiction_ || box.lo[literal.element] > box.hi[literal.element];", "contradiction_ = contradiction_ || box.lo[literal.element] >= box.hi[literal.element];", "empty S1: some box has lo > hi*"),
    ("if (!contradiction_) return reject(\"empty.S1\"", "if (false) return reject(\"empty.S1\"", "empty S1: some box has lo > hi*"),
    # Rule box.
    ("if (value.is_undefined()) return reject(\"box.S2\"", "if (false) return reject(\"box.S2\"", "box S2: the op is defined on the whole box"),
    ("const double width = add_up(radius[i], add_up(penalty.per_element[i], penalty.absolute));", "const double width = radius[i];", "box: many small terms on a large bias*"),
    ("const double width = add_up(radius[i], add_up(penalty.per_element[i], penalty.absolute));", "const double width = add_up(penalty.per_element[i], penalty.absolute);", "random graphs: no sampled point*"),
    ("const double bias_factor = terms(std::max(size, most));", "const double bias_factor = terms(size);", "box: no false theorem from a large bias"),
    # Rule back-substitution: what the filter pays.
    ("const double bias_factor = terms(std::max(size, most));", "const double bias_factor = 0;", "slack: the sum of biases of one row"),
    ("const double factor = 2 * terms(most);", "const double factor = 0;", "back-substitution: prices that underflow*"),
    ("penalty.per_element[i] += error[i] * kInflate;", ";", "slack: constants that intervals enclose widely"),
    ("if (slope > 0) penalty.per_element[j] += terms(most) * slope * magnitude;", "static_cast<void>(magnitude);", "slack: a chain of lines"),
    ("terms(size) * intercept", "0 * intercept", "slack: the sum of intercepts of one row"),
    ("sums.price * terms(size)", "sums.price * 0", "slack: the concretisation at the inputs"),
    ("slack_[row] += 2 * kUnit * price * kInflate;", ";", "slack: many paths that meet in one node"),
    ("(sums.price + step.penalty->absolute + 2 * kUnit * std::fabs(constant_[row]))", "(sums.price + step.penalty->absolute)", "slack: the constant*"),
    ("const double rounding = error + 2 * kUnit * std::fabs(slot);", "const double rounding = error;", "slack: many literals on one coefficient"),
    ("const double rounding = error + 2 * kUnit * std::fabs(slot);", "const double rounding = 2 * kUnit * std::fabs(slot);", "conclude: coefficients that are no doubles*"),
    ("const double bound = sub_down(constant_[row], slack_[row] * kInflate);", "const double bound = constant_[row];", "conclude S3: strictness decides*,catalogue ORDER1*,slack:*"),
    ("const double product = at_least ? beta * threshold : -beta * threshold;", "const double product = at_least ? -beta * threshold : beta * threshold;", "conclude: a literal helps by its multiplier*"),
    ("add(row, node, element, at_least ? -beta : beta, 0.0);", "add(row, node, element, at_least ? beta : -beta, 0.0);", "random graphs: no sampled point*"),
    # The exact path.
    ("if (lossy > 0) charge(", "if (false) charge(", "exact path: bits that are dropped are paid for"),
    ("if (entries.half_step > 0) {", "if (false) {", "exact path: every rounded grid value is paid for"),
    ("price[j] += entries.half_step * product_price[j] * kInflate + kUnderflow;", "price[j] += entries.half_step * product_price[j] * kInflate;", "back-substitution: prices that underflow*"),
    ("price[j] = (price[j] + bias.half_step(j)) * kInflate;", "price[j] = price[j] * kInflate;", "exact path: every rounded grid value is paid for"),
    ("if (grid.rounded[side]) price[side] =", "if (false) price[side] =", "exact path: slopes between grid points are paid for"),
    ("const Grid lo = on_grid(box.lo, Round::down), hi = on_grid(box.hi, Round::up);", "const Grid lo = on_grid(box.lo, Round::up), hi = on_grid(box.hi, Round::down);", "exact path: ends of boxes*"),
    ("if (part.error) {", "if (false) {", "slack: constants that intervals enclose widely"),
    ("if (error > 0) charge(", "if (false) charge(", "conclude: coefficients that are no doubles*"),
    ("add(row, node, element, at_least ? -beta : beta, 0.0);\n    if (at_least) constant_[row] += product;", "add(row, node, element, at_least ? -beta : beta, 0.0);\n    if (!at_least) constant_[row] += product;", "conclude: a literal helps by its multiplier*"),
    ("result.half_step = exact ? 0.0 : std::ldexp(1.0, result.exponent - 1);", "result.half_step = 0.0;", "integer entries of extreme weights"),
    # Rule refine.
    ("if (!(std::max(lo, box.lo[elements[k]]) >= claims->lo[k]))", "if (std::max(lo, box.lo[elements[k]]) < claims->lo[k])", "refine S3*"),
    ("if (!(std::min(hi, box.hi[elements[k]]) <= claims->hi[k]))", "if (!(std::min(hi, box.hi[elements[k]]) <= claims->hi[k] + 1e-6))", "refine S3*"),
    ("lo = float_down(lo);", "lo = static_cast<float>(lo);", "random graphs: no sampled point*"),
    ("hi = float_up(hi);", "hi = static_cast<float>(hi);", "refine: derived bounds rounded to float go outward,random graphs: no sampled point*"),
    ("selection.mask.size() != graph.size(node)", "selection.mask.size() < graph.size(node)", "refine: node*"),
    ("claims->lo.size() != elements.size() || claims->hi.size() != elements.size()", "claims->lo.size() != elements.size()", "refine: node*"),
    # Hints and multipliers.
    ("return m >= 0 && std::isfinite(m);", "return !(m < 0) && !std::isinf(m);", "hints: slopes have the node's size*"),
    ("return m >= 0 && std::isfinite(m);", "return std::isfinite(m);", "conclude S2*"),
    ("(*slopes)[node].size() != graph.size(static_cast<NodeId>(node))", "(*slopes)[node].size() < graph.size(static_cast<NodeId>(node))", "hints: slopes have the node's size*"),
    # Rule conclude.
    ("*value > required[k] ||", "*value >= required[k] ||", "conclude S3: strictness decides*"),
    ("(strict[k] && *value == required[k])", "*value == required[k]", "conclude S3: strictness decides*"),
    ("if (m.sign() == 0) continue;", "", "conclude S3: a strict row counts only*"),
    ("right += m * rows[r].bound;", "right += rows[r].bound;", "conclude S2*,conclude: rows over inputs*,conclude S3:*"),
    ("down, sub_up(up, down)});", "down, 0.0});", "conclude: coefficients that are no doubles*"),
    ("if (!(c.position < group.size()))", "if (!(c.position <= group.size()))", "conclude S1*"),
    ("if (!single && c.rows.size() != rows.size())", "if (!single && c.rows.size() < rows.size())", "conclude S1*"),
    # Rules merge, split, unsat.
    ("if (a.context_ != b.context_)", "if (a.context_->group != b.context_->group)", "merge S1*"),
    ("if (!a->parent || a->parent != b->parent)", "if (!a->parent || !b->parent)", "join S1 to S3*"),
    ("a->literal.node != b->literal.node ||", "", "join S1 to S3*"),
    ("a->literal.element != b->literal.element ||", "", "join S1 to S3*"),
    ("!(a->literal.threshold == b->literal.threshold)", "a->literal.threshold > b->literal.threshold", "join S1 to S3*"),
    ("if (a->literal.at_least || !b->literal.at_least)", "if (a->literal.at_least)", "join S1 to S3*"),
    ("at_most.cases_[i] && at_least.cases_[i]", "at_most.cases_[i] || at_least.cases_[i]", "join: the cases of both sides only"),
    ("at_most.vacuous_ && at_least.vacuous_", "at_most.vacuous_ || !at_least.vacuous_", "join: the cases of both sides only"),
    ("if (context.problem != problem || context.parent)", "if (context.parent)", "unsat S1*"),
    ("if (context.problem != problem || context.parent)", "if (context.problem != problem)", "unsat S1*"),
    ("if (!r.complete())", "if (false)", "unsat S1*"),
    ("if (!seen[group]) return", "if (false) return", "unsat S1*"),
    # Rule witness.
    ("box.lo[i] <= witness.inputs[i] && witness.inputs[i] <= box.hi[i]", "box.lo[i].double_down() <= witness.inputs[i].double_up() && witness.inputs[i].double_down() <= box.hi[i].double_up()", "witness S1 to S3*"),
    ("row.strict ? upper < row.bound : upper <= row.bound", "upper <= row.bound", "witness S1 to S3*"),
    ("positive ? *hi : *lo", "positive ? *lo : *hi", "witness: what no precision decides*"),
    ("if (truth != Truth::holds) return truth;", "if (truth == Truth::fails) return truth;", "witness: what no precision decides*"),
    # Lines and planes.
    ("sub_up(std::max(l, 0.0), mul_down(slope, l))", "(std::max(l, 0.0) - slope * l)", "relu_line: the intercept*,lines of one operand*"),
    ("if (!(below >= 0 && below <= 1)) result", "if (!(below >= 0 && below <= 2)) result", "lines of one operand*"),
    ("if (l >= 0) {", "if (l >= -1) {", "lines of one operand*"),
    ("case Op::abs: return linear_pieces(l, u, {0.0});", "case Op::abs: return linear_pieces(l, u, {});", "lines of one operand*"),
    ("return linear_pieces(l, u, {a.lo, a.hi});", "return linear_pieces(l, u, {a.lo});", "lines of one operand*"),
    ("return around_zero(l, u, Curve::convex, Curve::concave);", "return {{l, u, Curve::convex}};", "lines of one operand*"),
    ("even ? positive : Curve::concave", "positive", "lines of one operand*"),
    ("std::min(result, t.lo()) : std::max(result, t.hi())", "std::min(result, t.hi()) : std::max(result, t.lo())", "lines of one operand*"),
    ("return pow(x, std::get<PowAttributes>(node.attributes).exponent);", "return pow(x, static_cast<std::int64_t>(std::get<PowAttributes>(node.attributes).exponent.double_down()));", "lines of one operand*"),
    ("for (const double x : {xl, xu}) {", "for (const double x : {xl}) {", "planes of several operands*"),
    ("dominates && (i == chosen ||", "(dominates || true) && (i == chosen || true ||", "planes of several operands*"),
    ("stride *= own;", "stride *= extent;", "planes of several operands*"),
    ("is_max ? std::max(bound, hi(i)) : std::min(bound, lo(i))", "is_max ? hi(chosen) : lo(chosen)", "planes of several operands*"),
    # Linear maps and forms.
    ("transposed_[(block * out + o) * in + i] = w_[(block * in + i) * out + o]", "transposed_[(block * in + i) * out + o] = w_[(block * in + i) * out + o]", "affine forms*"),
    ("std::transform(w_.begin(), w_.end(), magnitudes.begin(), [](double w) { return std::fabs(w); });", "magnitudes = w_;", "affine forms*"),
    ("for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = from[r * inner_ + i];", "for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = from[r + i * rows.size()];", "dense maps of every layout*"),
    ("stored_nk ? w[i * k + j] : w[j * n + i]", "w[i * k + j]", "affine forms*"),
    ("position[axis] * window.strides[axis] - window.pads_begin[axis]", "position[axis] * window.strides[axis] - window.pads_end[axis]", "affine forms*"),
    ("if (node.op == Op::pad) form.bias[i] = map.fill[i];", "", "affine forms*"),
    ("set_bias(form, i, bias.values[i / positions % channels]);", "set_bias(form, i, bias.values[i % channels]);", "affine forms*"),
    ("form.bias_error[i] = s.half_width;", "form.bias_error[i] = 0;", "affine forms*,random graphs: no sampled point*"),
    ("const std::size_t at = columns - kLanes;\n    multiply_block<kRows, 1>(tile, terms, first_row, w + at, w_stride, out + at, out_stride, j - at);",
     "const std::size_t at = columns - kLanes;\n    multiply_block<kRows, 1>(tile, terms, first_row, w + at, w_stride, out + at, out_stride, 0);", "dense maps*"),
]

# Known survivors, with the reason why no test can see them. kInflate: the relative rounding of the slack sums themselves, 2^-26, below
# the spare 8 u of every price. The floors by kUnderflow in the filter's prices: the box of the node where a row starts is already
# wider than they are. The factor 2 in affine_penalty: midpoint and radius together are at most the operand's magnitude, up to their
# own rounding. The kink in lower_intercept of relu_line: for a slope outside [0, 1] the least value is at an end.


def compile_command(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]).resolve() == source.resolve():
            words = shlex.split(entry["command"])
            drop = {"-o": 1, "-c": 1, "-MF": 1, "-MT": 1, "-MD": 0}
            kept, skip = [], 0
            for word in words:
                if skip:
                    skip -= 1
                elif word in drop:
                    skip = drop[word]
                elif not word.startswith("-W") and not word.endswith("ccache"):
                    kept.append(word)
            return kept
    sys.exit(f"{source}: no compile command in {build}")


def link(build, mutant, binary):
    objects = sorted((build / "tests" / "CMakeFiles" / "test_kernel.dir").rglob("*.o"))
    objects += sorted((build / "tests" / "CMakeFiles" / "assay_test_main.dir").rglob("*.o"))
    libraries = [build / "kernel" / "libassay_kernel.a", build / "semantics" / "libassay_semantics.a"]
    catch = [] if pathlib.Path("/usr/include/catch2/catch.hpp").exists() else ["-lCatch2"]
    words = ["c++", *map(str, objects), *([str(mutant)] if mutant else []), *map(str, libraries), "-lmpfr", "-lgmp", *catch, "-o", str(binary)]
    subprocess.run(words, check=True)


def passes(binary, tests):
    try:
        done = subprocess.run([str(binary), tests], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def check(build, folder, number, mutant):
    old, new, tests = mutant
    label = f"{old[:80]!r} -> {new[:60]!r}"
    sources = [path for path in sorted((ROOT / "kernel").rglob("*.cpp")) if old in path.read_text()]
    if len(sources) != 1 or sources[0].read_text().count(old) != 1:
        return label, f"stale: found in {[str(path.relative_to(ROOT)) for path in sources]}"
    place = folder / str(number)
    place.mkdir()
    (place / "mutant.cpp").write_text(sources[0].read_text().replace(old, new))
    command = compile_command(build, sources[0]) + ["-w", "-O1", "-c", str(place / "mutant.cpp"), "-o", str(place / "mutant.o")]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
        return label, "does not compile"
    link(build, place / "mutant.o", place / "test")
    caught = any(not passes(place / "test", test) for test in tests.split(","))
    (place / "test").unlink()
    return label, "" if caught else f"survives {tests!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutants whose text or test contains this")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if any(arguments.only in part for part in m)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        link(arguments.build, None, folder / "unchanged")
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
