# SPDX-License-Identifier: GPL-3.0-or-later
"""GGUF files by gguf's writer with blocks by ggml's encoders, and any other files given. The tensors and values that quantscope-cli reads
must equal those of gguf's GGUFReader and dequantize.

    python3 tests/peers/compare_gguf_files.py CLI [FILE.gguf ...]
"""
import json
import sys
import tempfile
from pathlib import Path

import gguf
import libgguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from safetensors.numpy import load_file

from bf16 import load as load_torchless
from checks import Checks, quantscope

given = sys.argv[2:]
root = Path(__file__).resolve().parent.parent.parent
kinds = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4".split()
plain = {"F32", "F16", "F64", "BF16", "I8", "I16", "I32", "I64"}
check = Checks()


def values(tensor):
    shape = tuple(int(d) for d in reversed(tensor.shape))
    if tensor.tensor_type == GGMLQuantizationType.NVFP4:
        return libgguf.dequantize_rows(np.ascontiguousarray(tensor.data), libgguf.GGMLQuantizationType.NVFP4, shape[-1]).reshape(shape)
    return gguf.dequantize(tensor.data, tensor.tensor_type).reshape(shape)


def compare(name, path, folder):
    reader = gguf.GGUFReader(path)
    listed = json.loads(quantscope("inspect", path, "--json", "-"))
    check(f"{name}: format", listed["format"] == "gguf")
    ours = {t["name"]: t for t in listed["tensors"]}
    check(f"{name}: names", set(ours) == {t.name for t in reader.tensors})
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or field.types[0] == gguf.GGUFValueType.ARRAY:
            continue
        text, want = listed["metadata"][key], field.contents()
        check(f"{name}: {key} {text}", text == want if isinstance(want, str) else text == ("true" if want else "false") if isinstance(want, bool) else float(text) == np.float32(want) or float(text) == want)
    out = folder / "out.safetensors"
    out.unlink(missing_ok=True)
    quantscope("dequantize", path, "-o", out)
    decoded = load_file(out) if not any(t.tensor_type.name == "BF16" for t in reader.tensors) else load_torchless(out)
    compared = 0
    for tensor in reader.tensors:
        row, kind = ours[tensor.name], tensor.tensor_type.name
        check(f"{name} {tensor.name}: type, shape and bytes", (row["dtype"], row["shape"], row["bytes"]) == (kind, [int(d) for d in reversed(tensor.shape)], int(tensor.n_bytes)))
        check(f"{name} {tensor.name}: values", np.array_equal(decoded[tensor.name].astype(np.float32), values(tensor).astype(np.float32)))
        compared += tensor.n_elements
    print(f"{name}: {len(reader.tensors)} tensors, {int(compared)} values")


def main():
    sample = load_torchless(root / "resources/samples/tiny-llama/model.safetensors")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for kind in kinds:
            number = GGMLQuantizationType[kind]
            elements, _ = GGML_QUANT_SIZES[number]
            path = folder / f"{kind}.gguf"
            w = gguf.GGUFWriter(path, "llama")
            w.add_name("tiny-llama")
            w.add_block_count(8)
            w.add_rope_freq_base(10000.0)
            for name, x in sample.items():
                if x.ndim == 2 and kind == "BF16":
                    w.add_tensor(name, gguf.quantize(x, number), raw_dtype=number)
                elif x.ndim == 2 and kind not in plain and x.size % (4 * elements) == 0:
                    rows = x.reshape(-1, 2 * elements) if x.shape[-1] % elements else x  # rows must be whole blocks
                    blocks = libgguf.quantize_rows(np.ascontiguousarray(rows), libgguf.GGMLQuantizationType[kind])
                    w.add_tensor(name, np.asarray(blocks).reshape(rows.shape[0], -1), raw_dtype=number)
                else:
                    w.add_tensor(name, x.astype(np.float16) if kind == "F16" else x)
            w.write_header_to_file()
            w.write_kv_data_to_file()
            w.write_tensors_to_file()
            w.close()
            compare(kind, path, folder)
            path.unlink()
        for path in given:
            compare(Path(path).name, Path(path), folder)
    check.finish()


main()
