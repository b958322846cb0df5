"""The ONNX protobuf wire format: just the messages of a model, as dictionaries."""
import math
import struct

from graph import CODES
from wire import Declined, Malformed, Reader, require

TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64"}
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
WIRE = {0: "i", 1: "d", 2: "s", 5: "f"}


def scalar(kind, reader):
    if kind != "i":
        return reader.bytes(reader.varint()) if kind == "s" else reader.number(kind)
    value = reader.varint() & (1 << 64) - 1
    return value - (value >> 63 << 64)


def message(name, data):
    fields, reader = MESSAGES[name], Reader(data, "onnx.wire")
    result = {field: [] for field, kind in fields.values() if kind.endswith("*")}
    while reader.left():
        tag = reader.varint()
        require(tag & 7 in WIRE and 0 < tag >> 3 < 1 << 29, Malformed, "onnx.wire", f"tag {tag}")
        wire, (field, kind) = WIRE[tag & 7], fields.get(tag >> 3, ("", ""))
        value, base, repeats = scalar(wire, reader), kind.rstrip("*"), kind.endswith("*")
        if base in ("i", "f", "d") and wire == "s" and repeats:      # packed
            packed = Reader(value, "onnx.wire")
            while packed.left():
                result[field].append(scalar(base, packed))
        elif field:
            fits = wire == ("s" if base in MESSAGES else base) and (repeats or field not in result)
            require(fits, Malformed, "onnx.wire", f"field {field} is repeated, or of another wire type")
            value = message(base, value) if base in MESSAGES else value
            result[field] = result[field] + [value] if repeats else value
    return result


def tensor_of(tensor):
    """(element type, shape, numbers)"""
    dtype, shape = TYPES.get(tensor.get("data_type")), tuple(tensor["dims"])
    require(dtype and not tensor["external"], Declined, "onnx.element_type", f"{tensor.get('data_type')}, or external data")
    size, code = math.prod(shape), {**CODES, "float16": "e"}[dtype]
    require(min(shape, default=0) >= 0 and size < 1 << 24, Malformed, "onnx.tensor", str(shape))
    if "raw_data" in tensor:
        require(len(tensor["raw_data"]) == size * struct.calcsize("<" + code), Malformed, "onnx.tensor", "length of the data")
        values = list(struct.unpack(f"<{size}{code}", tensor["raw_data"]))
    else:
        values = tensor[{"f": "float_data", "d": "double_data", "q": "int64_data", "Q": "uint64_data", "I": "uint64_data"}.get(code, "int32_data")]
        require(len(values) == size and (code != "Q" or min(values, default=0) >= 0), Malformed, "onnx.tensor", "number of the data")
        values = [struct.unpack("<e", struct.pack("<H", v & 65535))[0] for v in values] if code == "e" else values
    return "float32" if code == "e" else dtype, shape, [int(bool(v)) for v in values] if code == "?" else values
