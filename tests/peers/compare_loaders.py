# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports tiny networks in every layout that a foreign program loads, loads each by that program, and compares its outputs with those of
transformers on the folder that layout `plain` writes with the same specs. The cells of the table go into a file from which
docs/layouts.md and the certificates of exports take them.

    compare_loaders.py CLI [--only REGEX ...] [--layout REGEX] [--llama-cpp FOLDER] [--jobs N] [--write FILE]

llama.cpp loads files of GGUF, which its converter makes of a network: it is in the folder of llama.cpp's source. Without that folder there is
no column gguf.
"""
import argparse
import datetime
import gc
import json
import logging
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ.update(TORCHDYNAMO_DISABLE="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", TQDM_DISABLE="1", OMP_NUM_THREADS="1")
warnings.filterwarnings("ignore")
import torch
from safetensors import safe_open

import gguf_networks
from networks import ENCODERS, NETWORKS, make

torch.set_num_threads(1)
SECOND_LAYER = r"^(?!.*\.wo\.weight).*\b(layers?|h|blocks?|layer_list|blk)\.1\."
TRANSFORMERS = "transformers"


class Column:
    """A kind of export: layout, spec, what the second layer gets in the mixture ("": no mixture), the tolerance of its outputs, what loads
    it, and what quantizes the source by the loader's own means, saves it and loads it again.
    """

    def __init__(self, layout, spec, second, tolerance, peers, loader, itself):
        self.layout, self.spec, self.second, self.tolerance, self.peers, self.loader, self.itself = layout, spec, second, tolerance, peers, loader, itself

    @property
    def title(self):
        return self.layout if self.layout != "compressed-tensors" else f"ct {self.spec.split(':')[0]}"


def by_transformers(folder, task, dtype=torch.float32, **options):
    import transformers

    model, info = getattr(transformers, task).from_pretrained(folder, dtype=dtype, device_map="cpu", output_loading_info=True, **options)
    keys = {kind: sorted(map(str, info.get(kind, ()))) for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    return model.eval(), keys


def by_transformers_in_bf16(folder, task):
    """compressed-tensors decodes floats of 4 bits to bfloat16."""
    return by_transformers(folder, task, torch.bfloat16)


def by_gptq(folder, task):
    from transformers import GPTQConfig

    bits = json.loads((folder / "config.json").read_text())["quantization_config"]["bits"]
    return by_transformers(folder, task, quantization_config=GPTQConfig(bits=bits, backend="gptq_torch"))


class Mlx:
    """A network in mlx_lm with the manners of one of transformers."""

    def __init__(self, model):
        self.model = model

    def __call__(self, input_ids):
        import mlx.core as mx
        import numpy as np

        return {"logits": torch.from_numpy(np.array(self.model(mx.array(input_ids.numpy())).astype(mx.float32)))}


def by_mlx(folder, task):
    import mlx.core as mx
    from mlx_lm.utils import load_model

    mx.set_default_device(mx.cpu)
    return Mlx(load_model(folder, model_config=older_config(folder))[0]), {}


def by_gptqmodel(folder, task):
    """What transformers stacks, such as experts, gptqmodel loads one by one. It wants a tokenizer with a padding token."""
    import contextlib
    import io
    import shutil

    from gptqmodel import BACKEND, GPTQModel

    sample = Path(__file__).parents[2] / "resources/samples/tiny-llama"
    shutil.copy(sample / "tokenizer.json", folder)
    said = json.loads((sample / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(said, pad_token="\u0100")))
    with contextlib.redirect_stdout(io.StringIO()):
        return GPTQModel.load(str(folder), device="cpu", backend=BACKEND.GPTQ_TORCH, dtype=torch.float16).model.eval(), {}


class HiddenStates:
    """What llama.cpp says of an encoder: neither pooler nor head."""

    def __init__(self, model):
        self.model = model

    def __call__(self, **arguments):
        return {"last_hidden_state": self.model(**arguments)["last_hidden_state"]}


def by_llama_cpp(file, task):
    return gguf_networks.LlamaCpp(file, task in ENCODERS), {}


def older_config(folder):
    """What mlx_lm and llama.cpp's converter look for in config.json, and transformers 5 writes under other names or not at all."""
    config = json.loads((folder / "config.json").read_text())
    rope, kinds = config.get("rope_parameters") or {}, config.get("layer_types") or []
    names = {"rope_theta": rope.get("rope_theta"), "num_experts": config.get("num_local_experts"), "n_ctx": config.get("n_positions"),
             "rotary_emb_base": rope.get("rope_theta"), "rotary_pct": rope.get("partial_rotary_factor", 1.0), "partial_rotary_factor": rope.get("partial_rotary_factor"),
             "full_attention_interval": kinds.index("full_attention") + 1 if "full_attention" in kinds else None,
             "layer_norm_eps": config.get("norm_eps"), "block_dim": config.get("hidden_size")}
    if config["model_type"] == "mamba2":
        names["intermediate_size"] = config["num_heads"] * config["head_dim"]
    if config["model_type"] == "deepseek_v2":
        names["rope_scaling"] = {"factor": 1.0}  # mlx_lm wants one; this one changes nothing
    return {name: value for name, value in names.items() if value is not None and name not in config}


def same_again(network, model, load):
    """Fails unless the saved model loads and says the same."""
    before, folder = outputs(model, network.arguments), network.work / "itself"
    subprocess.run(["rm", "-rf", folder])
    model.save_pretrained(folder)
    model, keys = load(folder)
    if any(keys.values()) or not apart(outputs(model, network.arguments), before) < 1e-3:
        raise RuntimeError(f"its own file loads with other outputs {keys}")


def bitsandbytes_itself(network, column):
    from transformers import BitsAndBytesConfig

    four = column.layout == "bnb"
    config = BitsAndBytesConfig(load_in_4bit=four, load_in_8bit=not four, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32)
    model, _ = by_transformers(network.source, network.task, quantization_config=config)
    if not any(type(module).__name__ in ("Linear4bit", "Linear8bitLt") for module in model.modules()):
        raise RuntimeError("bitsandbytes finds no linear layer")
    same_again(network, model, lambda folder: by_transformers(folder, network.task))


def compressed_tensors_itself(network, column):
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme, apply_quantization_config
    from compressed_tensors.quantization.utils import calculate_qparams

    shape = dict(int4=dict(num_bits=4, type="int", strategy="group", group_size=32), int8=dict(num_bits=8, type="int", strategy="channel"),
                 fp8_e4m3=dict(num_bits=8, type="float", strategy="channel"), nvfp4=dict(num_bits=4, type="float", strategy="tensor_group", group_size=16),
                 mxfp4=dict(num_bits=4, type="float", strategy="group", group_size=32))[column.spec.split(":")[0]]
    model, _ = column.loader(network.source, network.task)
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    kept = [name for name, module in model.named_modules() if module is head]
    apply_quantization_config(model, QuantizationConfig(config_groups={"group_0": QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**shape))}, ignore=kept))
    found = [module for module in model.modules() if hasattr(module, "weight_scale")]
    if not found:
        raise RuntimeError("compressed-tensors finds no linear layer")
    for module in found:
        args, weight = module.quantization_scheme.weights, module.weight.data
        if args.group_size and weight.shape[1] % args.group_size:
            raise RuntimeError(f"groups of {args.group_size} do not divide {weight.shape[1]} columns")
        groups = weight.reshape(weight.shape[0], -1, args.group_size or weight.shape[1])
        scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), args)
        module.weight_scale.data = scale.to(module.weight_scale.dtype).reshape(module.weight_scale.shape)
    compressor = ModelCompressor.from_pretrained_model(model)
    folder = network.work / "itself"
    subprocess.run(["rm", "-rf", folder])
    compressor.compress_model(model)
    model.save_pretrained(folder)
    compressor.update_config(folder)
    model, keys = column.loader(folder, network.task)
    if any(keys.values()):
        raise RuntimeError(f"its own file loads with other keys {keys}")
    outputs(model, network.arguments)


def gptq_itself(network, column):
    """Calibration is left out: the layers that it makes hold zeros. Transformers saves the network and loads it again."""
    from optimum.gptq import GPTQQuantizer
    from transformers import GPTQConfig

    model, _ = by_transformers(network.source, network.task)
    if model.main_input_name != "input_ids":
        raise RuntimeError("transformers: We can only quantize pure text model.")
    quantizer = GPTQQuantizer.from_dict(GPTQConfig(bits=4, group_size=32, desc_act=False, sym=True, backend="gptq_torch").to_dict_optimum())
    model = quantizer.convert_model(model, device_map="cpu")
    model.config.quantization_config = GPTQConfig.from_dict(quantizer.to_dict())
    folder = network.work / "itself"
    subprocess.run(["rm", "-rf", folder])
    model.save_pretrained(folder)
    model, keys = by_gptq(folder, network.task)
    if any(keys.values()):
        raise RuntimeError(f"its own file loads with other keys {keys}")
    outputs(model, network.arguments)


def mlx_itself(network, column):
    import mlx.core as mx
    from mlx_lm.utils import load_model, quantize_model, save_config, save_model

    mx.set_default_device(mx.cpu)
    model, config = load_model(network.source, model_config=older_config(network.source))
    model, config = quantize_model(model, config, 32, 4)
    if not any(hasattr(module, "scales") for _, module in model.named_modules()):
        raise RuntimeError("mlx_lm finds no layer with whole groups of 32")
    before, folder = outputs(Mlx(model), network.arguments), network.work / "itself"
    subprocess.run(["rm", "-rf", folder])
    folder.mkdir()
    save_model(folder, model)
    save_config(config, config_path=folder / "config.json")
    if not apart(outputs(by_mlx(folder, network.task)[0], network.arguments), before) < 1e-3:
        raise RuntimeError("its own file loads with other outputs")


def plain_itself(network, column):
    by_transformers(network.source, network.task)


def llama_cpp_itself(network, column):
    from cyllama.llama import llama_cpp

    params, file = llama_cpp.LlamaModelQuantizeParams(), network.work / "itself.gguf"
    params.ftype, params.nthread = 7, 1  # Q8_0
    llama_cpp.model_quantize(str(network.gguf()[0]), str(file), params)
    outputs(by_llama_cpp(file, network.task)[0], network.arguments)


HF, BNB, CT = ("transformers",), ("transformers", "bitsandbytes"), ("transformers", "compressed-tensors")
# LLM.int8 quantizes activations; the other products are those of the decoded weights, in another order.
COLUMNS = [
    Column("plain", "int8:scale=channel", "int4:block=32", 1e-9, HF, by_transformers, plain_itself),
    Column("bnb", "nf4:dialect=bnb", "nf4:dialect=bnb:block=32", 1e-3, BNB, by_transformers, bitsandbytes_itself),
    Column("llm-int8", "int8:dialect=bnb", "keep", 2e-2, BNB, by_transformers, bitsandbytes_itself),
    Column("compressed-tensors", "int4:dialect=ct:block=32", "int8:scale=channel", 1e-9, CT, by_transformers, compressed_tensors_itself),
    Column("compressed-tensors", "int8:scale=channel", "", 1e-9, CT, by_transformers, compressed_tensors_itself),
    Column("compressed-tensors", "fp8_e4m3", "keep", 1e-9, CT, by_transformers, compressed_tensors_itself),
    Column("compressed-tensors", "nvfp4", "", 1e-4, CT, by_transformers_in_bf16, compressed_tensors_itself),
    Column("compressed-tensors", "mxfp4", "", 1e-4, CT, by_transformers_in_bf16, compressed_tensors_itself),
    Column("gptq", "int4:dialect=ct:block=32:scaletype=f16", "keep", 1e-3, ("transformers", "gptqmodel", "optimum"), by_gptq, gptq_itself),
    Column("mlx", "int4:dialect=mlx:block=32", "int8:dialect=mlx:block=32", 1e-4, ("mlx", "mlx-lm"), by_mlx, mlx_itself),
    # It rounds activations to the blocks of the weights.
    Column("gguf", "q8_0", "q4_0", 2e-2, ("cyllama",), by_llama_cpp, llama_cpp_itself),
]


def quantscope(*arguments):
    done = subprocess.run([options.cli, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    said = " ".join(done.stderr.split()) if done.returncode else done.stdout
    return done.returncode, re.sub(r"^quantscope-cli: ", "", said).replace(str(Path(tempfile.gettempdir())), "")


def outputs(model, arguments):
    """What a network says: its logits if it has some, else every tensor."""
    kind = getattr(model, "dtype", torch.float32)
    with torch.no_grad():
        said = model(**{name: value.to(kind) if value.is_floating_point() else value for name, value in arguments.items()})
    if torch.is_tensor(said.get("logits")):
        return torch.log_softmax(said["logits"].float(), -1)
    flat = [value.float().flatten() for value in said.values() if torch.is_tensor(value)]
    return torch.cat(flat)


def rounded(values):
    """To blocks of q8_0, in which llama.cpp multiplies q8_0 and q4_0."""
    blocks = values.unflatten(-1, (-1, 32))
    scale = blocks.abs().amax(-1, keepdim=True) / 127
    return ((blocks / scale).nan_to_num().round() * scale.half().float()).flatten(-2)


def apart(ours, theirs):
    """KL divergence of logits, else the relative squared error."""
    if ours.shape != theirs.shape:
        return float("inf")
    far = (theirs.exp() * (theirs - ours)).sum(-1).mean() if ours.ndim > 1 else ((ours - theirs) ** 2).sum() / (theirs ** 2).sum()
    return float(far) if torch.isfinite(far) else float("inf")


def short(error):
    said = re.sub(re.escape(tempfile.gettempdir()) + r"[\w./+-]*", "FOLDER", " ".join(str(error).split()))
    return f"{type(error).__name__}: {said}"[:300]


def refusal(said):
    """Without the name of the model and what is offered."""
    return re.sub(r"; (--tensor|what fits).*", "", re.sub(r"^\S*/source(\.gguf)?: (\d+ of \d+ tensors cannot be quantized, nothing was written; )?", "", said))[:300]


class Network:
    def __init__(self, name, work):
        self.name, self.work, self.source = name, work, work / "source"
        self.row, self.arguments = make(name, self.source)
        self.kind, self.task = self.row[1], self.row[2]
        self.plains, self.own, self.converted = {}, {}, None
        with safe_open(self.source / "model.safetensors", "pt") as file:
            self.shapes = {name: list(file.get_slice(name).get_shape()) for name in file.keys()}

    def plain(self, specs, dtype):
        """Outputs and loading report of transformers on the folder of layout plain, with these specs by name of tensor."""
        key = json.dumps([specs, str(dtype)], sort_keys=True)
        if key not in self.plains:
            recipe, folder = self.work / "recipe.json", self.work / f"plain{len(self.plains)}"
            rules = [{"tensor": f"^{re.escape(name)}$", "spec": spec} for name, spec in specs.items()]
            recipe.write_text(json.dumps({"version": 1, "default": "keep", "rules": rules}))
            code, said = quantscope("export", self.source, "--recipe", recipe, "--layout", "plain", "-o", folder)
            if code:
                raise RuntimeError(f"plain is not written: {said}")
            model, keys = by_transformers(folder, self.task, dtype)
            self.plains[key] = (outputs(model, self.arguments), keys, folder)
        return self.plains[key]

    def decoded(self, out):
        """Outputs of transformers on what quantscope-cli decodes: for matrices that the layout stores transposed, whose blocks run the other
        way in layout plain.
        """
        folder = self.work / "decoded"
        subprocess.run(["rm", "-rf", folder])
        code, said = quantscope("dequantize", out, "-o", folder)
        if code:
            raise RuntimeError(f"dequantize fails: {said}")
        model, keys = by_transformers(folder, self.task)
        return outputs(model, self.arguments), keys, folder

    def gguf(self):
        """The network as llama.cpp's converter writes it, and the converter."""
        if not self.converted:
            file = self.work / "source.gguf"
            self.converted = file, gguf_networks.convert(self.source, file, older_config(self.source))
        return self.converted

    def gguf_cell(self, column, rules, second):
        cell = dict(network=self.name, architecture=self.kind, layout=column.layout, spec=column.spec, second=second, programs=column.peers)
        try:
            source, converter = self.gguf()
            by_llama_cpp(source, self.task)
        except Exception as error:  # it does not know the network, or the tiny network is not of the sizes that it takes
            unknown = isinstance(error, NotImplementedError) or "Can not map tensor" in str(error)
            return dict(cell, result="no loader" if unknown else "fails", reason=f"llama.cpp's converter: {short(error)}")
        cell["architecture"] = gguf_networks.architecture_of(source)
        out = self.work / "out.gguf"
        specs = [word for rule in rules for word in ("--spec", rule)]
        code, said = quantscope("quantize", source, "--spec", column.spec, *specs, "--layout", "gguf", "--force", "-o", out)
        if code:
            return dict(cell, result="refused", reason=refusal(said), itself=self.why_not_itself(column))
        types = gguf_networks.types_of(out)
        places = {name: gguf_networks.name_in(converter, name) for name, shape in self.shapes.items() if len(shape) > 1}
        taken = {name: types[place].lower() for name, place in places.items() if types.get(place, "F32") != "F32"}
        cell["quantized"] = sum(kind != "F32" for kind in types.values())
        turned = self.kind == "gpt2"  # its matrices are stored transposed, so their blocks run the other way
        theirs, _, folder = (None, {}, None) if turned else self.plain(taken, torch.float32)
        if self.task in ENCODERS:
            theirs = outputs(HiddenStates(by_transformers(folder, "AutoModel")[0]), self.arguments)
        cell = self.loaded(cell, column, out, (theirs, {}, folder))
        own = self.why_not_itself(column) if cell["result"] != "loads" else ""
        return dict(cell, result="no loader", reason=own) if own else cell

    def gguf_outputs(self, out):
        """llama.cpp on the decoded values in F32: it computes some families in another way than transformers."""
        decoded, file = self.work / "decoded.safetensors", self.work / "decoded.gguf"
        decoded.unlink(missing_ok=True)
        code, said = quantscope("dequantize", out, "-o", decoded)
        if code:
            raise RuntimeError(f"dequantize fails: {said}")
        with safe_open(decoded, "np") as values:
            gguf_networks.with_values(self.gguf()[0], {name: values.get_tensor(name) for name in values.keys()}, file)
        return outputs(by_llama_cpp(file, self.task)[0], self.arguments)

    def rounded_outputs(self, folder):
        """transformers on the decoded values, with the inputs of its layers rounded as llama.cpp rounds them."""
        model, _ = by_transformers(folder, self.task)
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.register_forward_pre_hook(lambda module, given: (rounded(given[0]),))
        return outputs(model, self.arguments)

    def int8_outputs(self, out):
        """bitsandbytes on the source, quantized by itself with the same layers left out: routers amplify what it rounds of activations."""
        from transformers import BitsAndBytesConfig

        kept = json.loads((out / "config.json").read_text())["quantization_config"]["llm_int8_skip_modules"]
        return outputs(by_transformers(self.source, self.task, quantization_config=BitsAndBytesConfig(load_in_8bit=True, llm_int8_skip_modules=kept))[0], self.arguments)

    def own_outputs(self, column, plain):
        """The same of the loader's own network on that folder: some programs compute a family in another way."""
        return outputs(column.loader(plain, self.task)[0], self.arguments)

    def why_not_itself(self, column):
        """Why the loader's own quantizer fails on the network; "" if it does not."""
        if column not in self.own:
            try:
                column.itself(self, column)
                self.own[column] = ""
            except Exception as error:
                if options.trace:
                    traceback.print_exc()
                self.own[column] = short(error)
        return self.own[column]

    def cell(self, column, mixed):
        """One export: written, loaded, compared. If it is refused for its experts, the same with the experts kept; if the loader's own
        quantizer leaves out what does not fit, the same without the refused ones."""
        rules = [f"{SECOND_LAYER}={column.second}"] if mixed else []
        if column.layout == "gguf":
            return self.gguf_cell(column, rules, column.second if mixed else "")
        cell = self.cell_of(column, rules, column.second if mixed else "")
        if cell["result"] != "refused":
            return cell
        more = [column.second] if mixed else []
        if "expert" in cell["reason"]:
            kept = self.cell_of(column, ["experts|put_linear=keep", *rules], ", ".join(["experts=keep", *more]))
        elif not cell["itself"]:  # it leaves out what does not fit
            kept = self.cell_of(column, rules, ", ".join(["refused=keep", *more]), "--skip-refused")
        else:
            return cell
        return cell if kept["result"] == "refused" else kept

    def cell_of(self, column, rules, second, *how):
        out = self.work / "out"
        subprocess.run(["rm", "-rf", out])
        cell = dict(network=self.name, architecture=self.kind, layout=column.layout, spec=column.spec, second=second, programs=column.peers)
        specs = [word for rule in rules for word in ("--spec", rule)]
        code, said = quantscope("quantize", self.source, "--spec", column.spec, *specs, *how, "--layout", column.layout, "-o", out)
        if code:
            cell = dict(cell, result="refused", reason=refusal(said))
            own = self.why_not_itself(column)
            return dict(cell, itself=own)
        rows = json.loads((out / "certificate.json").read_text())["tensors"]
        written = {row["name"]: row["spec_full"] for row in rows if "spec" in row}
        stacks = {name: re.sub(r"\.experts\.\d+\.", ".switch_mlp.", name) for name in self.shapes}  # as mlx_lm has experts
        taken = {name: written[place] for name in self.shapes for place in (name, stacks[name]) if place in written}
        cell["quantized"] = len(taken)
        turned = any(row["shape"] != self.shapes.get(row["name"], row["shape"]) for row in rows if "spec" in row)
        dtype = torch.bfloat16 if column.loader is by_transformers_in_bf16 else torch.float32
        reference = self.decoded(out) if turned else self.plain(taken, dtype)
        cell = self.loaded(cell, column, out, reference)
        if cell["result"] != "loads" and column.layout == "gptq":
            other = self.loaded(dict(cell, programs=("gptqmodel",)), column, out, reference, by_gptqmodel)
            if other["reason" if other["result"] == "fails" else "result"].startswith("outputs") and not turned:  # it computes in f16, and routers amplify that
                other = self.loaded(other, column, out, self.plain(taken, torch.float16), by_gptqmodel)
            cell = other if other["result"] == "loads" or other["reason"].startswith("outputs") else cell
        if cell["result"] != "loads":
            own = self.why_not_itself(column)
            cell = dict(cell, result="no loader", reason=own) if own else cell
        return cell

    def loaded(self, cell, column, out, reference, loader=None):
        cell = {key: value for key, value in cell.items() if key not in ("reason", "measure", "apart")}
        theirs, plain_keys, folder = reference
        try:
            model, keys = (loader or column.loader)(out, self.task)
            wrong = {kind: [key for key in found if key not in plain_keys.get(kind, ())] for kind, found in keys.items()}
            wrong = {kind: found for kind, found in wrong.items() if found}
            ours = outputs(model, self.arguments)
        except Exception as error:  # an exception of the peer is a test result
            if options.trace:
                traceback.print_exc()
            return dict(cell, result="fails", reason=short(error))
        far = abs(apart(ours, theirs)) if theirs is not None else float("inf")
        if column.layout == "llm-int8" and far > column.tolerance:
            far = abs(apart(ours, self.int8_outputs(out)))
        if column.layout == "gguf" and far > column.tolerance:
            theirs = self.gguf_outputs(out)
            far = abs(apart(ours, theirs))
            if far > column.tolerance and folder:  # of this network the rounding alone is more than the tolerance
                far = abs(apart(ours, self.rounded_outputs(folder)))
        if far > column.tolerance and column.loader is by_mlx:  # it computes some families in another way
            far = abs(apart(ours, self.own_outputs(column, folder)))
        if wrong:
            return dict(cell, result="fails", reason="; ".join(f"{kind.replace('_', ' ')}: {', '.join(found[:4])}" for kind, found in wrong.items())[:300])
        if not far <= column.tolerance:
            return dict(cell, result="fails", reason=f"outputs are {far:.3g} apart")
        return dict(cell, result="loads", measure="kl" if theirs.ndim > 1 else "error", apart=far)


def run(name):
    logging.disable(logging.WARNING)
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            network = Network(name, Path(folder))
        except Exception as error:
            traceback.print_exc()
            print(f"{name} is not made: {short(error)}", flush=True)
            return [dict(network=name, layout="", spec="", second="", result="fails")]
        for column in COLUMNS:
            if not re.search(options.layout, column.title) or (column.layout == "gguf" and not options.llama_cpp):
                continue
            for mixed in (False, True) if column.second else (False,):
                try:
                    cells.append(network.cell(column, mixed))
                except Exception as error:
                    if options.trace:
                        traceback.print_exc()
                    cells.append(dict(network=name, architecture=network.kind, layout=column.layout, spec=column.spec, second=column.second if mixed else "",
                                      programs=column.peers, result="fails", reason=short(error)))
                print(line(cells[-1]), flush=True)
    return cells


def line(cell):
    far = f" {cell['apart']:.2g}" if "apart" in cell else ""
    return f"{cell['result']:9} {cell['network']:26} {cell['layout']:18} {cell['spec']}{' + ' + cell['second'] if cell['second'] else ''}:{far} {cell.get('reason', '')}"


def write(cells):
    """Puts the cells into the file, in place of older ones of the same networks and layouts."""
    path, order = Path(options.write), [row[0] for row in NETWORKS]
    place = lambda cell: (cell["network"], cell["layout"], cell["spec"])
    cells = [cell for cell in cells if cell["layout"]]
    new = {place(cell) for cell in cells}
    older = json.loads(path.read_text())["cells"] if path.exists() else []
    cells = cells + [cell for cell in older if place(cell) not in new]
    columns = [(column.layout, column.spec) for column in COLUMNS]
    cells.sort(key=lambda cell: (order.index(cell["network"]), columns.index((cell["layout"], cell["spec"])), cell["second"]))
    peers = {peer: version(peer) for column in COLUMNS for peer in column.peers}
    made = [dict(layout=column.layout, spec=column.spec, second=column.second, tolerance=column.tolerance) for column in COLUMNS]
    path.write_text(json.dumps({"date": str(datetime.date.today()), "peers": peers, "networks": order, "columns": made, "cells": cells}, indent=1) + "\n")


def load_programs():
    """Before the processes part: each of them is slow to load. MLX starts threads, so each process loads it."""
    import bitsandbytes, compressed_tensors, transformers, transformers.modeling_utils, transformers.models.auto.modeling_auto

    if options.llama_cpp and re.search(options.layout, "gguf"):
        gguf_networks.load_converter(options.llama_cpp)  # before transformers finds another gguf
    if re.search(options.layout, "gptq"):
        import gptqmodel, optimum.gptq
    gc.freeze()


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("--only", action="append", help="regular expressions of networks, the most wanted first")
    parser.add_argument("--layout", default="")
    parser.add_argument("--llama-cpp")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    options.cli = str(Path(options.cli).resolve())
    load_programs()
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    names = list(dict.fromkeys(row[0] for wanted in options.only or [""] for row in NETWORKS if re.search(wanted, row[0])))
    cells = []
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for found in pool.imap_unordered(run, names):
            cells += found
            if options.write:
                write(cells)
    counts = {}
    for cell in cells:
        counts[cell["result"]] = counts.get(cell["result"], 0) + 1
    print(counts)
    if options.write:
        write(cells)
    sys.exit(any(cell["result"] == "fails" or cell.get("itself") == "" for cell in cells))


if __name__ == "__main__":
    main()
