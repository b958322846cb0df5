#!/usr/bin/env python3
"""Controls of the audit's tests: contracts, claims of forward mode and the gradient gate without one of their premises or checks at a time.

    audit_mutants.py BUILD_DIR [--only TEXT] [--changed COMMIT]

As kernel_mutants.py, for kernel/audit with test_audit and kernel/gradients with test_gradients: each mutant is one replaced piece of one file. The layer is compiled several files at a time, so
that a mutant is compiled in the unit that holds its file, and linked before the library; one of a file that only tests call is compiled alone. Exit code 0: every mutant was caught, and the
unchanged layers pass. The working tree is never changed.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

from mutants import changed_since, flags_of, passes

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = {ROOT / "kernel" / name: test for name, test in (("audit", "test_audit"), ("contracts", "test_audit"), ("quick", "test_audit"), ("gradients", "test_gradients"))}
ALONE = ("tangents.cpp", "tangent.cpp", "continuity.cpp")  # nothing in their units calls them

# (text that occurs once in the folders, replacement, names of tests of which one must fail)
MUTANTS = [
    ("std::nearbyint(std::fabs(x) / unit) * unit, x)", "std::trunc(std::fabs(x) / unit) * unit, x)", "storage: all 65,536*"),
    ("if (std::fabs(x) >= format.overflow) return", "if (std::fabs(x) > format.overflow) return", "storage: all 65,536*"),
    ("std::fmax(std::ldexp(1.0, std::ilogb(x) - format.bits + 1), format.smallest)", "std::ldexp(1.0, std::ilogb(x) - format.bits + 1)", "storage: all 65,536*"),
    ("y.plus_infinity = y.plus_infinity || hi == floats::kInfinity;\n  if (lo", "if (lo", "storage: the image of a set*"),
    ("y.hi = -1;\n  y.minus_infinity = y.minus_infinity || lo == -floats::kInfinity;", "y.hi = -1;", "storage: the image of a set*"),
    ("y.include(floats::Format::real, std::fmax(lo, -most), std::fmin(hi, most));", "y.include(Format::real, lo, hi);", "storage: the image of a set*"),
    ("above < floats::kInfinity ? size / 2 + above / 2 : format.overflow", "size", "storage: what may have been stored*"),
    ("return storage == Storage::same ? kept(model, computed) : stored_by(", "return true ? kept(model, computed) : stored_by(", "storage: a kernel in float32*"),
    ("(is_nearest(*this, element, value) || is_from_double(*this, element, value))", "is_from_double(*this, element, value)", "the number nearest to the exact value*"),
    ("(is_nearest(*this, element, value) || is_from_double(*this, element, value))", "is_nearest(*this, element, value)", "a region in binary64 that rounds once*"),
    ("if (!is_narrow || !(lo <= value && value <= hi)) return false;", "if (!is_narrow) return false;", "the number nearest to the exact value*"),
    ("return std::signbit(value) == (exact.hi() < 0);", "return true;", "a zero that is nearest*"),
    ("result.admits_nearest = storage != Storage::same || !asks_for_steps;", "result.admits_nearest = true;", "the number nearest to the exact value*"),
    ("return model.storage == Storage::same ? computed : hull(computed,", "return true ? computed : hull(computed,", "storage: a region says which*"),
    ("return model.storage == Storage::same ? computed : hull(computed,", "return hull(FloatSet(),", "storage: steps inside of a region*"),
    ("return stored(storage, model.flush_results ? flushed(floats::Format::binary32, computed) : computed);", "return stored(storage, computed);", "storage: subnormal numbers*"),
    ("if (value.nan || !value.is_single()) continue;", "continue;", "storage: what follows from a recorded*"),
    ("if (says_where && !(is_softmax && model.softmax == ExecutionModel::Softmax::online))", "if (false)", "storage: a region says which*"),
    ("(!says_where || is_stored_step(graph, node))", "true", "storage: a region says which*"),
    ("stores ? add_up(of_merges, mul_up(2, kept.unit)) : of_merges", "of_merges", "storage: steps inside of a defined*"),
    ("line.sum = a.kept(a.sum(online ? terms : line.powers));", "line.sum = a.sum(online ? terms : line.powers);", "storage: steps inside of a defined*"),
    ("format_ == floats::Format::binary32 && model_->storage != Storage::same ? hull(x, stored(model_->storage, x)) : x", "x", "storage: steps inside of a defined*"),
    ("if (contracts::is_number_of(entry.storage, entry.value.as_double(i))) continue;", "continue;", "a tensor that is stored in 16 bits*"),
    ("if (entry.value.dtype() != DType::float32) return broken", "if (false) return broken", "a tensor that is stored in 16 bits*"),
    ("stored.push_back(entry.storage);", "stored.push_back(contracts::Storage::same);", "a tensor that is stored in 16 bits*"),
    ("floats::precision_of(shortest());", "floats::precision_of(contracts::Storage::same);", "kinks: cotangents that were stored*"),
    ("if (product_.is_stored_short)", "if (false)", "point: a cotangent that overflows in 16 bits*"),
    ("stored.push_back(cotangent.storage);", "stored.push_back(contracts::Storage::same);", "point: a cotangent that overflows in 16 bits*"),
    # Tangents of a run: F1 by the regions back to what moves, F2 at the recorded point.
    ("stops.insert(tensor);\n", "", "tangents: a wrong one is found where it is*"),
    ("return stops.contains(id) || (detached_.contains(id) && is_float(trace_.tensors[id].value.dtype()));", "return stops.contains(id);", "tangents: what is detached*"),
    ("std::ranges::sort(to, {}, [&](const auto& pair) { return std::pair(producers_.region_of(pair.first), pair.first); });", "", "tangents: a right forward pass*"),
    ("if (!outcome && outcome.rejection().kind == Rejection::Kind::rejected && known != from)", "if (false)", "tangents: a value that is computed again*"),
    ("if (whole) outcome = std::move(whole);", "outcome = Adjointness{};", "tangents: a wrong one is found where it is*"),
    ("outcome = undecided(outcome.rejection());  //", "//", "tangents: a difference beside what nobody knows*"),
    ("known.insert_or_assign(tensor, tangent);", "", "tangents: a wrong one is found where it is*"),
    ("if (!tangents.contains(id) && !is_given) ends.insert(id);", "if (!is_given) ends.insert(id);", "tangents: a right forward pass*"),
    ("if (!tangents.contains(id) && !is_given) ends.insert(id);\n      made.reads_opaque = made.reads_opaque || opaque_.contains(id);", "if (!tangents.contains(id) && !is_given) ends.insert(id);", "tangents: a rule that reads what something opaque gave*"),
    ("\"record a copy of it as the tangent\"};\n      made.reads_opaque = made.reads_opaque || opaque_.contains(id);", "\"record a copy of it as the tangent\"};", "tangents: what something opaque gave*"),
    ("if (tangents.contains(id) && is_float(trace_.tensors[id].value.dtype()))", "if (false)", "tangents: a tensor that is its own tangent*"),
    ("position.try_emplace(found->second, position.size()).second)", "position.try_emplace(found->second, 0).second)", "tangents: a right forward pass*"),
    ("found == known.end() ? std::nullopt : std::optional(position.at(found->second))", "std::nullopt", "tangents: a right forward pass*"),
    ("made.is_closed = rule.is_closed();", "made.is_closed = true;", "tangents: a tensor that moves and is left out*"),
    ("if (made.value().reads_opaque || !made.value().is_closed) why", "if (made.value().reads_opaque) why", "tangents: a tensor that moves and is left out*"),
    ("if (made.value().reads_opaque || !made.value().is_closed) why", "if (!made.value().is_closed) why", "tangents: what something opaque gave*"),
    ("why = at_the_point(made.value(), tensor, tangent, step.place);", "", "tangents: right at random points*"),
    ("step.is_dead = outcome.value().moves && is_zero", "step.is_dead = is_zero", "tangents: zeros that the derivative*"),
    ("step.is_dead = outcome.value().moves && is_zero_everywhere(trace_.tensors[tangent].value);", "", "tangents: zeros that the derivative*"),
    ("if (auto fine = check_tangents(claim); !fine) return fine;", "", "tangents: claims that do not fit*"),
    ("if (!same_type(entry.value, trace_.tensors[tangent].value))", "if (false)", "tangents: claims that do not fit*"),
    ("if (moves[tensor]) return wrong", "if (false) return wrong", "tangents: claims that do not fit*"),
    ("if (pairs == &claim.to && entry.origin != Trace::Origin::result) return wrong", "if (false) return wrong", "tangents: claims that do not fit*"),
    ("if (!is_float(entry.value.dtype())) return wrong(name_of(tensor), \"real elements\"", "if (false) return wrong(name_of(tensor), \"real elements\"", "tangents: claims that do not fit*"),
    ("if (moves[id]) return wrong", "if (false) return wrong", "tangents: claims that do not fit*"),
    # Gradients: what was delivered, who needs a product, numbers that are none.
    ("if (set.is_undefined() || !(set.lo() > -most) || !(set.hi() < most)) continue;", "if (set.is_undefined()) continue;", "finite: an infinite slope*"),
    ("if (std::ranges::any_of(trace.tensors, is_short)) return open(", "if (false) return open(", "finite: what is declared*"),
    ("if (std::ranges::any_of(trace.vjps, [](const Trace::Vjp& vjp) { return vjp.surrogate.has_value(); }) || !trace.opaque.empty())", "if (false)", "finite: what is declared*"),
    ("{Interval(std::nextafter(at.lo(), -kInfinity), std::nextafter(at.hi(), kInfinity)), Interval(1)}", "{at, Interval(1)}", "finite: a root behind*"),
    ("if (auto why = check_finite(recorded_, *gradient_, tensor, value, place)) add(*std::move(why));", "", "finite: a root behind*"),
    ("if (gradient_->of.empty() || trace_.regions.empty())", "if (false)", "gradients: of nothing*"),
    ("return leads_by(all) && !leads_by(left);", "return false;", "gradients: of nothing*"),
    ("if (judged[v] || std::ranges::all_of(vjp.cotangents, is_empty)) continue;", "continue;", "gradients: a recorded product is judged*"),
    # Corners, and weights that a kink leaves free.
    ("if (meet(*set, found_[k].values[i])) return std::nullopt;", "return std::nullopt;", "corners: *"),
    ("if (!is_met && !meet(near, found)) return broken(", "if (false) return broken(", "point: another value*"),
    ("direction < (moving == 1 ? 2 : kDirections)", "direction < 1", "corners: at a kink*"),
    ("if (graph.nodes[1].op == Op::step) return true;", "if (graph.nodes[1].op == Op::step) return false;", "quick judgements: nothing passes*"),
    # One row in place of all.
    ("if (node.op == Op::constant && is_uniform(node.value)) {", "if (node.op == Op::constant) {", "rows are found*"),
    ("if (extent(node.shape, 0, axis) != before || node.shape[axis] % rows_ != 0", "if (node.shape[axis] % rows_ != 0", "rows are found*"),
    ("if (node.op == Op::reduce_sum) return is_float(node.dtype) && put(node, node.attributes, {summed});", "if (node.op == Op::reduce_sum || node.op == Op::reduce_mean) return put(node, node.attributes, {summed});", "a mean in place*"),
    # Zeros, and quotients by 0.
    ("return a.residue() == 0 && a.guide().contains(0);", "return a.guide().contains(0);", "opaque: 0 times a number*"),
    ("return a.residue() == 0 && a.guide().contains(0);", "return a.residue() == 0 && is_zero(a.guide());", "opaque: 0 times a number*"),
    ("if (is_real && (lacks_scalar(result) || divides_by_zero(result)))", "if (is_real && lacks_scalar(result))", "adjointness: a quotient by 0*"),
    # Positions from the end, and activations at 0.
    ("const double shift = set.hi < 0 ? last + 1 : 0;", "const double shift = 0;", "elements by recorded positions*"),
    ("return x.contains_zero() ? with_both_zeros(y) : y;", "return y;", "tails of activations*"),
    # J1 and J2, and graphs that fit.
    ("if (has_value(meaning) && !has_value(rule))\n    return wrong_tangent", "if (false)\n    return wrong_tangent", "tangent: a rule without a real value*"),
    ("if (!differ && (!usable || is_same(rule, meaning))) return usable;\n  const std::string found", "if (!differ) return usable;\n  const std::string found", "tangent: every element*"),
    ("if (!differ && (!usable || is_same(rule, meaning))) return usable;\n  const std::string found", "if (!usable || is_same(rule, meaning)) return usable;\n  const std::string found", "tangent: certainly different*"),
    ("if (one.tangent_of[k]) x_dot[k] = tangent[*one.tangent_of[k]];", "", "tangent: polynomials are probed*"),
    ("|| !std::ranges::all_of(covered, [](bool each) { return each; }); ++tries)", "; ++tries)", "tangent: every element*"),
    ("const auto fine = check_element(one, j, sides.value().rule[j], sides.value().meaning[j]);\n    if (!fine) return fine.rejection();\n    if (!fine.value()) continue;",
     "const auto fine = check_element(one, j, sides.value().rule[j], sides.value().meaning[j]);\n    if (!fine) return fine.rejection();", "tangent: every element*"),
    ("result.moves = result.moves || !is_zero(sides.value().meaning[j]);", "result.moves = true;", "tangent: a tensor that does not move*"),
    ("graph.outputs.size() == 1 && rule.outputs.size() == 1 && is_float(graph.node(graph.outputs[0]).dtype)", "rule.outputs.size() == 1", "tangent: graphs that do not fit*"),
    ("one.one.domains.size() == inputs && one.tangent_of.size() == inputs", "one.tangent_of.size() == inputs", "tangent: graphs that do not fit*"),
    ("fine = fine && type_of(graph, graph.outputs[0]) == type_of(rule, rule.outputs[0]);", "", "tangent: graphs that do not fit*"),
    ("fine = at < rule.inputs.size() && is_float", "fine = is_float", "tangent: graphs that do not fit*"),
]


def units(build, folder):
    """The compile commands of a layer: its units of several files, and the files that are compiled alone. The library of audits holds contracts and quick, too."""
    markers = [str(one.relative_to(ROOT)) for one in TESTS if TESTS[one] == TESTS[folder]]
    return [entry for entry in json.loads((build / "compile_commands.json").read_text()) if any(marker in entry["file"] for marker in markers)]


def link(build, objects, test, binary):
    """The command that linked a test, with these objects first."""
    command = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", f"bin/{test}"], check=True, capture_output=True, text=True).stdout
    words = shlex.split(command.strip().splitlines()[-1])
    start = next(i for i, word in enumerate(words) if word.endswith("++"))
    end = next((i for i in range(start, len(words)) if words[i] == "&&"), len(words))
    words = words[start:end]
    words[words.index("-o") + 1] = str(binary)
    subprocess.run([words[0], *map(str, objects), "-Wl,--allow-multiple-definition", *words[1:]], check=True, cwd=build)


def places(text):
    return [path for folder in TESTS for path in sorted(folder.rglob("*.*")) if path.suffix in (".cpp", ".h") and text in path.read_text()]


def check(build, folder, number, mutant):
    old, new, tests = mutant
    files = places(old)
    if len(files) != 1 or files[0].read_text().count(old) != 1:
        return f"stale: found in {[str(path.relative_to(ROOT)) for path in files]}"
    layer = next(one for one in TESTS if one in files[0].parents)
    place = folder / str(number)
    changed = place / files[0].relative_to(ROOT)
    changed.parent.mkdir(parents=True)
    changed.write_text(files[0].read_text().replace(old, new))
    objects = []
    for entry in units(build, layer):
        source = pathlib.Path(entry["file"])
        text = source.read_text()
        is_header = files[0].suffix == ".h"
        if not is_header and str(files[0]) not in text and source.resolve() != files[0]:
            continue
        unit = place / f"unit{len(objects)}.cpp"
        unit.write_text(f'#include "{changed}"\n' if source.resolve() == files[0] or files[0].name in ALONE else
                        text.replace(str(files[0]), str(changed)) if "Unity" in str(source) else f'#include "{source}"\n')
        objects.append(unit.with_suffix(".o"))
        compiler, *flags = flags_of(entry)
        flags = [f"-I{(pathlib.Path(entry['directory']) / word[2:]).resolve()}" if word.startswith("-I") else word for word in flags]
        done = subprocess.run([compiler, f"-I{place}", *flags, "-w", "-O1", "-c", str(unit), "-o", str(objects[-1])], cwd=entry["directory"], capture_output=True, text=True)
        if done.returncode != 0:
            return "does not compile: " + done.stderr[:300]
    if not objects:
        return "no unit compiles the file"
    link(build, objects, TESTS[layer], place / "test")
    caught = any(not passes(place / "test", test) for test in tests.split(","))
    (place / "test").unlink()
    return "" if caught else f"survives {tests!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutants whose text or test contains this")
    parser.add_argument("--changed", help="mutants of the files that differ from this commit, and those that are found in no file")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    chosen = [m for m in MUTANTS if any(arguments.only in part for part in m)]
    if arguments.changed:
        changed = changed_since(ROOT, arguments.changed, [str(one) for one in TESTS])
        chosen = [m for m in chosen if not places(m[0]) or changed & set(places(m[0]))]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        for test, some in (("test_audit", "*stor*"), ("test_audit", "tangents:*"), ("test_gradients", "tangent:*")):
            if not passes(build / "bin" / test, some):
                sys.exit(f"the unchanged {test} fails")
        for number, mutant in enumerate(chosen):
            problem = check(build, pathlib.Path(name), number, mutant)
            print(("CAUGHT   " if not problem else "SURVIVES ") + f"{mutant[0][:80]!r} -> {mutant[1][:60]!r}" + (f" ({problem})" if problem else ""), flush=True)
            failures += bool(problem)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants caught")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
