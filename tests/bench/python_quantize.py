#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times quantize() of Python, the same function in C++ and quantize_4bit of bitsandbytes on the CPU, in turn: nf4:block=64 of a matrix of
f32 in memory, with as many threads as QS_THREADS says (default 1).

Usage: python_quantize.py path/to/bench_quantize [rounds] [rows] [columns], with PYTHONPATH at the module and a Python that has NumPy.
bitsandbytes is timed where it and torch are installed. Prints medians, and the ratios of neighbouring samples: median (least to most).
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

threads = int(os.environ.setdefault("QS_THREADS", "1"))
import numpy as np

import quantscope

program = sys.argv[1]
rounds, rows, columns = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 15), (3, 4096), (4, 4096)))
SPEC = "nf4:block=64"
try:
    import bitsandbytes.functional as bnb
    import torch

    torch.set_num_threads(threads)
except ImportError:
    bnb = None

x = (np.random.default_rng(1).standard_normal((rows, columns)) * 0.02).astype(np.float32)


def timed(work):
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def said(name, ratios):
    print(f"{name}: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


with tempfile.NamedTemporaryFile(suffix=".f32") as file:
    x.tofile(file.name)
    process = subprocess.Popen([program, file.name, str(rows), str(columns), SPEC], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def native():
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    native(), quantscope.quantize(x, SPEC)  # warm
    ours, theirs, others = [], [], []
    for _ in range(rounds):
        theirs.append(native())
        ours.append(timed(lambda: quantscope.quantize(x, SPEC)))
        if bnb:
            t = torch.from_numpy(x)
            others.append(timed(lambda: bnb.quantize_4bit(t, blocksize=64, quant_type="nf4")))
    process.stdin.close()
    process.wait()

print(f"{SPEC} of {rows} x {columns} f32, {threads} threads, {rounds} rounds, {quantscope._core.isa()}")
print(f"C++ {statistics.median(theirs):.2f} ms, Python {statistics.median(ours):.2f} ms" + (f", bitsandbytes {statistics.median(others):.1f} ms" if others else ""))
said("speed of Python / C++", [a / b for a, b in zip(theirs, ours)])
if others:
    said("time of bitsandbytes / Python", [a / b for a, b in zip(others, ours)])
