#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains small tokenizers of several kinds and writes what the tokenizers package makes of some texts.

    python3 make_tokens.py

tokenizers/KIND.json is a tokenizer.json; tokenizers/KIND.ids.json maps each text of tokenizers/texts.json to its ids. The
training text is the sample model's held-out text (public domain) and this script. Made with tokenizers 0.23.
"""

import json
import pathlib

import tokenizers as tk
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent.parent
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

TEXTS = [
    "", " ", "  ", "\n", "a", "Hello, world!", "  leading and trailing  ", "Tabs\tand\r\nlines\n\n\nend",
    "it's I'm we'll they'VE don'T", "numbers 1 12 123 1234 3.14 1e-5", "CamelCase snake_case kebab-case",
    "Zürich façade naïve e\u0301 \u00e9 Å \u212b", "日本語のテキスト 中文 한국어", "🙂👩‍👩‍👧 flags 🇩🇪", "عربى עברית हिन्दी ไทย",
    "for (int i = 0; i < n; ++i) {\n    x[i] += 2;\n}", "a" * 300, " " * 40 + "x", "\u00a0nbsp\u2028line\u3000wide\ufeffbom",
    "In the beginning was the Word", "<s> <unk> </s>", "mixed: 12ab34 ,.;:!? (a) [b] {c} \"d\" 'e' `f` ~g~ @h #i $j %k ^l &m *n",
]


def training_lines():
    text = (ROOT / "resources/samples/tiny-llama/heldout.txt").read_text()[:40000] + pathlib.Path(__file__).read_text()
    return text.splitlines(keepends=True)


def byte_level(pre, normalizer=None, ignore_merges=False, bos=False):
    tokenizer = tk.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<s>", "</s>"])
    tokenizer.train_from_iterator(training_lines(), trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return tokenizer


def byte_fallback(normalizer, pre=None):
    tokenizer = tk.Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    trainer = trainers.BpeTrainer(vocab_size=700, show_progress=False,
                                  special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)])
    words = [line.replace("\n", " ") for line in training_lines()]
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # words, for the training alone
    tokenizer.normalizer = None
    tokenizer.train_from_iterator(words, trainer)
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(tk.Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


KINDS = {
    "gpt2": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "smollm": lambda: byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                          pre_tokenizers.ByteLevel(add_prefix_space=False)])),
    "llama3": lambda: byte_level(split(LLAMA3), ignore_merges=True, bos=True),
    "qwen2": lambda: byte_level(split(QWEN2), normalizers.NFC()),
    "llama2": lambda: byte_fallback(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])),
    "metaspace": lambda: byte_fallback(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False)),
    "gemma": lambda: byte_fallback(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous")),
}

if __name__ == "__main__":
    folder = HERE / "tokenizers"
    folder.mkdir(exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(TEXTS, indent=1) + "\n")
    for kind, make in KINDS.items():
        tokenizer = make()
        tokenizer.save(str(folder / f"{kind}.json"), pretty=False)
        ids = [tokenizer.encode(text).ids for text in TEXTS]
        (folder / f"{kind}.ids.json").write_text(json.dumps(ids) + "\n")
        print(kind, tokenizer.get_vocab_size(), sum(map(len, ids)))
