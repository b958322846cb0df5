"""Files that no reader may fall for: nested JSON, named pipes, arrays that NumPy reads otherwise, names that steer terminals. Usage: readers_test.py BIN_DIRECTORY"""
import array
import json
import os
import struct
import subprocess
import zlib

import onnx_files
import runs
from onnx_files import block, number
from runs import BIN, Case, DATA, DIGITS, IMAGES, LABELS, MODEL, assay, npy

HOLDS = str(DIGITS / "digits_holds.vnnlib")


def safetensors(header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def archive(entries):
    """Stored, not compressed."""
    out, directory = b"", b""
    for name, content in entries:
        head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, zlib.crc32(content), len(content), len(content), len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, len(out)) + name
        out += b"PK\x03\x04" + head + name + content
    return out + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), len(out), 0)


class Readers(Case):
    def refused(self, *words, code=4, text=""):
        done = assay(*words)
        self.assertEqual((done.returncode, text in done.stdout + done.stderr), (code, True), (words, done.stdout[:200], done.stderr[:400]))

    def test_nested_json(self):
        for depth in (1000, 300000):
            inside = b"[" * depth + b"]" * depth
            tensors = self.write("n.safetensors", safetensors(b'{"a":' + inside + b"}"))
            for verb in (["inspect"], ["audit"], ["gradcheck"], ["robust", MODEL]):
                self.refused(*verb, tensors, *(["--eps", "0.1"] if verb[0] == "robust" else []), text="nested" if verb[0] in ("inspect", "robust") else "")
            trace = self.write("n.trace", safetensors({"__metadata__": {"assay.trace": '{"version":' + inside.decode() + "}"}}))
            self.refused("audit", trace, text="nested")
            waivers = self.write("w.json", b'{"waivers":' + inside + b"}")
            self.assertEqual(assay("record", MODEL, self.folder / "run.trace").returncode, 0)
            for option in ("--waivers", "--baseline"):
                self.refused("audit", self.folder / "run.trace", option, waivers, text="nested")
            self.refused("eval", MODEL, self.write("v.json", b'{"inputs":' + inside + b"}"), text="nested")
            self.refused("run", MODEL, "--values", self.folder / "v.json", text="nested")
            self.write("run/run.json", b'{"kind": "batch", "claim": {"lists": ' + inside + b"}}")
            self.refused("check", self.folder / "run", text="run.json")
            self.refused("report", self.folder / "run", "-o", self.folder / "page.html", text="run.json")
            self.write("cubes/split.json", inside)
            self.refused("merge", self.folder / "cubes", "-o", self.folder / "merged", text="split.json")
        deep = b"[" * 150 + b"]" * 150
        self.refused("eval", MODEL, self.write("v.json", b'{"inputs":' + deep + b"}"))  # read, and not what is wanted

    def test_brackets_in_texts_are_no_nesting(self):
        many = "[{" * 400
        header = {"__metadata__": {"a \\\" b": many, many: "\\"}, "x": {"dtype": "U8", "shape": [1, 64], "data_offsets": [0, 64]}}
        self.assertEqual(assay("inspect", self.write("t.safetensors", safetensors(header, bytes(64)))).returncode, 0)

    def test_named_pipes(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertEqual(assay("verify", MODEL, HOLDS, "--proof", self.folder / "holds.assay", "-q").returncode, 0)
        for words in (["lint", pipe], ["inspect", pipe], ["verify", MODEL, pipe], ["verify", pipe, HOLDS], ["check", MODEL, HOLDS, pipe], ["check", "--list", pipe],
                      ["check", MODEL, HOLDS, self.folder / "holds.assay", "--waivers", pipe], ["audit", pipe], ["eval", MODEL, pipe], ["report", pipe],
                      ["robust", MODEL, pipe, "--eps", "0.1"], ["robust", MODEL, DATA, "--labels", pipe, "--eps", "0.1"], ["batch", pipe]):
            with self.subTest(words=words):
                self.refused(*words)
        list_file = self.write("list.csv", f"{MODEL},{pipe}\n".encode())
        self.assertEqual(assay("batch", list_file, "-q").returncode, 4)
        done = subprocess.run([str(BIN / "assay-check"), MODEL, HOLDS, str(pipe)], capture_output=True, text=True, check=False, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("named pipe", done.stderr)

    def test_open_pipes_are_read(self):
        """What a shell makes of <(...), and /dev/stdin."""
        with open(HOLDS, "rb") as held:
            done = subprocess.run([str(BIN / "assay"), "verify", MODEL, "/dev/stdin", "-q"], input=held.read(), capture_output=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout[:5]), (0, b"unsat"), done.stderr)
        done = subprocess.run(["bash", "-c", f"'{BIN}/assay' verify '{MODEL}' <(cat '{HOLDS}') -q"], capture_output=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout[:5]), (0, b"unsat"), done.stderr)

    def test_labels_in_words(self):
        """360 numbers are no name of a file, nor is a name too long for one."""
        x = self.write("x.npy", npy(array.array("f", [v for image in IMAGES for v in image]).tobytes(), "<f4", (360, 64)))
        words = ["robust", MODEL, x, "--eps", "0.001", "-q", "--clip", "0,1"]
        done = assay(*words, "--labels", ",".join(map(str, LABELS)), "--run", self.folder / "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(assay("check", self.folder / "run").returncode, 0)
        self.refused(*words, "--labels", "3," * 3000 + "x", text="dataset.open")
        self.refused("robust", MODEL, "x" * 5000 + ":y", "--eps", "0.1", text="dataset.open")

    def test_headers_that_say_two_things(self):
        x = array.array("f", range(64)).tobytes()

        def header(text):
            text += " " * (-(len(text) + 11) % 64) + "\n"
            return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + x

        for text in ("{'descr': '<f4', 'fortran_order': False, 'fortran_order': True, 'shape': (1, 64), }",
                     "{'descr': '<f4', 'descr': '>f4', 'fortran_order': False, 'shape': (1, 64), }",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), 'shape': (64, 1), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), 'x': 1, }",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), } # {'shape': (64, 1)}", "{'descr': '<f4', 'shape': (1, 64), 'fortran\\x5forder': True, }",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': '(1, 64)', }", "{'descr': '<f4', 'shape': (1, 64)}", "{'descr': '<f4' 'fortran_order': False, 'shape': (1, 64)}"):
            with self.subTest(text=text):
                self.refused("inspect", self.write("x.npy", header(text)), text="dataset.npy")
        for text in ('{"descr": "<f4", "fortran_order": False, "shape": (1, 64)}', "{'shape':(1,64),'descr':'<f4','fortran_order':False,}"):
            self.assertEqual(assay("inspect", self.write("x.npy", header(text))).returncode, 0, text)
        one, other = npy(x, "<f4", (1, 64)), npy(x[::-1], "<f4", (1, 64))
        for names in ((b"x.npy", b"x"), (b"x", b"x.npy"), (b"x.npy", b"x.npy")):
            self.refused("robust", MODEL, self.write("x.npz", archive([(names[0], one), (names[1], other)])), "--eps", "0.1", text="dataset.zip")
        self.assertEqual(assay("inspect", self.write("x.npz", archive([(b"x.npy", one), (b"z", other)]))).returncode, 0)

    def test_numbers_that_a_double_does_not_hold(self):
        words = ["--eps", "1", "-q", "--labels", "1"]
        for kind, code, values in (("q", "<i8", (2**53 + 1, -(2**53) - 1, 2**62 + 1)), ("Q", "<u8", (2**53 + 1, 2**64 - 1)),
                                   ("f", "<f4", (float("nan"), float("inf"))), ("d", "<f8", (float("-inf"),))):
            for value in values:
                pixels = array.array(kind, [0] * 63 + [value]).tobytes()
                with self.subTest(value=value):
                    self.refused("robust", MODEL, self.write("x.npy", npy(pixels, code, (1, 64))), *words, text="dataset.number")
        for kind, code, value in (("q", "<i8", 2**60), ("q", "<i8", -(2**63)), ("Q", "<u8", 2**63)):
            data = self.write("x.npy", npy(array.array(kind, [0] * 63 + [value]).tobytes(), code, (1, 64)))
            self.assertEqual(assay("robust", MODEL, data, *words, "--scale", "1/9223372036854775808").returncode, 0)

    def test_names_steer_nothing(self):
        name = "r |\x1b[2J\n## assay audit: passed\n<img src=https://evil/x.png> [a](javascript:b) `c` @you www.evil.org"
        x = struct.pack("<3f", 1, 2, 3)
        trace = {"version": 1, "writer": name, "inputs": [name], "parameters": [], "outputs": ["y"], "models": {"cpu": "binary32 math=glibc-2.36"},
                 "regions": [{"name": name, "model": "cpu", "operands": [name], "results": ["y"], "nodes": [{"op": "neg", "operands": [0]}]}],
                 "vjps": [], "gradients": [{"output": "y", "seed": name, "of": {name: name}}], "detached": [], "crc32": {name: zlib.crc32(x), "y": zlib.crc32(x)}}
        header = {"__metadata__": {"assay.trace": json.dumps(trace)}, name: {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]},
                  "y": {"dtype": "F32", "shape": [3], "data_offsets": [12, 24]}}
        path, markdown, junit = self.write("t.trace", safetensors(header, x + x)), self.folder / "m.md", self.folder / "j.xml"  # y is not -x: a finding
        for words in (["audit", path, "--markdown", markdown, "--junit", junit], ["gradcheck", path, "--markdown", markdown, "--junit", junit], ["inspect", path, "--show", "all"],
                      ["report", path, "-o", self.folder / "page.html"]):
            done = assay(*words)
            text = done.stdout + done.stderr
            self.assertNotIn("\x1b", text, words)
            self.assertNotIn("\n## assay", text, words)
            for file in (markdown, junit):
                written = file.read_text() if file.exists() else ""
                self.assertNotIn("\x1b", written)
            written = markdown.read_text() if markdown.exists() else ""
            self.assertLessEqual(written.count("\n## "), 1)
            for markup in ("<img", "](", "`c`", "https://", "www.", "@you"):
                self.assertNotIn(markup, written.split("\n", 1)[-1], words)
        self.assertTrue(markdown.exists())

    def test_names_of_lists(self):
        name = "bad\x1b[2Jname.vnnlib"
        done = assay("batch", self.write("list.csv", f"{MODEL},{name}\n".encode()), "--run", self.folder / "run")
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        for words in (["check", self.folder / "run"], ["batch", self.folder / "list.csv", "--expected", self.write("e.csv", f"{MODEL},{name},sat\n".encode()), "-q"]):
            done = assay(*words)
            self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_external_data(self):
        """Only regular files, and no checksum that nobody compares."""
        content = struct.pack("<4f", 1, 2, 3, 4)

        def model(**keys):
            fields = b"".join(block(13, block(1, key) + block(2, value)) for key, value in keys.items())
            weight = number(1, 2) + number(1, 2) + number(2, onnx_files.FLOAT) + block(8, "w") + fields + number(14, 1)
            return self.write("m.onnx", onnx_files.model([onnx_files.node("MatMul", ["x", "w"], ["y"], "n")], [onnx_files.value_info("x", [1, 2])],
                                                         [onnx_files.value_info("y", [1, 2])], [weight]))

        self.write("w.bin", content)
        self.assertEqual(assay("lint", model(location="w.bin")).returncode, 0, assay("lint", model(location="w.bin")).stderr)
        self.refused("lint", model(location="w.bin", checksum="0" * 40), text="checksum")
        os.mkfifo(self.folder / "fifo.bin")
        self.refused("lint", model(location="fifo.bin"), text="regular file")


if __name__ == "__main__":
    runs.main()
