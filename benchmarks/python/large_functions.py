"""Times `assay.gradcheck` of right custom Functions of four million elements, and of wrong twins of theirs, which must fail.

    PYTHONPATH=python ASSAY_PROGRAMS=build/release/bin python3 benchmarks/python/large_functions.py [--elements 4194304] [--only NAME] [--faults ""] [--json FILE]

Each line is one call in a process that has called gradcheck before: PyTorch loads parts of itself at the first Function. Beside the seconds that
passed stand those of all processors together, of Python and the program, which say more on a machine that others use as well, and the most memory
that both held at a time: without the recordings that are handed over in memory, whose size docs/reference/trace-format.md gives.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
import threading
import time
import warnings
from typing import Any, Callable

import torch

import assay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import results  # noqa: E402


class Base(torch.autograd.Function):
    """A fault of the backward pass: a dropped "term", one wrong "row", one wrong "element"; none."""

    fault = ""

    @classmethod
    def bent(cls, found: torch.Tensor) -> torch.Tensor:
        if Base.fault == "row":
            found[found.shape[0] // 2] = 0
        if Base.fault == "element":
            found.view(-1)[found.numel() // 3] *= 1.5
        return found

    @classmethod
    def term(cls, value: torch.Tensor) -> Any:
        return 0 if Base.fault == "term" else value


class LayerNorm(Base):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        inverse = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
        normal = centred * inverse
        ctx.save_for_backward(normal, inverse, weight)
        return normal * weight + bias

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        normal, inverse, weight = ctx.saved_tensors
        scaled = g * weight
        found = inverse * (scaled - scaled.mean(-1, keepdim=True) - Base.term(normal * (scaled * normal).mean(-1, keepdim=True)))
        return Base.bent(found), (g * normal).sum(0), g.sum(0)


class RMSNorm(Base):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        inverse = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, inverse, weight)
        return x * inverse * weight

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        x, inverse, weight = ctx.saved_tensors
        scaled, normal = g * weight, x * inverse
        return Base.bent(inverse * (scaled - Base.term(normal * (scaled * normal).mean(-1, keepdim=True)))), (g * normal).sum(0)


GROUPS = 32


class GroupNorm(Base):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        grouped = x.view(n, GROUPS, -1)
        centred = grouped - grouped.mean(-1, keepdim=True)
        inverse = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
        normal = (centred * inverse).view(n, c, h, w)
        ctx.save_for_backward(normal, inverse, weight)
        return normal * weight.view(1, c, 1, 1) + bias.view(1, c, 1, 1)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        normal, inverse, weight = ctx.saved_tensors
        n, c, h, w = g.shape
        scaled = (g * weight.view(1, c, 1, 1)).view(n, GROUPS, -1)
        flat = normal.view(n, GROUPS, -1)
        found = inverse * (scaled - scaled.mean(-1, keepdim=True) - Base.term(flat * (scaled * flat).mean(-1, keepdim=True)))
        return Base.bent(found.view(n, c, h, w)), (g * normal).sum((0, 2, 3)), g.sum((0, 2, 3))


class Attention(Base):
    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        p = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        q, k, v, p = ctx.saved_tensors
        slope = g @ v.transpose(-2, -1)
        scores = p * (slope - Base.term((slope * p).sum(-1, keepdim=True))) * q.shape[-1] ** -0.5
        return Base.bent(scores @ k), scores.transpose(-2, -1) @ q, p.transpose(-2, -1) @ g


class Routing(Base):
    """What experts gave for each token, weighted by the router's softmax."""

    @staticmethod
    def forward(ctx: Any, experts: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        p = torch.softmax(logits, -1)
        ctx.save_for_backward(experts, p)
        return (experts * p[..., None]).sum(1)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        experts, p = ctx.saved_tensors
        slope = (experts * g[:, None, :]).sum(-1)
        return Base.bent(g[:, None, :] * p[..., None]), p * (slope - Base.term((slope * p).sum(-1, keepdim=True)))


CHOSEN = 2


class Gathered(Base):
    """What the chosen experts gave for each token: rows are read and written by the places of the greatest logits."""

    @staticmethod
    def forward(ctx: Any, experts: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        top, at = logits.topk(CHOSEN, -1)
        p = torch.softmax(top, -1)
        chosen = experts.gather(1, at[..., None].expand(-1, -1, experts.shape[-1]))
        ctx.save_for_backward(chosen, p, at)
        ctx.shape = experts.shape
        return (chosen * p[..., None]).sum(1)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        chosen, p, at = ctx.saved_tensors
        slope = (chosen * g[:, None, :]).sum(-1)
        logits = p * (slope - Base.term((slope * p).sum(-1, keepdim=True)))
        experts = torch.zeros(ctx.shape).scatter(1, at[..., None].expand(-1, -1, ctx.shape[-1]), g[:, None, :] * p[..., None])
        return Base.bent(experts), torch.zeros(ctx.shape[:2]).scatter(1, at, logits)


class Memory(threading.Thread):
    """The most memory that this process and the programs that it started hold at a time, in MB, looked up fifty times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            self.most = max(self.most, sum(map(self.held, [os.getpid(), *self.programs()])) // 1024)

    @staticmethod
    def programs() -> list[int]:
        found: list[int] = []
        for tasks in pathlib.Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (tasks / "children").read_text(encoding="utf-8").split())
        return found

    @staticmethod
    def held(process: int) -> int:
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0


def cases(n: int) -> dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]]:
    rows, heads = n // 1024, n // 128**2
    return {"layer norm": (LayerNorm.apply, [(rows, 1024), (1024,), (1024,)]), "RMS norm": (RMSNorm.apply, [(rows, 1024), (1024,)]),
            "group norm": (GroupNorm.apply, [(n // 65536, 256, 16, 16), (256,), (256,)]),
            "attention": (Attention.apply, [(heads, 128, 64)] * 3), "routing": (Routing.apply, [(n // 4096, 8, 512), (n // 4096, 8)]),
            "top-k routing": (Gathered.apply, [(n // 4096, 8, 512), (n // 4096, 8)])}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=1 << 22)
    parser.add_argument("--only", default="")
    parser.add_argument("--faults", default="none,term,row,element")
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    assay.gradcheck(LayerNorm.apply, [(4, 8), (8,), (8,)])
    rows = []
    for name, (function, shapes) in cases(options.elements).items():
        for fault in options.faults.split(",") if options.only in name else ():
            Base.fault, start, before, memory = fault, time.perf_counter(), sum(os.times()[:4]), Memory()
            memory.start()
            try:
                verdict = "passed" if assay.gradcheck(function, shapes) else ""
            except assay.GradcheckError as error:
                verdict = f"{error.report.verdict} [{error.report.findings[0].rule}]"
            spent, busy = time.perf_counter() - start, sum(os.times()[:4]) - before
            memory.over.set()
            verdict = verdict if verdict.startswith("passed" if fault == "none" else "failed") else f"**{verdict}**"
            print(f"{name} {shapes} {fault}: {verdict}, {spent:.1f} s, {busy:.1f} s of processors, {memory.most} MB, load {os.getloadavg()[0]:.1f}", flush=True)
            rows.append([name, ", ".join(" x ".join(map(str, one)) for one in shapes), fault, verdict, f"{spent:.1f} s", f"{busy:.1f} s", str(memory.most)])
    if options.json:
        table = {"title": "Each call", "header": ["Function", "Shapes", "Fault", "Verdict", "Time", "Time of processors", "MB"], "left": [0, 1, 2, 3], "rows": rows}
        results.write(options.json, results.begin("Large custom Functions", "Gradients", f"PyTorch {torch.__version__}; functions of {options.elements:,} elements.",
                                                  {f"{row[0]}, {row[2]}": (row[4], f"{row[0]}, {row[1]}, fault: {row[2]}") for row in rows}, tables=[table]))


if __name__ == "__main__":
    main()
