#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers for the figures and the base file of llama.cpp's llama-perplexity, by its definitions in numpy's float32.

    python3 make_llama_statistics.py    writes llama_statistics/base.logits and llama_statistics/expected.txt

The logits are exact multiples of a power of two from a generator that the test repeats: no file holds them. Some rows span
more than 16 nats (codes of 0 are floors there), one row is constant, and the vocabulary is odd (rows are padded).
"""

import math
import pathlib
import struct

import numpy as np

F = np.float32
VOCABULARY, CONTEXT, CHUNKS = 97, 16, 16
FOLDER = pathlib.Path(__file__).parent / "llama_statistics"


class Generator:
    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 40  # 24 bits

    def value(self):
        return (self.bits() - 2**23) / 2**20  # -8 to 8, exact in float32


def expf(x):
    return F(math.exp(float(x)))


def rows_of(generator):
    """Logits of the reference and of the other network after one token."""
    number = generator.bits() % 16
    factor = 0.0 if number == 0 else 2.5 if number < 3 else 0.25
    reference = [F(generator.value() * factor) for _ in range(VOCABULARY)]
    other = [F(float(v) + generator.value() / 16) for v in reference]
    return reference, other


def log_sum(logits, largest):
    total = 0.0
    for logit in logits:
        total += float(expf(logit - largest))
    return F(math.log(total))


def encoded(logits):
    largest = max(logits)
    least = max(min(logits), F(largest - F(16)))
    least_log = F(F(least - largest) - log_sum(logits, largest))
    scale = F(F(largest - least) / F(65535))
    codes = [0] * (2 * ((VOCABULARY + 1) // 2))
    if scale != 0:
        inverse = F(F(1) / scale)
        for v, logit in enumerate(logits):
            if logit > least:
                codes[v] = int(np.rint(F(inverse * F(logit - least))))
    return scale, least_log, codes


def scored(code_row, logits, token):
    scale, least, codes = code_row
    largest = max(logits)
    lse = log_sum(logits, largest)
    nll = F(F(largest + lse) - logits[token])
    base = [F(F(scale * F(codes[v])) + least) for v in range(VOCABULARY)]
    nll_base = F(-base[token])
    whole = F(largest + lse)
    divergence = 0.0
    for v in range(VOCABULARY):
        if base[v] > F(-16):
            divergence += float(F(expf(base[v]) * F(F(base[v] - logits[v]) + whole)))
    change = F(expf(-nll) - expf(-nll_base))
    same = logits.index(max(logits)) == base.index(max(base))
    return nll, nll_base, divergence, change, same


def mean(total, squares, n):
    value = total / n
    variance = squares / n - value * value
    return value, math.sqrt(variance / (n - 1)) if variance > 0 and n > 10 else 0.0


def percentile(values, fraction):
    at = F(F(fraction) * F(len(values) - 1))
    below = int(at)
    rest = F(at - F(below))
    return F(F(F(1) - rest) * values[below]) + F(rest * values[min(below + 1, len(values) - 1)])


def median(values):
    half = len(values) // 2
    return F(F(0.5) * F(values[half] + values[half - 1])) if len(values) % 2 == 0 else values[half]


def summary(scores):
    n = len(scores)
    total = lambda of: sum(float(of(s)) for s in scores)
    nll, base = mean(total(lambda s: s[0]), total(lambda s: F(s[0] * s[0])), n), mean(total(lambda s: s[1]), total(lambda s: F(s[1] * s[1])), n)
    cov = (total(lambda s: F(s[0] * s[1])) / n - nll[0] * base[0]) / (n - 1)
    ratio = nll[0] - base[0], math.sqrt(nll[1] ** 2 + base[1] ** 2 - 2 * cov)
    ppl, ppl_base = math.exp(nll[0]), math.exp(base[0])
    unc, unc_base = ppl * nll[1], ppl_base * base[1]
    out = ["====== Perplexity statistics ======"]
    for name, value, error in [
        ("Mean PPL(Q)", ppl, unc),
        ("Mean PPL(base)", ppl_base, unc_base),
        (None, 100 * cov / (nll[1] * base[1]), None),
        ("Mean ln(PPL(Q)/PPL(base))", *ratio),
        ("Mean PPL(Q)/PPL(base)", math.exp(ratio[0]), math.exp(ratio[0]) * ratio[1]),
        ("Mean PPL(Q)-PPL(base)", ppl - ppl_base, math.sqrt(unc**2 + unc_base**2 - 2 * ppl * ppl_base * cov)),
    ]:
        out.append(f"{name:<30}: {value:10.6f} ± {error:10.6f}" if name else f"Cor(ln(PPL(Q)), ln(PPL(base))): {value:6.2f}%")
    kld = mean(sum(s[2] for s in scores), sum(s[2] * s[2] for s in scores), n)
    values = sorted(F(s[2]) for s in scores)
    out += ["", "====== KL divergence statistics ======", f"Mean    KLD: {kld[0]:10.6f} ± {kld[1]:10.6f}", f"Maximum KLD: {values[-1]:10.6f}"]
    high = [("99.9%", 0.999), ("99.0%", 0.99), ("95.0%", 0.95), ("90.0%", 0.9)]
    low = [("10.0%", 0.1), (" 5.0%", 0.05), (" 1.0%", 0.01), (" 0.1%", 0.001)]
    out += [f"{name:<7} KLD: {percentile(values, f):10.6f}" for name, f in high]
    out += [f"Median  KLD: {median(values):10.6f}"]
    out += [f"{name:<7} KLD: {percentile(values, f):10.6f}" for name, f in low]
    out += [f"Minimum KLD: {values[0]:10.6f}", "", "====== Token probability statistics ======"]
    squared = [float(F(s[3] * s[3])) for s in scores]
    dp = mean(total(lambda s: s[3]), sum(squared), n)
    mse = mean(sum(squared), sum(x * x for x in squared), n)
    values = sorted(s[3] for s in scores)
    out += [f"Mean    Δp: {100 * dp[0]:6.3f} ± {100 * dp[1]:5.3f} %", f"Maximum Δp: {100 * float(values[-1]):6.3f}%"]
    for name, f in high + [("75.0%", 0.75), ("Median", None), ("25.0%", 0.25)] + low:
        out.append(f"{name:<7} Δp: {100 * float(percentile(values, f) if f else median(values)):6.3f}%")
    rms, same = math.sqrt(mse[0]), sum(s[4] for s in scores) / n
    out += [f"Minimum Δp: {100 * float(values[0]):6.3f}%", f"RMS Δp    : {100 * rms:6.3f} ± {100 * 0.5 / rms * mse[1]:5.3f} %"]
    out += [f"Same top p: {100 * same:6.3f} ± {100 * math.sqrt(same * (1 - same) / (n - 1)):5.3f} %"]
    return "\n".join(out) + "\n"


def main():
    tokens_from, logits_from = Generator(1), Generator(2)
    tokens = [tokens_from.bits() % VOCABULARY for _ in range(CONTEXT * CHUNKS)]
    file = [struct.pack("<8siii", b"_logits_", CONTEXT, VOCABULARY, CHUNKS), struct.pack(f"<{len(tokens)}i", *tokens)]
    scores = []
    for chunk in range(CHUNKS):
        for at in range(CONTEXT // 2, CONTEXT - 1):
            reference, other = rows_of(logits_from)
            row = encoded(reference)
            file.append(struct.pack(f"<ff{len(row[2])}H", row[0], row[1], *row[2]))
            scores.append(scored(row, other, tokens[chunk * CONTEXT + at + 1]))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "base.logits").write_bytes(b"".join(file))
    (FOLDER / "expected.txt").write_text(summary(scores))


if __name__ == "__main__":
    main()
