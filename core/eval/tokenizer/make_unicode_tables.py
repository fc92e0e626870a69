#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes unicode_tables.inc: what the tokenizers package takes each code point for.

    pip install unicodedata2==16.0.0 tokenizers==0.23.3
    python3 make_unicode_tables.py

General categories are those of Unicode 16, which the package's regular expressions use. Its other parts use tables of
other versions (numbers 17, punctuation and marks 8), so these classes are asked from the package itself.
"""

import pathlib

import unicodedata2
from tokenizers import Regex, normalizers, pre_tokenizers

CATEGORIES = "Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def removed_by(regex):
    split = pre_tokenizers.Split(Regex(regex), "removed")
    return {c for c in POINTS if not split.pre_tokenize_str(chr(c))}


def cut_off_by(step):
    return {c for c in POINTS if len(step.pre_tokenize_str("a" + chr(c))) > 1}


def joined_by(step):
    return {c for c in POINTS if [piece for piece, _ in step.pre_tokenize_str("a" + chr(c))] == ["a" + chr(c)]}


def bert(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **on})


CLASSES = [  # the order of the bits from 5 on: see unicode.h
    removed_by(r"\s"),
    joined_by(pre_tokenizers.Whitespace()),
    cut_off_by(pre_tokenizers.Digits()),
    cut_off_by(pre_tokenizers.Punctuation()),
    {c for c in POINTS if bert(clean_text=True).normalize_str(chr(c)) == ""},
    {c for c in POINTS if bert(strip_accents=True).normalize_str("a" + chr(c)) == "a"},
    {c for c in POINTS if normalizers.StripAccents().normalize_str("a" + chr(c)) == "a"},
]


def flags(c):
    bits = CATEGORIES.index(unicodedata2.category(chr(c)))
    for i, points in enumerate(CLASSES):
        bits |= (c in points) << (5 + i)
    return bits


def runs():
    out = []
    for c in range(0x110000):
        bits = flags(c)
        if out and out[-1][1] == bits:
            out[-1][0] += 1
        else:
            out.append([1, bits])
    return out


def lower_runs():
    """[first, last, step, distance] of characters that have one lower-case character."""
    lower = normalizers.Lowercase()
    out = []
    for c in POINTS:
        small = lower.normalize_str(chr(c))
        if len(small) != 1 or small == chr(c):
            continue
        distance = ord(small) - c
        if out and out[-1][3] == distance and c - out[-1][1] in (1, 2) and out[-1][2] in (0, c - out[-1][1]):
            out[-1][1], out[-1][2] = c, c - out[-1][1]
        else:
            out.append([c, c, 0, distance])
    return [[a, b, max(step, 1), d] for a, b, step, d in out]


def lines(items, width=118):
    out = [""]
    for item in items:
        if len(out[-1]) + len(item) > width:
            out.append("")
        out[-1] += item
    return "\n".join(line.strip() for line in out) + "\n"


if __name__ == "__main__":
    text = "// SPDX-License-Identifier: GPL-3.0-or-later\n// Written by make_unicode_tables.py; not to be edited.\n// clang-format off\n"
    text += "constexpr std::uint32_t kRuns[][2] = { // number of code points, their flags\n"
    text += lines(f"{{{n},{bits}}}, " for n, bits in runs())
    text += "};\nconstexpr std::int32_t kLower[][4] = { // first, last, step, distance to the lower case\n"
    text += lines(f"{{{a},{b},{s},{d}}}, " for a, b, s, d in lower_runs())
    text += "};\n// clang-format on\n"
    pathlib.Path(__file__).with_name("unicode_tables.inc").write_text(text)
