"""assay.certificate: the records of the format, and certificates that both checkers accept."""
import re
import subprocess
import sys

import pytest

import assay
import onnx_files as files
from assay import certificate as c
from assay._core import programs
from conftest import ROOT

numpy = pytest.importorskip("numpy")
FORMAT = (ROOT / "certificates" / "FORMAT.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """y = relu(x0 + x1) + relu(x0 - x1) on [-1, 1]^2, whose largest value is 2; z is node 2, its relu node 3, y node 5."""
    made = tmp_path_factory.mktemp("certificate")
    nodes = [files.node("MatMul", ["x", "w"], ["z"], "z"), files.node("Relu", ["z"], ["h"], "h"), files.node("MatMul", ["h", "v"], ["y"], "y")]
    tensors = [files.tensor("w", [2, 2], [1, 1, 1, -1]), files.tensor("v", [2, 1], [1, 1])]
    (made / "m.onnx").write_bytes(files.model(nodes, [files.value_info("x", [1, 2])], [files.value_info("y", [1, 1])], tensors))
    bounds = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in range(2))
    for name, claim in (("below", "(>= Y_0 2.5)"), ("reached", "(>= Y_0 1.5)"), ("above", "(<= Y_0 (- X_0 0.25))")):
        declared = "".join(f"(declare-const {one} Real)" for one in ("X_0", "X_1", "Y_0"))
        (made / f"{name}.vnnlib").write_text(f"{declared}{bounds}(assert {claim})")
    return made


def answers(folder, name, records):
    """-> what assay-check says of a certificate, and the twin."""
    c.write(folder / f"{name}.assay", assay.statement(folder / "m.onnx", folder / f"{name}.vnnlib"), records)
    three = [folder / "m.onnx", folder / f"{name}.vnnlib", folder / f"{name}.assay"]
    commands = [[programs.program("assay-check"), *three]] + ([[sys.executable, ROOT / "tools/twin/check.py", *three]] if sys.version_info >= (3, 11) else [])
    said = [subprocess.run(command, capture_output=True, text=True) for command in commands]
    return {one.stdout.split("\n")[0] or one.stderr for one in said}, said[0].stdout + said[0].stderr


def split(element, below, above):
    return [c.split_zero(2, element), *below, c.next(), *above, c.done()]


def test_a_proof_by_intervals(folder):
    def prove(lo, hi):
        upper = max(0, hi[0] + hi[1]) + max(0, hi[0] - lo[1])
        if upper < 2.5:
            return [c.boxes(), c.conclude()]
        k = 0 if hi[0] - lo[0] >= hi[1] - lo[1] else 1
        middle, below, above = (lo[k] + hi[k]) / 2, list(hi), list(lo)
        below[k] = above[k] = middle
        return [c.split_f32(0, k, middle), *prove(lo, below), c.next(), *prove(above, hi), c.done()]

    words, text = answers(folder, "below", [c.begin_group(), *prove([-1, -1], [1, 1]), c.end_group()])
    assert words == {"accepted"}, text


def test_a_witness(folder):
    words, text = answers(folder, "reached", c.witness(0, ["1", numpy.float32(0.1)]))
    assert words == {"accepted"}, text


def test_every_record_is_read(folder):
    """Steps that use every argument, in a proof that needs its betas."""
    half = c.Hints(beta=[0.5, 0.5])
    leaf = [c.define_hints(7, c.Hints(upper={3: numpy.array([[0.5, 0.625]])})), c.conclude_with(7, [0.5, 0.5])]
    tree = c.split_f64(2, 0, 0.1) + c.leaf() + c.split_zero(2, 1) + c.leaf(c.Hints(beta=[0, 0])) + c.leaf()
    records = [c.begin_group(0), c.sweep(rounded=True), c.box(3), c.boxes(3),
               c.tighten(2, c.Hints(lower={}), select="all", claims=([-2, -4], [2, 2.5]), rounded=True),
               c.tighten_by_cases(3, tree, select=[1, 0]), c.cut([(2, 0, 1), (2, 1, -0.5)], tree), c.boxes(5),
               *split(0, split(1, [c.conclude({0: None}, half)], leaf), split(1, [c.conclude(1, c.Hints(beta=[0.5, 0.5], cuts=[0]))], [c.conclude({0: [1.0]}, half)])),
               c.end_group()]
    words, text = answers(folder, "above", records)
    assert words == {"accepted"}, text
    # All records but those that prove nothing here.
    assert set(assay.inspect(folder / "above.assay")["records"]) >= {"sweep", "tighten", "tighten_by_cases", "cut", "define_hints", "conclude_with"}


def test_records_are_those_of_the_format():
    table = re.findall(r"^\| (\d+) \| (\w+) \|", FORMAT[FORMAT.index("| Type | Name |"):], re.M)
    assert {name: int(number) for number, name in table} == c.RECORDS and len(table) == 18
    made = {"begin_group": (), "end_group": (), "sweep": (), "box": (0,), "tighten": (0,), "define_hints": (0, c.Hints()), "conclude": (), "conclude_with": (0,), "empty": (),
            "split_zero": (0, 0), "split_f32": (0, 0, 1), "split_f64": (0, 0, 1), "next": (), "done": (), "witness": (0, []), "tighten_by_cases": (0, c.leaf()),
            "cut": ([], c.leaf()), "boxes": ()}
    assert {name: getattr(c, name)(*some)[0] for name, some in made.items()} == c.RECORDS
    assert c.crc32c(b"123456789") == 0xE3069283 and c.witness(0, ["1/2", "0.25"]).hex() == "0f000203312f3203312f34"


def test_arrays_take_their_shortest_form():
    assert c.array([]) == b"\x00" and c.array([0.3] * 9)[:2] == b"\x09\x00" and c.array([0, 1] * 9)[:2] == b"\x12\x01" and c.array([20 / 128, 0]).hex() == "02021400"
    assert c.array([0.3, 0.4])[:2] == b"\x02\x03" and c.array([0] * 99 + [0.5]).hex() == "640400016340" and c.array([0] * 99 + [0.3])[:2] == b"\x64\x05"
    assert c.array([0.3] * 40 + [0.5], (6, [0.3] * 41)).hex() == "290407012840" and c.array([-0.0, 1])[1] == 3 and c.array(b"raw") == b"raw"


def test_a_record_does_not_cross_frames(folder):
    data = c.encode(assay.statement(folder / "m.onnx", folder / "reached.vnnlib"), [c.begin_group(), *[c.box(3)] * 50000, c.conclude(), c.end_group()])
    found = assay.inspect(data)
    assert found["frames"] == 2 and found["records"]["box"]["count"] == 50000


@pytest.mark.parametrize("call, words", [
    (lambda: c.split_f32(0, 0, 0.1), "threshold, number 0: expected a number that is a float32, got 0.1; write split_f64"),
    (lambda: c.tighten(0, claims=([-1], [0.1])), "claims[1], number 0: expected a number that is a float32, got 0.1; round lower bounds down"),
    (lambda: c.conclude(1, c.Hints(beta=[0, -0.5])), "beta, number 1: expected a number of at least 0, got -0.5; write absolute values"),
    (lambda: c.conclude({2: [1, -1]}), "cases[2], number 1: expected a number of at least 0"), (lambda: c.conclude_with(0, [-1]), "beta, number 0:"),
    (lambda: c.conclude(1, c.Hints(lower={4: [1, float("nan")]})), "lower[4], number 1: expected a finite number"),
    (lambda: c.outward([1e39], []), "lower: expected numbers within float32"),
    (lambda: c.box(-1), "from 0 to"), (lambda: c.array([1e39]), "within float32"),
    (lambda: c.tighten(0, select="some"), "'unstable', 'all' or a mask"), (lambda: c.tighten(0, claims=([1], [])), "as many lower as upper"),
    (lambda: c.encode("model.onnx", []), "what assay.statement returns"), (lambda: c.array([1, 2], (0, [1])), "2 values"), (lambda: c.encode("0" * 64, ["text"]), "bytes of records")])
def test_wrong_use(call, words):
    with pytest.raises(assay.UsageError, match=re.escape(words)):
        call()


def test_claims_are_rounded_outward():
    numbers = [0.1, -0.1, 1 / 3, 1e-50, -1e-50, 0, 0.5, 3.0000001, -3.0000001, -(2.0 - 2**-24)]
    lower, upper = c.outward(numbers, numbers)
    assert all(lo <= one <= hi for lo, one, hi in zip(lower, numbers, upper)) and lower[5:7] == upper[5:7] == [0, 0.5]
    below, above = numpy.float32(-numpy.inf), numpy.float32(numpy.inf)
    assert all(numpy.nextafter(numpy.float32(lo), above) >= hi and numpy.nextafter(numpy.float32(hi), below) <= lo for lo, hi in zip(lower, upper))
    assert c.tighten(0, claims=c.outward(numbers, numbers), select="all")[:3] == b"\x05\x00\x28"


def test_a_step_is_inspected(folder):
    records = [c.begin_group(), c.sweep(), *split(1, [c.conclude(1, c.Hints(beta=[0.5]))], [c.conclude()]), c.end_group()]
    data = c.encode(assay.statement(folder / "m.onnx", folder / "reached.vnnlib"), records)
    files = {"network": folder / "m.onnx", "property": folder / "reached.vnnlib"}
    (step,) = assay.inspect(data, step=4, **files)["steps"]
    assert step["numbers"] == [{"name": "beta", "values": [0.5]}] and step["splits"] == [{"node": 2, "element": 1, "half": "<=", "threshold": 0}]
    assert [box["node"] for box in step["boxes"]] == [0, 2, 3, 5] and "conclude.S3" in step["refused"]
    assert [one["step"] for one in assay.inspect(data, **files)["steps"] if "refused" in one] == [4, 6]
    for wrong, words in (({"step": 0}, "step: expected a whole number"), ({"property": files["property"]}, "--property does not go with a certificate without --network")):
        with pytest.raises(assay.UsageError, match=words):
            assay.inspect(data, **wrong)
