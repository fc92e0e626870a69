#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what the tokenizers package makes of texts under every pre-tokenizer that a GGUF vocabulary may name.

    python3 make_cuts.py

tokenizers/pairs.gguf is a byte-pair vocabulary in which every pair of bytes of a small alphabet merges, so that ids show where
a text was cut. tokenizers/cuts.json: random texts of this alphabet, and for each name under tokenizer.ggml.pre a hash of the ids
of all texts. The expressions are those of the tokenizer.json that llama.cpp's names stand for (src/llama-vocab.cpp, where it keeps
them as comments; else its own). Made with tokenizers 0.23.3 and gguf 0.19.
"""
import json
import pathlib
import random

import gguf
import tokenizers as tk
from tokenizers import models, pre_tokenizers

FOLDER = pathlib.Path(__file__).parent / "tokenizers"
ALPHABET = "aBsé世가あ15٣ \t\n\r'.!/_。`+$́ⅣA，"
ANY = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORD, SIGNS, LINES, SPACES = r"[^\r\n\p{L}\p{N}]?\p{L}+", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)|\s+"
LLAMA3 = f"{ANY}|{WORD}|\\p{{N}}{{1,3}}|{SIGNS}|{LINES}|{SPACES}"
QWEN2 = f"{ANY}|{WORD}|\\p{{N}}|{SIGNS}|{LINES}|{SPACES}"
SMALL, CAPITAL = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
SIGN = r"[^\r\n\p{L}\p{N}]?"


def by_case(tail, digits):
    return f"{SIGN}{CAPITAL}*{SMALL}+{tail}|{SIGN}{CAPITAL}+{SMALL}*{tail}|{digits}| ?[^\\s\\p{{L}}\\p{{N}}]+[\\r\\n/]*|{LINES}|{SPACES}"


DEEPSEEK = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"
HAN, KOREAN = "[一-龥\u3040-\u309f\u30a0-\u30ff]+", "[一-龥\u0800-一가-\ud7ff]+"
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
CASED = "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓ]+"  # the first of its ranges: no text here has others
THREES = "".join(r"\s{%d}(?!\S)|" % n for n in (512, 256, 128, 64, 32, 16, 8, 4))
ROWS = {
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe chatglm-bpe glm4 glm5": [LLAMA3],
    "minicpm5": [r"\p{N}{1,3}", f"{ANY}|{WORD}|\\p{{N}}+|{SIGNS}|{LINES}|{SPACES}"],
    "jais-2": [f"{ANY}|{WORD}|\\p{{N}}{{1,3}}|{SIGNS}|{LINES}|{THREES}\\s{{1,2}}(?!\\S)|\\s{{1}}"],
    "gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code gigachat a.x-4.0 mellum modern-bert exaone4 mpt olmo jais "
    "trillion granite-docling roberta-bpe": [GPT2],
    "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2": [r"\p{N}", GPT2],
    "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2": [QWEN2],
    "laguna": [r"[^\n]+|[\n]+", QWEN2],
    "ufakzeka": [f"{WORD}|\\p{{N}}|{SIGNS}|{LINES}|{SPACES}"],
    "seed-coder": [f"{ANY}|{WORD}|\\p{{N}}{{1}}| ?[^\\s\\p{{L}}\\p{{N}}\r\n]+|\\s*[\r\n]+|{SPACES}"],
    "exaone-moe": [ANY + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|" + SPACES],
    "qwen35": [ANY + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + LINES + "|" + SPACES],
    "tekken": [by_case("", r"\p{N}")],
    "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m": [by_case(ANY + "?", r"\p{N}{1,3}")],
    "tiny_aya cohere2moe": [r"\d{1,3}(?=(?:\d{3})*\b)", by_case(ANY + "?", r"\p{N}{1,3}")],
    "youtu": ["[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + HAN, by_case(ANY + "?", r"\p{N}")],
    "bailingmoe bailingmoe2 llada-moe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|" + SPACES],
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4": [r"\p{N}{1,3}", HAN, f"{DEEPSEEK}[\r\n]*|{LINES}|{SPACES}"],
    "spark2_5": [r"\p{N}{1,3}", HAN, f"{DEEPSEEK}|[\r\n]|{SPACES}", r"\p{N}"],
    "deepseek-llm": ["[\r\n]", CASED, r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", KOREAN, r"\p{N}+"],
    "deepseek-coder": ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", KOREAN, r"\p{N}"],
    "poro-chat bloom gpt3-finnish": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )", r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
}


def vocabulary():
    """Tokens, and merges of all pairs of bytes of the alphabet."""
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(ALPHABET)
    used = sorted(set("".join(piece for piece, _ in spelled)))
    merges = [(a, b) for a in used for b in used]
    merges += [("'s", each) for each in used] + [(2 * n * "Ġ", 2 * n * "Ġ") for n in (1, 2, 4)]  # an even cut shows, too
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet()) + [a + b for a, b in merges]
    return {token: i for i, token in enumerate(tokens)}, merges


def write_vocabulary(path, tokens, merges):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(list(tokens))
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(0)
    writer.add_add_bos_token(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def hash_of(lists):
    """FNV-1a of 64 bits over all ids as little-endian 32-bit numbers."""
    value = 0xCBF29CE484222325
    for ids in lists:
        for byte in b"".join(number.to_bytes(4, "little") for number in ids):
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def main():
    tokens, merges = vocabulary()
    write_vocabulary(FOLDER / "pairs.gguf", tokens, merges)
    random.seed(4)
    texts = ["".join(random.choice(random.choice((ALPHABET, "aBs15 '.\n世"))) for _ in range(random.randint(1, 50))) for _ in range(300)]
    texts += [n * " " + "a" + n * "  " for n in range(1, 30)] + [n * "a" + "'sBa'SB" for n in range(1, 5)]
    hashes = {}
    for names, expressions in ROWS.items():
        tokenizer = tk.Tokenizer(models.BPE(vocab=tokens, merges=merges))
        cuts = [pre_tokenizers.Split(tk.Regex(each), "isolated") for each in expressions]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        value = hash_of(tokenizer.encode(text).ids for text in texts)
        hashes |= {name: value for name in names.split()}
    (FOLDER / "cuts.json").write_text(json.dumps({"texts": texts, "hashes": hashes}, indent=1, ensure_ascii=False) + "\n")
    print(len(hashes), "names,", len(set(hashes.values())), "different results")


if __name__ == "__main__":
    main()
