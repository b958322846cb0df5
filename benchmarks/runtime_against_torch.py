#!/usr/bin/env python3
"""Operations of the runtime against PyTorch on the CPU, both with as many threads, turn by turn.

    benchmarks/runtime_against_torch.py BIN [--threads N] [--rounds N] [--only TEXT]

For each case bench_runtime and PyTorch take turns; the table shows the median of each side's medians in microseconds, and the ratio
(below 1: the runtime is faster). A pause before each turn lets the other side's threads fall asleep.
"""
import argparse
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F


def cases():
    image, kernel = torch.rand(16, 64, 32, 32), torch.rand(64, 64, 3, 3)
    rows, other = torch.rand(2048, 512), torch.rand(16, 64, 32, 32)
    channels = torch.rand(64)
    x, w, b = torch.rand(128, 784), torch.rand(512, 784), torch.rand(512)
    g, v = torch.rand(128, 512), torch.rand(512, 512)
    sx, sw, sb = torch.rand(1, 64), torch.rand(64, 64), torch.rand(64)
    p, q = torch.rand(64, 128, 64), torch.rand(64, 64, 128)
    wide, one, logits, square = torch.rand(128, 64, 3, 3), torch.rand(64, 64, 1, 1), torch.rand(128, 10), torch.rand(1024, 1024)
    wide_bias = torch.rand(128)
    grad = lambda mask: torch.ops.aten.convolution_backward(image, image, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)
    return {
        "linear": lambda: F.linear(x, w, b),
        "linear_input_gradient": lambda: g @ v,
        "linear_weight_gradient": lambda: g.t() @ x,
        "linear_small": lambda: F.linear(sx, sw, sb),
        "matmul_square": lambda: v @ v,
        "matmul_batch": lambda: p @ q,
        "conv": lambda: F.conv2d(image, kernel, channels, padding=1),
        "conv_stride": lambda: F.conv2d(image, wide, wide_bias, stride=2, padding=1),
        "conv_one": lambda: F.conv2d(image, one, channels),
        "conv_input_gradient": lambda: grad([True, False, False]),
        "conv_weight_gradient": lambda: grad([False, True, False]),
        "max_pool": lambda: F.max_pool2d(image, 2),
        "avg_pool": lambda: F.avg_pool2d(image, 3, 2, 1, count_include_pad=False),
        "add": lambda: image + other,
        "add_channel": lambda: image + channels.view(1, 64, 1, 1),
        "relu": lambda: F.relu(image),
        "gelu": lambda: F.gelu(image),
        "tanh": lambda: torch.tanh(image),
        "exp": lambda: torch.exp(image),
        "sigmoid": lambda: torch.sigmoid(image),
        "silu": lambda: F.silu(image),
        "softmax": lambda: F.softmax(rows, 1),
        "softmax_channels": lambda: F.softmax(image, 1),
        "log_softmax": lambda: F.log_softmax(logits, 1),
        "layer_norm": lambda: F.layer_norm(rows, (512,)),
        "batch_norm": lambda: F.batch_norm(image, channels, channels, channels, channels),
        "sum_all": lambda: image.sum(),
        "sum_channels": lambda: image.sum((0, 2, 3)),
        "sum_rows": lambda: g.sum(0),
        "max_rows": lambda: torch.amax(rows, 1),
        "transpose": lambda: square.t().contiguous(),
        "to_channels_last": lambda: image.permute(0, 2, 3, 1).contiguous(),
        "concat": lambda: torch.cat([image, other], 1),
    }


def microseconds(call):
    times, start = [], time.perf_counter()
    while len(times) < 5 or (len(times) < 2000 and time.perf_counter() - start < 0.06):
        before = time.perf_counter()
        call()
        times.append((time.perf_counter() - before) * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    ours = subprocess.Popen([f"{options.bin}/bench_runtime", str(options.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print("| Operation | runtime, us | PyTorch, us | ratio |\n| --- | ---: | ---: | ---: |")
    for name, call in cases().items():
        if options.only not in name:
            continue
        own, theirs = [], []
        for _ in range(options.rounds):
            time.sleep(0.02)
            print(name, file=ours.stdin, flush=True)
            own.append(float(ours.stdout.readline()))
            time.sleep(0.02)
            theirs.append(microseconds(call))
        a, b = statistics.median(own), statistics.median(theirs)
        print(f"| {name} | {a:.0f} | {b:.0f} | {a / b:.2f} |", flush=True)
    ours.stdin.close()
    ours.wait()


if __name__ == "__main__":
    main()
