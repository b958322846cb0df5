"""Functions that are wrong where they are called in another way than the one that was judged, or beside other settings: undecided by name. Right ones pass."""
from __future__ import annotations

import random
import threading
import types

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
import numpy  # noqa: E402

from assay import GradcheckError, gradcheck  # noqa: E402
from test_torch_reads import of_forward  # noqa: E402
from wrong_cotangents import of_square  # noqa: E402

S = (4, 3)
LOCAL, SETTINGS, HELD, IS_FAST, LEVEL = threading.local(), {"mode": "plain", "causal": False}, types.SimpleNamespace(mode="plain"), False, 1


def of_product(decides, is_right=False):
    """a * b; where the forward pass decides so, its backward gives twice the gradient of a."""
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.is_other = decides(a, b)
            return a * a if ctx.is_other and is_right else a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            if ctx.is_other and is_right:
                return 2 * a * g, None
            return (2 if ctx.is_other else 1) * g * b, g * a
    return Product.apply


def decided_by(decides):
    return of_square(lambda g, x: (3 if decides(x) else 2) * x * g)


SETTING = {
    "LOCAL.mode": lambda _: getattr(LOCAL, "mode", None) == "fast", r"SETTINGS\['mode'\]": lambda _: SETTINGS["mode"] == "fast", r"SETTINGS\['other'\]": lambda _: SETTINGS.get("other"),
    "HELD.mode": lambda _: HELD.mode == "fast", "IS_FAST": lambda _: IS_FAST, "LEVEL is 2": lambda _: LEVEL == 2,
    r"flags\[0\]": (lambda flags: lambda _: flags[0])([False]), "the default type": lambda _: torch.zeros(1).dtype == torch.float64,
    "switches of torch.backends": lambda _: torch.backends.cudnn.benchmark, "switches of torch.backends ": lambda _: not torch.backends.mkldnn.enabled, "determinism": lambda _: torch.are_deterministic_algorithms_enabled(), "another library": lambda _: not torch.backends.mkldnn.is_available()}
OF_TENSORS = {"Parameters": lambda x: isinstance(x, torch.nn.Parameter), "Parameters ": lambda x: type(x) is not torch.Tensor, "attributes .*'tag'": lambda x: getattr(x, "tag", False)}
OF_PAIRS = {"one tensor": lambda a, b: a is b, "one tensor ": lambda a, b: len({a, b}) == 1, "one memory": lambda a, b: a.untyped_storage()._cdata == b.untyped_storage()._cdata}


@pytest.mark.parametrize("name", SETTING)
def test_what_is_wrong_beside_another_setting_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match=f"gradients are right as the function was called, and wrong where .*{name.strip()}") as found:
        gradcheck(decided_by(SETTING[name]), [S])
    assert found.value.undecided and "gradient.elsewhere" in str(found.value)
    assert not hasattr(LOCAL, "mode") and SETTINGS == {"mode": "plain", "causal": False} and HELD.mode == "plain" and not IS_FAST and LEVEL == 1


@pytest.mark.parametrize("name", OF_TENSORS)
def test_what_is_wrong_for_another_kind_of_tensor_is_undecided(name: str) -> None:
    for function in (decided_by(OF_TENSORS[name]), of_forward(OF_TENSORS[name])):
        with pytest.raises(GradcheckError, match=f"and wrong for inputs .*{name.strip()}") as found:
            gradcheck(function, torch.randn(S, requires_grad=True))
        assert found.value.undecided


@pytest.mark.parametrize("name", ["one tensor", "one tensor "])
def test_what_is_wrong_for_one_tensor_given_twice_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match="and wrong for one tensor as inputs 0 and 1") as found:
        gradcheck(of_product(OF_PAIRS[name]), [S, S])
    assert found.value.undecided


def test_what_is_wrong_where_another_input_asks_for_a_gradient_is_undecided() -> None:
    wrong = of_product(lambda a, b: b.requires_grad)
    with pytest.raises(GradcheckError, match="and wrong where all inputs ask for a gradient"):
        gradcheck(wrong, [torch.randn(S, requires_grad=True), torch.randn(S)])


class Causal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cumsum(0) if SETTINGS["causal"] else x * x

    @staticmethod
    def backward(ctx, g):
        return g.flip(0).cumsum(0).flip(0) if SETTINGS["causal"] else 2 * g * ctx.saved_tensors[0]


class Sliced(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.cat([x[:64] ** 2, x[64:]])

    @staticmethod
    def backward(ctx, g):
        return torch.cat([2 * ctx.saved_tensors[0][:64] * g[:64], g[64:]])


def dropped(draw):
    class Dropped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask = torch.as_tensor(draw(tuple(x.shape))).to(x.dtype) / 0.7
            ctx.save_for_backward(mask)
            return x * mask

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    return Dropped.apply


def of_depth(draw):
    """A layer that is left out at random."""
    class Depth(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.is_kept = draw() < 0.5
            return x * x if ctx.is_kept else 3 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0] if ctx.is_kept else 3 * g
    return Depth.apply


class Kinds(Sliced):
    """Which of its formulas is taken was said where it was made."""

    fault = None

    @staticmethod
    def backward(ctx, g):
        return 3 * g if Kinds.fault == "three" else Sliced.backward(ctx, g)


RIGHT = {
    "a name of the function around": (decided_by((lambda flag: lambda _: flag)(False)), [S]), "an attribute of its class": (Kinds.apply, [S]),
    "a setting of both passes": (Causal.apply, [S]), "a slice of both passes": (Sliced.apply, [S]), "one tensor twice": (of_product(lambda a, b: a is b, True), [S, S]),
    "Parameters": (decided_by(lambda x: isinstance(x, torch.nn.Parameter) and False), [S]), "a mask of NumPy's": (dropped(lambda shape: numpy.random.rand(*shape) > 0.3), [S]),
    "numbers of NumPy's": (dropped(lambda shape: numpy.random.binomial(1, 0.7, size=shape)), [S]), "a mask of a list": (dropped(lambda shape: [[random.random() > 0.3 for _ in range(3)] for _ in range(4)]
                                                                                                                                if shape == S else numpy.ones(shape)), [S]),
    "a layer that Python leaves out": (of_depth(lambda: random.random()), [S]), "a layer that NumPy leaves out": (of_depth(lambda: numpy.random.rand()), [S])}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(name: str) -> None:
    function, inputs = RIGHT[name]
    assert gradcheck(function, inputs)


RARE = {
    "numpy": lambda: numpy.random.rand() < 1e-9, "an integer of numpy": lambda: numpy.random.randint(10**9) == 7, "an array": lambda: bool((numpy.random.rand(9) < 1e-9).any()),
    "an element": lambda: numpy.random.rand(9)[3] < 1e-9, "python": lambda: random.random() < 1e-9, "an integer of python": lambda: random.randint(0, 10**9) == 7,
    "torch": lambda: torch.rand(()) < 1e-9}


@pytest.mark.parametrize("name", RARE)
def test_a_rare_random_number_that_decides_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match="no input lay where the Function takes another branch"):
        gradcheck(of_forward(lambda _: RARE[name]()), [S])


def test_generators_are_where_they_were() -> None:
    numpy.random.seed(5)
    random.seed(5)
    first = numpy.random.rand(), random.random()
    numpy.random.seed(5)
    random.seed(5)
    assert gradcheck(RIGHT["a layer that NumPy leaves out"][0], [S])
    assert first == (numpy.random.rand(), random.random())


GENERATOR = numpy.random.default_rng(0)


def test_a_generator_of_its_own_is_undecided_by_name() -> None:
    with pytest.raises(GradcheckError, match="asks for GENERATOR.random at test_torch_variants.py:"):
        gradcheck(of_forward(lambda _: GENERATOR.random() < 1e-9), [S])


@pytest.mark.parametrize("mask", [lambda x: torch.rand(x.shape) < 1e-5, lambda x: torch.from_numpy(numpy.random.rand(*x.shape) < 1e-5)], ids=["torch", "numpy"])
def test_a_rare_random_mask_that_the_backward_reads_is_undecided(mask) -> None:
    class Masked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, mask(x))
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, kept = ctx.saved_tensors
            return torch.where(kept, 3.0, 2.0) * x * g
    with pytest.raises(GradcheckError, match="no input lay where the Function takes another branch"):
        gradcheck(Masked.apply, [S])


COUNTED = {
    "a filtered list": lambda x: len([v for v in x.flatten().tolist() if v > 1]) == 7, "filtered tensors": lambda x: len([v for v in x.flatten() if v > 1]) == 12,
    "a filter": lambda x: len(list(filter(lambda v: v > 1, x.flatten().tolist()))) == 12, "no element": lambda x: not [v for v in x.flatten().tolist() if v < 1],
    "a loop": lambda x: counted(x) == 12}


def counted(x):
    count = 0
    for v in x.flatten().tolist():
        if v > 1:
            count += 1
    return count


@pytest.mark.parametrize("name", COUNTED)
def test_the_length_of_a_filtered_list_is_no_operand(name: str) -> None:
    with pytest.raises(GradcheckError, match="failed|the length of a filtered list at test_torch_variants.py:"):
        gradcheck(decided_by(COUNTED[name]), [S])


SLICES = {
    "a slice": lambda g, x: torch.cat([2 * x[:64], 3 * x[64:]]) * g, "parts": lambda g, x: torch.cat([one * (2 if i == 0 else 3) for i, one in enumerate(x.split(64))]) * g,
    "steps": lambda g, x: torch.stack([(2 if i < 100 else 3) * x[i] * g[i] for i in range(len(x))]), "a smaller number": lambda g, x: (lambda n: torch.cat([2 * x[:n], 3 * x[n:]]) * g)(min(len(x), 64)),
    "columns": lambda g, x: torch.cat([2 * x[:, :3000], 3 * x[:, 3000:]], 1) * g}


@pytest.mark.parametrize("name", SLICES)
def test_what_is_wrong_beyond_a_slice_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match="gradients are right for inputs of the shapes .4, 3., and wrong for") as found:
        gradcheck(of_square(SLICES[name]), [S])
    assert found.value.undecided and "gradient.elsewhere" in str(found.value)


OVERFLOWS = {"isinf": lambda x: torch.isinf(torch.exp(x)), "isnan": lambda x: torch.isnan(torch.exp(x) - torch.exp(x)), "isfinite": lambda x: ~torch.isfinite(x * x * 1e30)}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_what_is_wrong_where_numbers_overflow_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match="a backward that asks whether numbers are finite differs from PyTorch's gradient") as found:
        gradcheck(of_square(lambda g, x: torch.where(OVERFLOWS[name](x), 3.0, 2.0) * x * g), [S])
    assert found.value.undecided


def test_right_ones_that_ask_whether_numbers_are_finite_pass() -> None:
    class Softplus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.log1p(torch.exp(x))

        @staticmethod
        def backward(ctx, g):
            e = torch.exp(ctx.saved_tensors[0])
            return g * torch.where(torch.isinf(e), torch.ones_like(e), e / (1 + e))
    with pytest.warns(match="no input lay here"):
        assert gradcheck(Softplus.apply, [S])


def test_a_function_that_asks_whether_its_result_is_finite_is_not_accused() -> None:
    """An exponential of large inputs is infinite, which is no fault of its backward."""
    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            e = ctx.saved_tensors[0].exp()
            return g * e if bool(torch.isfinite(e).all()) else g * torch.nan_to_num(e)
    with pytest.raises(GradcheckError) as found:
        gradcheck(Exponential.apply, [S])
    assert found.value.undecided


def of_places(forward, backward):
    class Placed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, i):
            ctx.save_for_backward(x, i)
            return forward(x, i)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors), None
    return Placed.apply


ROWS, ORDER, OPEN = torch.tensor([0, 2, 3]), torch.tensor([1, 0, 3, 2]), torch.ones(4, 3, dtype=torch.bool)
NUMBERS = {  # the forward, a backward that is right for the given numbers alone, a right one, the numbers
    "rows": (lambda x, i: x[i], lambda g, x, i: torch.zeros_like(x).index_copy(0, i, g), lambda g, x, i: torch.zeros_like(x).index_add(0, i, g), ROWS),
    "order": (lambda x, i: x[i], lambda g, x, i: g[i], lambda g, x, i: g[i.argsort()], ORDER),
    "an order, once": (lambda x, i: x[i], lambda g, x, i: torch.zeros_like(x).index_copy(0, i, g), lambda g, x, i: torch.zeros_like(x).index_add(0, i, g), ORDER),
    "all places": (lambda x, i: x.index_select(0, i), lambda g, x, i: torch.zeros_like(x).index_put((i,), g), lambda g, x, i: torch.zeros_like(x).index_put((i,), g, True), torch.arange(4)),
    "places of ones": (lambda x, i: torch.nn.functional.one_hot(i, 4).float() @ x, lambda g, x, i: torch.zeros_like(x).index_copy(0, i, g), lambda g, x, i: torch.zeros_like(x).index_add(0, i, g), ORDER),
    "two places": (lambda x, i: x[i], lambda g, x, i: torch.zeros_like(x).index_copy(0, i, g), lambda g, x, i: torch.zeros_like(x).index_add(0, i, g), torch.tensor([3, 1])),
    "places in columns": (lambda x, i: x.gather(0, i), lambda g, x, i: torch.zeros_like(x).scatter(0, i, g), lambda g, x, i: torch.zeros_like(x).scatter_add(0, i, g),
                          torch.tensor([[2, 0, 1], [3, 2, 0], [0, 1, 2]])),
    "mask": (lambda x, i: x * i, lambda g, x, i: g, lambda g, x, i: g * i, OPEN)}


@pytest.mark.parametrize("name", NUMBERS)
def test_other_numbers_and_truth_values_are_tried(name) -> None:
    forward, wrong, right, given = NUMBERS[name]
    with pytest.raises(GradcheckError, match="wrong for input 1 with") as found:
        gradcheck(of_places(forward, wrong), [S, given])
    assert found.value.undecided
    assert gradcheck(of_places(forward, right), [S, given])


def test_a_place_of_several_numbers_is_repeated() -> None:
    class Taken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, rows, columns, adds):
            ctx.save_for_backward(x, rows, columns)
            ctx.adds = adds
            return x[rows, columns]

        @staticmethod
        def backward(ctx, g):
            x, rows, columns = ctx.saved_tensors
            return torch.zeros_like(x).index_put((rows, columns), g, ctx.adds), None, None, None
    places = [torch.tensor([3, 0, 3, 1]), torch.tensor([1, 1, 0, 2])]
    assert gradcheck(lambda *given: Taken.apply(*given, True), [S, *places])
    with pytest.raises(GradcheckError, match="wrong for inputs 1, 2 with a repeated place"):
        gradcheck(lambda *given: Taken.apply(*given, False), [S, *places])


def test_a_program_beside_whole_numbers_may_ask_for_gradients_itself() -> None:
    placed = of_places(*(NUMBERS["rows"][k] for k in (0, 2)))

    def penalised(x, i):
        y = placed(x, i)
        slope, = torch.autograd.grad(y.square().sum(), x, retain_graph=True)
        return y + slope.detach()[i]
    with pytest.warns(match="detach"):
        assert gradcheck(penalised, [S, ROWS])


def test_numbers_that_have_to_stay_as_they_are_do() -> None:
    rows = torch.tensor([0, 2, 3])
    assert gradcheck(of_places(lambda x, i: x.index_fill(0, i, 0.0), lambda g, x, i: g.index_fill(0, i, 0.0)), [S, rows])
    parts = torch.tensor([0, 2, 4])  # where parts begin
    assert gradcheck(of_places(lambda x, i: torch.stack([x[i[k]:i[k + 1]].sum(0) for k in range(2)]), lambda g, x, i: torch.cat([g[k].expand(int(i[k + 1] - i[k]), *g.shape[1:]) for k in range(2)])), [S, parts])


@pytest.mark.parametrize("what", ["result", "operand"])
def test_a_tensor_that_is_kept_without_saving_it_is_found(what) -> None:
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.kept = y if what == "result" else x
            return y

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.kept if what == "result" else ctx.kept.exp())
    with pytest.raises(GradcheckError, match=f"wrong where the program writes to a {what} after the call") as found:
        gradcheck(Kept.apply, [S])
    assert found.value.undecided
