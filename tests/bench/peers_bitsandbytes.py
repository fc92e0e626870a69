#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times quantize_4bit of bitsandbytes on the CPU and nf4:block=64 of bench_kernels in turn: one thread each, 4096 x 4096 f32.

Usage: peers_bitsandbytes.py path/to/bench_kernels [rounds]; needs torch and bitsandbytes.
"""
import statistics
import subprocess
import sys
import time

import bitsandbytes.functional as bnb
import torch

torch.set_num_threads(1)
x = torch.randn(4096, 4096) * 0.02
bnb.quantize_4bit(x[:64].contiguous(), blocksize=64, quant_type="nf4")
theirs, ours = [], []
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 5):
    start = time.perf_counter()
    bnb.quantize_4bit(x, blocksize=64, quant_type="nf4")
    theirs.append((time.perf_counter() - start) * 1e3)
    command = [sys.argv[1], "--rounds", "3", "--only", "nf4:block=64, packed"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 2 and cells[1] == "nf4:block=64, packed":
            ours.append(float(cells[2]))
ratio = statistics.median(a / b for a, b in zip(theirs, ours))
print(f"bitsandbytes {statistics.median(theirs):.0f} ms, ours {statistics.median(ours):.2f} ms, {ratio:.0f} times")
