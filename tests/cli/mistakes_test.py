#!/usr/bin/env python3
"""What users mistype, misplace and want to see in full: nearest names, recognised files, whole statements. Usage: mistakes_test.py BIN_DIRECTORY"""
import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import unittest
import zipfile

import onnx_files
import outputs_test
from certificate_files import with_records

VERBS = ("verify", "check", "bounds", "inspect", "lint", "eval", "adjoint", "run", "record", "audit", "gradcheck", "probe", "supports", "capabilities", "ops")


def zipped(name):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(name, b"content")
    return data.getvalue()


class Mistakes(outputs_test.Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        header = b'{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}     '
        cls.write("weights.safetensors", struct.pack("<Q", len(header)) + header + b"\0\0\0\0")
        cls.write("net.pt", zipped("net/data.pkl"))
        cls.write("old.pt", b"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M")
        cls.write("arrays.npz", zipped("a.npy"))
        cls.write("array.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}")
        cls.write("net.h5", b"\x89HDF\r\n\x1a\n" + bytes(64))
        cls.write("values.json", b'{"inputs": {"x": [1, 2]}}')
        cls.write("only.vnnlib.gz", gzip.compress(outputs_test.HOLDS.encode()))
        cls.write("only.onnx.gz", gzip.compress(onnx_files.two_equal_neurons()))

    # names

    def test_a_mistyped_verb_or_option_gets_the_nearest(self):
        for words, advice in ((("verfy", "a", "b"), "there is no verb verfy; did you mean verify?"), (("grad-check", "a"), "did you mean gradcheck?"),
                              (("inspekt",), "did you mean inspect?"), (("verify", "a", "b", "--time-out", "3"), "has no option --time-out; did you mean --timeout?"),
                              (("verify", "a", "b", "--prof=x"), "did you mean --proof?"), (("audit", "t", "--smaple", "3"), "did you mean --sample?"),
                              (("--versoin",), "did you mean --version?"), (("check", "a", "b", "c", "--junti", "x"), "did you mean --junit?")):
            run = self.run_assay(*words)
            self.assertEqual((run.stdout, run.returncode), ("", 2), words)
            self.assertIn(advice, run.stderr, words)
        run = self.run_assay("zzzzzzzz")
        self.assertIn("there is no verb zzzzzzzz\n", run.stderr)

    def test_every_help_has_an_example(self):
        for verb in VERBS:
            run = self.run_assay(verb, "--help")
            self.assertEqual(run.returncode, 0)
            self.assertRegex(run.stdout, r"(?m)^Example: .*assay %s\b|^ +assay %s\b" % (verb, verb))

    def test_onnx_spellings(self):
        for spelled, names in (("MaxPool", ["max_pool"]), ("Gemm", ["gemm"]), ("gemm", ["gemm"]), ("max-pool", ["max_pool"]), ("LayerNormalization", ["normalise"]),
                               ("Attention", ["scale", "matmul", "softmax", "masked_softmax"]), ("Constant", ["constant"])):
            run = self.run_assay("ops", spelled)
            self.assertEqual((re.findall(r"(?m)^# (\w+)$", run.stdout), run.returncode), (names, 0), spelled)
        self.assertRegex(self.run_assay("adjoint", "--op", "MaxPool").stdout, r"^proved +max_pool ")
        run = self.run_assay("probe", "--op", "Relu", "--small", "--forward-only")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("relu: ", run.stdout)
        for words in (("ops", "maxpol"), ("adjoint", "--op", "maxpol"), ("probe", "--op", "maxpol")):
            run = self.run_assay(*words)
            self.assertEqual((run.stdout, run.returncode), ("", 2), words)
            self.assertRegex(run.stderr, r"no op is named maxpol; did you mean (max_pool|MaxPool)\?")
        self.assertIn("the ONNX operator DepthToSpace becomes several ops", self.run_assay("ops", "DepthToSpace").stderr)

    # certificates that another tool wrote

    def test_refused_steps_say_what_to_mend(self):
        boxes, half = "0100 0403 0404 0407", struct.pack("<f", 0.5).hex()
        split, beta = boxes + "0a0300", "070304 01 03" + half  # z0 at 0; case 0 with one multiplier
        slopes = "070303" + 2 * f"0103 0203 {half} {half}"  # keyed by z, which is affine
        double = "050304 01 03" + struct.pack("<d", 0.5).hex()
        claims = "0503 28 02" + struct.pack("<4f", *[-0.001] * 2, *[0.001] * 2).hex()
        for records, code, texts in (
                (boxes + "0a0100", "assume.S1", ["node 1 'w', element 0: expected", "found a constant; number nodes as `assay inspect MODEL` does"]),
                (boxes + "050100", "tighten.S1", ["found a constant; number nodes"]),
                (boxes + "1101 0100 0000803f 0000", "cut.S1", ["found a constant; number nodes"]),
                (boxes + "0409", "certificate.value", ["step 5 (box), byte ", "found node 9"]),
                (split + "070304 02 00 00000000", "certificate.hint", ["step 6 (conclude), byte ", "expected at most 1 values of beta, one for each open split, found 2;"]),
                (boxes + "070384 0100", "certificate.hint", ["at most 0 values of beta"]),
                (boxes + "070380 0100", "certificate.hint", ["at most 0 multipliers of cuts, one for each cut in force"]),
                (split + double, "certificate.record", ["step 7 (of no known type), byte ", "the checksums fit, so the writer", "compare the last step that `assay inspect` prints"]),
                (boxes + "070100 02", "certificate.open", ["case at position 0", "`assay inspect` shows the cases of each conclude, and one of no cases refutes none"]),
                (split + "0d", "certificate.open", ["step 6 (next)", "depth 1 where node 3 'z', element 0 <= 0: expected"]),
                ("", "certificate.open", ["no proof for group 0; write its begin_group, its steps and end_group"]),
                (boxes + "0d", "certificate.structure", ['see the grammar in the section "Structure" of certificates/FORMAT.md, on the site reference/certificate-format.html#structure']),
                (boxes + "070700", "conclude.S1", ["case 2: expected a case of the group, which has 2, numbered from 0", "reference/certificate-format.html#conclude-for-a-case"]),
                (split + "070304 01 03" + struct.pack("<f", -0.5).hex(), "hints.beta", ["multipliers of splits where node 3 'z', element 0 <= 0:", "found -0.5 as number 0, counted from 0; write absolute values"]),
                (split + claims, "tighten.S3", ["node 3 'z', element 0 where node 3 'z', element 0 <= 0: expected", "the half <= comes first, and a `next` begins the half >="]),
                (boxes + "0a0400" + claims, "tighten.S3", ["found ", "node 4 'h' is the result of a relu", ": split node 3 'z' instead; claim less"]),
                (boxes + "10 03 08 0a0300 0000 0004 01 03" + struct.pack("<f", -1).hex(), "hints.beta", ["multipliers of splits, leaf 1 of its tree:"]),
                (boxes + "0503 28 01" + 2 * half, "tighten.S2", ["node 3 'z': expected 2 claims, found 1; write one pair of bounds for each selected element"]),
                ("0f02 02 0131 0130", "satisfiable.S1", ["case 2: expected a case of the property, which has 2, numbered from 0", "reference/certificate-format.html#witness"]),
                ("0f00 01 05302e393866", "certificate.value", ["found '0.98f'; the checksums fit, so the writer made a mistake in this step, the first one"]),
                (split + "070300", "conclude.S3", ["case 0 where node 3 'z', element 0 <= 0:", "better slopes (of results of non-linear ops)"]),
                (split + beta.replace(" 01 ", " 00 ")[:-len("03" + half)], "conclude.S3", ["case 0 where"]),  # fewer multipliers than splits
                ("0f00 02 03312f32 04302e3235", "satisfiable.S3", ["case 0, row 0, at X_0 = 0.5, X_1 = 0.25: expected a point at which", "found Y_0 = 0, off by 0.25; give a point"])):
            self.write("written.assay", with_records(self.read("proof"), bytes.fromhex(records)))
            run = self.run_assay(*self.files, self.at("written.assay"), program="assay-check")
            self.assertTrue(run.stdout == "rejected\n" and f"[{code}]" in run.stderr and all(text in run.stderr for text in texts), (records, run.stderr))
            self.assertNotIn("damaged", run.stderr)
        self.write("written.assay", with_records(self.read("proof"), bytes.fromhex(boxes + slopes + slopes.replace("0103", "0104") + "070100 02")))
        run = self.run_assay("inspect", self.at("written.assay"), "--network", self.at("net.onnx"))
        lines = run.stdout.splitlines()[5:8]
        self.assertEqual(lines, ["  conclude cases 0, lower of node 3 (2), upper of node 3 (2); node 3 takes no slopes, since it is no result of a non-linear op",
                                 "  conclude cases 0, lower of node 4 (2), upper of node 4 (2)", "  conclude no cases"], run.stderr)
        run = self.run_assay("inspect", self.at("net.onnx"), "--network", self.at("net.onnx"))
        self.assertEqual((run.stdout, run.returncode), ("", 2))
        damaged = bytearray(self.read("written.assay"))
        damaged[-20] ^= 1
        self.write("damaged.assay", bytes(damaged))
        run = self.run_assay(*self.files, self.at("damaged.assay"), program="assay-check")
        self.assertRegex(run.stderr, r"found damage from byte 58; copy the file again; if your own tool wrote it, open it in binary mode.* \[certificate.checksum\]")

    def test_a_missing_case_is_named_by_its_branch(self):
        boxes, case, none = "0100 0403 0404 0407", "070300", "070100"
        self.write("far.vnnlib", outputs_test.HOLDS.replace("0.25", "99").encode())
        files = (self.files[0], self.at("far.vnnlib"))
        self.run_assay("verify", *files, "--proof", self.at("far.assay"))
        for tree, texts in ((f"0a0300 {case} 0d 0a0301 {none} 0d {none} 0e 0e", ["the branch where node 3 'z', element 0 >= 0 and node 3 'z', element 1 <= 0, which ends with step 10 at byte ", "does not conclude it, nor does one more branch;"]),
                            (f"{none} 0a0300 {none} 0d {none} 0e", ["the branch where node 3 'z', element 0 <= 0, which"]),
                            (f"{none}", ["case at position 0 of group 0 is not refuted; conclude"])):
            self.write("open.assay", with_records(self.read("far.assay"), bytes.fromhex(boxes + tree + "02")))
            run = self.run_assay("check", *files, self.at("open.assay"), "--threads", "2")
            self.assertTrue(run.returncode == 1 and "[certificate.open]" in run.stderr and all(text in run.stderr for text in texts), run.stderr)

    def test_inspect_shows_what_a_checker_has_at_a_step(self):
        half, claims = struct.pack("<f", 0.5).hex(), struct.pack("<4f", -1, -1, 1, 1).hex()
        records = f"0100 0403 0404 0407 0a0400 0503 2d 01 04 02 03 {half} {half} 01 03 {half} 02 {claims} 070100 0d 0504 08 070100 0e 02"
        self.write("steps.assay", with_records(self.read("proof"), bytes.fromhex(records)))
        files = ("--network", self.at("net.onnx"), "--property", self.at("holds.vnnlib"))
        numbers = ["lower slopes of node 4: 0.5, 0.5", "beta: 0.5", "claimed lower bounds: -1, -1", "claimed upper bounds: 1, 1"]
        lines = [line.strip() for line in self.run_assay("inspect", self.at("steps.assay"), "--show", "values").stdout.splitlines()]
        self.assertEqual(lines[7:11], numbers)
        run = self.run_assay("inspect", self.at("steps.assay"), "--step", "6", *files, "--json=" + self.at("step.json"))
        lines = [line.strip() for line in run.stdout.splitlines()]
        self.assertEqual(lines[2:7], [*numbers, "where node 4 'h', element 0 <= 0"])
        self.assertTrue(any(line.startswith("box of node 3 'z', element 1: [") for line in lines) and lines[-1].startswith("refused: node 3 'z', element 0: expected"), lines)
        step = json.loads(self.read("step.json"))["steps"][0]
        self.assertEqual((step["step"], step["splits"], [box["node"] for box in step["boxes"]], step["numbers"][1]),
                         (6, [{"node": 4, "element": 0, "half": "<=", "threshold": 0.0}], [0, 3, 4, 7], {"name": "beta", "values": [0.5]}))
        text = self.run_assay("inspect", self.at("steps.assay"), *files).stdout
        self.assertEqual(text.count("refused: "), 1, text)
        self.assertIn("split node 4[0] at 0; node 4 is the result of a relu: split its operand, node 3\n", text)
        self.assertIn("; node 4 is the result of a relu, whose line the bounds of its operand improve: tighten node 3\n", text)
        self.write("outside.assay", with_records(self.read("proof"), bytes.fromhex("0f00 02 0139 0130")))
        self.assertIn("refused: case 0, input element 0: expected in [", self.run_assay("inspect", self.at("outside.assay"), *files).stdout)
        for words, code in ((["--step", "99"], "inspect.step"), (["--show", "splits"], "inspect.table")):
            run = self.run_assay("inspect", self.at("steps.assay"), *words)
            self.assertTrue(run.returncode == 4 and f"[{code}]" in run.stderr, run.stderr)

    def test_wrong_tensor_names_list_those_that_exist(self):
        self.write("wrong.json", b'{"inputs": {"image": [1, 2]}}')
        for words in (("eval", self.at("net.onnx"), self.at("wrong.json")), ("run", self.at("net.onnx"), "--values", self.at("wrong.json")), ("record", self.at("net.onnx"), self.at("t"), "--values", self.at("wrong.json")),
                      ("gradcheck", self.at("net.onnx"), "--values", self.at("wrong.json"))):
            run = self.run_assay(*words)
            self.assertEqual(run.returncode, 4, words)
            self.assertRegex(run.stderr, r'expected names of the model: x, found "image"')
        run = self.run_assay("record", self.at("net.onnx"), self.at("t"), "--output", "logits")
        self.assertEqual(run.returncode, 4)
        self.assertIn("the outputs y", run.stderr)
        self.write("wrong.vnnlib", b"(vnnlib-version <2.0>)\n(declare-network f (declare-input image real [1,2]) (declare-output Y real [1,1]))\n(assert (<= X[0,0] 1.0))")
        run = self.run_assay("verify", self.at("net.onnx"), self.at("wrong.vnnlib"))
        self.assertEqual(run.returncode, 4)
        self.assertIn("a declared variable (image, Y)", run.stderr)

    # every verb speaks JSON

    def test_json_of_every_verb(self):
        files = (self.at("net.onnx"), self.at("holds.vnnlib"))
        runs = {"verify": files, "check": (*files, self.at("proof")), "bounds": files, "inspect": (self.at("trace"),), "lint": files[:1],
                "eval": (files[0], self.at("values.json")), "adjoint": ("--op", "relu"), "run": files[:1], "record": (files[0], self.at("again")), "audit": (self.at("trace"),),
                "gradcheck": (self.at("trace"),), "probe": ("--op", "relu", "--small", "--forward-only"), "supports": (), "capabilities": (), "ops": ("relu",)}
        self.assertEqual(set(runs), set(VERBS))
        for verb, words in runs.items():
            run = self.run_assay(verb, *words, "--json")
            schema = "supports" if verb == "capabilities" else verb
            self.assertEqual(json.loads(run.stdout)["schema"], f"assay.{schema}/1", verb)
            quiet = self.run_assay(verb, *words, "--json=" + self.at("report"))
            self.assertEqual(json.loads(self.read("report"))["schema"], f"assay.{schema}/1", (verb, quiet.stderr))
        every = json.loads(self.run_assay("ops", "--json").stdout)["ops"]
        self.assertEqual([op["name"] for op in every], self.run_assay("supports", "--operations").stdout.split())
        record = json.loads(self.run_assay("record", files[0], self.at("again"), "--json").stdout)
        self.assertEqual((int(record["regions"]) > 4, record["trace"]), (True, self.at("again")), record)

    # files

    def test_inspect_recognises_what_it_gets(self):
        self.write("trace_without_suffix.onnx", self.read("trace"))
        for name in ("trace", "trace_without_suffix.onnx"):
            run = self.run_assay("inspect", self.at(name))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stdout, r"(?m)^kind +trace$")
            self.assertRegex(run.stdout, r"(?m)^region +ops +shapes +elements .* model +name$")
            self.assertRegex(run.stdout, r"(?m)^\d+ +gemm +\[1, 2\], \[2, 2\], \[2\] -> \[1, 2\] +")
        listed = json.loads(self.run_assay("inspect", self.at("trace"), "--json").stdout)["region_list"]
        self.assertEqual(listed[0]["ops"], "gemm")
        self.write("model_without_suffix", self.read("net.onnx"))
        run = self.run_assay("inspect", self.at("model_without_suffix"))
        self.assertRegex(run.stdout, r"(?m)^node +op +dtype +shape +elements +parameters +operands +name$")
        self.assertRegex(run.stdout, r"(?m)^\d+ +relu +float32 +\[1, 2\] +2 +0 +\d+ +")
        nodes = json.loads(self.run_assay("inspect", self.at("net.onnx"), "--json").stdout)["nodes"]
        self.assertIn(("gemm", "float32", "[1, 1]"), [(n["op"], n["dtype"], n["shape"]) for n in nodes])
        self.assertNotIn("operands", self.run_assay("inspect", self.at("net.onnx"), "--summary").stdout)
        self.assertRegex(self.run_assay("inspect", self.at("only.onnx")).stdout, r"(?m)^kind +model$")

    def test_files_in_the_wrong_place_are_named(self):
        model, prop, proof = self.at("net.onnx"), self.at("holds.vnnlib"), self.at("proof")
        kinds = {"net.pt": "saved by PyTorch", "old.pt": "saved by PyTorch", "arrays.npz": r"NumPy archive \(.npz\)", "array.npy": r"NumPy array", "net.h5": "HDF5",
                 "weights.safetensors": "safetensors", "trace": "a trace of a run", "proof": "a certificate", "holds.vnnlib": "a VNN-LIB property",
                 "net.onnx": "an ONNX model", "values.json": "JSON", "only.vnnlib.gz": "a VNN-LIB property"}
        places = [("an ONNX model", lambda f: [("verify", f, prop), ("check", f, prop, proof), ("bounds", f, prop), ("eval", f, self.at("values.json")),
                                                ("run", f), ("record", f, self.at("t"))], ("net.onnx",)),
                  ("a VNN-LIB property", lambda f: [("verify", model, f), ("check", model, f, proof)], ("holds.vnnlib", "only.vnnlib.gz")),
                  ("a certificate", lambda f: [("check", model, prop, f)], ("proof",)),
                  ("a trace of a run", lambda f: [("audit", f)], ("trace",))]
        for wanted, commands, right in places:
            for name, kind in kinds.items():
                for words in commands(self.at(name)) if name not in right else ():
                    run = self.run_assay(*words)
                    self.assertEqual(run.returncode, 4, words)
                    self.assertRegex(run.stderr, r": %s: expected %s, found [^\n]*%s[^\n]* \[files\.kind\]\n" % (re.escape(self.at(name)), wanted, kind), words)
        run = self.run_assay("verify", self.at("net.pt"), prop)
        self.assertIn("torch.onnx.export", run.stderr)

    def test_files_that_are_exchanged_or_missing_get_the_command_to_write(self):
        model, prop, proof = self.at("net.onnx"), self.at("holds.vnnlib"), self.at("proof")
        for program in (("assay-check",), ("assay", "check")):
            right = f"write `{' '.join(program)} {model} {prop} {proof}`"
            for files, words in (([prop, model, proof], f"{prop} stands where the model does, and {model} where the property does; {right}"),
                                 ([model, proof, prop], f"{model} stands where the model does, and {proof} where the property does; {right}"),
                                 ([model, prop], f"the certificate is missing: make one by `assay verify {model} {prop} --proof CERTIFICATE`, then write "),
                                 ([model, proof], f"the property is missing, which says what is claimed about {model}; write "),
                                 ([prop, proof], f"the model is missing, of which {prop} is a property; write ")):
                done = subprocess.run([os.path.join(outputs_test.BIN, program[0]), *program[1:], *files], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (2, ""), (program, files, done.stderr))
                self.assertIn(f"{' '.join(program)}: {words}", done.stderr)
            done = subprocess.run([os.path.join(outputs_test.BIN, program[0]), *program[1:], model, prop, proof], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_gz_beside_a_missing_file(self):
        note = "there is no %s; %s.gz was read"
        run = self.run_assay("verify", self.at("net.onnx"), self.at("only.vnnlib"), "--proof", self.at("packed"))
        self.assertEqual((run.stdout, run.returncode), ("unsat\n", 0), run.stderr)
        self.assertIn("note: property: " + note % (self.at("only.vnnlib"), self.at("only.vnnlib")), run.stderr)
        run = self.run_assay(self.at("only.onnx"), self.at("only.vnnlib"), self.at("packed"), program="assay-check")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("note: model: " + note % (self.at("only.onnx"), self.at("only.onnx")), run.stdout)
        run = self.run_assay("verify", self.at("net.onnx"), self.at("only.vnnlib"), "--proof", self.at("only.vnnlib.gz"))
        self.assertEqual(run.returncode, 2, "that is an input")

    # the statement in full

    def test_the_whole_statement(self):
        rows = "".join(f"(and (>= Y_0 {k}))" for k in range(1, 21))
        inputs, hidden = 11, "(and (>= Y_0 1) %s)" % " ".join(f"(<= (+ Y_0 X_{i}) {k})" for i in range(11) for k in (50, 60))
        names = [f"X_{i}" for i in range(inputs)]
        text = "".join(f"(declare-const {v} Real)\n" for v in [*names, "Y_0"]) + "".join(f"(assert (>= {v} -1)) (assert (<= {v} 1))\n" for v in names)
        self.write("long.vnnlib", (text + f"(assert (or {rows} {hidden}))").encode())
        self.write("long.onnx", onnx_files.model(
            [onnx_files.node("MatMul", ["x", "w"], ["z"], "first"), onnx_files.node("Relu", ["z"], ["h"], "hidden"), onnx_files.node("MatMul", ["h", "v"], ["y"], "last")],
            [onnx_files.value_info("x", [1, inputs])], [onnx_files.value_info("y", [1, 1])],
            [onnx_files.tensor("w", [inputs, 2], [0.01] * 22), onnx_files.tensor("v", [2, 1], [1, -1])]))
        files = (self.at("long.onnx"), self.at("long.vnnlib"))
        run = self.run_assay("verify", *files, "--proof", self.at("long_proof"))
        self.assertEqual((run.stdout, run.returncode), ("unsat\n", 0), run.stderr)
        self.assertIn("... and 9 more cases", run.stderr)
        self.assertIn("... and 3 more inputs", run.stderr)

        def whole(shown):
            self.assertNotRegex(shown, r"and \d+ more")
            for k in range(20):
                self.assertIn(f"  case {k}: Y_0 >= {k + 1}\n", shown)
            self.assertIn("    X_10 in [-1, 1]\n", shown)
            self.assertRegex(shown, r"(?m)^ +case 20: .*X_0 \+ Y_0 <= 50 .*X_10 \+ Y_0 <= 60$")

        whole(self.run_assay("verify", *files, "--statement", "full").stderr)
        check = ("--statement", "full")
        whole(self.run_assay(*files, self.at("long_proof"), *check, program="assay-check").stdout)
        whole(self.run_assay(*files, self.at("long_proof"), "--statement=full", program="assay-check").stdout)
        whole(self.run_assay("check", *files, self.at("long_proof"), *check).stdout)
        whole(json.loads(self.run_assay("check", *files, self.at("long_proof"), *check, "--json").stdout)["theorem"]["text"])
        whole(self.run_assay("check", "--expect", "unsat", *files, self.at("long_proof"), *check).stdout)
        whole(self.run_assay("bounds", *files, *check).stdout)
        self.assertIn("more cases", self.run_assay("bounds", *files, "--statement", "short").stdout)
        self.assertNotIn("case", self.run_assay("bounds", *files, "--nodes", "outputs").stdout.replace("(21 cases)", ""))
        for words in (("verify", *files), ("bounds", *files), ("check", *files, self.at("long_proof"))):
            self.write("statement", b"")
            run = self.run_assay(*words, "--statement", self.at("statement"))
            self.assertEqual(run.returncode, 0, (words, run.stderr))
            whole(self.read("statement").decode())
            run = self.run_assay(*words, "--statement", os.path.join(self.folder.name, "none", "statement"))
            self.assertEqual(run.returncode, 3, words)
            self.assertIn("cannot write", run.stderr)
        self.assertEqual(self.run_assay("check", "--expect", "unsat", *files, self.at("long_proof"), "--statement", self.at("statement")).returncode, 2)
        run = self.run_assay("verify", *self.hard, "--timeout", "0.3", "--statement", "short")
        self.assertIn("sha256 of the statement", run.stderr, "undecided: the statement is printed where it was asked for")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    outputs_test.BIN = sys.argv.pop(1)
    unittest.main()
