#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains the tiny-llama sample and writes it in the Hugging Face layout.

    /usr/bin/python3 train.py --minutes 30 --out DIR [--text FILE]
    /usr/bin/python3 train.py --check DIR

The model is a Llama (RMSNorm, rotary positions, grouped-query attention, SwiGLU, untied head) over bytes: token id = byte
value, no special tokens. The text is the King James Bible: FILE is either Debian's compressed /usr/lib/bible.data
(package bible-kjv-text) or the same verses as plain text, one "Ge1:1 In the beginning ..." a line.

Needs PyTorch 1.13 or later and numpy. A BLAS that uses the processor's vector units (libopenblas0-pthread) makes it
some ten times faster than the reference BLAS.
"""
import argparse
import hashlib
import json
import math
import os
import re
import struct
import time

import numpy as np
import torch
import torch.nn.functional as F

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "use_cache": True,
    "vocab_size": 256, "hidden_size": 192, "intermediate_size": 544, "hidden_act": "silu", "num_hidden_layers": 8,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "rope_scaling": None, "initializer_range": 0.02,
    "attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False, "tie_word_embeddings": False,
    "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
}
GENERATION_CONFIG = {"do_sample": True, "max_length": 256, "temperature": 0.8, "top_p": 0.95}

# Whole books, so that no sentence is cut: story, wisdom, prophecy and letter.
HELD_OUT_BOOKS = ("Ruth", "Eccl", "Joel", "Jonah", "Jas")
SEED = 20240501
BATCH = 8
PEAK_RATE = 3e-3
WARM_UP_STEPS = 100
CHECKPOINT_SECONDS = 180
CLOCK_SLACK = 0.05


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


# ---- text ------------------------------------------------------------------------------------------------------------

def expand_lzw(data):
    """One window of bible.data: the codes of compress(1), 9 to 16 bits, without its header."""
    table = [bytes([i]) for i in range(256)] + [b""]
    width, at, group, previous, out = 9, 0, 0, b"", []
    while at + width <= 8 * len(data):
        code = int.from_bytes(data[at >> 3:(at >> 3) + 4], "little") >> (at & 7) & ((1 << width) - 1)
        at += width
        if code == 256:  # start again; codes come in groups of eight of a width, so skip to the group's end
            group = at = group + -(-(at - group) // (8 * width)) * 8 * width
            width, previous = 9, b""
            del table[257:]
            continue
        entry = table[code] if code < len(table) else previous + previous[:1]
        out.append(entry)
        if previous and len(table) < 1 << 16:
            table.append(previous + entry[:1])
        previous = entry
        if len(table) >= 1 << width and width < 16:
            group = at = group + -(-(at - group) // (8 * width)) * 8 * width
            width += 1
    return b"".join(out)


def read_text(path):
    """The text at `path` as bytes; Debian's bible.data is expanded."""
    data = read_bytes(path)
    if not data.startswith(b"EC02Compressed Data File"):
        return data
    count, = struct.unpack_from(">I", data, 0x58)
    starts = struct.unpack_from(f">{count}I", data, 0x5C) + (len(data),)
    return b"".join(expand_lzw(data[a:b]) for a, b in zip(starts, starts[1:]))


def split_text(text):
    """(training text, held-out text): one verse a line without its reference, an empty line between chapters."""
    chapters = {}
    for book, chapter, verse in re.findall(rb"^(\d?[A-Za-z]+)(\d+):\d+ (.*)$", text, re.MULTILINE):
        chapters.setdefault((book.decode(), int(chapter)), []).append(verse)
    missing = set(HELD_OUT_BOOKS) - {book for book, _ in chapters}
    if missing:
        raise SystemExit(f"train.py: the text has no book {sorted(missing)[0]!r}; is it the King James Bible?")
    held = {v for (book, _), verses in chapters.items() if book in HELD_OUT_BOOKS for v in verses}
    parts = {True: [], False: []}
    for (book, _), verses in chapters.items():
        out = book in HELD_OUT_BOOKS
        parts[out].append(b"".join(v + b"\n" for v in verses if out or v not in held))
    return b"\n".join(parts[False]), b"\n".join(parts[True])


# ---- model -----------------------------------------------------------------------------------------------------------

def shapes(c):
    """Tensor name -> shape, as Hugging Face's LlamaForCausalLM names them."""
    h, m, d = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
    out = {"model.embed_tokens.weight": (c["vocab_size"], h)}
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        out.update({
            p + "input_layernorm.weight": (h,),
            p + "self_attn.q_proj.weight": (q, h), p + "self_attn.k_proj.weight": (kv, h),
            p + "self_attn.v_proj.weight": (kv, h), p + "self_attn.o_proj.weight": (h, q),
            p + "post_attention_layernorm.weight": (h,),
            p + "mlp.gate_proj.weight": (m, h), p + "mlp.up_proj.weight": (m, h), p + "mlp.down_proj.weight": (h, m),
        })
    out.update({"model.norm.weight": (h,), "lm_head.weight": (c["vocab_size"], h)})
    return out


def initial_weights(c, seed):
    """Normal(0, initializer_range), the two projections that end in the residual stream smaller by sqrt(2 layers)."""
    rng = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes(c).items():
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
        else:
            residual = name.endswith(("o_proj.weight", "down_proj.weight"))
            std = c["initializer_range"] / (math.sqrt(2 * c["num_hidden_layers"]) if residual else 1)
            weights[name] = torch.randn(shape, generator=rng) * std
    return weights


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)  # Llama's halves, not neighbouring pairs
    return x * cos + torch.cat((-b, a), -1) * sin


def forward(w, tokens, c):
    """Logits [batch, time, vocabulary] of `tokens` [batch, time]; every token sees itself and those before it."""
    batch, time_ = tokens.shape
    heads, groups, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    dtype = w["model.norm.weight"].dtype
    rate = c["rope_theta"] ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.outer(torch.arange(time_, dtype=torch.float64), rate).repeat(1, 2)
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    future = torch.full((time_, time_), float("-inf"), dtype=dtype).triu(1)

    x = w["model.embed_tokens.weight"][tokens]
    for i in range(c["num_hidden_layers"]):
        layer = {k: w[f"model.layers.{i}.{k}.weight"] for k in (
            "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
            "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")}
        y = rms_norm(x, layer["input_layernorm"], c["rms_norm_eps"])
        q, k, v = (F.linear(y, layer[f"self_attn.{s}_proj"]).view(batch, time_, -1, d).transpose(1, 2) for s in "qkv")
        q, k = rotate(q, cos, sin) / math.sqrt(d), rotate(k, cos, sin)
        q = q.reshape(batch, groups, heads // groups * time_, d)  # query heads of one group share its key and value
        scores = (q @ k.transpose(2, 3)).view(batch, heads, time_, time_).add_(future)
        y = scores.softmax(-1).view(batch, groups, heads // groups * time_, time_) @ v
        y = y.view(batch, heads, time_, d).transpose(1, 2).reshape(batch, time_, heads * d)
        x = x + F.linear(y, layer["self_attn.o_proj"])
        y = rms_norm(x, layer["post_attention_layernorm"], c["rms_norm_eps"])
        y = F.silu(F.linear(y, layer["mlp.gate_proj"])) * F.linear(y, layer["mlp.up_proj"])
        x = x + F.linear(y, layer["mlp.down_proj"])
    return F.linear(rms_norm(x, w["model.norm.weight"], c["rms_norm_eps"]), w["lm_head.weight"])


# ---- files -----------------------------------------------------------------------------------------------------------

def write_safetensors(path, tensors):
    """BF16, byte for byte as the reference library writes it (one dtype, so its order is the order of names)."""
    header, body = {"__metadata__": {"format": "pt"}}, []
    end = 0
    for name in sorted(tensors):
        data = tensors[name].to(torch.bfloat16).contiguous().view(torch.int16).numpy().astype("<i2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(tensors[name].shape), "data_offsets": [end, end + len(data)]}
        body.append(data)
        end += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(body))


def read_safetensors(path):
    """What write_safetensors() wrote, widened to float32."""
    data, tensors = read_bytes(path), {}
    start = 8 + struct.unpack_from("<Q", data)[0]
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            bits = np.frombuffer(data[start + begin:start + end], "<u2").astype(np.uint32) << 16
            tensors[name] = torch.from_numpy(bits.view(np.float32).reshape(entry["shape"]))
    return tensors


def write_json(path, value, sort=False):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(value, indent=2, sort_keys=sort) + "\n")


def byte_tokenizer():
    """tokenizer.json of a byte-level BPE without merges: id = byte value."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = (b for b in range(256) if b not in visible)
    letter = {b: chr(b) for b in visible}
    letter.update({b: chr(256 + i) for i, b in enumerate(hidden)})  # GPT-2's stand-ins for bytes that do not print
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": {letter[b]: b for b in range(256)}, "merges": []}}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def file_sha256(folder, name):
    return sha256(read_bytes(os.path.join(folder, name)))


# ---- evaluation ------------------------------------------------------------------------------------------------------

@torch.no_grad()
def token_losses(weights, text, c):
    """Negative log likelihood in nats of every byte but the first.

    The text is cut into windows of `context` inputs, stride = context; each input predicts the byte after it, so the
    first prediction of a window sees one byte and the last sees all of it. The last window may be shorter.
    """
    tokens = torch.from_numpy(np.frombuffer(text, np.uint8).astype(np.int64))
    context, losses = c["max_position_embeddings"], []
    for start in range(0, len(tokens) - 1, context):
        inputs, targets = tokens[start:-1][:context], tokens[start + 1:][:context]
        losses.append(F.cross_entropy(forward(weights, inputs[None], c)[0], targets, reduction="none"))
    return torch.cat(losses)


def evaluate(folder):
    """(float32 losses, float64 losses) of the stored weights on the stored held-out text."""
    c = json.loads(read_bytes(os.path.join(folder, "config.json")))
    text = read_bytes(os.path.join(folder, "heldout.txt"))
    weights = read_safetensors(os.path.join(folder, "model.safetensors"))
    single = token_losses(weights, text, c).numpy()
    return single, token_losses({k: v.double() for k, v in weights.items()}, text, c).numpy()


def write_reference(folder, training):
    single, double = evaluate(folder)
    np.save(os.path.join(folder, "reference_nll.npy"), single.astype("<f4"))
    mean = float(single.mean(dtype=np.float64))
    write_json(os.path.join(folder, "reference.json"), {
        "model": "model.safetensors", "model_sha256": file_sha256(folder, "model.safetensors"),
        "text": "heldout.txt", "text_sha256": file_sha256(folder, "heldout.txt"),
        "weights": "bf16 as stored", "arithmetic": "float32", "engine": f"PyTorch {torch.__version__}, CPU",
        "tokenizer": "bytes, id = byte value, no special tokens",
        "context": CONFIG["max_position_embeddings"], "stride": CONFIG["max_position_embeddings"],
        "n": len(single), "mean_loss_nats": mean, "perplexity": math.exp(mean), "bits_per_byte": mean / math.log(2),
        "standard_error_nats": float(single.std(dtype=np.float64, ddof=1) / math.sqrt(len(single))),
        "per_token": "reference_nll.npy",
        "float64": {"mean_loss_nats": float(double.mean()), "max_abs_difference": float(np.abs(single - double).max())},
        "training": training,
    })
    return mean


def check(folder):
    """Evaluates the folder again and compares it with its reference.json."""
    reference = json.loads(read_bytes(os.path.join(folder, "reference.json")))
    for part in "model", "text":
        if file_sha256(folder, reference[part]) != reference[part + "_sha256"]:
            raise SystemExit(f"train.py: {reference[part]} is not the file that was evaluated")
    single, _ = evaluate(folder)
    worst = float(np.abs(single - np.load(os.path.join(folder, reference["per_token"]))).max())
    print(f"mean loss {single.mean(dtype=np.float64):.6f} nats, recorded {reference['mean_loss_nats']:.6f}, "
          f"largest difference of one token {worst:.2e}")
    if worst > 1e-3:
        raise SystemExit("train.py: the recorded figures are not reproduced")


# ---- training --------------------------------------------------------------------------------------------------------

def train(text, folder, steps, minutes):
    """Trains for `steps` steps, sooner done when `minutes` run out; returns (weights, description).

    The rate follows a cosine over the steps, or over the minutes where those have run ahead by more than the slack, so
    that a run cut short by the clock also ends at a small rate. A run that the clock does not touch is repeatable on
    the same machine and PyTorch.
    """
    tokens = torch.from_numpy(np.frombuffer(text, np.uint8).astype(np.int64))
    context, rng = CONFIG["max_position_embeddings"], torch.Generator()
    weights = {k: v.requires_grad_() for k, v in initial_weights(CONFIG, SEED).items()}
    optimizer = torch.optim.AdamW([
        {"params": [v for v in weights.values() if v.dim() > 1], "weight_decay": 0.1},
        {"params": [v for v in weights.values() if v.dim() == 1], "weight_decay": 0.0}], betas=(0.9, 0.95))
    saved, first, before = os.path.join(folder, "checkpoint.pt"), 0, 0.0
    if os.path.exists(saved):
        state = torch.load(saved)
        first, before = state["step"], state["seconds"]
        optimizer.load_state_dict(state["optimizer"])
        with torch.no_grad():
            for name, value in weights.items():
                value.copy_(state["weights"][name])
        print(f"goes on after step {first}", flush=True)

    begin = last_saved = time.monotonic()
    average, done, by_clock = math.log(256), first, False
    for step in range(first, steps):
        elapsed = (before + time.monotonic() - begin) / (60 * minutes)
        clock = (elapsed - CLOCK_SLACK) / (1 - CLOCK_SLACK)
        by_clock = by_clock or clock > step / steps
        progress = max(step / steps, clock)
        if progress >= 1:
            break
        rate = PEAK_RATE * min((step + 1) / WARM_UP_STEPS, 0.02 + 0.98 * (1 + math.cos(math.pi * progress)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        rng.manual_seed(SEED + step)
        starts = torch.randint(len(tokens) - context, (BATCH,), generator=rng)
        window = torch.stack([tokens[s:s + context + 1] for s in starts])
        logits = forward(weights, window[:, :-1], CONFIG)
        loss = F.cross_entropy(logits.reshape(-1, CONFIG["vocab_size"]), window[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        done = step + 1
        average += 0.02 * (loss.item() - average)
        if done % 100 == 0:
            print(f"step {done} of {steps}  {before + time.monotonic() - begin:.0f} s  loss {average:.4f}", flush=True)
        if time.monotonic() - last_saved > CHECKPOINT_SECONDS:
            torch.save({"step": done, "seconds": before + time.monotonic() - begin, "weights": weights,
                        "optimizer": optimizer.state_dict()}, saved + ".part")
            os.replace(saved + ".part", saved)
            last_saved = time.monotonic()
    return {k: v.detach() for k, v in weights.items()}, {
        "text_sha256": sha256(text), "text_bytes": len(text), "held_out_books": HELD_OUT_BOOKS,
        "seed": SEED, "steps": done, "schedule": "clock" if by_clock else "steps", "batch": BATCH, "context": context,
        "bytes_seen": done * BATCH * context, "peak_rate": PEAK_RATE, "last_average_loss_nats": round(average, 4),
        "minutes": round((before + time.monotonic() - begin) / 60, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", default="/usr/lib/bible.data", help="bible.data or plain verses")
    parser.add_argument("--out", help="folder to write; a checkpoint.pt there is continued")
    parser.add_argument("--minutes", type=float, default=30, help="stop training after this time")
    parser.add_argument("--steps", type=int, default=4000, help="length of the schedule")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", metavar="DIR", help="only evaluate DIR and compare with its reference.json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.check:
        return check(options.check)
    if not options.out:
        parser.error("--out or --check is needed")

    os.makedirs(options.out, exist_ok=True)
    training_text, held_out = split_text(read_text(options.text))
    with open(os.path.join(options.out, "heldout.txt"), "wb") as file:
        file.write(held_out)
    weights, training = train(training_text, options.out, options.steps, options.minutes)
    write_safetensors(os.path.join(options.out, "model.safetensors"), weights)
    write_json(os.path.join(options.out, "config.json"), CONFIG, sort=True)
    write_json(os.path.join(options.out, "generation_config.json"), GENERATION_CONFIG)
    write_json(os.path.join(options.out, "tokenizer.json"), byte_tokenizer())
    write_json(os.path.join(options.out, "tokenizer_config.json"),
               {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
                "model_max_length": CONFIG["max_position_embeddings"]})
    mean = write_reference(options.out, training)
    if os.path.exists(os.path.join(options.out, "checkpoint.pt")):
        os.remove(os.path.join(options.out, "checkpoint.pt"))
    print(f"held-out loss {mean:.4f} nats a byte, perplexity {math.exp(mean):.3f}, {training['steps']} steps")


if __name__ == "__main__":
    main()
