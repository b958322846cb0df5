"""What PyTorch gives at kinks: the cases of the table in docs/explanation/kinks.md. Run as a program it prints the table."""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

INF = math.inf


@dataclass
class Kink:
    """An operation at a kink: what `torch.autograd` gives for the cotangent 1 of each element of the results.

    `other`: a number that another convention would give to the first operand, where the operation is elementwise and `at` says where.
    `verdict`: what gradcheck says of PyTorch's own; "wrong" where the number is no derivative, "either" where that is right or undecided.
    """

    operation: str
    where: str
    function: Callable[..., Any]
    inputs: Sequence[Sequence[float]]
    slopes: Sequence[Sequence[float]]
    other: float | None = None
    verdict: str = "right"
    also: Sequence[Callable[..., Any]] = ()  # other operations of the row, written so that they give the same

    @property
    def functions(self) -> list[Callable[..., Any]]:
        return [self.function, *self.also]

    def tensors(self, dtype: torch.dtype) -> list[Tensor]:
        return [torch.tensor(one, dtype=dtype, requires_grad=True) for one in self.inputs]

    def row(self) -> str:
        found = "; ".join(", ".join(map(word, one)) for one in self.slopes)
        return f"| {self.operation} | {self.where} | {found} |{' no derivative |' if self.verdict == 'wrong' else ' |'}"


def word(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    plain = Fraction(number).limit_denominator(12)
    return str(plain) if abs(plain - Fraction(number)) < 1e-9 else f"{number:.6g}"


def number(value: float) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.full((), value, dtype=x.dtype)


def labelled(loss: Callable[..., Any], label: float) -> Callable[..., Any]:
    return lambda *xs: loss(*xs, torch.full_like(xs[0], label), reduction="sum")


def summed(loss: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda x, y: loss(x, y, reduction="sum", **options)


def stepped(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x) + x  # or nothing flows at all


SELU = 1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
HALF = 1 / math.sqrt(2)
KINKS = [
    # Activations.
    Kink("`relu`", "0", F.relu, [[0.0, -0.0]], [[0, 0]], 1),
    Kink("`relu6`", "0, 6", F.relu6, [[0.0, 6.0]], [[0, 0]], 1),
    Kink("`hardtanh`", "-1, 1", F.hardtanh, [[-1.0, 1.0]], [[0, 0]], 1),
    Kink("`hardsigmoid`", "-3, 3", F.hardsigmoid, [[-3.0, 3.0]], [[0, 0]], 0.125),
    Kink("`hardswish`", "-3, 3", F.hardswish, [[-3.0, 3.0]], [[0, 1]]),
    Kink("`leaky_relu`, slope 1/4", "0", lambda x: F.leaky_relu(x, 0.25), [[0.0]], [[0.25]], 1),
    Kink("`prelu`, slope 1/4", "0", F.prelu, [[0.0], [0.25]], [[0.25], [0]]),
    Kink("`rrelu` in evaluation, slopes 1/4 to 3/4", "0", lambda x: F.rrelu(x, 0.25, 0.75), [[0.0]], [[0.5]], 1),
    Kink("`elu`, alpha 2", "0", lambda x: F.elu(x, 2.0), [[0.0]], [[2]], 1),
    Kink("`selu`", "0", F.selu, [[0.0]], [[SELU]], 1.5),
    Kink("`celu`, alpha 2", "0, no kink", lambda x: F.celu(x, 2.0), [[0.0]], [[1]]),
    Kink("`softplus`, threshold 2", "2, a jump of PyTorch's kernel", lambda x: F.softplus(x, 1.0, 2.0), [[2.0]], [[1 / (1 + math.exp(-2))]]),
    Kink("`softshrink`", "-1/2, 1/2", F.softshrink, [[-0.5, 0.5]], [[0, 0]], 1),
    Kink("`hardshrink`", "-1/2, 1/2, jumps", F.hardshrink, [[-0.5, 0.5]], [[0, 0]], 1),
    Kink("`threshold`, to 1 below 1", "1", lambda x: F.threshold(x, 1.0, 1.0), [[1.0]], [[0]], 1),
    Kink("`tanhshrink`", "0, no kink", F.tanhshrink, [[0.0]], [[0]]),
    Kink("`logsigmoid`", "0, no kink", F.logsigmoid, [[0.0]], [[0.5]]),
    Kink("`glu`", "0, no kink", lambda x: F.glu(x, 0), [[2.0, 0.0]], [[0.5, 0.5]]),
    # Clipping and comparing.
    Kink("`clamp` to [0, 1]", "0, 1", lambda x: x.clamp(0.0, 1.0), [[0.0, 1.0]], [[1, 1]], 0),
    Kink("`clamp(min=1)`, `clamp_min`", "1", lambda x: x.clamp(min=1.0), [[1.0]], [[1]], 0, also=[lambda x: torch.clamp_min(x, 1.0), lambda x: (x * 1).clamp_(min=1.0)]),
    Kink("`clamp(max=1)`, `clamp_max`", "1", lambda x: x.clamp(max=1.0), [[1.0]], [[1]], 0, also=[lambda x: torch.clamp_max(x, 1.0)]),
    Kink("`clamp` to [2, 1]", "all", lambda x: x.clamp(2.0, 1.0), [[1.0, 2.0, 3.0]], [[0, 0, 0]]),
    Kink("`clamp` to [1, 1]", "1", lambda x: x.clamp(1.0, 1.0), [[1.0]], [[1]], verdict="wrong"),
    Kink("`clamp(x, min=a)`, a tensor", "x = a", lambda x, a: torch.clamp(x, min=a), [[1.0], [1.0]], [[1], [0]]),
    Kink("`clamp(x, max=b)`, a tensor", "x = b", lambda x, b: torch.clamp(x, max=b), [[1.0], [1.0]], [[1], [0]]),
    Kink("`clamp(x, a, b)`, tensors", "x = a; x = b", torch.clamp, [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]], [[1, 1], [0, 0], [0, 0]]),
    Kink("`clamp(x, a, b)`, tensors", "a = b, x below", torch.clamp, [[0.0], [1.0], [1.0]], [[0], [0], [0]], verdict="wrong"),
    Kink("`maximum`, `max(x, y)`", "x = y", torch.maximum, [[1.0], [1.0]], [[0.5], [0.5]], also=[torch.max]),
    Kink("`maximum` with a constant", "equal", lambda x: torch.maximum(x, number(0.0)(x)), [[0.0]], [[0.5]], 1),
    Kink("`minimum`, `min(x, y)`", "x = y", torch.minimum, [[1.0], [1.0]], [[0.5], [0.5]], also=[torch.min]),
    Kink("`fmax`", "x = y", torch.fmax, [[1.0], [1.0]], [[1], [0]]),
    Kink("`fmin`", "x = y", torch.fmin, [[1.0], [1.0]], [[1], [0]]),
    Kink("`where(x > 0, x, 2 x)`", "0: the branch that is taken", lambda x: torch.where(x > 0, x, 2 * x), [[0.0]], [[2]], 1),
    Kink("`where(x >= 0, x, 2 x)`", "0: the branch that is taken", lambda x: torch.where(x >= 0, x, 2 * x), [[0.0]], [[1]], 2),
    Kink("`where(x > 0, sqrt(x), 0)`", "0: 0 times infinity", lambda x: torch.where(x > 0, x.sqrt(), 0.0), [[0.0]], [[math.nan]], verdict="undecided"),
    Kink("`nan_to_num`", "inf, -inf, NaN", torch.nan_to_num, [[INF, -INF, math.nan]], [[0, 0, 0]], verdict="either"),
    # Extremes and orders: shares of equal elements.
    Kink("`max()`, `min()` of all elements", "equal elements: even shares", torch.max, [[3.0, 1.0, 3.0]], [[0.5, 0, 0.5]], also=[lambda x: -torch.min(-x)]),
    Kink("`amax`, `amin`, `aminmax`", "equal elements: even shares", lambda x: x.amax(0), [[3.0, 1.0, 3.0]], [[0.5, 0, 0.5]], also=[lambda x: -torch.amin(-x, 0), lambda x: torch.aminmax(x).max, lambda x: -torch.aminmax(-x).min]),
    Kink("`max(dim)`, `min(dim)`", "equal elements: the first", lambda x: x.max(0).values, [[3.0, 1.0, 3.0]], [[1, 0, 0]], also=[lambda x: -(-x).min(0).values]),
    Kink("`max_pool1d`, `2d`, `3d`", "equal elements: the first", lambda x: F.max_pool1d(x[None], 2), [[3.0, 3.0, 1.0, 1.0]], [[1, 0, 1, 0]], also=[lambda x: F.max_pool2d(x.reshape(1, 1, 2, 2), (1, 2)), lambda x: F.max_pool3d(x.reshape(1, 1, 1, 2, 2), (1, 1, 2))]),
    Kink("`adaptive_max_pool1d`, `2d`", "equal elements: the first", lambda x: F.adaptive_max_pool1d(x[None], 2), [[3.0, 3.0, 1.0, 1.0]], [[1, 0, 1, 0]], also=[lambda x: F.adaptive_max_pool2d(x.reshape(1, 1, 2, 2), (2, 1))]),
    Kink("`median()` of all elements", "equal elements: even shares", torch.median, [[2.0, 1.0, 2.0, 3.0]], [[0.5, 0, 0.5, 0]]),
    Kink("`scatter_reduce` by amax", "equal elements: even shares", lambda x: torch.zeros(1, dtype=x.dtype).scatter_reduce(0, torch.tensor([0, 0]), x, "amax"),
         [[3.0, 3.0]], [[0.5, 0.5]]),
    # Sizes and distances.
    Kink("`abs`", "0", torch.abs, [[0.0, -0.0]], [[0, 0]], 1),
    Kink("`sign`, `floor`, `ceil`, `round`, `trunc`", "jumps", stepped(lambda x: x.sign() + x.floor() + x.ceil() + x.round() + x.trunc()), [[0.0, 1.0]], [[1 - 0, 1 - 0]]),
    Kink("`frac`, `fmod`, `remainder` by 2", "jumps", lambda x: x.frac() + x.fmod(2.0) + x.remainder(2.0), [[0.0, 2.0]], [[3, 3]]),
    Kink("`fmod`, by the divisor", "x = 2 y, a jump", torch.fmod, [[4.0], [2.0]], [[1], [-2]]),
    Kink("`remainder`, by the divisor", "x = 2 y, a jump", torch.remainder, [[4.0], [2.0]], [[1], [-2]]),
    Kink("`norm`, p = 1", "an element 0", lambda x: torch.linalg.vector_norm(x, 1), [[0.0, 2.0]], [[0, 1]]),
    Kink("`norm`, p = 2", "all elements 0", lambda x: torch.linalg.vector_norm(x, 2), [[0.0, 0.0]], [[0, 0]]),
    Kink("`norm`, p = 3", "all elements 0", lambda x: torch.linalg.vector_norm(x, 3), [[0.0, 0.0]], [[0, 0]]),
    Kink("`norm`, p = inf, -inf", "equal sizes: even shares", lambda x: torch.linalg.vector_norm(x, INF), [[2.0, 1.0, -2.0]], [[0.5, 0, -0.5]], also=[lambda x: torch.linalg.vector_norm(torch.stack([x[0], 3 + 0 * x[1], x[2]]), -INF)]),
    Kink("`norm`, p = 0", "a number of elements: jumps", lambda x: torch.linalg.vector_norm(x, 0) + x.sum(), [[0.0, 2.0]], [[1, 1]]),
    Kink("`std`", "equal elements", torch.std, [[1.0, 1.0]], [[0, 0]], verdict="undecided"),
    Kink("`dist`", "x = y", torch.dist, [[1.0, 0.0], [1.0, 0.0]], [[0, 0], [0, 0]]),
    Kink("`cdist`, `pdist`", "x = y", lambda x, y: torch.cdist(x[None], y[None]), [[1.0, 0.0], [1.0, 0.0]], [[0, 0], [0, 0]], also=[lambda x, y: F.pdist(torch.stack([x, y]))]),
    Kink("`pairwise_distance`", "x = y: the operation adds 1e-6", lambda x, y: F.pairwise_distance(x[None], y[None]), [[1.0, 0.0], [1.0, 0.0]], [[HALF, HALF], [-HALF, -HALF]]),
    Kink("`normalize`, eps 1", "length 1", lambda x: F.normalize(x, dim=0, eps=1.0), [[1.0, 0.0]], [[0, 1]]),
    Kink("`normalize`, eps 1/4", "0", lambda x: F.normalize(x, dim=0, eps=0.25), [[0.0, 0.0]], [[4, 4]]),
    Kink("`cosine_similarity`, eps 1/4, y = (1, 0)", "x = 0", lambda x, y: F.cosine_similarity(x, y, 0, 0.25), [[0.0, 0.0], [1.0, 0.0]], [[4, 0], [0, 0]], verdict="undecided"),
    Kink("`hypot`", "x = y = 0", torch.hypot, [[0.0], [0.0]], [[math.nan], [math.nan]], verdict="undecided"),
    Kink("`atan2`", "x = y = 0", torch.atan2, [[0.0], [0.0]], [[0], [0]], verdict="undecided"),
    Kink("`copysign`", "x = 0", torch.copysign, [[0.0], [1.0]], [[0], [0]], verdict="undecided"),
    # Losses, as sums.
    Kink("`l1_loss`", "x = y", summed(F.l1_loss), [[1.0], [1.0]], [[0], [0]]),
    Kink("`smooth_l1_loss`, `huber_loss`", "x = y + 1, no kink", summed(F.smooth_l1_loss), [[2.0], [1.0]], [[1], [-1]], also=[summed(F.huber_loss)]),
    Kink("`hinge_embedding_loss`, label -1", "x = the margin", labelled(F.hinge_embedding_loss, -1.0), [[1.0]], [[-1]]),
    Kink("`margin_ranking_loss`", "the loss's bend at 0", labelled(F.margin_ranking_loss, 1.0), [[1.0], [1.0]], [[-1], [1]]),
    Kink("`multi_margin_loss`, class 0", "a bend", lambda x: F.multi_margin_loss(x, torch.tensor(0)), [[1.0, 0.0]], [[0, 0]]),
    Kink("`triplet_margin_loss`", "a bend", lambda a, p, n: F.triplet_margin_loss(a[None], p[None], n[None], eps=0.0), [[0.0], [1.0], [2.0]], [[0], [1], [-1]]),
    Kink("`cosine_embedding_loss`, label -1", "a bend", lambda x, y: F.cosine_embedding_loss(x[None], y[None], torch.tensor([-1])), [[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, 0]]),
    # Where a power or a logarithm has no value.
    Kink("`sqrt`", "0", torch.sqrt, [[0.0]], [[INF]], verdict="undecided"),
    Kink("`x ** 0.5`, `x ** 1.5`, `x ** 2`", "0", lambda x: torch.stack([x[0] ** 0.5, x[1] ** 1.5, x[2] ** 2]), [[0.0, 0.0, 0.0]], [[INF, 0, 0]], verdict="undecided"),
    Kink("`pow(x, y)`", "x = 0, y = 2", torch.pow, [[0.0], [2.0]], [[0], [0]]),
    Kink("`pow(x, y)`", "x = y = 0", torch.pow, [[0.0], [0.0]], [[0], [0]]),
    Kink("`xlogy(x, y)`", "x = 0, y = 2", torch.xlogy, [[0.0], [2.0]], [[math.log(2)], [0]]),
    Kink("`xlogy(x, y)`", "x = y = 0", torch.xlogy, [[0.0], [0.0]], [[0], [math.nan]], verdict="wrong"),
    Kink("`logaddexp`", "both -inf", torch.logaddexp, [[-INF], [-INF]], [[math.nan], [math.nan]], verdict="undecided"),
    Kink("`logsumexp`", "one element -inf", lambda x: torch.logsumexp(x, 0), [[-INF, 0.0, 0.0]], [[0, 0.5, 0.5]]),
    Kink("`logsumexp`", "all elements -inf", lambda x: torch.logsumexp(x, 0), [[-INF, -INF]], [[math.nan, math.nan]], verdict="undecided"),
    Kink("`prod`, `cumprod`", "one factor 0", torch.prod, [[3.0, 0.0, 2.0]], [[0, 6, 0]], also=[lambda x: torch.cumprod(x, 0)[-1]]),
    Kink("`prod`, `cumprod`", "two factors 0", lambda x: torch.cumprod(x, 0)[-1], [[3.0, 0.0, 0.0]], [[0, 0, 0]], also=[torch.prod]),
]
# One element of those that are equal, which the program's own kernel chose: the gate takes the place as given.
PLACES = {
    "`sort`, `topk`, `msort`": lambda x: torch.topk(torch.sort(x).values, 2).values, "`kthvalue`": lambda x: torch.kthvalue(x, 2).values,
    "`median(dim)`": lambda x: torch.median(x, 0).values, "`cummax`, `cummin`": lambda x: torch.cummax(x, 0).values + torch.cummin(x, 0).values,
}


def table() -> list[str]:
    rows = [one.row() for one in KINKS] + [f"| {name} | equal elements | all to the one that was chosen | |" for name in PLACES]
    return ["| Operation | Where | Derivatives by each operand | |", "| --- | --- | --- | --- |", *rows]


if __name__ == "__main__":
    print("\n".join(table()))
