#!/usr/bin/env python3
"""training/ beside PyTorch: optimisers, schedules, losses and layers, complex functions, Hessians and forward mode.

    python3 tests/training/peer.py BIN optimisers|schedules|losses|layers|complex|transforms

`peer_cases` prints inputs and results in float32 and float64; PyTorch computes the same from the same inputs.

float64   agrees to RELATIVE of the largest magnitude that is compared: other formulas, orders of gates or defaults differ by far more.
float32   is as near to PyTorch's float64 results (from the same float32 inputs) as PyTorch's own float32 results are, times FACTOR, or
          within ROUNDINGS units in the last place of the largest magnitude: the difference is rounding, and of the same size.
Prints "skipped" without the package torch.
"""
import json
import subprocess
import sys
import warnings

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

try:
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

RELATIVE = 1e-12   # of float64, which rounds at 1.1e-16; a hundred steps
FACTOR = 4         # between two float32 computations in different orders
ROUNDINGS = 8      # units of 2^-24 of the largest magnitude
FAULTS = []
COUNT = 0


def tensor(one, dtype=None):
    made = torch.tensor(one["data"], dtype=torch.float64).reshape(one["shape"])
    if one["dtype"] in ("int64", "int32"):
        return made.to(getattr(torch, one["dtype"]))
    return made.to(dtype or getattr(torch, one["dtype"]))


def compare(name, ours, theirs_same, theirs_exact, dtype):
    """`ours` and PyTorch's result in the same format, and PyTorch's in float64; all of one shape."""
    global COUNT
    COUNT += 1
    ours, theirs_same, theirs_exact = (torch.as_tensor(t, dtype=torch.float64).reshape(-1) for t in (ours, theirs_same, theirs_exact))
    if ours.shape != theirs_exact.shape:
        FAULTS.append(f"{name}: {ours.numel()} numbers, PyTorch {theirs_exact.numel()}")
        return
    if ours.numel() == 0:
        return
    size = theirs_exact.abs().max().item()
    error, theirs = (ours - theirs_exact).abs().max().item(), (theirs_same - theirs_exact).abs().max().item()
    allowed = RELATIVE * size if dtype == "float64" else max(FACTOR * theirs, ROUNDINGS * 2.0**-24 * size)
    if not error <= allowed:
        FAULTS.append(f"{name}: differs by {error:.3g}, PyTorch itself by {theirs:.3g}, allowed {allowed:.3g}, largest {size:.3g}")


def orthogonal(grad, coefficients, steps, eps):
    """torch.optim.Muon's iteration, which it computes in bfloat16, in the format of the gradient."""
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if grad.size(0) > grad.size(1) else x


class GaLore:
    """Zhao et al. 2024, algorithm 2, around an optimiser of torch.optim: its parameter is the sum of its own changes. Signs: largest elements are positive."""

    def __init__(self, parameters, inner, rank, interval, scale, weight_decay, lr, **options):
        (self.p,), self.rank, self.interval, self.scale, self.decay, self.steps = parameters, rank, interval, scale, lr * weight_decay, 0
        self.projected, self.tall = min(self.p.shape) > rank, self.p.shape[0] > self.p.shape[1]
        rows, columns = self.p.shape
        self.low = torch.nn.Parameter(self.p.new_zeros((rows, rank) if self.tall else (rank, columns))) if self.projected else self.p
        self.inner = getattr(torch.optim, inner)([self.low], lr=lr, **options)

    @torch.no_grad()
    def step(self):
        self.p.mul_(1 - self.decay)
        if not self.projected:
            self.inner.step()
            return
        if self.steps % self.interval == 0:
            left, _, right = torch.linalg.svd(self.p.grad, full_matrices=False)
            vectors = right[:self.rank].T if self.tall else left[:, :self.rank]
            self.vectors = vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()
        self.steps += 1
        self.low.grad = self.p.grad @ self.vectors if self.tall else self.vectors.T @ self.p.grad
        before = self.low.clone()
        self.inner.step()
        change = self.low - before
        self.p.add_(self.scale * (change @ self.vectors.T if self.tall else self.vectors @ change))


def optimisers(cases):
    from torch.optim import _muon
    _muon._zeropower_via_newtonschulz = orthogonal
    for case in cases:
        found = {}
        for dtype in {getattr(torch, case["dtype"]), torch.float64}:
            p = torch.nn.Parameter(tensor(case["start"], dtype))
            make = GaLore if case["name"] == "GaLore" else getattr(torch.optim, case["name"])
            optimiser = make([p], **case["options"])
            found[dtype] = []
            for gradient in case["gradients"]:
                p.grad = torch.tensor(gradient, dtype=dtype).reshape(p.shape)
                optimiser.step()
                found[dtype].append(p.detach().clone().to(torch.float64))
        for step in (0, 1, 9, 99):
            compare(f"{case['name']} {case['options']} {case['dtype']} after {step + 1} steps", case["after"][step],
                    found[getattr(torch, case["dtype"])][step], found[torch.float64][step], case["dtype"])


def schedules(cases):
    for case in cases:
        optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1, momentum=0.9)
        options = case["options"]
        schedule = getattr(torch.optim.lr_scheduler, case["name"])(optimiser, **options)
        found = []
        for _ in case["rates"]:
            found.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            if len(found) < len(case["rates"]):
                schedule.step()
        compare(f"{case['name']} {options}", case["rates"], found, found, "float64")


def hinge(x, signs, reduction):
    loss = torch.relu(1 - signs * x)
    return loss if reduction == "none" else getattr(loss, reduction)()


def log_cosh(x, y, reduction):
    loss = (x - y) + torch.logaddexp(-2 * (x - y), torch.zeros_like(x)) - torch.log(torch.tensor(2.0, dtype=x.dtype))
    return loss if reduction == "none" else getattr(loss, reduction)()


def ctc(scores, *others, **options):
    return F.ctc_loss(F.log_softmax(scores, 2), *others, **options)


def losses(cases):
    own = {"hinge": hinge, "log_cosh": log_cosh, "ctc": ctc}
    for case in cases:
        name = f"{case['name']} {({k: v if not isinstance(v, dict) else '...' for k, v in case['options'].items()})} {case['dtype']}"
        if "failed" in case:
            FAULTS.append(f"{name}: {case['failed']}")
            continue
        results = {}
        for dtype in {getattr(torch, case["dtype"]), torch.float64}:
            operands = [tensor(one, dtype) for one in case["operands"]]
            operands[0].requires_grad_(True)
            options = {k: tensor(v, dtype) if isinstance(v, dict) else v for k, v in case["options"].items()}
            value = (own.get(case["name"]) or getattr(F, case["name"]))(*operands, **options)
            (gradient,) = torch.autograd.grad(value.sum(), operands[0])
            results[dtype] = (value.detach(), gradient)
        same, exact = results[getattr(torch, case["dtype"])], results[torch.float64]
        compare(name, case["value"]["data"], same[0], exact[0], case["dtype"])
        compare(name + " gradient", case["gradient"]["data"], same[1], exact[1], case["dtype"])


class CausalAttention(torch.nn.MultiheadAttention):
    causal = True


class RotaryAttention(torch.nn.Module):
    """Su et al. 2021: pairs as complex numbers that are turned; causal, two heads."""

    def __init__(self, interleaved):
        super().__init__()
        self.interleaved = interleaved
        self.in_proj_weight, self.in_proj_bias = torch.nn.Parameter(torch.zeros(24, 8)), torch.nn.Parameter(torch.zeros(24))
        self.out_proj = torch.nn.Linear(8, 8)

    def turned(self, x):
        places, d = x.shape[-2:]
        angles = torch.arange(places, dtype=torch.float64)[:, None] * 100.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        turn = torch.polar(torch.ones_like(angles), angles).to(torch.complex128 if x.dtype == torch.float64 else torch.complex64)
        pairs = x.unflatten(-1, (d // 2, 2)) if self.interleaved else x.unflatten(-1, (2, d // 2)).transpose(-1, -2)
        y = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
        return (y if self.interleaved else y.transpose(-1, -2)).flatten(-2)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, -1))
        return self.out_proj(F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True).transpose(1, 2).flatten(-2))


class LoraLinear(torch.nn.Module):
    """Hu et al. 2021."""

    def __init__(self, rank, scale):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.zeros(shape), requires_grad=False) for shape in ((5, 6), 5))
        self.lora_A, self.lora_B, self.scale = torch.nn.Parameter(torch.zeros(rank, 6)), torch.nn.Parameter(torch.zeros(5, rank)), scale / rank

    def forward(self, x):
        return F.linear(x, self.weight + self.scale * self.lora_B @ self.lora_A, self.bias)


class SmoothMaxPool2d(torch.nn.Module):
    def __init__(self, kernel_size, stride, sharpness):
        super().__init__()
        self.window, self.sharpness = {"kernel_size": kernel_size, "stride": stride}, sharpness

    def forward(self, x):
        return torch.log(F.avg_pool2d(torch.exp(self.sharpness * x), **self.window)) / self.sharpness


class MambaBlock(torch.nn.Module):
    """Gu and Dao 2023, step by step."""

    def __init__(self, width, state):
        super().__init__()
        inner, self.rank, self.state = 2 * width, (width + 15) // 16, state
        self.in_proj = torch.nn.Linear(width, 2 * inner, bias=False)
        self.conv1d = torch.nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.x_proj = torch.nn.Linear(inner, self.rank + 2 * state, bias=False)
        self.dt_proj = torch.nn.Linear(self.rank, inner)
        self.A_log, self.D = torch.nn.Parameter(torch.zeros(inner, state)), torch.nn.Parameter(torch.zeros(inner))
        self.out_proj = torch.nn.Linear(inner, width, bias=False)

    def forward(self, x):
        u, gate = self.in_proj(x).chunk(2, -1)
        u = F.silu(self.conv1d(u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        delta, b, c = self.x_proj(u).split([self.rank, self.state, self.state], -1)
        delta, a = F.softplus(self.dt_proj(delta)), -torch.exp(self.A_log)
        s, outputs = torch.zeros(x.shape[0], *a.shape, dtype=x.dtype), []
        for t in range(x.shape[1]):
            s = torch.exp(delta[:, t, :, None] * a) * s + (delta[:, t] * u[:, t])[:, :, None] * b[:, t, None, :]
            outputs.append((s * c[:, t, None, :]).sum(-1))
        return self.out_proj((torch.stack(outputs, 1) + u * self.D) * F.silu(gate))


class SpectralConv1d(torch.nn.Module):
    """Li et al. 2021, by torch.fft."""

    def __init__(self, modes):
        super().__init__()
        self.modes = modes
        self.real, self.imaginary = torch.nn.Parameter(torch.zeros(modes, 3, 2)), torch.nn.Parameter(torch.zeros(modes, 3, 2))

    def forward(self, x):
        y = torch.einsum("bck,kce->bek", torch.fft.rfft(x)[..., :self.modes], torch.complex(self.real, self.imaginary))
        return torch.fft.irfft(F.pad(y, (0, x.shape[-1] // 2 + 1 - self.modes)), n=x.shape[-1])


def applied(module, x):
    if isinstance(module, torch.nn.MultiheadAttention):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if hasattr(module, "causal") else None
        return module(x, x, x, need_weights=False, attn_mask=mask)[0]
    y = module(x)
    return y[0] if isinstance(y, tuple) else y


def module_of(case, dtype):
    module = (globals().get(case["name"]) or getattr(torch.nn, case["name"]))(**case["arguments"]).to(dtype)
    module.load_state_dict({k: tensor(v, dtype) for k, v in case["parameters"].items()}, strict=not any("running" in k for k in case["parameters"]))
    return module


def trained(case, dtype):
    """-> {name: tensor}: what the case has, by PyTorch in this format."""
    module = module_of(case, dtype)
    x, target = tensor(case["input"], dtype).requires_grad_(True), tensor(case["target"], dtype)
    running = {k: v.clone() for k, v in module.state_dict().items()}
    y = applied(module, x)
    results = {"output": y.detach(), "input_gradient": torch.autograd.grad(F.mse_loss(y, target), x)[0]}
    module.load_state_dict(running)
    if "losses" not in case:
        return results
    optimiser, losses, x = torch.optim.SGD(module.parameters(), lr=0.05), [], x.detach()
    for _ in case["losses"]:
        optimiser.zero_grad()
        loss = F.mse_loss(applied(module, x), target)
        loss.backward()
        losses.append(loss.item())
        optimiser.step()
    results["losses"] = torch.tensor(losses, dtype=torch.float64)
    results |= {k: v.detach().clone() for k, v in module.state_dict().items() if "num_batches" not in k}
    module.eval()
    with torch.no_grad():
        results["evaluated"] = applied(module, x)
    return results


def in_onnx_runtime(case):
    """What ONNX Runtime computes from the file that was written of the layer."""
    session = onnxruntime.InferenceSession(bytes.fromhex(case["onnx"]), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": tensor(case["input"]).numpy()})[0]


def evaluated(case, dtype):
    module = module_of(case, dtype).eval()
    with torch.no_grad():
        return applied(module, tensor(case["input"], dtype))


def layers(cases):
    for case in cases:
        if "failed" in case:
            FAULTS.append(f"{case['name']}: {case['failed']}")
            continue
        name = f"{case['name']} {case['arguments']} {case['dtype']} {'compiled' if case['compiled'] else 'eager'}"
        same, exact = trained(case, getattr(torch, case["dtype"])), trained(case, torch.float64)
        if onnxruntime and "onnx" in case:
            compare(f"{name} in ONNX Runtime", in_onnx_runtime(case), evaluated(case, torch.float32), evaluated(case, torch.float64), "float32")
        ours = {k: case[k]["data"] for k in ("output", "input_gradient", "evaluated") if k in case}
        ours |= {k: v["data"] for k, v in case.get("after", {}).items()} | ({"losses": case["losses"]} if "losses" in case else {})
        if set(ours) != set(exact):
            FAULTS.append(f"{name}: {sorted(ours)}, PyTorch {sorted(exact)}")
            continue
        for key in ours:
            compare(f"{name} {key}", ours[key], same[key], exact[key], case["dtype"])


def complex_functions(cases):
    own = {"abs_squared": lambda z: (z * z.conj()).real, "linear": F.linear, "fft": torch.fft.fft, "ifft": torch.fft.ifft,
           "fft_filter": lambda z, filter: torch.fft.ifft(torch.fft.fft(z) * filter)}
    for case in cases:
        name = f"complex {case['name']} {case['dtype']}"
        if "failed" in case:
            FAULTS.append(f"{name}: {case['failed']}")
            continue
        results = {}
        for dtype in {getattr(torch, case["dtype"]), torch.float64}:
            operands = [torch.complex(tensor(z["real"], dtype), tensor(z["imag"], dtype)).requires_grad_(True) for z in case["operands"]]
            value = (own.get(case["name"]) or getattr(torch, case["name"]))(*operands)
            value = value if value.is_complex() else torch.complex(value, torch.zeros_like(value))
            loss = (value.real * tensor(case["weights"]["real"], dtype) + value.imag * tensor(case["weights"]["imag"], dtype)).sum()
            results[dtype] = [value.detach(), *torch.autograd.grad(loss, operands)]
        ours = [case["value"], *case["gradients"]]
        assert len(ours) == len(results[torch.float64])
        for k, (mine, same, exact) in enumerate(zip(ours, results[getattr(torch, case["dtype"])], results[torch.float64])):
            flat = [torch.view_as_real(one.resolve_conj()).movedim(-1, 0) for one in (same, exact)]
            compare(f"{name} {'value' if k == 0 else f'gradient {k}'}", [*mine["real"]["data"], *mine["imag"]["data"]], *flat, case["dtype"])


def transformed(case, dtype):
    """-> what the case has, by torch.func."""
    values = [tensor(one, dtype) for one in case["values"]]
    *parameters, x, y = values

    def net(w, c, u, x):
        return torch.tanh(F.linear(x, w, c)) @ u.T

    def loss(w, c, u, x, y):
        return F.mse_loss(net(w, c, u, x), y) + torch.exp(c).sum()

    results = {"hessian": [block for row in torch.func.hessian(loss, argnums=(0, 1, 2))(*values) for block in row]}
    by_sample = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1, 2)), in_dims=(None, None, None, 0, 0))
    results["samples"] = list(by_sample(*parameters, x[:, None], y[:, None]))
    x_dot, w_dot, u_dot = (tensor(one, dtype) for one in case["tangents"])
    results["jvp"] = [torch.func.jvp(lambda w, u, x: net(w, parameters[1], u, x), (parameters[0], parameters[2], x), (w_dot, u_dot, x_dot))[1]]
    x = x.clone().requires_grad_(True)
    hidden = torch.tanh(F.linear(x, *parameters[:2]))
    results["hidden_bar"], results["x_bar"] = ([one] for one in torch.autograd.grad(F.mse_loss(hidden @ parameters[2].T, y), (hidden, x)))
    return results


def transforms(cases):
    jvps = {}
    for case in cases:
        name = f"{case['dtype']} {case['backend']}"
        if "failed" in case:
            FAULTS.append(f"{name}: {case['failed']}")
            continue
        same, exact = transformed(case, getattr(torch, case["dtype"])), transformed(case, torch.float64)
        for key, theirs in exact.items():
            mine = case[key] if isinstance(case[key], list) else [case[key]]
            for k, one in enumerate(mine):
                if list(theirs[k].shape) != one["shape"]:
                    FAULTS.append(f"{name} {key} {k}: shape {one['shape']}, PyTorch {list(theirs[k].shape)}")
                compare(f"{name} {key} {k}", one["data"], same[key][k], theirs[k], case["dtype"])
        if jvps.setdefault(case["dtype"], case["jvp"]["data"]) != case["jvp"]["data"]:
            FAULTS.append(f"{name}: forward mode has other bits compiled than eager")


def main():
    binary, part = sys.argv[1], sys.argv[2]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # torch announces another mean of kl_div
    done = subprocess.run([f"{binary}/peer_cases", part], capture_output=True, text=True, check=True)
    {**globals(), "complex": complex_functions}[part](json.loads(done.stdout))
    for fault in FAULTS:
        print(f"FAILED {fault}")
    print(f"{COUNT} comparisons, {len(FAULTS)} failed")
    sys.exit(1 if FAULTS or COUNT == 0 else 0)


if __name__ == "__main__":
    main()
