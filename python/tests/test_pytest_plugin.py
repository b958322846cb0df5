"""The pytest plugin, the pre-commit hooks, and the example for GitHub Actions."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from importlib import metadata
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]
ROOT = pathlib.Path(__file__).parents[2]
INSTALLED = any(entry.name == "assay" for entry in metadata.entry_points(group="pytest11")) if sys.version_info >= (3, 10) else False
PLUGIN = () if INSTALLED else ("-p", "assay.pytest_plugin")
TESTS = """
import numpy as np, pytest
from assay.testing import assert_within_contract
x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
"""
RIGHT = "def test_right(): assert_within_contract('softmax', [x], softmax(x), attributes={'axis': 1})\n"
WRONG = "def test_wrong(): assert_within_contract('softmax', [x], softmax(x) * np.float32(1.01), attributes={'axis': 1})\n"
WAIVER = {"id": "W1", "rule": "contract.softmax", "reason": "known", "owner": "us", "expires": "2999-01-01"}


@pytest.fixture
def run(pytester):
    def run(text, *options, conftest=""):
        pytester.makepyfile(test_one=TESTS + text, conftest=conftest)
        return pytester.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", *options)
    return run


def test_failures_carry_the_explanation_and_stand_in_all_files(run, pytester):
    result = run(RIGHT + WRONG, "--assay-junit=a.xml", "--assay-sarif=a.sarif")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*ContractViolation: contract.softmax: 12 of 12 elements of 'y' are outside their contract", "*y = exp(d) / s*",
                                 "*2 checks, 1 failed, 12 elements within their contracts*"])
    suites = ElementTree.parse(pytester.path / "a.xml").getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    assert suites.find("testsuite/testcase/failure").get("type") == "contract.softmax"
    found = json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]
    place = found[0]["locations"][0]["physicalLocation"]
    assert len(found) == 1 and place["artifactLocation"]["uri"] == "test_one.py"
    assert (pytester.path / "test_one.py").read_text().splitlines()[place["region"]["startLine"] - 1] == WRONG.strip()


def test_a_gate_collects_and_fails_at_the_end(run, pytester):
    result = run("""
def test_all(assay_gate):
    assay_gate.assert_within_contract("softmax", [x], softmax(x) * np.float32(1.01), attributes={"axis": 1})
    assay_gate.assert_within_contract("relu", [x], x)
    assay_gate.assert_within_contract("relu", [x], np.maximum(x, 0))
    report = assay_gate.audit_kernel("neg", lambda x: x)
    assert len(assay_gate.reports) == 4 and not report.passed
    print("reached the end")
def test_fine(assay_gate):
    assay_gate.assert_within_contract("relu", [x], np.maximum(x, 0))
""", "--assay-junit=a.xml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*3 of 4 checks did not pass", "*contract.softmax*", "*contract.relu*", "*kernel of neg:*", "*reached the end*"])


def test_a_gate_names_the_lines_of_its_checks(run):
    result = run("def test_all(assay_gate):\n    assay_gate.assert_within_contract('relu', [x], np.maximum(x, 0))\n"
                 "    assay_gate.assert_within_contract('relu', [x], x)\n    assay_gate.assert_within_contract('neg', [x], x)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*assay_gate.assert_within_contract('relu', [[]x], x)*", "E*2 of 3 checks did not pass*",
                                 "E*test_one.py:9: contract.relu*", "E*test_one.py:10: contract.neg*"])
    result.stdout.no_fnmatch_line("*traceback entries are hidden*")


def test_what_a_test_expects_is_no_finding(run, pytester):
    """Of a test that passes, or is marked with xfail; not of one that catches the exception and fails nevertheless, or that asks for a report."""
    caught = ("def test_{}():\n    with pytest.raises(AssertionError):\n"
              "        assert_within_contract('neg', [x], x)\n    assert {}\n")
    result = run(RIGHT + caught.format("caught", True) + caught.format("broken", False) + "@pytest.mark.xfail\n" + WRONG
                 + "def test_report(assay_gate):\n    from assay.testing import within_contract\n    assert within_contract('relu', [x], x).failed\n",
                 "--assay-junit=a.xml", "--assay-sarif=a.sarif")
    result.assert_outcomes(passed=3, failed=1, xfailed=1)
    result.stdout.fnmatch_lines(["5 checks, 2 failed, 2 not passed as their tests expect*"])
    suites = ElementTree.parse(pytester.path / "a.xml").getroot()
    assert [one.get("name") for one in suites.iter("testcase")] == ["test_right", "test_broken", "test_report"]
    assert suites.get("failures") == "2" and len(json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]) == 2


def test_each_check_is_a_test_case_of_its_tests_name(run, pytester):
    """The failure says whether the check failed or is undecided; a session that fails by a waiver has a case that says so."""
    run("class TestBoth:\n    @pytest.mark.parametrize('sign', [1, -1])\n    def test_two(self, sign, assay_gate):\n        assay_gate.assert_within_contract('neg', [x], -x * sign)\n"
        "        assay_gate.assert_within_contract('relu', [x], np.maximum(x, 0))\ndef test_wide():\n    ones = np.linspace(1, 2, 40000, dtype=np.float32) / 3\n"
        "    assert_within_contract('reduce_sum', [ones], ones.sum(), attributes={'axes': [0], 'keep_dims': False}, model='any-order')\n",
        "--assay-junit=a.xml", "--assay-sarif=a.sarif", waivers(pytester, {**WAIVER, "expires": "2001-01-01"}))
    cases = list(ElementTree.parse(pytester.path / "a.xml").getroot().iter("testcase"))
    both = "test_one.TestBoth"
    assert [(one.get("classname"), one.get("name")) for one in cases] == [
        *((both, f"test_two[{sign}], check {i}") for sign in (1, -1) for i in (1, 2)), ("test_one", "test_wide"), ("session", "waivers and baseline")]
    messages = [one.find("failure").get("message") for one in cases if one.find("failure") is not None]
    assert [one.partition(": ")[0] for one in messages] == ["failed", "undecided", "waiver W1 expired on 2001-01-01"], messages
    assert "gate.upkeep" in (pytester.path / "a.sarif").read_text()


def test_probes_that_a_kernel_declined_are_named(run):
    result = run("""
from assay.testing import audit_kernel
def kernel(x):
    if not x.flags.c_contiguous:
        raise ValueError("dense arrays only")
    return -x
def test_allowed(): audit_kernel("neg", kernel, blocks=False, declines=ValueError)
def test_crashes(): audit_kernel("neg", kernel, blocks=False)
def test_all_are_taken(): audit_kernel("neg", np.negative, blocks=False)
""")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["3 checks, 1 undecided, *", "assay kernel neg (test_one.py::test_allowed): of * probes * declined, such as '*': ValueError: dense arrays only",
                                 "assay kernel neg (test_one.py::test_crashes): of * probes * declined (* by an exception that is no refusal), such as *"])
    result.stdout.no_fnmatch_line("*test_all_are_taken): of*")


def test_a_test_that_fails_otherwise_says_that(run):
    result = run("def test_broken(assay_gate):\n    assay_gate.assert_within_contract('relu', [x], x)\n    assert 1 == 2\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])


def test_baselines_have_the_names_of_compositions(run, pytester):
    kernel = "def test_norm():\n    from assay.testing import audit_kernel\n    audit_kernel('rms norm', lambda x, w: (x / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + 1e-5)).astype(np.float32) * w, blocks=False)\n"
    assert run(kernel, "--assay-baseline=b.json", "--assay-write-baseline").ret == 0
    assert list(json.loads((pytester.path / "b.json").read_text())["head_room"]) == ["rms norm"]
    result = run(RIGHT, "--assay-baseline=b.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["softmax uses 7.66 % of its allowance, and is not in the baseline b.json, so nothing holds it to what it was: write a new baseline",
                                 "the baseline b.json has rms norm, but no check measured it: correct the name, or write a new baseline"])
    assert run(RIGHT, "--assay-baseline=none.json").ret == 1


def waivers(pytester, *entries):
    (pytester.path / "w.json").write_text(json.dumps({"waivers": list(entries)}))
    return "--assay-waivers=w.json"


def test_waivers_let_findings_through(run, pytester):
    result = run(RIGHT + WRONG, waivers(pytester, WAIVER), "--assay-sarif=a.sarif")
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    found, = json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]
    assert found["suppressions"][0]["justification"] == "waiver W1"


@pytest.mark.parametrize("change, words", [({"expires": "2001-01-01"}, "expired"), ({"rule": "contract.relu"}, "covers nothing")])
def test_waivers_that_have_expired_or_cover_nothing_fail(run, pytester, change, words):
    result = run(RIGHT + (WRONG if words == "expired" else ""), waivers(pytester, {**WAIVER, **change}))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*W1*"])


@pytest.mark.parametrize("field, other, has", [("rule", "contract.relu", "contract.softmax"), ("op", "relu", "softmax"), ("tensor", "q", "y"), ("most_elements", 0, "*"),
                                               ("test", "test_other", "test_one.py::test_wrong"), ("file", "other.py", "*test_one.py"), ("dtype", "float16", "float32")])
def test_a_waiver_that_misses_by_one_field_names_it(run, pytester, field, other, has):
    result = run(WRONG, waivers(pytester, {**WAIVER, field: other}))
    result.stdout.fnmatch_lines([f'*waiver W1 covers nothing: of the finding at * (contract.softmax) it differs in "{field}": it has {has}; mend that field, or remove it*'])


KERNELS = """
import assay, torch
from assay.testing import audit_kernel, within_contract

def off(x):  # line 4
    return -x + np.float32(0.5)

class Half(torch.autograd.Function):  # line 7
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

def half(x):  # line 17
    return Half.apply(x)
"""
CALLS = """
from kernels_and_functions import *
def test_gradcheck(): assay.gradcheck(half, [(4, 3)])
def test_judge():
    with assay.torch.record() as run:
        Half.apply(torch.ones(3, requires_grad=True)).sum().backward()
    assert assay.torch.judge(run).passed
def test_audit_kernel(): audit_kernel("neg", off, blocks=False, strided=False)
def test_within(): assert within_contract("neg", [x], x).passed
"""


@pytest.fixture
def functions(pytester):
    if importlib.util.find_spec("torch") is None:  # importing it here would load it again for each test
        pytest.skip("no torch")
    pytester.makepyfile(kernels_and_functions=TESTS + KERNELS)


def test_files_have_gradients_and_kernels_where_they_stand(run, functions, pytester):
    run(CALLS, "--assay-junit=a.xml", "--assay-sarif=a.sarif").assert_outcomes(failed=4)
    lines = (pytester.path / "kernels_and_functions.py").read_text().splitlines()
    found = {}
    assert not any(case.get("file", "").startswith("/") or "torch/autograd" in case.get("file", "") for case in ElementTree.parse(pytester.path / "a.xml").iter("testcase"))
    for case in ElementTree.parse(pytester.path / "a.xml").iter("testcase"):
        if case.find("failure") is not None:
            found.setdefault(case.get("name"), set()).add((pathlib.Path(case.get("file")).name, int(case.get("line")), case.find("failure").get("type")))
    assert set(found) == {"test_gradcheck", "test_judge", "test_audit_kernel", "test_within"}
    half = lines.index("    def backward(ctx, g):") + 1  # counted from 1
    assert found["test_gradcheck"] == found["test_judge"] == {("kernels_and_functions.py", half, "gradient.product")}
    assert found["test_audit_kernel"] == {("kernels_and_functions.py", lines.index("def off(x):  # line 4") + 1, "contract.neg")}
    assert {place[0] for place in found["test_within"]} == {"test_one.py"}
    results = json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]
    places = {(one["ruleId"], one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for one in results}
    assert ("gradient.product", "kernels_and_functions.py") in places and ("contract.neg", "test_one.py") in places


def test_waivers_cover_what_findings_of_gradients_print(run, functions, pytester):
    calls = CALLS.partition("def test_judge")[0]
    waiver = {**WAIVER, "rule": "gradient.product", "expires": "2999-03-31", "reason": "issue 311", "op": "Half", "tensor": "input 0"}
    result = run(calls, waivers(pytester, waiver))
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*waived by W1 (us, until 2999-03-31): issue 311: gradient.product: the cotangent of 'input 0'*half the derivative*"])


@pytest.mark.parametrize("narrow, covers", [({}, True), ({"op": "Half"}, True), ({"op": "vjp of mul"}, True), ({"tensor": "input 0"}, True), ({"op": "Third"}, False),
                                            ({"tensor": "input 1"}, False), ({"rule": "gradient.value"}, False), ({"most_elements": 0}, False),
                                            ({"most_elements": 1}, False)])  # nobody counted the wrong elements of a cotangent
def test_waivers_are_narrow(narrow, covers):
    from assay._core.gate_reports import Case, Finding
    from assay.testing._waivers import Waiver

    finding = Finding("fail", "gradient.product", "case 'region 0 (Half)', d y[0]", "required J^T", opening="the cotangent of 'input 0' at [0, 2]: recorded 1")
    waiver = Waiver(**{**WAIVER, "rule": "gradient.product", **narrow})
    assert waiver.covers(Case("region 0 (Half)", "vjp of mul", findings=[finding]), finding) is covers
    assert not waiver.is_expired and Waiver(**{**WAIVER, "expires": "2001-01-01"}).is_expired


def test_waivers_say_each_thing_once(tmp_path):
    from assay import errors
    from assay.testing import _waivers

    one = json.dumps(WAIVER)
    for text, words in ((f"{one}, {one}", f"waiver {WAIVER['id']} twice"), ('{"expires": "2001-01-01", ' + one[1:], '"expires" stands twice')):
        (tmp_path / "w.json").write_text('{"waivers": [' + text + "]}")
        with pytest.raises(errors.MalformedInput, match=words):
            _waivers.read(str(tmp_path / "w.json"))


def test_a_waiver_covers_what_gradcheck_and_a_step_print(run, functions, pytester):
    """The Function by its class, in a module, too; a tensor as the finding calls it."""
    calls = """
from kernels_and_functions import *
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        return half(self.weight) * x
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def forward(self, x):
        return self.block(x)
net = Net()
def test_gradcheck(): assay.gradcheck(net, [(3,)], params=net)
def test_step(): assay.torch.check_step(net, lambda: net(torch.ones(3)).sum())
def test_layer(): assay.gradcheck(net.block, [(3,)], params=net.block)
"""
    waiver = {**WAIVER, "rule": "gradient.product", "op": "Half"}
    run(calls, waivers(pytester, {**waiver, "tensor": "block.weight"}, {**waiver, "id": "W2", "tensor": "weight"})).assert_outcomes(passed=3)
    run(calls, waivers(pytester, {**waiver, "op": "alf"})).assert_outcomes(failed=3)


def test_a_waiver_for_one_tensor_leaves_the_fault_of_another():
    from assay._core.gate_reports import Case, Finding
    from assay.testing._waivers import Waiver

    finding = Finding("fail", "gradient.product", "case 'region 0 (Half)'", "required J^T", opening="the cotangent of 'input 0' at [0, 2]: recorded 1",
                      details=["  wrong, everywhere", "the cotangent of 'input 1' at [0, 0]: recorded 5"])
    case = Case("region 0 (Half)", "vjp of mul", findings=[finding])
    waiver = {**WAIVER, "rule": "gradient.product", "op": "Half"}
    assert Waiver(**waiver).covers(case, finding)
    for tensor in ("input 0", "input 1"):
        assert Waiver(**waiver, tensor=tensor).differences(case, finding) == ['"tensor": it has input 0 and input 1' if tensor == "input 0" else '"tensor": it has input 0']


def test_a_check_that_was_not_decided_is_no_green_test_case(run, pytester):
    test = ("from assay.testing import audit_kernel\n"
            "def decline(*operands): raise NotImplementedError\n"
            "def test_declined(): audit_kernel('neg', decline, blocks=False)\n")
    run(test, "--assay-junit=a.xml", "--assay-sarif=a.sarif").assert_outcomes(failed=1)
    suites = ElementTree.parse(pytester.path / "a.xml").getroot()
    assert [one.get("name").rpartition("::")[2] for one in suites.iter("testcase") if one.find("failure") is not None] == ["test_declined"]
    assert suites.get("failures") == "1" and json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]


def test_a_report_of_vacuous_elements_has_a_case_that_says_so():
    from assay._core.gate_reports import Case, Report, merged, undecided_whole

    report = Report([Case("softmax: dense", "softmax", passed=1, vacuous=99)], "vacuous: 1 probe\nmore")
    whole = undecided_whole(report, "test_one.py::test_softmax")
    assert whole is not None and (whole.name, whole.op, whole.findings[0].headline) == ("test_one.py::test_softmax", "softmax", "vacuous: 1 probe")
    assert 'failures="1"' in merged([Report([*report.cases, whole])], "assay").junit()
    assert undecided_whole(Report([Case("softmax: dense", "softmax", passed=100)], "passed"), "a test") is None


def test_a_waiver_of_a_kernel_is_told_once_and_its_misses_are_counted(run, pytester):
    """It covers each probe with at most so many wrong elements."""
    test = "def test_kernel():\n    from assay.testing import audit_kernel\n    audit_kernel('neg', lambda x: -x + np.float32(0.5), blocks=False)\n"
    few = run(test, waivers(pytester, {**WAIVER, "rule": "contract.neg", "op": "neg", "most_elements": 4})).stdout
    few.fnmatch_lines(["waived by W1 *: contract.neg: * findings, the first: *", 'waiver W1 leaves * findings that have more elements than its "most_elements", 4: the largest has *'])
    assert sum(line.startswith("waived by") for line in few.lines) == 1


def test_a_waiver_says_how_many_tests_it_covers_and_may_name_one(run, pytester):
    test = "from assay.testing import audit_kernel\n" \
           "def off(x): return -x + x.dtype.type(0.5)\n" \
           "def test_long_sum(): assert_within_contract('reduce_sum', [np.full(100000, -3e4, np.float32) * (-1) ** np.arange(100000, dtype=np.float32)], np.float32(0), " \
           "attributes={'axes': [0], 'keep_dims': False})\n" \
           "def test_one(): audit_kernel('neg', off, blocks=False, strided=False)\n" \
           "@pytest.mark.parametrize('dtype', ['float16', 'float32'])\n" \
           "def test_two(dtype): audit_kernel('neg', off, blocks=False, strided=False, dtype=dtype)\n"
    wide = {**WAIVER, "rule": "contract.neg"}
    run(test, waivers(pytester, wide), "--assay-junit=a.xml").stdout.fnmatch_lines([
        'waiver W1 covers findings of 2 tests: test_one.py::test_one, test_one.py::test_two. If it is meant for one of them, name it in the waiver: "test": "test_one"'])
    suites = ElementTree.parse(pytester.path / "a.xml").getroot()
    assert [one.attrib for one in suites.iter("property")] == [{"name": "undecided", "value": "1"}] and suites.get("failures") == "1"
    assert all(one.text.count("waived by W1") == 1 and re.match(r"contract.neg: \d+ findings, the first: ", one.text) for one in suites.iter("system-out"))
    result = run(test, waivers(pytester, {**wide, "test": "test_two[float16]"}))
    result.assert_outcomes(passed=1, failed=3)
    assert "covers findings of" not in str(result.stdout)


@pytest.mark.parametrize("field, value, covers", [("test", "test_two", True), ("test", "test_two[float16]", True), ("test", "a/test_one.py::test_two", True), ("test", "two", False),
                                                  ("test", "test_two[float32]", False), ("file", "test_one.py", True), ("file", "lib/off.py", True), ("file", "ff.py", False),
                                                  ("dtype", "float16", True), ("dtype", "float", False)])
def test_waivers_are_for_one_test_file_or_type(field, value, covers):
    from assay._core.gate_reports import Case, Finding
    from assay.testing._waivers import Waiver

    case = Case("neg: dense float16", "neg", file="/home/me/lib/off.py", owner="a/test_one.py::test_two[float16]", dtype="float16")
    waiver = Waiver(**{**WAIVER, "rule": "contract.neg", field: value})
    assert waiver.covers(case, Finding("fail", "contract.neg", case.name, "1 of 2 elements of 'y'")) == covers


def test_waivers_cover_findings_of_kernels(run, pytester):
    test = "from assay.testing import audit_kernel\n" \
           "def test_kernel(): assert audit_kernel('neg', lambda x: np.negative(x, out=x), blocks=False).verdict == 'passed with waivers'\n"
    run(test, waivers(pytester, {**WAIVER, "rule": "probe.operand", "op": "neg"})).assert_outcomes(passed=1)
    run(test, waivers(pytester, {**WAIVER, "rule": "probe.guard"})).assert_outcomes(failed=1)


def test_waived_findings_leave_the_others_to_be_judged(run, pytester):
    """A plan of which enough probes fail is not judged to its end; those that a waiver covers are not enough."""
    test = """
from assay.testing import audit_kernel, probes
def wrong(x): return -x + np.float32(0.5)
few, more = ([one for one in probes('neg', strided=False) if (one.operands[0].shape[-1:] > (100,)) == is_long][0] for is_long in (False, True))
def test_others(): audit_kernel('neg', wrong, plan=[few] * 100 + [more])
def test_all(): assert audit_kernel('neg', wrong, plan=[few] * 102).left == 0
"""
    result = run(test, waivers(pytester, {**WAIVER, "rule": "contract.neg", "most_elements": 20}))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(['waiver W1 leaves 1 finding that has more elements than its "most_elements", 20: the largest has 1*'])


GUARD = """
from assay.testing import audit_kernel
def beside(x, out):
    np.negative(x, out=out)
    np.lib.stride_tricks.as_strided(out, (out.size + 5,), (4,))[out.size:] = 1
def test_beside(): audit_kernel('neg', beside, out=True, blocks=False, strided=False)
def test_raises(): audit_kernel('neg', lambda x: 1 / 0, blocks=False, strided=False)
def in_place(x): return np.negative(x, out=x)
def test_in_place(): audit_kernel('neg', in_place, blocks=False, strided=False)
def test_shape(): audit_kernel('neg', lambda x: -x[None], blocks=False, strided=False)
"""


def test_waivers_bound_what_probes_find(run, pytester):
    """A number of elements bounds every rule that counts them, and covers none that does not; a kernel that shows nothing passes by no waiver."""
    few = [{**WAIVER, "id": rule, "rule": f"probe.{rule}", "most_elements": 4} for rule in ("guard", "operand", "shape")]
    result = run(GUARD, waivers(pytester, *few, {**WAIVER, "rule": "probe.raised"}))
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(['*waiver guard covers nothing: *"most_elements": it has 5;*', '*waiver shape covers nothing: *"most_elements": it has no number of elements*'])
    run(GUARD, waivers(pytester, {**few[0], "most_elements": 5}, {**WAIVER, "rule": "probe.shape"}), "-k", "beside or shape").assert_outcomes(passed=1, failed=1)
    result = run(RIGHT, waivers(pytester, {**WAIVER, "rule": "gate.nothing"}))
    assert result.ret == 4 and "where there is nothing to accept" in result.stderr.str()


def test_elements_that_nobody_looked_at_may_be_wrong():
    from assay._core.gate_reports import Case, Finding
    from assay.testing._waivers import Waiver

    finding = Finding("fail", "contract.matmul", "y", "3 of 100000 elements of 'y' are outside their contract", elements=3)
    waiver = Waiver(**{**WAIVER, "rule": "contract.matmul", "most_elements": 3})
    assert waiver.covers(Case("region 0", "matmul", failed=3), finding)
    assert waiver.differences(Case("region 0", "matmul", failed=3, unsampled=900), finding) == ['"most_elements": it has 903, with 900 that were not looked at']


def test_what_a_waiver_prints_it_covers(run, functions, pytester):
    """Opaque and vacuous findings, too: their elements do not count once they are waived."""
    calls = """
from kernels_and_functions import *
def test_opaque():
    with assay.torch.record() as run:
        torch.lgamma(torch.ones(3, requires_grad=True) * 2).sum().backward()
    report = assay.torch.judge(run)
    assert report.passed and report.verdict == "passed with waivers", report.text
def test_opaque_gate(assay_gate):
    with assay.torch.record() as run:
        torch.lgamma(torch.ones(3, requires_grad=True) * 2).sum().backward()
    assay_gate.check(assay.torch.judge(run))
"""
    run(calls).assert_outcomes(failed=2)
    result = run(calls, waivers(pytester, {**WAIVER, "rule": "audit.opaque"}))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*waived by W1*audit.opaque*"])


def test_undecided_kinds_of_operations_go_where_all_of_their_elements_are_waived():
    from assay._core.gate_reports import UNDECIDED_KIND, VACUOUS, Case, Finding, Report

    def report(waiver):
        wide = Finding("undecided", VACUOUS, "y", "2 of 3 elements", [], 2, waiver)
        kind = Finding("undecided", VACUOUS, "exp", "too many elements of exp are vacuous or unsupported")
        return Report([Case("region 0", "exp", "", 1, 0, 2, findings=[wide]), Case(UNDECIDED_KIND, "exp", findings=[kind])])
    waived, other = report("W1"), report("")
    assert waived.settle(["exp"]) == [] and waived.verdict == "passed with waivers"
    assert other.settle(["exp"]) == ["exp"] and not other.passed


@pytest.mark.parametrize("change, words", [({"expires": "soon"}, 'a day as YYYY-MM-DD as "expires" of waiver W1, got "soon"'), ({"owner": ""}, 'text as "owner"'), ({"op": ""}, 'text as "op" of waiver W1'),
                                           ({"reasons": "x"}, '"reasons"'), ({"most_elements": -1}, '"most_elements" of waiver W1, got -1')])
def test_a_wrong_field_of_a_waiver_is_named(run, pytester, change, words):
    run(RIGHT, waivers(pytester, {**WAIVER, **change})).stderr.fnmatch_lines([f"*{words}*".replace("[", "[[]")])


@pytest.mark.parametrize("options, says", [((), True), (("-k", "right"), False), (("test_one.py",), False), (("test_one.py", "more"), True),
                                           (("--ignore=more",), False)])
def test_a_session_of_some_tests_says_nothing_of_unused_waivers(run, pytester, options, says):
    """Others may use them: those that were left out by an option, and those of files beside the ones that were named."""
    (pytester.mkdir("more") / "test_more.py").write_text("def test_more(): pass\n")
    result = run(RIGHT, waivers(pytester, WAIVER), *options)
    assert result.ret == (1 if says else 0) and ("W1" in result.stdout.str()) == says


def test_a_session_of_some_tests_tells_near_misses(run, pytester):
    run(WRONG, waivers(pytester, {**WAIVER, "op": "relu"}), "-k", "wrong").stdout.fnmatch_lines(["waiver W1 covers nothing in these tests: of the finding at * it differs in \"op\": it has softmax*"])


def test_folders_of_tests_are_those_of_testpaths(run, pytester):
    (pytester.mkdir("more") / "test_more.py").write_text("def test_more(): pass\n")
    pytester.makeini("[pytest]\ntestpaths = test_one.py\n")
    assert "covers nothing" in run(RIGHT, waivers(pytester, WAIVER), "test_one.py").stdout.str()


def test_files_are_named_from_the_root_of_the_repository(run, pytester, monkeypatch):
    """Wherever pytest is started."""
    pytester.mkdir(".git")
    folder = pytester.mkdir("part")
    (folder / "test_part.py").write_text(TESTS + WRONG)
    for start, path in ((pytester.path, "part/test_part.py"), (folder, "test_part.py")):
        monkeypatch.chdir(start)
        pytester.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", path, f"--assay-sarif={pytester.path}/a.sarif").assert_outcomes(failed=1)
        found = json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]
        assert [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in found] == ["part/test_part.py"]


def test_a_waiver_expires_by_the_day_that_is_given(run, pytester):
    given = waivers(pytester, {**WAIVER, "expires": "2031-05-31"})
    assert run(WRONG, given, "--assay-today=2031-05-31", "--assay-junit=a.xml").ret == 0
    assert "waived by W1" in (pytester.path / "a.xml").read_text()
    late = run(WRONG, given, "--assay-today=2031-06-01")
    assert late.ret == 1 and "expired" in late.stdout.str()
    run(WRONG, given, "--assay-today=tomorrow").stderr.fnmatch_lines(["*has to be a day as YYYY-MM-DD*"])


def test_waivers_that_are_incomplete_are_refused(run, pytester):
    result = run(RIGHT, waivers(pytester, {**WAIVER, "expires": "soon"}))
    result.stderr.fnmatch_lines(["*--assay-waivers: a waiver cannot be used*"])


def test_a_gate_takes_reports_of_recorded_runs(run, functions, pytester):
    result = run("""
from kernels_and_functions import *
def test_all(assay_gate):
    with assay.torch.record() as run:
        Half.apply(torch.ones(3, requires_grad=True)).sum().backward()
    assert not assay_gate.check(assay.torch.judge(run)).passed
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 of 1 checks did not pass*", "*gradient.product*"])


def test_refused_checks_stand_in_all_files(run, functions, pytester):
    calls = """
from kernels_and_functions import *
def test_refused(): assay.gradcheck(torch.compile(lambda x: torch.sin(x) * x, backend="eager"), [(4, 3)])
"""
    run(calls, "--assay-junit=a.xml", "--assay-sarif=a.sarif").assert_outcomes(failed=1)
    suites = ElementTree.parse(pytester.path / "a.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("1", "0", "1")
    assert "torch.compile" in suites.find("testsuite/testcase/error").get("message")
    found = json.loads((pytester.path / "a.sarif").read_text())["runs"][0]["results"]
    assert [(one["level"], one["ruleId"]) for one in found] == [("error", "assay.Refused")]
    place = found[0]["locations"][0]["physicalLocation"]
    assert (pytester.path / "test_one.py").read_text().splitlines()[place["region"]["startLine"] - 1].startswith("def test_refused")


def test_a_gate_collects_gradients(run, functions):
    result = run("""
from kernels_and_functions import *
def test_all(assay_gate):
    assert not assay_gate.gradcheck(half, [(4, 3)]) and assay_gate.gradcheck(torch.sin, [(4, 3)])
def test_alone(): assay.gradcheck(half, [(4, 3)])
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*did not pass*", "*gradient.product*", "*assay.GradcheckError: failed*"])
    assert "_gradcheck.py" not in result.stdout.str()


def test_baselines_of_a_session(run, pytester):
    loose = "def test_loose(): assert_within_contract('softmax', [x], np.nextafter(np.nextafter(softmax(x), 2), 2), attributes={'axis': 1})\n"
    result = run(RIGHT, "--assay-write-baseline")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--assay-write-baseline wrote nothing: name the file with --assay-baseline=FILE*"])
    result = run(RIGHT, "--assay-baseline=b.json", "--assay-write-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["wrote the baseline b.json"])
    assert run(RIGHT, "--assay-baseline=b.json").ret == 0
    result = run(loose, "--assay-baseline=b.json")
    result.assert_outcomes(passed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*softmax*allowance*"])


def test_waivers_that_cannot_be_read(run, pytester):
    run(RIGHT, "--assay-waivers=none.json").stderr.fnmatch_lines(["*waivers cannot be read at none.json: No such file or directory; check the path*"])
    (pytester.path / "w.json").write_text("{")
    run(RIGHT, "--assay-waivers=w.json").stderr.fnmatch_lines(["*waivers cannot be read at w.json: it is no JSON, Expecting property name*"])
    (pytester.path / "w.json").write_text("[" * 100_000)
    run(RIGHT, "--assay-waivers=w.json").stderr.fnmatch_lines(["*waivers cannot be read at w.json: it is nested too deeply*"])
    (pytester.path / "b.json").write_text("[" * 100_000)
    assert "the baseline cannot be read at b.json: it is nested too deeply" in run(RIGHT, "--assay-baseline=b.json").stdout.str()


def test_baselines_of_a_kernel(run):
    """Probes that pass count: a suite that has kernels alone can have a baseline."""
    kernel = "from assay.testing import audit_kernel\ndef test_kernel(): audit_kernel('exp', lambda x: {}, attributes={{}})\n"
    assert run(kernel.format("np.exp(x)"), "--assay-baseline=b.json", "--assay-write-baseline").ret == 0
    assert run(kernel.format("np.exp(x)"), "--assay-baseline=b.json").ret == 0
    result = run(kernel.format("np.nextafter(np.exp(x), np.exp(x) / 2)"), "--assay-baseline=b.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*exp*allowance*"])
    result = run("def test_nothing(): pass\n", "--assay-baseline=b.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--assay-baseline: nothing was checked in this session*"])


@pytest.mark.parametrize("change, words", [
    ({"head_room": {"softmax": float("nan")}}, "expected a share from 0 to 1 for softmax, got NaN"), ({"head_room": {"softmax": 1e9}}, "got 1000000000.0"),
    ({"head_room": {"softmax": None}}, "got null"), ({"head_room": {"sofmax": 0.0766}}, "softmax uses 7.66 % of its allowance, and is not in the baseline b.json"),
    ({"head_room": {"softmax": 0.0766, "relu": 0}}, "the baseline b.json has relu, but no check measured it"), ({"headroom": {}}, 'got "headroom"'),
    ({"schema": "assay.baseline/2"}, 'got "assay.baseline/2"'), ('{"head_room": {"softmax": 0}, "head_room": {"softmax": 1}}', '"head_room" stands twice')])
def test_baselines_hold_what_they_say(run, pytester, change, words):
    """Entries that would hold nothing are named."""
    whole = {"schema": "assay.baseline/1", "head_room": {"softmax": 0.0766}}
    (pytester.path / "b.json").write_text(change if isinstance(change, str) else json.dumps({**whole, **change}))
    result = run(RIGHT, "--assay-baseline=b.json")
    assert result.ret == 1 and words in result.stdout.str()


def test_baselines_of_functions(run, pytester):
    """Functions of one name would share an entry, so that one could use what the other did. What a test expects to fail is not measured."""
    two = """
import assay.ops as xp
from assay.testing import audit_kernel
def exp(x): return np.exp(x.astype(float)).astype(np.float32)
def test_one(): audit_kernel(lambda x: xp.exp(x), exp, like=[(3, 4)], blocks=False, strided=False)
def test_two(): audit_kernel(lambda x: xp.exp(x * 1), exp, like=[(3, 4)], blocks=False, strided=False)
"""
    caught = "def test_wrong():\n    with pytest.raises(AssertionError): audit_kernel('exp', lambda x: np.exp(x) * (1 + 2e-7 * (x > 0)), blocks=False, strided=False)\n"
    assert run(two + caught, "--assay-baseline=b.json", "--assay-write-baseline").ret == 0
    assert list(json.loads((pytester.path / "b.json").read_text())["head_room"]) == [f"<lambda> of test_one.py::test_{one}" for one in ("one", "two")]
    assert run(two, "--assay-baseline=b.json").ret == 0
    result = run(two + "def test_both(): test_one(), test_two()\n", "--assay-baseline=b.json", "--assay-write-baseline")
    assert result.ret == 1 and "2 functions would have one entry of the baseline, <lambda> of test_one.py::test_both" in result.stdout.str()


def test_a_baseline_of_several_tests_has_the_operations_of_all(run, pytester):
    marked = "@pytest.mark.assay_baseline('both.json')\n"
    both = marked + RIGHT + marked + "def test_relu(): assert_within_contract('relu', [x], np.maximum(x, 0))\n"
    assert run(both, "--assay-write-baseline").ret == 0
    assert list(json.loads((pytester.path / "both.json").read_text())["head_room"]) == ["relu", "softmax"]
    assert run(both).ret == 0


def test_baselines_of_a_test(run, pytester):
    marked = "@pytest.mark.assay_baseline('softmax.json')\n"
    loose = "def test_right(): assert_within_contract('softmax', [x], np.nextafter(np.nextafter(softmax(x), 2), 2), attributes={'axis': 1})\n"
    result = run(marked + RIGHT)
    result.stdout.fnmatch_lines(["*does not exist; write it with --assay-write-baseline*"])
    assert run(marked + RIGHT, "--assay-write-baseline").ret == 0 and (pytester.path / "softmax.json").exists()
    run(marked + RIGHT).assert_outcomes(passed=1)
    result = run(marked + loose)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*uses more of its allowance than softmax.json admits*"])
    run(marked + "def test_nothing(): pass\n").stdout.fnmatch_lines(["*checked nothing*"])


def test_workers_of_xdist_hand_over_what_they_checked(run, pytester):
    pytest.importorskip("xdist")
    result = run(RIGHT + WRONG, "-n2", "--assay-junit=a.xml")
    result.assert_outcomes(passed=1, failed=1)
    assert ElementTree.parse(pytester.path / "a.xml").getroot().get("tests") == "2"


# Each test has a check that does not pass, so each has to fail, however it ends.
ENDS_RED = """
import asyncio, concurrent.futures, threading, unittest
from assay.testing import ContractViolation
def wrong(): assert_within_contract('neg', [x], x)
@pytest.fixture
def checks_at_its_end(assay_gate):
    yield
    assay_gate.assert_within_contract('neg', [x], x)
@pytest.fixture
def skips():
    try: wrong()
    except AssertionError: pytest.skip()
class TestCase(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def gate(self, assay_gate): self.gate = assay_gate
    def fails(self): self.gate.assert_within_contract('neg', [x], x)
    def test_gate(self): self.fails()
    def test_gate_then_skip(self): self.fails(), self.skipTest('')
    def test_gate_then_skip_of_pytest(self): self.fails(), pytest.skip()
    def test_gate_then_xfail(self): self.fails(), pytest.xfail()
    def test_gate_in_a_subtest(self):
        with self.subTest(): self.fails()
    def test_caught_then_skip(self):
        with pytest.raises(AssertionError): wrong()
        raise unittest.SkipTest('')
    @pytest.mark.assay_baseline('loose.json')
    def test_baseline(self): assert_within_contract('softmax', [x], np.nextafter(np.nextafter(softmax(x), 2), 2), attributes={'axis': 1})
    @pytest.mark.assay_baseline('softmax.json')
    def test_baseline_of_nothing(self): pass
    def tearDown(self):
        if 'torn' in self.id(): self.fails()
    def test_torn(self): pass
@pytest.mark.assay_baseline('loose.json')
def test_baseline_then_skip():
    assert_within_contract('softmax', [x], np.nextafter(np.nextafter(softmax(x), 2), 2), attributes={'axis': 1}), pytest.skip()
@pytest.mark.assay_baseline('softmax.json')
def test_baseline_of_what_fails():
    with pytest.raises(AssertionError): wrong()
@pytest.mark.assay_baseline('')
def test_baseline_without_a_name(): assert_within_contract('relu', [x], np.maximum(x, 0))
@pytest.mark.assay_baseline()
def test_baseline_without_a_file(): assert_within_contract('relu', [x], np.maximum(x, 0))
@pytest.mark.assay_baseline('misspelt.json')
def test_baseline_of_another_operation(): assert_within_contract('softmax', [x], softmax(x), attributes={'axis': 1})
def fails(gate): gate.assert_within_contract('neg', [x], x)
def test_gate_then_skip(assay_gate): fails(assay_gate), pytest.skip()
def test_gate_then_skip_of_unittest(assay_gate):
    fails(assay_gate)
    raise unittest.SkipTest('')
def test_gate_then_xfail(assay_gate): fails(assay_gate), pytest.xfail()
def test_gate_then_import(assay_gate): fails(assay_gate), pytest.importorskip('no_such_module')
@pytest.mark.xfail(raises=ValueError)
def test_gate_then_an_expected_error(assay_gate):
    fails(assay_gate)
    raise ValueError
@pytest.mark.xfail(False, reason='')
def test_gate_of_a_condition(assay_gate): fails(assay_gate)
def test_gate_in_a_thread(assay_gate):
    one = threading.Thread(target=fails, args=(assay_gate,))
    one.start(), one.join()
def test_gate_at_the_end_of_a_fixture(checks_at_its_end): pass
def test_gate_at_the_end_of_a_skipped_test(checks_at_its_end): pytest.skip()
def test_gate_in_a_finalizer(assay_gate, request): request.addfinalizer(lambda: fails(assay_gate))
def test_caught_then_skip():
    try: wrong()
    except AssertionError: pytest.skip()
def test_skipped_in_a_fixture(skips): pass
def test_skipped_at_last():
    try: wrong()
    finally: pytest.skip()
@pytest.mark.filterwarnings('ignore')
def test_thread():
    one = threading.Thread(target=wrong)
    one.start(), one.join()
def test_future_that_nobody_asks():
    with concurrent.futures.ThreadPoolExecutor() as pool: pool.submit(wrong)
async def task(): wrong()
async def waits_beside(one):
    kept = asyncio.create_task(one)
    await asyncio.sleep(0.2)
def test_task_that_nobody_awaits(): asyncio.run(waits_beside(task()))
def test_thread_of_a_task(): asyncio.run(waits_beside(asyncio.to_thread(wrong)))
class Late:
    def __del__(self): wrong()
@pytest.mark.filterwarnings('ignore')
def test_finalizer_of_an_object(): Late()
"""
# Here the check is expected to fail, in a way that the pages name, or the test ends well beside it.
ENDS_GREEN = """
import asyncio, concurrent.futures, threading, unittest
from assay.testing import within_contract
def wrong(): assert_within_contract('neg', [x], x)
def right(): assert_within_contract('neg', [x], -x)
def test_raises():
    with pytest.raises(AssertionError): wrong()
def test_except():
    try: wrong()
    except AssertionError: return
    assert False
@pytest.mark.xfail
def test_xfail(): wrong()
@pytest.mark.xfail(strict=True)
def test_gate_and_xfail(assay_gate): assay_gate.assert_within_contract('neg', [x], x)
@pytest.mark.xfail
def test_gate_and_skip_and_xfail(assay_gate): assay_gate.assert_within_contract('neg', [x], x), pytest.skip()
def test_future_that_is_asked():
    with concurrent.futures.ThreadPoolExecutor() as pool, pytest.raises(AssertionError): pool.submit(wrong).result()
def test_calls_that_expect():
    for _ in range(3):
        try: list(map(lambda _: wrong(), range(2)))
        except AssertionError: continue
        assert False
async def awaits(one):
    with pytest.raises(AssertionError): await one
def test_task_that_is_awaited(): asyncio.run(awaits(asyncio.to_thread(wrong)))
def test_thread_that_expects():
    one = threading.Thread(target=test_raises)
    one.start(), one.join()
def test_right_then_skip(assay_gate): right(), assay_gate.assert_within_contract('neg', [x], -x), pytest.skip()
def test_skip(assay_gate): pytest.skip()
@pytest.mark.assay_baseline('softmax.json')
def test_marked_skip(): pytest.skip()
def test_report(): assert within_contract('neg', [x], x).failed
class TestCase(unittest.TestCase):
    @pytest.mark.assay_baseline('softmax.json')
    def test_baseline(self): assert_within_contract('softmax', [x], softmax(x), attributes={'axis': 1})
    @unittest.expectedFailure
    def test_expected(self): wrong()
    def test_raises(self):
        with self.assertRaises(AssertionError): wrong()
"""


def outcomes(pytester, run, text, *options):
    """Of each test the worst word of its reports."""
    baseline = {"schema": "assay.baseline/1", "head_room": {"softmax": 0.0766}}
    for name, shares in (("softmax", baseline), ("loose", {**baseline, "head_room": {"softmax": 0}}), ("misspelt", {**baseline, "head_room": {"sofmax": 0.0766}})):
        (pytester.path / f"{name}.json").write_text(json.dumps(shares))
    result = run(text, "-rA", *options)
    found = {}
    for word, name in re.findall(r"^(FAILED|ERROR|PASSED|SKIPPED|XFAIL|XPASS|SUBFAILED\S*) (?:\[\d+\] )?\S*?(?:::(\S+)|:\d+: .*)", result.stdout.str(), re.M):
        found.setdefault(name, set()).add(word.partition("(")[0])
    return found, result


def test_a_check_that_failed_fails_its_test_however_it_ends(run, pytester):
    found, result = outcomes(pytester, run, ENDS_RED)
    names = {f"TestCase::{name}" if line.startswith(" ") else name for line in ENDS_RED.splitlines() for name in re.findall(r"^ *def (test_\w+)", line)}
    green = {name for name in names if not found.get(name, set()) & {"FAILED", "ERROR", "SUBFAILED"}}
    assert not green and result.ret == 1, green
    assert "skipped after a check in it that did not pass: contract.neg: 12 of 12 elements of 'y' are outside their contract." in result.stdout.str()


def test_a_check_that_is_expected_to_fail_fails_nothing(run, pytester):
    found, result = outcomes(pytester, run, ENDS_GREEN, "--assay-junit=a.xml")
    assert not {name for name, words in found.items() if words & {"FAILED", "ERROR"}} and result.ret == 0
    result.assert_outcomes(passed=9, skipped=3, xfailed=4)
    assert ElementTree.parse(pytester.path / "a.xml").getroot().get("failures") == "1"  # of the test that asks for a report


@pytest.mark.parametrize("text, words", [
    ("def test_ends(assay_gate):\n    assay_gate.assert_within_contract('neg', [x], x)\n    pytest.exit('', returncode=0)\n", "a check by assay_gate of test_one.py::test_ends did not pass"),
    ("def test_ends():\n    with pytest.raises(AssertionError): assert_within_contract('neg', [x], x)\n    pytest.exit('', returncode=0)\n", "a check of test_one.py::test_ends did not pass"),
    ("try: assert_within_contract('neg', [x], x)\nexcept AssertionError: pytest.skip('', allow_module_level=True)\n", "the file was skipped after a check in it that did not pass"),
    ("KEPT = []\ndef test_one(assay_gate): KEPT.append(assay_gate)\ndef test_two(): KEPT[0].assert_within_contract('neg', [x], x)\n", "a check by assay_gate of test_one.py::test_one did not pass")])
def test_a_check_beside_the_tests_fails_the_session(run, text, words):
    result = run(text)
    assert result.ret not in (0, 5) and words in result.stdout.str()


def test_options_that_would_do_nothing_are_refused(run):
    for options, words in ((("-p", "no:assay-session"), "would let tests pass whose checks fail"), (("--assay-baseline=",), "--assay-baseline has an empty value"),
                           (("--assay-waivers", ""), "--assay-waivers has an empty value"), (("--assay-today=2027-01-31",), "the session has no waivers"),
                           (("--assay-junit=o", "--assay-sarif=./o"), "--assay-sarif would write ./o, which is the file of --assay-junit"),
                           (("--assay-junit=o", "--junitxml=o"), "--junitxml would write o, which is the file of --assay-junit"),
                           (("--assay-baseline=o", "--assay-sarif=o"), "--assay-sarif would write o, which is the file of --assay-baseline")):
        result = run(RIGHT, *options)
        assert result.ret == 4 and words in result.stderr.str() + result.stdout.str()


def test_the_last_try_counts_if_it_was_judged(run):
    """Plugins that run tests again write a report for each try, and only the last one counts."""
    again = """
from _pytest.runner import runtestprotocol
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for reports in (runtestprotocol(item, nextitem=nextitem, log=False) for _ in range(2)):
        pass
    for report in reports: item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
    result = run("""
from conftest import *
TRIES = {}
def test_gate_once(assay_gate):
    if TRIES.setdefault('gate', True): assay_gate.assert_within_contract('neg', [x], x)
    TRIES['gate'] = False
def test_check_once():
    is_first, TRIES['check'] = TRIES.get('check', True), False
    if is_first: assert_within_contract('neg', [x], x)
def test_mends_itself():
    is_first, TRIES['mends'] = TRIES.get('mends', True), False
    assert_within_contract('neg', [x], x if is_first else -x)
def test_fails_otherwise():
    is_first, TRIES['other'] = TRIES.get('other', True), False
    assert_within_contract('neg', [x], -x) if is_first else None
    assert not is_first
""", conftest="import pytest\n" + again)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*FAILED test_one.py::test_gate_once*", "*FAILED test_one.py::test_check_once*"])
    assert "made fewer checks then (0 in place of 1)" in result.stdout.str()


def hooks():
    yaml = pytest.importorskip("yaml")
    return {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def hook(name, *files):
    """As pre-commit does: the entry with the files behind it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    entry = shlex.split(hooks()[name]["entry"])
    return subprocess.run([sys.executable, *entry[1:], *map(str, files)], capture_output=True, text=True, env=environment, check=False, timeout=120)


def test_the_hooks_run(tmp_path):
    digits = ROOT / "examples/digits/digits.onnx"
    assert hook("assay-lint", digits, digits).returncode == 0
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    done = hook("assay-lint", digits, tmp_path / "broken.onnx")
    assert done.returncode != 0 and "broken.onnx: assay lint ended with status" in done.stdout
    np = pytest.importorskip("numpy")
    from assay._core.audits import trace_of
    from assay.testing import check

    x = np.linspace(-2, 2, 8, dtype=np.float32)
    for name, y in (("right", np.maximum(x, 0)), ("wrong", x)):
        (tmp_path / f"{name}.trace.safetensors").write_bytes(trace_of([check("relu", [x], y)]))
    assert hook("assay-audit", tmp_path / "right.trace.safetensors").returncode == 0
    done = hook("assay-audit", tmp_path / "right.trace.safetensors", tmp_path / "wrong.trace.safetensors")
    assert done.returncode == 1 and "contract.relu" in done.stdout
    assert hook("assay-gradcheck", tmp_path / "broken.onnx").returncode == 4


def test_hooks_fail_where_nothing_was_checked(tmp_path, monkeypatch, capsys):
    """A program that a signal ends has a status below 0, which is no success."""
    from assay import pre_commit

    (tmp_path / "killed").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "killed").chmod(0o755)
    monkeypatch.setattr(pre_commit, "program", lambda: str(tmp_path / "killed"))
    assert pre_commit.main(["audit", "one.trace", "two.trace"]) == 137 and "ended with status -9" in capsys.readouterr().out
    for files in ([], ["-one.trace"]):
        assert pre_commit.main(["audit", *files]) == 2 and "nothing was checked" in capsys.readouterr().err


def test_hooks_are_well_formed():
    import re
    for one in hooks().values():
        assert one["language"] == "python" and one["name"] and one["description"]
        re.compile(one["files"])
    assert re.search(hooks()["assay-lint"]["files"], "a/b.onnx.gz") and not re.search(hooks()["assay-lint"]["files"], "a.onnx.txt")


def test_the_workflow_runs_options_that_exist():
    yaml = pytest.importorskip("yaml")
    from assay import pytest_plugin

    workflow = yaml.safe_load((ROOT / "examples/ci/kernels.yml").read_text())
    steps = workflow["jobs"]["contracts"]["steps"]
    command = next(step["run"] for step in steps if "pytest --" in step.get("run", ""))
    added = []
    group = type("Group", (), {"addoption": lambda self, name, **_: added.append(name)})
    pytest_plugin.pytest_addoption(type("Parser", (), {"getgroup": lambda self, *_: group()})())
    assert {word.partition("=")[0] for word in shlex.split(command) if word.startswith("--")} <= set(added)
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert upload["with"]["sarif_file"] in command and "always()" in upload["if"]
    assert workflow["permissions"]["security-events"] == "write"
