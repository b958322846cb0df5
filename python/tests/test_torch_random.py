"""Random programs pass as they are, and fail with one product bent; the many are run by benchmarks/python/random_programs.py."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from random_programs import Program, bent, program  # noqa: E402
from torch_runs import summary  # noqa: E402

SEEDS = range(1002, 1020)


def verdict(one: Program) -> str:
    try:
        return "passed" if gradcheck(one, one.fresh(), allow_dead=True) else ""
    except GradcheckError as error:
        assert error.report.exit_code in (1, 3), str(error)
        return summary(error.report) if error.report.exit_code == 1 else "undecided"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_program_is_not_accused_and_a_bent_one_is(seed: int) -> None:
    right = program(seed)
    assert 2 <= len(right.steps) <= 8 and verdict(right) in ("passed", "undecided")
    wrong = bent(right)
    assert wrong is not None and verdict(wrong) not in ("passed", "undecided")
    assert verdict(Program(seed, right.inputs, right.steps, right.results, wrong.bent, "nothing")) in ("passed", "undecided")


def test_most_right_programs_are_decided() -> None:
    assert sum(verdict(program(seed)) == "passed" for seed in SEEDS) >= 0.8 * len(SEEDS)


def test_seeds_decide() -> None:
    one, again = program(7), program(7)
    assert [step.kind for step in one.steps] == [step.kind for step in again.steps] and all(torch.equal(a, b) for a, b in zip(one.gradients(), again.gradients()))


def test_gradients_that_differ_by_a_rounding_where_nothing_is_recorded_pass() -> None:
    right = program(21)  # its matrix product lies elsewhere in memory than the recorded one
    wrong = bent(program(21))
    assert wrong is not None and verdict(Program(21, right.inputs, right.steps, right.results, wrong.bent, "nothing")) == "passed"
