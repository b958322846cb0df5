#!/usr/bin/env python3
"""Errors of the functions of one variable of ONNX Runtime, or of JAX on a CPU, against references in float64.

    pip install onnx onnxruntime numpy      or      pip install jax numpy scipy
    benchmarks/float32/functions.py [--library jax] [--arguments N] [--only TEXT]

Every function gets N arguments whose bit patterns are spread evenly over its range (so that every binade counts alike), as many uniform random
ones, and short tensors of 1 to 33 elements, because vector kernels treat their last elements apart. References are numpy's and math's functions
in float64, whose own errors are below 2^-27 units in the last place of float32. The table shows the largest error in units in the last place of
the exact value (ulps; below 2^-126 the unit is 2^-149) over the arguments whose exact value is a normal number, the largest absolute error, and
where each was seen. It is the source of kernel/floats/tables/onnxruntime.h and xla_cpu.h.
"""
import argparse
import math
import sys

try:
    import numpy as np
    if "jax" in sys.argv:
        import jax
        import scipy.special
    else:
        import onnxruntime as ort
        from onnx import TensorProto, helper
except ImportError as error:
    print(f"SKIPPED: {error.name} is not installed (pip install numpy, and onnx onnxruntime or jax scipy)")
    sys.exit(0)

SMALLEST_NORMAL = 2.0**-126
vector_erf = np.vectorize(math.erf, otypes=[np.float64])


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


# name: ONNX op, attributes, domain and version, range of arguments, reference.
FUNCTIONS = {
    "exp": ("Exp", {}, (-104, 88.7), np.exp),
    "tanh": ("Tanh", {}, (-20, 20), np.tanh),
    "erf": ("Erf", {}, (-6, 6), vector_erf),
    "sigmoid": ("Sigmoid", {}, (-100, 100), logistic),
    "log": ("Log", {}, (1e-45, 3.4e38), np.log),
    "log, near 1": ("Log", {}, (0.5, 2), np.log),
    "sin": ("Sin", {}, (-1e6, 1e6), np.sin),
    "sin, small": ("Sin", {}, (-10, 10), np.sin),
    "cos": ("Cos", {}, (-1e6, 1e6), np.cos),
    "cos, small": ("Cos", {}, (-10, 10), np.cos),
    "sin, all": ("Sin", {}, (-3.4e38, 3.4e38), np.sin),
    "cos, all": ("Cos", {}, (-3.4e38, 3.4e38), np.cos),
    "tan": ("Tan", {}, (-1e4, 1e4), np.tan),
    "asin": ("Asin", {}, (-1, 1), np.arcsin),
    "acos": ("Acos", {}, (-1, 1), np.arccos),
    "atan": ("Atan", {}, (-1e30, 1e30), np.arctan),
    "sinh": ("Sinh", {}, (-89, 89), np.sinh),
    "cosh": ("Cosh", {}, (-89, 89), np.cosh),
    "asinh": ("Asinh", {}, (-1e30, 1e30), np.arcsinh),
    "acosh": ("Acosh", {}, (1, 1e30), np.arccosh),
    "atanh": ("Atanh", {}, (-0.99999994, 0.99999994), np.arctanh),
    "sqrt": ("Sqrt", {}, (1e-45, 3.4e38), np.sqrt),
    "reciprocal": ("Reciprocal", {}, (1e-38, 3.4e38), lambda x: 1 / x),
    "softplus": ("Softplus", {}, (-100, 100), lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    "elu": ("Elu", {}, (-100, 0), np.expm1),
    "softsign": ("Softsign", {}, (-1e30, 1e30), lambda x: x / (1 + np.abs(x))),
    "gelu": ("Gelu", {}, (-10, 10), None),
    "gelu, tanh": ("Gelu", {"approximate": "tanh"}, (-10, 10), None),
    "mish": ("Mish", {}, (-50, 50), lambda x: x * np.tanh(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))),
    "hard swish": ("HardSwish", {}, (-10, 10), lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
}
FUNCTIONS["gelu"] = FUNCTIONS["gelu"][:3] + (lambda x: np.vectorize(lambda v: v / 2 * math.erfc(-v * math.sqrt(0.5)), otypes=[np.float64])(x),)
FUNCTIONS["gelu, tanh"] = FUNCTIONS["gelu, tanh"][:3] + (
    lambda x: x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),)
EXPONENTS = [2.0, 3.0, 0.5, -0.5, 1.5, -1.0, -2.0, 2.5, 7.0, 0.3333333432674408]
for e in EXPONENTS:
    FUNCTIONS[f"pow {e:g}"] = ("Pow", {"exponent": e}, (1e-3, 1e3), lambda x, e=e: np.power(x, e))
SLOW = {"erf", "gelu"}  # references of one number at a time


def of_jax():
    """The same table for JAX: its functions have the names of numpy's, of jax.lax or of scipy's."""
    table = {name: (getattr(jax.numpy, reference.__name__), {}, bounds, reference) for name, (_, _, bounds, reference) in FUNCTIONS.items()
             if isinstance(reference, np.ufunc)}
    table["expm1"] = (jax.numpy.expm1, {}, (-100, 88.7), np.expm1)
    table["log1p"] = (jax.numpy.log1p, {}, (-0.99999994, 3.4e38), np.log1p)
    table["erf"] = (jax.scipy.special.erf, {}, (-6, 6), scipy.special.erf)
    table["erfc"] = (jax.scipy.special.erfc, {}, (-6, 10), scipy.special.erfc)
    table["sigmoid"] = (jax.nn.sigmoid, {}, (-100, 100), logistic)
    table["softplus"] = (jax.nn.softplus, {}, (-100, 100), FUNCTIONS["softplus"][3])
    table["reciprocal root"] = (jax.lax.rsqrt, {}, (1e-38, 3.4e38), lambda x: 1 / np.sqrt(x))
    for e in EXPONENTS:
        table[f"pow {e:g}"] = (lambda x, e=e: jax.numpy.power(x, jax.numpy.full_like(x, e)), *FUNCTIONS[f"pow {e:g}"][1:])
    return table


def runner(op, attributes):
    """A function that gives the results of float32 arguments."""
    if callable(op):
        compiled = jax.jit(op)
        return lambda x: np.asarray(compiled(x))
    one = session(op, attributes)
    return lambda x: one.run(None, {"x": x})[0]


def session(op, attributes):
    attributes = dict(attributes)
    exponent = attributes.pop("exponent", None)
    inputs, constants = ["x"], []
    if exponent is not None:
        inputs.append("e")
        constants.append(helper.make_tensor("e", TensorProto.FLOAT, [], [exponent]))
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node(op, inputs, ["y"], **attributes)], "one", values[:1], values[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def as_order(x):  # float32 as integers in the same order
    bits = np.asarray(x, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def from_order(n):
    n = np.asarray(n, np.int64)
    return np.where(n < 0, (-n) | 0x80000000, n).astype(np.uint32).view(np.float32)


def arguments(bounds, count, random):
    first, last = as_order(np.float32(bounds[0])), as_order(np.float32(bounds[1]))
    spread = from_order(first + (np.arange(count, dtype=np.int64) * int(last - first)) // max(count - 1, 1))
    uniform = random.uniform(bounds[0], bounds[1], count).astype(np.float32)
    x = np.concatenate([spread, uniform])
    return x[(x >= np.float32(bounds[0])) & (x <= np.float32(bounds[1]))]


def ulp(y):
    _, exponent = np.frexp(np.abs(y))
    return np.ldexp(1.0, np.maximum(exponent - 24, -149))


class Worst:
    def __init__(self):
        self.count, self.ulps, self.absolute, self.relative = 0, (0.0, 0.0), (0.0, 0.0), 0
        self.below = (0.0, 0.0)  # absolute, exact value below the normal numbers
        self.bad = 0

    def add(self, x, y, exact):
        keep = np.isfinite(exact) & (np.abs(exact) < 3.4028234663852886e38)
        x, y, exact = x[keep], y[keep].astype(np.float64), exact[keep]
        self.count += x.size
        self.bad += int(np.count_nonzero(~np.isfinite(y)))
        error = np.abs(y - exact)
        normal = np.abs(exact) >= SMALLEST_NORMAL
        for name, size, where in (("ulps", error / ulp(exact), normal), ("absolute", error, normal), ("below", error, ~normal)):
            size = np.where(where, size, 0)
            if size.size and not size.max() <= getattr(self, name)[0]:
                setattr(self, name, (float(size.max()), float(x[size.argmax()])))


def measure(name, function, count):
    op, attributes, bounds, reference = function
    run = runner(op, attributes)
    random = np.random.default_rng(1)
    worst = Worst()
    if name in SLOW and not callable(op):
        count = min(count, 1 << 20)
    x = arguments(bounds, count, random)
    for begin in range(0, x.size, 1 << 20):
        part = x[begin:begin + (1 << 20)]
        with np.errstate(all="ignore"):
            worst.add(part, run(part), reference(part.astype(np.float64)))
    for length in range(1, 34):
        for _ in range(20):
            part = random.choice(x, length)
            with np.errstate(all="ignore"):
                worst.add(part, run(part), reference(part.astype(np.float64)))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arguments", type=int, default=1 << 21)
    parser.add_argument("--only", default="")
    parser.add_argument("--library", choices=("onnxruntime", "jax"), default="onnxruntime")
    options = parser.parse_args()
    functions = of_jax() if options.library == "jax" else FUNCTIONS
    version = f"JAX {jax.__version__} (CPU)" if options.library == "jax" else f"ONNX Runtime {ort.__version__}"
    print(f"{version}, numpy {np.__version__}\n")
    print("| function | arguments | largest error, ulps | at | largest absolute error | at | below 2^-126: absolute, in 2^-149 | not finite |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, function in functions.items():
        if options.only not in name:
            continue
        w = measure(name, function, options.arguments)
        log = f"2^{math.log2(w.absolute[0]):.2f}" if w.absolute[0] > 0 else "0"
        print(f"| {name} | {w.count} | {w.ulps[0]:.3f} | {w.ulps[1]:.9g} | {log} | {w.absolute[1]:.9g} | {w.below[0] / 2.0**-149:.2f} | {w.bad} |",
              flush=True)


if __name__ == "__main__":
    main()
