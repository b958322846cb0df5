"""The nodes of a region, in Assay's vocabulary, while they are written."""
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Callable, Sequence, Union

import numpy
import torch

from .composed import Composed, Formula, Polynomial, slack_of
from .numbers import NOISE, Known, meant, multiple, rounded_alike

NAMES = {torch.float32: "float32", torch.float64: "float64", torch.int64: "int64", torch.int32: "int32", torch.bool: "bool",
         torch.uint8: "uint8", torch.int8: "int8", torch.int16: "int16"}
WHOLE = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
# What values are recorded as: a complex number is the pair of its parts, on a last axis; a number of 16 bits is the float32 that it is.
HALVES = (torch.bfloat16, torch.float16)
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.bfloat16: torch.float32, torch.float16: torch.float32}


class Unknown(Exception):
    """An operation, or a use of one, that has no meaning in Assay's vocabulary here."""


class Meaningless(Unknown):
    """A use of an operation whose gradient is not its derivative, on purpose or by a rounded constant: its decomposition would be no better."""


class Ref:
    """A value of a region: an operand, or what a node computes. Of complex numbers the shape has a last axis of extent 2."""

    __slots__ = ("shape", "dtype", "tensor", "node", "is_complex", "is_fixed", "is_nothing")

    def __init__(self, shape: Sequence[int], dtype: torch.dtype, tensor: torch.Tensor | None = None, node: dict[str, Any] | None = None,
                 is_complex: bool = False) -> None:
        self.shape, self.dtype, self.tensor, self.node, self.is_complex = list(shape), dtype, tensor, node, is_complex
        self.is_fixed = False  # no number that the program was given decides it: integers may be taken as the numbers that they are
        self.is_nothing = False  # zeros that the program made of nothing

    @property
    def rank(self) -> int:
        return len(self.shape)


Value = Union[Ref, float, int, bool]


def parts(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as it is recorded."""
    if tensor.dtype in HALVES:
        return tensor.float()
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor.resolve_neg()


def operand(tensor: torch.Tensor) -> Ref:
    """A value that the region reads."""
    shape, dtype = list(tensor.shape), tensor.dtype
    if tensor.is_complex():
        return Ref([*shape, 2], PARTS[dtype], tensor, is_complex=True)
    return Ref(shape, PARTS.get(dtype, dtype), tensor)


def counted(extents: Sequence[int]) -> int:
    """How many elements a tensor of these extents has."""
    return math.prod(extents)


MANY = 2**12  # elements whose places are no list: a trace has a line for each


def block_of(places: torch.Tensor, shape: Sequence[int], count: int) -> tuple[list[int], list[int]] | None:
    """The first element and the extents of the block of this shape that the places are, in their order; nothing of few elements."""
    if count <= MANY or not places.numel():
        return None
    flat = places.flatten()
    first, last = (numpy.unravel_index(int(flat[at]), tuple(shape)) for at in (0, -1))
    starts, extents = [int(a) for a in first], [int(b - a) + 1 for a, b in zip(first, last)]
    if min(extents) < 1 or counted(extents) != flat.numel():
        return None
    inside = torch.arange(counted(shape)).reshape(list(shape))[tuple(slice(a, a + extent) for a, extent in zip(starts, extents))]
    return (starts, extents) if torch.equal(inside.flatten(), flat) else None


def width_of(places: torch.Tensor, count: int) -> int:
    """How long the rows are that the places are made of, where a value is cut into rows of one length; 1 for few places."""
    flat = places.flatten()
    if flat.numel() <= MANY:
        return 1
    begins = torch.cat([torch.zeros(1, dtype=torch.long), torch.nonzero(flat[1:] != flat[:-1] + 1).flatten() + 1])
    return int(numpy.gcd.reduce([count, flat.numel(), *(numpy.gcd.reduce(one.numpy()) for one in (begins, flat[begins]))]))


def broadcast(*shapes: Sequence[int]) -> list[int]:
    """The shape that these shapes have together."""
    return list(torch.broadcast_shapes(*[tuple(one) for one in shapes]))


def reduced_shape(shape: list[int], axes: list[int], keep: bool) -> list[int]:
    """Return the shape that is left when axes are reduced."""
    return [1 if i in axes else s for i, s in enumerate(shape) if keep or i not in axes]


def window_shape(x: list[int], channels: int, at: dict[str, Any]) -> list[int]:
    """The shape of a convolution's or a pool's result."""
    spatial = [(n + b + e - d * (k - 1) - 1) // s + 1
               for n, k, s, d, b, e in zip(x[2:], at["kernel"], at["strides"], at["dilations"], at["pads_begin"], at["pads_end"])]
    return [x[0], channels, *spatial]


def transposed_shape(x: list[int], w: list[int], at: dict[str, Any]) -> list[int]:
    """The shape of a transposed convolution's result."""
    spatial = [(n - 1) * s - b - e + d * (k - 1) + 1 + o for n, k, s, d, b, e, o in zip(
        x[2:], at["kernel"], at["strides"], at["dilations"], at["pads_begin"], at["pads_end"], at["output_padding"])]
    return [x[0], w[1] * at["groups"], *spatial]


def matmul_shape(a: list[int], b: list[int]) -> list[int]:
    """The shape of a product of matrices, as NumPy has it."""
    rows, columns = ([a[-2]] if len(a) > 1 else []), ([b[-1]] if len(b) > 1 else [])
    return [*broadcast(a[:-2], b[:-2]), *rows, *columns]


def concat_shape(shapes: list[list[int]], axis: int) -> list[int]:
    """The shape of tensors one after the other."""
    return [sum(s[axis] for s in shapes) if i == axis else extent for i, extent in enumerate(shapes[0])]


SHAPES: dict[str, Callable[[list[Ref], dict[str, Any]], list[int]]] = {
    "reshape": lambda v, a: a["shape"], "expand": lambda v, a: a["shape"], "place": lambda v, a: a["shape"],
    "permute": lambda v, a: [v[0].shape[i] for i in a["axes"]], "slice": lambda v, a: a["extents"],
    "concat": lambda v, a: concat_shape([one.shape for one in v], a["axis"]),
    "pad": lambda v, a: [b + n + e for b, n, e in zip(a["before"], v[0].shape, a["after"])],
    "gather": lambda v, a: v[0].shape[:a["axis"]] + a["index_shape"] + v[0].shape[a["axis"] + 1:],
    "gemm": lambda v, a: [v[0].shape[1 if a.get("transpose_a") else 0], v[1].shape[0 if a.get("transpose_b") else 1]],
    "matmul": lambda v, a: matmul_shape(v[0].shape, v[1].shape), "take": lambda v, a: v[0].shape, "batch_norm": lambda v, a: v[0].shape,
    "conv": lambda v, a: window_shape(v[0].shape, v[1].shape[0], a), "max_pool": lambda v, a: window_shape(v[0].shape, v[0].shape[1], a),
    "avg_pool": lambda v, a: window_shape(v[0].shape, v[0].shape[1], a),
    "conv_transpose": lambda v, a: transposed_shape(v[0].shape, v[1].shape, a),
    "weighted_gather": lambda v, a: [len(a["starts"]) - 1 if i == a["axis"] else s for i, s in enumerate(v[0].shape)],
    "arg_max": lambda v, a: reduced_shape(v[0].shape, [a["axis"]], a["keep_dims"]),
    "arg_min": lambda v, a: reduced_shape(v[0].shape, [a["axis"]], a["keep_dims"]),
    "sort": lambda v, a: [a["count"] if i == a["axis"] else s for i, s in enumerate(v[0].shape)],
    "arg_sort": lambda v, a: [a["count"] if i == a["axis"] else s for i, s in enumerate(v[0].shape)],
}
REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "log_sum_exp")
TRUTHS = ("equal", "less", "less_equal", "logical_not", "logical_and", "logical_or", "logical_xor", "is_nan", "is_inf")
PLACES = ("arg_max", "arg_min", "arg_sort")


def shape_of(op: str, values: list[Ref], attributes: dict[str, Any]) -> list[int]:
    """The shape of what an op gives."""
    if op in REDUCTIONS:
        return reduced_shape(values[0].shape, attributes["axes"], attributes["keep_dims"])
    return list(SHAPES[op](values, attributes)) if op in SHAPES else broadcast(*[one.shape for one in values])


def is_real(value: Any) -> bool:
    """Whether it is a float, or a list with one: a double, which is rounded once, to the type that is wanted."""
    return isinstance(value, float) or isinstance(value, (list, tuple)) and any(is_real(one) for one in value)


class Nodes:
    """Writes nodes. `results` are the tensors that the operation gave."""

    def __init__(self, results: list[torch.Tensor | None], known: Known | Composed | None = None) -> None:
        self.results = results
        self.known: Known | Composed = Known() if known is None else known  # the numbers of the run
        self.given: list[Ref] = []  # operands that are no tensors of the program's: infinities
        self.late: Callable[[Ref, Ref], Ref] | None = None  # the first result from the second and third, where these are regions of their own
        self.partial: list[tuple[torch.Tensor, Ref]] = []  # what the kernel stored on the way: results that nobody reads
        self.marks: dict[str, Ref] = {}  # values inside that products are about
        self.storing = ""  # "steps": the kernel may store what it computes on the way, in the type of its results; "attention": as the region says

    @property
    def first(self) -> torch.Tensor:
        return next(one for one in self.results if one is not None)

    @property
    def shape(self) -> list[int]:
        return list(self.first.shape)

    @property
    def is_half(self) -> bool:
        """Whether the first result is kept in 16 bits."""
        return self.first.dtype in HALVES

    @property
    def dtype(self) -> torch.dtype:
        return PARTS.get(self.first.dtype, self.first.dtype)

    def __call__(self, op: str, *operands: Value, dtype: torch.dtype | None = None, **attributes: Any) -> Ref:
        """A node on these values; numbers become constants of the type of the first value, else of the result."""
        first = next((v.dtype for v in operands if isinstance(v, Ref)), self.dtype)
        values = [v if isinstance(v, Ref) else self.constant(v, first) for v in operands]
        kind = torch.bool if op in TRUTHS else torch.int64 if op in PLACES else values[1].dtype if op in ("where", "take") else first
        node = {"op": op, "operands": values} | ({"attributes": attributes} if attributes else {})
        return Ref(shape_of(op, values, attributes), dtype or kind, node=node)

    def constant(self, value: Any, dtype: torch.dtype) -> Ref:
        """A number, a list or a tensor, as it is rounded to this type."""
        data = (value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64 if is_real(value) else None)).to(dtype)
        if dtype not in NAMES:
            raise Unknown(f"a constant of type {dtype}")
        if dtype.is_floating_point and not bool(torch.isfinite(data).all()):
            self.given.append(Ref(list(data.shape), dtype, data))
            return self.given[-1]
        if dtype in (torch.uint8, torch.int8, torch.int16):
            return self.cast(self.constant(data, torch.int32), dtype)
        node = {"op": "constant", "dtype": NAMES[dtype], "shape": list(data.shape), "data": data.flatten().tolist()}
        if dtype == torch.bool:
            node["data"] = [int(one) for one in node["data"]]
        return Ref(list(data.shape), dtype, tensor=data, node=node)

    def number(self, value: Value, dtype: torch.dtype) -> Ref:
        """A factor, divisor or exponent of a formula: the real number that the program means by a double (numbers.py), as the type has it."""
        if isinstance(value, Ref) or isinstance(value, (bool, int)) or not dtype.is_floating_point or not math.isfinite(value):
            return self.cast(value, dtype)
        return self.read(self.one_reading(value, dtype), value)

    def summand(self, value: Value) -> Value:
        """A number of a sum: as the type has it, and in another reading the number that the program means."""
        value = self.as_stored(value)
        is_number = isinstance(value, float) and math.isfinite(value) and self.dtype in (torch.float32, torch.float64)
        return self.read(self.constant(value, self.dtype), value) if is_number and isinstance(value, float) else value

    def read(self, found: Ref, value: float) -> Ref:
        """The node of a number, which says what double it is of: all numbers of a run may be read again, when all are known (composed.py)."""
        if isinstance(self.known, Known) and self.known.meets(value) and found.node is not None:
            found.node["reads"] = value, found.dtype
        return found

    def with_ends(self, found: Ref, ends: dict[str, float]) -> Ref:
        """A clip, which says what doubles its ends are of, if these may be read again."""
        is_read = isinstance(self.known, Known) and [self.known.meets(value) for value in ends.values()]
        if is_read and any(is_read) and found.node is not None:
            found.node["ends"] = ends, found.dtype
        return found

    def one_reading(self, value: float, dtype: torch.dtype) -> Ref:
        """Return the meaning of a double beside the doubles that the run met before it."""
        found, made = meant(value, dtype), self.known.of(value)
        if made is not None and (found is None or found.is_drawn):
            return self.product(self.computed(made, dtype), slack=slack_of(made, value, dtype)) if isinstance(self.known, Composed) else self.computed(made, dtype)
        if found is None:
            return self.constant(value, dtype)
        if found.is_log:
            return self("log", self.about(found.ratio, dtype))
        if found.less:
            return self("sub", self.number(value + found.less, dtype), float(found.less))
        if found.name == "root":
            return self.product(self("sqrt", self.number(float(found.ratio), dtype)), slack=1)
        if found.name:
            factor, one = self.number(float(found.ratio), dtype), getattr(self, found.name)(dtype)
            if found.name.startswith("root_of"):  # computed in some steps by the program, too
                one = self.product(one, slack=1)
            return self("div", factor, one) if found.is_over else one if found.ratio == 1 else self("mul", factor, one)
        return self.ratio(found.ratio, value, dtype)

    def computed(self, made: Formula, dtype: torch.dtype) -> Ref:
        """Return a number that the program computed of other numbers, in double, and rounded once."""
        of = [self.number(one, dtype) for one in made.of]
        if isinstance(made, Polynomial):
            return self.polynomial(made, of, dtype)
        if made.op:
            return self.product(self(made.op, *of))
        one = self.constant(1.0, dtype)
        factors = [factor if power > 0 else self("div", one, factor) for factor, power in zip(of, made.powers) for _ in range(abs(power))]
        above, below = (self.constant(float(part), dtype) for part in made.ratio.as_integer_ratio())
        return self.product(*factors, above, self("div", one, below), slack=made.roundings + 3)

    def polynomial(self, made: Polynomial, of: list[Ref], dtype: torch.dtype) -> Ref:
        one = self.constant(1.0, dtype)
        def power(powers: Sequence[int]) -> list[Ref]:
            return [x for x, n in zip(of, powers) for _ in range(n)]
        total = self.total(*[self.product(self.constant(float(k), dtype), *power(powers)) for k, powers in made.terms])
        below = self.product(self.constant(float(made.divisor), dtype), *power(made.below))
        return self("div", one, self("div", total, below)) if made.is_inverse else self("div", total, below)

    def ratio(self, ratio: Fraction, value: float, dtype: torch.dtype) -> Ref:
        """A fraction, in the type's number for the double that the program computed."""
        if ratio.denominator >= 2**24:  # of the grid: two parts
            first = float(torch.tensor(value, dtype=dtype).item())
            return self("add", self.constant(first, dtype), self.constant(float(ratio - Fraction(first)), dtype))
        if not rounded_alike(float(ratio), value, dtype):
            return self.product(self.about(ratio, dtype), slack=2 * NOISE)  # a product of roots, which is a few steps beside it
        return self("div", self.constant(float(ratio.numerator), dtype), self.constant(float(ratio.denominator), dtype))

    def about(self, ratio: Fraction, dtype: torch.dtype) -> Ref:
        """A fraction that was rounded twice."""
        one = self.constant([1.0], dtype)
        return self.reshape(self("weighted_gather", one, axis=0, starts=[0, 1], indices=[0], weights=[str(ratio)]), [])

    def factored(self, x: Ref, value: float) -> tuple[Ref, float]:
        """For an op that takes a factor in the type of its elements: what to give for x, and the factor, so that their product is as meant."""
        first = self.rounded(value)
        return (x if isinstance(value, int) or meant(value, x.dtype) is None else self("mul", x, self("div", self.number(value, x.dtype), first))), first

    def pi(self, dtype: torch.dtype) -> Ref:
        return self("acos", self.constant(-1.0, dtype))

    def half_turn(self, dtype: torch.dtype) -> Ref:
        """pi in a formula that is differentiated, as acos(-1) cannot be."""
        return self("mul", self("acos", self.constant(0.0, dtype)), 2.0)

    def root_of_2(self, dtype: torch.dtype) -> Ref:
        return self("sqrt", self.constant(2.0, dtype))

    def root_of_pi(self, dtype: torch.dtype) -> Ref:
        return self("sqrt", self.half_turn(dtype))

    def root_of_2_pi(self, dtype: torch.dtype) -> Ref:
        return self("sqrt", self("mul", self.half_turn(dtype), 2.0))

    def base_of_log(self, dtype: torch.dtype) -> Ref:
        return self.product(self("exp", self.constant(1.0, dtype)))

    def log_of_2(self, dtype: torch.dtype) -> Ref:
        return self("log", self.constant(2.0, dtype))

    def log_of_10(self, dtype: torch.dtype) -> Ref:
        return self("log", self.constant(10.0, dtype))

    def as_stored(self, value: Value) -> Value:
        """A number of a sum: kernels convert it to the type of the result first, where those of products compute with the float32."""
        if not self.is_half or not isinstance(value, float) or not math.isfinite(value) or float(torch.tensor(value, dtype=self.first.dtype).item()) == value:
            return value
        return self.stored_step(self.number(value, self.dtype))

    def rounded(self, value: float) -> float:
        """A number as the result's type has it."""
        return float(torch.tensor(value, dtype=self.dtype).item())

    def cast(self, value: Value, dtype: torch.dtype) -> Ref:
        """The value in another type."""
        if not isinstance(value, Ref):
            return self.constant(value, dtype)
        if dtype not in NAMES:
            raise Unknown(f"a conversion to {dtype}")
        if value.dtype == torch.bool and dtype in WHOLE:  # a conversion to integers drops a fraction, which has a jump at each number that a truth value is
            return self("where", value, self.constant(1, dtype), self.constant(0, dtype), dtype=dtype)
        return value if value.dtype == dtype else self("cast", value, dtype=dtype, to=NAMES[dtype])

    def stored_step(self, x: Ref, storing: str = "steps") -> Ref:
        """A step that the kernel stores in the type of its results, where that has 16 bits; then it stores no other one."""
        self.storing = storing
        return self("cast", x, dtype=x.dtype, to=NAMES[x.dtype]) if self.is_half else x

    def reshape(self, x: Ref, shape: Sequence[int]) -> Ref:
        if counted(shape) != counted(x.shape):
            raise Unknown(f"{x.shape} as {list(shape)}")
        return x if list(shape) == x.shape else self("reshape", x, shape=list(shape))

    def expand(self, x: Ref, shape: Sequence[int]) -> Ref:
        """The value broadcast to this shape."""
        padded = self.reshape(x, [1] * (len(shape) - x.rank) + x.shape)
        return padded if padded.shape == list(shape) else self("expand", padded, shape=list(shape))

    def permute(self, x: Ref, axes: Sequence[int]) -> Ref:
        return x if list(axes) == list(range(x.rank)) else self("permute", x, axes=list(axes))

    def reduce(self, op: str, x: Ref, axes: Sequence[int], keep: bool = True) -> Ref:
        """A reduction over axes, of which none gives the value."""
        return self(op, x, axes=sorted(axes), keep_dims=keep) if axes else x

    def gather(self, x: Ref, places: torch.Tensor, shape: Sequence[int]) -> Ref:
        """The elements of x, in row-major order, at these places."""
        if (block := block_of(places, x.shape, places.numel())) is not None:
            return self.reshape(self("slice", x, starts=block[0], steps=[1] * x.rank, extents=block[1]), shape)
        return self.rows_of(x, places, shape, width_of(places, counted(x.shape)))

    def rows_of(self, x: Ref, places: torch.Tensor, shape: Sequence[int], width: int) -> Ref:
        """The same, of rows of so many elements: a list of the rows is shorter than one of the elements."""
        rows = self.reshape(x, [counted(x.shape)] if width == 1 else [counted(x.shape) // width, width])
        numbers = places.flatten()[::width] // width
        return self.reshape(self("gather", rows, axis=0, indices=numbers.tolist(), index_shape=[numbers.numel()]), shape)

    def place(self, x: Ref, places: torch.Tensor, shape: Sequence[int]) -> Ref:
        """Zeros of this shape, to which the elements of x are added at these places."""
        if (block := block_of(places, shape, places.numel())) is not None:
            after = [whole - start - extent for whole, start, extent in zip(shape, *block)]
            return self("pad", self.reshape(x, block[1]), before=block[0], after=after, value=0)
        return self("place", self.reshape(x, [counted(x.shape)]), indices=places.flatten().tolist(), shape=list(shape))

    def replaced(self, x: Ref, places: torch.Tensor, source: Ref) -> Ref:
        """x with the elements of the source at these places, which differ."""
        count, size = counted(x.shape), places.numel()
        if (block := block_of(places, x.shape, count)) is not None:
            return self.written(x, self.reshape(source, block[1]), *block)
        take = torch.arange(count)
        take[places.flatten()] = count + torch.arange(size)
        width = math.gcd(width_of(take, count + size), size)
        if x.is_nothing and count > MANY and self.dtype.is_floating_point:
            return self.spread(source, take, count, x.shape, width)
        both = [self.reshape(one, [counted(one.shape) // width, width] if width > 1 else [counted(one.shape)]) for one in (x, source)]
        return self.rows_of(self("concat", *both, axis=0), take, x.shape, width)

    def spread(self, source: Ref, take: torch.Tensor, count: int, shape: Sequence[int], width: int) -> Ref:
        """Zeros of this shape with rows of the source, by sums of one row or of none: linear in the source, as a choice among it and zeros is not."""
        rows = take[::width] // width - count // width
        starts = torch.cat([torch.zeros(1, dtype=torch.long), (rows >= 0).cumsum(0)])
        found = self("weighted_gather", self.reshape(source, [counted(source.shape) // width, width]), axis=0, starts=starts.tolist(),
                     indices=rows[rows >= 0].tolist(), weights=["1"] * int(starts[-1]))
        return self.reshape(found, shape)

    def written(self, x: Ref, source: Ref, starts: list[int], extents: list[int], axis: int = 0) -> Ref:
        """x with the source in a block of it: what lies before and behind the block on each axis stays."""
        if axis == x.rank:
            return source
        start, end = starts[axis], starts[axis] + extents[axis]
        def part(first: int, last: int) -> Ref:
            begin, size = ([new if i == axis else old for i, old in enumerate(given)] for given, new in (([0] * x.rank, first), (x.shape, last - first)))
            return x if size == x.shape else self("slice", x, starts=begin, steps=[1] * x.rank, extents=size)
        parts = [part(0, start), self.written(part(start, end), source, starts, extents, axis + 1), part(end, x.shape[axis])]
        kept = [one for one in parts if one.shape[axis]]
        return kept[0] if len(kept) == 1 else self("concat", *kept, axis=axis)

    # Kernels multiply and add in orders of their own. What is written by these may have been computed in any.

    def stacked(self, values: Sequence[Ref]) -> Ref:
        """Values of shapes that broadcast, on a new last axis."""
        shape = broadcast(*[one.shape for one in values])
        return self("concat", *[self.reshape(self.expand(one, shape), [*shape, 1]) for one in values], axis=len(shape))

    def product(self, *factors: Ref, slack: int = 2) -> Ref:
        """Factors multiplied in any order, with some roundings more."""
        column = self.stacked([*factors, *[self.constant(1.0, factors[0].dtype)] * slack])
        return self.reduce("reduce_prod", column, [column.rank - 1], False)

    def total(self, *terms: Ref) -> Ref:
        """Terms added in any order."""
        column = self.stacked(terms)
        return self.reduce("reduce_sum", column, [column.rank - 1], False)

    def loose(self, x: Ref) -> Ref:
        """The value with a few roundings more: a third of it and two thirds."""
        flat = self.reshape(x, [counted(x.shape), 1])
        return self.reshape(self("weighted_gather", flat, axis=1, starts=[0, 2], indices=[0, 0], weights=["1/3", "2/3"]), x.shape)

    def like(self, x: Ref) -> Ref:
        """The value in the shape of the result."""
        return self.reshape(x, [*self.shape, 2] if x.is_complex else self.shape)

    def pair(self, real: Ref, imaginary: Ref) -> Ref:
        """Complex numbers from their parts."""
        joined = self("concat", self.reshape(real, [*real.shape, 1]), self.reshape(imaginary, [*imaginary.shape, 1]), axis=real.rank)
        return complexly(joined)

    def part(self, x: Ref, which: int) -> Ref:
        """The real or the imaginary part."""
        if not x.is_complex:
            return x if which == 0 else self.expand(self.constant(0.0, x.dtype), x.shape)
        return self.reshape(self("slice", x, starts=[0] * (x.rank - 1) + [which], steps=[1] * x.rank, extents=[*x.shape[:-1], 1]), x.shape[:-1])


def complexly(x: Ref) -> Ref:
    """The same value, read as pairs."""
    node = x.node or {"op": "reshape", "operands": [x], "attributes": {"shape": x.shape}}
    return Ref(x.shape, x.dtype, x.tensor, node, is_complex=True)


def handed_on(one: Ref) -> Ref:
    """A node for a result that is an operand."""
    return one if one.node else Ref(one.shape, one.dtype, node={"op": "reshape", "operands": [one], "attributes": {"shape": one.shape}})


def finished(operands: list[Ref], outputs: list[Ref]) -> tuple[list[Ref], list[dict[str, Any]], list[int]]:
    """The operands that are read, the nodes that are needed, and the numbers of the outputs, as a trace has them."""
    outputs = [handed_on(one) for one in outputs]
    order: list[Ref] = []
    seen: dict[int, int] = {}
    stack: list[tuple[Ref, bool]] = [(one, False) for one in reversed(outputs)]
    while stack:
        ref, is_done = stack.pop()
        key = id(ref.node) if ref.node is not None else id(ref)
        if key in seen:
            continue
        if ref.node is None or is_done:
            seen[key] = -1
            order.append(ref)
            continue
        stack.append((ref, True))
        stack += [(one, False) for one in reversed(ref.node.get("operands", []))]
    known = {id(one) for one in operands}
    if any(ref.node is None and id(ref) not in known for ref in order):
        raise Unknown("a value from elsewhere")
    used = [one for one in operands if id(one) in seen]
    number = {id(one): i for i, one in enumerate(used)}
    nodes: list[dict[str, Any]] = []
    for ref in order:
        if ref.node is not None:
            number[id(ref.node)] = len(used) + len(nodes)
            nodes.append(ref.node | ({"operands": [number[id(v.node or v)] for v in ref.node["operands"]]} if "operands" in ref.node else {}))
    return used, nodes, [number[id(one.node or one)] for one in outputs]


def read_again(nodes: list[dict[str, Any]], outputs: list[int], count: int, known: Composed) -> tuple[list[dict[str, Any]], list[int]]:
    """The nodes of a region with `count` operands, and its outputs, where numbers mean what they were computed of in the whole run."""
    wanted = set(outputs)
    for at, node in reversed(list(enumerate(nodes, count))):
        if "name" in node or at in wanted:
            wanted.update([at, *(node.get("operands", []) if "reads" not in node else [])])
    number, found = list(range(count)), list[dict[str, Any]]()
    for at, node in enumerate(nodes, count):
        number.append(count + len(found))
        if "reads" in node and at in wanted:
            value, dtype = node["reads"]
            number[-1] = one_read(found, count, value, dtype, known)
        elif "ends" in node and at in wanted:  # what a clip gives beyond an end is the number that the program means
            ends, dtype = node["ends"]
            number[-1] = number[node["operands"][0]]
            for op, value in ends.items():
                end = one_read(found, count, value, dtype, known)
                found.append({"op": op, "operands": [number[-1], end]})
                number[-1] = count + len(found) - 1
        elif at in wanted:
            found.append(node | ({"operands": [number[i] for i in node["operands"]]} if "operands" in node else {}))
    return found, [number[i] for i in outputs]


def one_read(found: list[dict[str, Any]], count: int, value: float, dtype: torch.dtype, known: Composed) -> int:
    """Add the nodes of a number to a region's, and return the place of the last one."""
    base = count + len(found)
    _, more, (end,) = finished([], [Nodes([torch.zeros((), dtype=dtype)], known).one_reading(value, dtype)])
    found += [one | ({"operands": [base + i for i in one["operands"]]} if "operands" in one else {}) for one in more]
    return base + end


def constant_of(tensor: torch.Tensor, known: Composed) -> tuple[list[dict[str, Any]], list[int]]:
    """The nodes of a tensor that the program makes of its numbers, and its output: one number means what a number of the run with these digits means.

    Without such a number, it may be a float32 of a multiple of an irrational one."""
    n = Nodes([tensor])
    value = next((one for one in known.met if rounded_alike(one, float(tensor), tensor.dtype)), None) if tensor.numel() == 1 else None
    if value is None and tensor.numel() == 1 and tensor.dtype == torch.float32 and multiple(float(tensor), tensor.dtype, True) is not None:
        value = float(tensor)
    found = n.constant(tensor, tensor.dtype) if value is None else n.expand(Nodes([tensor], known).one_reading(value, tensor.dtype), n.shape)
    _, nodes, outputs = finished([], [found])
    return nodes, outputs
