"""verify and check: answers, certificates, witnesses, and how runs end."""
import hashlib
import json
import os
import pickle
import subprocess
import textwrap
import threading
import time
from decimal import Decimal
from fractions import Fraction

import pytest

import assay
import conftest
from assay._core import programs
from conftest import DIGITS, ROOT


def test_unsat_has_a_certificate_that_the_kernel_accepts(digits):
    result = assay.verify(digits, DIGITS / "digits_holds.vnnlib", timeout=60)
    assert result.answer == "unsat" and result.sentence.startswith("property HOLDS") and result.witness is None and result.outputs is None
    assert result.certificate.startswith(b"ASSAY")
    assert result.digests[f"model {digits}"] == hashlib.sha256(digits.read_bytes()).hexdigest()
    for exact in (False, True):
        check = result.check(exact=exact)
        assert check and check.verdict == "accepted" and check.proves == "unsat" and check.why is None
        assert check.statement == result.statement and "real arithmetic" in check.theorem
    assert result.theorem == check.theorem
    assert "unsat" in repr(result) and "<table>" in result._repr_html_() and str(result).startswith("unsat\nproperty HOLDS")


@pytest.mark.parametrize("assertion, why", [("(assert (<= X_0 -9))", "the input box of the property is empty"),
                                            ("(assert (and (<= Y_0 -9) (>= Y_0 9)))", "the property's assertions contradict each other, whatever the network computes")])
def test_a_vacuous_answer_says_so(digits, assertion, why):
    result = assay.verify(digits, (DIGITS / "digits_holds.vnnlib").read_text() + assertion)
    check = result.check()
    assert (result.answer, result.vacuous, result.vacuous_since) == ("unsat", True, why) and (check.vacuous, check.vacuous_since) == (True, why)
    assert f"Result(unsat, vacuous: {why}, certificate" in repr(result) and f"proves unsat, vacuous: {why})" in repr(check)
    assert f"HOLDS VACUOUSLY: {why}" in str(result) and str(check).split("\n")[:2] == ["accepted", f"vacuous: {why}"]
    plain = assay.verify(digits, DIGITS / "digits_holds.vnnlib")
    assert plain.vacuous is False and plain.vacuous_since == "" and "vacuous" not in repr(plain) + repr(plain.check()) + str(plain)


def test_an_answer_that_is_expected(digits, hard):
    """expect= is --expect: the other answer and a vacuous one are rejected, no answer is undecided; both have the result."""
    holds = DIGITS / "digits_holds.vnnlib"
    assert assay.verify(digits, holds, expect="unsat").answer == "unsat"
    with pytest.raises(assay.Rejected, match=r"^unsat was expected at verify: the answer is sat, since an input violates the property: X_0 = .*; "
                       "the exception's `result.witness` is this input"):
        assay.verify(digits, DIGITS / "digits_fails.vnnlib", expect="unsat")
    with pytest.raises(assay.Rejected, match="sat was expected at verify: the answer is unsat, since no input of the box violates the property") as other:
        assay.verify(digits, holds, expect="sat")
    assert other.value.result.certificate.startswith(b"ASSAY") and other.value.code == "verify.expect"
    empty = holds.read_text() + "(assert (<= X_0 -9))"
    with pytest.raises(assay.Rejected, match="vacuous, since the input box of the property is empty; mend the property"):
        assay.verify(digits, empty, expect="unsat")
    assert assay.verify(digits, empty, expect="unsat", allow_vacuous=True).vacuous
    with pytest.raises(assay.Undecided, match="unsat was expected.*: the limit of 1 s ended the search; try assay.verify") as open_:
        assay.verify(*hard, expect="unsat", timeout=1)
    assert open_.value.result.answer == "timed-out"
    with pytest.raises(assay.UsageError, match="expect"):
        assay.verify(digits, holds, expect="unknown")


def test_sat_has_an_exact_witness_inside_the_box(digits, eight):
    numpy = pytest.importorskip("numpy")
    result = assay.verify(digits, DIGITS / "digits_fails.vnnlib", timeout=60)
    assert result.answer == "sat" and result.check().proves == "sat"
    exact = result.exact_witness["image"]
    assert len(exact) == 64 and all(isinstance(value, Fraction) for value in exact)
    assert all(Fraction(lo) - Fraction(1, 10**6) <= value <= Fraction(hi) + Fraction(1, 10**6) for value, (lo, hi) in zip(exact, eight))
    assert result.witness["image"].shape == (1, 64) and result.witness["image"].dtype == numpy.float64
    assert [Fraction(value) for value in result.witness["image"].ravel()] == [Fraction(float(value)) for value in exact]
    lo, hi = result.outputs["scores"]
    enclosed = assay.evaluate(digits, result.witness).outputs["scores"]
    assert (lo <= hi).all() and (enclosed.lo <= hi).all() and (lo <= enclosed.hi).all()
    assert lo[0].argmax() != 8


def test_the_package_and_the_program_make_the_same_statement(digits, tmp_path):
    result = assay.verify(digits, DIGITS / "digits_holds.vnnlib", proof=tmp_path / "p.assay")
    report = tmp_path / "report.json"
    subprocess.run([programs.program(), "verify", str(digits), str(DIGITS / "digits_holds.vnnlib"), "-q", f"--json={report}"], check=True,
                   capture_output=True)
    assert json.loads(report.read_text())["statement"]["digest"] == result.digests["statement"]
    done = subprocess.run([programs.program("assay-check"), str(digits), str(DIGITS / "digits_holds.vnnlib"), str(tmp_path / "p.assay")],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("accepted")
    assert (tmp_path / "p.assay").read_bytes() == result.certificate


def test_every_form_of_a_model_means_the_same(digits):
    text = (DIGITS / "digits_holds.vnnlib").read_text()
    digest = assay.statement(digits, DIGITS / "digits_holds.vnnlib").digests["statement"]
    for model in (str(digits), digits.read_bytes(), memoryview(digits.read_bytes())):
        for question in (text, text.encode()):
            found = assay.statement(model, question)
            assert found.digests["statement"] == digest and "/tmp" not in found.text.replace(str(digits), "")


def test_a_model_proto(digits):
    onnx = pytest.importorskip("onnx")
    assert assay.lint(onnx.load(digits)) == []


def test_a_torch_module():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(8, 2)).train()
    property = [assay.Box([0, 0, 0], "1e-9"), assay.Robust(int(model.eval()(torch.zeros(1, 3)).argmax()))]
    model.train()
    result = assay.verify(model, property, example_inputs=torch.zeros(1, 3))
    assert result.answer == "unsat" and result.check()
    assert model.training and model[1].training
    with pytest.raises(assay.UsageError, match="example_inputs"):
        assay.verify(model, property)


def test_properties_as_objects(digits, eight):
    middle = [(Fraction(str(lo)) + Fraction(str(hi))) / 2 for lo, hi in eight]
    small = [assay.Box(middle, "0.01"), assay.Robust(8)]
    result = assay.verify(digits, small)
    assert result.answer == "unsat" and result.check()
    assert assay.verify(digits, [assay.Box(middle, "0.01"), assay.Robust(3)]).answer == "sat"
    rows = [[1 if j == 8 else -1 if j == k else 0 for j in range(10)] for k in range(10) if k != 8]
    assert assay.verify(digits, [assay.Box(middle, "0.01"), assay.Linear(rows, at_least="1e-9")]).answer == "unsat"
    assert assay.verify(digits, [assay.Box(middle, "0.01"), assay.Linear(rows, at_most=0)]).answer == "sat"
    both = [assay.Box(middle, "0.01"), assay.Robust(8), assay.Linear(rows, at_least=0, at_most=10**6)]
    assert assay.verify(digits, both).answer == "unsat"


def test_numbers_are_exact(digits):
    text = assay.statement(digits, [assay.Box([0.1] * 64, 0), assay.Robust(0)]).text
    assert "X_0 in [0.1000000000000000055511151231257827021181583404541015625, 0.1000000000000000055511151231257827021181583404541015625]" in text
    assert "X_0 in [0.1, 0.1]\n" in assay.statement(digits, [assay.Box(["0.1"] * 64, 0), assay.Robust(0)]).text
    clipped = assay.Box(["0.95"] * 64, "0.125", clip=(0, 1))
    assert clipped.hi[0] == 1 and clipped.lo[0] == Fraction(33, 40)
    third = assay.statement(digits, [assay.Box([Fraction(1, 3)] * 64, "2/255"), assay.Linear([Fraction(1, 7)] * 10, at_most=Fraction(5, 3))]).text
    assert "X_0 in [83/255, 29/85]\n" in third and "3 Y_9 > 35\n" in third


def statement_of(digits, *parts):
    return assay.statement(digits, list(parts)).digests["statement"]


def test_numbers_of_every_kind_are_the_same_numbers(digits):
    numpy = pytest.importorskip("numpy")
    grey, middle = [0.5] * 64, statement_of(digits, assay.Box([0.5] * 64, "1/8"), assay.Robust(0))
    half = [numpy.full(64, 0.5, numpy.float32), numpy.full((1, 64), 0.5), [numpy.float32(0.5)] * 64, [Fraction(1, 2)] * 64, [Decimal("0.5")] * 64, ["1/2"] * 64, ["5e-1"] * 64]
    radii = [0.125, "1/8", "0.125", ".25/2", Fraction(1, 8), Decimal("0.125"), numpy.float16(0.125), numpy.array(0.125), [numpy.float64(0.125)] * 64]
    assert {statement_of(digits, assay.Box(center, "1/8"), assay.Robust(0)) for center in half} == {middle}
    assert {statement_of(digits, assay.Box(grey, radius), assay.Robust(numpy.int64(0))) for radius in radii} == {middle}
    ends = {statement_of(digits, assay.Box(lo=[lo] * 64, hi=hi), assay.Robust(0)) for lo, hi in (("3/8", "5/8"), (Fraction(3, 8), Decimal("0.625")), (0.375, 0.625))}
    assert ends == {middle}
    rows = numpy.eye(10)[:3] - numpy.eye(10)[3:6]
    box = assay.Box(grey, "1/8")
    linear = statement_of(digits, box, assay.Linear(rows.tolist(), at_most=[1, 2, 3]))
    for same in (rows, list(rows), [list(row) for row in rows], tuple(rows.astype(numpy.float32)), [[Fraction(c) for c in row] for row in rows], rows.astype(int)):
        for bounds in ([1, 2, 3], numpy.arange(1, 4), ["1", Decimal(2), Fraction(3)]):
            assert statement_of(digits, box, assay.Linear(same, at_most=bounds)) == linear
    for wrong in ([rows[0], rows[1][:9]], [rows, rows[0]], "1/0", [["1/x"] * 10], [float("nan")] * 10, [Decimal("inf")] * 10, numpy.array(["a"] * 10), "1/2/3"):
        with pytest.raises(assay.UsageError):
            statement_of(digits, box, assay.Linear(wrong, at_most=1))


def test_bounds_that_no_decimal_is_are_exact(digits):
    """1/3 and 2/255 stand in the statement as they are: proofs and points are about these very numbers."""
    box = [assay.Box([Fraction(1, 3)] * 64, "2/255", clip=("1/7", Decimal("0.9")))]
    box[0].lo[0], box[0].hi[0] = Fraction(1, 3), Fraction(1, 3)
    result = assay.verify(digits, box + [assay.Linear([Fraction(1, 3)] * 10, at_most=Fraction(-10**6, 7))])
    assert result.answer == "sat" and result.exact_witness["image"][0] == Fraction(1, 3) and result.check()
    assert all(Fraction(83, 255) <= value <= Fraction(29, 85) for value in result.exact_witness["image"])


def test_semantics(digits, eight):
    property = [assay.Box([(lo + hi) / 2 for lo, hi in eight], 0.001), assay.Robust(8)]
    result = assay.verify(digits, property, semantics="float32")
    assert result.answer == "unsat" and "binary32" in result.semantics and result.check()
    about_reals = assay.check(digits.read_bytes(), property, result.certificate)  # the theorem says what it is about
    assert "binary32" in result.check().theorem and "binary32" not in about_reals.theorem and about_reals.digests["statement"] != result.digests["statement"]


def test_a_statement_in_place_of_the_files(digits):
    result = assay.verify(digits, DIGITS / "digits_holds.vnnlib")
    statement = assay.statement(digits, DIGITS / "digits_holds.vnnlib")
    for given in (statement, statement.bytes):
        assert assay.check(given, None, result.certificate).verdict == "accepted"
    assert assay.check(statement, None, result.certificate, semantics="real")
    for wrong, words in (({"semantics": "float32"}, "about float32, found real arithmetic"), ({"memory": 1}, "memory"), ({"budget": 1}, "multiply-adds")):
        with pytest.raises(assay.Undecided, match=words):
            assay.check(statement, None, result.certificate, **wrong)
    with pytest.raises(assay.UsageError, match="example_inputs"):
        assay.check(statement, None, result.certificate, example_inputs=(1,))


def test_what_a_certificate_does_not_show_is_not_accepted(digits):
    result = assay.verify(digits, DIGITS / "digits_holds.vnnlib")
    other = assay.check(digits, DIGITS / "digits_fails.vnnlib", result.certificate)
    assert not other and other.verdict == "rejected" and other.theorem == "" and isinstance(other.why, assay.Error)
    bent = bytearray(result.certificate)
    bent[len(bent) // 2] ^= 16
    for wrong in (bytes(bent), result.certificate[:-1], b"", b"ASSAY"):
        assert not assay.check(digits, DIGITS / "digits_holds.vnnlib", wrong)


def test_no_proof_and_no_answer(digits, hard):
    assert assay.verify(digits, DIGITS / "digits_holds.vnnlib", proof=False).certificate is None
    model, property = hard
    result = assay.verify(model, property, timeout=1)
    assert result.answer == "timed-out" and result.certificate is None and result.reason == "the limit of 1 s ended the search"
    assert 0 <= result.closed_share < 1 and result.left.startswith("closed: ") and result.left in str(result) and "% of the tree" in result._repr_html_()
    assert (result.seconds_left is None or result.seconds_left > 0) and all(bound <= 0 for bound in result.open_cases.values())
    assert "; undecided: case 0 (bound -" in result.left and [step.split("   ")[0] for step in result.next_steps[:3]] == [
        "assay.verify(model, property, timeout=60, ...)", "assay verify model.onnx property.vnnlib --timeout 60 --scale 30",
        "assay split model.onnx property.vnnlib --into 8 -o cubes"]
    assert "(in a shell, with the model in model.onnx and result.vnnlib in property.vnnlib: the largest share" in result.next_steps[1]
    assert f"\nnext, one of:\n  {result.next_steps[0]}\n" in str(result) and assay.verify(digits, DIGITS / "digits_holds.vnnlib").next_steps == []
    with pytest.raises(assay.UsageError, match="no certificate.*timed-out"):
        result.check()
    few = [assay.Box(lo=[0] * 40, hi=[1] * 5 + [0] * 35), assay.Linear([1, 0], at_most=0)]
    first = assay.verify(model, few, timeout=1, branching="relu").next_steps[:2]
    assert first == ['assay.verify(model, property, branching="input", timeout=60, ...)   (boxes are split in place of neurons)',
                     "assay.verify(model, property, timeout=60, ...)   (more time)"]


def test_a_part_that_is_left_is_never_all_of_the_tree(digits):
    """No search makes such results at will: a tree so deep that 1 minus its open share is 1, and one without an undecided case."""
    result = assay.verify(digits, DIGITS / "digits_holds.vnnlib")
    result.closed_share, result.open_cases, result.seconds_left = 1.0, {2: -0.5}, 1.9
    assert result.left == "closed: 99.9 % of the tree, about 1.9 s more at the latest pace, which tends to fall; undecided: case 2 (bound -0.5)"
    result.open_cases, result.seconds_left = {}, None
    assert result.left == "closed: 99.9 % of the tree"


def test_progress_and_an_exception_in_it(hard):
    model, property = hard
    seen = []
    assay.verify(model, property, timeout=2, progress=seen.append)
    assert len(seen) > 3 and set(seen[0]) == {"seconds", "phase", "closed", "open", "worst_bound"}

    def fails(_):
        raise KeyError("mine")

    start = time.monotonic()
    with pytest.raises(KeyError, match="mine"):
        assay.verify(model, property, timeout=60, progress=fails)
    assert time.monotonic() - start < 10


def test_other_threads_run_meanwhile(hard):
    model, property = hard
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    assay.verify(model, property, timeout=1, threads=1)
    done.set()
    thread.join()
    assert counted[0] > 100


INTERRUPTED = """
    import sys, time
    sys.path.insert(0, {tests!r})
    import assay, conftest
    model = conftest.network([40, 150, 150, 150, 2], seed=3)
    box = assay.Box(lo=[-1] * 40, hi=[1] * 40)
    top = float(assay.bounds(model, [box, assay.Robust(0)], outputs_only=True).outputs["y"].hi[0, 0])
    property = [box, assay.Linear([1, 0], at_most=0.3 * top)]
    wide = conftest.network([60] + [2000] * 6 + [9])
    print("ready", flush=True)
    try:
        {call}
        print("ended by itself")
    except KeyboardInterrupt:
        print("interrupted", time.time(), flush=True)
        assert assay.lint(model) == []  # and the interpreter goes on
"""


@pytest.mark.parametrize("call", ["assay.verify(model, property, timeout=100)",
                                  "assay.bounds(wide, [assay.Box(lo=[-1] * 60, hi=[1] * 60), assay.Robust(0)], timeout=None)"])
def test_ctrl_c_ends_a_run_within_a_second(call):
    conftest.interrupt(textwrap.dedent(INTERRUPTED).format(tests=str(ROOT / "python" / "tests"), call=call))


def test_a_proof_that_cannot_be_written(digits, tmp_path):
    with pytest.raises(assay.UsageError, match="cannot write"):
        assay.verify(digits, DIGITS / "digits_holds.vnnlib", proof=tmp_path / "no" / "such" / "folder.assay")
    with pytest.raises(assay.UsageError, match="another file"):
        assay.verify(str(digits), DIGITS / "digits_holds.vnnlib", proof=str(digits))
    assert os.listdir(tmp_path) == []


def test_flushing_to_zero_on_the_caller_s_thread_does_not_matter(digits):
    torch = pytest.importorskip("torch")
    torch.set_flush_denormal(True)
    try:
        assert assay.verify(digits, DIGITS / "digits_holds.vnnlib", threads=1).check()
    finally:
        torch.set_flush_denormal(False)


def test_errors_can_be_pickled(digits):
    with pytest.raises(assay.MalformedInput) as caught:
        assay.verify("/no/such/file.onnx", DIGITS / "digits_holds.vnnlib")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is assay.MalformedInput and str(again) == str(caught.value) and again.code == "files.open"


def test_the_text_of_a_property_of_objects(digits, tmp_path):
    """A certificate of a question in Python is checked elsewhere from its files."""
    result = assay.verify(digits, [assay.Box([0.5] * 64, 0), assay.Linear([1] * 10, at_most=10**6)], proof=tmp_path / "p.assay")
    (tmp_path / "p.vnnlib").write_text(result.vnnlib)
    assert assay.check(digits, tmp_path / "p.vnnlib", tmp_path / "p.assay")
    assert assay.verify(digits, tmp_path / "p.vnnlib").vnnlib is None


def test_a_module_in_training_mode_is_noted():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 2))
    question = [assay.Box([0, 0], 1), assay.Linear([[1, 0]], at_most=100)]
    options = {"example_inputs": torch.zeros(1, 2), "proof": False}
    result = assay.verify(model, question, **options)
    words = "the module was in training mode, and the answer is about evaluation mode, in which '1' (Dropout) may compute otherwise"
    assert result.answer == "unsat" and words in result.notes and words in str(result) and model.training
    assert words in assay.statement(model, question, example_inputs=torch.zeros(1, 2)).notes
    assert words in assay.bounds(model, question, example_inputs=torch.zeros(1, 2)).notes
    assert words in assay.robust(model, [[0.5, 0.25]], eps="0.01", example_inputs=torch.zeros(1, 2)).notes
    for plain in (model.eval(), torch.nn.Sequential(torch.nn.Linear(2, 2))):
        assert not any("training" in one for one in assay.verify(plain, question, **options).notes)


def _module(torch, function):
    class Module(torch.nn.Module):
        def forward(self, x):
            return function(x)

    return Module()


def _Two(torch, function):
    """A module of three inputs, of which the function may leave out the first and the last one."""
    class Module(torch.nn.Module):
        def forward(self, x, y, z=None):
            return function(y) if z is None else function(y, z)

    return Module()


def test_modules_of_which_an_export_says_something_else_are_refused(monkeypatch):
    """The trace keeps the branch that the example took, and torch.onnx rounds some divisions to zero: `unsat` would be about another function."""
    torch = pytest.importorskip("torch")
    from assay._verify import export_checks

    def ask(function, low, high, at_most, example=torch.zeros(1, 2)):
        question = [assay.Box(lo=[low] * 2, hi=[high] * 2), assay.Linear([[1, 0]], at_most=at_most)]
        return assay.verify(_module(torch, function), question, example_inputs=example)

    def in_place(x):
        kept = torch.zeros(1, 2)
        kept[:, 0:1].copy_(x[:, 0:1])
        return kept * kept.max().item()

    def branch(x):
        return x * 3 if x.sum() > 1 else x

    def large(x):  # 0 for the example, and for all numbers that are drawn
        return (x.max() > 50).long()

    def per_element(x):
        return x.clone().apply_(lambda value: 3 * value if value > 50 else value)

    for function, found in ((branch, "__bool__"), (per_element, "apply_"), (lambda x: 3 * x if float(f"{x.max():.1f}") > 50 else x, "__format__"),
                            (lambda x: 3 * x if "[[" in repr(x) else x, "__repr__"), (lambda x: x * float(x.max() + 1), "__float__"), (lambda x: torch.tensor(x.tolist()), "tolist"),
                            (lambda x: x * (1 + x.max().item()), "item"), (lambda x: torch.from_numpy(3 * x.numpy()), "numpy"), (in_place, "item"),
                            (lambda x: x if torch.equal(x, x.abs()) else 3 * x, "equal"), (lambda x: x[:, :2 + int(x.sum())], "__int__")):
        with pytest.raises(assay.Unsupported, match=f"model, test_verify.py, line [0-9]+: .*found {found}, .*python.values"):
            ask(function, 1, 1, 1.5)
    norm = torch.nn.functional.layer_norm
    for function, found in ((lambda x: x.roll(large(x), 1), "roll"), (lambda x: x.sum(large(x)).expand(1, 2), "sum"), (lambda x: norm(x, (2,), eps=large(x)), "layer_norm")):
        with pytest.raises(assay.Unsupported, match=f"test_verify.py, line [0-9]+: .*found one that {found} reads as a number; .*python.values"):
            ask(function, 60, 60, 70)
    assert ask(lambda x: x.narrow(1, large(x), 1).expand(1, 2), 60, 60, 59).answer == "sat"
    for function, found in ((lambda x: x // 3, "__floordiv__"), (lambda x: (x.long() // 3).float(), "__floordiv__"), (lambda x: torch.floor_divide(x, 3), "floor_divide"),
                            (lambda x: (x.long() >> 1).float(), "__rshift__"), (lambda x: -7 // x, "__rfloordiv__")):
        with pytest.raises(assay.Unsupported, match=f"found {found}: .*python.export"):
            ask(function, -7, -7, -3)
    for function in (torch.nn.CosineSimilarity(), torch.nn.PairwiseDistance()):
        with pytest.raises(assay.Unsupported, match="since eps stands elsewhere.*python.export"):
            ask(lambda x: function(x, 1 - x).expand(1, 2), 0, 1, 1)
    for function, found in ((torch.log2, "log2"), (lambda x: x.clone().log10_(), "log10_"), (lambda x: x.round(decimals=2), "decimals"),
                            (lambda x: torch.atan2(x, x), "atan2"), (lambda x: torch.nn.functional.binary_cross_entropy_with_logits(x, x), "binary_cross")):
        with pytest.raises(assay.Unsupported, match=f"found {found}.*(rounded to float32|rounds otherwise).*python.export"):
            ask(function, 1000, 1000, 3)
    pool = torch.nn.AvgPool2d(1, divisor_override=5)
    for function, found in ((lambda x: pool(x[None, None]).reshape(1, 2), "divisor_override"), (lambda x: torch.nn.functional.softplus(x, beta=3, threshold=5), "threshold")):
        with pytest.raises(assay.Unsupported, match=f"expected .*{found}"):
            ask(function, 1, 1, 1)
    with monkeypatch.context() as unlisted:  # what no name tells, the comparison of outputs does
        unlisted.setattr(export_checks, "_exported_otherwise", lambda *call: None)
        with pytest.raises(assay.Unsupported, match="outputs that differ by 400 % .*python.export"):
            ask(lambda x: pool(x[None, None]).reshape(1, 2), 1, 1, 1)
        # numbers that are float32 in the export of a module in float64
        for function in (lambda x: torch.log10(x.abs() + 1), torch.nn.functional.leaky_relu, lambda x: torch.addmm(x, x, x.T @ x, alpha=0.1), torch.selu):
            with pytest.raises(assay.Unsupported, match="differ by.*python.export"):
                assay.lint(_module(torch, function), example_inputs=torch.zeros(1, 2, dtype=torch.float64))
            assert assay.lint(_module(torch, function), example_inputs=torch.zeros(1, 2)) == []
        # differences at negative numbers alone, at an input of several (the first is not read), and in an output's shape
        functional, table = torch.nn.functional, torch.arange(8.0).reshape(4, 2)
        for function, shape, found in ((lambda x: torch.func.vmap(lambda row: row // 3)(x), (1, 2), "differ by"), (lambda x: torch.cdist(x, x, p=1.0), (3, 2), "differ by"),
                                       (lambda x: functional.embedding(x.abs().clamp(0, 3).long(), table.clone(), max_norm=1.0), (1, 2), "differ by"),
                                       (lambda x: functional.pad(x, (-1, 1, 0, -2), mode="circular"), (1, 2, 5, 5), "shapes")):
            with pytest.raises(assay.Unsupported, match=f"{found}.*python.export"):
                assay.lint(_module(torch, function), example_inputs=torch.zeros(shape))
        with pytest.raises(assay.Unsupported, match="differ by.*python.export"):
            assay.lint(_Two(torch, lambda y: y // 3), example_inputs=(torch.zeros(2), torch.zeros(2)))
        unlisted.setattr(export_checks, "_LITTLE_WORK", 0)  # a large model is run in floats
        for function in (lambda x: x.roll(3, 1), lambda x: torch.func.vmap(lambda row: row // 3)(x)):
            with pytest.raises(assay.Unsupported, match="differ by .*python.export"):
                ask(function, 1, 1, 1)
        assert ask(lambda x: torch.where(x > 0, 3 * x, x), -7, -7, -6).answer == "unsat"
        unlisted.setattr(export_checks, "_MUCH_WORK", 0)
        unlisted.setattr(export_checks, "_MOST_WORK", 0)  # what a trace takes from the example's numbers is found in models of any size
        for function in (lambda x: x.data * 2, lambda x: x + x.data, lambda x: x * len(x[x > 0]), lambda x: x + torch.from_dlpack(torch.utils.dlpack.to_dlpack(x))):
            with pytest.raises(assay.Unsupported, match="export depends on the example.*python.values"):
                ask(function, 1, 1, 1, example=torch.tensor([[1.0, -1.0]]))
    with pytest.raises(assay.UsageError, match="a model with inputs"):  # the box would say nothing
        ask(lambda x: torch.ones(1, 2), 0, 1, 1)
    named = _Two(torch, lambda y, z: y - 2 * z)
    assert assay.lint(named, example_inputs=(torch.zeros(2), {"z": torch.zeros(2), "y": torch.zeros(2)})) == []
    with pytest.raises(assay.Unsupported, match="two results for one input"):
        ask(lambda x, calls=iter(range(1, 100)): x + next(calls), 0, 0, 1)
    # shapes, parameters and divisions that are exported as they are stay what they were
    scale = torch.nn.Parameter(torch.tensor(2.0))
    for function, at_most, answer in ((lambda x: x.reshape(int(x.data_ptr() > 0), 2), -7, "unsat"), (lambda x: x / x.shape[1] if x.shape[0] == 1 else x, 0, "unsat"), (lambda x: x * float(scale), -7, "unsat"),
                                      (lambda x: torch.where(x > 0, 3 * x, x), -6, "unsat"), (lambda x: torch.div(x, 3, rounding_mode="floor"), -3, "unsat"),
                                      (lambda x: torch.div(x, 3, rounding_mode="floor"), -3.5, "sat"), (lambda x: torch.div(x, 3, rounding_mode="trunc"), -2, "unsat")):
        assert ask(function, -7, -7, at_most).answer == answer


def test_a_module_is_exported_as_it_runs():
    """It may ask whether it is traced or exported, and a Function may bring a translation of its own: the answer is about what a run computes."""
    torch = pytest.importorskip("torch")

    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.where(x > 50, 3 * x, x)

        @staticmethod
        def symbolic(graph, x):
            return graph.op("Identity", x)

    symbolic, tracing = Tripled.symbolic, torch._C._is_tracing
    for function in (lambda x: x if torch.jit.is_tracing() else 3 * x, lambda x: x if torch.onnx.is_in_onnx_export() else 3 * x, Tripled.apply,
                     lambda x: 3 * x if torch._C._get_tracing_state() is None else x):
        question = [assay.Box(lo=[60, 60], hi=[60, 60]), assay.Linear([[-1, 0]], at_most=-180)]
        assert assay.verify(_module(torch, function), question, example_inputs=torch.zeros(1, 2)).answer == "unsat"
    assert Tripled.symbolic is symbolic and torch._C._is_tracing is tracing


def test_norms_in_float64_have_an_eps_that_the_export_holds():
    """An exporter writes eps as a float32 number, which counts where the variance is as small."""
    torch = pytest.importorskip("torch")
    x = torch.zeros(2, 4, 3, dtype=torch.float64)
    for norm in (lambda eps: torch.nn.LayerNorm(3, eps), lambda eps: torch.nn.GroupNorm(2, 4, eps), lambda eps: torch.nn.InstanceNorm1d(4, eps), lambda eps: torch.nn.BatchNorm1d(4, eps)):
        with pytest.raises(assay.Unsupported, match="an eps that float32 holds, found 1e-05 in .*_norm of float64"):
            assay.lint(norm(1e-5).double(), example_inputs=x)
        assert assay.lint(norm(2**-17).double(), example_inputs=x) == [] == assay.lint(norm(1e-5), example_inputs=x.float())


def test_a_theorem_about_floats_holds_for_hardsigmoid():
    """PyTorch divides by 6; HardSigmoid of ONNX multiplies by 1/6, which is rounded to float32."""
    torch = pytest.importorskip("torch")
    x = torch.linspace(-3.5, 3.5, 301).reshape(1, 301)
    module, question = torch.nn.Hardsigmoid(), [assay.Box(lo=x, hi=x), assay.Linear([[1] + [0] * 300], at_most=9)]
    found, y = assay.bounds(module, question, semantics="float32:pytorch-cpu", example_inputs=x).groups[0][-1], module(x).numpy()
    assert (found.lo <= y).all() and (y <= found.hi).all()
    assert assay.lint(module, example_inputs=x.double()) == []


def test_a_certificate_takes_no_place_of_the_model(digits, tmp_path):
    (tmp_path / "digits.onnx").write_bytes(digits.read_bytes())
    (tmp_path / "link").symlink_to("digits.onnx")
    for target in (tmp_path / "digits.onnx", tmp_path / "link", f"{tmp_path}/./digits.onnx"):
        with pytest.raises(assay.UsageError, match="another file than model and property"):
            assay.verify(tmp_path / "digits.onnx", DIGITS / "digits_holds.vnnlib", proof=target)
    assert (tmp_path / "digits.onnx").read_bytes() == digits.read_bytes()


def test_a_module_is_exported_without_rounding_its_numbers(monkeypatch):
    """torch.onnx would multiply the two parameters in float32, and give a convolution the numbers of a normalisation: the answer would be about other numbers."""
    torch = pytest.importorskip("torch")
    scale, factor = torch.nn.Parameter(torch.tensor([0.1, 0.1])), torch.nn.Parameter(torch.tensor(3.0))
    product = 3 * Fraction(scale[0].item())
    point = assay.Box(lo=[1, 1], hi=[1, 1])

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.factor = scale, factor

        def forward(self, x):
            return x * (self.scale * self.factor)

    options = {"example_inputs": torch.zeros(1, 2)}
    above = product + Fraction(1, 2**30)
    assert Fraction((scale * factor)[0].item()) > above  # as it is rounded
    assert assay.verify(Scaled(), [point, assay.Linear([[1, 0]], at_most=above)], **options).answer == "unsat"
    calls = []

    def failing(model, args, file, *, dynamo=True, **options):  # with a TypeError of its own: the other exporter, which folds constants, takes no place of it
        calls.append(dynamo)
        raise TypeError("is_causal must be bool")

    with monkeypatch.context() as patched, pytest.raises(assay.Unsupported, match="TypeError: is_causal must be bool"):
        patched.setattr(torch.onnx, "export", failing)
        assay.verify(Scaled(), [point, assay.Linear([[1, 0]], at_most=above)], **options)
    assert calls == [False]
    normalised = torch.nn.Sequential(torch.nn.Conv1d(1, 1, 1), torch.nn.BatchNorm1d(1)).eval()
    found = assay.statement(normalised, [assay.Box(lo=[[[0]]], hi=[[[1]]]), assay.Linear([[1]], at_most=9)], example_inputs=torch.zeros(1, 1, 1))
    assert "conv" in found.text and "batch_norm" in found.text


def test_a_witness_holds_the_largest_integers():
    onnx = pytest.importorskip("onnx")
    import numpy

    of = onnx.helper
    graph = of.make_graph([of.make_node("Cast", ["x"], ["y"], to=1)], "cast", [of.make_tensor_value_info("x", onnx.TensorProto.UINT64, [1])],
                          [of.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])])
    model = of.make_model(graph, opset_imports=[of.make_opsetid("", 13)], ir_version=8).SerializeToString()
    result = assay.verify(model, [assay.Box(lo=[2**63], hi=[2**64 - 1]), assay.Linear([[1]], at_most=0)])
    assert result.answer == "sat" and result.witness["x"].dtype == numpy.uint64 and int(result.witness["x"][0]) == result.exact_witness["x"][0] >= 2**63
