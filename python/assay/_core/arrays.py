"""Arrays of any library as bits: element type, shape, bytes. No library is imported that the caller has not imported."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError

if TYPE_CHECKING:
    import numpy

# Names that libraries give to element types, and ours.
_NAMES = {"bool_": "bool", "float": "float64", "int": "int64"}
_TYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")


class UnsupportedArray(UsageError):
    """A value that is no array, or whose element type, layout or device cannot be read."""


@dataclasses.dataclass(frozen=True)
class Bits:
    """A dense row-major tensor, little endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """The same elements, read-only; bfloat16 comes back as float32, which holds all its numbers."""
        import numpy as np

        if self.dtype == "bfloat16":
            return (np.frombuffer(self.data, "<u2").astype("<u4") << 16).view("<f4").reshape(self.shape)
        return np.frombuffer(self.data, np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)

    def carrier(self) -> Any:
        """The elements bit for bit: of bfloat16, which NumPy has not, their bits as uint16."""
        return Bits("uint16", self.shape, self.data).numpy() if self.dtype == "bfloat16" else self.numpy()

    def widened(self) -> Bits:
        """float16 and bfloat16 as float32, without loss; every other type as it is."""
        if self.dtype not in ("float16", "bfloat16"):
            return self
        return Bits("float32", self.shape, self.numpy().astype("<f4").tobytes())


class Elsewhere:
    """An array that lies in another process."""

    def bits(self) -> Bits:
        """Its elements now."""
        raise NotImplementedError


def bits_of(value: Any, what: str = "the array") -> Bits:
    """The elements of a NumPy, torch, JAX or CuPy array, of anything with DLPack or an array interface, of a number or nested lists.

    Raises UnsupportedArray, which says what was found.
    """
    import numpy as np

    if isinstance(value, Elsewhere):
        return value.bits()
    module = type(value).__module__.partition(".")[0]
    if module == "torch" and hasattr(value, "untyped_storage"):
        return _bits_of_torch(value, what)
    if module == "cupy":
        value = value.get()
    if not isinstance(value, (np.ndarray, np.generic, int, float, bool, list, tuple)):
        value = _imported(value, what)
    if isinstance(value, np.ma.MaskedArray):  # its bytes have numbers where the mask has none
        raise UnsupportedArray(f"{what} has a mask; fill masked elements with the numbers that you mean: array.filled(0)")
    array = np.asarray(value)
    name = _NAMES.get(array.dtype.name, array.dtype.name)
    if name not in _TYPES:
        raise UnsupportedArray(f"{what} has elements of type {array.dtype}; supported are {', '.join(_TYPES)}")
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return Bits(name, array.shape, array.tobytes())


def _imported(value: Any, what: str) -> Any:
    import numpy as np

    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # another device, or a type that NumPy's DLPack has not: the library's own conversion may know it
        try:
            return np.from_dlpack(value, device="cpu")
        except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError):
            pass
    if hasattr(value, "__array__"):
        try:
            return np.asarray(value)
        except Exception as error:  # whatever the library raises: arrays of JAX that are being traced, or were deleted
            raise UnsupportedArray(f"{what} cannot be read: {type(error).__name__}: {str(error).partition(chr(10))[0]}") from error
    if hasattr(value, "__cuda_array_interface__"):
        raise UnsupportedArray(f"{what} lies on a GPU, and its type {type(value).__name__} has no DLPack; give a torch or CuPy array of it")
    raise UnsupportedArray(f"{what} is no array: {type(value).__module__}.{type(value).__qualname__} has neither DLPack nor an array interface")


def _bits_of_torch(tensor: Any, what: str) -> Bits:
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized:
        raise UnsupportedArray(f"{what} is a torch tensor of layout {tensor.layout}{', quantised' if tensor.is_quantized else ''}; give a dense one")
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _TYPES:
        raise UnsupportedArray(f"{what} has elements of type {tensor.dtype}; supported are {', '.join(_TYPES)}")
    if tensor.device.type == "meta":
        raise UnsupportedArray(f"{what} is a torch tensor on the device 'meta', which has no elements")
    dense = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if name == "bfloat16":
        dense = dense.view(torch.int16)
    return Bits(name, tuple(int(n) for n in tensor.shape), dense.numpy().tobytes())
