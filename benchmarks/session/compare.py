"""Training steps of the eager session beside PyTorch eager, interleaved.

    cmake --build --preset release --target bench_session
    python benchmarks/session/compare.py build/release/bin/bench_session [--rounds 5] [--seconds 1]

Prints, per task, the median over the rounds of microseconds per step (wall and CPU, of all threads) and the median ratio.
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


def torch_step(task):
    model, x, target = task
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimiser.zero_grad(set_to_none=True)
        y = model(x)
        loss = (y * y).mean() if target is None else nn.functional.cross_entropy(y, target)
        loss.backward()
        optimiser.step()

    return step


def timed(step, seconds):
    for _ in range(3):
        step()
    start, cpu, steps = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    return (time.perf_counter() - start) * 1e6 / steps, (time.process_time() - cpu) * 1e6 / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--tasks", nargs="*", default=["small", "mlp", "conv"])
    options = parser.parse_args()
    torch.set_num_threads(2)
    for name in options.tasks:
        step, ours, theirs = torch_step(globals()[name]()), [], []
        for _ in range(options.rounds):
            theirs.append(timed(step, options.seconds))
            output = subprocess.run([options.program, name, str(options.seconds)], capture_output=True, text=True, check=True).stdout
            ours.append(tuple(map(float, output.split())))
        for k, kind in enumerate(["wall", "cpu"]):
            mine, other = [o[k] for o in ours], [t[k] for t in theirs]
            ratio = statistics.median(a / b for a, b in zip(mine, other))
            print(f"{name:6} {kind:4}  session {statistics.median(mine):10.1f} us  torch {statistics.median(other):10.1f} us  ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
