# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes vectors.safetensors: the results of auto-gptq, autoawq and hqq for a small layer.

    python3 tests/data/solve/make_vectors.py PACKAGES [FILE]   # PACKAGES: see tests/peers/solver_packages.py

`w` [16, 128] and `x` [96, 128] are F32. `CASE/SPEC/SETTINGS` are the decoded weights as F64. For AWQ, `.columns` are the column scales. For
HQQ there are zero points and codes of every group of 64 of `w`, each solved alone, in units where the lowest code is 0. `calib=hqq` alone
is the published iteration with annealing, computed from its formulas in f64.
"""
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "peers"))
from solver_packages import AWQ, GPTQ, Packages, layer, save

packages = Packages(sys.argv[1])
target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("vectors.safetensors")
w, x = layer(7, 16, 128, 96)
out = {"w": w, "x": x}
for spec, settings, how in GPTQ:
    out[f"gptq/{spec}/{settings}"] = packages.gptq(w, x, **how)
without = x.copy()
without[:, [3, 70]] = 0
out["gptq-dead/int4:sym=no:block=64/gptq"] = packages.gptq(w, without, bits=4, sym=False, group_size=64)
for spec, settings, how in AWQ:
    name = f"awq/{spec}/{settings}"
    out[name], out[name + ".columns"] = packages.awq(w, x, **how)
for bits in (4, 2):
    solved = [packages.hqq(group, bits) for group in w.reshape(-1, 64)]
    name = f"hqq/int{bits}:sym=no:calib=hqq,0.7,10,1:block=64"
    out[name + ".zeros"] = np.array([zero for zero, _ in solved], np.float32)
    out[name + ".codes"] = np.stack([codes for _, codes in solved])


def shrink(e, beta, p):
    size = np.abs(e)
    with np.errstate(divide="ignore"):
        return np.sign(e) * np.maximum(size - size ** (p - 1) / beta, 0)


for bits in (4, 3):
    zeros = []
    for group in w.astype(np.float64).reshape(-1, 64):
        top = 2**bits - 1
        s = (group.max() - group.min()) / top
        z, beta, least = -group.min() / s, 10.0, math.inf
        for _ in range(20):
            q = np.clip(np.round(group / s + z), 0, top)
            e = group - s * (q - z)
            z = np.mean(q - (group - shrink(e, beta, 0.7)) / s)
            beta *= 1.01
            if not np.abs(e).mean() < least:
                break
            least = np.abs(e).mean()
        zeros.append(z)
    out[f"hqq/int{bits}:sym=no:calib=hqq:block=64.zeros"] = np.array(zeros, np.float32)
save(out, target)
