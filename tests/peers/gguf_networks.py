# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny networks as GGUF files: written by llama.cpp's own converter, run by llama.cpp (cyllama binds it). They have no vocabulary, because
networks are asked with numbers of tokens.
"""
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

converter = None  # modules of llama.cpp


def load_converter(source):
    """`source`: folder of llama.cpp's source. Its own gguf package is taken, in front of an installed one."""
    global converter
    sys.path[:0] = [str(source), str(Path(source) / "gguf-py")]
    import conversion
    import gguf

    converter = conversion, gguf


def convert(folder, file, more):
    """Writes `file`, all of it in F32, and returns the converter, for name_in(). `more`: entries of config.json that the converter wants."""
    conversion, gguf = converter
    hparams = {**conversion.ModelBase.load_hparams(Path(folder), False), **more}
    kind = conversion.get_model_class(conversion.get_model_architecture(hparams, conversion.ModelType.TEXT))

    class Network(kind):
        model_arch = kind.model_arch
        no_mtp = True  # transformers makes no layers that predict further tokens

        def set_vocab(self):
            self.gguf_writer.add_tokenizer_model("none")
            if issubclass(kind, conversion.get_model_class("BertModel")) and self.model_arch != gguf.MODEL_ARCH.MODERN_BERT:
                self.gguf_writer.add_token_type_count(hparams.get("type_vocab_size", 1))
            if not any(key.endswith(".vocab_size") for part in self.gguf_writer.kv_data for key in part):
                self.gguf_writer.add_vocab_size(hparams["vocab_size"])

    tokens = {"model": {"vocab": {str(number): number for number in range(hparams["vocab_size"])}}, "added_tokens": []}
    (Path(folder) / "tokenizer.json").write_text(json.dumps(tokens))  # the converter of Gemma 3 cuts the embedding to the tokens that are there
    network = Network(Path(folder), gguf.LlamaFileType.ALL_F32, Path(file), eager=True, hparams=hparams)
    if network.model_arch == gguf.MODEL_ARCH.MAMBA2:  # llama.cpp takes the heads from a key into which its converter writes 0
        add = network.gguf_writer.add_head_count
        network.gguf_writer.add_head_count = lambda count: add(count or hparams["num_heads"])
    network.write()
    return network


def name_in(network, tensor):
    """ "blk.0.attn_q.weight" of "model.layers.0.self_attn.q_proj.weight"; experts of a stack have the name of the stack. None: it has none."""
    known = network.filter_tensors((tensor, None))  # without the prefix of a network with a head, say
    return known and network.tensor_map.get_name(re.sub(r"\.experts\.\d+\.", ".experts.", known[0]), (".weight",))


def with_values(source, values, file):
    """The source with other values, by name."""
    _, gguf = converter
    shutil.copy(source, file)
    for tensor in gguf.GGUFReader(file, "r+").tensors:
        if tensor.name in values:
            tensor.data[...] = values[tensor.name].reshape(tensor.data.shape)


def types_of(file):
    """The type of each tensor: "Q8_0"."""
    _, gguf = converter
    return {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(file).tensors}


def architecture_of(file):
    _, gguf = converter
    return gguf.GGUFReader(file).get_field("general.architecture").contents()


def vocabulary_of(file):
    _, gguf = converter
    reader = gguf.GGUFReader(file)
    return int(reader.get_field(architecture_of(file) + ".vocab_size").contents())


class LlamaCpp:
    """A network in llama.cpp with the manners of one of transformers. An encoder says its hidden states, without a pooler or head."""

    def __init__(self, file, is_encoder):
        from cyllama.llama import llama_cpp

        class Model(llama_cpp.LlamaModel):
            n_vocab = vocabulary_of(file)  # what get_logits_ith() of cyllama 0.2.18 asks for

        said = []
        llama_cpp.set_log_callback(lambda level, text: said.append(text))
        self.is_encoder = is_encoder
        how = llama_cpp.LlamaModelParams()
        how.n_gpu_layers = 0
        try:
            self.model = Model(str(file), how)
        except ValueError:
            raise RuntimeError(" ".join("".join(text for text in said if "error loading model" in text).split()) or "llama.cpp does not load it") from None
        how = llama_cpp.LlamaContextParams()
        how.n_ctx, how.n_batch, how.n_ubatch, how.n_threads, how.n_threads_batch = 64, 64, 64, 1, 1
        how.type_k = how.type_v = 0  # F32
        how.flash_attn_type = 0
        how.embeddings, how.pooling_type = self.is_encoder, 0
        self.context = llama_cpp.LlamaContext(self.model, how)
        self.batch = llama_cpp.LlamaBatch(n_tokens=64, embd=0, n_seq_max=1)

    def run(self, ids, how):
        tokens = ids[0].tolist()
        self.batch.reset()
        for place, token in enumerate(tokens):
            self.batch.add(token, place, [0], True)
        if how(self.batch):
            raise RuntimeError("llama.cpp does not run it")
        return range(len(tokens))

    def __call__(self, input_ids, decoder_input_ids=None):
        if decoder_input_ids is not None:
            self.run(input_ids, self.context.encode)
            input_ids = decoder_input_ids
        places = self.run(input_ids, self.context.encode if self.is_encoder else self.context.decode)
        row = self.context.get_embeddings_ith if self.is_encoder else self.context.get_logits_ith
        rows = torch.from_numpy(np.stack([np.array(row(place), dtype=np.float32) for place in places]))[None]
        return {"last_hidden_state" if self.is_encoder else "logits": rows}
