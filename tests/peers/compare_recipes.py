# SPDX-License-Identifier: GPL-3.0-or-later
"""compare_recipes.py QUANTSCOPE-CLI [FOLDER]: recipes that QuantScope writes, loaded by the programs that they are for, and recipes with patterns of
many kinds resolved by both: every matrix of the sample model gets the same. Packages that are not installed are skipped by name. FOLDER: unpacked
transformers, compressed_tensors; what of them needs no PyTorch is used then.
"""
import fnmatch
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

import yaml
from checks import Checks, quantscope

check = Checks()
model = Path(__file__).parents[2] / "resources/samples/tiny-llama"
scratch = Path(tempfile.mkdtemp())
folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
MIXED = {"version": 1, "default": "keep", "rules": [
    {"tensor": "embed|lm_head", "spec": "keep"}, {"tensor": "layers\\.[07]\\.", "spec": "FIRST"},
    {"tensor": "down_proj", "spec": "DOWN"}, {"tensor": "proj", "spec": "COMMON"}]}


def module_of(name, path):
    """A file of an unpacked package, by itself."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def resolved(recipe):
    """What quantscope-cli says: from the name of a tensor to its spec."""
    rows = json.loads(quantscope("recipe", "resolve", recipe, "--model", model, "--json", "-"))["rows"]
    return {row["tensor"]: row["spec"] for row in rows}


def written(to, common, first, down, ending):
    text = json.dumps(MIXED).replace("COMMON", common).replace("FIRST", first).replace("DOWN", down)
    (scratch / "own.json").write_text(text)
    out = scratch / f"{to}{ending}"
    quantscope("recipe", "convert", scratch / "own.json", "--to", to, "--model", model, "-o", out, "--force")
    return out


def given(name, text):
    path = scratch / name
    path.write_text(text)
    return path


def flax_path(tensor):
    """As MaxText calls the matrix, its layers not scanned."""
    roles = {"q_proj": "self_attention/query", "k_proj": "self_attention/key", "v_proj": "self_attention/value",
             "o_proj": "self_attention/out", "gate_proj": "mlp/wi_0", "up_proj": "mlp/wi_1", "down_proj": "mlp/wo"}
    found = re.fullmatch(r"model\.layers\.(\d+)\.\w+\.(\w+)\.weight", tensor)
    return f"decoder/layers_{found[1]}/{roles[found[2]]}" if found else None


def with_qwix():
    import qwix
    from qwix._src import qconfig
    texts = [written("qwix", "int8:scale=channel", "nf4:block=64", "fp8_e4m3:scale=channel", ".yaml"),
             given("rules.yaml", "qwix:\n  rules:\n    - {module_path: '.*layers_[0-3]/.*/(query|key)', weight_qtype: int4, tile_size: 32}\n"
                                 "    - {module_path: '.*/wo', weight_qtype: int8, op_names: [dot_general]}\n"
                                 "    - {module_path: '.*/mlp/.*', weight_qtype: nf4, tile_size: 64}\n")]
    for path in texts:
        rules = [qconfig.QuantizationRule(**rule) for rule in yaml.safe_load(path.read_text())["qwix"]["rules"]]
        qwix.PtqProvider(rules)  # the package takes them
        for tensor, spec in resolved(path).items():
            if not (name := flax_path(tensor)):
                continue
            rule = next((r for r in rules if re.fullmatch(r.module_path, name)), None)
            said = "keep" if rule is None else str(rule.weight_qtype).replace("float8_e4m3fn", "fp8_e4m3")
            tile = rule.tile_size if rule else None
            check(f"qwix {path.name} {tensor}", spec.split(":")[0] == said and (not tile or f"block={tile}" in spec or tile == 64), f"{spec} {rule}")


def with_bitsandbytes_config():
    should = None
    try:
        from transformers import BitsAndBytesConfig
        from transformers.quantizers.quantizers_utils import should_convert_module as should
    except ImportError:
        BitsAndBytesConfig = None
        if folder:
            should = module_of("quantizers_utils", folder / "transformers/transformers/quantizers/quantizers_utils.py").should_convert_module
    if not should:
        raise ImportError("transformers")
    skips = [json.loads(written("bnb", "nf4:dialect=bnb", "keep", "nf4:dialect=bnb", ".json").read_text())["quantization_config"]]
    for entries in (["lm_head", "model.layers.1"], ["mlp.gate"], ["up_proj", "layers.*"], [r"model\.layers\.[0-3]\.mlp"], ["proj"], []):
        skips.append({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "llm_int8_skip_modules": entries})
    for config in skips:
        if BitsAndBytesConfig:
            loaded = BitsAndBytesConfig.from_dict(dict(config))
            check("BitsAndBytesConfig", loaded.load_in_4bit and loaded.llm_int8_skip_modules == config["llm_int8_skip_modules"])
        for tensor, spec in resolved(given("bnb.json", json.dumps(config))).items():
            if "embed" in tensor:
                continue
            takes = should(tensor.removesuffix(".weight"), config["llm_int8_skip_modules"])
            check(f"bitsandbytes {config['llm_int8_skip_modules']} {tensor}", takes == (spec != "keep"), spec)


def with_bitsandbytes_defaults():
    """What transformers keeps where a config has no list is what a plan in the layout keeps by itself."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.quantizers.base import get_keys_to_not_convert
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model))
    theirs = set(get_keys_to_not_convert(network))
    linear = {name for name, module in network.named_modules() if isinstance(module, torch.nn.Linear)}
    plan = ["plan", model, "--layout", "bnb", "--spec", "nf4:dialect=bnb:block=64", "--spec", "nf4:dialect=bnb:block=128", "--budget", "15bpw"]
    rows = json.loads(quantscope(*plan, "--json", "-"))["rows"]
    ours = {row["tensor"].removesuffix(".weight") for row in rows if row["spec"] == "keep"}
    check("kept without a list", ours == theirs & linear, f"{ours} {theirs}")
    skips = given("config.json", json.dumps({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
                                                                     "llm_int8_skip_modules": ["lm_head", "model.layers.1", "down_proj"]}}))
    quantscope(*plan, "--skip-list", skips, "-o", scratch / "skips.json")
    quantscope("export", model, "--recipe", scratch / "skips.json", "--layout", "bnb", "-o", scratch / "bnb")
    loaded = AutoModelForCausalLM.from_pretrained(scratch / "bnb", device_map="cpu")
    made = {name for name, module in loaded.named_modules() if type(module).__name__ == "Linear4bit"}
    kept = {name for name in linear if name == "lm_head" or name.startswith("model.layers.1.") or name.endswith("down_proj")}
    check("the list of an export", made == linear - kept, f"{sorted(made ^ (linear - kept))}")


def with_compressed_tensors():
    import torch
    from compressed_tensors.quantization import QuantizationConfig
    from compressed_tensors.utils.match import match_name, match_targets
    linear = torch.nn.Linear(1, 1, device="meta")
    configs = [json.loads(written("compressed-tensors", "int4:dialect=ct:block=32", "keep", "fp8_e4m3:scale=channel", ".json").read_text())]
    configs.append({"quantization_config": {"quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": ["lm_head", "re:.*layers.7"], "config_groups": {
        "group_0": {"targets": ["re:.*self_attn\\.(q|k)_proj$"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
        "group_1": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}}}}})
    for config in configs:
        loaded = QuantizationConfig.model_validate(config["quantization_config"])
        for tensor, spec in resolved(given("ct.json", json.dumps(config))).items():
            if "embed" in tensor:
                continue
            name = tensor.removesuffix(".weight")
            bits_of = {target: group.weights.num_bits for group in loaded.config_groups.values() for target in group.targets}
            hits = match_targets(name, linear, bits_of)  # the first decides
            ignored = any(match_name(name, target) for target in loaded.ignore)
            bits = None if ignored or not hits else bits_of[hits[0]]
            said = None if spec == "keep" else 8 if spec.startswith(("int8", "fp8")) else 4
            check(f"compressed-tensors {tensor}", bits == said, f"{spec} {bits}")


def with_modelopt_globs():
    path = written("modelopt", "int4:block=32", "nvfp4:block=16", "fp8_e4m3:scale=tensor", ".yaml")
    entries = yaml.safe_load(path.read_text())["quantize"]["quant_cfg"]
    for tensor, spec in resolved(path).items():
        name = tensor.removesuffix(".weight") + ".weight_quantizer"
        last = [e for e in entries if fnmatch.fnmatch(name, e["quantizer_name"])][-1]
        bits = str(last.get("cfg", {}).get("num_bits"))
        said = {"4": "int4", "e2m1": "nvfp4", "e4m3": "fp8_e4m3", "None": "keep"}[bits]
        check(f"ModelOpt {tensor}", "embed" in tensor or spec.split(":")[0] == said, f"{spec} {last}")


def with_maxtext_rule():
    """MaxText is not on PyPI: its rule (the last key that re.fullmatch takes, over __default__), on Python's re."""
    config = {"__default__": {"w_bits": 8}, ".*/query": {"w_bits": 4}, ".*/layers_[0-3]/.*": {"w_bits": 2}, ".*/wo": {"w_bits": None}}
    for tensor, spec in resolved(given("maxtext.json", json.dumps(config))).items():
        if not (name := flax_path(tensor)):
            continue
        bits = config["__default__"]["w_bits"]
        for key, value in config.items():
            if key != "__default__" and re.fullmatch(key, name):
                bits = value["w_bits"]
        check(f"MaxText {tensor}", spec.split(":")[0] == (f"int{bits}" if bits else "keep"), spec)


for what, compare in {"qwix": with_qwix, "transformers": with_bitsandbytes_config, "bitsandbytes in transformers": with_bitsandbytes_defaults,
                      "compressed-tensors": with_compressed_tensors,
                      "ModelOpt's wildcards": with_modelopt_globs, "MaxText's rule": with_maxtext_rule}.items():
    try:
        compare()
    except ImportError as missing:
        print(f"SKIP {what}: {missing}")
check.finish()
