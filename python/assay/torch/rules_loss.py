"""Meanings of losses and activations, and of their backward kernels."""
from __future__ import annotations

from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, counted
from .rules_basic import one_minus

Rule = Callable[..., Any]


def mean_or_sum(n: Nodes, x: Ref, reduction: int) -> Ref:
    """The reduction of a loss: 0 none, 1 mean, 2 sum."""
    return x if reduction == 0 else n.reduce("reduce_mean" if reduction == 1 else "reduce_sum", x, list(range(x.rank)), False)


def rows_of(n: Nodes, x: Ref, target: Ref) -> tuple[Ref, Ref, list[int]]:
    """Classes on the last axis: [rows, classes] and [rows, 1]; the shape of the target."""
    if x.rank == 1:
        return n.reshape(x, [1, *x.shape]), n.reshape(target, [1, 1]), target.shape
    order = [0, *range(2, x.rank), 1]
    return n.reshape(n.permute(x, order), [counted(target.shape), x.shape[1]]), n.reshape(target, [counted(target.shape), 1]), target.shape


def nll_parts(n: Nodes, classes: int, column: Ref, weight: Ref | None, ignored: int) -> tuple[Ref, Ref, Ref]:
    """[rows, 1] each: the row's class, 0 where the row is ignored; whether it counts; the weight of that class."""
    whole = column.dtype
    counts = n("logical_not", n("equal", column, n.constant(ignored, whole)))
    column = n("where", counts, column, n.constant(0, whole))
    of_class = n.constant(1.0, n.dtype)
    if weight is not None:
        of_class = n("take", column, n.expand(n.reshape(weight, [1, classes]), [column.shape[0], classes]), axis=1)
    return column, counts, of_class


def nll_loss(n: Nodes, x: Ref, target: Ref, weight: Ref | None, reduction: int, ignored: int) -> list[Ref]:
    rows, column, shape = rows_of(n, x, target)
    column, counts, of_class = nll_parts(n, rows.shape[1], column, weight, ignored)
    zero = n.constant(0.0, n.dtype)
    each = n("where", counts, n("mul", n("neg", n("take", column, rows, axis=1)), of_class), zero)
    if reduction == 0:
        return [n.reshape(each, shape), zero]
    summed, total = (n.reduce("reduce_sum", v, [0, 1], False) for v in (each, n("where", counts, of_class, zero)))
    return [n("div", summed, total) if reduction == 1 else summed, total]


def nll_loss_backward(n: Nodes, g: Ref, x: Ref, target: Ref, weight: Ref | None, reduction: int, ignored: int, total: Ref) -> Ref:
    rows, column, _ = rows_of(n, x, target)
    count, classes = rows.shape
    column, counts, of_class = nll_parts(n, classes, column, weight, ignored)
    each = n("neg", n("div", g, total) if reduction == 1 else n.reshape(g, [count, 1]) if reduction == 0 else g)
    hit = n("equal", column, n.constant(list(range(classes)), column.dtype))
    found = n("where", n("logical_and", counts, hit), n("mul", of_class, each), n.constant(0.0, n.dtype))
    if x.rank == 1:
        return n.reshape(found, x.shape)
    back = n.reshape(found, [x.shape[0], *x.shape[2:], x.shape[1]])
    return n.permute(back, [0, x.rank - 1, *range(1, x.rank - 1)])


def mse_loss(n: Nodes, x: Ref, y: Ref, reduction: int = 1) -> Ref:
    d = n("sub", x, y)
    return mean_or_sum(n, n("mul", d, d), reduction)


def mse_loss_backward(n: Nodes, g: Ref, x: Ref, y: Ref, reduction: int) -> Ref:
    d = n("sub", x, y)
    factor = n("div", n.constant(2.0, n.dtype), n.constant(float(counted(d.shape)), n.dtype)) if reduction == 1 else n.constant(2.0, n.dtype)
    return n("mul", n("mul", d, factor), g)


def soft_margin_backward(n: Nodes, g: Ref, x: Ref, target: Ref, reduction: int) -> Ref:
    """In the kernel's order, which stores each step."""
    z = n("exp", n("mul", n("neg", target), x))
    factor = n("mul", target, n.number(-1.0 / counted(x.shape) if reduction == 1 else -1.0, n.dtype))
    return n("mul", n("div", n("mul", factor, z), n("add", z, 1.0)), g)


def bce_with_logits(n: Nodes, x: Ref, target: Ref, weight: Ref | None = None, positive: Ref | None = None, reduction: int = 1) -> Ref:
    soft = n("neg", log_sigmoid(n, x))
    if positive is not None:
        soft = n("mul", n("add", n("mul", n("sub", positive, 1.0), target), 1.0), soft)
    loss = n("add", n("mul", one_minus(n, target), x), soft)
    return mean_or_sum(n, loss if weight is None else n("mul", loss, weight), reduction)


def gelu(n: Nodes, x: Ref, approximate: str = "none") -> Ref:
    """By tanh, the kernel's errors are those of a sum with x in it."""
    if approximate == "none":
        return n("gelu", x, tanh_form=False)
    share = n("mul", x, 0.25)
    return n.total(n("gelu", x, tanh_form=True), share, n("neg", share))


def gelu_backward(n: Nodes, g: Ref, x: Ref, approximate: str = "none") -> Ref:
    pi, one, half = n.pi(n.dtype), n.constant(1.0, n.dtype), n.constant(0.5, n.dtype)
    if approximate == "none":
        below = n("mul", half, n("add", one, n("erf", n("div", x, n("sqrt", n.constant(2.0, n.dtype))))))
        density = n("div", n("exp", n("mul", n("mul", x, x), -0.5)), n("sqrt", n("mul", n.constant(2.0, n.dtype), pi)))
        return n("mul", g, n("add", below, n("mul", x, density)))
    k, c = n("sqrt", n("div", n.constant(2.0, n.dtype), pi)), n("div", n.constant(44715.0, n.dtype), n.constant(1000000.0, n.dtype))
    square = n("mul", x, x)
    inner = n("mul", k, n("add", x, n("mul", c, n("mul", square, x))))
    t = n("tanh", inner)
    slope = n("mul", k, n("add", one, n("mul", n("mul", n.constant(3.0, n.dtype), c), square)))
    left = n("mul", half, n("add", one, t))
    right = n("mul", n("mul", n("mul", half, x), n("sub", one, n("mul", t, t))), slope)
    return n("mul", g, n("add", left, right))


def silu_backward(n: Nodes, g: Ref, x: Ref) -> Ref:
    s = n("sigmoid", x)
    return n("mul", n("mul", g, s), n("add", n("mul", x, one_minus(n, s)), 1.0))


def mish_backward(n: Nodes, g: Ref, x: Ref) -> Ref:
    s, t = n("sigmoid", x), n("tanh", n("softplus", x))
    return n("mul", g, n("add", t, n("mul", n("mul", x, s), one_minus(n, n("mul", t, t)))))


def positive(n: Nodes, x: Ref) -> Ref:
    return n("less", n.constant(0.0, n.dtype), x)


def is_as_typed(number: Ref) -> bool:
    """Whether a number means what the type has for it: then it may be an attribute of an op."""
    return number.node is None or number.node["op"] == "constant" and "reads" not in number.node


def leaky_relu(n: Nodes, x: Ref, slope: float = 0.01) -> Ref:
    number = n.number(slope, n.dtype)
    return n("leaky_relu", x, slope=n.rounded(slope)) if is_as_typed(number) else n("prelu", x, n.expand(number, x.shape))


def elu(n: Nodes, x: Ref, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Ref:
    if scale == 1 and input_scale == 1 and is_as_typed(n.number(alpha, n.dtype)):
        return n("elu", x, alpha=n.rounded(alpha))
    if input_scale == 1:
        turned = leaky_relu(n, n("elu", x, alpha=1), alpha)
        return turned if scale == 1 else n.product(n.number(scale, n.dtype), turned, slack=1)  # the kernel multiplies alpha by the scale first
    inner = n("mul", x, n.number(input_scale, n.dtype))
    below = n("mul", n("sub", n("exp", inner), 1.0), n.number(alpha * scale, n.dtype))
    return n("where", positive(n, x), n("mul", x, n.number(scale, n.dtype)), below)


def in_float32(n: Nodes, number: Ref) -> Ref:
    """A number that a backward kernel of float64 holds as a float32: it means the same, and is rounded to that."""
    return n.cast(n.cast(number, torch.float32), n.dtype)


def elu_backward(n: Nodes, g: Ref, alpha: float, scale: float, input_scale: float, is_result: bool, x: Ref) -> Ref:
    above = n("mul", g, n.number(scale, n.dtype))
    size = n("mul", n.number(alpha, n.dtype), n.number(scale, n.dtype))
    turn = n.number(input_scale, n.dtype)
    if abs(input_scale * alpha - 1) < 2.0**-22 and input_scale != 1:  # celu's: 1 over the float32
        turn = n("div", n.constant(1.0, n.dtype), in_float32(n, n.number(alpha, n.dtype)))
    inner = x if input_scale == 1 else n("mul", x, turn)
    factors = [g, n("add", x, size)] if is_result else [g, size, n("exp", inner)]  # multiplied in an order of the kernel's own
    below = n.product(*factors, *([] if input_scale == 1 else [turn]))
    return n("where", positive(n, x), above, below)


def softplus(n: Nodes, x: Ref, beta: float = 1, threshold: float = 20) -> Ref:
    inner = x if beta == 1 else n("mul", x, n.number(beta, n.dtype))
    soft = n("softplus", x) if beta == 1 else n("div", n("softplus", inner), n.number(beta, n.dtype))
    return n("where", n("less", n.constant(threshold, n.dtype), inner), x, soft) if is_past(x, beta, threshold) else soft


def is_past(x: Ref, beta: float, threshold: float) -> bool:
    """Whether an element is so large that the kernel takes it as it is."""
    return x.tensor is not None and bool((x.tensor.detach() * beta > threshold).any())


def softplus_backward(n: Nodes, g: Ref, x: Ref, beta: float, threshold: float) -> Ref:
    inner = x if beta == 1 else n("mul", x, n.number(beta, n.dtype))
    z = n("exp", inner)
    slope = n("div", n("mul", g, z), n("add", z, 1.0))
    return n("where", n("less", n.constant(threshold, n.dtype), inner), g, slope) if is_past(x, beta, threshold) else slope


def threshold_backward(n: Nodes, g: Ref, y: Ref, threshold: float) -> Ref:
    return n("where", n("less", n.constant(threshold, n.dtype), y), g, n.constant(0.0, n.dtype))


def margins(n: Nodes, x: Ref, target: Ref, margin: float, weight: Ref | None) -> tuple[Ref, Ref, torch.Tensor, Ref | None]:
    """Of each row: margin - x_y + x_j, where it counts, which one is y, and the weight of y."""
    if not target.is_fixed or target.tensor is None:
        raise Unknown("classes that real numbers decide")
    labels, classes = target.tensor.flatten(), x.shape[-1]
    own = torch.nn.functional.one_hot(labels, classes).bool()
    x = n.reshape(x, list(own.shape))
    column = [len(labels), 1]
    picked = n.gather(x, torch.arange(len(labels)) * classes + labels, column)
    z = n("add", n("sub", n.constant(margin, n.dtype), picked), x)
    counts = n("logical_and", positive(n, z), n.constant(~own, torch.bool))
    return z, counts, own, None if weight is None else n.gather(weight, labels, column)


def multi_margin(n: Nodes, x: Ref, target: Ref, p: int = 1, margin: float = 1, weight: Ref | None = None, reduction: int = 1) -> Ref:
    z, counts, own, scale = margins(n, x, target, margin, weight)
    each = z if p == 1 else n("mul", z, z)
    each = n("where", counts, each if scale is None else n("mul", each, scale), n.constant(0.0, n.dtype), dtype=n.dtype)
    rows = n("div", n.reduce("reduce_sum", each, [1], False), n.constant(float(own.shape[1]), n.dtype))
    return n.reshape(n.loose(mean_or_sum(n, rows, reduction)), n.shape)


def multi_margin_backward(n: Nodes, g: Ref, x: Ref, target: Ref, p: int, margin: float, weight: Ref | None = None, reduction: int = 1) -> Ref:
    z, counts, own, scale = margins(n, x, target, margin, weight)
    share = n("div", n.constant(1.0, n.dtype), n.constant(float(own.shape[1] * (own.shape[0] if reduction == 1 else 1)), n.dtype))
    each = n.expand(share, list(own.shape)) if p == 1 else n("mul", n("mul", n.constant(2.0, n.dtype), share), z)
    each = n("where", counts, each if scale is None else n("mul", each, scale), n.constant(0.0, n.dtype), dtype=n.dtype)
    total = n("neg", n.reduce("reduce_sum", each, [1]))
    found = n("where", n.constant(own, torch.bool), total, each, dtype=n.dtype)
    return n.reshape(n.loose(n("mul", found, n.reshape(g, [own.shape[0], 1]) if g.rank else g)), n.shape)


def rrelu(n: Nodes, x: Ref, slopes: Ref, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any) -> Ref:
    """The slopes of the elements are 1 where they are positive."""
    return n("mul", x, slopes) if training else leaky_relu(n, x, (lower + upper) / 2)


def rrelu_backward(n: Nodes, g: Ref, x: Ref, slopes: Ref, lower: float, upper: float, training: bool, is_result: bool) -> Ref:
    return n("mul", g, slopes) if training else leaky_relu_backward(n, g, x, (lower + upper) / 2, is_result)


def leaky_relu_backward(n: Nodes, g: Ref, x: Ref, slope: float, _: bool) -> Ref:
    return n("where", positive(n, x), g, n("mul", g, n.number(slope, n.dtype)))


def inside(lo: float, hi: float) -> Rule:
    """A cotangent that is kept strictly between two numbers, times a factor."""
    def rule(n: Nodes, g: Ref, x: Ref, factor: Ref | None = None) -> Ref:
        keeps = n("logical_and", n("less", n.constant(lo, n.dtype), x), n("less", x, n.constant(hi, n.dtype)))
        return n("where", keeps, g if factor is None else n("mul", g, factor), n.constant(0.0, n.dtype))
    return rule


def hardsigmoid_backward(n: Nodes, g: Ref, x: Ref) -> Ref:
    found: Ref = inside(-3.0, 3.0)(n, g, x, in_float32(n, n("div", n.constant(1.0, n.dtype), 6.0)))
    return found


def hardswish_backward(n: Nodes, g: Ref, x: Ref) -> Ref:
    middle = n("mul", g, n("add", n("div", x, 3.0), 0.5))
    above = n("where", n("less", x, 3.0), middle, g)
    return n("where", n("less", n.constant(-3.0, n.dtype), x), above, n.constant(0.0, n.dtype))


def prelu(n: Nodes, x: Ref, w: Ref) -> Ref:
    return n("prelu", x, n.expand(w, x.shape))


def prelu_backward(n: Nodes, g: Ref, x: Ref, w: Ref) -> list[Ref]:
    above = positive(n, x)
    return [n("where", above, g, n("mul", g, w)), n("where", above, n.constant(0.0, n.dtype), n("mul", x, g))]


def shrinking(n: Nodes, x: Ref, bound: float = 0.5) -> Ref:
    return n("shrink", x, alpha=n.rounded(bound), beta=n.rounded(bound))


def shrink_backward(n: Nodes, g: Ref, x: Ref, bound: float) -> Ref:
    keeps = n("logical_or", n("less", n.constant(bound, n.dtype), x), n("less", x, n.constant(-bound, n.dtype)))
    return n("where", keeps, g, n.constant(0.0, n.dtype))


def log_sigmoid(n: Nodes, x: Ref) -> Ref:
    """min(x, 0) - log(1 + exp(-|x|)), as the kernel has it. So log_sigmoid(x) and log_sigmoid(-x) differ by x: no rule knows that of two softplus."""
    below = n("less", x, n.constant(0.0, n.dtype))
    return n("sub", n("where", below, x, n.constant(0.0, n.dtype)), n("softplus", n("where", below, x, n("neg", x))))


def dense_log_sigmoid(n: Nodes, x: Ref) -> list[Ref | None]:
    return [log_sigmoid(n, x), n("exp", n("neg", n("abs", x)))]


def log_sigmoid_backward(n: Nodes, g: Ref, x: Ref, z: Ref) -> Ref:
    """From z = exp(-|x|): (m - s z / (1 + z)) g, with m = 1 and s = 1 below 0, else m = 0 and s = -1."""
    below, share = n("less", x, 0.0), n("div", z, n("add", z, 1.0))
    zero, one = n.constant(0.0, n.dtype), n.constant(1.0, n.dtype)
    return n("mul", n("sub", n("where", below, one, zero), n("mul", n("where", below, one, n("neg", one)), share)), g)


def glu(n: Nodes, x: Ref, axis: int = -1) -> Ref:
    a, b = halves(n, x, axis)
    return n("mul", a, n("sigmoid", b))


def halves(n: Nodes, x: Ref, axis: int) -> list[Ref]:
    axis, found = axis % x.rank, []
    extents = [s // 2 if i == axis else s for i, s in enumerate(x.shape)]
    for start in (0, x.shape[axis] // 2):
        found.append(n("slice", x, starts=[start if i == axis else 0 for i in range(x.rank)], steps=[1] * x.rank, extents=extents))
    return found


def glu_backward(n: Nodes, g: Ref, x: Ref, axis: int) -> Ref:
    a, b = halves(n, x, axis)
    s = n("sigmoid", b)
    return n("concat", n.product(g, s), n.product(one_minus(n, s), s, g, a), axis=axis % x.rank)


def glu_jvp(n: Nodes, y: Ref, x: Ref, x_dot: Ref, axis: int) -> Ref:
    s = n("sigmoid", halves(n, x, axis)[1])
    a_dot, b_dot = halves(n, x_dot, axis)
    return n("add", n("mul", a_dot, s), n("mul", y, n("sub", b_dot, n("mul", s, b_dot))))


def width(n: Nodes, beta: float, delta: bool) -> Ref:
    """The number of a smooth loss; Huber's first as the type has it, which a clamp of the difference gives. In 16 bits kernels may store it so."""
    return n.read(n.constant(beta, n.dtype), float(beta)) if delta and not n.is_half else n.number(beta, n.dtype)


def smooth_l1(delta: bool) -> Rule:
    """x^2 / (2 beta) inside, |x| - beta / 2 outside; Huber's loss is that times beta."""
    def rule(n: Nodes, x: Ref, y: Ref, reduction: int = 1, beta: float = 1.0) -> Ref:
        size = n("abs", n("sub", x, y))
        b, half = width(n, beta, delta), n.constant(0.5, n.dtype)
        square, line = n("mul", n("mul", half, size), size), n("sub", size, n("mul", half, b))
        found = n("where", n("less", size, n.constant(beta, n.dtype)), square if delta else n("div", square, b), n("mul", b, line) if delta else line)
        return mean_or_sum(n, found, reduction)
    return rule


def smooth_l1_backward(delta: bool) -> Rule:
    def rule(n: Nodes, g: Ref, x: Ref, y: Ref, reduction: int, beta: float) -> Ref:
        d, one, b = n("sub", x, y), n.constant(1.0, n.dtype), width(n, beta, delta)
        share = n("div", one, n.constant(float(counted(d.shape)) if reduction == 1 else 1.0, n.dtype))
        inner = n.product(share, d, g, one if delta else n("div", one, b))
        outer = n.product(share, n("sign", d), g, b if delta else one)
        return n("where", n("less", n("abs", d), n.constant(beta, n.dtype)), inner, outer)
    return rule


LOSS: dict[str, Rule] = {
    "nll_loss_forward": nll_loss, "nll_loss_backward": nll_loss_backward, "nll_loss2d_forward": nll_loss, "nll_loss2d_backward": nll_loss_backward,
    "mse_loss": mse_loss, "mse_loss_backward": mse_loss_backward, "soft_margin_loss_backward": soft_margin_backward, "binary_cross_entropy_with_logits": bce_with_logits,
    "gelu": gelu, "gelu_backward": gelu_backward,
    "silu": lambda n, x: n("silu", x, alpha=1), "silu_backward": silu_backward, "mish_backward": mish_backward, "elu": elu,
    "elu_backward": elu_backward, "softplus": softplus, "softplus_backward": softplus_backward, "threshold_backward": threshold_backward,
    "multi_margin_loss": multi_margin, "multi_margin_loss_backward": multi_margin_backward, "rrelu_with_noise": rrelu,
    "rrelu_with_noise_backward": rrelu_backward, "leaky_relu": leaky_relu, "leaky_relu_backward": leaky_relu_backward,
    "tanh_backward": lambda n, g, y: n("mul", g, one_minus(n, n("mul", y, y))),
    "sigmoid_backward": lambda n, g, y: n("mul", n("mul", g, one_minus(n, y)), y),
    "hardtanh_backward": lambda n, g, x, lo, hi: inside(lo, hi)(n, g, x), "hardsigmoid": lambda n, x: n("div", n("clip", n("add", x, 3.0), lo=0, hi=6), 6.0),
    "hardsigmoid_backward": hardsigmoid_backward, "hardswish": lambda n, x: n("hard_swish", x),
    "hardswish_backward": hardswish_backward, "_prelu_kernel": prelu, "_prelu_kernel_backward": prelu_backward, "softshrink": shrinking,
    "hardshrink": lambda n, x, bound=0.5: n("shrink", x, alpha=n.rounded(bound), beta=0), "softshrink_backward": shrink_backward,
    "hardshrink_backward": shrink_backward, "log_sigmoid_forward": dense_log_sigmoid, "log_sigmoid_backward": log_sigmoid_backward, "glu": glu,
    "smooth_l1_loss": smooth_l1(False), "huber_loss": smooth_l1(True), "smooth_l1_loss_backward": smooth_l1_backward(False),
    "huber_loss_backward": smooth_l1_backward(True),
    "glu_backward": glu_backward, "glu_jvp": glu_jvp,
}
