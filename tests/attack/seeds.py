# SPDX-License-Identifier: GPL-3.0-or-later
"""What is attacked: files and folders of tests/data, and what the program makes of a small network, with the commands that read them.

A seed is a folder. `targets` are its files that are changed, with the kind of change. `commands` are lists of words; {p} is the model in the
folder, {tensor} the name of one of its tensors, {f} the file that was changed, {room} the folder, {tmp} a folder for outputs, {data} tests/data."""
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field

from mutate import gguf_fields, put

MOST_BYTES = 400_000
SPECS = ["nf4:block=64", "int4", "int8", "q4_0", "binary", "fp8_e4m3:block=32", "mxfp4", "int4:block=16:calib=mse"]


@dataclass
class Seed:
    name: str
    folder: str
    model: str  # relative to the folder; "." is the folder itself
    targets: list  # (file, kind)
    commands: list = field(default_factory=list)
    tensors: list = field(default_factory=lambda: ["weight"])


WEIGHTS = [
    ["inspect", "{p}", "--stats", "--json", "-"], ["inspect", "{p}"], ["audit", "{p}", "--json", "-"],
    ["analyze", "{p}", "--spec", "{spec}", "--json", "-"], ["dequantize", "{p}", "-o", "{tmp}/out.safetensors"],
    ["quantize", "{p}", "--spec", "{spec}", "-o", "{tmp}/out.safetensors"], ["quantize", "{p}", "--spec", "int8", "-o", "{tmp}/out"],
    ["diff", "{p}", "{original}", "--json", "-"], ["verify", "{original}", "{p}", "--json", "-"],
    ["plan", "{p}", "--spec", "nf4:block=64", "--spec", "int8", "--budget", "6bpw", "--by", "nmse", "-o", "{tmp}/plan.json"],
    ["sweep", "{p}", "--spec", "int4", "--block", "32", "--json", "-"],
    ["whatif", "{p}", "--tensor", "{tensor}", "--spec", "{spec}", "--transpose", "1,0", "--concatenate", "0", "--json", "-"],
    ["products", "{p}", "--tensor", "{tensor}", "--rows", "4", "--json", "-"],
]
NETWORK = [
    ["eval", "{p}", "--tokens", "{tokens}", "--spec", "int4", "--ctx", "8", "--chunks", "2", "--json", "-"],
    ["eval", "{p}", "--tokens", "{tokens}", "--against", "{original}", "--ctx", "8", "--chunks", "2"],
    ["capture", "{p}", "--tokens", "{tokens}", "--ctx", "8", "--chunks", "2", "-o", "{tmp}/inputs.safetensors"],
    ["sensitivity", "{p}", "--tokens", "{tokens}", "--spec", "int4", "--ctx", "8", "--chunks", "2", "--json", "-"],
]


def kind_of(name):
    if name.endswith((".runs", ".records")):
        return name.rsplit(".", 1)[1]
    endings = {".safetensors": "safetensors", ".gguf": "gguf", ".npy": "npy", ".npz": "npz", ".onnx": "proto", ".tflite": "words32",
               ".json": "json", ".keras": "keras", ".zattrs": "json", ".zarray": "json", ".zgroup": "json", ".zmetadata": "json",
               ".h5": "words32", ".recipe": "bytes", ".model": "proto", ".dat": "words32"}
    for ending, kind in endings.items():
        if name.endswith(ending):
            return kind
    if name.endswith((".pt", ".pth", ".bin", ".ckpt")):
        return "torch"
    return "bytes"


def files_in(folder):
    out = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path) and 0 < os.path.getsize(path) <= MOST_BYTES:
                out.append(os.path.relpath(path, folder))
    return sorted(out)


class Seeds:
    """Makes the seeds in `work`; those of an earlier run are taken as they are."""

    def __init__(self, root, cli, work, few):
        self.data, self.cli, self.work, self.few = os.path.join(root, "tests/data"), cli, work, few
        self.root, self.all = root, []
        os.makedirs(work, exist_ok=True)

    def run(self, *words):
        done = subprocess.run([self.cli, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if done.returncode != 0:
            print("seeds:", " ".join(words), "->", done.returncode, done.stdout.decode("utf-8", "replace")[-300:])
        return done.returncode == 0

    def path(self, name):
        return os.path.join(self.work, name)

    def add(self, name, source, commands, model=None, kind=None, only=None):
        """A seed of a file or folder; `only`: the files that are changed."""
        folder = self.path("seed-" + name)
        if not os.path.isdir(folder):
            if os.path.isdir(source):
                shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.py", "*.md", "LICENSE*"))
            else:
                os.makedirs(folder)
                shutil.copy(source, folder)
        files = only or files_in(folder)
        targets = [(file, kind or kind_of(file)) for file in files]
        if model is None:
            model = "." if os.path.isdir(source) else os.path.basename(source)
        if targets:
            self.all.append(Seed(name, folder, model, targets, commands))
        if any("{tensor}" in command for command in commands):
            self.all[-1].tensors = self.tensors(name, os.path.join(folder, model))

    def tensors(self, name, model):
        """Names of tensors, as regular expressions that take no other."""
        listed = self.path("tensors-%s.json" % name)
        if not os.path.exists(listed):
            subprocess.call([self.cli, "inspect", model, "--json", listed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not os.path.exists(listed):
            return ["weight"]  # a seed that is refused
        with open(listed) as file:
            names = [row["name"] for row in json.load(file)["tensors"]]
        return [json.dumps(one)[1:-1] for one in names] or ["weight"]

    def weights(self):
        places = ["safetensors", "gguf", "pytorch", "onnx", "tflite", "golden", "keras", "diff"]
        for place in places:
            folder = os.path.join(self.data, place)
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                known = (".safetensors", ".gguf", ".pt", ".pth", ".onnx", ".tflite", ".npz", ".keras", ".h5")
                if os.path.isfile(path) and name.endswith(known) and os.path.getsize(path) <= MOST_BYTES:
                    kind = "pickle" if name.startswith("legacy_") and name.endswith(".pt") else None
                    self.add(place + "-" + name, path, WEIGHTS, kind=kind)
        unknown = self.path("unknown.gguf")
        with open(os.path.join(self.data, "gguf/types.gguf"), "rb") as types, open(unknown, "wb") as out:
            data = types.read()
            at, size = gguf_fields(data)[-2]
            out.write(put(data, at, size, 250))
        self.add("gguf-unknown.gguf", unknown, WEIGHTS)
        for place in ["conventions", "zarr", "ocdbt", "tfjs"]:
            folder = os.path.join(self.data, place)
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if os.path.isdir(path):
                    self.add(place + "-" + name, path, WEIGHTS, kind="ocdbt" if place == "ocdbt" else None)

    def networks(self):
        for name in ["llama", "mixtral", "gpt2", "bert", "gemma2", "qwen3_moe_fused", "phi3_long"]:
            self.add("network-" + name, os.path.join(self.data, "eval", name), WEIGHTS[:4] + NETWORK * 2)
        for name in ["llama.gguf", "mixtral.gguf", "bert.gguf", "gemma2.gguf"]:
            self.add("network-" + name, os.path.join(self.data, "eval/gguf", name), WEIGHTS[:4] + NETWORK * 2)
        llama = os.path.join(self.data, "eval/llama")
        network = self.path("base")
        shutil.copytree(llama, network, dirs_exist_ok=True)
        tokens = os.path.join(network, "tokens.npy")
        evaluated = ["eval", llama, "--ctx", "8", "--spec", "int4"]
        self.add("tokens", tokens, [evaluated + ["--tokens", "{f}"], ["capture", llama, "--tokens", "{f}", "--ctx", "8", "-o", "{tmp}/x.gguf"]])
        base = self.path("base.kld")
        if os.path.exists(base) or self.run("eval", llama, "--tokens", tokens, "--ctx", "8", "--save-base", base):
            self.add("base-logits", base, [evaluated + ["--base", "{f}"]], kind="words32")
        for name in ["gpt2", "llama3", "gemma", "smollm"]:
            source, folder = os.path.join(self.data, "eval/tokenizers", name + ".json"), self.path("tokenizer-" + name)
            if os.path.exists(source) and os.path.getsize(source) < 3_000_000 and not os.path.isdir(folder):
                os.makedirs(folder)
                shutil.copy(source, os.path.join(folder, "tokenizer.json"))
                shutil.copy(os.path.join(llama, "config.json"), folder)
                shutil.copy(os.path.join(llama, "model.safetensors"), folder)
                with open(os.path.join(folder, "text.txt"), "w") as text:
                    text.write("The quick brown fox, 12345 \ufeff  jumps\n\u00e9\u4e2d\U0001f600 don't <s> \n")
            if os.path.isdir(folder):
                self.add("tokenizer-" + name, folder, [["tokenize", "{p}", "--text", "{room}/text.txt", "--json", "-"]], only=["tokenizer.json"])
        for name in ["pairs.gguf", "smollm.gguf", "spm_bpe.gguf"]:
            path = os.path.join(self.data, "eval/tokenizers", name)
            if os.path.getsize(path) <= MOST_BYTES:
                self.add("tokenizer-" + name, path, [["tokenize", "{p}", "--text", "{data}/eval/tokenizers/texts.json", "--json", "-"]])

    def written(self):
        """What the program itself writes, in each layout, and what stands beside it."""
        source = os.path.join(self.data, "eval/llama")
        sources = {"gguf": os.path.join(self.data, "eval/gguf/llama.gguf"), "gptq": os.path.join(self.root, "resources/samples/tiny-llama")}
        for layout, spec, out in [("native", "int4:block=16", "x.safetensors"), ("eformer", "nf4:block=64", "x.safetensors"), ("native", "int3", "d"),
                                  ("bnb", "nf4:block=64:dialect=bnb", "d"), ("gguf", "q4_0", "x.gguf"), ("hdf5", "int8", "x.h5"),
                                  ("npz", "int8", "x.npz"), ("compressed-tensors", "int8:dialect=ct", "d"), ("plain", "int4", "d"),
                                  ("gptq", "int4:dialect=ct:block=32:scaletype=f16", "d"), ("mlx", "int4:block=32:dialect=mlx", "d"), ("llm-int8", "int8:dialect=bnb", "d")]:
            name = "written-%s-%s" % (layout, spec.split(":")[0])
            place = self.path(name)
            if not os.path.isdir(place):
                os.makedirs(place)
                self.run("quantize", sources.get(layout, source), "--spec", spec, "--layout",
                         layout, "--skip-refused", "-o", os.path.join(place, out), "--certificate", os.path.join(place, "certificate.json"))
            if os.path.exists(os.path.join(place, out)):
                checked = [["verify", sources.get(layout, source), "{p}", "--certificate", "{room}/certificate.json"],
                           ["verify", sources.get(layout, source), "{p}", "--json", "-"]]
                self.add(name, place, WEIGHTS + NETWORK[:1] + checked, model=out)

    def records(self):
        llama, bert = (os.path.join(self.data, "eval", name) for name in ("llama", "bert"))
        text = ["--tokens", os.path.join(llama, "tokens.npy"), "--ctx", "4"]
        commands = {
            "analyze": ["analyze", llama, "--spec", "int4", "--spec", "nf4:block=16", "--tensor", "layers.0"],
            "sweep": ["sweep", llama, "--spec", "int4", "--block", "16", "--tensor", "layers.0"],
            "audit": ["audit", llama],
            "eval": ["eval", llama, "--spec", "int4", "--spec", "int2:block=16"] + text,
            "cosines": ["eval", bert, "--spec", "int4", "--tokens", os.path.join(bert, "tokens.npy"), "--ctx", "4"],
            "alone": ["sensitivity", llama, "--spec", "int4", "--by", "layer"] + text,
            "output": ["sensitivity", llama, "--spec", "int4", "--how", "output"] + text,
            "slope": ["sensitivity", llama, "--how", "slope", "--by", "role"] + text,
            "rows": ["capture", llama, "-o", "{tmp}/rows.safetensors"] + text,
            "gram": ["capture", os.path.join(self.data, "eval/mixtral"), "--what", "gram", "-o", "{tmp}/gram.safetensors"] + text,
            "squares": ["capture", os.path.join(self.data, "eval/mixtral"), "-o", "{tmp}/i.gguf"] + text,
            "plan": ["plan", llama, "--spec", "nf4:block=16", "--spec", "int8", "--budget", "7bpw", "--by", "nmse", "-o", "{tmp}/plan.json"],
            "export": ["export", llama, "--recipe", "{data}/recipes/quantscope.json", "--layout", "native", "-o", "{tmp}/export"],
        }
        for name, words in commands.items():
            folder, room = self.path("records-" + name), self.path("records-out")
            if not os.path.isdir(folder):
                os.makedirs(room, exist_ok=True)
                self.run(*[w.format(tmp=room, data=self.data) for w in words], "--records", folder)
                shutil.rmtree(room, ignore_errors=True)
            if not os.path.isdir(folder):
                continue
            own = ["-o", words[words.index("-o") + 1]] if "-o" in words else []
            reports = ["--json", "{tmp}/m.json"] if name in ("alone", "output", "slope", "plan") else \
                ["--html", "{tmp}/m.html", "--json", "{tmp}/m.json"] if not own else []
            self.add("records-" + name, folder, [["merge", "{room}"] + own + reports] * 2 + [words + ["--records", "{room}"]])
        cache = self.path("cache")
        for how in ("alone", "output"):
            words = ["sensitivity", llama, "--spec", "int4", "--by", "layer", "--how", how] + text
            folder = self.path("cache-" + how)
            if not os.path.isdir(folder):
                self.run(*words, "--cache", folder)
            if os.path.isdir(folder):
                self.add("cache-" + how, folder, [words + ["--cache", "{room}", "--json", "-"]])

    def beside(self):
        """Recipes, importance matrices, figures of other programs."""
        llama = os.path.join(self.data, "eval/llama")
        folder = os.path.join(self.data, "recipes")
        for name in sorted(os.listdir(folder)):
            self.add("recipe-" + name, os.path.join(folder, name), [
                ["recipe", "resolve", "{f}", "--model", llama, "--json", "-"], ["recipe", "resolve", "{f}"],
                ["quantize", llama, "--recipe", "{f}", "-o", "{tmp}/out.safetensors"]]
                + [["recipe", "convert", "{f}", "--to", to, "--model", llama, "-o", "{tmp}/r" + ending]
                   for to, ending in [("maxtext", ".json"), ("qwix", ".yaml"), ("llama.cpp", ".txt"), ("compressed-tensors", ".json")]])
        text = ["--tokens", os.path.join(llama, "tokens.npy"), "--ctx", "8"]
        for ending in ("gguf", "dat", "safetensors"):
            path = self.path("imatrix." + ending)
            if os.path.exists(path) or self.run("capture", llama, "-o", path, *text):
                self.add("inputs-" + ending, path, [
                    ["analyze", llama, "--spec", "int4:block=16", "--activations", "{f}", "--tensor", "layers.0", "--json", "-"],
                    ["quantize", llama, "--spec", "int4:block=16", "--solver", "gptq", "--activations", "{f}", "-o", "{tmp}/out.safetensors"]])
        measured = self.path("measured.json")
        if os.path.exists(measured) or self.run("sensitivity", llama, "--spec", "int4", "--json", measured, *text):
            self.add("evidence", measured, [["analyze", llama, "--spec", "int4", "--evidence", "{f}", "--json", "-"]])

    def make(self):
        self.weights()
        self.records()
        if not self.few:
            self.networks()
            self.written()
            self.beside()
        return self.all
