"""Answers that the functions of the package return."""
from __future__ import annotations

import dataclasses
import fractions
import html
import math
import shlex
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Union

from assay import errors

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Array = numpy.typing.NDArray[Any]

Tensors = list[tuple[str, str, tuple[int, ...]]]  # name, dtype, shape


class Ends(NamedTuple):
    """A set per element: every value lies in [lo, hi]; two NaN where the value may be undefined."""

    lo: Array
    hi: Array


def _array(data: bytes, shape: tuple[int, ...]) -> Array:
    import numpy

    return numpy.frombuffer(data, numpy.float64).reshape(shape)


def _ends(shape: tuple[int, ...], lo: bytes, hi: bytes) -> Ends:
    return Ends(_array(lo, shape), _array(hi, shape))


@dataclasses.dataclass(frozen=True, repr=False)
class Statement:
    """The claim of a model and a property: `text` in words, `bytes` canonically (a statement file)."""

    text: str
    bytes: bytes
    semantics: str
    digests: Mapping[str, str]
    notes: list[str]

    def __repr__(self) -> str:
        return f"Statement(sha256={self.digests['statement'][:16]}..., {len(self.bytes)} bytes)"

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True, repr=False)
class Check:
    """The verdict of the kernel on a certificate: accepted, rejected or declined. If it is accepted, the theorem is the answer."""

    verdict: str
    proves: str  # sat, unsat; empty unless accepted
    theorem: str
    statement: str
    assumptions: list[str]
    digests: Mapping[str, str]
    why: Optional[errors.Error]  # unless accepted
    vacuous: bool
    steps: int
    times: Mapping[str, float]
    notes: list[str]
    vacuous_since: str = ""  # why the proof says nothing about the network, where it does not

    def __bool__(self) -> bool:
        return self.verdict == "accepted"

    def __repr__(self) -> str:
        return f"Check({self.verdict}{', proves ' + self.proves if self.proves else ''}{_vacuous(self)}{f', {self.why}' if self.why else ''})"

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.verdict, _vacuous(self)[2:], self.theorem or str(self.why))))


def _vacuous(answer: Union[Check, Result]) -> str:
    return f", vacuous: {answer.vacuous_since}" if answer.vacuous else ""


class Result:
    """The answer to a property, with what it rests on.

    Attributes:
        answer: "unsat" (the property holds), "sat" (it does not: see `witness`), "unknown" or "timed-out".
        reason: Why nothing was decided.
        closed_share: Of an undecided search, the closed share of its tree.
        seconds_left: Of an undecided search, the time for the rest of the tree at the pace of its last part. None without an estimate: where nothing was closed lately, where more time changes nothing, and beyond ten times the time of the search.
        open_cases: Of an undecided search, the smallest bound of each undecided case.
        next_steps: Of an undecided search, calls and commands that may decide it, or how much of it can be proved.
        vnnlib: The property as text, of objects too, for whoever checks the certificate elsewhere. None where a file was given.
        vacuous: Whether an `unsat` says nothing about the network, since its input box is empty or its assertions contradict each other.
        vacuous_since: Which of the two.
    """

    def __init__(self, found: Mapping[str, Any], certificate: Optional[bytes], decide: Callable[..., Check], vnnlib: Optional[str] = None,
                 files: tuple[Optional[str], Optional[str], Optional[str]] = (None, None, None), edits: str = "") -> None:
        self.vnnlib = vnnlib
        self._files = files  # of the model and the property, where they are files; the name of the semantics, if it was given
        self._edits = edits  # options of the programs with which the model is read
        self.answer: str = found["answer"]
        self.reason: str = found["reason"]
        self.sentence: str = found["sentence"]
        self.statement: str = found["statement"]
        self.theorem: str = found["theorem"]
        self.assumptions: list[str] = found["assumptions"]
        self.semantics: str = found["semantics"]
        self.digests: dict[str, str] = found["digests"]
        self.times: dict[str, float] = found["times"]
        self.notes: list[str] = found["notes"]
        self.closed_share: Optional[float] = found.get("closed_share")
        self.seconds_left: Optional[float] = found.get("seconds_left")
        self.open_cases: dict[int, float] = found.get("open_cases", {})
        self._other_branching: str = found.get("other_branching", "")
        self.nodes: int = found["nodes"]
        self.leaves: int = found["leaves"]
        self.vacuous_since: str = found["vacuous"]
        self.certificate = certificate
        self._inputs: Tensors = found["inputs"]
        self._outputs: Tensors = found["outputs"]
        self._witness: Optional[list[str]] = found.get("witness")
        self._reached: Optional[tuple[bytes, bytes]] = found.get("witness_outputs")
        self._decide = decide  # a certificate, by the kernel, from the same model and property

    @property
    def vacuous(self) -> bool:
        return bool(self.vacuous_since)

    @property
    def exact_witness(self) -> Optional[dict[str, list[fractions.Fraction]]]:
        """Of sat: the elements of each input, row-major, exactly."""
        if self._witness is None:
            return None
        exact, at = {}, 0
        for name, _, shape in self._inputs:
            exact[name] = [fractions.Fraction(value) for value in self._witness[at:at + math.prod(shape)]]
            at += math.prod(shape)
        return exact

    @property
    def witness(self) -> Optional[dict[str, Array]]:
        """Of sat: each input as an array of float64 (integers: int64 or uint64, truth values: bool), rounded to nearest."""
        import numpy

        exact = self.exact_witness
        if exact is None:
            return None
        arrays = {}
        for name, dtype, shape in self._inputs:
            if dtype.startswith("float"):
                arrays[name] = numpy.array([float(value) for value in exact[name]], numpy.float64).reshape(shape)
            else:
                kind = {"bool": bool, "uint64": numpy.uint64}.get(dtype, numpy.int64)
                arrays[name] = numpy.array([int(value) for value in exact[name]], kind).reshape(shape)
        return arrays

    @property
    def outputs(self) -> Optional[dict[str, Ends]]:
        """Of sat: what each output is at the witness, enclosed."""
        if self._reached is None:
            return None
        lo, hi = self._reached
        ends, at = {}, 0
        for name, _, shape in self._outputs:
            size = 8 * math.prod(shape)
            ends[name] = _ends(shape, lo[at:at + size], hi[at:at + size])
            at += size
        return ends

    def check(self, *, exact: bool = False) -> Check:
        """Decides the certificate with the kernel, from the same model and property; exact repeats every step in integers."""
        if self.certificate is None:
            raise errors.UsageError("no certificate", where="Result.check", code="python.certificate",
                                    why=f"the answer is {self.answer}" if self.answer in ("unknown", "timed-out") else "proof=False was asked for")
        return self._decide(self.certificate, exact=exact)

    def __repr__(self) -> str:
        size = "" if self.certificate is None else f", certificate of {len(self.certificate)} bytes"
        return f"Result({self.answer}{_vacuous(self)}{', ' + self.reason if self.reason else ''}{size}, {self.times['total']:.3g} s)"

    @property
    def left(self) -> str:
        """Of neither: what is undecided, in words."""
        if self.closed_share is None:
            return ""
        pace = "" if self.seconds_left is None else f", about {self.seconds_left:.2g} s more at the latest pace, which tends to fall"
        cases = [f"case {case} (bound {bound:.4g})" for case, bound in self.open_cases.items()]
        named = f"; undecided: {', '.join(cases[:8])}" if cases else ""
        share = min(self.closed_share, 0.999)  # more would be printed as all of the tree
        return f"closed: {100 * share:.3g} % of the tree{pace}{named}{f' and {len(cases) - 8} more' if len(cases) > 8 else ''}"

    @property
    def next_steps(self) -> list[str]:
        """Of neither: what may decide it, or how much of it can be proved; "..." stands for the other arguments of the call."""
        if self.answer in ("sat", "unsat"):
            return []
        at_point, no_neuron = "the bounds at one point are too wide" in self.reason, "no neuron is left to split" in self.reason
        steps = []
        limit = f"timeout={math.ceil(max(60, 10 * self.times['search']))}, "
        if self._other_branching == "input":
            steps.append(f'assay.verify(model, property, branching="input", {"" if no_neuron else limit}...)   (boxes are split in place of neurons)')
        if not at_point and not no_neuron:
            steps.append(f"assay.verify(model, property, {limit}...)   (more time)")
        if self._other_branching == "relu":
            steps.append(f'assay.verify(model, property, branching="relu", {limit}...)   (neurons are split in place of boxes)')
        if at_point and not self.semantics.startswith("real"):
            steps.append('assay.verify(model, property, semantics="real", ...)   (exact arithmetic, without rounding)')
        if at_point:
            steps.append("a property with a smaller box, or with a bound that leaves a margin: the network lies on the edge of this one")
        model, property, semantics = self._files
        asked = shlex.join([model or "model.onnx", property or "property.vnnlib", *(["--semantics", semantics] if semantics else [])]) + self._edits
        files = [*([] if model else ["the model in model.onnx"]), *([] if property else ["result.vnnlib in property.vnnlib"])]
        shell = f"in a shell{', with ' + ' and '.join(files) if files else ''}"
        steps.append(f"assay verify {asked} --timeout 60 --scale 30   ({shell}: the largest share of the box that can be proved)")
        if not at_point and not no_neuron:
            steps.append(f"assay split {asked} --into 8 -o cubes   ({shell}: one proof on several machines)")
        return steps

    def __str__(self) -> str:
        steps = ["next, one of:", *(f"  {step}" for step in self.next_steps)] if self.next_steps else []
        return "\n".join(filter(None, (self.answer, self.sentence, self.left, *steps, *(f"note: {one}" for one in self.notes), self.theorem or self.statement)))

    def _repr_html_(self) -> str:
        rows = {"answer": self.answer, "": self.sentence, **({"left": self.left} if self.left else {}), "semantics": self.semantics, "statement": self.digests["statement"],
                "certificate": "none" if self.certificate is None else f"{len(self.certificate)} bytes",
                "search": f"{self.times['search']:.3g} s, {self.nodes} nodes"}
        cells = "".join(f"<tr><th style='text-align:left'>{html.escape(k)}</th><td style='text-align:left'>{html.escape(v)}</td></tr>"
                        for k, v in rows.items())
        return f"<table>{cells}</table><details><summary>statement</summary><pre>{html.escape(self.theorem or self.statement)}</pre></details>"


class NodeBounds:
    """Proved bounds of one node's elements."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.node: int = found["node"]
        self.op: str = found["op"]
        self.name: str = found["name"]
        self.shape: tuple[int, ...] = found["shape"]
        self.output: bool = found["output"]
        self._lo: bytes = found["lo"]
        self._hi: bytes = found["hi"]

    @property
    def lo(self) -> Array:
        return _array(self._lo, self.shape)

    @property
    def hi(self) -> Array:
        return _array(self._hi, self.shape)

    def __repr__(self) -> str:
        return f"NodeBounds({self.node}, {self.op}, {self.name!r}, {list(self.shape)}{', output' if self.output else ''})"


@dataclasses.dataclass(frozen=True, repr=False)
class Bounds:
    """Proved bounds of every node, for each input box of the property: `groups` has a list of nodes per box, empty where the box is."""

    groups: list[list[NodeBounds]]
    complete: bool  # every output has bounds
    stopped: bool  # time was up: some nodes have interval bounds, or none
    statement: str
    digests: Mapping[str, str]
    notes: list[str]

    @property
    def nodes(self) -> list[NodeBounds]:
        """The nodes of the only box."""
        if len(self.groups) != 1:
            raise errors.UsageError("wrong use", where="Bounds.nodes", why=f"expected one input box, got {len(self.groups)}",
                                    advice="use Bounds.groups", code="python.argument")
        return self.groups[0]

    @property
    def outputs(self) -> dict[str, NodeBounds]:
        """The nodes that are outputs, by the names of nodes: of an ONNX node with several outputs, all have the name of the first one."""
        outputs = [node for node in self.nodes if node.output]
        if len({node.name for node in outputs}) < len(outputs):
            raise errors.UsageError("wrong use", where="Bounds.outputs", why="expected outputs of different ONNX nodes, got several of one",
                                    advice="use Bounds.nodes, in which an output has output=True", code="python.argument")
        return {node.name: node for node in outputs}

    def __repr__(self) -> str:
        return f"Bounds({len(self.groups)} boxes, {sum(map(len, self.groups))} nodes{', stopped' if self.stopped else ''})"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A part of a model that cannot be verified."""

    code: str
    where: str
    required: str
    found: str
    advice: str
    kind: str

    def __str__(self) -> str:
        return f"{self.code} at {self.where}: required {self.required}; found {self.found}; {self.advice}"


@dataclasses.dataclass(frozen=True)
class Enclosures:
    """The sets that the reference semantics gives at a point or on a box: of outputs by name, and of gradients by input."""

    outputs: dict[str, Ends]
    gradients: dict[str, Ends]
