# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny networks as GGUF files: written by llama.cpp's own converter, run by llama.cpp (cyllama binds it). They have no vocabulary, because
networks are asked with numbers of tokens.
"""
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
    """Writes `file`, all of it in F32, and returns the map of names. `more`: entries of config.json that the converter wants."""
    conversion, gguf = converter
    hparams = {**conversion.ModelBase.load_hparams(Path(folder), False), **more}
    kind = conversion.get_model_class(conversion.get_model_architecture(hparams, conversion.ModelType.TEXT))

    class Network(kind):
        model_arch = kind.model_arch

        def set_vocab(self):
            self.gguf_writer.add_tokenizer_model("none")
            if not any(key.endswith(".vocab_size") for part in self.gguf_writer.kv_data for key in part):
                self.gguf_writer.add_vocab_size(hparams["vocab_size"])

    network = Network(Path(folder), gguf.LlamaFileType.ALL_F32, Path(file), eager=True, hparams=hparams)
    network.write()
    return network.tensor_map


def name_in(names, tensor):
    """ "blk.0.attn_q.weight" of "model.layers.0.self_attn.q_proj.weight"; experts of a stack have the name of the stack. None: it has none."""
    plain = re.sub(r"\.experts\.\d+\.", ".experts.", tensor)
    return names.get_name(plain, (".weight",))


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
    """A network in llama.cpp with the manners of one of transformers."""

    def __init__(self, file):
        from cyllama.llama import llama_cpp

        class Model(llama_cpp.LlamaModel):
            n_vocab = vocabulary_of(file)  # what get_logits_ith() of cyllama 0.2.18 asks for

        llama_cpp.disable_logging()
        how = llama_cpp.LlamaModelParams()
        how.n_gpu_layers = 0
        self.model = Model(str(file), how)
        how = llama_cpp.LlamaContextParams()
        how.n_ctx, how.n_batch, how.n_ubatch, how.n_threads, how.n_threads_batch = 64, 64, 64, 1, 1
        how.type_k = how.type_v = 0  # F32
        how.flash_attn_type = 0
        self.context = llama_cpp.LlamaContext(self.model, how)
        self.batch = llama_cpp.LlamaBatch(n_tokens=64, embd=0, n_seq_max=1)

    def __call__(self, input_ids):
        tokens = input_ids[0].tolist()
        self.batch.reset()
        for place, token in enumerate(tokens):
            self.batch.add(token, place, [0], True)
        if self.context.decode(self.batch):
            raise RuntimeError("llama.cpp does not run it")
        rows = [np.array(self.context.get_logits_ith(place), dtype=np.float32) for place in range(len(tokens))]
        return {"logits": torch.from_numpy(np.stack(rows))[None]}
