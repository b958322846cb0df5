"""The computation of `torch.nn.functional.interpolate`, for the export of a module: its own elements and weights.

An exported Resize knows the scale as a float32 number, and its coordinates are the standard's. PyTorch computes coordinates from the
scale as it was given, in an order of its own: other elements may be nearest, and other weights count. So the function itself is asked
what it does with unit vectors along each axis, and that is exported, as Gather or as a product with a constant matrix.
"""
from __future__ import annotations

import functools
import math
from typing import Any, Callable, Sequence

from assay import errors

_MOST_WEIGHTS = 1 << 24  # along one axis
_NAMES = ("upsample", "upsample_nearest", "upsample_bilinear")


def asking(torch: Any) -> Any:
    """A context in which `interpolate` and its old names give the same values by steps that an exporter writes down exactly."""
    functional = torch.nn.functional

    class Asking(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
            name, kwargs = getattr(func, "__name__", ""), kwargs or {}
            if func is functional.interpolate or name in _NAMES and func is getattr(functional, name, None):
                return _resized(torch, name, *args, **kwargs)
            if func is functional.hardsigmoid and not (args[1] if len(args) > 1 else kwargs.get("inplace", False)):
                x = args[0] if args else kwargs["input"]
                return functional.relu6(x + 3) / 6  # as PyTorch computes it; HardSigmoid has 1/6 rounded to float32
            if "upsample" in name.lstrip("_"):
                raise errors.Unsupported("an interpolation by another function than torch.nn.functional.interpolate", where="model", why=name,
                                         advice="call interpolate, or export the model yourself and pass the file", code="python.export")
            return func(*args, **kwargs)

    return Asking()


def _resized(torch: Any, name: str, input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: Any = None, recompute_scale_factor: Any = None, antialias: bool = False) -> Any:
    if name == "upsample_bilinear":
        mode, align_corners = "bilinear", True
    shape, axes = [int(extent) for extent in input.shape], len(input.shape) - 2
    scales = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * axes
    options = {"mode": mode, "align_corners": align_corners, "recompute_scale_factor": recompute_scale_factor, "antialias": antialias}

    def along(axis: int, probe: Any) -> Any:
        """Probe [n, extent]: each row as a line of values along this axis, four times beside itself along the others, which stay."""
        around = [4] * axes
        around[axis] = probe.shape[1]
        sizes, factors = None, None
        if size is None:
            factors = [float(scales[axis]) if one == axis else 1.0 for one in range(axes)]
        else:
            sizes = [4] * axes
            sizes[axis] = int(size[axis] if isinstance(size, (tuple, list)) else size)
        line = [probe.shape[1] if one == axis else 1 for one in range(axes)]
        y = torch.nn.functional.interpolate(probe.reshape([-1, 1, *line]).expand([-1, 1, *around]).contiguous(), sizes, factors, **options)
        return y[tuple([slice(None), 0, *(slice(None) if one == axis else 0 for one in range(axes))])]

    if not input.is_floating_point() or mode == "area":  # an adaptive pool, which exporters know
        return torch.nn.functional.interpolate(input, size, scale_factor, **options)
    for axis in reversed(range(axes)):  # the order in which PyTorch sums
        input = _axis_resized(torch, input, axis + 2, shape[axis + 2], mode, functools.partial(along, axis))
    return input


def _axis_resized(torch: Any, x: Any, axis: int, extent: int, mode: str, along: Callable[[Any], Any]) -> Any:
    like = {"dtype": x.dtype, "device": x.device}
    if mode.startswith("nearest"):
        with _outside_of_traces(torch):
            places = along(torch.arange(extent, **like).reshape(1, extent)).reshape(-1).to(torch.int64)
            stays = places.tolist() == list(range(extent))
        return x if stays else x.index_select(axis, places)
    with _outside_of_traces(torch):
        matrix = along(torch.eye(extent, **like))
        stays = matrix.shape == (extent, extent) and bool((matrix == torch.eye(extent, **like)).all())
        if math.prod(matrix.shape) > _MOST_WEIGHTS:
            raise errors.Unsupported("an interpolation of too many elements", where="model", why=f"{extent} along one axis",
                                     advice="export the model yourself and pass the file", code="python.export")
    last = x.dim() - 1
    return x if stays else torch.matmul(x.transpose(axis, last), matrix).transpose(axis, last)


class _outside_of_traces:
    """Makes each value that is computed inside a constant of a trace."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __enter__(self) -> None:
        self.state = self.torch._C._get_tracing_state()
        self.torch._C._set_tracing_state(None)

    def __exit__(self, *_: Any) -> None:
        self.torch._C._set_tracing_state(self.state)
