"""Reports of recorded runs and of checks: what both say in the same words, how an error opens, and ends that are no verdict."""
from __future__ import annotations

import json
import os
import re
import stat
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import assay  # noqa: E402
import assay.torch  # noqa: E402
from assay._core import programs  # noqa: E402
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.testing import within_contract  # noqa: E402


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 4 * g * ctx.saved_tensors[0]


def opaque(x):
    return torch.special.i0(x)


def report_of(function, *inputs):
    with assay.torch.record() as run:
        function(*[one.requires_grad_() for one in inputs]).sum().backward()
    return assay.torch.judge(run)


@pytest.mark.parametrize("wrong", [False, True])
def test_reports_of_both_kinds_have_one_interface(wrong):
    x = np.linspace(-1, 1, 6, dtype=np.float32)
    reports = [report_of(Doubled.apply if wrong else torch.square, torch.from_numpy(x.copy())), within_contract("neg", [x], x if wrong else -x)]
    for report in reports:
        assert (report.passed, report.failed, report.undecided) == (not wrong, wrong, False)
        assert set(report.counts) == {"passed", "failed", "vacuous", "unsupported"} and (report.counts["failed"] > 0) == wrong
        assert all(report.count(word) == number for word, number in report.counts.items())
        assert report.verdict == ("failed" if wrong else "passed") and report.summary().startswith(report.verdict)
        assert repr(report).startswith("<Report ") and len(repr(report)) < 120 and report.summary() in repr(report)


def plain(report):
    """The JSON without times."""
    return re.sub(r'("(?:cpu_)?seconds": )[^,]*', r"\1", json.dumps(report))


def test_findings_have_types_and_the_json_is_the_programs():
    report = report_of(Doubled.apply, torch.linspace(-1, 1, 6))
    _, written, _ = programs.gate("gradcheck", report.trace)
    place = rf"; the backward of Doubled stands at [^\"]*{os.path.basename(__file__)}:{Doubled.backward.__code__.co_firstlineno + 1}"
    assert re.sub(place, "", plain(report.json)) == plain(written) and report.json["cases"]
    entry = report.findings[0]
    assert isinstance(entry, assay.testing.Finding) and (entry.kind, entry.rule) == ("fail", "gradient.product")
    assert entry.case == next(one["name"] for one in written["cases"] if one["findings"]) and entry.to_json() in report.json["cases"][-1]["findings"]
    assert entry["rule"] == entry.rule and entry["case"] == entry.case  # as dicts had it
    with pytest.raises(KeyError):
        entry["rules"]
    with pytest.raises(assay.GradcheckError) as caught:  # what is found after the program wrote its report is in both
        assay.gradcheck(Doubled.apply, torch.linspace(-1, 1, 6).requires_grad_())
    told = caught.value.report
    assert told.findings[0].opening in json.dumps(told.json) and "stands at" in told.findings[0].opening


def test_undecided_is_not_failed():
    report = report_of(opaque, torch.ones(3))
    assert report.counts["failed"] == 0
    assert report.undecided and not report.failed and not report.passed and report.verdict == "undecided"
    with pytest.raises(assay.GradcheckError) as raised:
        assay.gradcheck(opaque, [(3,)])
    assert raised.value.undecided and not raised.value.failed and str(raised.value).startswith("undecided: ")
    x = np.float32([1.0])
    nothing = within_contract("max_weight", [x], x, attributes={"axes": [0], "keep_dims": True})
    assert nothing.failed + nothing.undecided + nothing.passed == 1


def test_an_error_opens_with_the_finding():
    with pytest.raises(assay.GradcheckError) as raised:
        assay.gradcheck(Doubled.apply, [(4, 3)])
    first, second = str(raised.value).splitlines()[:2]
    assert first.startswith("failed: the cotangent of 'input 0' at [") and "twice the derivative" in first
    assert first.endswith("(region 0 (Doubled), vjp of mul) [gradient.product]") and second.startswith("    at this element 'input 0'[")
    assert raised.value.failed and "sha256" not in str(raised.value)


def program(tmp_path, monkeypatch, text):
    path = tmp_path / "assay"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("ASSAY_PROGRAMS", os.fspath(tmp_path))


REFUSAL = """for one; do case "$one" in --json=*) echo '{"exit": 4, "rejection": {"kind": "malformed", "code": "graph.dtype", "place": "'$2', region 3", "required": "float",
"found": "bool", "advice": ""}}' > "${one#--json=}";; esac; done; exit 4
"""


@pytest.mark.parametrize("text, kind, words", [(REFUSAL, assay.MalformedInput, "malformed input at the recorded run, region 3: expected float, found bool"),
                                               ("echo internal error: lift; exit 70\n", assay.InternalError, "with status 70"),
                                               ("kill -SEGV $$\n", assay.InternalError, "with status -11"),
                                               ("echo unknown option: --fast >&2; exit 2\n", assay.UsageError, "unknown option: --fast")])
def test_an_end_without_a_verdict_is_an_error_of_its_own(tmp_path, monkeypatch, text, kind, words):
    program(tmp_path, monkeypatch, text)
    for call in (lambda: assay.gradcheck(torch.tanh, [(2,)]), lambda: assay.gradcheck(torch.tanh, [(2,)], raise_exception=False), lambda: report_of(torch.tanh, torch.ones(2))):
        with pytest.raises(kind) as raised:
            call()
        assert not isinstance(raised.value, assay.GradcheckError) and words in str(raised.value) and "/tmp" not in str(raised.value)


def test_cases_of_one_cause_are_one_failure_in_junit():
    """With their number; the others are skipped, and name the first. Cases of other operations, tests and places are their own."""
    from xml.etree import ElementTree

    from assay._core.gate_reports import Case, Finding, Report
    cases = [Case(f"region {i}", "mul", "binary32", failed=1, findings=[Finding("fail", "contract.mul", "y", "wrong")]) for i in range(80)]
    cases += [Case("region 80", "div", "binary32", failed=1, findings=[Finding("fail", "contract.div", "y", "wrong")]),
              Case("region 81", "mul", "binary32", failed=1, owner="another test", findings=[Finding("fail", "contract.mul", "y", "wrong")])]
    root = ElementTree.fromstring(Report(cases).junit().split("\n", 1)[1])
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["skipped"]) == ("82", "3", "79")
    assert [one.attrib["message"] for one in root.iter("failure")] == ["wrong (80 test cases fail by this rule and operation; the others are skipped)", "wrong", "wrong"]
    assert {one.attrib["message"] for one in root.iter("skipped")} == {"fails by the same cause as region 0, contract.mul"}


class Corner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.relu(x)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return torch.where(x > 0, g, torch.where(x < 0, 0 * g, 2 * g + x))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * torch.where(x == 3, 2 * x, 2 * x + (x - 3) * (x - 4))


def test_both_lines_of_a_finding_name_one_element():
    """At a kink the first line says what was delivered and what is admitted; of an entry of the Jacobian both say where."""
    report = report_of(lambda x: Corner.apply(x * 1.0) * torch.tensor([1.0, 2, 3, 4, 5]), torch.tensor([1.0, -1, 2, 0, 0]))
    kink = next(one for one in report.findings if one.rule == "gradient.kink")
    assert kink.opening.startswith("the cotangent of 'mul' at [3], which is at a kink: recorded 8, admitted is a cotangent in [0, 4]"), kink
    report = report_of(lambda x: Doubled.apply(x * 1.0), torch.randn(4))
    entry = next(one for one in report.findings if one.rule == "gradient.product")
    place = entry.message.split(" by 'mul'")[1].split(" ")[0]
    assert entry.opening.startswith(f"the cotangent of 'mul' at {place}: recorded") and "are different functions: " in entry.message
    assert "residue" not in report.text and "modulo" not in report.text and " gives " in entry.source["exact"]


def test_a_wrong_element_is_told_once_with_its_numbers_in_decimals():
    """Of several operands the pattern is printed once; no fraction and no residue stands in the text."""
    with pytest.raises(assay.GradcheckError) as raised:
        assay.gradcheck(Cut.apply, [(4, 3), (4, 3)])
    text = str(raised.value)
    lines = [line.strip() for line in text.splitlines()]
    assert len(lines) == len(set(lines)) and "wrong at the same indices as the cotangent above" in lines
    assert re.search(r"at this element 'input 0'\[\d, \d\] = \S+, 'input 1'\[\d, \d\] = \S+; the incoming cotangent\[\d\] = ", text), text
    assert re.search(r" by 'input 0'\[\d, \d\] is -?0\.333, and the recorded product gives -?0\.167$", text, re.MULTILINE), text


class Cut(torch.autograd.Function):
    """The mean of smooth absolute values of differences, whose backward halves the slope beyond 1."""

    @staticmethod
    def forward(ctx, x, t):
        ctx.save_for_backward(x - t)
        d = x - t
        return torch.where(d.abs() < 1, 0.5 * d * d, d.abs() - 0.5).mean(1)

    @staticmethod
    def backward(ctx, g):
        d, = ctx.saved_tensors
        slope = g[:, None] * torch.where(d.abs() < 1, d, d.sign() * 0.5) / d.shape[1]
        return slope, -slope


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)

    def forward(self, x):
        return Doubled.apply(self.first(x))


def test_a_step_says_findings_first_and_the_verdict_last():
    torch.manual_seed(0)
    model, x = Layer(), torch.randn(4, 3)
    report = assay.torch.step(model, lambda: model(x).sum(), torch.optim.SGD(model.parameters(), lr=0.1))
    lines = report.text.splitlines()
    assert re.match(r"fail  region \d+ \(Doubled\)", lines[0]) and lines[-1].startswith("failed: ") and report.exit_code == 1
    assert "the backward of Doubled stands at " in lines[1] and "sha256: " not in "".join(lines[:4])
    assert sum(line.startswith("detached: ") for line in lines) == 0  # nothing was cut by the program
    with pytest.raises(GradcheckError, match="^failed: the cotangent of 'first.addmm' at ") as raised:
        assay.torch.check_step(model, lambda: model(x).sum())
    assert raised.value.failed and "sha256" not in str(raised.value)
    right = torch.nn.Linear(3, 2)
    assert assay.torch.check_step(right, lambda: right(x).sum()).passed


def test_an_undecided_step_says_so_in_its_last_line():
    model, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    report = assay.torch.step(model, lambda: (model(x).detach() * model.bias).sum())
    assert report.undecided and report.exit_code == 3 and report.text.splitlines()[-1].startswith("undecided: "), report.text
    assert report.text.startswith("undecided  gradient of 'weight'"), report.text


def test_gradcheck_calls_parameters_as_their_module_does():
    torch.manual_seed(0)
    model = Layer()

    def loss(x):
        return model(x * 1.0)
    for params in (None, model, model.parameters(), model.named_parameters(), dict(model.named_parameters())):
        with pytest.raises(GradcheckError, match="the cotangent of 'first.addmm' at") as raised:
            assay.gradcheck(loss, [(4, 3)], params=params)
        assert b"first.weight" in raised.value.report.trace and b"parameter 0" not in raised.value.report.trace
    with pytest.raises(assay.errors.UsageError, match="a module, tensors, or tensors by name"):
        assay.gradcheck(loss, [(4, 3)], params=[("a", 1)])


def test_the_program_takes_the_same_waivers(tmp_path):
    from assay.testing._waivers import Waiver

    model, x = torch.nn.Sequential(Layer()), torch.full((4, 3), 3.0)
    report = assay.torch.step(model, lambda: model(x).sum())
    (tmp_path / "step.trace.safetensors").write_bytes(report.trace)
    case, finding = next((case, one) for case in report.cases for one in case.findings if one.kind == "fail")
    for op, tensor, covers in (("Doubled", "0.first.addmm", True), ("0.Doubled", "0.first.addmm", True), ("oubled", "0.first.addmm", False), ("Doubled", "first.addmm", False), ("vjp-of_mul", "0.first.addmm", True)):
        fields = {"id": "W1", "rule": "gradient.product", "reason": "known", "owner": "us", "expires": "2999-01-01", "op": op, "tensor": tensor}
        (tmp_path / "w.json").write_text(json.dumps({"waivers": [fields]}))
        done = subprocess.run([programs.program(), "gradcheck", tmp_path / "step.trace.safetensors", "--waivers", tmp_path / "w.json"], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == covers == Waiver(**fields).covers(case, finding), done.stdout


class ItemScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.scale = x.abs().max().item()
        return x * ctx.scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale


def test_a_number_that_a_function_computes_with_is_told_with_its_line_and_waived_by_its_name(tmp_path):
    """In a Function, "its gradient is missing" would say nothing: its own backward may be right."""
    from assay.testing._waivers import Waiver
    from assay.torch.gates import _place_of_case

    with pytest.raises(GradcheckError) as raised:
        gradcheck(lambda x: ItemScale.apply(x * 1.0), [(4, 3)])
    line, text = ItemScale.forward.__code__.co_firstlineno + 2, str(raised.value)
    assert text.startswith(f"undecided: test_torch_reports.py:{line}: item() took 'max' out of the graph, and ItemScale used the number in Python.")
    assert "(opaque (backward of ItemScale), opaque) [audit.opaque]" in text.splitlines()[0] and "(most_undecided= of gradcheck" in text
    report = raised.value.report
    case, finding = next((case, one) for case in report.cases for one in case.findings)
    assert _place_of_case(case, ItemScale.apply) == (__file__, line)
    fields = {"id": "W1", "rule": "audit.opaque", "reason": "known", "owner": "us", "expires": "2999-01-01", "op": "ItemScale"}
    (tmp_path / "w.json").write_text(json.dumps({"waivers": [fields]}))
    (tmp_path / "t").write_bytes(report.trace)
    done = subprocess.run([programs.program(), "gradcheck", tmp_path / "t", "--waivers", tmp_path / "w.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and Waiver(**fields).covers(case, finding) and not Waiver(**{**fields, "op": "Scale"}).covers(case, finding), done.stdout


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(s := torch.sigmoid(x))
        return x * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_a_wrong_product_says_where_and_of_which_result():
    """Of a Function with several inner results the one that the cotangent belongs to; a gradient that is wrong everywhere says so."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    report = assay.torch.step(model, lambda: Swish.apply(model(torch.ones(2, 3))).square().sum())
    text = report.text
    assert "the derivative of 'mul'[0, 0] by '0.addmm'[0, 0] is" in text and "the derivative of 'sigmoid'" not in text and "wrong, every element fails" in text, text


TARGET, BATCH = torch.ones(4, 3), {"x": torch.full((4, 3), 2.0)}


def test_tensors_have_the_names_of_variables_and_others_say_where_they_are_read():
    model, x = torch.nn.Linear(3, 3), torch.full((4, 3), 3.0)
    for _ in range(2):
        report = assay.torch.step(model, lambda: (model(x) - TARGET + BATCH["x"] * torch.full((4, 3), 2.0)).square().sum())
    assert report.passed and all(one in report.trace for one in (b'"x"', b'"TARGET"', b'"BATCH[x]"', b'"gradient of weight before"')) and b"constant (" not in report.trace
    with pytest.raises(GradcheckError, match="the cotangent of 'input 0' at") as found:
        gradcheck(lambda x: Doubled.apply(x) * TARGET, torch.ones(4, 3, requires_grad=True) * 2)  # no leaf
    assert b'"TARGET"' in found.value.report.trace
    y = torch.ones(3, requires_grad=True)
    with assay.torch.record({"y": y}) as run:
        (y * x[0]).sum().backward()
    assert b'"constant (operand 0 of select at test_torch_reports.py:' in assay.torch.judge(run).trace


@pytest.mark.parametrize("loss, words", [
    (lambda model: None, "the loss returned None"), (lambda model: 3.0, "the loss returned a float"), (lambda model: torch.ones(()), "the loss returned a tensor that depends on no parameter"),
    (lambda model: model(torch.ones(2, 3)), r"the loss returned a tensor of shape .2, 3.")])
def test_a_loss_without_a_tensor_to_begin_at_is_refused(loss, words):
    model = torch.nn.Linear(3, 3)
    for check in (assay.torch.step, assay.torch.check_step):
        with pytest.raises(assay.errors.UsageError, match=f"^{words} at loss; return a tensor of one element"):
            check(model, lambda: loss(model))
    with pytest.raises(assay.errors.UsageError, match="^the function returned None at func; return a tensor"):
        gradcheck(lambda x: None, [(4, 3)])


def test_help_of_record_is_short():
    import pydoc
    assert len(pydoc.render_doc(assay.torch.record).splitlines()) < 30


def test_a_shape_where_integers_are_wanted_is_told():
    with pytest.raises(assay.errors.UsageError, match="as a tensor in place of their shape"):
        assay.gradcheck(torch.nn.functional.cross_entropy, [(5, 6), (5,)])


class Shifted(torch.autograd.Function):
    """The square, whose product is wrong by little, beside large numbers."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * (2 * x + torch.tensor([2**-7, 0.0]))


def test_a_small_number_that_is_wrong_is_not_called_right():
    """All numbers are alike by the size of the largest one: what is said of one element is compared by its own."""
    report = report_of(lambda x: Shifted.apply(x * 1.0), torch.tensor([0.5, 100.0]))
    entry = next(one for one in report.findings if one.rule == "gradient.product")
    assert "the derivative at the recorded point gives 1; at other points" in entry.opening and "recorded 1.01," in entry.opening, entry


def test_numbers_that_are_right_at_the_recorded_point_are_told():
    report = report_of(lambda x: Square.apply(x * 1.0), torch.tensor([3.0, 4.0]))
    entry = next(one for one in report.findings if one.rule == "gradient.product")
    assert "which is also the derivative at the recorded point; at other points" in entry.opening, entry


class Scaled(torch.autograd.Function):
    """x * w, whose backward returns None for w."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


def test_a_number_that_is_detached_outside_of_a_function_is_a_constant_of_it():
    """Whatever was detached last: the number, or the tensor that it was computed from. A Function that detaches by itself still owes the gradient."""
    class Own(Scaled):
        @staticmethod
        def forward(ctx, x):
            return Scaled.forward(ctx, x, x.abs().max().detach())

        @staticmethod
        def backward(ctx, g):
            return Scaled.backward(ctx, g)[0]
    assert gradcheck(lambda x: Scaled.apply(x, x.abs().max().detach()), [(4, 3)])
    assert gradcheck(lambda x: Scaled.apply(x, x.detach().abs().max()), [(4, 3)])
    with pytest.raises(GradcheckError, match="^failed: "):
        gradcheck(Own.apply, [(4, 3)])


@pytest.mark.parametrize("function, of", [(Scaled.apply, "it"), (lambda x, w: Scaled.apply(x, w.exp()), "'exp', which depends on it")])
def test_a_function_that_returns_none_for_a_gradient_is_named(function, of) -> None:
    with pytest.raises(GradcheckError) as wrong:
        gradcheck(function, [(3,), (3,)])
    assert f"'input 1' has no gradient: the backward of Scaled returned None for {of}. Return the gradient there" in str(wrong.value)
    assert "cut off by detach" not in str(wrong.value)
    with pytest.raises(GradcheckError, match="'input 1' has no gradient: what depends on it is cut off by detach"):
        gradcheck(lambda x, w: x * w.detach(), [(3,), (3,)])
    assert gradcheck(function, [torch.randn(3, requires_grad=True), torch.randn(3)])
