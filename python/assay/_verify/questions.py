"""Models and properties of any form to the files that the native half reads."""
from __future__ import annotations

import inspect
import os
import sys
import tempfile
from typing import Any, Callable, Mapping, Optional, TypeVar, Union

from assay import _native, errors
from assay._core import arguments
from . import answers, export_checks, interpolation, models, properties

_CALLS = {"Box": "Box(center, radius)", "Robust": "Robust(label)", "Linear": "Linear(rows, at_most=...)"}
# A path, or the bytes of what would be a file.
File = Union[str, bytes]
T = TypeVar("T")


def model_file(model: Any, example_inputs: Any = None) -> File:
    model = models.file_of(model)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return _exported(torch, model, example_inputs)
    if example_inputs is not None:
        raise errors.wrong("example_inputs", "a torch.nn.Module as the model", model)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if isinstance(model, (str, os.PathLike)):
        return arguments.path("model", model)
    if callable(getattr(model, "SerializeToString", None)):
        try:
            return bytes(model.SerializeToString())
        except Exception as error:  # of protobuf: the message is incomplete or too large
            raise errors.MalformedInput("malformed input", where="model", why=f"SerializeToString failed: {error}", code="python.model") from error
    raise errors.wrong("model", "a path, bytes, an onnx.ModelProto, a torch.nn.Module or an assay.Model", model)


def notes_on(model: Any) -> list[str]:
    """A note on a torch.nn.Module in training mode whose layers compute otherwise in evaluation mode, in which it is exported."""
    model, torch = models.file_of(model), sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return []
    kinds = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase, torch.nn.RReLU)
    layers = [f"'{name}' ({type(one).__name__})" for name, one in model.named_modules()
              if one.training and (isinstance(one, kinds) or isinstance(rate := getattr(one, "dropout", 0), float) and rate > 0)]
    if not layers:
        return []
    more = f" and {len(layers) - 3} more" if len(layers) > 3 else ""
    return [f"the module was in training mode, and the answer is about evaluation mode, in which {', '.join(layers[:3])}{more} may compute otherwise"]


def _exported(torch: Any, model: Any, example_inputs: Any) -> bytes:
    if example_inputs is None:
        raise errors.UsageError("wrong argument", where="example_inputs", why="expected inputs with which the torch.nn.Module is exported",
                                advice="example_inputs=(torch.zeros(1, 3, 32, 32),)", code="python.argument")
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        run = export_checks.refuse(torch, model, inputs)
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            path = os.path.join(folder, "model.onnx")
            content = _written(torch, model, inputs, path)
            _refuse_leaks(torch, model, inputs, content, os.path.join(folder, "again.onnx"))
            if b"Resize" in content and any(isinstance(module, torch.jit.ScriptModule) for module in training):
                raise errors.Unsupported("a scripted module that interpolates", where="model", why="its scales and coordinates cannot be read from the script",
                                         advice="pass the module that it was scripted from, or a file that you export", code="python.export")
            export_checks.compare(torch, model, inputs, path, run)
            return content
    except errors.Error:
        raise
    except Exception as error:
        raise errors.Unsupported("torch.onnx.export failed", where="model", why=f"{type(error).__name__}: {error}",
                                 advice="export the model yourself and pass the file", code="python.export") from error
    finally:
        for module, was in training.items():
            module.training = was


def _refuse_leaks(torch: Any, model: Any, inputs: tuple[Any, ...], content: bytes, path: str) -> None:
    """Raises Unsupported if the module is exported as another model where the example has other numbers, some of which the model then holds."""
    try:
        other = _written(torch, model, export_checks.other_numbers(torch, inputs), path)
    except Exception:  # of a module that takes no such numbers
        return
    if other != content and _written(torch, model, inputs, path) == content:  # the names in scripts change from one export to the next
        raise errors.Unsupported("a module whose export depends on the example", where="model", advice=export_checks.ADVICE, code="python.values",
                                 why="expected one model whatever the numbers in the example are, found another one for other numbers")


def _written(torch: Any, model: Any, inputs: tuple[Any, ...], path: str) -> bytes:
    """The bytes of the module as torch.onnx exports it."""
    with interpolation.asking(torch), export_checks.as_in_a_run(torch):
        # As it is: folded constants, and convolutions that take over a normalisation, have numbers that the export rounded.
        whole = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
        if "dynamo" in inspect.signature(torch.onnx.export).parameters:  # before torch 2.5 there is one exporter; the later one folds constants
            whole["dynamo"] = False
        torch.onnx.export(model, inputs, path, **whole)
    with open(path, "rb") as file:
        return file.read()


def property_file(property: Any, model: File, edits: Mapping[str, Any] = {}) -> File:
    if isinstance(property, (bytes, bytearray, memoryview)):
        return bytes(property)
    if isinstance(property, str) and property.lstrip()[:1] in ("(", ";"):
        try:
            return property.encode()
        except UnicodeError:
            raise errors.wrong("property", "text", property) from None
    if isinstance(property, (str, os.PathLike)):
        return arguments.path("property", property)
    kinds = (properties.Box, properties.Robust, properties.Linear)
    parts = (property,) if isinstance(property, (*kinds, type)) else property
    for part in parts if isinstance(parts, (list, tuple)) else ():
        if isinstance(part, type) and issubclass(part, kinds):
            raise errors.UsageError("wrong argument", where="property", why=f"expected an object, got the class {part.__name__}",
                                    advice=f"call it: {_CALLS[part.__name__]}", code="python.argument")
    if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(part, kinds) for part in parts):
        raise errors.wrong("property", "a path, VNN-LIB text, or Box, Robust and Linear objects", property)
    described = on_files(lambda path: _native.describe(path, **edits), model=model)
    return properties.vnnlib(parts, described["inputs"], described["outputs"]).encode()


def on_files(work: Callable[..., T], **files: File) -> T:
    """work(paths) where bytes lie in a folder that is gone afterwards; the folder's name is taken out of texts."""
    endings = {"model": "model.onnx", "property": "property.vnnlib", "certificate": "certificate.assay", "statement": "statement"}
    if all(isinstance(file, str) for file in files.values()):
        return work(*files.values())
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        paths = []
        for name, file in files.items():
            if isinstance(file, str):
                paths.append(file)
                continue
            paths.append(os.path.join(folder, endings[name]))
            with open(paths[-1], "wb") as out:
                out.write(file)
        prefix = folder + os.sep
        try:
            return _without(work(*paths), prefix)  # type: ignore[no-any-return]
        except errors.Error as error:
            raise type(error)(error.what, where=error.where.replace(prefix, ""), why=error.why.replace(prefix, ""), advice=error.advice,
                              code=error.code) from None


def _without(value: Any, prefix: str) -> Any:
    if isinstance(value, str):
        return value.replace(prefix, "")
    if isinstance(value, dict):
        return {_without(key, prefix): _without(one, prefix) for key, one in value.items()}
    if isinstance(value, list):
        return [_without(one, prefix) for one in value]
    return value


def bytes_of(memory: Optional[int]) -> Optional[int]:
    """The memory that a question may take, as `--memory` of the programs."""
    return None if memory is None else arguments.whole("memory", memory, 1, 2**63 - 1)


def options_of(semantics: Optional[str], memory: Optional[int], budget: Optional[float]) -> dict[str, Any]:
    """Return what a question means and may take, as the native half takes it."""
    options: dict[str, Any] = {"semantics": None if semantics is None else arguments.text("semantics", semantics)}
    if memory is not None:
        options["memory"] = bytes_of(memory)
    if budget is not None:
        options["budget"] = arguments.seconds("budget", budget)
    return options


class Question:
    """A model, a property and what is meant by them."""

    def __init__(self, model: Any, property: Any, semantics: Optional[str], example_inputs: Any = None, memory: Optional[int] = None,
                 budget: Optional[float] = None) -> None:
        self.edits = models.options_of(model)
        self.options = {**options_of(semantics, memory, budget), **models.options_for_native(model)}
        self.notes = notes_on(model)
        self.model = model_file(model, example_inputs)
        self.property = property_file(property, self.model, models.options_for_native(model))

    def files(self) -> tuple[Optional[str], Optional[str], Optional[str]]:
        """The paths of model and property, where they are files, and the name of the semantics, if it was given."""
        model, property = (file if isinstance(file, str) else None for file in (self.model, self.property))
        return model, property, self.options["semantics"]

    def ask(self, work: Callable[..., T], *more: Any, **options: Any) -> T:
        return on_files(lambda model, property: work(model, property, *more, **self.options, **options), model=self.model,
                        property=self.property)

    def check(self, certificate: File, *, exact: bool) -> answers.Check:
        return checked(on_files(lambda *paths: _native.check(*paths, exact=arguments.flag("exact", exact), **self.options), model=self.model,
                                property=self.property, certificate=certificate))


def checked(found: Mapping[str, Any]) -> answers.Check:
    return answers.Check(found["verdict"], found["proves"], found["theorem"], found["statement"], found["assumptions"], found["digests"],
                          None if found["why"] is None else errors.from_rejection(found["why"]), bool(found["vacuous"]), found["steps"],
                          found["times"], found["notes"], found["vacuous"])
