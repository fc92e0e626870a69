# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how fast exports are written and proved: bench_export.py CLI [GIB] [FOLDER].

The input is a generated F32 checkpoint of GIB (default 2) in FOLDER. By default this is a temporary folder, in memory if /dev/shm exists.
Each layout is exported ROUNDS times, on one thread and on all threads, into a folder with a config.json, which some readers need. The table
has medians:

- input bytes per second of CPU time (all cores, with kernel time) for reading, quantizing, writing and reading back;
- the same with the proof and SHA-256;
- input bytes per second of elapsed time;
- the rate of a plain read of the input in the same minute.
"""
import json
import os
import re
import statistics
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 3
CASES = [("nf4:dialect=bnb", "bnb"), ("nf4:dialect=bnb:scaletype=u8dq", "bnb"), ("nf4:block=64", "eformer"), ("nf4:block=64", "native"),
         ("int8:dialect=bnb", "llm-int8"), ("int4:dialect=ct:block=128", "compressed-tensors"), ("int4:dialect=ct:block=128:scaletype=f16", "gptq"),
         ("int4:sym=no:block=64:scaletype=bf16", "mlx")]


def checkpoint(path, gib):
    rows, columns, count = 4096, 4096, int(gib * 16)
    header, at = {}, 0
    for i in range(count):
        header[f"layers.{i}.up_proj.weight"] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [at, at + 4 * rows * columns]}
        at += 4 * rows * columns
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    values = np.random.default_rng(1).standard_normal((rows, columns), dtype=np.float32)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for i in range(count):
            file.write((values * np.float32(0.02 + 0.001 * i)).tobytes())
    return at


def read(path):
    begin = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - begin


buffer = bytearray(8 << 20)
cli, gib = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2
base = sys.argv[3] if len(sys.argv) > 3 else "/dev/shm" if Path("/dev/shm").is_dir() else None
with tempfile.TemporaryDirectory(dir=base) as folder:
    source, out = Path(folder) / "source" / "model.safetensors", Path(folder) / "out"
    source.parent.mkdir()
    (source.parent / "config.json").write_text('{"model_type": "llama"}')
    size = checkpoint(source, gib)
    print(f"{size / 2**30:.2f} GiB of F32 in {base}; load {os.getloadavg()[0]:.1f}")
    print("| spec | layout | threads | GB/s a core, writing | GB/s a core, with proof and SHA-256 | GB/s passed | plain read GB/s |\n"
          "|---|---|---|---|---|---|---|")
    for spec, layout in CASES:
        for threads in (1, os.cpu_count()):
            times, reads, writing, proving = [], [], [], []
            for _ in range(ROUNDS):
                shutil.rmtree(out, ignore_errors=True)
                reads.append(read(source))
                begin = time.perf_counter()
                said = subprocess.run([cli, "quantize", source.parent, "--spec", spec, "--layout", layout, "-o", out], check=True, capture_output=True,
                                      text=True, env={**os.environ, "QS_THREADS": str(threads)}).stdout
                times.append(time.perf_counter() - begin)
                assert "every value is what was analysed" in said, said
                cpu = re.search(r"CPU time: ([0-9.]+) s to .*, ([0-9.]+) s to prove", said)
                writing.append(float(cpu[1])), proving.append(float(cpu[2]))
            write, prove = statistics.median(writing), statistics.median(proving)
            print(f"| `{spec}` | {layout} | {threads} | {size / write / 1e9:.2f} | {size / (write + prove) / 1e9:.2f} | "
                  f"{size / statistics.median(times) / 1e9:.2f} | {size / statistics.median(reads) / 1e9:.1f} |", flush=True)
