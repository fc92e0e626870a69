# SPDX-License-Identifier: GPL-3.0-or-later
"""make_mlx.py [FOLDER]: writes mlx_modes with MLX on the CPU, in every mode and bit width, with the values that it dequantizes; and mlx_global: nvfp4
with global scales, for a matrix and for a stack of experts, beside a router whose entry says no mode, which is affine then."""
import mlx.core as mx
import numpy as np
import torch
from common import checkpoint, weight

mx.set_default_device(mx.cpu)


def to_torch(array):
    wide = {mx.bfloat16: (mx.uint16, torch.bfloat16), mx.float16: (mx.uint16, torch.float16)}.get(array.dtype)
    if wide is None:
        return torch.from_numpy(np.array(array))
    return torch.from_numpy(np.array(array.view(wide[0])).view(np.int16)).view(wide[1])


tensors, values, config = {}, {}, {"group_size": 64, "bits": 4, "mode": "affine"}
cases = [("affine", b, g, t) for b, g, t in zip((2, 3, 4, 5, 6, 8), (32, 64, 64, 128, 64, 32),
                                               (mx.bfloat16, mx.float16, mx.bfloat16, mx.float32, mx.bfloat16, mx.float16))]
cases += [("mxfp4", 4, 32, mx.bfloat16), ("mxfp8", 8, 32, mx.bfloat16), ("nvfp4", 4, 16, mx.bfloat16)]
for i, (mode, bits, group, dtype) in enumerate(cases):
    name, plain = weight(i % 8, ("self_attn.q_proj", "mlp.up_proj")[i // 8], 8, 128)
    module = name.removesuffix(".weight")
    stored = mx.quantize(mx.array(plain.float().numpy()).astype(dtype), group_size=group, bits=bits, mode=mode)
    for field, array in zip(("weight", "scales", "biases"), stored):
        tensors[f"{module}.{field}"] = to_torch(array)
    values[name] = to_torch(mx.dequantize(*stored, group_size=group, bits=bits, mode=mode))
    if (bits, group, mode) != (4, 64, "affine"):
        config[module] = {"group_size": group, "bits": bits, "mode": mode}
checkpoint("mlx_modes", tensors, values, config, {"quantization": config})

tensors, values = {}, {}
name, plain = weight(0, "self_attn.q_proj", 8, 128)
module = name.removesuffix(".weight")
options = {"group_size": 16, "bits": 4, "mode": "nvfp4"}
config = {**options}
wide = mx.array(plain.float().numpy()).astype(mx.bfloat16)
scale = mx.max(mx.abs(wide)).astype(mx.float32)
stored = mx.quantize(wide, **options, global_scale=scale)
tensors |= {f"{module}.weight": to_torch(stored[0]), f"{module}.scales": to_torch(stored[1]), f"{module}.global_scale": to_torch(scale)}
values[name] = to_torch(mx.dequantize(*stored, **options, global_scale=scale))
config[module] = {**options, "global_scale": True}
module = "model.layers.0.mlp.switch_mlp.up_proj"
experts = [mx.array(weight(i, "mlp.up_proj", 8, 128)[1].float().numpy()).astype(mx.bfloat16) * (i + 1) for i in range(3)]
scales = [mx.max(mx.abs(one)).astype(mx.float32) for one in experts]
each = [mx.quantize(one, **options, global_scale=scale) for one, scale in zip(experts, scales)]
tensors |= {f"{module}.weight": to_torch(mx.stack([one[0] for one in each])), f"{module}.scales": to_torch(mx.stack([one[1] for one in each])),
            f"{module}.global_scale": to_torch(mx.stack(scales))}
values[f"{module}.weight"] = to_torch(mx.stack([mx.dequantize(*one, **options, global_scale=scale) for one, scale in zip(each, scales)]))
config[module] = {**options, "global_scale": True}
name, plain = weight(1, "self_attn.k_proj", 8, 128)
module = name.removesuffix(".weight")
stored = mx.quantize(mx.array(plain.float().numpy()).astype(mx.bfloat16), group_size=64, bits=8)
for field, array in zip(("weight", "scales", "biases"), stored):
    tensors[f"{module}.{field}"] = to_torch(array)
values[name] = to_torch(mx.dequantize(*stored, group_size=64, bits=8))
config[module] = {"group_size": 64, "bits": 8}
checkpoint("mlx_global", tensors, values, config, {"quantization": config})
