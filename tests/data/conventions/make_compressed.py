# SPDX-License-Identifier: GPL-3.0-or-later
"""make_compressed.py [FOLDER]: writes ct_groups, ct_mxfp6 and ct_tensor with compressed-tensors, each module with its own quantization
group, and the values that it decompresses.
"""
import torch
from common import checkpoint, weight
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32

tensors, values, groups = {}, {}, {}


def range_of(args):
    if args.type == "float":
        largest = {4: 6.0, 6: 7.5, 8: 448.0}[args.num_bits]
        return -largest, largest
    return -(2.0 ** (args.num_bits - 1)), 2.0 ** (args.num_bits - 1) - 1


def scales_of(x, args, dtype):
    """The absmax or the range of the values that share a scale."""
    low, high = range_of(args)
    strategy = str(args.strategy.value if hasattr(args.strategy, "value") else args.strategy)
    if strategy in ("group", "tensor_group"):
        part = x.reshape(x.shape[0], -1, args.group_size)
        dims = (2,)
    elif strategy == "block":
        a, b = args.block_structure
        part = x.reshape(x.shape[0] // a, a, x.shape[1] // b, b)
        dims = (1, 3)
    else:
        part, dims = x, ((1,) if strategy == "channel" else (0, 1))
    if args.symmetric:
        scale = part.abs().amax(dims) / ((high - low) / 2)
        zero = None
    else:
        least, most = part.amin(dims).clamp(max=0), part.amax(dims).clamp(min=0)
        scale = (most - least) / (high - low)
        zero = torch.clamp(torch.round(low - least / scale), low, high).to(torch.int8)
    if strategy == "channel":
        scale, zero = scale[:, None], None if zero is None else zero[:, None]
    if strategy == "tensor":
        scale, zero = scale.reshape(1), None if zero is None else zero.reshape(1)
    return scale.to(dtype), zero


def module(number, format, dtype=torch.bfloat16, rows=16, columns=64, target="re", **args):
    name, plain = weight(number % 8, ("self_attn.q_proj", "self_attn.o_proj", "mlp.up_proj")[number // 8], rows, columns)
    path = name.removesuffix(".weight")
    arguments = QuantizationArgs(**args)
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments, format=format)
    x = plain.float()
    scale, zero = scales_of(x, arguments, dtype)
    state = {"weight": x.to(dtype), "weight_scale": scale}
    if zero is not None:
        state["weight_zero_point"] = zero
    if format == "nvfp4-pack-quantized":
        state["weight_global_scale"] = torch.tensor([448 * 6 / float(x.abs().max())])
        state["weight_scale"] = (scale.float() * state["weight_global_scale"]).to(torch.float8_e4m3fn).to(dtype)
    if format.startswith("mx"):
        state["weight_scale"] = torch.exp2(torch.ceil(torch.log2(scale.float()))).to(dtype)
    compressor = BaseCompressor.get_value_from_registry(format)
    stored = compressor.compress(state, scheme)
    values[name] = compressor.decompress(dict(stored), scheme)["weight"]
    for key, tensor in stored.items():
        tensors[f"{path}.{key}"] = tensor
    groups[f"group_{len(groups)}"] = {
        "targets": [f"re:.*layers\\.{number % 8}\\.{path.split('.', 3)[3].replace('.', chr(92) + '.')}$" if target == "re"
                    else target if target != "name" else path],
        "weights": arguments.model_dump(mode="json", exclude_none=True), "input_activations": None,
        "output_activations": None, "format": format}


module(0, "int-quantized", num_bits=8, type="int", symmetric=True, strategy="channel", target="Linear")
module(1, "int-quantized", torch.float32, num_bits=8, type="int", symmetric=False, strategy="tensor")
module(2, "float-quantized", num_bits=8, type="float", symmetric=True, strategy="channel", target="name")
module(3, "float-quantized", torch.float16, num_bits=8, type="float", symmetric=True, strategy="tensor")
module(4, "float-quantized", num_bits=8, type="float", symmetric=True, strategy="block", block_structure=[8, 32])
module(5, "nvfp4-pack-quantized", num_bits=4, type="float", symmetric=True, strategy="tensor_group", group_size=16)
module(6, "mxfp4-pack-quantized", num_bits=4, type="float", symmetric=True, strategy="group", group_size=32)
module(7, "mxfp8-quantized", num_bits=8, type="float", symmetric=True, strategy="group", group_size=32)
for bits in range(1, 9):
    module(7 + bits, "pack-quantized", (torch.bfloat16, torch.float16, torch.float32)[bits % 3], columns=96,
           num_bits=bits, type="int", symmetric=bits % 2 == 1, strategy="channel" if bits == 6 else "group",
           **({} if bits == 6 else {"group_size": 32}))
module(16, "naive-quantized", num_bits=8, type="int", symmetric=True, strategy="group", group_size=16)

# Activation ordering changes the order of columns, which decompress does not know. So columns are sorted by group for its dequantize, and
# back.
module(17, "pack-quantized", num_bits=4, type="int", symmetric=True, strategy="group", group_size=32)
name = "model.layers.1.mlp.up_proj.weight"
path = name.removesuffix(".weight")
order = torch.randperm(64, generator=torch.Generator().manual_seed(5)).to(torch.int32) % 2
tensors[f"{path}.weight_g_idx"] = order
perm = torch.argsort(order, stable=True)
codes = unpack_from_int32(tensors[f"{path}.weight_packed"], 4, torch.Size([16, 64]))
args = QuantizationArgs(num_bits=4, type="int", symmetric=True, strategy="group", group_size=32)
plain = dequantize(codes[:, perm], tensors[f"{path}.weight_scale"], None, args)
values[name] = plain[:, torch.argsort(perm)]

# 8-bit floats with five exponent bits have no name among its types, but files may contain them.
name, plain = weight(2, "mlp.up_proj", 8, 64)
path = name.removesuffix(".weight")
scale = (plain.float().abs().amax(1, keepdim=True) / 57344).to(torch.float32)
tensors[name] = (plain.float() / scale).to(torch.float8_e5m2)
tensors[f"{path}.weight_scale"] = scale
args = QuantizationArgs(num_bits=8, type="float", symmetric=True, strategy="channel")
values[name] = dequantize(tensors[name], scale, None, args)

checkpoint("ct_groups", tensors, values, {
    "quant_method": "compressed-tensors", "format": "mixed-precision", "quantization_status": "compressed",
    "global_compression_ratio": None, "ignore": ["lm_head"], "kv_cache_scheme": None, "config_groups": groups})

# Floats of six bits, and the zero point of a whole tensor, which is not packed.
tensors, values, groups = {}, {}, {}
module(0, "mxfp6-pack-quantized", rows=8, columns=96, num_bits=6, type="float", symmetric=True, strategy="group", group_size=32)
module(1, "pack-quantized", rows=8, num_bits=4, type="int", symmetric=False, strategy="tensor")
checkpoint("ct_mxfp6", tensors, values, {
    "quant_method": "compressed-tensors", "format": "mixed-precision", "quantization_status": "compressed",
    "global_compression_ratio": None, "ignore": ["lm_head"], "kv_cache_scheme": None, "config_groups": groups})
# One scale for the whole tensor; its zero point is not packed.
tensors, values, groups = {}, {}, {}
for number, (bits, symmetric) in enumerate(((4, False), (3, False), (8, False), (4, True))):
    module(number, "pack-quantized", (torch.bfloat16, torch.float32)[number % 2], rows=8, columns=48, target="name", num_bits=bits, type="int",
           symmetric=symmetric, strategy="tensor")
checkpoint("ct_tensor", tensors, values, {
    "quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed", "config_groups": groups})
