"""The ONNX protobuf wire format: just the messages of a model, as dictionaries."""
import gzip
import os
import struct

from errors import Declined, Malformed

TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64", 16: "bfloat16"}

# message: field number -> (name, kind); kinds: i integer, f float, s bytes, or a message; a * repeats.
MESSAGES = {
    "model": {1: ("ir_version", "i"), 7: ("graph", "graph"), 8: ("opset_import", "opset*"), 25: ("functions", "s*")},
    "opset": {1: ("domain", "s"), 2: ("version", "i")},
    "graph": {1: ("node", "node*"), 5: ("initializer", "tensor*"), 11: ("input", "value*"), 12: ("output", "value*"), 15: ("sparse", "s*")},
    "node": {1: ("input", "s*"), 2: ("output", "s*"), 3: ("name", "s"), 4: ("op_type", "s"), 5: ("attribute", "attribute*"), 7: ("domain", "s")},
    "attribute": {1: ("name", "s"), 2: ("f", "f"), 3: ("i", "i"), 4: ("s", "s"), 5: ("t", "tensor"), 7: ("floats", "f*"), 8: ("ints", "i*"),
                  9: ("strings", "s*"), 20: ("type", "i")},
    "tensor": {1: ("dims", "i*"), 2: ("data_type", "i"), 4: ("float_data", "f*"), 5: ("int32_data", "i*"), 7: ("int64_data", "i*"), 8: ("name", "s"),
               9: ("raw_data", "s"), 10: ("double_data", "d*"), 11: ("uint64_data", "i*"), 13: ("external_data", "entry*"), 14: ("location", "i")},
    "entry": {1: ("key", "s"), 2: ("value", "s")},
    "value": {1: ("name", "s"), 2: ("type", "type")},
    "type": {1: ("tensor_type", "tensor_type")},
    "tensor_type": {1: ("elem_type", "i"), 2: ("shape", "shape")},
    "shape": {1: ("dim", "dim*")},
    "dim": {1: ("dim_value", "i"), 2: ("dim_param", "s")},
}
WIRE = {"i": 0, "f": 5, "d": 1}


def varint(data, place):
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise Malformed("onnx.wire", f"byte {place}")
        byte = data[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value & (1 << 64) - 1, place


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def scalar(kind, data, place):
    if kind == "i":
        value, place = varint(data, place)
        return signed(value), place
    width = 4 if kind == "f" else 8
    if place + width > len(data):
        raise Malformed("onnx.wire", f"byte {place}")
    return struct.unpack_from("<f" if kind == "f" else "<d", data, place)[0], place + width


def message(name, data):
    fields = MESSAGES[name]
    result = {field: [] for field, kind in fields.values() if kind.endswith("*")}
    place = 0
    while place < len(data):
        tag, place = varint(data, place)
        wire, (field, kind) = tag & 7, fields.get(tag >> 3, (None, None))
        if wire == 2:
            length, place = varint(data, place)
            value, place = data[place:place + length], place + length
            if place > len(data):
                raise Malformed("onnx.wire", f"byte {place}")
        elif wire in (0, 1, 5):
            value, place = scalar({0: "i", 1: "d", 5: "f"}[wire], data, place)
        else:
            raise Malformed("onnx.wire", f"wire type {wire}")
        if field is None:
            continue
        base = kind.rstrip("*")
        if base in WIRE and wire == 2 and kind.endswith("*"):      # packed
            at = 0
            while at < len(value):
                number, at = scalar(base, value, at)
                result[field].append(number)
            continue
        if wire != WIRE.get(base, 2):
            raise Malformed("onnx.wire", f"field {field} of another wire type")
        value = message(base, value) if base in MESSAGES else value
        if kind.endswith("*"):
            result[field].append(value)
        elif field in result:
            raise Malformed("onnx.wire", f"field {field} is repeated")
        else:
            result[field] = value
    return result


def read_model(path):
    try:
        try:
            data = open(path, "rb").read()
        except FileNotFoundError:
            data = open(path + ".gz", "rb").read()
        return message("model", gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, EOFError) as error:
        raise Malformed("files.open", str(error)) from None


def name_of(raw):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("onnx.model", "a name that is not UTF-8") from None


def external(tensor, folder):
    entries = {name_of(e.get("key", b"")): name_of(e.get("value", b"")) for e in tensor["external_data"]}
    location = entries.get("location", "")
    try:
        path = os.path.realpath(os.path.join(folder, location))
        if not location or os.path.isabs(location) or ".." in location.split("/") or not path.startswith(os.path.realpath(folder) + os.sep):
            raise Malformed("onnx.external_data", location)
        data = open(path, "rb").read()
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", len(data) - offset))
    except (OSError, ValueError) as error:
        raise Malformed("onnx.external_data", str(error)) from None
    if offset < 0 or length < 0 or offset + length > len(data):
        raise Malformed("onnx.external_data", "offset and length")
    return data[offset:offset + length]


def tensor_of(tensor, folder):
    """(element type, shape, numbers)."""
    dtype, shape = TYPES.get(tensor.get("data_type")), tuple(tensor["dims"])
    if dtype is None:
        raise Declined("onnx.element_type", str(tensor.get("data_type")))
    size = 1
    for extent in shape:
        size *= extent
        if extent < 0 or size >= 1 << 31:
            raise Malformed("onnx.tensor", str(shape))
    code = {"float32": "f", "float64": "d", "float16": "e", "bfloat16": "H", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
            "uint32": "I", "int64": "q", "uint64": "Q", "bool": "?"}[dtype]
    raw = external(tensor, folder) if tensor.get("location") == 1 else tensor.get("raw_data")
    if raw is not None:
        if len(raw) != size * struct.calcsize("<" + code):
            raise Malformed("onnx.tensor", "length of the data")
        values = list(struct.unpack(f"<{size}{code}", raw))
    else:
        field = {"f": "float_data", "d": "double_data", "q": "int64_data", "Q": "uint64_data", "I": "uint64_data"}.get(code, "int32_data")
        values = tensor[field]
        if len(values) != size:
            raise Malformed("onnx.tensor", "number of the data")
        if dtype == "float16":
            values = [struct.unpack("<e", struct.pack("<H", v & 65535))[0] for v in values]
        if code in "bBhHiIqQ":
            values = [v & (1 << 64) - 1 if code == "Q" else v for v in values]
            if any(not -(1 << 63) <= v < 1 << 64 for v in values):
                raise Malformed("onnx.tensor", "a number out of its range")
    if dtype == "bfloat16":
        values = [struct.unpack("<f", struct.pack("<I", (v & 65535) << 16))[0] for v in values]
    if dtype == "bool":
        values = [int(bool(v)) for v in values]
    return "float32" if dtype in ("float16", "bfloat16") else dtype, shape, values
