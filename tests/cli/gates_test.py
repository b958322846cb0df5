"""The gates as a user runs them: exit codes, reports, waivers and baseline. Usage: gates_test.py BIN"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
import zlib

import onnx_files

ASSAY = pathlib.Path(sys.argv[1]) / "assay"
problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def trace(folder, name, values=None, edit=None, vjp=True):
    """x -> relu -> mul by itself -> sum, with its gradient, in whole numbers: every value is exact."""
    x = [3.0, -2.0, 5.0, 1.0]
    relu = [max(v, 0.0) for v in x]
    tensors = {"x": x, "h": relu, "q": [v * v for v in relu], "loss": [sum(v * v for v in relu)], "seed": [1.0], "q_bar": [1.0] * 4,
               "half": relu, "h_bar": [2 * v for v in relu], "mask": [float(v > 0) for v in x], "x_bar": [2 * v for v in relu]}
    tensors.update(values or {})
    node = lambda op, *operands, **attributes: {"op": op, "operands": list(operands), "attributes": attributes}
    region = lambda operands, result, one: {"name": result, "model": "binary32", "operands": operands, "results": [result], "nodes": [one]}
    description = {
        "version": 1, "writer": "test", "inputs": ["seed"], "parameters": ["x"], "outputs": ["loss", "x_bar"],
        "regions": [region(["x"], "h", node("relu", 0)), region(["h"], "q", node("mul", 0, 0)),
                    region(["q"], "loss", node("reduce_sum", 0, axes=[0], keep_dims=False)),
                    region(["seed"], "q_bar", node("expand", 0, shape=[4])), region(["q_bar", "h"], "half", node("mul", 0, 1)),
                    region(["half"], "h_bar", node("add", 0, 0)), region(["x"], "mask", node("step", 0)),
                    region(["h_bar", "mask"], "x_bar", node("mul", 0, 1))],
        "vjps": [{"of": 2, "cotangent": "seed", "cotangents": {"0": "q_bar"}}, {"of": 1, "cotangent": "q_bar", "cotangents": {"0": "h_bar"}},
                 {"of": 0, "cotangent": "h_bar", "cotangents": {"0": "x_bar"}}],
        "gradients": [{"output": "loss", "seed": "seed", "of": {"x": "x_bar"}}], "crc32": {}}
    if not vjp:
        description["gradients"] = []
    if edit:
        edit(description)
    return write(folder / name, description, tensors)


def write(path, description, tensors, shapes=None):
    header, data = {}, b""
    for key, numbers in tensors.items():
        part = struct.pack(f"<{len(numbers)}f", *numbers)
        shape = (shapes or {}).get(key, [] if key in ("loss", "seed") else [len(numbers)])
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        description["crc32"][key] = zlib.crc32(part)
        data += part
    header["__metadata__"] = {"assay.trace": json.dumps(description)}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def run(verb, *arguments):
    return subprocess.run([ASSAY, verb, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def sum_of_squares(folder, model, terms=70_000):
    """A long sum beside enough products for its one element to be a share of less than 1 % of the run."""
    number = lambda v: struct.unpack("<f", struct.pack("<f", v))[0]
    x = [number(1 + (7919 * i % 1000) / 997) for i in range(terms)]
    squares = [number(v * v) for v in x]
    description = {
        "version": 1, "writer": "test", "inputs": [], "parameters": ["x"], "outputs": ["loss"], "crc32": {},
        "regions": [{"name": "q", "model": model, "operands": ["x"], "results": ["q"], "nodes": [{"op": "mul", "operands": [0, 0], "attributes": {}}]},
                    {"name": "loss", "model": model, "operands": ["q"], "results": ["loss"],
                     "nodes": [{"op": "reduce_sum", "operands": [0], "attributes": {"axes": [0], "keep_dims": False}}]}]}
    return write(folder / "long", description, {"x": x, "q": squares, "loss": [number(math.fsum(squares))]})


def vacuous(folder):
    """What is too wide to say anything was not judged, however much else passed; unless a waiver says that this is known."""
    done = run("audit", sum_of_squares(folder, "binary32 accumulator=any_order"), f"--json={folder / 'v.json'}", "--junit", folder / "v.xml")
    check('<failure message="undecided: 1 of 1 elements' in (folder / "v.xml").read_text(), "JUnit says undecided")
    report = json.loads((folder / "v.json").read_text())
    check(done.returncode == 3 and "1 of 1 elements of 'loss' have sets too wide" in done.stdout, f"a vacuous sum: {done.returncode} {done.stdout}")
    check(report["verdict"] == "undecided" and report["undecided_ops"] == ["reduce_sum"], f"a vacuous sum in JSON: {report['undecided_ops']}")
    waivers = folder / "v.waivers"
    waivers.write_text(json.dumps({"waivers": [{"id": "V", "rule": "contract.vacuous", "op": "reduce_sum", "reason": "one chain", "owner": "us",
                                                "expires": "2030-01-01"}]}))
    done = run("audit", folder / "long", "--waivers", waivers, "--today", "2026-01-01")
    check(done.returncode == 0 and "passed with waivers" in done.stdout, f"a waived vacuous sum: {done.returncode} {done.stdout}")
    check((folder / "v.xml").read_text().count("<failure") == 1, "JUnit says it once")
    description = {"version": 1, "writer": "test", "inputs": ["x"], "parameters": [], "outputs": ["y"], "crc32": {},
                   "regions": [{"name": "sums", "model": "binary32 accumulator=any_order", "operands": ["x"], "results": ["y"],
                                "nodes": [{"op": "reduce_sum", "operands": [0], "attributes": {"axes": [1], "keep_dims": False}}]}]}
    third, terms = struct.unpack("<f", struct.pack("<f", 1 / 3))[0], 33_000
    x = [third if r < 2 else float(c < 3) for r in range(6) for c in range(terms)]
    few = write(folder / "few", description, {"x": x, "y": [terms * third if r < 2 else 3.0 for r in range(6)]}, {"x": [6, terms]})
    done = run("audit", few, "--junit", folder / "f.xml", "--sarif", folder / "f.sarif")
    failures = [one.attrib["message"] for one in xml.etree.ElementTree.parse(folder / "f.xml").getroot().iter("failure")]
    check(done.returncode == 3 and failures == ["undecided: too many elements of reduce_sum are vacuous or unsupported"], f"a share that no region has alone: {done.stdout} {failures}")
    check([one["ruleId"] for one in json.loads((folder / "f.sarif").read_text())["runs"][0]["results"]] == ["contract.vacuous"], "... in SARIF")
    done = run("audit", sum_of_squares(folder, "binary32"))
    check(done.returncode == 0 and "0 vacuous" in done.stdout, f"a long sum in blocks: {done.returncode} {done.stdout}")


def one_of_many(folder):
    """A single vacuous element is a share of a kind of few elements, and none of one with 20 or more; it is never counted as passed."""
    terms = 33_000  # in any order: more than any bound speaks of
    for rows, dense, verdict, code in ((24, 1, "passed", 0), (20, 1, "passed", 0), (19, 1, "undecided", 3), (24, 2, "undecided", 3)):
        description = {"version": 1, "writer": "test", "inputs": [], "parameters": ["x"], "outputs": ["y"], "crc32": {},
                       "regions": [{"name": "sums", "model": "binary32 accumulator=any_order", "operands": ["x"], "results": ["y"],
                                    "nodes": [{"op": "reduce_sum", "operands": [0], "attributes": {"axes": [1], "keep_dims": False}}]}]}
        third = struct.unpack("<f", struct.pack("<f", 1 / 3))[0]
        x = [third if r < dense else float(c < 3) for r in range(rows) for c in range(terms)]
        path = write(folder / "rows", description, {"x": x, "y": [terms * third if r < dense else 3.0 for r in range(rows)]}, {"x": [rows, terms]})
        done = run("audit", path, "--json")
        report = json.loads(done.stdout)
        counts = [report["cases"][0][word] for word in ("passed", "vacuous", "failed")]
        check((report["verdict"], done.returncode, counts) == (verdict, code, [rows - dense, dense, 0]), f"{dense} vacuous of {rows}: {report['verdict']} {done.returncode} {counts}")
        if verdict == "passed":
            check("1 of %d elements of 'y' have sets too wide" % rows in run("audit", path).stdout, "it is told")
            check(run("audit", path, "--most-undecided", "0").returncode == 3, "asked for none")


def like_gzip(folder):
    """A trace whose header has 0x8b1f bytes begins with the two bytes of gzip, and is none."""
    data = trace(folder, "plain").read_bytes()
    size, = struct.unpack("<Q", data[:8])
    (folder / "like").write_bytes(struct.pack("<Q", 0x8b1f) + data[8:8 + size] + b" " * (0x8b1f - size) + data[8 + size:])
    done = run("gradcheck", folder / "like")
    check(done.returncode == 0, f"a trace that begins as gzip does: {done.returncode} {done.stdout}{done.stderr}")


def causes(folder):
    """Regions that fail by one rule in one operation are one failure in JUnit, with their number; other ones have their own."""
    regions = [{"name": f"y{i}", "model": "binary32", "operands": ["x"], "results": [f"y{i}"], "nodes": [{"op": "neg" if i == 80 else "mul", "operands": [0] if i == 80 else [0, 0]}]}
               for i in range(81)]
    description = {"version": 1, "writer": "test", "inputs": ["x"], "parameters": [], "outputs": ["y0"], "regions": regions, "crc32": {}}
    bad = write(folder / "causes", description, {"x": [3.0], **{f"y{i}": [8.0] for i in range(81)}})
    done = run("audit", bad, "--junit", folder / "causes.xml")
    root = xml.etree.ElementTree.parse(folder / "causes.xml").getroot()
    messages = [one.attrib["message"] for one in root.iter("failure")]
    check(done.returncode == 1 and root.attrib["failures"] == "2" and root.attrib["skipped"] == "79" and root.attrib["tests"] == "81", f"causes: {root.attrib}")
    check(len(messages) == 2 and "(80 test cases fail by this rule and operation; the others are skipped)" in messages[0] and "cases fail" not in messages[1], f"their number: {messages}")
    skipped = [one.attrib["message"] for one in root.iter("skipped")]
    check(set(skipped) == {"fails by the same cause as region 0 (y0), contract.mul"}, f"the others name the first: {set(skipped)}")


def reports(folder):
    good, bad = trace(folder, "good.safetensors"), trace(folder, "bad.safetensors", {"q": [9.0, 0.0, 26.0, 1.0], "loss": [36.0]})
    for verb in ("audit", "gradcheck"):
        done = run(verb, good)
        check(done.returncode == 0 and "passed: " in done.stdout, f"{verb} of a right run: {done.returncode} {done.stdout}{done.stderr}")
        files = [folder / f"{verb}.{kind}" for kind in ("xml", "sarif", "md", "json")]
        done = run(verb, bad, "--junit", files[0], "--sarif", files[1], "--markdown", files[2], f"--json={files[3]}")
        check(done.returncode == 1, f"{verb} of a wrong run: {done.returncode}")
        check("contract.mul" in done.stdout and "[2]: received 26 = 0x1.ap+4" in done.stdout, f"{verb} names the element: {done.stdout}")
        suite = xml.etree.ElementTree.parse(files[0]).getroot()
        check(suite.attrib["failures"] == "1" and len(suite.findall(".//testcase/failure")) == 1, f"{verb}: one failure in JUnit")
        sarif = json.loads(files[1].read_text())
        check([r["ruleId"] for r in sarif["runs"][0]["results"]] == ["contract.mul"], f"{verb}: SARIF results")
        check("| mul |" in files[2].read_text(), f"{verb}: Markdown table")
        report = json.loads(files[3].read_text())
        check(report["verdict"] == "failed" and report["schema"] == f"assay.{verb}/1", f"{verb}: JSON verdict")
        finding = next(f for case in report["cases"] for f in case["findings"])
        check(finding["failed_at"] == [2], f"{verb}: the failed elements in JSON: {finding}")
        first = finding["first"]
        check(first["index"] == [2] and first["received"] == 26 and first["admitted"]["lo"] == first["admitted"]["hi"] == 25, f"{verb}: the element in JSON: {first}")
    check(run("audit", folder / "none").returncode == 4, "no file")
    for file, verdict in ((good, "passed"), (bad, "failed")):  # a page is no gate
        done = run("report", file, "-o", folder / "page.html", "--json")
        check(done.returncode == 0 and json.loads(done.stdout)["verdict"] == verdict, f"a page of a run that {verdict}: {done.returncode} {done.stdout}")
    check(run("report", folder / "none", "-o", folder / "page.html").returncode == 4, "a page of no file")
    check(run("gradcheck", trace(folder, "plain", vjp=False)).returncode == 4, "no gradients to check")
    check(run("gradcheck", good, "--kinks", "pytorch").returncode == 0, "a run off kinks keeps every convention")
    kink = {"x": [3.0, 0.0, 5.0, 1.0], "q_bar": [1.0] * 4}
    check("kinks of relu: 1 case" in run("gradcheck", trace(folder, "kink", kink)).stdout, "a recorded kink is judged")
    broken = trace(folder, "broken", edit=lambda d: d["regions"].pop(3))
    check(run("audit", broken).returncode == 1 and "audit.operand" in run("audit", broken).stdout, "a dropped region")
    wrong = trace(folder, "wrong", {"mask": [1.0, 0.0, 1.0, 1.0]}, lambda d: d["regions"][5]["nodes"][0].update(op="mul"))
    check("gradient." in run("gradcheck", wrong).stdout, "a wrong product")


def shrinking(folder):
    bad, small = trace(folder, "bad4.safetensors", {"q": [9.0, 0.0, 26.0, 1.0], "loss": [36.0]}), folder / "small.safetensors"
    done = run("audit", bad, "--shrink", small)
    check(done.returncode == 1 and "first and worst at [2]: received 26 = 0x1.ap+4" in done.stdout, f"the worst element: {done.stdout}")
    check("y = RN(a * b), the nearest number: a = h[2] = 5" in done.stdout, f"the formula with its numbers: {done.stdout}")
    done = run("audit", bad, "--shrink", folder / "again.safetensors", "--rerun", "eager")
    check(done.returncode == 1 and "run again, it does not fail" in done.stdout, f"a runtime that is right: {done.stdout}{done.stderr}")
    again = run("audit", small, "--json")
    check(again.returncode == 1, f"the shrunk trace fails: {again.stdout}{again.stderr}")
    case = json.loads(again.stdout)["cases"][0]
    check(case["failed"] == 1 and case["passed"] == 0 and case["findings"][0]["rule"] == "contract.mul", f"... by the same rule: {case}")
    check(any(line.startswith("first and worst at [0]: received 26") for line in case["findings"][0]["details"]), "... and the same number")
    check(run("audit", bad, "--shrink", folder / "no" / "folder").returncode == 1, "a failure is told before a file that cannot be written")
    good = trace(folder, "good4.safetensors")
    check(run("audit", good, "--shrink", folder / "nothing").returncode == 0 and not (folder / "nothing").exists(), "nothing to shrink")


def probes(folder):
    junit, held = folder / "probe.xml", folder / "held.safetensors"
    done = run("probe", "--op", "avg_pool", "--junit", junit, "--trace", held)
    check(done.returncode == 0 and "vjp of avg_pool" in done.stdout, f"probe: {done.stdout}{done.stderr}")
    names = [case.attrib["name"] for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase")]
    check(any("avg_pool, pads counted: integers float32" in name for name in names), f"probe: a case per probe: {names[:3]}")
    check(run("audit", held).returncode == 0, "the forward runs again")
    done = run("probe", "--op", "softmax", "--backend", "compiled", "--small", "--forward-only")
    check(done.returncode == 0 and "vjp" not in done.stdout, f"probe, compiled: {done.stdout}{done.stderr}")
    done = run("probe", "--op", "softmax backward", "--small")
    check(done.returncode == 0 and "passed: " in done.stdout, f"probe of a composite region: {done.stdout}{done.stderr}")
    check(run("probe", "--op", "sofmax").returncode == 2 and "no op is named sofmax; did you mean softmax?" in run("probe", "--op", "sofmax").stderr, "probe: no such op")
    check(run("probe").returncode == 2 and run("probe", "--all", "--op", "add").returncode == 2, "probe: one op or all")


def devices(folder):
    """--device: the emulation here; where there is no CUDA device, a refusal that says what to do."""
    digits = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
    emulated = ("--device", "emulated")
    done = run("record", digits, folder / "emulated.trace", *emulated)
    check(done.returncode == 0 and "device: emulated" in done.stdout, f"record on the emulation: {done.stdout}{done.stderr}")
    check("softmax=online" in run("inspect", folder / "emulated.trace").stdout, "the trace names the model of the device")
    check(run("audit", folder / "emulated.trace", "--model", digits).returncode == 0, "... and is a run within it")
    for backend in ("eager", "compiled"):
        done = run("gradcheck", digits, *emulated, "--backend", backend)
        check(done.returncode == 0 and "this is a run of it" in done.stdout, f"gradcheck on the emulation, {backend}: {done.stdout[-300:]}{done.stderr}")
    done = run("probe", "--op", "avg_pool", *emulated, "--json")
    report = json.loads(done.stdout)
    check(done.returncode == 0 and report["facts"]["device"].startswith("emulation"), f"probe on the emulation: {done.stdout[:300]}{done.stderr}")
    done = run("probe", "--op", "attention", *emulated, "--small")
    check(done.returncode in (0, 3) and ", 0 failed" in done.stdout, f"a composite region on the emulation: {done.stdout[-300:]}{done.stderr}")
    run("record", digits, folder / "tf32.trace", "--device", "emulated:tf32")
    check("inputs=tf32" in run("inspect", folder / "tf32.trace").stdout and run("audit", folder / "tf32.trace").returncode == 0, "a declared model")
    for op in ("avg_pool", "take", "layer norm backward"):
        done = run("probe", "--op", op, *emulated, "--backend", "compiled", "--small", "--most-undecided", "0.2", "--json")
        facts = json.loads(done.stdout)["facts"]
        check(done.returncode == 0 and facts["backend"] == "compiled" and facts["device"].startswith("emulation"), f"programs on the emulation: {op} {done.stdout[:300]}{done.stderr}")
    done = run("probe", "--op", "relu", *emulated, "--dtype", "float64")
    check(done.returncode == 4 and "probe.device" in done.stderr, f"what a device does not do: {done.returncode} {done.stderr}")
    check(all(run("probe", "--op", "relu", "--device", word).returncode == 2 for word in ("gpu", "emulated:half")), "no such word")
    for verb in (("record", digits, folder / "cuda.trace"), ("gradcheck", digits), ("probe", "--op", "relu", "--small")):
        done = run(*verb, "--device", "cuda")
        told = "gpu.build" in done.stderr or "gpu.device" in done.stderr
        check(done.returncode == 0 or (done.returncode == 4 and told and "; " in done.stderr), f"{verb[0]} on CUDA: {done.returncode} {done.stderr}")


def certificates(folder):
    digits = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
    model, holds, fails = digits / "digits.onnx", digits / "digits_holds.vnnlib", digits / "digits_fails.vnnlib"
    for name, prop in (("holds.assay", holds), ("fails.assay", fails)):
        run("verify", model, prop, "--proof", folder / name)
    (folder / "cut.assay").write_bytes((folder / "holds.assay").read_bytes()[:-9])
    (folder / "bent.assay").write_bytes(b"no certificate")
    files = [folder / f"check.{kind}" for kind in ("xml", "sarif", "md", "json")]
    outputs = ("--junit", files[0], "--sarif", files[1], "--markdown", files[2], f"--json={files[3]}")
    queries = folder / "certificates.csv"

    def gate(*lines, options=()):
        queries.write_text("# model,property,certificate,answer\n\n" + "".join(",".join(map(str, line)) + "\n" for line in lines))
        return run("check", "--list", queries, *outputs, *options)
    good, bad = (model, holds, "holds.assay", "unsat"), (model, fails, "fails.assay")
    done = gate(good, (*bad, "sat"))
    check(done.returncode == 0 and "passed: 2 certificates: 2 passed, 0 failed" in done.stdout, f"two right certificates: {done.returncode} {done.stdout}{done.stderr}")
    check(done.stdout.count("assumption: ") == 4, "no verdict without its assumptions")
    report = json.loads(files[3].read_text())
    check(report["schema"] == "assay.check-gate/1" and [c["op"] for c in report["cases"]] == ["unsat", "sat"], "JSON of certificates")
    check(any("theorem: unsat" in line for line in report["cases"][0]["statement"]), "the statement is in the JSON")
    check("theorem: unsat" in files[0].read_text(), "... and in JUnit")
    done = gate(good, (*bad, "unsat"))
    check(done.returncode == 1 and "check.answer" in done.stdout, "a certificate of the other answer")
    result = json.loads(files[1].read_text())["runs"][0]["results"]
    check([r["ruleId"] for r in result] == ["check.answer"], f"SARIF of certificates: {result}")
    check(result[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("fails.assay"), "SARIF names the certificate")
    check(gate(good, bad, options=("--expect", "unsat")).returncode == 1, "--expect for all")
    done = gate(good, options=("--expect", "sat"))
    check(done.returncode == 2 and "--expect sat contradicts the line of" in done.stderr, f"--expect against a line: {done.returncode} {done.stderr}")
    done = gate(good, (model, fails, "holds.assay"))
    check(done.returncode == 1 and "passed" in done.stdout, f"a certificate of another property: {done.returncode} {done.stdout}")
    check(len(xml.etree.ElementTree.parse(files[0]).getroot().findall(".//testcase/failure")) == 1, "one failure in JUnit")
    for name, code in (("cut.assay", 4), ("bent.assay", 4), ("none.assay", 4)):
        alone = subprocess.run([ASSAY.parent / "assay-check", model, holds, folder / name], capture_output=True, text=True).returncode
        check(gate(good, (model, holds, name)).returncode == alone == code, f"{name}: {gate(good, (model, holds, name)).returncode}, {alone}")
        check(len(xml.etree.ElementTree.parse(files[0]).getroot().findall(".//testcase/failure")) == 1, f"{name} fails in JUnit")
    check(gate((folder / "none.onnx", holds, "holds.assay")).returncode == 4, "no model")
    check(gate().returncode == 4 and gate(("a", "b")).returncode == 4 and gate((*bad, "maybe")).returncode == gate((*bad, "")).returncode == 4, "lists that are none")
    waiver = {"id": "C1", "rule": "check.answer", "reason": "known", "owner": "me", "expires": "2030-01-01"}
    (folder / "w.json").write_text(json.dumps({"waivers": [waiver]}))
    done = gate((*bad, "unsat"), options=("--waivers", folder / "w.json", "--today", "2029-01-01"))
    check(done.returncode == 0 and "passed with waivers" in done.stdout, f"a waived certificate: {done.stdout}")
    both = (model, holds, folder / "holds.assay", model, fails, folder / "fails.assay")
    check(run("check", *both).returncode == 0 and run("check", *both[:5]).returncode == 2, "several on the command line")
    vacuous_prop = folder / "vacuous.vnnlib"
    vacuous_prop.write_text(holds.read_text() + "\n(assert (<= X_0 -9))\n")
    run("verify", model, vacuous_prop, "--proof", folder / "vacuous.assay")
    for line, options in (((model, vacuous_prop, "vacuous.assay"), ()), ((model, vacuous_prop, "vacuous.assay", "unsat"), ())):
        done = gate(good, line, options=options)
        check(done.returncode == 1 and "check.vacuous: the proof is vacuous: the input box of the property is empty" in done.stdout, f"vacuous: {done.stdout}")
        failure = xml.etree.ElementTree.parse(files[0]).getroot().find(".//testcase/failure")
        check(failure is not None and "vacuous" in failure.get("message"), "a vacuous proof fails in JUnit")
        done = gate(good, line, options=("--allow-vacuous",))
        check(done.returncode == 0 and "vacuous  " in done.stdout, f"allowed, and told: {done.returncode} {done.stdout}")
    check(run("check").returncode == 2 and run("check", *both, "--list", queries).returncode == 2, "files or a list")


def models(folder):
    digits = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
    run("record", digits, folder / "digits.trace")
    for verb in ("audit", "gradcheck"):
        done = run(verb, folder / "digits.trace", "--model", digits)
        check(done.returncode == 0 and "this is a run of it" in done.stdout and "model: 1 case; 5 elements: 5 passed" in done.stdout, f"{verb}: a run of its model: {done.stdout}")
    done = run("gradcheck", digits, "--range", 0, 1, "--save", folder / "saved.trace", "--json")
    report = json.loads(done.stdout)
    check(done.returncode == 0 and report["verdict"] == "passed" and report["file"] == str(digits), f"gradients of a model: {done.stdout[:300]}")
    check({"vjp of gemm", "vjp of relu", "vjp of mul", "model"} <= {c["op"] for c in report["cases"]}, "... with every product, and a run of it")
    check(run("gradcheck", folder / "saved.trace", "--model", digits).returncode == 0, "the run that was saved")
    done = run("gradcheck", digits, "--backend", "compiled")
    check(done.returncode == 0 and "this is a run of it" in done.stdout, f"gradients of a compiled model: {done.stdout[-300:]}{done.stderr}")
    check(run("gradcheck", digits, "--output", "nothing").returncode == 4, "no such output")
    model = bytearray(digits.read_bytes())
    at = max(range(len(model) - 4), key=lambda i: len(set(model[i:i + 400])))  # inside of the weights
    for other in (at, at + 1, at + 2, at + 3):
        model[other] ^= 1
    (folder / "other.onnx").write_bytes(model)
    done = run("audit", folder / "digits.trace", "--model", folder / "other.onnx")
    check(done.returncode == 3 and "model.node" in done.stdout, f"other weights: {done.returncode} {done.stdout}{done.stderr}")
    check(run("audit", trace(folder, "good5.safetensors"), "--model", digits).returncode == 3, "a run of something else")
    check(run("audit", folder / "digits.trace", "--model", folder / "none.onnx").returncode == 4, "no model to compare with")


def gated(w, b):
    """x -> relu(w x + b) -> weighted: all units of the hidden layer may be dead."""
    f = onnx_files
    nodes = [f.node("Gemm", ["x", "w", "b"], ["z"], "first"), f.node("Relu", ["z"], ["h"], "hidden"), f.node("Gemm", ["h", "v", "c"], ["y"], "last")]
    return f.model(nodes, [f.value_info("x", [1, 2])], [f.value_info("y", [1, 2])],
                   [f.tensor("w", [2, 2], w), f.tensor("b", [2], [b, b]), f.tensor("v", [2, 2], [1, -1, 2, 0.5]), f.tensor("c", [2], [0.5, 1])])


def dead(folder):
    far, never = folder / "far.onnx", folder / "never.onnx"
    far.write_bytes(gated([1, 0.5, 0.5, 1], -30))  # alive where x is large
    f = onnx_files
    nodes = [f.node("Sigmoid", ["x"], ["s"], "squash"), f.node("Gemm", ["s", "w", "b"], ["z"], "first"), f.node("Relu", ["z"], ["h"], "hidden"),
             f.node("Gemm", ["h", "v", "c"], ["y"], "last")]
    tensors = [f.tensor("w", [2, 2], [1, 0.5, 0.5, 1]), f.tensor("b", [2], [-2, -2]), f.tensor("v", [2, 2], [1, -1, 2, 0.5]), f.tensor("c", [2], [0.5, 1])]
    never.write_bytes(f.model(nodes, [f.value_info("x", [1, 2])], [f.value_info("y", [1, 2])], tensors))  # at most 1.5 - 2
    for backend in ("eager", "compiled"):
        options = ("--backend", backend)
        done = run("gradcheck", far, *options)
        check(done.returncode == 0 and "dead cotangents: 0 of " in done.stdout and ", draw " in done.stdout, f"drawn until alive: {done.stdout}")
        done = run("gradcheck", far, *options, "--draws", 1, "--json")
        report = json.loads(done.stdout)
        rules = [finding["rule"] for case in report["cases"] for finding in case["findings"]]
        check(done.returncode == 3 and report["verdict"] == "undecided" and set(rules) == {"gradient.dead"}, f"one draw: {done.returncode} {rules}")
        check(not report["facts"]["dead cotangents"].startswith("0 of "), f"counted in JSON: {report['facts']}")
        done = run("gradcheck", never, *options)
        check(done.returncode == 0 and "by interval bounds" in done.stdout and "gradient.dead" in done.stdout, f"shown impossible: {done.stdout}")
        done = run("gradcheck", far, *options, "--draws", 1, "--allow-dead")
        check(done.returncode == 0 and "vacuous  " in done.stdout and "gradient.dead" in done.stdout, f"allowed, and still told: {done.stdout}")
    done = run("gradcheck", far, "--range", -1, 1)
    check(done.returncode == 0 and "for every input of the domain" in done.stdout, f"no input of the range: {done.stdout}")
    done = run("gradcheck", far, "--range", -1, 30)
    check(done.returncode == 0 and "close to the last of -1 and 30" in done.stdout, f"some input of the range: {done.stdout}")
    (folder / "far.json").write_text(json.dumps({"inputs": {"x": [1, 2]}}))
    done = run("gradcheck", far, "--values", folder / "far.json")
    check(done.returncode == 3 and "inputs: given\n" in done.stdout and "of the domain" not in done.stdout, f"given inputs: {done.stdout}")
    done = run("record", far, folder / "far.trace")
    check(done.returncode == 0 and "inputs: normal, scale " in done.stdout and "dead" not in done.stdout, f"record draws as well: {done.stdout}")
    done = run("record", far, folder / "far.trace", "--draws", 1)
    check(done.returncode == 0 and "dead cotangents: " in done.stdout, f"record says so: {done.stdout}")
    done = run("gradcheck", folder / "far.trace")
    check(done.returncode == 3 and "gradient.dead" in done.stdout, f"a dead trace: {done.returncode} {done.stdout}")
    waiver = {"id": "D1", "rule": "gradient.dead", "reason": "known", "owner": "me", "expires": "2030-01-01"}
    (folder / "dead.json").write_text(json.dumps({"waivers": [waiver]}))
    done = run("gradcheck", folder / "far.trace", "--waivers", folder / "dead.json", "--today", "2029-01-01")
    check(done.returncode == 0 and "passed with waivers" in done.stdout, f"a waived dead layer: {done.stdout}")


def openings(folder):
    """What a person reads comes first, the residues last; JSON keeps the exact message beside the opening."""
    def half(description):  # q_bar h instead of 2 q_bar h
        description["vjps"][1]["cotangents"] = {"0": "half"}
        description["regions"][7]["operands"] = ["half", "mask"]
    wrong = trace(folder, "half", {"x_bar": [3.0, 0.0, 5.0, 1.0]}, half)
    done = run("gradcheck", wrong, f"--json={folder / 'half.json'}", "--junit", folder / "half.xml", "--markdown", folder / "half.md", "--sarif", folder / "half.sarif")
    opening = "the cotangent of 'h' at [0]: recorded 3, the derivative at the recorded point gives 6; it is half the derivative"
    check(done.returncode == 1 and f"\n  gradient.product: {opening}\n" in done.stdout, f"the opening of a wrong gradient: {done.stdout}")
    entry = "at a random point of the recorded ranges the derivative of"
    numbers = "at this element 'h'[0] = 3; the incoming cotangent[0] = 1"
    check(done.stdout.index(opening) < done.stdout.index(numbers) < done.stdout.index(entry), f"the same element: {done.stdout}")
    check("modulo" not in done.stdout and "residue" not in done.stdout and " by 'x'[0] is 1, and the recorded product gives " in done.stdout, f"decimals alone: {done.stdout}")
    findings = [f for case in json.loads((folder / "half.json").read_text())["cases"] for f in case["findings"] if f["rule"] == "gradient.product"]
    check(findings[0]["opening"] == opening and "modulo" in findings[0]["exact"] and len(findings[0]["details"]) == 3, f"JSON of it: {findings}")
    failure = xml.etree.ElementTree.parse(folder / "half.xml").getroot().find(".//testcase/failure")
    check(failure.attrib["message"] == opening and "are different functions: " in failure.text, f"JUnit of it: {failure.attrib}")
    check(opening in (folder / "half.md").read_text() and entry not in (folder / "half.md").read_text(), "Markdown of it")
    check(json.loads((folder / "half.sarif").read_text())["runs"][0]["results"][0]["message"]["text"].startswith(opening), "SARIF of it")


def memory(folder):
    """Beyond --memory: undecided where one region asks for it, refused where the trace does; never passed, and never a crash."""
    n = 1 << 20  # what a small trace may ask for
    description = {"version": 1, "writer": "test", "inputs": [], "parameters": ["x"], "outputs": ["y"], "crc32": {},
                   "regions": [{"name": "y", "model": "binary32", "operands": ["x"], "results": ["y"],
                                "nodes": [{"op": "expand", "operands": [0], "attributes": {"shape": [n]}},
                                          {"op": "reduce_max", "operands": [1], "attributes": {"axes": [0], "keep_dims": True}}]}]}
    wide = write(folder / "wide", description, {"x": [1.5], "y": [1.5]})
    check(run("audit", wide).returncode == 0, f"a wide region: {run('audit', wide).stdout}")
    for jobs in ("1", "2"):
        done = run("audit", wide, "--memory", "64MiB", "--jobs", jobs, "--json")
        rules = [f["rule"] for case in json.loads(done.stdout)["cases"] for f in case["findings"]]
        check(done.returncode == 3 and rules == ["gate.memory"], f"a region beyond the memory: {done.returncode} {done.stdout} {done.stderr}")
    numbers = [1.0] * (4 * n)
    large = write(folder / "large", {**description, "regions": [], "outputs": [], "inputs": [], "parameters": ["x"], "crc32": {}}, {"x": numbers})
    digits = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
    for words in (("audit", large, "--memory", "12MiB"), ("gradcheck", large, "--memory", "12MiB"), ("audit", large, "--memory", "24MiB"), *(("gradcheck", digits, "--memory", size) for size in ("2MiB", "8MiB", "10MiB", "12MiB"))):
        done = run(*words)
        check(done.returncode == 3 and "memory" in done.stderr + done.stdout and "internal" not in done.stderr, f"{words}: {done.returncode} {done.stdout} {done.stderr}")
    check("allow more with --memory" in run("audit", large, "--memory", "12MiB").stderr, "what to do")
    check(run("audit", wide, "--memory", "lots").returncode == 2, "no size")
    check(run("gradcheck", digits, "--memory", "2GiB").returncode == 0, "enough")


def surrogates(folder):
    def declared(description):  # relu's product is that of the identity
        description["vjps"][2]["cotangents"] = {"0": "h_bar"}
        description["gradients"][0]["of"] = {"x": "h_bar"}
        description["outputs"] = ["loss", "x_bar", "h_bar"]
        description["vjps"][2]["surrogate"] = {"nodes": []}

    def undeclared(description):
        declared(description)
        del description["vjps"][2]["surrogate"]
    check(run("gradcheck", trace(folder, "through.safetensors", edit=undeclared)).returncode == 1, "straight through, not declared")
    done = run("gradcheck", trace(folder, "declared.safetensors", edit=declared), "--json")
    report = json.loads(done.stdout)
    check(done.returncode == 0 and "not the derivative" in report["facts"]["surrogates"], f"declared: {done.stdout}")
    case = [one for one in report["cases"] if one["op"] == "surrogate vjp of relu"]
    check(len(case) == 1 and "surrogate, not the derivative" in case[0]["statement"][0], f"the report says what it is: {case}")
    check("surrogate, not the derivative" in run("gradcheck", folder / "declared.safetensors").stdout, "... in the text, too")


def waivers(folder):
    bad = trace(folder, "bad2.safetensors", {"q": [9.0, 0.0, 26.0, 1.0], "loss": [36.0]})
    file = folder / "waivers.json"
    entry = {"id": "W1", "rule": "contract.mul", "reason": "known", "owner": "me", "expires": "2030-01-01"}

    def gate(entries, today="2029-12-31"):
        file.write_text(json.dumps({"waivers": entries}))
        return run("audit", bad, "--waivers", file, "--today", today)
    done = gate([entry])
    check(done.returncode == 0 and "passed with waivers" in done.stdout and "\npassed: " not in done.stdout, f"a waived finding: {done.stdout}")
    check(gate([entry], "2030-01-01").returncode == 0, "the last day counts")
    done = gate([entry], "2030-01-02")
    check(done.returncode == 1 and "expired" in done.stdout, "an expired waiver")
    done = gate([entry, {**entry, "op": "softmax"}])
    check(done.returncode == 4 and "waiver W1 twice" in done.stderr, f"two waivers with one id: {done.stdout} {done.stderr}")
    check("covers nothing: remove it" in gate([entry, {**entry, "id": "W2", "op": "softmax"}]).stdout, "an unused waiver")
    for field, other, has in (("rule", "contract.div", "contract.mul"), ("op", "softmax", "mul"), ("tensor", "loss", "q"), ("most_elements", 0, "1")):
        words = f'waiver W1 covers nothing: of the finding at region 1 (q) (contract.mul) it differs in "{field}": it has {has}'
        check(words in gate([{**entry, field: other}]).stdout, f"the nearest finding: {words}; {gate([{**entry, field: other}]).stdout}")
    check("covers nothing: remove it" in gate([{**entry, "op": "softmax", "tensor": "loss"}]).stdout, "two fields that differ")
    for narrow in ({"op": "mul"}, {"op": "q"}, {"tensor": "q"}, {"op": "q", "tensor": "q"}):
        check(gate([{**entry, **narrow}]).returncode == 0, f"what the finding prints: {narrow}")
    check(gate([{**entry, "op": "q", "tensor": "loss"}]).returncode == 1, "another tensor")
    for field in ("test", "file", "dtype"):
        done = gate([{**entry, field: "test_q"}])
        check(done.returncode == 1 and "covers nothing" not in done.stdout, f"a waiver for a test: {done.stdout} {done.stderr}")
    for change, words in (({"expires": "soon"}, 'a day as YYYY-MM-DD as "expires" of waiver W1'), ({"owner": ""}, 'text as "owner" of waiver W1'),
                          ({"op": ""}, 'text as "op" of waiver W1'), ({"tensor": ""}, 'text as "tensor" of waiver W1'), ({"test": ""}, 'text as "test"'),
                          ({"reasons": "x"}, '"reasons"'), ({"most_elements": -1}, 'a number of elements as "most_elements" of waiver W1')):
        done = gate([{**entry, **change}])
        check(done.returncode == 4 and words in done.stderr + done.stdout, f"the wrong field of a waiver: {words}; {done.stdout} {done.stderr}")
    check("waived by W1 (me, until 2030-01-01): known" in gate([entry]).stdout, "the last day is printed")
    check(gate([{**entry, "most_elements": 0}]).returncode == 1, "more elements than waived")
    minus = [-3.0, -0.0, -5.0, -1.0]
    wrong = trace(folder, "five.safetensors", {"h_bar": minus, "x_bar": minus}, lambda one: one["regions"][5].update(nodes=[{"op": "neg", "operands": [0]}]))
    product = {**entry, "rule": "gradient.product"}
    file.write_text(json.dumps({"waivers": [product]}))
    done = run("gradcheck", wrong, "--waivers", file, "--today", "2029-12-31")
    check(done.returncode == 0, f"a product that is waived: {done.stdout}")
    file.write_text(file.read_text().replace('"gradient.product"', '"gradient.product", "most_elements": 1'))
    check(run("gradcheck", wrong, "--waivers", file, "--today", "2029-12-31").returncode == 1, "nobody counted the wrong elements of a product")
    opaque = trace(folder, "opaque.safetensors", edit=lambda one: one.update(opaque=[{"name": "lib::solve", "results": ["seed"]}]))
    check(run("audit", opaque).returncode == 3, "an opaque operation")
    file.write_text(json.dumps({"waivers": [{**entry, "rule": "audit.opaque"}]}))
    check("passed with waivers" in (text := run("audit", opaque, "--waivers", file, "--today", "2029-12-31").stdout), f"... that is waived: {text}")
    check(gate([{k: v for k, v in entry.items() if k != "owner"}]).returncode == 4, "a waiver without an owner")
    check(gate([{**entry, "tolerance": 1}]).returncode == 4, "a field that waivers do not have")
    check(run("audit", bad, "--today", "tomorrow").returncode == 2, "a day that is none")
    check(gate([{**entry, "expires": "2030-02-31"}]).returncode == 4, "a day that no month has")
    done = gate([entry, {**entry, "id": "W2", "rule": "gate.nothing"}])
    check(done.returncode == 4 and "where there is nothing to accept" in done.stderr, f"nothing was judged, so nothing is waived: {done.stderr}")
    n = 80
    description = {"version": 1, "writer": "test", "inputs": [], "parameters": ["x", "w"], "outputs": ["y"], "crc32": {},
                   "regions": [{"name": "y", "model": "binary32", "operands": ["x", "w"], "results": ["y"], "nodes": [{"op": "matmul", "operands": [0, 1]}]}]}
    wide = write(folder / "wide", description, {"x": [1.0] * 64 * n, "w": [1.0] * 64 * n, "y": [63.0] * n * n}, {"x": [n, 64], "w": [64, n], "y": [n, n]})
    found = json.loads(run("audit", wide, "--json").stdout)["cases"][0]
    check(found["failed"] > 0 and found["unsampled"] > 0, f"thousands of wrong elements: {found}")
    soft = {**entry, "rule": found["findings"][0]["rule"], "most_elements": found["failed"]}
    file.write_text(json.dumps({"waivers": [soft]}))
    done = run("audit", wide, "--waivers", file, "--today", "2029-12-31")
    check(done.returncode == 1 and f'it has {found["failed"] + found["unsampled"]}, with {found["unsampled"]} that were not looked at' in done.stdout, f"more may be wrong: {done.stdout}")
    for option in ("--waivers", "--baseline", "--junit", "--sarif", "--markdown", "--write-baseline"):
        done = run("audit", bad, option, "")
        check(done.returncode == 2 and option in done.stderr, f"an empty name would leave the file out: {done.returncode} {done.stderr}")


def names(folder):
    """A region of many operations has a short name that stays; a composition has its own, in every spelling; an undecided product has not failed."""
    recorded = folder / "names"

    def named(region, spelled, op):
        probed = json.loads(run("probe", "--op", spelled, "--forward-only", "--small", "--json", "--trace", recorded).stdout)["cases"]
        audited = json.loads(run("audit", recorded, "--json").stdout)["cases"]
        check({case["op"] for case in probed} == {region} and {case["op"] for case in audited} == {op}, f"the operations of {region}: {probed[0]['op']}, {audited[0]['op']}")
    named("layer norm", "Layer_Norm", "normalise+mul+add")
    named("softmax backward", "softmax backward", "softmax+...+mul(5:d428b5)")
    check("'rms norm' is no op, but a composition of several" in run("ops", "rms-norm").stderr, "a composition that is asked for as an op")
    shown = run("audit", recorded).stdout
    check("softmax ... mul (5 operations): " in shown and "d428b5" not in shown, f"a short name without its digest: {shown}")

    def renamed(description):
        for region in description["regions"][:3]:
            region["name"] = "Own"
    x = {"x_bar": [3.0, 0.0, 5.0, 1.0]}

    def half(description):
        description["vjps"][1]["cotangents"] = {"0": "half"}
        description["regions"][7]["operands"] = ["half", "mask"]
        renamed(description)
    wrong = trace(folder, "own", x, half)
    waiver = {"id": "O1", "rule": "gradient.product", "op": "Own", "tensor": "h", "reason": "known", "owner": "me", "expires": "2030-01-01"}
    (folder / "own.json").write_text(json.dumps({"waivers": [waiver]}))
    done = run("gradcheck", wrong, "--waivers", folder / "own.json", "--today", "2029-01-01")
    check("waived  region 1 (Own), vjp of mul" in done.stdout and "until 2030-01-01" in done.stdout, f"a waiver of a Function: {done.stdout}")
    check("fail  region 0 (Own), vjp of relu" in done.stdout and done.returncode == 1, f"and of one tensor alone: {done.stdout}")


def baseline(folder):
    good, file = trace(folder, "good3.safetensors"), folder / "baseline.json"
    check(run("audit", good, "--write-baseline", file).returncode == 0, "write a baseline")
    check("mul" in json.loads(file.read_text())["head_room"], "the baseline names ops")
    check(run("audit", good, "--baseline", file).returncode == 0, "the same run keeps its baseline")
    op, used = max(json.loads(file.read_text())["head_room"].items(), key=lambda one: one[1])
    for before, allowed in ((used / 2, f"{50 * used:.3g} % and a quarter more"), (0.0, "5 %")):
        file.write_text(json.dumps({"head_room": {op: before}}))
        told = run("audit", good, "--baseline", file)
        words = f"{op} uses {100 * used:.3g} % of its allowance; the baseline allows {allowed}: "
        check(words in told.stdout + told.stderr or used <= 0.05, f"{words}: {told.stdout} {told.stderr}")
    for shares in ("3", '{"x": NaN}', '{"x": 1e9}', '{"x": -1}', '{"x": null}', '{}, "headroom": {}', '{}, "schema": "assay.baseline/2"'):
        file.write_text(f'{{"head_room": {shares}}}')
        done = run("audit", good, "--baseline", file)
        check(done.returncode == 4 and "baseline.json" in done.stderr, f"a baseline that would hold nothing: {shares}: {done.returncode} {done.stdout} {done.stderr}")
    description = {"version": 1, "writer": "test", "inputs": ["x"], "parameters": [], "outputs": ["y"], "crc32": {},
                   "regions": [{"name": "y", "model": "binary32 math=any-library", "operands": ["x"], "results": ["y"], "nodes": [{"op": "exp", "operands": [0]}]}]}
    rounded = write(folder / "rounded", description, {"x": [1.0], "y": [math.e * (1 + 2 ** -23)]})
    file.write_text('{"head_room": {}}')
    done = run("audit", rounded, "--baseline", file)
    check(done.returncode == 1 and "and is not in the baseline" in done.stdout, f"an operation that nothing holds: {done.returncode} {done.stdout}")


def nothing(folder):
    """What was not judged is not passed, and what a run leaves out is named in every report."""
    empty = folder / "empty.safetensors"
    text = json.dumps({"__metadata__": {"assay.trace": json.dumps({"version": 1, "writer": "test", "inputs": [], "parameters": [], "outputs": [], "regions": [], "crc32": {}})}}).encode()
    empty.write_bytes(len(text).to_bytes(8, "little") + text)
    done = run("audit", empty)
    check(done.returncode == 3 and "gate.nothing" in done.stdout, f"a trace without regions is no pass: {done.returncode} {done.stdout}")
    done = run("gradcheck", trace(folder, "of_nothing", edit=lambda d: d["gradients"][0].update(of={})))
    check(done.returncode == 3 and "gradient.nothing" in done.stdout, f"the gradient of no tensor is no pass: {done.returncode} {done.stdout}")
    cut = trace(folder, "cut", {"x_bar": [0.0] * 4, "mask": [0.0] * 4},
                lambda d: (d.update(detached=["loss"]), d["gradients"][0].update(of={"x": "mask"}), d["regions"][6].update(operands=[], nodes=[{"op": "constant", "dtype": "float32", "shape": [4], "data": [0, 0, 0, 0]}])))
    files = [folder / f"cut.{kind}" for kind in ("xml", "sarif", "md", "json")]
    done = run("gradcheck", cut, "--junit", files[0], "--sarif", files[1], "--markdown", files[2], f"--json={files[3]}")
    check(done.returncode != 0 and "gradient.detached" in done.stdout, f"a detached output is no pass: {done.returncode} {done.stdout}")
    for file in files:
        check("1 tensor through which no gradient is expected to flow" in file.read_text(), f"what is detached stands in {file.suffix}")
    kink = trace(folder, "counted", {"x": [3.0, 0.0, 5.0, 1.0], "h": [3.0, 0.0, 5.0, 1.0], "q_bar": [1.0] * 4})
    check(json.loads(run("gradcheck", kink, "--json").stdout)["kinks"] == 1 and "kinks: 1 recorded cotangent at kinks: 1 of relu in [0, 1]" in run("gradcheck", kink).stdout, f"kinks are counted: {run('gradcheck', kink).stdout}")


def bombs(folder):
    """A small trace whose regions hold large values inside is refused within two seconds, and --memory and --budget allow more."""
    def with_nodes(*nodes):
        return lambda d: d["regions"][2].update(nodes=[*nodes, {"op": "reduce_sum", "operands": [len(nodes)], "attributes": {"axes": [0, 1], "keep_dims": False}}])
    wide = {"op": "expand", "operands": [0], "attributes": {"shape": [1000000, 4]}}
    square = {"op": "expand", "operands": [0], "attributes": {"shape": [512, 4]}}
    turned = {"op": "permute", "operands": [1], "attributes": {"axes": [1, 0]}}
    product = {"op": "matmul", "operands": [1, 2]}
    for name, nodes, code, more in (("wide", [wide], "gate.memory", ("--memory", "2GiB")), ("product", [square, turned, product, {"op": "matmul", "operands": [3, 3]}], "gate.work", ("--budget", "1e12"))):
        file = trace(folder, name, edit=with_nodes(*nodes))
        for verb in ("audit", "gradcheck"):
            start = time.monotonic()
            done = run(verb, file)
            check(done.returncode == 3 and code in done.stderr and more[0] in done.stderr, f"{verb} of {name}: {done.returncode} {done.stderr}")
            check(time.monotonic() - start < 2, f"{verb} of {name} takes {time.monotonic() - start} s")


def long_lines(folder):
    """An op that ran alone along a long axis is judged: the budget against small traces is not for what was recorded."""
    count = 65536
    description = {"version": 1, "writer": "test", "inputs": ["x"], "parameters": [], "outputs": ["y"], "vjps": [], "gradients": [], "crc32": {},
                   "regions": [{"name": "y", "model": "binary32 math=glibc-2.36", "operands": ["x"], "results": ["y"],
                                "nodes": [{"op": "softmax", "operands": [0], "attributes": {"axis": 0}}]}]}
    done = run("audit", write(folder / "long", description, {"x": [0.0] * count, "y": [1 / count] * count}))
    check(done.returncode == 0 and f"{count} passed" in done.stdout, f"a long softmax: {done.returncode} {done.stdout} {done.stderr}")


with tempfile.TemporaryDirectory() as name:
    for part in (nothing, bombs, long_lines, like_gzip, causes, reports, openings, one_of_many, shrinking, probes, devices, certificates, models, dead, surrogates, waivers, names, baseline, vacuous):
        part(pathlib.Path(name))
    if "--instrumented" not in sys.argv:  # sanitizers have an allocator of their own, which knows no limit
        memory(pathlib.Path(name))
for problem in problems:
    print("FAILED", problem)
sys.exit(1 if problems else 0)
