#!/usr/bin/env python3
"""--shape, --dim, --set and --outputs on every verb that reads a model. Usage: model_options_test.py BIN_DIRECTORY"""
import json
import shutil
import subprocess

import onnx_files as made
import runs
from runs import BIN, Case, assay


def graph_attribute(name, nodes, output):
    return made.block(1, name) + made.block(6, b"".join(made.block(1, one) for one in nodes) + made.block(2, name) + made.block(12, made.block(1, output))) + made.number(20, 5)


def branching(op_high, op_low):
    """if sr == 16000 then op_high(h) else op_low(h), and the second output h = x + z with axes [batch, seq]; `label` is by an unknown operator."""
    choice = made.node("If", ["is_high"], ["y"], "choice")
    choice += made.block(5, graph_attribute("then_branch", [made.node(op_high, ["h"], ["high"], "high")], "high"))
    choice += made.block(5, graph_attribute("else_branch", [made.node(op_low, ["h"], ["low"], "low")], "low"))
    unknown = made.node("LabelOf", ["h"], ["label"], "label") + made.block(7, "elsewhere")
    nodes = [made.node("Add", ["x", "z"], ["h"], "sum"), made.node("Equal", ["sr", "rate"], ["is_high"], "rate of 16000"), choice, unknown]
    return made.model(nodes, [made.value_info("x", ["batch", "seq"]), made.value_info("z", ["batch", "seq"]), made.value_info("sr", [], made.INT64)],
                      [made.value_info("label", None), made.value_info("y", None)], [made.tensor("rate", [], [16000], made.INT64)])


OPTIONS = ["--dim", "seq=2", "--set", "sr=16000", "--set=z=0.5,0.25", "--outputs", "y"]
PROPERTY = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0", "Y_1")) + "".join(
    f"(assert (>= X_{i} -1)) (assert (<= X_{i} 1))\n" for i in range(2)) + "(assert (or (and (>= Y_0 2)) (and (<= Y_1 -0.5))))\n"


class ModelOptions(Case):
    def setUp(self):
        super().setUp()
        self.net = self.write("net.onnx", branching("Relu", "Neg"))
        self.property = self.write("holds.vnnlib", PROPERTY.encode())

    def at(self, name):
        return str(self.folder / name)

    def ran(self, *words, code=0):
        done = assay(*words, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def checked(self, *words):
        return subprocess.run([str(BIN / "assay-check"), *words], capture_output=True, text=True, check=False, timeout=60, cwd=self.folder)

    def test_lint_names_all_that_is_open(self):
        done = self.ran("lint", "net.onnx", code=4)
        self.assertIn("the model leaves open: assay lint net.onnx --dim seq=N --set sr=VALUE\n", done.stdout)
        self.assertIn("[onnx.domain]", done.stdout)
        self.assertEqual(json.loads(self.ran("lint", "net.onnx", "--json", code=4).stdout)["needed"], ["--dim seq=N", "--set sr=VALUE"])
        done = self.ran("lint", "net.onnx", "--dim", "seq=2", code=4)
        self.assertIn("assay lint net.onnx --dim seq=2 --set sr=VALUE\n", done.stdout)
        self.assertIn('depends on the input "sr"', done.stdout)
        self.assertEqual(self.ran("lint", "net.onnx", *OPTIONS).stdout, "supported\n")

    def test_lint_has_one_line_for_nodes_that_are_refused_for_one_reason(self):
        def unknown(op, number):
            return made.node(op, [f"h{number - 1}"], [f"h{number}"], f"node {number}") + made.block(7, "elsewhere")
        nodes = [made.node("Relu", ["x"], ["h0"], "first"), *(unknown("Odd", 1 + k) for k in range(5))]
        self.write("odd.onnx", made.model(nodes, [made.value_info("x", [1, 2])], [made.value_info("h5", None)], []))
        done = self.ran("lint", "odd.onnx", code=4)
        self.assertEqual((done.stdout.count("[onnx.domain]"), done.stdout.count(", and 4 nodes like it\n")), (1, 1), done.stdout)
        self.assertEqual(len(json.loads(self.ran("lint", "odd.onnx", "--json", code=4).stdout)["problems"]), 5)
        self.write("quantised.onnx", made.model([made.node("QLinearSoftmax", ["x"], ["y"], "n") + made.block(7, "com.microsoft")], [made.value_info("x", [1, 2])],
                                                [made.value_info("y", None)], []))
        self.assertIn("QuantFormat.QDQ", self.ran("lint", "quantised.onnx", code=4).stdout)

    def test_integers_need_values_or_a_constant(self):
        done = self.ran("run", "net.onnx", "--dim", "seq=2", "--outputs", "is_high", code=4)
        self.assertIn('"sr": expected values for an input of int64, found none: random ones are real; write them into a file for --values, or make the input a constant', done.stderr)
        self.assertIn("a float32 model with more digits", self.ran("run", "net.onnx", *OPTIONS, "--dtype", "float64", code=4).stderr)

    def test_a_certificate_is_about_the_network_that_the_options_make(self):
        done = self.ran("verify", "net.onnx", "holds.vnnlib", *OPTIONS, "--proof", "proof")
        self.assertEqual(done.stdout, "unsat\n")
        self.assertIn("sha256 of model options '--dim seq=2 --set sr=16000 --set z=0.5,0.25 --outputs y': ", done.stderr)
        self.assertIn("assay-check net.onnx holds.vnnlib proof --dim seq=2 --set sr=16000 --set z=0.5,0.25 --outputs y\n", done.stderr)
        files = ("net.onnx", "holds.vnnlib", "proof")
        for words, word in ((OPTIONS, "accepted"), ([], "declined"), ([*OPTIONS[:2], "--set", "sr=8000", *OPTIONS[4:]], "rejected"),
                            ([*OPTIONS[:4], "--set", "z=0.5", *OPTIONS[5:]], "rejected"), (["--dim=seq=2", "--set=sr=16000", *OPTIONS[4:]], "accepted"),
                            ([*OPTIONS, "--dim", "batch=1"], "accepted")):  # the batch is 1 without an option, too: the same network
            for done in (self.checked(*files, *words), assay("check", *files, *words, cwd=self.folder)):
                self.assertEqual(done.stdout.split("\n")[0], word, (words, done.stdout, done.stderr))
        self.assertIn("--set", self.checked("--help").stdout)
        self.assertEqual(self.checked(*files, "--dim", "seq").returncode, 2)
        self.ran("statement", "net.onnx", "holds.vnnlib", *OPTIONS, "-o", "claim")
        self.assertEqual(self.checked("claim", "proof").stdout.split("\n")[0], "accepted")
        done = self.checked("claim", "proof", "--dim", "seq=2")
        self.assertEqual((done.returncode, "[statement.options]" in done.stderr), (3, True), done.stderr)
        self.ran("trim", *files, "-o", "small", *OPTIONS)
        self.assertIn("model options", self.ran("report", *files, *OPTIONS, "-o", "page.html").stderr + (self.folder / "page.html").read_text())
        self.ran("inspect", "proof", "--network", "net.onnx", "--property", "holds.vnnlib", *OPTIONS)

    def test_verbs_that_read_a_model(self):
        self.assertIn("bounds", self.ran("bounds", "net.onnx", "holds.vnnlib", *OPTIONS, "--json").stdout)
        self.write("values.json", b'{"inputs": {"x": [-1, 2]}}')
        self.assertEqual(self.ran("eval", "net.onnx", "values.json", *OPTIONS).stdout, "output y[0] in [0, 0]\noutput y[1] in [2.25, 2.25]\n")
        low = [*OPTIONS[:2], "--set", "sr=8000", *OPTIONS[4:]]
        self.assertEqual(self.ran("run", "net.onnx", "--values", "values.json", *low).stdout, "output y[0] = 0.5\noutput y[1] = -2.25\n")
        self.ran("record", "net.onnx", "trace", "--values", "values.json", *OPTIONS)
        self.assertIn("this is a run of it with --dim seq=2", self.ran("audit", "trace", "--model", "net.onnx", *OPTIONS, "--json").stdout)
        other = assay("audit", "trace", "--model", "net.onnx", *low, cwd=self.folder)
        self.assertEqual(other.returncode, 3, other.stdout + other.stderr)
        self.ran("gradcheck", "net.onnx", *OPTIONS)
        self.ran("gradcheck", "trace", "--model", "net.onnx", *OPTIONS)
        self.assertIn("[1, 2]", self.ran("inspect", "net.onnx", *OPTIONS).stdout)
        self.ran("inspect", "holds.vnnlib", "--network", "net.onnx", *OPTIONS)
        for words in (["audit", "trace"], ["gradcheck", "trace"], ["inspect", "trace"], ["inspect", "holds.vnnlib"], ["report", "trace"]):
            done = self.ran(*words, "--dim", "seq=2", code=2)
            self.assertIn("--dim does not go with", done.stderr)

    def test_a_split_keeps_the_options(self):
        self.ran("split", "net.onnx", "holds.vnnlib", *OPTIONS, "-o", "cubes", "--into", "2")
        split = json.loads((self.folder / "cubes/split.json").read_text())
        self.assertEqual(split["model_options"], ["--dim seq=2", "--set sr=16000", "--set z=0.5,0.25", "--outputs y"])
        for cube in (self.folder / "cubes").glob("*.cube"):
            self.ran("solve", cube)
        done = self.ran("merge", "cubes", "-o", "whole")
        self.assertIn("--dim seq=2", done.stderr)
        self.assertEqual(self.checked("net.onnx", "holds.vnnlib", "whole", *OPTIONS).stdout.split("\n")[0], "accepted")

    def test_runs_keep_the_options_and_refuse_others(self):
        self.write("list.csv", b"net.onnx,holds.vnnlib\n")
        self.write("items.npy", runs.npy(bytes(16), "<f4", (2, 2)))
        for verb, words in (("batch", ["list.csv"]), ("robust", ["net.onnx", "items.npy", "--eps", "0.001", "--labels", "0,0"])):
            with self.subTest(verb=verb):
                folder = self.folder / verb
                self.ran(verb, *words, *OPTIONS, "--run", verb)
                claim = json.loads((folder / "run.json").read_text())["claim"]
                self.assertEqual(claim["model_options"], ["--dim seq=2", "--set sr=16000", "--set z=0.5,0.25", "--outputs y"])
                for more in ([], OPTIONS):
                    done = self.ran("check", verb, *more)
                    self.assertIn("accepted\n", done.stdout)
                    self.assertIn("claim: model_options", done.stdout)
                self.assertIn("[run.options]", self.ran("check", verb, *OPTIONS[:2], code=4).stderr)
                for others in ([], [*OPTIONS[:2], "--set", "sr=8000", *OPTIONS[4:]]):
                    done = assay(verb, *words, *others, "--run", verb, "--resume", cwd=self.folder)
                    self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.ran(verb, *words, *OPTIONS, "--run", verb, "--resume")
                self.ran("report", verb, "-o", "page.html")
                self.ran("gather", verb + " again", verb)
                self.ran("check", verb + " again")
                manifest = folder / "run.json"
                text = manifest.read_text()
                manifest.write_text(text.replace("sr=16000", "sr=8000"))  # another network: no certificate is about it
                done = assay("check", verb, cwd=self.folder)
                self.assertIn((done.returncode, "accepted\n" in done.stdout), ((1, False), (4, False)), done.stdout + done.stderr)
                manifest.write_text(text.replace("--set sr=16000", "--sat sr=16000"))
                self.assertIn("[run.claim]", self.ran("check", verb, code=4).stderr)
                shutil.rmtree(folder)

    def test_mistakes_are_one_sentence_with_a_code(self):
        for words, part in ((["--shape", "q=1,2"], "the inputs are x, z, sr"), (["--shape", "x=1,2,3"], "2 axes"), (["--dim", "width=3"], "the open axes are batch, seq"),
                            (["--dim", "seq=2", "--shape", "x=1,3"], "which --dim gives"), (["--set", "sr=1.5"], "values of int64"),
                            (["--set", "sr=1,2"], "one value for all elements"), (["--outputs", "z"], "the outputs are label, y")):
            for verb in (["lint", "net.onnx"], ["verify", "net.onnx", "holds.vnnlib"], ["run", "net.onnx"]):
                done = self.ran(*verb, *words, code=4)
                said = done.stdout + done.stderr
                self.assertTrue(part in said and "[onnx.option]" in said, said)
        for words in (["--shape", "x"], ["--dim", "seq=two"], ["--dim", "seq=1", "--dim", "seq=2"], ["--outputs", "y,y"]):
            self.assertIn(words[0], self.ran("lint", "net.onnx", *words, code=2).stderr)


if __name__ == "__main__":
    runs.main()
