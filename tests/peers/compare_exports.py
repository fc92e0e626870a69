# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads exports of quantscope-cli with the programs they are written for. Compares them with the layout `plain`, which has the analysed
values: every dequantized weight bit for bit, and the logits of the sample model.

    compare_exports.py CLI [MODEL]
"""
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from exports import LINEAR, apart, check, cli, export, folder_tensors, load, logits_of, quantized_names, same_bits, sample, versions


def compare_logits(name, folder, plain, decodes=False):
    try:
        model = load(folder)
    except Exception as error:  # an exception of the peer is a test result
        check(f"{name} loads in transformers", False, f"{type(error).__name__}: {error}")
        return
    theirs = logits_of(load(plain))
    if decodes:  # its products round in another order, so they are close; after dequantizing the model they are equal
        near = apart(logits_of(model), theirs)
        check(f"{name} logits of its own product", near < 0.02, f"are {near} apart")
        model = load(folder).dequantize()  # loaded again, because a product repacks the codes
    ours = logits_of(model)
    check(f"{name} logits", torch.equal(ours, theirs), f"differ by up to {(ours - theirs).abs().max().item()}")


def bitsandbytes(work, linear):
    """Rows of 544 are not whole blocks of 64. The CPU kernels of bitsandbytes 0.50.2 are wrong or fail there; its default decoder is
    correct.
    """
    import bitsandbytes.functional as F
    from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
    from bitsandbytes.backends.utils import _get_4bit_code

    specs = ("nf4:dialect=bnb", "nf4:dialect=bnb:block=32", "fp4:dialect=bnb:block=32", "nf4:dialect=bnb:block=32:scaletype=u8dq", "fp4:dialect=bnb:scaletype=u8dq")
    for index, spec in enumerate(specs):
        out, plain = work / f"bnb{index}", work / f"bnb{index}.plain"
        if not export(spec, "bnb", out) or not export(spec, "plain", plain, "--tensor", linear):
            continue
        fields, values = folder_tensors(out), folder_tensors(plain)
        for name in sorted(quantized_names(plain)):
            state = F.QuantState.from_dict({key[len(name) + 1:]: value for key, value in fields.items() if key.startswith(name + ".")}, torch.device("cpu"))
            scales = F.dequantize_blockwise(state.absmax, state.state2) + state.offset if state.nested else state.absmax
            code = _get_4bit_code(state.quant_type, torch.device("cpu"))
            back = _dequantize_4bit_compute(fields[name].reshape(-1), scales, code, state.blocksize, values[name].shape, state.dtype)
            check(f"bnb {spec} {name}", same_bits(back.reshape(values[name].shape), values[name]))
            if values[name].shape[1] % state.blocksize == 0:
                back = F.dequantize_4bit(fields[name], state)
                check(f"bnb {spec} {name} CPU kernel", same_bits(back.reshape(values[name].shape), values[name]))
        if "block=32" in spec:
            compare_logits(f"bnb {spec}", out, plain, decodes=True)


def compressed_tensors(work, linear):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationConfig

    specs = ("int4:dialect=ct:block=32:scaletype=bf16", "int4:dialect=ct:block=32:sym=no:scaletype=bf16",
             "int8:dialect=ct:scale=channel:scaletype=bf16", "int3:dialect=ct:block=32:scaletype=bf16", "fp8_e4m3:scaletype=bf16",
             "fp8_e4m3:scale=tensor:scaletype=bf16", "nvfp4", "mxfp4")
    for index, spec in enumerate(specs):
        out, plain = work / f"ct{index}", work / f"ct{index}.plain"
        if not export(spec, "compressed-tensors", out) or not export(spec, "plain", plain, "--tensor", linear):
            continue
        fields, values = folder_tensors(out), folder_tensors(plain)
        config = json.loads((out / "config.json").read_text())["quantization_config"]
        scheme = QuantizationConfig.model_validate(config).config_groups["group_0"]
        compressor = BaseCompressor.get_value_from_registry(config["format"])
        for name in sorted(quantized_names(plain)):
            module = name[: -len("weight")]
            state = {key[len(module):]: value for key, value in fields.items() if key.startswith(module)}
            back = compressor.decompress(state, scheme)["weight"].to(values[name].dtype)
            check(f"compressed-tensors {spec} {name}", same_bits(back, values[name]), f"{(back.float() - values[name].float()).abs().max()}")
        if "sym=no" not in spec:  # transformers 5.23 expects zero points that are not packed; no version writes these
            compare_logits(f"compressed-tensors {spec}", out, plain)
    out = work / "ctmixed"
    plain = work / "ctmixed.plain"
    mixed = ("int4:dialect=ct:block=32:scaletype=bf16", "--spec", "down_proj=int8:dialect=ct:scale=channel:scaletype=bf16")
    if export(mixed[0], "compressed-tensors", out, *mixed[1:]) and export(mixed[0], "plain", plain, *mixed[1:], "--tensor", linear):
        compare_logits("compressed-tensors mixed", out, plain)


def gptq(work, linear):
    for index, spec in enumerate(("int4:dialect=ct:block=32:scaletype=f16", "int4:block=32:scaletype=f16:sym=no", "int8:dialect=ct:block=32:scaletype=f16")):
        out, plain = work / f"gptq{index}", work / f"gptq{index}.plain"
        if not export(spec, "gptq", out) or not export(spec, "plain", plain, "--tensor", "_proj.weight$"):
            continue
        fields, values = folder_tensors(out), folder_tensors(plain)
        bits, symmetric = int(spec[3]), "sym=no" not in spec
        for name in sorted(quantized_names(plain)):
            module = name[: -len("weight")]
            q, z, s, g = (fields[module + field] for field in ("qweight", "qzeros", "scales", "g_idx"))
            shifts = torch.arange(0, 32, bits, dtype=torch.int32)
            codes = (q.unsqueeze(1) >> shifts.reshape(1, -1, 1)).bitwise_and((1 << bits) - 1).reshape(-1, q.shape[1])
            zeros = (z.unsqueeze(2) >> shifts.reshape(1, 1, -1)).bitwise_and((1 << bits) - 1).reshape(z.shape[0], -1) + symmetric
            back = ((codes - zeros[g.long()]).float() * s[g.long()].float()).T.to(values[name].dtype)
            check(f"gptq {spec} {name} by the rule of qlinear_cuda_old", same_bits(back.contiguous(), values[name]))


def gguf_files(work):
    """GGUF files by gguf's writer and other types by ours, read by gguf's reader."""
    import gguf

    source = work / "source.gguf"
    writer = gguf.GGUFWriter(source, "llama")
    writer.add_block_count(8)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "\u2603"])
    writer.add_file_type(0)
    for name, value in folder_tensors(sample).items():
        writer.add_tensor(name[:63], value.float().numpy())
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    for spec in ("q4_0", "q8_0", "q5_1", "iq4_nl", "mxfp4:dialect=ggml", "bf16"):
        out, values = work / f"{spec.split(':')[0]}.gguf", work / "values.safetensors"
        # Rows of 192 and 544 values are whole blocks of 32.
        done = subprocess.run([cli, "quantize", source, "--spec", spec, "--layout", "gguf", "-o", out, "--force"], capture_output=True, text=True)
        check(f"gguf {spec} is written", done.returncode == 0, done.stderr)
        subprocess.run([cli, "dequantize", out, "-o", values], check=True, capture_output=True)
        ours, reader, before = load_file(values), gguf.GGUFReader(out), gguf.GGUFReader(source)
        for key, field in before.fields.items():
            if not key.startswith("GGUF.") and key != "general.file_type":
                same = key in reader.fields and all((a == b).all() for a, b in zip(field.parts[3:], reader.fields[key].parts[3:]))
                check(f"gguf {spec} key {key}", same)
        for tensor in reader.tensors:
            theirs = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(ours[tensor.name].shape)
            check(f"gguf {spec} {tensor.name}", bool((theirs == ours[tensor.name].float().numpy()).all()))


def numpy_archive(work, linear):
    out, plain = work / "out.npz", work / "npz.plain"
    if not export("int8", "npz", out) or not export("int8", "plain", plain):
        return
    arrays, values = np.load(out), folder_tensors(plain)
    check("npz names", set(arrays.files) == set(values))
    for name in arrays.files:
        check(f"npz {name}", np.array_equal(arrays[name].astype(np.float32), values[name].float().numpy())
              or bool((torch.from_numpy(arrays[name]).to(values[name].dtype) == values[name]).all()))


def llm_int8(work, linear):
    import bitsandbytes.functional as F

    out = work / "int8"
    if not export("int8:dialect=bnb", "llm-int8", out):
        return
    fields = folder_tensors(out)
    plain = work / "int8.plain"
    export("int8:dialect=bnb", "plain", plain, "--tensor", linear)
    values = folder_tensors(plain)
    for name in sorted(quantized_names(plain)):
        scb = fields[name[: -len("weight")] + "SCB"]
        back = F.int8_vectorwise_dequant(fields[name], scb)
        check(f"llm-int8 {name}", same_bits(back.to(values[name].dtype), values[name]), f"{(back - values[name].float()).abs().max()}")
    try:  # activations are quantized too, so the logits are close, not equal
        model = load(out)
        ours, theirs = logits_of(model), logits_of(load(plain))
        near = apart(ours, theirs)
        check("llm-int8 logits", near < 0.05, f"{near}")
        print(f"llm-int8 logits are {near:.4f} apart (relative)")
    except Exception as error:
        check("llm-int8 loads in transformers", False, f"{type(error).__name__}: {error}")


def main():
    versions("torch", "bitsandbytes", "transformers", "compressed-tensors", "safetensors", "gguf", "numpy")
    with tempfile.TemporaryDirectory() as folder:
        for peer in (bitsandbytes, llm_int8, compressed_tensors, gptq, numpy_archive):
            peer(Path(folder), LINEAR)
        gguf_files(Path(folder))
    check.finish()


main()
