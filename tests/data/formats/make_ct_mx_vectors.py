#!/usr/bin/env python3
"""Writes ct_mx_vectors.safetensors: scales and values of mxfp4 and mxfp8 by compressed-tensors.

    python3 tests/data/formats/make_ct_mx_vectors.py [FILE]   # compressed-tensors 0.20.1, torch 2.15, safetensors 0.8.0

The input is made here and, by the same formula, in ct_mx_test: 8,192 blocks of 32 values. FORMAT.exponents are the
bytes of all scales (the exponent + 127), FORMAT.values what the first 64 blocks decode to.
"""
import sys
from pathlib import Path

import numpy as np
import torch
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import fake_quantize
from compressed_tensors.quantization.utils.helpers import calculate_qparams
from safetensors.numpy import save_file

BLOCKS = 8192


def mixed(n):
    """splitmix64 of 0, 1, ..."""
    with np.errstate(over="ignore"):
        z = (np.arange(n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


bits = mixed(BLOCKS * 32)
unit = ((bits >> np.uint64(40)).astype(np.float32) * np.float32(2**-24) - np.float32(0.5)).reshape(BLOCKS, 32)
exponent = (bits.reshape(BLOCKS, 32)[:, :1] & np.uint64(15)).astype(np.int32) - 8
x = torch.from_numpy(np.ldexp(unit, exponent).astype(np.float32))
out = {}
for name, width in (("mxfp4", 4), ("mxfp8", 8)):
    args = QuantizationArgs(num_bits=width, type="float", strategy="group", group_size=32, symmetric=True,
                            scale_dtype=torch.uint8, zp_dtype=torch.uint8)
    scale, zero = calculate_qparams(x.amin(1, keepdim=True), x.amax(1, keepdim=True), args)
    scale = scale.to(torch.float32)
    if scale.max() > 64:  # exponents, not yet powers of two
        scale = torch.exp2(scale - 127)
    out[name + ".exponents"] = (torch.log2(scale).to(torch.int32) + 127).to(torch.uint8).numpy().reshape(-1)
    out[name + ".values"] = fake_quantize(x[:64], scale[:64], None, args).to(torch.float32).numpy().reshape(-1)
save_file(out, sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "ct_mx_vectors.safetensors")
print({k: (v.dtype, v.shape, v[:8]) for k, v in out.items()})
