#!/usr/bin/env python3
"""benchmarks/portfolio on results that are made up: which number of free inputs each half chooses, and when it fails."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PORTFOLIO = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/portfolio"


def results(instances, solves, way):
    """`instances`: free inputs by name. `solves(free)`: whether this way does."""
    return {"settings": {"branching": way},
            "instances": [{"category": "made_up", "onnx": "n.onnx", "vnnlib": f"{name}.vnnlib", "timeout": 5.0,
                           "verify": {"answer": "unsat" if solves(free) else "timed-out", "solve_seconds": 1.0, "free_inputs": free,
                                      "splits": [way] if free > 0 else []},
                           "check": {"verdict": "accepted"} if solves(free) else None} for name, free in instances.items()]}


class Portfolio(unittest.TestCase):
    def run_with(self, instances, auto, by_inputs, by_activations):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for way, solves in (("auto", auto), ("inputs", by_inputs), ("activations", by_activations)):
                paths.append(pathlib.Path(folder) / f"{way}.json")
                paths[-1].write_text(json.dumps(results(instances, solves, way)))
            return subprocess.run([sys.executable, PORTFOLIO, *paths], capture_output=True, text=True)

    # Inputs pay up to 6 free ones, activations from 7 on.
    INSTANCES = {f"p{k:02}": free for k, free in enumerate([2, 2, 4, 4, 6, 6, 8, 8, 50, 50, 0, 0])}

    def test_both_halves_choose_what_separates_the_two(self):
        run = self.run_with(self.INSTANCES, lambda f: True, lambda f: f <= 6, lambda f: f > 6)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("10 instances that some run branched on, halves of 5 and 5", run.stdout)
        self.assertIn("| the N of the other half (6, 6) | 5 | 5 | 5 | 5 |", run.stdout)
        self.assertIn("| inputs | 3 | 13 | 3 | 13 |", run.stdout)
        self.assertIn("| activations | 2 | 17 | 2 | 17 |", run.stdout)

    def test_a_program_that_chooses_worse_than_the_other_half_fails(self):
        run = self.run_with(self.INSTANCES, lambda f: f <= 6, lambda f: f <= 6, lambda f: f > 6)
        self.assertEqual(run.returncode, 1, run.stdout)

    def test_an_answer_without_an_accepted_certificate_is_none(self):
        made = results(self.INSTANCES, lambda f: True, "inputs")
        for one in made["instances"]:
            one["check"]["verdict"] = "rejected"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "all.json"
            path.write_text(json.dumps(made))
            run = subprocess.run([sys.executable, PORTFOLIO, path, path, path], capture_output=True, text=True)
        self.assertIn("| auto | 0 | 25 | 0 | 25 |", run.stdout)


if __name__ == "__main__":
    unittest.main()
