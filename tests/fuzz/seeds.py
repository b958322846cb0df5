#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets (tests/fuzz/corpus) and the statements whose truth is known (tests/fuzz/statements).

Usage: seeds.py BIN_DIRECTORY

Everything comes from models, properties and texts that stand here; `assay` turns them into statements, certificates and traces. The seeds are
committed, so that fuzzing needs no other build: run this again after a change to a format, and commit what it writes.
"""
import gzip
import hashlib
import io
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from hostile_test import crc32c  # noqa: E402
from onnx_files import BOOL, FLOAT, INT64, block, model, node, number, tensor, two_equal_neurons, value_info  # noqa: E402

CORPUS, STATEMENTS = HERE / "corpus", HERE / "statements"
MOST_BYTES = 200_000


def seed(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


# Networks.

def sixteenths(draw, count):
    return [draw.randrange(-16, 17) / 16 for _ in range(count)]


def dense(widths, activation, number_of_network):
    draw = random.Random(number_of_network)
    nodes, tensors, last = [], [], "x"
    for k in range(1, len(widths)):
        tensors += [tensor(f"w{k}", [widths[k - 1], widths[k]], sixteenths(draw, widths[k - 1] * widths[k])), tensor(f"b{k}", [widths[k]], sixteenths(draw, widths[k]))]
        nodes.append(node("Gemm", [last, f"w{k}", f"b{k}"], [f"z{k}"], f"dense {k}"))
        last = f"z{k}"
        if k + 1 < len(widths):
            nodes.append(node(activation, [last], [f"h{k}"], f"hidden {k}"))
            last = f"h{k}"
    return model(nodes, [value_info("x", [1, widths[0]])], [value_info(last, [1, widths[-1]])], tensors)


def attention():
    draw = random.Random(6)
    tensors = [tensor(name, dims, sixteenths(draw, dims[0] * dims[1])) for name, dims in (("q", [2, 2]), ("k", [2, 2]), ("v", [2, 2]), ("o", [6, 1]))]
    tensors.append(tensor("s", [2], [1, 6], INT64))
    nodes = [node("MatMul", ["x", "q"], ["xq"], "q"), node("MatMul", ["x", "k"], ["xk"], "k"), node("MatMul", ["x", "v"], ["xv"], "v"),
             node("Transpose", ["xk"], ["kt"], "kt", perm=[0, 2, 1]), node("MatMul", ["xq", "kt"], ["a"], "a"), node("Softmax", ["a"], ["w"], "w", axis=2),
             node("MatMul", ["w", "xv"], ["m"], "m"), node("Tanh", ["m"], ["t"], "t"), node("Add", ["t", "x"], ["r"], "r"),
             node("Reshape", ["r", "s"], ["f"], "f"), node("MatMul", ["f", "o"], ["y"], "y")]
    return model(nodes, [value_info("x", [1, 3, 2])], [value_info("y", [1, 1])], tensors)


def pooled():
    draw = random.Random(8)
    nodes = [node("Conv", ["x", "w"], ["c"], "c", kernel_shape=[2, 2]), node("MaxPool", ["c"], ["p"], "p", kernel_shape=[2, 2]), node("Relu", ["p"], ["h"], "h"),
             node("Flatten", ["h"], ["f"], "f"), node("Gemm", ["f", "v"], ["y"], "y")]
    return model(nodes, [value_info("x", [1, 1, 3, 3])], [value_info("y", [1, 1])], [tensor("w", [2, 1, 2, 2], sixteenths(draw, 8)), tensor("v", [2, 1], [1, -0.5])])


SPLIT = "relu"  # its proof is split for the target cubes
# Name: model, numbers of inputs and outputs, how far the bounds of the true and the false statement may be apart.
NETWORKS = {
    "attention": (attention(), 6, 1, 8.1),
    "equal": (two_equal_neurons(), 2, 1, 0.03),
    "pooled": (pooled(), 9, 1, 0.03),
    "relu": (dense([3, 6, 5, 2], "Relu", 4), 3, 2, 0.03),
    "sigmoid": (dense([2, 4, 4, 1], "Sigmoid", 9), 2, 1, 0.03),
}


def boxed(inputs, outputs, assertions):
    text = "".join(f"(declare-const X_{i} Real)\n" for i in range(inputs)) + "".join(f"(declare-const Y_{i} Real)\n" for i in range(outputs))
    return text + "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))\n" for i in range(inputs)) + assertions


def reaches(inputs, outputs, bound):
    """Two cases: y0 beyond the bound, and the same with a row that follows from it, so that there are multipliers."""
    return boxed(inputs, outputs, f"(assert (or (>= Y_0 {bound}) (and (>= Y_0 {bound}) (>= Y_0 {bound - 1}))))\n")


class Programs:
    def __init__(self, folder):
        self.bin, self.folder = pathlib.Path(folder), pathlib.Path(tempfile.mkdtemp())

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    def run(self, *words):
        return subprocess.run([self.bin / words[0], *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def decided(self, net, prop):
        """The answer and the certificate."""
        proof = self.folder / "proof"
        answer = self.run("assay", "verify", net, prop, "--proof", str(proof), "--timeout", "30", "--threads", "1").stdout.split()[0].decode()
        return answer, proof.read_bytes() if answer in ("sat", "unsat") else b""

    def statement(self, net, prop):
        return self.run("assay", "statement", net, prop).stdout

    def digest(self, statement, another_proof):
        """A certificate of another statement makes the checker say which one it wanted."""
        run = self.run("assay-check", self.write("s", statement), self.write("c", another_proof))
        return bytes.fromhex(run.stderr.decode().split("expected statement ")[1].split(",")[0])


def records_of(proof):
    """The payload of the record frames of a certificate."""
    at, payload = 39 + proof[38] + 4, b""
    while True:
        kind, length, shift = proof[at], 0, 0
        at += 1
        while True:
            byte = proof[at]
            at, length, shift = at + 1, length | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        if kind == 2:
            return payload
        payload, at = payload + proof[at:at + length], at + length + 4


def about(proof, digest):
    """The certificate with the header of another statement, which follows from its own."""
    head = proof[:6] + digest + proof[38:39 + proof[38]]
    return head + crc32c(head) + proof[len(head) + 4:]


def split(programs, net, prop):
    """The true statement's proof in cubes and parts, and each of its files in its place for both statements."""
    folder = STATEMENTS / "split"
    programs.run("assay", "split", net, prop, "--into", "3", "-o", str(folder))
    for cube in sorted(folder.glob("*.cube")):
        programs.run("assay", "solve", str(cube), "--model", net, "--property", prop, "--threads", "1")
    manifest = json.loads((folder / "split.json").read_text())
    for key in ("model", "property", "seconds"):  # paths and times of one machine
        del manifest[key]
    (folder / "split.json").write_text(json.dumps(manifest) + "\n")
    for place, name in enumerate(("root.assay", "001.part", "001.cube")):
        for is_true in (0, 1):
            seed("cubes", f"{name}.{is_true}", bytes([place, is_true, 0]) + (folder / name).read_bytes())


def packs():
    """A pack of two small certificates, one whose index names too much, and one without an index."""
    contents = sorted(((STATEMENTS / f"{name}.assay").read_bytes() for name in ("equal.fails", "relu.fails")), key=lambda one: hashlib.sha256(one).digest())
    mark, body, index = b"ASSAYPK1", b"ASSAYPK1", []
    for content in contents:
        index.append(hashlib.sha256(content).digest() + struct.pack("<QQ", len(body), len(content)))
        body += content
    whole = body + b"".join(index) + struct.pack("<Q", len(index)) + mark
    seed("pack", "two", whole)
    seed("pack", "twice", body + index[0] * 3 + struct.pack("<Q", 3) + mark)
    seed("pack", "beyond", body + index[0][:40] + struct.pack("<Q", 2**63) + index[1] + struct.pack("<Q", 2) + mark)
    seed("pack", "none", mark + struct.pack("<Q", 0) + mark)


def statements(programs):
    """A true and a false statement about each network, with the certificates that show which is which. The true one asks for half a gap less than
    its certificate shows: a checker whose bounds are a little weaker than those of today still accepts it."""
    shutil.rmtree(STATEMENTS, ignore_errors=True)
    STATEMENTS.mkdir(parents=True)
    proofs = {}
    for name, (net_bytes, inputs, outputs, gap) in NETWORKS.items():
        net = programs.write(name + ".onnx", net_bytes)
        low, high = (-64.0, 64.0)
        found = {}
        while high - low > gap:
            middle = (low + high) / 2
            prop = programs.write("p.vnnlib", reaches(inputs, outputs, middle))
            answer, proof = programs.decided(net, prop)
            if answer not in ("sat", "unsat"):
                break
            found[answer] = (programs.statement(net, prop), proof)
            low, high = (middle, high) if answer == "sat" else (low, middle)
        weaker = programs.statement(net, programs.write("p.vnnlib", reaches(inputs, outputs, high + gap / 2)))
        found["unsat"] = (weaker, about(found["unsat"][1], programs.digest(weaker, found["unsat"][1])))
        for answer, word in (("unsat", "holds"), ("sat", "fails")):
            statement, proof = found[answer]
            proofs[f"{name}.{word}"] = proof
            (STATEMENTS / f"{name}.{word}.assay-statement").write_bytes(statement)
            (STATEMENTS / f"{name}.{word}.assay").write_bytes(proof)
            seed("statement", f"{name}.{word}", statement)
            seed("certificate", f"{name}.{word}", proof)
            if name == SPLIT and answer == "unsat":
                split(programs, net, programs.write("p.vnnlib", reaches(inputs, outputs, high + gap / 2)))
    order = sorted(proofs)
    for name in order:
        network = name.split(".")[0]
        for other in ("holds", "fails"):  # the certificate of one is presented for the other, too
            seed("records", f"{name}.for_{other}", bytes([order.index(f"{network}.{other}")]) + records_of(proofs[name]))
    # Steps that a search does not write: boxes, sweeps, tightening with claims and masks, splits in three spellings, empty groups.
    steps = b"\x01\x00" + b"\x03\x00\x00" + b"\x04\x03" + b"\x05\x03\x08" + b"\x05\x03\x20\x02" + struct.pack("<4f", -3, -3, 3, 3)
    splits = b"\x0a\x03\x00\x09" + b"\x0d" + b"\x0b\x03\x01" + struct.pack("<f", 0.5) + b"\x07\x05\x00" + b"\x0d" + b"\x07\x05\x00" + b"\x0e" + b"\x0e"
    hints = b"\x06\x01\x03" + b"\x01\x04\x02\x02\x40\x40" + b"\x01\x04\x02\x02\x80\x40" + b"\x08\x05\x01\x01\x00" + struct.pack("<f", 0.25)
    for k, payload in enumerate((steps, steps + splits + b"\x02", steps + hints + b"\x02", b"\x01\x00\x02")):
        seed("records", f"steps_{k}", bytes([order.index("equal.holds")]) + payload)


# Models, one op and its constants each: (op, constants, attributes).
def models():
    ints, floats = (lambda *v: ([len(v)], list(v), INT64)), (lambda dims, v: (dims, v, FLOAT))
    ops = [
        ("Relu", [], {}), ("LeakyRelu", [], {"alpha": 0.25}), ("Sigmoid", [], {}), ("Tanh", [], {}), ("Erf", [], {}), ("Abs", [], {}), ("Sign", [], {}),
        ("Add", [floats([4], [1, 2, 3, 4])], {}), ("Mul", [floats([], [0.5])], {}), ("Pow", [floats([], [2])], {}), ("Where", None, {}),
        ("Reshape", [ints(1, -1, 4)], {}), ("Transpose", [], {"perm": [0, 2, 3, 1]}), ("Flatten", [], {"axis": 1}), ("Squeeze", [ints(0)], {}),
        ("Slice", [ints(0, 1), ints(2, 4), ints(2, 3), ints(1, 2)], {}), ("Gather", [ints(0, 1, 1)], {"axis": 2}), ("Split", [ints(1, 1)], {"axis": 1}),
        ("Pad", [ints(0, 0, 1, 1, 0, 0, 1, 1)], {"mode": "reflect"}), ("Tile", [ints(1, 2, 1, 1)], {}), ("Expand", [ints(3, 2, 4, 4)], {}),
        ("Resize", [floats([0], []), floats([4], [1, 1, 2, 2])], {"mode": "linear"}), ("DepthToSpace", [], {"blocksize": 1}),
        ("Conv", [floats([2, 2, 2, 2], [0.25] * 16)], {"pads": [1, 1, 0, 0], "strides": [2, 2]}), ("ConvTranspose", [floats([2, 1, 2, 2], [0.5] * 8)], {"strides": [2, 2]}),
        ("MaxPool", [], {"kernel_shape": [2, 2], "ceil_mode": 1}), ("AveragePool", [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}), ("GlobalAveragePool", [], {}),
        ("BatchNormalization", [floats([2], [1, 2])] * 4, {"epsilon": 0.5}), ("InstanceNormalization", [floats([2], [1, 2])] * 2, {}), ("LRN", [], {"size": 3}),
        ("LayerNormalization", [floats([4], [1, 1, 2, 2])], {"axis": -1}), ("Softmax", [], {"axis": 3}), ("LogSoftmax", [], {"axis": 1}),
        ("ReduceSum", [ints(1, 2)], {"keepdims": 0}), ("ReduceMax", [], {"axes": [3]}), ("CumSum", [([], [2], INT64)], {}), ("ArgMax", [], {"axis": 1}), ("TopK", [ints(1)], {"axis": 1}),
        ("MatMul", [floats([4, 2], [1, 0, -1, 2, 1, 1, 0.5, 0.5])], {}), ("Einsum", [], {"equation": "nchw->nc"}), ("Clip", [floats([], [-1]), floats([], [1])], {}),
        ("QuantizeLinear", [floats([], [0.5])], {}), ("OneHot", None, {}), ("GridSample", [floats([1, 1, 2, 2], [0, 0.5, -0.5, 1])], {}),
    ]
    for op, constants, attributes in ops:
        if constants is None:
            continue
        names = [f"c{k}" for k in range(len(constants))]
        tensors = [tensor(n, *c) for n, c in zip(names, constants)]
        results = ["y", "i"] if op == "TopK" else ["y", "z"] if op == "Split" else ["y"]
        seed("onnx", op, model([node(op, ["x", *names], results, op, **attributes)], [value_info("x", [1, 2, 4, 4])], [value_info("y", None)], tensors, 17 if op == "LayerNormalization" else 13))
    for name, network in NETWORKS.items():
        seed("onnx", f"network_{name}", network[0])
    external = number(1, 2) + number(1, 2) + number(2, FLOAT) + block(8, "c") + block(13, block(1, "location") + block(2, "data.bin")) + number(14, 1)
    seed("onnx", "external_data", model([node("MatMul", ["x", "c"], ["y"], "y")], [value_info("x", [1, 2])], [value_info("y", None)], [external]))
    recurrent = [tensor("w", [1, 8, 2], [0.125] * 16), tensor("r", [1, 8, 2], [-0.25] * 16)]
    seed("onnx", "LSTM", model([node("LSTM", ["x", "w", "r"], ["y"], "y", hidden_size=2)], [value_info("x", [2, 1, 2])], [value_info("y", None)], recurrent))
    chosen = [tensor("d", [1], [4], INT64), tensor("v", [2], [0, 1]), tensor("t", [1, 1], [True], BOOL)]
    seed("onnx", "symbolic_OneHot_Where", model(
        [node("ArgMax", ["x"], ["i"], "i", axis=1, keepdims=0), node("OneHot", ["i", "d", "v"], ["o"], "o"), node("Where", ["t", "o", "x"], ["y"], "y")],
        [value_info("x", ["batch", 4])], [value_info("y", None)], chosen))


def properties():
    box = boxed(2, 2, "")
    v1 = {
        "row": "(assert (>= Y_0 9))", "strict": "(assert (> (+ Y_0 (* 2 X_0)) (- 1e-3 Y_1)))", "nested": "(assert (or (and (<= X_0 0.5) (>= Y_0 1)) (and (>= X_1 1/8) (or (<= Y_1 -2) (= Y_0 3)))))",
        "not": "(assert (not (<= Y_0 Y_1)))", "empty": "(assert (<= X_0 -2))\n(assert (<= Y_0 0))", "comment": "; a remark\n(assert (<= (* 0.1 Y_0) 1e400))", "product": "(assert (<= (* X_0 Y_0) 1))",
    }
    for name, text in v1.items():
        seed("vnnlib", "v1_" + name, box + text + "\n")
    one = "(vnnlib-version <2.0>)\n(declare-network N\n(declare-input X real [1,2])\n(declare-output Y real [1,2]))\n"
    two = "(vnnlib-version <2.0>)\n(declare-network n (declare-input A real [2])(declare-input B int64 [1,2])(declare-output P real [2])(declare-output Q real [1,2]))\n"
    seed("vnnlib", "v2_one", one + "(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] -1) (<= X[0,1] 1)))\n(assert (or (>= Y[0,0] Y[0,1]) (> Y[0,1] 2.5)))\n")
    seed("vnnlib", "v2_not_equal", one + "(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (== X[0,1] 0.5) (!= Y[0,0] 0)))\n")
    seed("vnnlib", "v2_products", one + "(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] -1) (<= X[0,1] 1)))\n"
         "(assert (or (<= (* X[0,0] X[0,0] Y[0,1]) (* 0.5 Y[0,0] Y[0,0])) (< (* (- X[0,1] 1) (- X[0,1] 1)) 0.25)))\n")
    seed("vnnlib", "v2_two", two + "(assert (and (>= A[0] 0) (<= A[0] 1) (>= A[1] 2) (<= A[1] 3) (>= B[0,0] 4) (<= B[0,0] 5) (>= B[0,1] 6) (<= B[0,1] 7)))\n(assert (<= (+ P[0] (* 2 Q[0,1])) B[0,1]))\n")
    seed("vnnlib", "v2_hidden", one.replace("(declare-output", "(declare-hidden H real [1,2] \"h\")\n(declare-output") + "(assert (>= H[0,0] 0))\n")


def safetensors(tensors, metadata=None):
    """tensors: (name, dtype, shape, bytes)"""
    header, at = ({"__metadata__": metadata} if metadata else {}), 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(t[3] for t in tensors)


def png(width, height, depth, colour, rows, chunks=()):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind.encode() + body + struct.pack(">I", zlib.crc32(kind.encode() + body))

    head = struct.pack(">2I5B", width, height, depth, colour, 0, 0, 0)
    middle = b"".join(chunk(*one) for one in chunks)
    return b"\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + middle + chunk("IDAT", zlib.compress(rows)) + chunk("IEND", b"")


def weights():
    seed("safetensors", "empty", safetensors([]))
    npy = b"\x93NUMPY\1\0\x46\0" + b"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }".ljust(69) + b"\n" + struct.pack("<2f", 1, 0.5)
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("a.npy"), npy)
        seed("tables", "npz", b"\0" + file.getvalue())
    seed("tables", "npy", b"\0" + npy)
    seed("tables", "csv", b"\0label;a\r\n1;2.5\n#\n0;+3e1")
    seed("tables", "rows", b"\2a,\"b \"\"c\"\"\"\r\n1,2\n")
    seed("tables", "idx", b"\0\0\0\x0B\2\0\0\0\1\0\0\0\2\1\2\3\4")
    seed("tables", "cifar", b"\1\7" + bytes(3072))
    seed("tables", "png", b"\0" + png(3, 2, 8, 3, b"\0\0\1\1\2\1\0\1", [("PLTE", b"\0\0\0\xff\x80\1")]))
    seed("safetensors", "several", safetensors([("a", "F32", [2, 2], bytes(16)), ("b", "I64", [], bytes(8)), ("c", "BOOL", [3], b"\1\0\1"), ("d", "BF16", [0, 5], b"")], {"format": "pt"}))
    data = struct.pack("<2f", 1, 0.5)
    region = {"name": "r", "model": "real arithmetic", "operands": ["x"], "results": ["y"], "nodes": [{"op": "relu", "operands": [0]}]}
    trace = {"version": 1, "writer": "seeds", "inputs": ["x"], "parameters": [], "outputs": ["y"], "regions": [region], "crc32": {n: zlib.crc32(data) for n in "xy"}}
    seed("trace", "by_hand", safetensors([("x", "F32", [1, 2], data), ("y", "F32", [1, 2], data)], {"assay.trace": json.dumps(trace)}))


def traces(programs):
    for name in ("equal", "sigmoid", "pooled"):
        path = programs.folder / (name + ".trace")
        programs.run("assay", "record", programs.write(name + ".onnx", NETWORKS[name][0]), str(path), "--seed", "3")
        seed("trace", name, path.read_bytes())


def compressed():
    text = boxed(1, 1, "(assert (>= Y_0 1))\n").encode()
    whole = gzip.compress(text, mtime=0)
    for name, data in {"plain": text, "whole": whole, "two_members": whole + gzip.compress(b"; more", mtime=0), "stored": gzip.compress(text, 0, mtime=0),
                       "cut": whole[:-6], "zeros": gzip.compress(bytes(1 << 16), mtime=0), "no_data": gzip.compress(b"", mtime=0)}.items():
        seed("gzip", name, data)


def small_texts():
    values = {"inputs": {"x": [[1, -0.5], [{"lo": 0, "hi": 0.25}, True]]}, "cotangents": {"y": [1]}}
    waiver = {"id": "W7", "rule": "contract.softmax", "op": "softmax", "tensor": "y", "most_elements": 12, "reason": "issue 311", "owner": "kernels team", "expires": "2027-03-31"}
    old = {**waiver, "expires": "2025-01-01"}
    seed("lists", "values", "\0" + json.dumps(values))
    seed("lists", "waivers", "\1" + json.dumps({"waivers": [waiver]}))
    seed("lists", "expired", "\1" + json.dumps({"waivers": [old]}))
    seed("lists", "baseline", "\2" + json.dumps({"schema": "assay.baseline/1", "head_room": {"gemm": 0.25, "softmax": 0}}))
    seed("lists", "certificates", "\3# a remark\nm.onnx,p.vnnlib,c.assay\nm.onnx,q.vnnlib,d.assay,sat\r\n/m,/p,/c,unsat\n")
    for name, text in {"real": "real arithmetic", "float32": "float32", "fields": "float32 sum=tree height=5 fma=no flush_results=yes softmax=online",
                       "fraction": "-355/113", "decimal": "0.1250e-3", "whole": "+12", "seconds": "1.5m", "bytes": "512MiB", "work": "1e12"}.items():
        seed("words", name, text)


def dictionary(target, entries):
    """Words for libFuzzer, with \\xNN for what is not printable."""
    spelled = ["".join(chr(b) if 0x20 <= b < 0x7f and b not in b'"\\\\' else f"\\x{b:02x}" for b in entry) for entry in entries]
    (HERE / "targets" / f"{target}.dict").write_text("".join(f'"{word}"\n' for word in spelled))


def dictionaries():
    words = ("(assert ", "(declare-const ", "Real", "(and ", "(or ", "(not ", "(<= ", "(>= ", "(< ", "(> ", "(= ", "(== ", "(!= ", "(+ ", "(- ", "(* ", "(/ ", "X_0", "X_1", "Y_0", "Y_1",
             "(vnnlib-version <2.0>)", "(declare-network ", "(declare-input ", "(declare-output ", "(declare-hidden ", "(equal-to ", "(isomorphic-to ", "float32", "float64", "int64", "real",
             "[1,2]", "[2]", "[0,0]", "[0,1]", "; ", "1e400", "0x10", "(ite ", "(let ", "true", "false", "=> ")
    dictionary("vnnlib", [word.encode() for word in words])
    ops = sorted({path.name for path in (CORPUS / "onnx").iterdir() if "_" not in path.name} | {
        "And", "Cast", "Ceil", "Compress", "Concat", "Constant", "ConstantOfShape", "DequantizeLinear", "Div", "Dropout", "Elu", "Equal", "Exp", "Floor", "GRU", "GatherND", "Gelu", "Greater",
        "HardSigmoid", "Identity", "If", "Less", "Log", "Loop", "Max", "Mean", "Min", "Mod", "Neg", "Not", "PRelu", "RNN", "Range", "Reciprocal", "ReduceMean", "ReduceMin", "Round", "Scan",
        "ScatterND", "Selu", "Shape", "Size", "Softplus", "SpaceToDepth", "Sqrt", "Sub", "Sum", "Trilu", "Unsqueeze", "Upsample", "Where"})
    names = ["axis", "axes", "keepdims", "perm", "pads", "strides", "dilations", "group", "kernel_shape", "auto_pad", "SAME_UPPER", "mode", "alpha", "to", "ceil_mode", "count_include_pad", "transA",
             "equation", "direction", "bidirectional", "hidden_size", "external"]
    # Names behind their field and length: op of a node, name of an attribute; numbers of int64.
    dictionary("onnx", [block(4, op) for op in ops] + [block(1, name) for name in names] + [struct.pack("<q", v) for v in (0, -1, 2**31, 2**62, -2**63)])


def main():
    programs = Programs(sys.argv[1])
    shutil.rmtree(CORPUS, ignore_errors=True)
    statements(programs)
    packs()
    models()
    properties()
    weights()
    traces(programs)
    compressed()
    small_texts()
    dictionaries()
    shutil.rmtree(programs.folder)
    size = sum(path.stat().st_size for folder in (CORPUS, STATEMENTS) for path in folder.rglob("*") if path.is_file())
    print(f"{sum(1 for path in CORPUS.rglob('*') if path.is_file())} seeds, {size} bytes with the statements")
    if size > MOST_BYTES:
        sys.exit(f"more than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
