# SPDX-License-Identifier: GPL-3.0-or-later
"""Solves the same layers with quantscope-cli and with auto-gptq, autoawq and hqq, and compares decoded weights code for code.

    python3 tests/peers/compare_solvers.py CLI PACKAGES
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from solver_packages import AWQ, GPTQ, Packages, layer, load, save

cli, packages = sys.argv[1], Packages(sys.argv[2])
values = differing = failed = 0


def quantscope(*arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quantscope-cli {' '.join(map(str, arguments))}: {done.stderr}")


def check(name, ours, theirs, step):
    """QuantScope computes in f32: a value on the boundary of two codes may get the other code, and then the rest of its row may differ."""
    global values, differing, failed
    off = int(np.count_nonzero(np.abs(ours - theirs) > 1e-3 * step))
    values, differing = values + ours.size, differing + off
    if off > ours.size / 5000 + 1:
        failed += 1
        print(f"FAIL {name}: {off} of {ours.size} weights")


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    for seed, rows, k, m in ((1, 32, 256, 200), (2, 8, 384, 512), (3, 64, 128, 256)):
        w, x = layer(seed, rows, k, m)
        save({"w": w}, folder / "w.safetensors")
        save({"w": x}, folder / "x.safetensors")
        for spec, settings, how in GPTQ + AWQ:
            if "gptq" in settings and rows * k and k % int(how.get("blocksize", 1)):
                continue  # groups would cross the blocks of GPTQ
            out = folder / "out.safetensors"
            quantscope("quantize", folder / "w.safetensors", "--spec", spec, "--solver", settings, "--activations",
                       folder / "x.safetensors", "--layout", "plain", "-o", out)
            ours = load(out)["w"]
            theirs = packages.gptq(w, x, **how) if settings.startswith("gptq") else packages.awq(w, x, **how)[0]
            check(f"{spec} {settings} {w.shape}", ours, theirs, np.abs(w).max() / 2 ** how["bits"])
        for bits in (2, 3, 4, 8):
            out = folder / "out.safetensors"
            quantscope("quantize", folder / "w.safetensors", "--spec",
                       f"int{bits}:sym=no:calib=hqq,0.7,10,1:block=64", "--layout", "native", "-o", out)
            zeros = load(out)["w.zero"].reshape(-1) + 2 ** (bits - 1)
            theirs = np.array([packages.hqq(group, bits)[0] for group in w.reshape(-1, 64)])
            check(f"int{bits} hqq {w.shape}", zeros, theirs, 1)
print(f"solvers: {values} values, {differing} differ, {failed} comparisons failed")
sys.exit(failed > 0)
