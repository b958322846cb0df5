"""The ONNX protobuf wire format: just the messages of a model, as dictionaries."""
import gzip
import io
import math
import struct

from errors import Declined, Malformed

TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64"}
CODES = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "uint8": "B", "int8": "b", "bool": "?", "complex64": "_", "int16": "h",
         "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e"}

# message: field number, name and kind: i integer, f float, d double, s bytes, or a message; * repeats.
SPECIFICATION = """
model 1 ir_version i, 7 graph graph, 8 opset_import opset*, 25 functions s*
opset 1 domain s, 2 version i
graph 1 node node*, 5 initializer tensor*, 11 input value*, 12 output value*, 15 sparse s*
node 1 input s*, 2 output s*, 3 name s, 4 op_type s, 5 attribute attribute*, 7 domain s
attribute 1 name s, 2 f f, 3 i i, 4 s s, 5 t tensor, 7 floats f*, 8 ints i*, 20 type i
tensor 1 dims i*, 2 data_type i, 4 float_data f*, 5 int32_data i*, 7 int64_data i*, 8 name s, 9 raw_data s, 10 double_data d*, 11 uint64_data i*, 13 external s*
value 1 name s, 2 type type
type 1 tensor_type tensor_type
tensor_type 1 elem_type i, 2 shape shape
shape 1 dim dim*
dim 1 dim_value i, 2 dim_param s
"""
MESSAGES = {}
for line in SPECIFICATION.strip().split("\n"):
    message_name, first, rest = line.split(" ", 2)
    MESSAGES[message_name] = {int(n): (name, kind) for n, name, kind in (f.split(" ") for f in f"{first} {rest}".split(", "))}
WIRE = {"i": 0, "f": 5, "d": 1}


def varint(data, place):
    value = shift = 0
    while place < len(data) and shift < 64:
        value, shift, place = value | (data[place] & 127) << shift, shift + 7, place + 1
        if data[place - 1] < 128:
            return value & (1 << 64) - 1, place
    raise Malformed("onnx.wire", f"byte {place}")


def scalar(kind, data, place):
    if kind == "i":
        value, place = varint(data, place)
        return value - (value >> 63 << 64), place
    width = 4 if kind == "f" else 8
    if place + width > len(data):
        raise Malformed("onnx.wire", f"byte {place}")
    return struct.unpack_from("<" + kind, data, place)[0], place + width


def message(name, data):
    fields, place = MESSAGES[name], 0
    result = {field: [] for field, kind in fields.values() if kind.endswith("*")}
    while place < len(data):
        tag, place = varint(data, place)
        wire, (field, kind) = tag & 7, fields.get(tag >> 3, (None, ""))
        base = kind.rstrip("*")
        if wire == 2:
            length, place = varint(data, place)
            value, place = data[place:place + length], place + length
            if place > len(data):
                raise Malformed("onnx.wire", f"byte {place}")
        elif wire in (0, 1, 5):
            value, place = scalar({0: "i", 1: "d", 5: "f"}[wire], data, place)
        if wire not in (0, 1, 2, 5) or not 0 < tag >> 3 < 1 << 29:
            raise Malformed("onnx.wire", f"tag {tag}")
        if field is None:
            continue
        if base in WIRE and wire == 2 and kind.endswith("*"):      # packed
            at = 0
            while at < len(value):
                number, at = scalar(base, value, at)
                result[field].append(number)
        elif wire != WIRE.get(base, 2) or field in result and not kind.endswith("*"):
            raise Malformed("onnx.wire", f"field {field} is repeated, or of another wire type")
        else:
            value = message(base, value) if base in MESSAGES else value
            result[field] = result[field] + [value] if kind.endswith("*") else value
    return result


def read_bytes(path):
    try:
        try:
            data = open(path, "rb").read()
        except FileNotFoundError:
            data = open(path + ".gz", "rb").read()
        return gzip.GzipFile(fileobj=io.BytesIO(data)).read(1 << 30) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError) as error:
        raise Malformed("files.open", str(error)) from None


def tensor_of(tensor):
    """(element type, shape, numbers)"""
    dtype, shape = TYPES.get(tensor.get("data_type")), tuple(tensor["dims"])
    if dtype is None or tensor["external"]:
        raise Declined("onnx.element_type", "external data" if dtype else str(tensor.get("data_type")))
    size, code = math.prod(shape), CODES[dtype]
    if min(shape, default=0) < 0 or size >= 1 << 24:
        raise Malformed("onnx.tensor", str(shape))
    if "raw_data" in tensor:
        if len(tensor["raw_data"]) != size * struct.calcsize("<" + code):
            raise Malformed("onnx.tensor", "length of the data")
        values = list(struct.unpack(f"<{size}{code}", tensor["raw_data"]))
    else:
        values = tensor[{"f": "float_data", "d": "double_data", "q": "int64_data", "Q": "uint64_data", "I": "uint64_data"}.get(code, "int32_data")]
        if len(values) != size or code == "Q" and min(values, default=0) < 0:
            raise Malformed("onnx.tensor", "number of the data")
        if code == "e":
            values = [struct.unpack("<e", struct.pack("<H", v & 65535))[0] for v in values]
    return "float32" if code == "e" else dtype, shape, [int(bool(v)) for v in values] if code == "?" else values
