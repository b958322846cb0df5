"""Small networks with a counterexample planted in the box of their property, trained so that an attack does not see it.

    python3 tests/soundness/planted.py FOLDER       writes for each network NAME.onnx, NAME.vnnlib and NAME.json (the planted point; needs torch)

The idea is SoundnessBench's (Zhou et al. 2024): a network is trained to keep its property at the worst points that gradient ascent finds in the box, and to violate it at one point
that nobody tells the verifier. A verifier whose bounds are wrong answers `unsat`, and no attack contradicts it; here the planted point does. Afterwards the bias of the unsafe score is moved
so that the point violates by GAP exactly as far as float64 can tell: little around it violates, too.

Five architectures, SEEDS networks of each. The numbers of boxes and points are multiples of 1/256, so that their decimals are exact.
NAME.easy.vnnlib and NAME.small.vnnlib are properties that hold, of scores a thousand apart and of a box without the planted point: what forged certificates are made of.
"""
import concurrent.futures
import json
import pathlib
import sys

import torch
from torch import nn

SEEDS = 4
STEPS, BATCH, ASCENT = 300, 64, 6
RADIUS = 2.0      # of the box
WINDOW = 0.25     # share of it around the planted point in which nobody can keep the property
SHARPNESS = {"mlp": 3, "cnn": 3, "smooth": 8, "residual": 3, "attention": 3}  # of the first layer as it starts: narrow basins need steep features
GAP = 0.01
LABEL, TARGET, CLASSES = 0, 1, 3


class Residual(nn.Module):
    """Two blocks x + W relu(V x), and a score."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = (nn.ModuleList(nn.Linear(*shape) for _ in range(2)) for shape in ((8, 24), (24, 8)))
        self.last = nn.Linear(8, CLASSES)

    def forward(self, x):
        for inner, outer in zip(self.inner, self.outer):
            x = x + outer(torch.relu(inner(x)))
        return self.last(x)


class Attention(nn.Module):
    """One head of self-attention over three tokens of four numbers, a residual sum and a product of two projections (a gate)."""

    def __init__(self):
        super().__init__()
        self.embed, self.query, self.key, self.value, self.gate = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.last = nn.Linear(24, CLASSES)

    def forward(self, x):
        h = self.embed(x.reshape(-1, 3, 4))
        weights = torch.softmax(self.query(h) @ self.key(h).transpose(1, 2) / 8 ** 0.5, dim=2)
        h = h + weights @ self.value(h)
        h = torch.relu(h) * self.gate(h)
        return self.last(h.flatten(1))


ARCHITECTURES = {
    "mlp": ((6,), lambda: nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, CLASSES))),
    "cnn": ((1, 4, 4), lambda: nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
                                            nn.Linear(32, CLASSES))),
    "smooth": ((6,), lambda: nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 24), nn.Sigmoid(), nn.Linear(24, CLASSES))),
    "residual": ((8,), Residual),
    "attention": ((12,), Attention),
}


def gap(network, x):
    """How far the unsafe score is above the label's: the property is violated from 0 on."""
    y = network(x)
    return y[:, TARGET] - y[:, LABEL]


def ascend(network, x, middle, steps, pace):
    """Points of the box at which the gap is large, from these."""
    for _ in range(steps):
        x = x.detach().requires_grad_()
        slope, = torch.autograd.grad(gap(network, x).sum(), x)
        x = (x + pace * RADIUS * slope.sign()).clamp(middle - RADIUS, middle + RADIUS)
    return x.detach()


def plant(kind, seed):
    """-> (network, middle of the box, planted point), the point's gap being GAP"""
    torch.manual_seed(1000 * list(ARCHITECTURES).index(kind) + seed)
    shape, make = ARCHITECTURES[kind]
    network = make()
    next(module for module in network.modules() if isinstance(module, (nn.Linear, nn.Conv2d))).weight.data *= SHARPNESS[kind]
    middle = (torch.randn(1, *shape) * 128).round() / 256
    point = middle + RADIUS * (torch.randint(0, 2, middle.shape) * 2 - 1) * 7 / 8
    optimiser = torch.optim.Adam(network.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    for _ in range(STEPS):
        anywhere = middle + RADIUS * (2 * torch.rand(BATCH, *shape) - 1)
        near = (point + RADIUS * WINDOW * torch.randn(BATCH // 2, *shape)).clamp(middle - RADIUS, middle + RADIUS)
        x = ascend(network, torch.cat([anywhere, near]), middle, ASCENT, 0.2)
        far = ((x - point).abs().flatten(1).amax(1) > RADIUS * WINDOW).float()
        high = gap(network, x)
        worst = (torch.relu(0.2 + high) * far).sum() / far.sum().clamp(min=1) + (torch.relu(0.1 + high) * far).amax()
        loss = 2 * worst + 2 * torch.relu(0.1 - gap(network, point)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    last = [module for module in network.modules() if isinstance(module, nn.Linear)][-1]
    with torch.no_grad():
        last.bias[TARGET] += GAP - gap(network.double(), point.double()).item()
    return network.float(), middle, point


def attacked(network, middle, restarts=64, steps=40):
    """The share of random points from which gradient ascent finds a violation."""
    x = ascend(network, middle + RADIUS * (2 * torch.rand(restarts, *middle.shape[1:]) - 1), middle, steps, 0.05)
    return (gap(network, x) >= 0).float().mean().item()


def decimal(value):
    return f"{value:.8f}"  # exact: a multiple of 1/256


def vnnlib(middle, radius=RADIUS, offset=0):
    """The unsafe score is at least the label's, or lies that much above it."""
    numbers = middle.flatten().tolist()
    lines = [f"(declare-const X_{i} Real)" for i in range(len(numbers))] + [f"(declare-const Y_{i} Real)" for i in range(CLASSES)]
    for i, number in enumerate(numbers):
        lines += [f"(assert (>= X_{i} {decimal(number - radius)}))", f"(assert (<= X_{i} {decimal(number + radius)}))"]
    return "\n".join(lines + [f"(assert (>= Y_{TARGET} (+ Y_{LABEL} {offset})))", ""])


def write(folder, kind):
    torch.set_num_threads(1)
    for seed in range(SEEDS):
        network, middle, point = plant(kind, seed)
        name = f"{kind}_{seed}"
        torch.onnx.export(network.eval(), (middle,), str(folder / f"{name}.onnx"), input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        (folder / f"{name}.vnnlib").write_text(vnnlib(middle))
        (folder / f"{name}.easy.vnnlib").write_text(vnnlib(middle, offset=1000))
        (folder / f"{name}.small.vnnlib").write_text(vnnlib(middle, radius=1 / 256))
        (folder / f"{name}.json").write_text(json.dumps({"point": [decimal(x) for x in point.flatten().tolist()], "attacked": attacked(network, middle)}))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor() as pool:
        list(pool.map(write, [target] * len(ARCHITECTURES), sorted(ARCHITECTURES, key=lambda kind: kind != "cnn")))  # the longest first
