#!/usr/bin/env python3
"""Modules with modes and coordinates, exported to ONNX: what the importer makes of the file, ONNX Runtime and PyTorch.

    python3 tests/peers/torch_exports.py BIN_DIRECTORY [--modules 120] [--seed 1] [--json FILE]

interpolate in all modes, grid_sample, pools with ceil_mode, adaptive pools, padding, pixel shuffle, affine grids: random sizes,
scales and options. Loops and lists of scripts, too. The enclosures of `assay eval` hold what ONNX Runtime computes of the file, within TOLERANCE. Where both differ
from PyTorch, the exporter wrote another model than the module: those are listed and counted. Prints "skipped" without the packages.
"""
import collections
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import onnxruntime as ort
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "frontends"))
import onnx_random_models
from onnx_random import differs

warnings.simplefilter("ignore")
ort.set_default_logger_severity(4)


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


class Draw(onnx_random_models.Draw):
    def floats(self, *shape, low=-2.0, high=2.0):
        return torch.from_numpy(super().floats(shape, low, high))


def interpolation(d):
    axes = d.whole(1, 3)
    modes = {1: ("nearest", "linear"), 2: ("nearest", "bilinear", "bicubic"), 3: ("nearest", "trilinear")}[axes]
    mode = d.one_of(*modes)
    x = d.floats(1, d.whole(1, 2), *(d.whole(2, 9) for _ in range(axes)))
    options = {"mode": mode, "align_corners": None if mode == "nearest" else d.one_of(True, False)}
    if d.one_of(True, False):
        options["size"] = [d.whole(1, 13) for _ in range(axes)]
    else:
        options["scale_factor"] = d.one_of(1 / 3, 0.5, 0.6, 0.7, 1.3, 1.5, 2.0, 3.0, float(d.random.uniform(0.4, 3)))
    return f"interpolate {options}", lambda x: F.interpolate(x, **options), (x,)


def grid_sample(d):
    options = {"mode": d.one_of("bilinear", "nearest", "bicubic"), "padding_mode": d.one_of("zeros", "border", "reflection"), "align_corners": d.one_of(True, False)}
    x, grid = d.floats(1, 2, d.whole(1, 5), d.whole(1, 5)), d.floats(1, d.whole(1, 3), d.whole(1, 3), 2, low=-1.8, high=1.8)
    return f"grid_sample {options}", lambda x, g: F.grid_sample(x, g, **options), (x, grid)


def pool(d):
    axes, kernel, stride = d.whole(1, 2), d.whole(1, 3), d.whole(1, 3)
    options = {"stride": stride, "padding": d.whole(0, kernel // 2), "ceil_mode": d.one_of(True, False)}
    name = f"{d.one_of('max', 'avg')}_pool{axes}d"
    if name.startswith("max"):
        options["dilation"] = d.one_of(1, 2)
    else:
        options["count_include_pad"] = d.one_of(True, False)
    x = d.floats(1, 2, *(d.whole(6, 9) for _ in range(axes)))
    return f"{name} {kernel} {options}", lambda x: getattr(F, name)(x, kernel, **options), (x,)


def adaptive(d):
    name, factor = f"adaptive_{d.one_of('avg', 'max')}_pool2d", d.whole(1, 3)
    size = (d.whole(1, 3), d.whole(1, 3))
    return f"{name} {size} of {factor} times as many", lambda x: getattr(F, name)(x, size), (d.floats(1, 2, factor * size[0], factor * size[1]),)


def layout(d):
    x = d.floats(1, 4, 4, 5)
    kind = d.one_of("shuffle", "unshuffle", "reflect", "replicate", "circular", "lp", "unfold")
    work = {"shuffle": lambda x: F.pixel_shuffle(x, 2), "unshuffle": lambda x: F.pixel_unshuffle(x[..., :4], 2), "lp": lambda x: F.lp_pool2d(x, 2, 2, stride=1),
            "unfold": lambda x: F.unfold(x, 2)}
    pads = [d.whole(0, 2) for _ in range(4)]
    return f"{kind} {pads}", work.get(kind, lambda x: F.pad(x, pads, mode=kind)), (x,)


def recurrence(x, w):
    h = torch.zeros(1, 3)
    for i in range(x.size(1)):
        h = torch.tanh(x[:, i] @ w + h)
    return h


def alternating(x, w):
    parts = []
    for i in range(x.size(1)):
        if i % 2 == 0:
            parts.append(x[:, i] @ w)
        else:
            parts.append(-x[:, i])
    return torch.stack(parts, 1)


def counting(x, w):
    i = 0
    while i < x.size(1):
        x = torch.relu(x @ w) + i
        i += 1
    return x


def pieces(x, w):
    parts = torch.jit.annotate(list[torch.Tensor], [])
    for part in x.split(2, dim=1):
        parts.append(part.sum(dim=1) @ w)
    return torch.cat(parts, 1)


SCRIPTS = [torch.jit.script(one) for one in (recurrence, alternating, counting, pieces)]


def scripted(d):
    """Loops and lists, which the exporter writes as Loop and as sequences."""
    place = d.whole(0, 3)
    w = d.floats(3, 3)
    return f"script {place}", lambda x: SCRIPTS[place](x, w), (d.floats(1, d.whole(1, 4), 3),)


PARTS = (interpolation, interpolation, grid_sample, pool, adaptive, layout, scripted)


def judged(program, folder, words, function, inputs):
    """(kind, words): agree, export (agrees with ONNX Runtime, PyTorch differs), unexported, refused or differ."""
    module, file = Module(function).eval(), io.BytesIO()
    try:
        expected = module(*inputs).numpy()
        torch.onnx.export(module, inputs, file, dynamo=False, opset_version=20 if words.startswith("grid") else 17)
        session = ort.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
        given = {value.name: one.numpy() for value, one in zip(session.get_inputs(), inputs)}
        theirs = session.run(None, given)[0]
    except Exception as error:
        return "unexported", f"{words}: {' '.join(str(error).split())[:120]}"
    model, values = folder / "m.onnx", folder / "v.json"
    model.write_bytes(file.getvalue())
    values.write_text(json.dumps({"inputs": {name: array.reshape(-1).tolist() for name, array in given.items()}}))
    done = subprocess.run([program, "eval", model, values, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "refused", f"{words}: {done.stderr[:200]}"
    (found,) = json.loads(done.stdout)["outputs"].values()
    difference = differs(found, theirs)
    if difference:
        return "differ", f"{words}: {difference}"
    difference = differs(found, expected)
    return ("export", f"{words}: {difference.replace('ONNX Runtime', 'PyTorch')}") if difference else ("agree", "")


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def main():
    seed, modules = int(option("--seed", 1)), int(option("--modules", 120))
    counts, shown = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(modules):
            kind, words = judged(os.path.join(sys.argv[1], "assay"), pathlib.Path(folder), *PARTS[i % len(PARTS)](Draw([seed, i])))
            counts[kind] += 1
            if kind != "agree":
                shown.append(f"{kind}: {i}: {words}")
    print("\n".join(shown))
    print(f"PyTorch {torch.__version__}, ONNX Runtime {ort.__version__}, seed {seed}: {dict(counts)}")
    if option("--json", ""):
        pathlib.Path(option("--json", "")).write_text(json.dumps({"seed": seed, "modules": modules, "pytorch": torch.__version__, "onnxruntime": ort.__version__,
                                                                  "counts": dict(counts), "shown": shown}, indent=1) + "\n")
    return 1 if counts["differ"] or counts["refused"] or not counts["agree"] else 0


if __name__ == "__main__":
    sys.exit(main())
