# SPDX-License-Identifier: GPL-3.0-or-later
"""make_gptq.py [FOLDER]: writes gptq_v1, gptq_v2 and awq_gemm. They are packed and decoded here with NumPy by the published formulas
(qlinear_cuda.py of auto-gptq, packing_utils.py of autoawq). packaging/test --peers compares with those programs.
"""
import numpy as np
import torch
from common import checkpoint

random = np.random.default_rng(11)


def stream(codes, bits, axis):
    """Packs codes along an axis into 32-bit words, from the lowest bit on."""
    codes = np.moveaxis(codes, axis, -1)
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] * bits % 32 // bits)])
    lanes = (codes[..., None] >> np.arange(bits)) & 1
    lanes = lanes.reshape(*codes.shape[:-1], -1, 32).astype(np.uint64)
    words = (lanes << np.arange(32, dtype=np.uint64)).sum(-1).astype(np.uint32).view(np.int32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(words, -1, axis)))


def gptq(folder, v2):
    tensors, values = {}, {}
    for layer, (bits, group, act) in enumerate([(2, 32, False), (3, 32, False), (4, 32, True), (8, 32, False)]):
        path, inputs, outputs = f"model.layers.{layer}.self_attn.q_proj", 64, 32
        groups = inputs // group
        codes = random.integers(0, 2**bits, (inputs, outputs))
        zeros = random.integers(1 - v2, 2**bits, (groups, outputs))
        scales = random.uniform(0.001, 0.02, (groups, outputs)).astype(np.float16)
        order = np.arange(inputs) // group
        if act:
            order = random.permutation(order)
        tensors |= {f"{path}.qweight": stream(codes, bits, 0), f"{path}.qzeros": stream(zeros - (not v2), bits, 1),
                    f"{path}.scales": torch.from_numpy(scales), f"{path}.g_idx": torch.from_numpy(order.astype(np.int32))}
        plain = scales[order].astype(np.float32) * (codes - zeros[order]).astype(np.float32)
        values[f"{path}.weight"] = torch.from_numpy(plain.astype(np.float16).T.copy())
    config = {"quant_method": "gptq", "desc_act": True, "sym": False, "group_size": 32}
    checkpoint(folder, tensors, values, config | ({"checkpoint_format": "gptq_v2"} if v2 else {}))


gptq("gptq_v1", False)
gptq("gptq_v2", True)

tensors, values = {}, {}
ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
for layer, dtype in enumerate((np.float16, np.float16)):
    path, inputs, outputs, group = f"model.layers.{layer}.self_attn.q_proj", 64, 40 - 8 * layer, 32
    codes = random.integers(0, 16, (inputs, outputs))
    zeros = random.integers(0, 16, (inputs // group, outputs))
    scales = random.uniform(0.001, 0.02, zeros.shape).astype(dtype)

    def pack(x):
        lanes = x.reshape(x.shape[0], -1, 8)[:, :, ORDER].astype(np.uint64)
        return torch.from_numpy((lanes << (4 * np.arange(8, dtype=np.uint64))).sum(-1).astype(np.uint32).view(np.int32))

    tensors |= {f"{path}.qweight": pack(codes), f"{path}.qzeros": pack(zeros), f"{path}.scales": torch.from_numpy(scales)}
    wide = scales.astype(np.float32).repeat(group, 0) * (codes - zeros.repeat(group, 0)).astype(np.float32)
    values[f"{path}.weight"] = torch.from_numpy(wide.astype(dtype).T.copy())
checkpoint("awq_gemm", tensors, values, {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True,
                                         "version": "gemm"})


def mixed(folder, layers, config):
    """`layers`: path, bits and group size of each; no g_idx."""
    tensors, values = {}, {}
    for path, bits, group in layers:
        inputs, outputs = 128, 32
        codes = random.integers(0, 2**bits, (inputs, outputs))
        zeros = random.integers(1, 2**bits, (inputs // group, outputs))
        scales = random.uniform(0.001, 0.02, zeros.shape).astype(np.float16)
        tensors |= {f"{path}.qweight": stream(codes, bits, 0), f"{path}.qzeros": stream(zeros - 1, bits, 1),
                    f"{path}.scales": torch.from_numpy(scales)}
        order = np.arange(inputs) // group
        plain = scales[order].astype(np.float32) * (codes - zeros[order]).astype(np.float32)
        values[f"{path}.weight"] = torch.from_numpy(plain.astype(np.float16).T.copy())
    checkpoint(folder, tensors, values, config)


# Settings of single modules, as GPTQModel and AutoRound write them.
mixed("gptq_dynamic", [("model.layers.0.self_attn.q_proj", 4, 32), ("model.layers.0.mlp.down_proj", 8, 64)],
      {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": False, "desc_act": False, "checkpoint_format": "gptq",
       "dynamic": {"-:.*\\.gate$": {}, "+:.*down_proj.*": {"bits": 8, "group_size": 64}}})
mixed("auto_round", [("model.layers.0.self_attn.q_proj", 4, 32), ("model.layers.0.mlp.down_proj", 8, 64)],
      {"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq", "bits": 4, "group_size": 32, "sym": False,
       "data_type": "int", "extra_config": {"model.layers.0.mlp.down_proj": {"bits": 8, "group_size": 64}}})


def odd():
    """Sizes that are no multiples of 32, and words that are filled in part, as GPTQModel writes them."""
    tensors, values = {}, {}
    own = np.random.default_rng(12)
    for layer, (bits, inputs, outputs) in enumerate([(4, 64, 48), (4, 128, 40), (8, 64, 36), (4, 44, 37), (2, 56, 9)]):
        path, group = f"model.layers.{layer}.self_attn.q_proj", 32
        order = np.arange(inputs) // group
        codes = own.integers(0, 2**bits, (inputs, outputs))
        zeros = own.integers(1, 2**bits, (order[-1] + 1, outputs))
        scales = own.uniform(0.001, 0.02, zeros.shape).astype(np.float16)
        tensors |= {f"{path}.qweight": stream(codes, bits, 0), f"{path}.qzeros": stream(zeros - 1, bits, 1),
                    f"{path}.scales": torch.from_numpy(scales), f"{path}.g_idx": torch.from_numpy(order.astype(np.int32))}
        plain = scales[order].astype(np.float32) * (codes - zeros[order]).astype(np.float32)
        values[f"{path}.weight"] = torch.from_numpy(plain.astype(np.float16).T.copy())
    checkpoint("gptq_odd", tensors, values, {"quant_method": "gptq", "desc_act": False, "sym": False, "group_size": 32})


odd()
