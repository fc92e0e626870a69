#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains small tokenizers of several kinds and writes what the tokenizers package makes of some texts.

    python3 make_tokens.py

tokenizers/KIND.json is a tokenizer.json; tokenizers/KIND.ids.json maps each text of tokenizers/texts.json to its ids. The
training text is the sample model's held-out text (public domain) and this script. Made with tokenizers 0.23.

tokenizers/variants.json lists tokenizers that differ from a KIND in some keys, with hashes of the ids of two kinds of text:
all code points in order, a hash for each plane, and pseudo-random strings, a hash for each 250; "marked" is the hash of
strings that begin with U+FEFF, or have it behind an added token. The test makes the same texts. tokenizers/*.model are SentencePiece models (sentencepiece 0.2.3), and *.gguf hold the vocabularies of a KIND and of
spm_bpe.model (gguf 0.19); their hashes are in variants.json, too.
"""

import json
import pathlib
import struct

import gguf
import sentencepiece
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

def hash_of(texts, encode):
    """FNV-1a of 64 bits over all ids as little-endian 32-bit numbers."""
    value = 0xCBF29CE484222325
    for text in texts:
        ids = encode(text)
        for byte in struct.pack(f"<{len(ids)}i", *ids):
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def code_points():
    """The code points of each plane in texts of 4096; no NUL, no surrogates, and of the planes 3 to 16 the first text."""
    for plane in range(17):
        points = [c for c in range(plane << 16, (plane + 1) << 16) if c > 0 and not 0xD800 <= c <= 0xDFFF]
        texts = ["".join(map(chr, points[i:i + 4096])) for i in range(0, len(points), 4096)]
        yield texts if plane < 3 or plane == 14 else texts[:1]


NEAR = [0x20, 0x0A, 0x0D, 0x09, 0x27, 0x73, 0x53, 0x17F, 0x301, 0x300, 0x85, 0x2028, 0x200D, 0x1F642, 0x41, 0x61, 0x31, 0x39,
        0x4E00, 0x1C5, 0x2B0, 0x5D0, 0x2F, 0x130, 0xAC00, 0x1100, 0x1161, 0x11A8, 0x323, 0x1E9B, 0xFB01, 0x212B, 0x3C, 0x3E]


def random_texts():
    """1000 strings of 1 to 40 characters, most of them out of NEAR, by a linear congruential generator."""
    state = 18

    def below(most):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return (state >> 33) % most

    texts = []
    for _ in range(1000):
        length = 1 + below(40)
        texts.append("".join(chr(NEAR[below(len(NEAR))] if below(4) else 1 + below(0x2FFF)) for _ in range(length)))
    return [texts[i:i + 250] for i in range(0, 1000, 250)]


BLOCKS = [*code_points(), *random_texts()]
MARKED = [mark + text for text in BLOCKS[17] for mark in ("\ufeff", "\ufeff\ufeff", "</s>\ufeff")]
SIGN, SMALL, CAPITAL = r"[^\r\n\p{L}\p{N}]?", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
ANY_CASE = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LINES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
REGEXES = {
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "bailing": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "qwen35": QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"^\s\p{L}", r"^\s\p{L}\p{M}"),
    "o200k": f"{SIGN}{CAPITAL}*{SMALL}+{ANY_CASE}?|{SIGN}{CAPITAL}+{SMALL}*{ANY_CASE}?|\\p{{N}}{{1,3}}|{LINES}",
    "tekken": f"{SIGN}{CAPITAL}*{SMALL}+|{SIGN}{CAPITAL}+{SMALL}*|\\p{{N}}|{LINES}",
    "unknown": r"\p{N}{2}|[!-/]+[A-Za-z]+|[^a-z ]+|\s+(?!\S)",
}
# What sentencepiece makes of the rules FB01 -> 66 69, 41 301 -> 41, 212B -> C5, 20AC -> 45 55 52 (normalization_rule_tsv).
CHARSMAP = (
    "AAQAAAAAAQBBPAMAzAACAIEdAAAAAACArA0AAAIAAICrOQAAgoQCAAkAAICsHAIABgAAgIEdAAAMAAAAhIgCAA4AAAARAAAAEAAAABMAAAASAAAAFQAAAB"
    "QAAAAXAAAAFgAAABkAAAAYAAAAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAq"
    "AAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQA"
    "AAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYA"
    "AABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAA"
    "AAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAAggAA"
    "AIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAA"
    "CbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAOKgAACiAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAADvJAAA"
    "sQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAM"
    "cAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADd"
    "AAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8w"
    "AAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAABBAEVVUgBmaQDDhQA=")
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}



def before_bytes(step):
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [step, BYTES]}}


def variants():
    for kind in KINDS:
        yield kind, kind, {}
    for name, regex in REGEXES.items():
        yield name, "llama3", before_bytes({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False})
    for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            yield f"{behavior} {invert}", "gpt2", before_bytes(
                {"type": "Split", "pattern": {"String": "a"}, "behavior": behavior, "invert": invert})
    for name, more in {"Whitespace": {}, "WhitespaceSplit": {}, "BertPreTokenizer": {}, "Punctuation": {"behavior": "Contiguous"},
                       "Digits": {"individual_digits": False}, "CharDelimiterSplit": {"delimiter": "e"}}.items():
        yield name, "gpt2", before_bytes({"type": name, **more})
    for name, more in {"NFD": {}, "NFKC": {}, "NFKD": {}, "Lowercase": {}, "Nmt": {}, "StripAccents": {},
                       "Strip": {"strip_left": True, "strip_right": True},
                       "BertNormalizer": {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                                          "lowercase": True}}.items():
        yield name, "gpt2", {"normalizer": {"type": name, **more}, "pre_tokenizer": BYTES}
    yield "Precompiled", "gpt2", {"normalizer": {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}, "pre_tokenizer": BYTES}
    added = [("a b", {"normalized": True}), ("'s", {"lstrip": True, "rstrip": True}), ("ab", {"single_word": True}), ("1\n", {})]
    for base in ("gpt2", "llama2"):
        tokenizer = tk.Tokenizer.from_file(str(HERE / "tokenizers" / f"{base}.json"))
        tokenizer.add_tokens([tk.AddedToken(text, **{"normalized": False, **more}) for text, more in added])
        yield f"added {base}", base, {"added_tokens": json.loads(tokenizer.to_str())["added_tokens"]}
    yield "roberta", "gpt2", {"post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0],
                                                 "trim_offsets": True, "add_prefix_space": False}}
    pieces = sorted({c for line in training_lines() for c in line if c.isalnum()})
    words = ["[UNK]", "[CLS]", "[SEP]", *pieces, *("##" + c for c in pieces), "the", "##ing", "and", "in", "##ed", "s", "##s"]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    yield "WordPiece", "gpt2", {
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "added_tokens": [], "post_processor": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": vocabulary}}
    yield "WordLevel", "gpt2", {"pre_tokenizer": {"type": "Whitespace"}, "added_tokens": [], "post_processor": None,
                                "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocabulary}}
    scored = [["<unk>", 0.0], *((c, -7.0 - i / 64) for i, c in enumerate(pieces)), ["\u2581", -3.0], ["\u2581the", -4.5],
              ["ing", -5.0], ["in", -5.25], ["an", -5.25], ["nd", -5.5], ["\u2581a", -5.125], ["<0x41>", -9.0]]
    for fallback in (False, True):
        yield f"Unigram {fallback}", "gpt2", {
            "normalizer": {"type": "NFKC"}, "added_tokens": [], "post_processor": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
            "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": fallback, "vocab": scored}}


def write_sentence_pieces(folder):
    """Two small models; their vocabularies are trained on the same text."""
    text = folder / "training.txt"
    text.write_text("\n".join(line.strip() for line in training_lines() if line.strip()))
    common = dict(input=str(text), vocab_size=600, character_coverage=0.99, minloglevel=2, byte_fallback=True)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / "spm_bpe"), model_type="bpe", remove_extra_whitespaces=False,
                                             normalization_rule_name="identity", user_defined_symbols=["<tag>"], **common)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / "spm_unigram"), model_type="unigram",
                                             normalization_rule_name="identity", **common)
    for left in (text, folder / "spm_bpe.vocab", folder / "spm_unigram.vocab"):
        left.unlink()


def write_ggufs(folder):
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm_bpe.model"))
    count = pieces.get_piece_size()
    kinds = [pieces.is_unknown, pieces.is_control, pieces.is_byte]
    numbers = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.BYTE]
    types = [next((n for n, is_it in zip(numbers, kinds) if is_it(i)),
                  gguf.TokenType.USER_DEFINED if pieces.id_to_piece(i) == "<tag>" else gguf.TokenType.NORMAL) for i in range(count)]
    writer = gguf.GGUFWriter(folder / "spm_bpe.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([pieces.id_to_piece(i) for i in range(count)])
    writer.add_token_scores([pieces.get_score(i) for i in range(count)])
    writer.add_token_types(types)
    writer.add_unk_token_id(pieces.unk_id())
    writer.add_bos_token_id(pieces.bos_id())
    close(writer)
    tree = json.loads((folder / "smollm.json").read_text())
    tokens = sorted(tree["model"]["vocab"], key=tree["model"]["vocab"].get)
    writer = gguf.GGUFWriter(folder / "smollm.gguf", "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in ("<s>", "</s>") else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tree["model"]["merges"]])
    writer.add_bos_token_id(0)
    close(writer)


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    folder = HERE / "tokenizers"
    folder.mkdir(exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(TEXTS, indent=1) + "\n")
    for kind, make in KINDS.items():
        if (folder / f"{kind}.json").exists():
            continue  # training is not the same in every version of the package: what is there stays
        tokenizer = make()
        tokenizer.save(str(folder / f"{kind}.json"), pretty=False)
        ids = [tokenizer.encode(text).ids for text in TEXTS]
        (folder / f"{kind}.ids.json").write_text(json.dumps(ids) + "\n")
        print(kind, tokenizer.get_vocab_size(), sum(map(len, ids)))
    if not (folder / "spm_bpe.model").exists():
        write_sentence_pieces(folder)
        write_ggufs(folder)
    rows = []
    for name, base, changes in variants():
        tree = {**json.loads((folder / f"{base}.json").read_text()), **changes}
        tokenizer = tk.Tokenizer.from_str(json.dumps(tree))
        hashes = [hash_of(texts, lambda text: tokenizer.encode(text).ids) for texts in BLOCKS]
        marked = hash_of(MARKED, lambda text: tokenizer.encode(text).ids)
        rows.append({"name": name, "base": base, "changes": changes, "hashes": hashes, "marked": marked})
    for name in ("spm_bpe", "spm_unigram"):
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.model"))
        rows.append({"name": name, "base": name, "changes": {}, "hashes": [hash_of(texts, pieces.encode) for texts in BLOCKS],
                     "marked": hash_of(MARKED, pieces.encode)})
    (folder / "variants.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
