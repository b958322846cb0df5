"""A model with the shapes, constants and outputs with which it is read."""
from __future__ import annotations

import shlex
from typing import Any, Mapping, Optional, Sequence, Union

from assay import errors
from assay._core import arguments

Number = Union[int, float, bool, str]


class Model:
    """A model of which axes are open, an input is to be a constant, or some outputs are not wanted; for every function that takes a model.

    The choices are part of the statement: a certificate about the model is about the network that they make, and is not accepted without them.

    Args:
        model: As for `verify`.
        shapes: Shapes of inputs, by their names.
        dims: Extents of axes that have a name and no number.
        constants: Inputs that become constants: one number for all elements, or a list or an array of them, row by row.
        outputs: The outputs that remain, in this order; results of nodes may become outputs, too.
    """

    def __init__(self, model: Any, *, shapes: Optional[Mapping[str, Sequence[int]]] = None, dims: Optional[Mapping[str, int]] = None,
                 constants: Optional[Mapping[str, Any]] = None, outputs: Optional[Sequence[str]] = None) -> None:
        if isinstance(model, Model):
            raise errors.wrong("model", "a path, bytes, an onnx.ModelProto or a torch.nn.Module", model)
        self.model = model
        self.options: list[tuple[str, str]] = [
            *(("--shape", f"{name}={','.join(str(_extent('shapes', one)) for one in _several('shapes', shape))}") for name, shape in _named("shapes", shapes)),
            *(("--dim", f"{name}={_extent('dims', extent)}") for name, extent in _named("dims", dims)),
            *(("--set", f"{name}={','.join(_numbers('constants', value))}") for name, value in _named("constants", constants))]
        if outputs is not None:
            names = [arguments.text("outputs", name) for name in _several("outputs", outputs)]
            if any("," in name for name in names):  # would be the names of several
                raise errors.wrong("outputs", "names without a comma", outputs)
            self.options.append(("--outputs", ",".join(names)))

    def __repr__(self) -> str:
        return f"Model({self.model!r}{''.join(f', {option} {text}' for option, text in self.options)})"


def options_of(model: Any) -> list[tuple[str, str]]:
    """The options of the programs with which a model is read."""
    return list(model.options) if isinstance(model, Model) else []


def options_for_native(model: Any) -> dict[str, Any]:
    """The same as an argument of the native half."""
    options = options_of(model)
    return {"edits": options} if options else {}


def words_of(model: Any) -> list[str]:
    """The same as words of a command line."""
    return [f"{option}={text}" for option, text in options_of(model)]


def text_of(options: Sequence[tuple[str, str]]) -> str:
    """The same for a shell, with a blank before it."""
    return "".join(f" {option} {shlex.quote(text)}" for option, text in options)


def file_of(model: Any) -> Any:
    """The model as it stands in its file."""
    return model.model if isinstance(model, Model) else model


def _named(where: str, values: Any) -> list[tuple[str, Any]]:
    if values is None:
        return []
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise errors.wrong(where, "a dict with names as keys", values)
    return list(values.items())


def _several(where: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise errors.wrong(where, "a list", values)
    return list(values)


def _extent(where: str, value: Any) -> int:
    return arguments.whole(where, value, 0, 2**31 - 1)


def _numbers(where: str, value: Any) -> list[str]:
    """Numbers as the programs read them, row by row."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [text for one in value for text in _numbers(where, one)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if not isinstance(value, (int, float)):
        raise errors.wrong(where, "numbers or truth values", value)
    return [repr(value)]
