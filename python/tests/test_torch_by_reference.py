"""Functions whose operations no recorder sees, judged by PyTorch code that computes the same: right ones pass, and wrong ones do not, whatever is wrong."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")

import numpy as np  # noqa: E402
from assay import GradcheckError, UsageError, gradcheck  # noqa: E402

SINGLE = np.float32


def opaque(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function in NumPy: `backward` takes the tensors that `forward` took, and the cotangents."""
    def arrays(tensors: Any) -> list[Any]:
        return [one.detach().numpy() if isinstance(one, torch.Tensor) else one for one in tensors]

    def tensors(found: Any) -> Any:
        return tuple(None if one is None else torch.from_numpy(np.array(one)) for one in (found if isinstance(found, tuple) else (found,)))

    class Opaque(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            ctx.save_for_backward(*given)
            found = tensors(forward(*arrays(given)))
            return found if len(found) > 1 else found[0]

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> Any:
            return tensors(backward(*arrays(ctx.saved_tensors), *arrays(bars)))
    return Opaque.apply


def outcome(function: Any, inputs: Any, reference: Any, **options: Any) -> str:
    """The verdict, and the rule of the first finding that decides."""
    try:
        gradcheck(function, inputs, reference=reference, **options)
    except GradcheckError as error:
        return f"{error.report.verdict} {error.report.findings[0].rule.partition('.')[0 if error.report.findings[0].rule.startswith('contract') else 2]}"
    return "passed"


def rms(x: Any, w: Any) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True, dtype=SINGLE) + SINGLE(1e-6)) * w


def rms_backward(x: Any, w: Any, g: Any) -> tuple[Any, ...]:
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True, dtype=SINGLE) + SINGLE(1e-6))
    return r * (g * w - x * r * r * (g * w * x).mean(-1, keepdims=True)), (g * x * r).reshape(-1, len(w)).sum(0)


def rms_by_torch(x: Any, w: Any) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def with_nan(x: Any, w: Any, g: Any) -> tuple[Any, ...]:
    by_x, by_w = rms_backward(x, w, g)
    by_x.reshape(-1)[0] = np.nan
    return by_x, by_w


def without_tail(x: Any, w: Any, g: Any) -> tuple[Any, ...]:
    """Loses what is behind the last whole block of 32 columns."""
    by_x, by_w = rms_backward(x, w, g)
    by_x[..., x.shape[-1] // 32 * 32 if x.shape[-1] > 32 else x.shape[-1]:] = 0
    return by_x, by_w


def as_dense(x: Any, w: Any, g: Any) -> tuple[Any, ...]:
    """Reads a cotangent as a kernel without strides does."""
    dense = np.lib.stride_tricks.as_strided(g, g.shape, np.zeros(g.shape, g.dtype).strides) if abs(g.strides[0]) > 0 else g
    return rms_backward(x, w, dense)


def into_its_cotangent(x: Any, w: Any, g: Any) -> tuple[Any, ...]:
    found = rms_backward(x, w, g)
    g *= 2
    return found


SHAPES = [(5, 8), (8,)]


def test_a_right_kernel_passes_and_wrong_ones_do_not() -> None:
    step = SINGLE(1 + 1e-6)
    found = {name: outcome(opaque(forward, backward), SHAPES, rms_by_torch) for name, (forward, backward) in {
        "right": (rms, rms_backward),
        "a result off by 1e-6": (lambda x, w: rms(x, w) * step, rms_backward),
        "a gradient off by 1e-6": (rms, lambda x, w, g: (rms_backward(x, w, g)[0] * step, rms_backward(x, w, g)[1])),
        "another gradient off by 1e-6": (rms, lambda x, w, g: (rms_backward(x, w, g)[0], rms_backward(x, w, g)[1] * step)),
        "no gradient": (rms, lambda x, w, g: (rms_backward(x, w, g)[0], None)),
        "NaN": (rms, with_nan),
        "a lost term": (rms, lambda x, w, g: (g * w / np.sqrt((x * x).mean(-1, keepdims=True) + SINGLE(1e-6)), rms_backward(x, w, g)[1])),
        "another shape": (lambda x, w: rms(x, w)[:-1], rms_backward),
        "a lost tail": (rms, without_tail),
        "strides that are not read": (rms, as_dense),
        "a write to the cotangent": (rms, into_its_cotangent)}.items()}
    assert found == {"right": "passed", "a result off by 1e-6": "failed contract", "a gradient off by 1e-6": "failed contract", "another gradient off by 1e-6": "failed contract",
                     "no gradient": "failed missing", "NaN": "failed contract", "a lost term": "failed contract", "another shape": "failed reference", "a lost tail": "undecided elsewhere",
                     "strides that are not read": "undecided elsewhere", "a write to the cotangent": "failed cotangent"}


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_backward(x: Any, g: Any) -> Any:
    y = softmax(x)
    return y * (g - (g * y).sum(-1, keepdims=True))


def attention_backward(q: Any, k: Any, v: Any, g: Any) -> tuple[Any, ...]:
    scale = SINGLE(q.shape[-1] ** -0.5)
    p, by_p = softmax(q @ k.swapaxes(-1, -2) * scale), g @ v.swapaxes(-1, -2)
    by_s = p * (by_p - (by_p * p).sum(-1, keepdims=True)) * scale
    return by_s @ k, by_s.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


def swish(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def entropy_backward(x: Any, t: Any, g: Any) -> tuple[Any, ...]:
    p = softmax(x)
    p[np.arange(len(t)), t] -= 1
    return p * g / SINGLE(len(t)), None


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + SINGLE(1e-5)) * w + b


def layer_norm_backward(x: Any, w: Any, b: Any, g: Any) -> tuple[Any, ...]:
    centred = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + SINGLE(1e-5))
    y, by_y = centred * r, g * w
    return r * (by_y - by_y.mean(-1, keepdims=True) - y * (by_y * y).mean(-1, keepdims=True)), (g * y).sum(0), g.sum(0)


def gelu(x: Any) -> Any:
    return SINGLE(0.5) * x * (1 + np.tanh(SINGLE(0.7978845608) * (x + SINGLE(0.044715) * x**3)))


def gelu_backward(x: Any, g: Any) -> Any:
    t = np.tanh(SINGLE(0.7978845608) * (x + SINGLE(0.044715) * x**3))
    return g * SINGLE(0.5) * (1 + t + x * (1 - t * t) * SINGLE(0.7978845608) * (1 + 3 * SINGLE(0.044715) * x * x))


def embedding_backward(w: Any, i: Any, g: Any) -> tuple[Any, ...]:
    found = np.zeros_like(w)
    np.add.at(found, i, g)
    return found, None


def counts(m: Any) -> Any:
    return np.maximum(m.sum(-1), 1).astype(SINGLE)


def cosine(a: Any, b: Any) -> Any:
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1) + SINGLE(1e-8))


def cosine_backward(a: Any, b: Any, g: Any) -> tuple[Any, ...]:
    aa, bb, ab = ((one * other).sum(-1, keepdims=True) for one, other in ((a, a), (b, b), (a, b)))
    n, g = np.sqrt(aa * bb + SINGLE(1e-8)), g[:, None]
    return g * (b / n - a * (ab / n**3 * bb)), g * (a / n - b * (ab / n**3 * aa))


RIGHT: dict[str, Any] = {
    "softmax in other steps": (softmax, softmax_backward, [(4, 7)], lambda x: (e := torch.exp(x - x.amax(-1, keepdim=True).detach())) / e.sum(-1, keepdim=True)),
    "attention": (lambda q, k, v: softmax(q @ k.swapaxes(-1, -2) / SINGLE(q.shape[-1] ** 0.5)) @ v, attention_backward, [(5, 4), (6, 4), (6, 3)],
                  lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v),
    "swiglu": (lambda a, b: a * swish(a) * b, lambda a, b, g: (g * b * (swish(a) * (1 + a * (1 - swish(a)))), g * a * swish(a)), [(4, 7), (4, 7)],
               lambda a, b: torch.nn.functional.silu(a) * b),
    "cross entropy": (lambda x, t: np.mean(np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1) - x[np.arange(len(t)), t], dtype=SINGLE), entropy_backward,
                      [(6, 5), torch.tensor([0, 3, 4, 1, 1, 2])], torch.nn.functional.cross_entropy),
    "two results": (lambda x, y: (x * y, x + y), lambda x, y, g, h: (g * y + h, g * x + h), [(4, 7), (4, 7)], lambda x, y: (x * y, x + y)),
    "both sides of thresholds": (lambda x: np.clip(x, 0, 6), lambda x, g: g * (x > 0) * (x < 6), [(4, 3)], lambda x: x.clamp(0, 6)),
    "layer norm": (layer_norm, layer_norm_backward, [(5, 8), (8,), (8,)], lambda x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5)),
    "GELU": (gelu, gelu_backward, [(4, 7)], lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    "embedding": (lambda w, i: w[i], embedding_backward, [(6, 3), torch.tensor([3, 1, 4, 0])], lambda w, i: torch.nn.functional.embedding(i, w)),
    "inverted permutation": (lambda x, p: x[p], lambda x, p, g: (g[np.argsort(p)], None), [(4, 3), torch.tensor([2, 0, 3, 1])], lambda x, p: x[p]),
    "masked mean": (lambda x, m: (x * m).sum(-1) / counts(m), lambda x, m, g: (m * (g / counts(m))[:, None], None),
                    [(2, 3), torch.tensor([[True, False, True], [True, True, True]])], lambda x, m: (x * m).sum(-1) / m.sum(-1).clamp(min=1)),
    "log-sum-exp": (lambda x: np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1), lambda x, g: g[:, None] * softmax(x), [(4, 7)], lambda x: torch.logsumexp(x, -1)),
    "cosine, whose sums of whole numbers cancel": (cosine, cosine_backward, [(4, 7), (4, 7)], lambda a, b: (a * b).sum(-1) / torch.sqrt((a * a).sum(-1) * (b * b).sum(-1) + 1e-8)),
    "softmax in float32 of float16": (lambda x: softmax(x.astype(SINGLE)).astype(np.float16), lambda x, g: softmax_backward(x.astype(SINGLE), g.astype(SINGLE)).astype(np.float16),
                                      [torch.linspace(-2, 2, 12).reshape(3, 4).half().requires_grad_()], lambda x: torch.softmax(x.float(), -1).half()),
    "float64": (softmax, softmax_backward, [torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()], lambda x: torch.softmax(x, -1)),
}


@pytest.mark.filterwarnings("ignore")
def test_right_kernels_of_other_formulas_pass() -> None:
    assert {name: outcome(opaque(forward, backward), inputs, reference) for name, (forward, backward, inputs, reference) in RIGHT.items()} == dict.fromkeys(RIGHT, "passed")


def test_a_factor_within_the_contract_of_each_number() -> None:
    """The contract of a softmax allows an exp that is off by four units, and all numbers off by 1e-6: not all in one direction."""
    def off(x: Any, g: Any) -> Any:
        return softmax_backward(x, g) * SINGLE(1 + 1e-6)
    inputs, (softmax_of, attention) = [(4, 7)], (RIGHT["softmax in other steps"][3], RIGHT["attention"])
    assert outcome(opaque(softmax, off), inputs, softmax_of) == "undecided reference"
    assert outcome(opaque(lambda x: softmax(x) * SINGLE(1 - 1e-6), softmax_backward), inputs, softmax_of) == "undecided contract"  # some number is just outside
    by_key = opaque(attention[0], lambda q, k, v, g: tuple(one * SINGLE(1 + 1e-6 * (i == 1)) for i, one in enumerate(attention_backward(q, k, v, g))))
    assert outcome(by_key, attention[2], attention[3]) == "undecided reference"


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


class Square(torch.autograd.Function):
    """Differentiable twice: the backward pass is opaque, too, and has a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.from_numpy(x.detach().numpy() ** 2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, = ctx.saved_tensors
        return opaque(lambda x, g: 2 * x * g, lambda x, g, h: (SINGLE(Square.factor) * g * h, 2 * x * h))(x, g)

    factor = 2.0


class Keeps(torch.autograd.Function):
    last: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Keeps.last = x.detach().clone()
        return torch.from_numpy(x.detach().numpy() ** 2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * Keeps.last * g


@pytest.mark.filterwarnings("ignore")
def test_what_else_may_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    def square(x: Any) -> Any:
        return x * x
    assert outcome(Square.apply, [(4, 3)], square, check_grad_grad=True) == "passed"
    assert outcome(opaque(lambda x: x * x, lambda x, g: 2 * x * g), [(4, 3)], square, check_grad_grad=True) == "failed missing"
    assert outcome(Keeps.apply, [(4, 3)], square) == "undecided elsewhere"  # the backward reads what another call left
    monkeypatch.setattr(Square, "factor", 3.0)
    assert outcome(Square.apply, [(4, 3)], square, check_grad_grad=True) == "failed contract"
    # One side of a threshold of the reference alone, and kinks, where another gradient is right, too.
    assert outcome(opaque(lambda x: np.clip(x, 0, 6), lambda x, g: g * (x > 0)), [(4, 3)], lambda x: x.clamp(0, 6)) == "failed contract"
    zeros = torch.tensor([0.0, 1.0, -1.0, 0.0, 2.0], requires_grad=True)
    assert outcome(opaque(relu, lambda x, g: g * (x >= 0)), [zeros], torch.relu) == "undecided contract"
    assert outcome(opaque(relu, lambda x, g: g * (x > -1)), [zeros], torch.relu) == "failed contract"
    # A gradient that should not be there, one that is cut off, and an input that is written.
    assert outcome(opaque(lambda x, y: x + 0 * y, lambda x, y, g: (g, g)), [(3,), (3,)], lambda x, y: x * 1) == "failed reference"
    assert outcome(lambda x: torch.from_numpy(relu(x.detach().numpy())), [(3,)], torch.relu) == "failed missing"
    assert outcome(opaque(lambda x: np.multiply(x, 2, out=x).copy(), lambda x, g: 2 * g), [(3,)], lambda x: 2 * x) == "failed reference"
    # A reference that cannot be judged decides nothing.
    assert outcome(opaque(relu, lambda x, g: g * (x > 0)), [(3,)], lambda x: torch.special.i0(x)) == "undecided opaque"
    assert outcome(opaque(lambda x: np.linalg.inv(x), lambda x, g: g), [(3, 3)], torch.linalg.inv) == "undecided opaque"
    assert outcome(lambda x: opaque(relu, lambda x, g: g * (x > 0))(x) * torch.rand(()), [(3,)], lambda x: x.relu() * torch.rand(()) * torch.rand(())) == "undecided contract"


def test_faults_at_numbers_sizes_and_cotangents_that_draws_seldom_have() -> None:
    """Whole and equal numbers, where functions are smooth; large and small cotangents; a size beyond 1,024."""
    def exp_with(change: Callable[[Any, Any], Any]) -> str:
        return outcome(opaque(np.exp, lambda x, g: np.exp(x) * change(x, g)), [(3, 4)], torch.exp)
    with np.errstate(all="ignore"):
        assert {name: exp_with(change) for name, change in {
            "NaN at 0": lambda x, g: g * x / x,
            "a number": lambda x, g: g * np.where(x == 1, SINGLE(3), SINGLE(1)),
            "equal rows": lambda x, g: g * (2 if (x == x.flat[0]).all() and x.size > 1 else 1),
            "a clipped cotangent": lambda x, g: g.clip(-1000, 1000),
            "a cotangent set to 0": lambda x, g: np.where(abs(g) < 1e-4, SINGLE(0), g),
            "a long axis": lambda x, g: g * (1 if max(x.shape) <= 1024 else 0)}.items()} == dict.fromkeys(
                ["NaN at 0", "a number", "equal rows", "a clipped cotangent", "a cotangent set to 0", "a long axis"], "undecided elsewhere")
    # At 0, 1 and at ties these have kinks, or their sums are exact, and other formulas are right.
    assert outcome(opaque(lambda x: x.clip(0, 1), lambda x, g: g * (x > 0) * (x < 1)), [(4, 3)], lambda x: x.clamp(0, 1)) == "passed"
    assert outcome(opaque(lambda x: x.max(-1), lambda x, g: g[:, None] * (x.argmax(-1)[:, None] == np.arange(x.shape[-1]))), [(4, 3)], lambda x: x.amax(-1)) == "passed"


def test_parameters_are_judged_too() -> None:
    layer = torch.nn.Linear(4, 3)
    for factor, wanted in ((1, "passed"), (2, "failed contract")):
        linear = opaque(lambda x, w, b: x @ w.T + b, lambda x, w, b, g: (g @ w, g.T @ x, factor * g.sum(0)))
        assert outcome(lambda x: linear(x, layer.weight, layer.bias), [(5, 4)], layer, params=layer) == wanted


def test_a_parameter_that_is_0_hides_nothing() -> None:
    gain, layer = torch.nn.Parameter(torch.zeros(3)), torch.nn.Linear(4, 3)
    for factor, wanted in ((1, "passed"), (2, "undecided dead")):
        scaled = opaque(lambda y, s: y * s, lambda y, s, g: (factor * g * s, (g * y).sum(0)))
        assert outcome(lambda x: scaled(layer(x), gain), [(5, 4)], lambda x: layer(x) * gain, params={"gain": gain, "weight": layer.weight}) == wanted


def test_wrong_use() -> None:
    for options in ({"model": "any-order"}, {"reference": "relu"}, {"reference": torch.relu, "check_forward_ad": True}, {"reference": torch.relu, "kinks": "pytorch"},
                    {"reference": torch.relu, "model": "nonesuch"}, {"reference": lambda x: torch.complex(x, x)}):
        with pytest.raises(UsageError):
            gradcheck(torch.relu, [(3,)], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("off, is_small", [(2.0**-23, True), (2.0**-10, False)])
def test_a_small_error_in_another_call_may_come_of_another_formula(off: float, is_small: bool) -> None:
    def square(x: Any) -> Any:
        return x * x * SINGLE(1 if x.flags.c_contiguous else 1 + off)
    with pytest.raises(GradcheckError) as wrong:
        gradcheck(opaque(square, lambda x, g: 2 * x * g), [(5, 8)], reference=lambda x: x * x)
    text = str(wrong.value)
    assert wrong.value.report.undecided and "gradient.elsewhere" in text and ("another formula" in text, "Mend it" in text) == (is_small, not is_small)


def exp_backward(x: Any, g: Any) -> Any:
    """Right where numbers are of usual size, of both signs, and several along each axis."""
    g = np.where(abs(g) < 1e-8, SINGLE(0), g.clip(-65504, 65504))
    g = g * (2 if x.shape[-1] == 1 else 3 if (x < 0).all() else 1) - (g < 0).all()
    return (g if g.any() else g + 1) * np.exp(x) * np.where((x == 0).all(-1, keepdims=True), SINGLE(np.nan), SINGLE(1))


class Stale(torch.autograd.Function):
    """Keeps results by the place of the tensor in memory."""

    kept: dict[Any, Any] = {}

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return Stale.kept.setdefault(Stale.key(x), x.detach().exp()).clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].exp()

    @staticmethod
    def key(x: Any) -> Any:
        return x.data_ptr()


def wrong_calls(function: Any, inputs: Any, reference: Any) -> str:
    """The text of the finding that names all calls in which a function is wrong."""
    with pytest.raises(GradcheckError) as wrong:
        gradcheck(function, inputs, reference=reference)
    assert wrong.value.report.undecided and wrong.value.report.findings[0].rule == "gradient.elsewhere"
    return str(wrong.value)


def test_faults_that_random_draws_do_not_show() -> None:
    """Axes of one element, signs, sizes and zeros; each alone passed once."""
    with np.errstate(all="ignore"):
        text = wrong_calls(opaque(np.exp, exp_backward), [(3, 4)], torch.exp)
    assert {what for what in ("shapes (3, 1)", "equal numbers below 0", "large cotangents", "small cotangents", "a sum that is subtracted", "cotangents of 0", ", zeros", "a row of zeros")
            if what not in text} == set()
    # One result alone has a cotangent: the other's is 0 everywhere.
    by_all = opaque(lambda x, w: x * w, lambda x, w, g: (g * w, (g * x).sum(0) / SINGLE(len(x) > 0)))
    with np.errstate(all="ignore"):
        assert "with inputs of shapes (0, 3), (3,) its gradient of input 1 is another" in wrong_calls(by_all, [(4, 3), (3,)], lambda x, w: x * w)
    both = wrong_calls(opaque(lambda x, y: (x * y, x + y), lambda x, y, g, h: (g * y + h, g * x + h * (g.any() or 2))), [(4, 3), (4, 3)], lambda x, y: (x * y, x + y))
    assert "a cotangent of result 1 alone" in both


def test_faults_that_given_integers_do_not_show() -> None:
    places, mask = torch.tensor([3, 1, 0]), torch.ones(3, 2, dtype=torch.bool)
    def put(w: Any, i: Any, m: Any, g: Any) -> Any:
        found = np.zeros_like(w)
        found[i] = g  # and not added
        return found, None, None
    text = wrong_calls(opaque(lambda w, i, m: np.where(m, w[i], 0), put), [(4, 2), places, mask], lambda w, i, m: w[i] * m)
    assert "input 1 has repeated numbers" in text and "input 2 has drawn truth values" in text


def test_results_that_are_kept_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the place of a tensor in memory, or by its shape. Those that are kept by what a tensor holds are right."""
    for key, wanted in ((Stale.key, "inputs whose memory held other numbers"), (lambda x: x.shape, "other numbers in the same shapes")):
        monkeypatch.setattr(Stale, "key", key)
        Stale.kept.clear()
        assert wanted in wrong_calls(Stale.apply, [torch.randn(3, requires_grad=True)], torch.exp)
    monkeypatch.setattr(Stale, "key", lambda x: (x.shape, x.detach().numpy().tobytes()))
    assert outcome(Stale.apply, [(3, 4)], torch.exp) == "passed"
