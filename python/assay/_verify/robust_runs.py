"""Certified accuracy of a data set: `assay robust` on arrays or files, and what is in the folder of a run."""
from __future__ import annotations

import contextlib
import decimal
import fractions
import html
import json
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
from typing import Any, Iterable, Optional, Sequence, Union

from assay import errors
from assay._core import arguments, programs, witness_reader
from . import executors, models, questions

Number = Union[int, float, str, fractions.Fraction, decimal.Decimal]


class Run:
    """The folder of a run. `results` are the lines of its results.jsonl; `counts` maps each radius to certified, falsified, undecided.

    `question` says what was asked: about the labels or, without labels, about the classes that the model gives. `notes` names layers of a module
    that was in training mode: the run is about evaluation mode.
    """

    def __init__(self, folder: str, summary: dict[str, Any], kept: Optional[tempfile.TemporaryDirectory[str]] = None, notes: Sequence[str] = ()) -> None:
        self.folder, self.summary, self._kept, self.notes = folder, summary, kept, list(notes)

    @property
    def complete(self) -> bool:
        return bool(self.summary["complete"])

    @property
    def results(self) -> list[dict[str, Any]]:
        with open(os.path.join(self.folder, "results.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return {one["eps"]: {word: one[word] for word in ("certified", "falsified", "undecided")} for one in self.summary["radii"]}

    @property
    def question(self) -> str:
        return str(self.summary["question"])

    @property
    def misclassified(self) -> dict[str, int]:
        """Of each radius, how many of the falsified items the model gives another class than their label, without any change."""
        return {one["eps"]: one["misclassified"] for one in self.summary["radii"]}

    def exact_witness(self, item: int, eps: Number) -> Optional[list[fractions.Fraction]]:
        """A point of the ball that falsifies the item, exactly, element by element of the model's input; None if the item is not falsified.

        The point is read from the certificate. `check` decides whether it is right.
        """
        wanted = arguments.exact("eps", _number("eps", eps))
        lines = {fractions.Fraction(one["eps"]): one for one in self.results if one["item"] == item}
        line = lines.get(wanted)
        if line is None:
            raise errors.wrong("item, eps", "an item and a radius of which the run has a result", f"item {item}, radius {eps}")
        if "follows_from" in line:
            line = lines[fractions.Fraction(line["follows_from"])]
        if line["answer"] != "falsified":
            return None
        found = witness_reader.read_witness(self._certificate(line["certificate"]))
        if found is None:
            raise errors.MalformedInput("the certificate has no witness", where=line["certificate"], advice="check the run", code="python.witness")
        return found[1]

    def witness(self, item: int, eps: Number) -> Any:
        """`exact_witness` as an array of float64, rounded to nearest, in the shape of the model's input."""
        import numpy

        exact = self.exact_witness(item, eps)
        if exact is None:
            return None
        with open(os.path.join(self.folder, "run.json"), encoding="utf-8") as file:
            return numpy.array([float(one) for one in exact], numpy.float64).reshape(json.load(file)["input"])

    def _certificate(self, digest: str) -> bytes:
        """From its own file, or from the pack (app/runs/pack.h)."""
        path = os.path.join(self.folder, "certificates", digest[:2], digest + ".assay")
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read()
        with open(os.path.join(self.folder, "certificates.pack"), "rb") as pack:
            pack.seek(-16, os.SEEK_END)
            count = struct.unpack("<Q", pack.read(8))[0]
            pack.seek(-16 - 48 * count, os.SEEK_END)
            entry = next(one for one in (pack.read(48) for _ in range(count)) if one[:32].hex() == digest)
            pack.seek(struct.unpack_from("<Q", entry, 32)[0])
            return pack.read(struct.unpack_from("<Q", entry, 40)[0])

    @property
    def largest(self) -> dict[int, str]:
        """With `largest=`: of each item the largest certified radius, "0" where there is none."""
        return {one["item"]: one["eps"] for one in self.summary.get("largest", [])}

    def certified_accuracy(self, eps: Number) -> float:
        """The share of items that are certified at this radius. Without labels, these items keep a class that may be wrong.

        In a run with `largest`, an item is certified at each radius above 0 up to its largest certified one.
        """
        wanted = arguments.exact("eps", _number("eps", eps))
        if self.summary.get("largest"):
            most = max(fractions.Fraction(one) for one in _claim(self.folder)["eps"])
            if not 0 < wanted <= most:
                raise errors.wrong("eps", f"a radius above 0, and at most {most}, the largest one that the run tried", eps)
            return sum(fractions.Fraction(one) >= wanted for one in self.largest.values()) / len(self.largest)
        for text, count in self.counts.items():
            if fractions.Fraction(text) == wanted:
                return count["certified"] / max(1, sum(count.values()))
        raise errors.wrong("eps", f"a radius of the run: {', '.join(self.counts)}", eps)

    def check(self, *, jobs: Optional[int] = None, exact: bool = False) -> dict[str, Any]:
        """Replays every certificate: the report of `assay check FOLDER --json`, whose "verdict" is accepted, rejected or declined."""
        return _asked(["check", self.folder, "--jobs", _jobs(jobs), *(["--exact"] if arguments.flag("exact", exact) else [])])

    def report(self, path: Union[str, os.PathLike[str]]) -> str:
        """Checks the run and writes it as one page of HTML; gives the path."""
        _asked(["report", self.folder, "--out", arguments.path("path", path)])
        return os.fspath(path)

    def _rows(self) -> list[tuple[str, int, int, int]]:
        return [(eps, count["certified"], count["falsified"], count["undecided"]) for eps, count in self.counts.items()]

    def __repr__(self) -> str:
        shares = ", ".join(f"{eps}: {certified}/{certified + falsified + undecided}" for eps, certified, falsified, undecided in self._rows())
        right = "without labels" if self.question.startswith("without") else f"{self.summary['correct']}/{self.summary['items']} right"
        return f"Run({self.folder!r}, {right}; certified {shares})"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{word}</th>" for word in ("radius", "certified", "falsified", "undecided"))
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in self._rows())
        return f"<p>{html.escape(self.question)}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def robust(model: Any, data: Any, labels: Any = None, *, eps: Union[Number, Iterable[Number]], run: Union[str, os.PathLike[str], None] = None,
           clip: Optional[tuple[Number, Number]] = None, scale: Optional[Number] = None, mean: Union[Number, Iterable[Number], None] = None,
           std: Union[Number, Iterable[Number], None] = None, first: int = 0, every: int = 1, largest: Optional[Number] = None, each: bool = False,
           norm: str = "linf", semantics: str = "real", timeout: float = 60.0, jobs: Optional[int] = None, seed: int = 1, resume: bool = False,
           example_inputs: Any = None, executor: Any = None, parts: Optional[int] = None) -> Run:
    """Certifies a data set: decides for every item and radius whether the whole ball is classified as the item is labelled.

    Without labels the class that the model gives the item takes the place of the label; `Run.question` says which was asked. Every answer has a certificate or a witness. Radii, scale, mean, std and clip are texts ("2/255"), fractions, or numbers; a number stands
    for the shortest decimal that reads back as the same number. Ctrl-C leaves a folder with which `resume` goes on.

    Args:
        model: As for `verify`.
        data: An array whose first axis counts the items, or a path to NPY, NPZ, safetensors, IDX, CSV, CIFAR-10 or a folder of PNG files.
        labels: Whole numbers, or a path. Without it, the labels of the data's file, else the classes that the model gives.
        eps: The radius, or several.
        run: The folder that keeps results and certificates. Without it, a temporary one that lives as long as the result.
        clip: Two numbers between which the ball is cut off.
        scale: A number by which the data are multiplied: 1/255 for uint8 and 1/65535 for uint16, else 1, unless given.
        mean: Numbers that are subtracted, one or one for each channel.
        std: Numbers by which the difference is divided.
        first: So many items, from the first one on; 0 takes all.
        every: Each so many-th item.
        largest: The step to which the largest certified radius of each item is searched.
        each: Whether every radius is proved by itself, even where another one decides it.
        norm: "linf", "l2" or "l1".
        semantics: As for `verify`.
        timeout: Seconds for each item and radius.
        jobs: Items that are decided at the same time.
        seed: The seed of the attack.
        resume: Whether an earlier run in the folder is completed.
        example_inputs: As for `verify`.
        executor: A number of processes of this machine, an executor of concurrent.futures, a client of Dask, or "ray"
            (docs/how-to/scale.md). Workers need this package only; a worker that is lost costs the time of its part.
        parts: The number of parts that the executor gets.

    Returns:
        The run.
    """
    if arguments.flag("resume", resume) and run is None:
        raise errors.wrong("resume", "with run= a folder to go on with", "resume=True without run=")
    if parts is not None and executor is None:
        raise errors.wrong("parts", "with executor= what computes them", "parts without executor=")
    kept = tempfile.TemporaryDirectory(prefix="assay-run-") if run is None else None
    with contextlib.ExitStack() as undone:
        if kept is not None:
            undone.callback(kept.cleanup)  # at once: a traceback may hold on to it for long
        folder = kept.name if kept is not None else os.path.abspath(arguments.path("run", run))
        if os.path.exists(os.path.join(folder, "run.json")) and not arguments.flag("resume", resume):  # before files are written there
            raise errors.MalformedInput("the folder holds a run already", where=folder, advice="pass resume=True to go on with it, or name another folder", code="store.exists")
        os.makedirs(folder, exist_ok=True)
        words = ["robust", _model(model, example_inputs, folder), _data(data, folder)]
        words += ["--eps", _numbers("eps", eps), "--timeout", repr(arguments.seconds("timeout", timeout))]
        words += ["--seed", str(arguments.whole("seed", seed, 0, 2**64 - 1)), "--semantics", arguments.text("semantics", semantics), "--norm", arguments.text("norm", norm)]
        words += ["--first", str(arguments.whole("first", first, 0, 2**62)), "--every", str(arguments.whole("every", every, 1, 10**9))]
        if labels is not None:
            words += ["--labels", _labels(labels, folder)]
        for name, value in (("clip", clip), ("scale", scale), ("mean", mean), ("std", std), ("largest", largest)):
            if value is not None:
                words.append(f"--{name}={_numbers(name, value)}")
        words += ["--each"] if arguments.flag("each", each) else []
        words += models.words_of(model)
        here = ["--run", folder, "--jobs", _jobs(jobs), "--quiet"]
        if executor is not None:
            _elsewhere(words + ["--jobs", _jobs(1 if jobs is None else jobs)], folder, executor, parts)
            resume = True  # what nobody sent is decided here
        summary = _asked(words + here + (["--resume"] if arguments.flag("resume", resume) else []))
        undone.pop_all()
    return Run(folder, summary, kept, questions.notes_on(model))


def _elsewhere(words: list[str], folder: str, executor: Any, parts: Optional[int]) -> None:
    if not all(os.path.exists(word) or executors.file_of(word) for word in words[1:3]):
        return  # the program says what is missing
    workers = executors.Workers(executor)
    count = workers.parts if parts is None else arguments.whole("parts", parts, 1, 10**6)
    open_parts = executors.Parts(words, folder, count, lambda come: (_asked(["gather", folder, *come]), None)[1])
    paths = [words[1], words[2], *(words[k + 1] for k, word in enumerate(words) if word == "--labels")]
    try:
        lost = executors.run_parts(open_parts, workers, paths)
    finally:
        workers.close()
    if lost:
        name, why = sorted(lost.items())[0]
        raise errors.Undecided(f"{len(lost)} of {len(open_parts.names)} parts could not be done", where=f"part {name}", why=why, code="python.executor",
                               advice="resume=True goes on with a run that has a folder")


def _claim(folder: str) -> dict[str, Any]:
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
        claim: dict[str, Any] = json.load(file)["claim"]
    return claim


def _jobs(jobs: Optional[int]) -> str:
    return str(min(64, len(os.sched_getaffinity(0))) if jobs is None else arguments.whole("jobs", jobs, 1, 1024))


def _number(where: str, value: Any) -> str:
    """As the command line reads it: exactly what a text spells, a fraction, or the shortest decimal of a float."""
    if isinstance(value, str):
        return arguments.text(where, value)
    if isinstance(value, (fractions.Fraction, decimal.Decimal)):
        exact = arguments.exact(where, value)
        return f"{exact.numerator}/{exact.denominator}"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise errors.wrong(where, "a finite number, a fraction or a text such as '2/255'", value)
    return repr(value)


def _numbers(where: str, value: Any) -> str:
    if isinstance(value, (str, int, float, fractions.Fraction, decimal.Decimal)) or getattr(value, "shape", None) == ():
        return _number(where, value)
    try:
        return ",".join(_number(where, one) for one in value)
    except TypeError:
        raise errors.wrong(where, "a number or several", value) from None


def _model(model: Any, example_inputs: Any, folder: str) -> str:
    file = questions.model_file(model, example_inputs)
    if isinstance(file, str):
        return os.path.abspath(file)
    return _kept(os.path.join(folder, "model.onnx"), file)


def _kept(path: str, content: bytes) -> str:
    """Beside the results, so that the folder can be checked elsewhere; what a run was made from is not exchanged."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read() == content:
                return path
        if os.path.exists(os.path.join(os.path.dirname(path), "run.json")):
            raise errors.wrong("run", f"a new folder, or the same {os.path.basename(path)}", os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(content)
    return path


def _data(data: Any, folder: str) -> str:
    if isinstance(data, (str, os.PathLike)):
        return os.path.abspath(arguments.path("data", data))
    return _kept(os.path.join(folder, "items.npy"), _npy("data", data))


def _labels(labels: Any, folder: str) -> str:
    if isinstance(labels, (str, os.PathLike)):
        return os.path.abspath(arguments.path("labels", labels))
    elements, shape = arguments.flat("labels", labels)
    if len(shape) != 1 or any(one.denominator != 1 or not 0 <= one < 2**31 for one in elements):
        raise errors.wrong("labels", "one whole number from 0 per item", labels)
    return _kept(os.path.join(folder, "labels.npy"), _header("<i4", shape) + struct.pack(f"<{len(elements)}i", *map(int, elements)))


def _npy(where: str, array: Any) -> bytes:
    """An array of any library: its own bytes where it has them, else float64."""
    if hasattr(array, "detach"):
        try:
            array = array.detach().cpu().numpy()
        except TypeError as error:  # NumPy has neither bfloat16 nor sparse arrays
            raise errors.wrong(where, f"a tensor that NumPy can hold ({error})", f"{array.dtype}, {array.layout}", advice="convert it: tensor.float(), tensor.to_dense()") from None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ma.MaskedArray):  # its bytes would hold numbers where the mask has none
        raise errors.wrong(where, "an array without a mask", array, advice="fill masked elements with the numbers that you mean: array.filled(0)")
    interface = getattr(array, "__array_interface__", None)
    if interface is not None and interface["typestr"][1] in "uif" and hasattr(array, "tobytes"):
        content: bytes = array.tobytes()
        return _header(interface["typestr"], tuple(interface["shape"])) + content
    elements, shape = arguments.flat(where, array)
    if not shape:
        raise errors.wrong(where, "an array whose first axis counts the items, or a path", array)
    values = [float(one) for one in elements]
    if any(value != one for value, one in zip(values, elements)):
        raise errors.wrong(where, "numbers that a float64 holds exactly", "a number that none does")
    return _header("<f8", shape) + struct.pack(f"<{len(values)}d", *values)


def _header(kind: str, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(map(int, shape))!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def _asked(words: list[str]) -> dict[str, Any]:
    """The program's report. Ctrl-C reaches the program, too, which ends by itself with what it has."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        report = os.path.join(folder, "report.json")
        with subprocess.Popen([programs.program(), *words, f"--json={report}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            try:
                _, trouble = process.communicate()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                process.wait()
                raise
        if refusal := errors.of_program(words[0], process.returncode, report, trouble, {}):
            raise refusal
        if not os.path.exists(report):
            raise errors.InternalError(f"assay {words[0]} gave no report", why=trouble[-2000:], code="python.robust")
        with open(report, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    if found.get("why"):
        raise errors.Undecided("undecided", where=f"assay {words[0]}", why=found["why"], code="python.robust")
    return found
