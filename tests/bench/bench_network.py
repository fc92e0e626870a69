#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompt evaluation beside llama.cpp, in turns: tokens a second, and the share of the rate of the same products by themselves.

    bench_network.py BENCH_NETWORK LLAMA_BIN MODEL.gguf [--threads N] [--rounds N] [--tokens N] [--name NAME] [--files FOLDER] [--cpu]

LLAMA_BIN: folder of llama-bench and llama-quantize (tests/peers/llama_cpp). MODEL is made f32, bf16, f16 and q4_0 in FOLDER (default: a new
one). --cpu: seconds of the processor instead of the clock, for one thread on a machine with other work. Figures are medians, ratios medians of the ratios of each round, with the least and the largest behind them.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

OURS, THEIRS = ("f32", "bf16"), ("f32", "f16", "bf16", "q4_0")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("llama")
    parser.add_argument("model", type=pathlib.Path)
    for name, value in (("threads", 1), ("rounds", 5), ("tokens", 512)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--name")
    parser.add_argument("--files")
    return parser.parse_args()


def files(given):
    folder = pathlib.Path(given.files or tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    out = {}
    for kind in THEIRS:
        out[kind] = folder / f"{given.model.stem}.{kind}.gguf"
        if not out[kind].exists():
            subprocess.run([f"{given.llama}/llama-quantize", "--allow-requantize", "--pure", given.model, out[kind], kind.upper(), "2"],
                           check=True, capture_output=True)
    return out


def ours(given, path):
    """Tokens a second; operations a second of the products alone; share of that rate."""
    said = subprocess.run([given.program, path, "--tokens", str(given.tokens)], check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"QS_THREADS": str(given.threads)}).stdout
    row = json.loads(said.splitlines()[-1])
    prompt, products = (row[name + ("_cpu" if given.cpu else "")] for name in ("prompt", "products"))
    return row["tokens"] / prompt, row["operations"] / products, products / prompt


def theirs(given, path):
    """Tokens a second. Seconds of the processor are the difference of three repetitions and one."""
    def run(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        said = subprocess.run([f"{given.llama}/llama-bench", "-m", path, "-p", str(given.tokens), "-n", "0", "-r", str(times), "-t",
                               str(given.threads), "-o", "json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return json.loads(said.stdout)[0]["avg_ts"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    if not given.cpu:
        return run(1)[0]
    return 2 * given.tokens / (run(3)[1] - run(1)[1])


def ratio(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    given = options()
    paths = files(given)
    mine, llama = {kind: [] for kind in OURS}, {kind: [] for kind in THEIRS}
    for _ in range(given.rounds):
        for kind in THEIRS:
            llama[kind].append(theirs(given, paths[kind]))
            if kind in OURS:
                mine[kind].append(ours(given, paths[kind]))
    name = given.name or given.model.stem
    print(f"{given.threads} threads, a prompt of {given.tokens} tokens, {given.rounds} rounds; llama.cpp, tokens a second: "
          + ", ".join(f"{kind} {statistics.median(llama[kind]):.0f}" for kind in THEIRS))
    titles = ["what", "tokens a second", "products alone, GFLOP/s", "% of the products alone"]
    print("| " + " | ".join(titles + [f"times llama.cpp {kind}" for kind in THEIRS]) + " |\n|" + "---|" * (len(titles) + len(THEIRS)))
    for kind in OURS:
        rates, products, shares = zip(*mine[kind])
        cells = [f"{name}, {kind}", f"{statistics.median(rates):.0f}", f"{statistics.median(products) / 1e9:.0f}",
                 ratio([100 * share for share in shares], 0) + " %"]
        cells += [ratio([a / b for a, b in zip(rates, llama[other])]) for other in THEIRS]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
