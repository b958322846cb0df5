"""The functions of the package that decide, enclose and describe models."""
from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from assay import _native, errors
from assay._core import arguments, programs
from . import answers, models, progress_line, properties, questions

if TYPE_CHECKING:
    import torch

    Model = Union[str, os.PathLike[str], bytes, torch.nn.Module, models.Model, Any]
    Property = Union[str, os.PathLike[str], bytes, properties.Part, list[properties.Part], tuple[properties.Part, ...]]

MOST_SEED = 2**64 - 1


def _cores() -> int:
    return min(64, len(os.sched_getaffinity(0)))


def verify(model: Model, property: Property, *, timeout: Optional[float] = None, threads: Optional[int] = None,
           semantics: Optional[str] = None, proof: Union[str, os.PathLike[str], bool, None] = None, seed: int = 1,
           memory: Optional[int] = None, budget: Optional[float] = None, branching: str = "auto", attack: bool = True,
           progress: Union[progress_line.Callback, bool, None] = None, example_inputs: Any = None, expect: Optional[str] = None,
           allow_vacuous: bool = False) -> answers.Result:
    """Decides a property: `unsat` with a certificate, `sat` with an exact witness, or neither.

    A torch.nn.Module is verified in evaluation mode; `notes` of the result names layers that were in training mode.
    Ctrl-C ends the search with KeyboardInterrupt.

    Args:
        model: A path, bytes, an onnx.ModelProto, or a torch.nn.Module, which torch.onnx exports; or a Model, which fixes open axes and the like.
        property: A path, VNN-LIB text, or a list: one Box for each input, and the claims about the outputs, Robust and Linear.
        timeout: Seconds for the whole call.
        threads: Threads of the search; without it, all cores.
        semantics: "real", "float32", "float32:onnxruntime" and the like; without it, the element types of the property decide.
        proof: The file that gets the certificate. False makes none.
        seed: The seed of the attack.
        memory: Bytes that the run may hold.
        budget: Multiply-adds that the run may take.
        branching: "auto", "input" or "relu": the variables that the search splits.
        attack: Whether the search looks for a counterexample first.
        progress: A function that is called about ten times a second with a dict (seconds, phase, closed, open, worst_bound).
            Without it, terminals and notebooks show a line; False shows nothing.
        example_inputs: The inputs with which torch.onnx exports a torch.nn.Module.
        expect: "sat" or "unsat". Another answer raises an exception, which has the result as `result`.
        allow_vacuous: Whether an expected `unsat` may say nothing about the network.

    Returns:
        The answer, with the certificate or the witness.

    Raises:
        Rejected: The answer is not the expected one, or it is vacuous.
        Undecided: An answer was expected, and the search found none.
    """
    if expect not in (None, "sat", "unsat"):
        raise errors.wrong("expect", "'sat', 'unsat' or nothing", expect)
    arguments.flag("allow_vacuous", allow_vacuous)
    options: dict[str, Any] = {
        "timeout": arguments.seconds("timeout", timeout), "threads": _cores() if threads is None else arguments.whole("threads", threads, 1, 1024),
        "seed": arguments.whole("seed", seed, 0, MOST_SEED), "branching": arguments.text("branching", branching),
        "attack": arguments.flag("attack", attack)}
    target = None if proof is None or isinstance(proof, bool) else arguments.path("proof", proof)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise errors.wrong("progress", "a function, True or False", progress)
    question = questions.Question(model, property, semantics, example_inputs, memory, budget)
    if target is not None and any(isinstance(file, str) and _is_same(file, target) for file in (question.model, question.property)):
        raise errors.wrong("proof", "another file than model and property", target)
    line = None if callable(progress) else progress_line.line_for(progress)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        written = os.path.join(folder, "proof.assay")
        try:
            found = question.ask(_native.verify, certificate=None if proof is False else written,
                                 progress=progress if callable(progress) else line, **options)
        finally:
            if line is not None:
                line.close()
        certificate = None
        if proof is not False and found["theorem"]:
            with open(written, "rb") as file:
                certificate = file.read()
    if target is not None and certificate is not None:
        _write(target, certificate)
    found["notes"] = [*found["notes"], *question.notes]
    text = None if isinstance(question.property, str) else question.property.decode(errors="replace")
    result = answers.Result(found, certificate, question.check, text, question.files(), models.text_of(question.edits))
    if expect is not None and (result.answer != expect or result.vacuous and not allow_vacuous):
        raise _unexpected(result, expect)
    return result


def _unexpected(result: answers.Result, expect: str) -> errors.Error:
    """The exception of an answer that is not the expected one; `result` holds the answer."""
    kind = errors.Rejected if result.answer in ("sat", "unsat") else errors.Undecided
    why = f"the answer is {result.answer}"
    if result.answer == expect:
        why, advice = f"the answer is vacuous, since {result.vacuous_since}", "mend the property, or allow it with allow_vacuous=True"
    elif result.answer == "sat":
        why += f", since an input violates the property: {result.theorem.rstrip().rpartition('witness: ')[2]}"
        advice = "the exception's `result.witness` is this input; run the network on it, or ask about a smaller box"
    elif result.answer == "unsat":
        why += ", since no input of the box violates the property"
        advice = "the exception's `result.theorem` says what was proved; compare its box and its cases with the ones that you meant"
    else:
        why, advice = f"{why}: {result.reason}", "try " + ", or ".join(step.split("   ")[0] for step in result.next_steps[:2])
    error = kind(f"{expect} was expected", where="verify", why=why, advice=advice, code="verify.expect")
    error.__dict__["result"] = result
    return error


def _is_same(file: str, other: str) -> bool:
    """Whether two names lead to one file; one that only the other name with .gz has is read from there."""
    try:
        return os.path.samefile(file if os.path.exists(file) else file + ".gz", other)
    except OSError:  # one of them does not exist
        return False


def _write(path: str, content: bytes) -> None:
    """Beside its place, and renamed when it is complete."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except OSError as error:
        if os.path.exists(beside):
            os.unlink(beside)
        raise errors.UsageError("cannot write", where=path, why=str(error), advice="check the path, permissions and free space",
                                code="python.write") from error


def check(model: Model, property: Optional[Property], certificate: Union[str, os.PathLike[str], bytes], *, exact: bool = False,
          semantics: Optional[str] = None, memory: Optional[int] = None, budget: Optional[float] = None,
          example_inputs: Any = None) -> answers.Check:
    """Decides a certificate with the kernel, as `assay-check` does.

    Args:
        model: The model as for `verify`; or a statement (a path or its bytes) where property is None.
        property: The property as for `verify`, or None: then no file besides the statement is read.
        certificate: A path or bytes.
        exact: Whether every step is repeated in integers.
        semantics: As for `verify`; a statement has to be about the same.
        memory: Bytes that the check may hold.
        budget: Multiply-adds that the check may take.
        example_inputs: As for `verify`.

    Returns:
        The verdict with the theorem, or with the reason why there is none.
    """
    arguments.flag("exact", exact)
    if isinstance(certificate, (bytes, bytearray, memoryview)):
        proof: questions.File = bytes(certificate)
    else:
        proof = arguments.path("certificate", certificate)
    if property is not None:
        return questions.Question(model, property, semantics, example_inputs, memory, budget).check(proof, exact=exact)
    if isinstance(model, answers.Statement):
        model = model.bytes
    if not isinstance(model, (bytes, bytearray, memoryview, str, os.PathLike)):
        raise errors.wrong("model", "with property=None a statement: a path, bytes or a Statement", model)
    if example_inputs is not None:
        raise errors.wrong("example_inputs", "with property=None none, since a statement is no module", example_inputs)
    statement = bytes(model) if isinstance(model, (bytes, bytearray, memoryview)) else arguments.path("model", model)
    options = questions.options_of(semantics, memory, budget)
    return questions.checked(questions.on_files(lambda path, proof: _native.check(path, "", proof, exact=exact, **options), statement=statement,
                                                certificate=proof))


def bounds(model: Model, property: Property, *, method: str = "crown", timeout: Optional[float] = 60.0, outputs_only: bool = False,
           semantics: Optional[str] = None, memory: Optional[int] = None, budget: Optional[float] = None,
           example_inputs: Any = None) -> answers.Bounds:
    """Proves bounds of every node over the input boxes of a property.

    Args:
        model: As for `verify`.
        property: As for `verify`.
        method: "interval", or "crown" for back-substitution.
        timeout: Seconds of back-substitution.
        outputs_only: Whether only the outputs are bounded.
        semantics: As for `verify`.
        memory: Bytes that the run may hold.
        budget: Multiply-adds that the run may take.
        example_inputs: As for `verify`.

    Returns:
        The bounds of each node, for each input box.
    """
    options = {"method": arguments.text("method", method), "timeout": arguments.seconds("timeout", timeout),
               "outputs_only": arguments.flag("outputs_only", outputs_only)}
    question = questions.Question(model, property, semantics, example_inputs, memory, budget)
    found = question.ask(_native.bounds, **options)
    groups = found["groups"]
    return answers.Bounds([[answers.NodeBounds(node) for node in group["nodes"]] for group in groups],
                           all(group["complete"] for group in groups), any(group["stopped"] for group in groups), found["statement"],
                           found["digests"], [*found["notes"], *question.notes])


def lint(model: Model, *, memory: Optional[int] = None, example_inputs: Any = None) -> list[answers.Finding]:
    """Lists every part of a model that cannot be verified, in one pass.

    Args:
        model: As for `verify`.
        memory: Bytes that the run may hold.
        example_inputs: As for `verify`.

    Returns:
        A finding for each part; an empty list if the whole model can be verified.
    """
    most = questions.bytes_of(memory)
    found = questions.on_files(lambda path: _native.lint(path, memory=most, **models.options_for_native(model)), model=questions.model_file(model, example_inputs))
    return [answers.Finding(why["code"], why["place"], why["required"], why["found"], why["advice"], why["kind"]) for why in found]


def statement(model: Model, property: Property, *, semantics: Optional[str] = None, memory: Optional[int] = None,
              budget: Optional[float] = None, example_inputs: Any = None) -> answers.Statement:
    """States the claim of a model and a property in words and as canonical bytes, which `check` takes in place of both.

    Args:
        model: As for `verify`.
        property: As for `verify`.
        semantics: As for `verify`.
        memory: Bytes that the run may hold.
        budget: Multiply-adds that the run may take.
        example_inputs: As for `verify`.

    Returns:
        The statement, with the digests of its sources.
    """
    question = questions.Question(model, property, semantics, example_inputs, memory, budget)
    found = question.ask(_native.statement)
    return answers.Statement(found["statement"], found["bytes"], found["semantics"], found["digests"], [*found["notes"], *question.notes])


def evaluate(model: Model, inputs: Any, *, gradients: Any = None, memory: Optional[int] = None,
             example_inputs: Any = None) -> answers.Enclosures:
    """Encloses the outputs of a model, and a gradient, at a point or on a box, by the reference semantics.

    At a point the ends are computed at 257 bits where doubles lose the value, except in networks of more than 5e7 multiply-adds.

    Args:
        model: As for `verify`.
        inputs: For each input by its name an array, a pair (lo, hi) of arrays, or a Box. A model with one input takes it without the name.
        gradients: The name of an output, whose sum is differentiated; {output: cotangent}; or True for the only output.
        memory: Bytes that the run may hold.
        example_inputs: As for `verify`.

    Returns:
        The sets of the outputs by name, and of the gradients by input.
    """
    most = questions.bytes_of(memory)
    file, edits = questions.model_file(model, example_inputs), models.options_for_native(model)
    described = questions.on_files(lambda path: _native.describe(path, memory=most, **edits), model=file)
    shapes = {name: shape for name, _, shape in described["inputs"]}
    whole = {name for name, dtype, _ in described["inputs"] if "float" not in str(dtype)}
    if not isinstance(inputs, Mapping):
        if len(shapes) != 1:
            raise errors.wrong("inputs", f"a dict with the model's inputs {list(shapes)}", inputs)
        inputs = {next(iter(shapes)): inputs}
    wanted = _cotangents(gradients, {name: shape for name, _, shape in described["outputs"]})
    given = {_known("inputs", name, shapes): _ends(f"inputs['{name}']", value, shapes[name], exact=name in whole)
             for name, value in inputs.items()}
    found = questions.on_files(lambda path: _native.evaluate(path, given, wanted, memory=most, **edits), model=file)
    sets = {part: {name: answers._ends(shape, lo, hi) for name, shape, lo, hi in found[part]} for part in ("outputs", "gradients")}
    return answers.Enclosures(**sets)


def _known(where: str, name: object, known: Mapping[str, Any]) -> str:
    if not isinstance(name, str) or name not in known:
        raise errors.wrong(where, f"names of the model: {', '.join(known)}", name)
    return name


def _cotangents(gradients: Any, outputs: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[bytes, bytes]]:
    if gradients is None or gradients is False:
        return {}
    if gradients is True:
        if len(outputs) != 1:
            raise errors.wrong("gradients", f"the name of one output of {list(outputs)}", gradients)
        gradients = next(iter(outputs))
    if isinstance(gradients, str):
        gradients = {gradients: 1}
    if not isinstance(gradients, Mapping) or len(gradients) != 1:
        raise errors.wrong("gradients", "an output's name, or {output: cotangent}", gradients)
    return {_known("gradients", name, outputs): _ends(f"gradients['{name}']", value, outputs[name]) for name, value in gradients.items()}


def _ends(where: str, value: Any, shape: tuple[int, ...], exact: bool = False) -> tuple[bytes, bytes]:
    """The ends of each element's interval as bytes of float64; numbers that are no float64 are rounded outward, or refused if they have to be exact."""
    if isinstance(value, tuple) and len(value) == 2:
        value = properties.Box(lo=value[0], hi=value[1])
    if isinstance(value, properties.Box):
        lo, hi, found = value.lo, value.hi, value.shape
    else:
        lo, found = arguments.flat(where, value)
        hi = lo
    count = 1
    for extent in shape:
        count *= extent
    if found == ():
        lo, hi = lo * count, hi * count
    else:
        arguments.fits(where, found, shape)
    pairs = [arguments.outward(a, b) for a, b in zip(lo, hi)]
    if exact:
        for end in (end for ends, pair in zip(zip(lo, hi), pairs) for end in zip(ends, pair)):
            if end[0] != end[1]:
                raise errors.wrong(where, "integers that a float64 holds", end[0])
    return struct.pack(f"<{count}d", *(a for a, _ in pairs)), struct.pack(f"<{count}d", *(b for _, b in pairs))


def inspect(file: Union[str, os.PathLike[str], bytes], *, network: Optional[Union[str, os.PathLike[str]]] = None,
            property: Optional[Union[str, os.PathLike[str]]] = None, step: Optional[int] = None,
            memory: Optional[int] = None) -> dict[str, Any]:
    """Describes the contents of a file, which are recognised by their form.

    Args:
        file: A certificate, a model, a trace, a statement, or with network a property: a path or bytes.
        network: The model of a property or a certificate.
        property: The property of a certificate, beside network: each step is taken, and "refused" says why a rule refuses it.
        step: A step of a certificate, from 1: its numbers, the splits around it, and with property the boxes in force before it.
        memory: Bytes that the run may hold.

    Returns:
        The facts and tables of `assay inspect --json`.
    """
    most = questions.bytes_of(memory)
    content = bytes(file) if isinstance(file, (bytes, bytearray, memoryview)) else arguments.path("file", file)
    options = [] if network is None else ["--network", arguments.path("network", network)]
    options += [] if property is None else ["--property", arguments.path("property", property)]
    options += [] if step is None else ["--step", str(arguments.whole("step", step, 1, 2**63))]
    options += [] if most is None else ["--memory", str(most)]

    def work(path: str) -> dict[str, Any]:
        try:
            done = subprocess.run([programs.program(), "inspect", "--json=-", *options, "--", path], capture_output=True, check=False)
        except (OSError, ValueError) as error:
            raise errors.wrong("file", f"a path that a program can be given ({error})", path) from None
        if done.returncode == 2:  # for example, a step of a file that is no certificate
            said = done.stderr.decode(errors="replace").split("\n")[0]
            raise errors.UsageError("wrong argument", where="assay inspect", why=said, code="python.argument")
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise errors.InternalError("assay inspect gave no report", why=done.stderr.decode(errors="replace"), code="python.inspect") from None
        if "rejection" in found:
            raise errors.from_rejection({"kind": "malformed", "place": "", "required": "", "found": "", "advice": "", **found["rejection"]})
        return found

    return questions.on_files(work, statement=content)


def explain(code: Union[str, errors.Error]) -> str:
    """Says what the code of a refusal or finding means, and what to do.

    Args:
        code: A code such as "onnx.unknown_op", or an exception of this package that carries one.

    Returns:
        The code, its cause and its cure, as `assay explain` prints them.
    """
    name = code.code if isinstance(code, errors.Error) else arguments.text("code", code)
    done = subprocess.run([programs.program(), "explain", "--json=-", "--", name or "."], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise errors.wrong("code", "the code of a refusal or finding, such as 'onnx.unknown_op'", name)
    found = json.loads(done.stdout)
    return f"{found['code']}\n\n{found['cause']}\n\nWhat to do: {found['cure']}"
