"""Training steps of the eager session beside PyTorch eager, interleaved.

    cmake --build --preset release --target bench_session
    python benchmarks/session/compare.py build/release/bin/bench_session [BEFORE/bench_session] [--rounds 5] [--seconds 1] [--threads 2]
        [--device cuda] [--compiled]

The rate is small, so that every step does the work of an early one: near a minimum gradients become subnormal, and slow on some processors.
On a device both sides compute in float32 without TF32, and their clocks stop when the last step is done there.
Prints, per task, the median over the rounds of microseconds per step (wall and CPU, of all threads) and the median ratio.
The last four tasks are one operation each: forward, and backward from a given cotangent.
"""
import argparse
import statistics
import subprocess
import time

import torch
from torch import nn


def small():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10)), torch.randn(1, 16), torch.full((1,), 3)


def mlp():
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, torch.randn(128, 784), torch.full((128,), 3)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def conv():
    return Residual(), torch.randn(16, 64, 32, 32), None


class Block(nn.Module):
    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, d = x.shape
        h = self.first(x)
        q, k, v = (f(h).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(2, 3) * (d // self.heads) ** -0.5, 3)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


def block():
    return Block(), torch.randn(8, 64, 128), None


class Pools(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.rand(1, 64, 1, 1))

    def forward(self, x):
        return nn.functional.avg_pool2d(torch.relu(nn.functional.max_pool2d(x * self.p, 2)), 2)


def pool():
    return Pools(), torch.randn(16, 64, 32, 32), None


class Overlapping(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.rand(1, 64, 1, 1))

    def forward(self, x):
        return nn.functional.max_pool2d(x * self.p, 3, 2, 1)


def overlap():
    return Overlapping(), torch.randn(16, 64, 32, 32), None


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(128, 128, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def lstm():
    return Lstm(), torch.randn(32, 32, 128), None


# One operation: x, the function, the cotangent of its result.
def operation(f, *shape):
    x = torch.randn(*shape)
    return x, f, torch.randn_like(f(x))


def gelu():
    return operation(nn.functional.gelu, 16, 64, 32, 32)


def tanh():
    return operation(torch.tanh, 16, 64, 32, 32)


def max_rows():
    return operation(lambda x: torch.amax(x, 1), 2048, 512)


def max_pool():
    return operation(lambda x: nn.functional.max_pool2d(x, 3, 2, 1), 16, 64, 32, 32)


def operation_step(x, f, cotangent, device):
    x, cotangent = x.to(device).requires_grad_(), cotangent.to(device)

    def step():
        x.grad = None
        f(x).backward(cotangent)

    return step


def torch_step(task, device):
    if torch.is_tensor(task[0]):
        return operation_step(*task, device)
    model, x, target = (None if part is None else part.to(device) for part in task)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-5)

    def step():
        optimiser.zero_grad(set_to_none=True)
        y = model(x)
        loss = (y * y).mean() if target is None else nn.functional.cross_entropy(y, target)
        loss.backward()
        optimiser.step()

    return step


def timed(step, seconds, device):
    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(3):
        step()
    wait()
    start, cpu, steps = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    wait()
    return (time.perf_counter() - start) * 1e6 / steps, (time.process_time() - cpu) * 1e6 / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="bench_session of one build, or of several")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--tasks", nargs="*", default="small mlp block pool overlap conv lstm gelu tanh max_rows max_pool".split())
    parser.add_argument("--threads", type=int, default=2)  # 1 where others use the machine: OpenMP's threads wait for each other
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--compiled", action="store_true", help="steps of a compiled function, beside PyTorch eager all the same")
    options = parser.parse_args()
    backend = "compiled" if options.compiled else "eager"
    torch.set_num_threads(options.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    for name in options.tasks:
        step, ours, theirs = torch_step(globals()[name](), options.device), [[] for _ in options.programs], []
        for _ in range(options.rounds):
            theirs.append(timed(step, options.seconds, options.device))
            for program, times in zip(options.programs, ours):
                words = [program, name, str(options.seconds), str(options.threads), options.device, backend]
                times.append(tuple(map(float, subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())))
        for times in ours:
            for k, kind in enumerate(["wall", "cpu"]):
                mine, other = [o[k] for o in times], [t[k] for t in theirs]
                ratio = statistics.median(a / b for a, b in zip(mine, other))
                medians = f"session {statistics.median(mine):10.1f} us  torch {statistics.median(other):10.1f} us"
                print(f"{name:8} {kind:4}  {backend} {medians}  ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
