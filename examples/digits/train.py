#!/usr/bin/env python3
"""Makes the demo network, its two properties and its test images: digits.onnx, digits_holds.vnnlib, digits_fails.vnnlib, digits_test.npz.

    python3 -m venv /tmp/digits && /tmp/digits/bin/pip install scikit-learn
    /tmp/digits/bin/python examples/digits/train.py

Network   64 -> 32 -> 32 -> 10, ReLU, trained on the scikit-learn digits (1797 images of 8 x 8 pixels, 0..16, scaled to 0..1)
          by Adam on inputs with uniform noise, float64, then rounded to float32. Every fifth image is held out.
Property  one held-out image, every pixel may move by at most epsilon and stays in [0, 1]; unsafe: some other class scores at
          least as high as the right one. HOLDS and FAILS below name the image and the two radii; check() confirms both here:
          the first by linear bounds (CROWN, float64, informative only: `assay verify` is what proves it), the second by a
          projected gradient attack whose point is then replayed in float32.

Seeded, NumPy only. Another BLAS may change the last bits of the weights; the repository ships the files of one run.
"""
import pathlib
import struct
from fractions import Fraction

import numpy as np
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20240607
WIDTHS = [64, 32, 32, 10]
IMAGE = 8                  # position among the held-out images
HOLDS = Fraction(8, 100)   # radius for which the property holds (unsat); interval bounds alone do not show it
FAILS = Fraction(12, 100)  # radius for which it fails (sat)


# ---------------------------------------------------------------------------------------------------- training


def load():
    """-> (train x [n, 64], train y [n], held-out x, held-out y); x in {0, 1/16, ..., 1}."""
    data = load_digits()
    x, y = data.data / 16.0, data.target
    held = np.arange(len(x)) % 5 == 0
    return x[~held], y[~held], x[held], y[held]


def forward(layers, x):
    """-> pre-activations of every layer; the last are the scores."""
    z = []
    for i, (w, b) in enumerate(layers):
        x = (x if i == 0 else np.maximum(z[-1], 0)) @ w.T + b
        z.append(x)
    return z


def gradients(layers, x, score_bar):
    """Cotangents of all parameters and of x, given those of the scores [n, 10]."""
    z = forward(layers, x)
    inputs = [x] + [np.maximum(v, 0) for v in z[:-1]]
    bar, out = score_bar, []
    for i in reversed(range(len(layers))):
        out.append((bar.T @ inputs[i], bar.sum(0)))
        bar = bar @ layers[i][0]
        if i:
            bar = bar * (z[i - 1] > 0)
    return out[::-1], bar


def softmax_bar(scores, y):
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return p / len(y)


def train(x, y, rng, epochs=150, batch=64, rate=2e-3, noise=0.15, decay=2e-4):
    layers = [(rng.normal(0, np.sqrt(2 / m), (n, m)), np.zeros(n)) for m, n in zip(WIDTHS, WIDTHS[1:])]
    first = [[np.zeros_like(v) for v in layer] for layer in layers]
    second = [[np.zeros_like(v) for v in layer] for layer in layers]
    step = 0
    for epoch in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch):
            rows = order[start:start + batch]
            noisy = np.clip(x[rows] + rng.uniform(-noise, noise, (len(rows), 64)), 0, 1)
            bars, _ = gradients(layers, noisy, softmax_bar(forward(layers, noisy)[-1], y[rows]))
            step += 1
            scale = rate * (1 - epoch / epochs) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for i, layer in enumerate(layers):
                for j, value in enumerate(layer):
                    g = bars[i][j] + decay * value
                    first[i][j] = 0.9 * first[i][j] + 0.1 * g
                    second[i][j] = 0.999 * second[i][j] + 0.001 * g * g
                    value -= scale * first[i][j] / (np.sqrt(second[i][j]) + 1e-8)
    return [(w.astype(np.float32), b.astype(np.float32)) for w, b in layers]


# ---------------------------------------------------------------------------------------------------- ONNX file


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, array):
    """TensorProto: dims = 1, data_type = 2 (FLOAT is 1), name = 8, raw_data = 9."""
    dims = b"".join(number(1, d) for d in array.shape)
    return dims + number(2, 1) + text(8, name) + text(9, array.astype("<f4").tobytes())


def attribute(name, value):
    """AttributeProto: name = 1, f = 2, i = 3, type = 20 (FLOAT is 1, INT is 2)."""
    if isinstance(value, float):
        return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    return text(1, name) + number(3, value) + number(20, 2)


def node(name, op, inputs, outputs, **attributes):
    """NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5."""
    names = b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs)
    return names + text(3, name) + text(4, op) + b"".join(text(5, attribute(k, v)) for k, v in attributes.items())


def value_info(name, shape):
    """ValueInfoProto: name = 1, type = 2; TypeProto.Tensor: elem_type = 1, shape = 2; dim = 1, dim_value = 1."""
    dims = b"".join(text(1, number(1, d)) for d in shape)
    return text(1, name) + text(2, text(1, number(1, 1) + text(2, dims)))


def onnx_model(layers):
    """ModelProto with the pattern that exporters write for a linear layer: Gemm(transB=1), weights [out, in]."""
    body, current = b"", "image"
    for i, _ in enumerate(layers):
        last = i + 1 == len(layers)
        out = "scores" if last else f"z{i}"
        body += text(1, node(f"linear{i}", "Gemm", [current, f"w{i}", f"b{i}"], [out], alpha=1.0, beta=1.0, transB=1))
        if not last:
            body += text(1, node(f"relu{i}", "Relu", [out], [f"h{i}"]))
            current = f"h{i}"
    body += text(2, "digits")
    for i, (w, b) in enumerate(layers):
        body += text(5, tensor(f"w{i}", w)) + text(5, tensor(f"b{i}", b))
    body += text(11, value_info("image", [1, 64])) + text(12, value_info("scores", [1, 10]))
    # ModelProto: ir_version = 1, producer_name = 2, graph = 7, opset_import = 8 (domain = 1, version = 2).
    return number(1, 8) + text(2, "assay examples/digits/train.py") + text(7, body) + text(8, text(1, "") + number(2, 17))


# ---------------------------------------------------------------------------------------------------- properties


def decimal(value):
    """Exact decimal of a fraction whose denominator divides a power of ten."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    scaled = int(value * 10**digits)
    whole, part = divmod(scaled, 10**digits)
    return f"{whole}.{part:0{digits}d}" if digits else f"{whole}.0"


def region(pixels, radius):
    """-> [(lo, hi)] as fractions; pixels are multiples of 1/16, hence exact."""
    centres = [Fraction(int(p * 16), 16) for p in pixels]
    return [(max(c - radius, Fraction(0)), min(c + radius, Fraction(1))) for c in centres]


def property_text(pixels, label, radius, sentence):
    lines = [f"; {sentence}",
             f"; Digit {label} of the scikit-learn digits, every pixel within {decimal(radius)} of its value and inside [0, 1].",
             f"; The unsafe set: some other class scores at least as high as class {label}. Written by train.py.", ""]
    lines += [f"(declare-const X_{i} Real)" for i in range(64)] + [""]
    lines += [f"(declare-const Y_{k} Real)" for k in range(10)] + [""]
    for i, (lo, hi) in enumerate(region(pixels, radius)):
        lines += [f"(assert (>= X_{i} {decimal(lo)}))", f"(assert (<= X_{i} {decimal(hi)}))"]
    unsafe = "\n".join(f"  (and (>= Y_{k} Y_{label}))" for k in range(10) if k != label)
    return "\n".join(lines) + f"\n\n(assert (or\n{unsafe}\n))\n"


# ---------------------------------------------------------------------------------------------------- confirmation


def attack(layers, box, label, rng, restarts=50, steps=100):
    """-> a point of the box that another class wins by the largest margin found, and that margin (float64)."""
    wide = [(w.astype(float), b.astype(float)) for w, b in layers]
    lo, hi = (np.array([float(side[j]) for side in box]) for j in (0, 1))
    best = (None, -np.inf)
    for k in [k for k in range(10) if k != label]:
        bar = np.zeros((restarts, 10))
        bar[:, k], bar[:, label] = 1, -1
        x = rng.uniform(lo, hi, (restarts, 64))
        for _ in range(steps):
            x = np.clip(x + 0.05 * (hi - lo) * np.sign(gradients(wide, x, bar)[1]), lo, hi)
        scores = forward(wide, x)[-1]
        margin = scores[:, k] - scores[:, label]
        if margin.max() > best[1]:
            best = (x[margin.argmax()], margin.max())
    return best


def crown(wide, bounds, lo, hi, rows, offset):
    """Lower bounds of rows @ z_n + offset over the box, z_n the output of the last of `wide`; bounds[i] box relu i's input."""
    for i in reversed(range(len(wide))):
        w, b = wide[i]
        rows, offset = rows @ w, offset + rows @ b
        if i:
            l, u = bounds[i - 1]
            upper = np.where(u <= 0, 0, np.where(l >= 0, 1, u / np.where(u > l, u - l, 1)))
            lower = np.where(u <= 0, 0, np.where(l >= 0, 1, (u > -l).astype(float)))
            shift = np.where((l < 0) & (u > 0), -upper * l, 0)
            offset = offset + np.minimum(rows, 0) @ shift
            rows = np.maximum(rows, 0) * lower + np.minimum(rows, 0) * upper
    return np.maximum(rows, 0) @ lo + np.minimum(rows, 0) @ hi + offset


def margin_bound(layers, box, label, refine=True):
    """Lower bound of min over k of score[label] - score[k]; with refine=False the hidden layers get interval bounds only."""
    wide = [(w.astype(float), b.astype(float)) for w, b in layers]
    lo, hi = (np.array([float(side[j]) for side in box]) for j in (0, 1))
    bounds, x_lo, x_hi = [], lo, hi
    for n in range(1, len(wide)):
        w, b = wide[n - 1]
        if refine:
            eye = np.eye(len(b))
            pair = crown(wide[:n], bounds, lo, hi, eye, 0 * b), -crown(wide[:n], bounds, lo, hi, -eye, 0 * b)
        else:
            plus, minus = np.maximum(w, 0), np.minimum(w, 0)
            pair = plus @ x_lo + minus @ x_hi + b, plus @ x_hi + minus @ x_lo + b
        bounds.append(pair)
        x_lo, x_hi = np.maximum(pair[0], 0), np.maximum(pair[1], 0)
    rows = np.array([np.eye(10)[label] - np.eye(10)[k] for k in range(10) if k != label])
    return crown(wide, bounds, lo, hi, rows, np.zeros(9)).min()


def check(layers, pixels, label, rng):
    """Both expectations, empirically; stops the script when one does not hold."""
    bound = margin_bound(layers, region(pixels, HOLDS), label)
    weak = margin_bound(layers, region(pixels, HOLDS), label, refine=False)
    print(f"radius {float(HOLDS)}: margin >= {bound:.4f} by linear bounds ({weak:.4f} with interval bounds inside)")
    point, margin = attack(layers, region(pixels, FAILS), label, rng)
    scores = forward(layers, point.astype(np.float32)[None])[-1][0]
    print(f"radius {float(FAILS)}: attack reaches margin {margin:.4f}; float32 scores there {np.round(scores, 3)}")
    if not bound > 0 or not margin > 0 or scores.argmax() == label:
        raise SystemExit("the two radii do not separate: choose others")


def main():
    rng = np.random.default_rng(SEED)
    x, y, held_x, held_y = load()
    layers = train(x, y, rng)
    right = forward(layers, held_x.astype(np.float32))[-1].argmax(1) == held_y
    print(f"accuracy on {len(held_y)} held-out images: {right.mean():.3f}")
    pixels, label = held_x[IMAGE], int(held_y[IMAGE])
    check(layers, pixels, label, rng)
    (HERE / "digits.onnx").write_bytes(onnx_model(layers))
    holds = property_text(pixels, label, HOLDS, "Expected answer: unsat (the property holds).")
    fails = property_text(pixels, label, FAILS, "Expected answer: sat (the property fails).")
    (HERE / "digits_holds.vnnlib").write_text(holds)
    (HERE / "digits_fails.vnnlib").write_text(fails)
    np.savez_compressed(HERE / "digits_test.npz", x=held_x.astype(np.float32), y=held_y.astype(np.uint8))


if __name__ == "__main__":
    main()
