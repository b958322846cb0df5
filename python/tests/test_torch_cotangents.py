"""A product is linear in its cotangent: backwards that are not, or that answer for some cotangents alone, are found, and right ones that look alike pass."""
from __future__ import annotations

import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import assay.torch  # noqa: E402
from assay import GradcheckError, GradcheckWarning, gradcheck  # noqa: E402
from wrong_cotangents import RIGHT, WRONG, of_square, when  # noqa: E402

UNDECIDED = {"by nan_to_num of its size", "by isinf of its size",  # where a step on the way leaves the range of its type
             "the first numbers of its memory",  # which nothing tells what they are
             "very smooth saturation"}  # at cotangents up to 1 no float32 shows the difference


def test_there_are_many() -> None:
    assert len(WRONG) >= 80 and len(RIGHT) >= 40


@pytest.mark.parametrize("name", WRONG)
def test_the_wrong_one_is_found(name: str) -> None:
    function, shapes = WRONG[name]
    with pytest.raises(GradcheckError) as found:
        gradcheck(function, shapes)
    assert found.value.failed or name in UNDECIDED, str(found.value)


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_one_passes(name: str) -> None:
    function, shapes = RIGHT[name]
    assert gradcheck(function, shapes)


def test_the_finding_says_where_and_at_which_cotangent() -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(*WRONG["clipped far away"])
    line = str(found.value).splitlines()[0]
    assert "shown by cotangents" in line and "times random ones" in line and "(Square)" in line
    assert re.search(r"the backward of Square stands at \S*wrong_cotangents\.py:", line) and "clamp at 1e+06, wrong_cotangents.py:" in line


def test_the_first_wrong_cotangent_of_a_second_pass_is_found() -> None:
    """The backward of a backward has cotangents, too."""
    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return 2 * g * x

        @staticmethod
        def backward(ctx, h):
            g, x = ctx.saved_tensors
            return 2 * x * h.clamp(-9, 9), 2 * g * h

    wrong = of_square(lambda g, x: Slope.apply(g, x))
    assert gradcheck(wrong, [(4, 3)])
    with pytest.raises(GradcheckError) as found:
        gradcheck(wrong, [(4, 3)], check_grad_grad=True)
    assert found.value.failed and "clamp at 9" in str(found.value)
    assert gradcheck(of_square(lambda g, x: 2 * g * x), [(4, 3)], check_grad_grad=True)


def test_what_no_cotangent_reaches_is_undecided() -> None:
    """A number that is read off the cotangent decides in a way that nothing tells."""
    def digits(g, x):
        return when(str(g.flatten()[0].item())[-1:] != "q", g, x)

    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(digits), [(4, 3)])
    assert found.value.undecided and "gradient.unreached" in str(found.value) and "item" in str(found.value)
    with pytest.warns(GradcheckWarning):
        assert gradcheck(of_square(digits), [(4, 3)], allow_unreached=True)


def test_given_tensors_and_doubles() -> None:
    for kind, threshold in ((torch.float32, 1e20), (torch.float64, 1e200)):
        x = torch.randn(4, 3, dtype=kind, requires_grad=True)
        with pytest.raises(GradcheckError) as found:
            gradcheck(of_square(lambda g, x, t=threshold: torch.where(g.abs() < t, 2 * x * g, 0 * g)), x)
        assert found.value.failed
        assert gradcheck(of_square(lambda g, x: torch.where(g.abs() < 1e20, 2 * x * g, x * g * 2)), x)


def test_a_recorded_run_names_them() -> None:
    x = torch.randn(4, 3, requires_grad=True)
    with assay.torch.record({"x": x}) as run:
        WRONG["clipped"][0](x).sum().backward()
    report = assay.torch.judge(run)
    assert report.passed and any("clamp at 5, above it at wrong_cotangents.py:" in one for one in report.unreached)


def test_modules_are_not_looked_at() -> None:
    """What PyTorch's own nodes do with cotangents is no decision of the program's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(torch.nn.functional.normalize, [(4, 3)])
        assert gradcheck(lambda x: torch.linalg.vector_norm(x, dim=1), [(4, 3)])


def test_many_thresholds_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that nothing reaches are told; the search for them has a bound."""
    monkeypatch.setattr("assay.testing._reaching.MOST_TRIED", 40)
    calls = 0

    class Stairs(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            nonlocal calls
            calls += 1
            ctx.save_for_backward(x)
            return sum(torch.where(x * x > -c, x, 2 * x) for c in range(1, 23))

        @staticmethod
        def backward(ctx, g):
            return 22 * g

    with pytest.raises(GradcheckError) as found:
        gradcheck(Stairs.apply, [(2,)])
    assert found.value.undecided and "gradient.unreached" in str(found.value) and "and 2 more" in str(found.value)
    assert calls < 610  # 565, of which 40 look for inputs; 821 where as many are tried as there are
    assert gradcheck(lambda x: sum(torch.relu(x - c) for c in range(-6, 7)), [(8,)])
