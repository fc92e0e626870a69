# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the files of this folder: GGUF by gguf's writer, with blocks by ggml's encoders.

    python3 tests/data/gguf/make_files.py LIBGGML_BASE.so    # gguf 0.19.0, ggml 0.21.0 built without -march

README.md describes their contents.
"""
import ctypes
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGUFValueType
from safetensors.numpy import save_file

here = Path(__file__).parent
root = here.parent.parent.parent
ggml = ctypes.CDLL(sys.argv[1])
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t

# number, id, elements and bytes of a block
packed = [
    (2, "Q4_0", 32, 18), (3, "Q4_1", 32, 20), (6, "Q5_0", 32, 22), (7, "Q5_1", 32, 24), (8, "Q8_0", 32, 34), (9, "Q8_1", 32, 36),
    (10, "Q2_K", 256, 84), (11, "Q3_K", 256, 110), (12, "Q4_K", 256, 144), (13, "Q5_K", 256, 176), (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292), (20, "IQ4_NL", 32, 18), (23, "IQ4_XS", 256, 136), (34, "TQ1_0", 256, 54), (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17), (40, "NVFP4", 64, 36), (41, "Q1_0", 128, 18), (42, "Q2_0", 64, 18),
]
listed = [(16, "IQ2_XXS", 66), (17, "IQ2_XS", 74), (18, "IQ3_XXS", 98), (19, "IQ1_S", 50), (21, "IQ3_S", 110), (22, "IQ2_S", 82), (29, "IQ1_M", 56)]
plain = [(0, np.float32), (1, np.float16), (24, np.int8), (25, np.int16), (26, np.int32), (27, np.int64), (28, np.float64)]
symbols = {"Q2_K": "q2_K", "Q3_K": "q3_K", "Q4_K": "q4_K", "Q5_K": "q5_K", "Q6_K": "q6_K", "Q8_K": "q8_K"}


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def weights():
    """1,024 weights of the sample model as f32. They come from BF16, so the low bits are zero."""
    raw = (root / "resources/samples/tiny-llama/model.safetensors").read_bytes()
    import json

    length = int.from_bytes(raw[:8], "little")
    begin, _ = json.loads(raw[8 : 8 + length])["model.layers.3.mlp.gate_proj.weight"]["data_offsets"]
    half = np.frombuffer(raw, "<u2", 1024, 8 + length + begin)
    return (half.astype(np.uint32) << 16).view(np.float32).reshape(2, 512), half.reshape(2, 512)


def encoded(number, name, x, nbytes):
    out = np.zeros(nbytes, np.uint8)
    if name in ("Q8_1", "Q8_K"):  # types of activations: there is no encoder for files
        getattr(ggml, f"quantize_row_{symbols.get(name, name.lower())}_ref")(pointer(x), pointer(out), ctypes.c_int64(x.size))
        return out
    importance = np.ones(x.shape[-1], np.float32)
    made = ggml.ggml_quantize_chunk(number, pointer(x), pointer(out), ctypes.c_int64(0), ctypes.c_int64(x.shape[0]), ctypes.c_int64(x.shape[1]), pointer(importance))
    assert made == nbytes, (name, made, nbytes)
    return out


def decoded(name, blocks, n):
    if name == "Q8_1":
        b = blocks.reshape(-1, 36)
        return (b[:, 4:].view(np.int8).astype(np.float32) * b[:, :2].copy().view(np.float16).astype(np.float32)).reshape(-1)
    out = np.zeros(n, np.float32)
    getattr(ggml, f"dequantize_row_{symbols.get(name, name.lower())}")(pointer(blocks), pointer(out), ctypes.c_int64(n))
    return out


def gguf_decodes(number, blocks, want):
    try:
        kind = gguf.GGMLQuantizationType(number)
        return np.array_equal(gguf.dequantize(blocks, kind).reshape(-1), want)
    except (NotImplementedError, ValueError):
        return None


x, bf16 = weights()
r = np.random.default_rng(23)
values, agreed = {}, []
w = gguf.GGUFWriter(here / "types.gguf", "llama")
w.add_name("every type")
w.add_uint32("llama.block_count", 1)
w.add_quantization_version(2)
for kind, value in (("UINT8", 200), ("INT8", -100), ("UINT16", 60000), ("INT16", -30000), ("UINT32", 4000000000), ("INT32", -2000000000),
                    ("FLOAT32", 0.1), ("BOOL", True), ("STRING", "größer ☃"), ("UINT64", 2**64 - 1), ("INT64", -(2**63)), ("FLOAT64", 0.1)):
    w.add_key_value(f"test.{kind.lower()}", value, GGUFValueType[kind])
    items = [value] * (3 if kind != "STRING" else 12)
    w.add_key_value(f"test.array.{kind.lower()}", items, GGUFValueType.ARRAY, sub_type=GGUFValueType[kind])
w.add_token_list([f"<{i}>" for i in range(300)])
w.add_token_scores([-float(i) for i in range(300)])
w.add_token_types([1] * 300)
for number, dtype in plain:
    data = x.astype(dtype) if np.issubdtype(dtype, np.floating) else np.clip(np.rint(x * 1000), -128, 127).astype(dtype)
    name = f"plain.{gguf.GGMLQuantizationType(number).name}"
    w.add_tensor(name, data)
    values[name] = data.astype(np.float32)
w.add_tensor("plain.BF16", bf16.view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
values["plain.BF16"] = x
w.add_tensor("plain.scalar_row", x[0, :3].copy())
values["plain.scalar_row"] = x[0, :3].copy()
cube = x.reshape(4, 2, 128)
w.add_tensor("plain.cube", cube.copy())
values["plain.cube"] = cube.copy()
for number, name, elements, size in packed:
    GGML_QUANT_SIZES[number] = (elements, size)  # gguf lacks Q2_0, and has 40 bytes for Q8_1
    blocks = encoded(number, name, x, x.size // elements * size)
    noise = np.empty((6, size), np.uint8)
    for row in noise:  # random blocks with finite scales
        while True:
            row[:] = r.integers(0, 256, size)
            if np.isfinite(decoded(name, row.copy(), elements)).all():
                break
    for what, data, shape in (("weights", blocks, (2, 512)), ("random", noise.reshape(-1), (2, 3 * elements))):
        want = decoded(name, data, data.size // size * elements)
        same = gguf_decodes(number, data, want)
        assert same is not False, (name, what)
        agreed += [name] if same and what == "random" else []
        key = f"{what}.{name}"
        w.add_tensor(key, data.reshape(2, -1), raw_dtype=number if number > 41 else gguf.GGMLQuantizationType(number))
        values[key] = want.reshape(shape)
for number, name, size in listed:
    w.add_tensor(f"listed.{name}", encoded(number, name, x, 4 * size).reshape(2, -1), raw_dtype=gguf.GGMLQuantizationType(number))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
save_file(values, here / "types_values.safetensors")
print("gguf and ggml decode alike:", *agreed)

w = gguf.GGUFWriter(here / "split.gguf", "llama", split_max_tensors=2)
w.add_name("three parts")
for i in range(5):
    w.add_tensor(f"blk.{i}.attn_q.weight", np.full((2, 4), i + 1, np.float32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()

w = gguf.GGUFWriter(here / "aligned.gguf", "llama")
w.add_custom_alignment(256)
for i in range(2):
    w.add_tensor(f"w{i}", np.full((3, 5), i + 1, np.float32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
