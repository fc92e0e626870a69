# SPDX-License-Identifier: GPL-3.0-or-later
"""The attention of the first layer of the sample model as llama.cpp's converter writes it: GGUF names, rows of q and k paired within heads,
Q8_0 blocks by ggml's encoder. gguf 0.19.0, libgguf 0.2.2:

    python tests/data/diff/make_file.py tests/data/diff/layer0_attention.gguf
"""
import sys
from pathlib import Path

import gguf
import libgguf
import numpy as np

root = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(root / "tests/peers"))
from bf16 import load  # noqa: E402

sample = load(root / "resources/samples/tiny-llama/model.safetensors")


def permute(x, heads):
    """The same as LlamaModel.permute in llama.cpp's convert_hf_to_gguf.py."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


w = gguf.GGUFWriter(sys.argv[1], "llama")
w.add_block_count(1)
w.add_head_count(6)
w.add_head_count_kv(2)
at = "model.layers.0."
for name, theirs, heads in (("attn_q", "self_attn.q_proj", 6), ("attn_k", "self_attn.k_proj", 2), ("attn_v", "self_attn.v_proj", 0), ("attn_output", "self_attn.o_proj", 0)):
    x = sample[at + theirs + ".weight"]
    x = np.ascontiguousarray(permute(x, heads) if heads else x)
    blocks = np.asarray(libgguf.quantize_rows(x, libgguf.GGMLQuantizationType.Q8_0)).reshape(x.shape[0], -1)
    w.add_tensor(f"blk.0.{name}.weight", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
w.add_tensor("blk.0.attn_norm.weight", sample[at + "input_layernorm.weight"].astype(np.float32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
