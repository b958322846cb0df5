#!/usr/bin/env python3
"""Certified radii of digits in real arithmetic and in float formats, and a float16 execution that leaves a set certified for real arithmetic.

    radii.py [--bin BIN] [--images N] [--timeout S]

For each of N images of the scikit-learn digits that examples/digits/digits.onnx classifies, the largest radius (by 17 steps of a bisection, at most --timeout seconds each) at which
`assay verify` proves for the semantics real, float32, bfloat16 and float16 that no other class can win within it, clipped to [0, 1]. Then an input inside the radius that
is certified for real arithmetic is looked for at which the network, computed in float16 (every stored value rounded, sums in float32), scores another class no
worse: near the witness of a slightly larger radius. Needs NumPy and scikit-learn. Exit status 77 without them.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "twin"))
SEMANTICS = ("real", "float32", "bfloat16", "float16")
STEPS = 17


def weights(model):
    """The initialisers of the model, by name, as NumPy arrays."""
    import numpy as np
    from onnx import load, numpy_helper
    return {one.name: numpy_helper.to_array(one).astype(np.float32) for one in load(model).graph.initializer}


def in_float16(w, x):
    """Scores of one execution: values stored in float16, products and sums in float32."""
    import numpy as np
    h = x.astype(np.float16)
    for k in range(3):
        z = (h.astype(np.float32) @ w[f"w{k}"].astype(np.float16).astype(np.float32).T + w[f"b{k}"].astype(np.float16).astype(np.float32)).astype(np.float16)
        h = np.maximum(z, np.float16(0)) if k < 2 else z
    return h


def in_float64(w, x):
    import numpy as np
    h = x.astype(np.float64)
    for k in range(3):
        z = h @ w[f"w{k}"].astype(np.float64).T + w[f"b{k}"].astype(np.float64)
        h = np.maximum(z, 0) if k < 2 else z
    return h


def property_text(image, label, radius):
    lines = [f"(declare-const X_{i} Real)" for i in range(64)] + [f"(declare-const Y_{j} Real)" for j in range(10)]
    for i, pixel in enumerate(image):
        lines += [f"(assert (>= X_{i} {max(0.0, pixel - radius):.17f}))", f"(assert (<= X_{i} {min(1.0, pixel + radius):.17f}))"]
    lines.append("(assert (or " + " ".join(f"(and (>= Y_{j} Y_{label}))" for j in range(10) if j != label) + "))")
    return "\n".join(lines) + "\n"


def left_by_float16(w, x, low, high, label, where, tries=1500):
    """A float16 input near x and inside the box at which another class is no worse in float16: `where`, its scores, and those in float64."""
    import numpy as np
    random = np.random.default_rng(1)
    x = np.clip(x, low, high)
    near = x.astype(np.float16)
    below = np.where(near.astype(np.float64) > x, np.nextafter(near, np.float16(-1)), near).astype(np.float64)
    above = np.where(near.astype(np.float64) < x, np.nextafter(near, np.float16(2)), near).astype(np.float64)
    below, above = np.where(below < low, above, below), np.where(above > high, below, above)
    for _ in range(tries):
        point = np.where(random.random(x.size) < 0.5, below, above)
        scores, exact = in_float16(w, point), in_float64(w, point)
        inside = bool((point >= low).all() and (point <= high).all())
        if inside and max(scores[j] for j in range(10) if j != label) >= scores[label] and int(np.argmax(exact)) == label:
            return (*where, scores, exact)
    return None


class Verifier:
    def __init__(self, arguments, folder):
        self.program, self.timeout, self.folder = arguments.bin / "assay", arguments.timeout, pathlib.Path(folder)

    def answer(self, image, label, radius, semantics):
        (self.folder / "p.vnnlib").write_text(property_text(image, label, radius))
        run = subprocess.run([self.program, "verify", ROOT / "examples/digits/digits.onnx", self.folder / "p.vnnlib", "--semantics", semantics, "--timeout", str(self.timeout),
                              f"--json={self.folder / 'r.json'}", "-q"], capture_output=True, text=True)
        return run.stdout.split("\n")[0], run.stdout

    def largest(self, image, label, semantics):
        low, high = 0.0, 0.5
        for _ in range(STEPS):
            middle = (low + high) / 2
            if self.answer(image, label, middle, semantics)[0] == "unsat":
                low = middle
            else:
                high = middle
        return low

    def witness(self, image, label, radius):
        import numpy as np
        word, out = self.answer(image, label, radius, "real")
        if word != "sat":
            return None
        values = {}
        for line in out.replace("(", " ").replace(")", " ").split("\n"):
            words = line.split()
            if len(words) == 2 and words[0].startswith("X_"):
                values[int(words[0][2:])] = float(words[1])
        return np.array([values[i] for i in range(64)]) if len(values) == 64 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=5)
    arguments = parser.parse_args()
    try:
        import numpy as np
        from sklearn.datasets import load_digits
    except ImportError as why:
        print(f"skipped: {why}")
        return 77
    w = weights(str(ROOT / "examples/digits/digits.onnx"))
    data = load_digits()
    images, labels = data.data / 16.0, data.target
    found = None
    table = []
    with tempfile.TemporaryDirectory() as folder:
        verifier = Verifier(arguments, folder)
        for k in range(len(images) - 1, -1, -1):
            label = int(labels[k])
            if int(np.argmax(in_float64(w, images[k]))) != label:
                continue
            hunting = len(table) == arguments.images
            radii = [verifier.largest(images[k], label, semantics) for semantics in (SEMANTICS[:1] if hunting else SEMANTICS)]
            if not hunting:
                table.append(radii)
                print(f"| {k} | {label} | " + " | ".join(f"{r:.4f}" for r in radii) + " |", flush=True)
            for factor in (1.00005, 1.0002) if found is None else ():
                x = verifier.witness(images[k], label, radii[0] * factor)
                if x is None:
                    continue
                found = left_by_float16(w, x, np.maximum(0, images[k] - radii[0]), np.minimum(1, images[k] + radii[0]), label, (k, label, radii[0]))
                if found:
                    break
            if len(table) == arguments.images and (found or k < len(images) - arguments.images - 30):
                break
    median = [sorted(column)[len(column) // 2] for column in zip(*table)]
    print("| median | | " + " | ".join(f"{r:.4f}" for r in median) + " |")
    if found:
        k, label, radius, scores, exact = found
        other = max((j for j in range(10) if j != label), key=lambda j: float(scores[j]))
        print(f"image {k}, certified for real arithmetic within {radius:.6f}: in float16 {label} has {float(scores[label])} and {other} has {float(scores[other])}; "
              f"in float64 {exact[label]:.6f} and {exact[other]:.6f}")
    else:
        print("no float16 execution was found that leaves a set certified for real arithmetic")
    return 0


if __name__ == "__main__":
    sys.exit(main())
