#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes core/layouts/network_names.inc: how transformers names the linear layers of a checkpoint in its networks.

Every network that transformers makes for its Auto classes is made without memory (device meta). Its layers are named as save_pretrained would
name them, and these names are renamed as from_pretrained does. The rules that took part become rows, and the rows are held to the names of
the layers: a network that they do not name right is written as one whose names are not known.
"""
import os
import re
import signal
import sys
import warnings
from collections import OrderedDict
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")
warnings.filterwarnings("ignore")
import torch
import transformers
import transformers.utils.import_utils
from transformers import initialization
from transformers.conversion_mapping import _build_checkpoint_conversion_mapping, get_model_conversion_mapping
from transformers.core_model_loading import PrefixChange, WeightConverter, WeightRenaming, apply_converters, apply_renamings
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FILE = Path(__file__).resolve().parents[2] / "core/layouts/network_names.inc"
COUNTS = re.compile(r"^(n_layers?|(num|encoder|decoder|vision)_layers|((en|de)coder_)?num_hidden_layers|num_(en|de)coder_layers|depth|n_layer|num_blocks"
                    r"|num_local_experts|num_experts|n_routed_experts|moe_num_experts)$")
WEIGHT = ".weight"


def shrink(config):
    for name, value in list(vars(config).items()):
        if isinstance(value, transformers.PretrainedConfig):
            shrink(value)
        elif COUNTS.match(name) and isinstance(value, int) and value > 2:
            setattr(config, name, 2)
        elif name in ("layer_types", "mlp_layer_types", "layers_block_type") and isinstance(value, list):
            setattr(config, name, value[:1] + value[-1:])


def fill(config):
    """What a network of no published size leaves open."""
    heads = getattr(config, "num_attention_heads", None)
    for name, value in dict(vocab_size=128, pad_token_id=0, num_key_value_heads=heads, head_dim=64, prediction_length=4).items():
        if hasattr(config, name) and getattr(config, name) is None:
            setattr(config, name, value)
    for value in list(vars(config).values()):
        if isinstance(value, transformers.PretrainedConfig):
            fill(value)


def make(kind, network, **chosen):
    """Tries small sizes first; None: it cannot be made of a configuration alone, or needs packages that are not there."""
    resnet = dict(use_timm_backbone=False, backbone_config=transformers.ResNetConfig(out_features=["stage2", "stage3", "stage4"]))
    siglip = dict(vision_config=dict(model_type="siglip_vision_model"))
    for options, steps in (({}, [shrink]), ({}, []), ({}, [shrink, fill]), ({}, [fill]), (resnet, [shrink, fill]), (siglip, [shrink])):
        try:
            signal.alarm(20)
            vars(sys.modules[network.__module__])["requires_backends"] = lambda *_: None  # of losses and image processing
            config = CONFIG_MAPPING[kind](**options, **chosen)
            for step in steps:
                step(config)
            with torch.device("meta"), initialization.no_init_weights(), torch.no_grad():
                return network(config)
        except Exception:
            continue
        finally:
            signal.alarm(0)
    return None


def pattern(source):
    """As WeightTransform makes a regular expression of it."""
    source = source.replace("*.", r".*\.")
    return source + r"(?!\w)" if re.search(r"[a-zA-Z0-9]$", source) else source


def row_of(rule, scoped):
    """A rule as (regular expression, replacement) of whole names. It is for names under a prefix where that decides."""
    scope, base, source, target = rule
    source = pattern(source)
    anchored = source.startswith("^")
    if scope is None or not (anchored or (scoped and scope)):
        return source, target
    before = (rf"(?:{re.escape(base)}\.)?" if base else "") + (re.escape(scope + ".") if scope else "")
    if not before:
        return source, target
    return (f"^({before})" + source[1:] if anchored else f"^({before}.*?)" + source), r"\1" + target.replace(r"\1", r"\2")


def filled(target, match):
    return re.sub(r"\\(\d)", lambda number: match.group(int(number.group(1))) or "", target)


def named(rows, name):
    """As core/layouts/network_names.cpp names a module."""
    names = [name + WEIGHT]
    for source, target in rows:
        match = re.search(source, names[0])
        if match:
            names = [names[0][: match.start()] + filled(word, match) + names[0][match.end():] for word in target.split(" ")]
    return [one.removesuffix(WEIGHT) for one in names]


class Network:
    def __init__(self, model):
        conversions = get_model_conversion_mapping(model, add_legacy=False)
        back = [one.reverse_transform() for one in conversions[::-1]]
        self.base = model.base_model_prefix
        self.renamings = [one for one in conversions if isinstance(one, WeightRenaming)]
        self.converters = [one for one in conversions if isinstance(one, WeightConverter)]
        linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
        kinds = OrderedDict((re.sub(r"\.\d+(?=\.|$)", ".N", name), name) for name in linear)
        ties = getattr(model, "_tied_weights_keys", None) or {}
        ends = [*ties, *(ties.values() if isinstance(ties, dict) else ())]
        self.heads = sorted({end.removesuffix(WEIGHT) for end in ends if end.endswith(WEIGHT)} & set(linear) - {"lm_head"})
        self.pairs = []  # (in the checkpoint, in the network), with and without prefixes that networks of old drop
        for name in kinds.values():
            joined, _ = apply_converters(name + WEIGHT, [one for one in back if isinstance(one, WeightConverter)])
            for dropped in (False, True):
                renamings = [one for one in back if isinstance(one, WeightRenaming) and (dropped or not isinstance(one, PrefixChange))]
                pair = apply_renamings(joined, renamings).removesuffix(WEIGHT), name
                if pair not in self.pairs:
                    self.pairs.append(pair)

    def same(self, ours, theirs):
        return ours == theirs or f"{self.base}.{ours}" == theirs or ours == f"{self.base}.{theirs}"

    def rows(self, scoped):
        used, converted = set(), []
        for stored, name in self.pairs:
            key = stored + WEIGHT
            for number, one in enumerate(self.renamings):
                renamed, _ = one.rename_source_key(key)
                if renamed != key:
                    used.add(number)
                key = renamed
            for one in self.converters:
                if one.rename_source_key(key)[1] is not None:
                    converted += [(pattern(source), " ".join(one.target_patterns)) for source in one.source_patterns if re.search(pattern(source), key)]
                    break
        rules = [(one.scope_prefix, one.base_model_prefix, source, target) for number, one in enumerate(self.renamings) if number in used
                 for source, target in zip(one.source_patterns, one.target_patterns)]
        return list(OrderedDict.fromkeys(row_of(rule, scoped) for rule in rules)), list(OrderedDict.fromkeys(converted))

    def wrong(self, rows):
        """Names that the rows do not name, though transformers finds the layers."""
        for stored, name in self.pairs:
            if any(self.same(ours, name) for ours in named(rows, stored)):
                continue
            key = apply_converters(apply_renamings(stored + WEIGHT, self.renamings), self.converters)[0].removesuffix(WEIGHT)
            if self.same(key, name) or self.converters:
                yield stored, name


def merged(lists):
    lists = sorted(lists, key=len, reverse=True)
    out = list(lists[0])
    for rows in lists[1:]:
        place = 0
        for row in rows:
            if row not in out:
                out.insert(place, row)
            place = max(place, out.index(row) + 1)
    return out


def rows_of(networks):
    """The rows of a model type; None: there are none that name all its layers right."""
    for scoped in (False, True):
        found = [network.rows(scoped) for network in networks]
        rows = merged([renamings for renamings, _ in found]) + merged([converted for _, converted in found])
        if not any(True for network in networks for _ in network.wrong(rows)):
            return rows
    return None


def in_order(table):
    """One list of rows with the model types of each, in which the rows of every type keep their order."""
    out = []
    for kind, rows in table.items():
        place = 0
        for row in rows:
            found = next((at for at in range(place, len(out)) if out[at][0] == row), None)
            if found is None:
                out.insert(place, (row, []))
                found = place
            out[found][1].append(kind)
            place = found + 1
    return out


def text(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    transformers.logging.set_verbosity_error()
    transformers.utils.import_utils.requires_backends = transformers.utils.requires_backends = lambda *_: None
    classes = {(kind, name) for mapping, rows in vars(modeling_auto).items() if re.match(r"MODEL_.*MAPPING_NAMES$", mapping)
               for kind, names in rows.items() for name in ([names] if isinstance(names, str) else names) if name}
    known, lost = {}, {}
    for kind, name in sorted(classes):
        network = getattr(transformers, name, None)
        model = make(kind, network) if network else None
        if isinstance(model, torch.nn.Module):
            known.setdefault(kind, []).append(Network(model))
            if hasattr(model.config, "use_swiglu_ffn"):
                known[kind].append(Network(make(kind, network, use_swiglu_ffn=True)))
        else:
            lost.setdefault(kind, []).append(name)
    rules = _build_checkpoint_conversion_mapping()
    renames = lambda key: any(isinstance(one, WeightRenaming) for one in rules.get(key, ()))
    unknown = set()
    table, heads, bases = {}, {}, {}
    for kind, networks in known.items():
        rows = rows_of(networks)
        if rows is None:
            unknown.add(kind)
        else:
            table[kind] = rows
        for head in sorted({head for network in networks for head in network.heads}):
            heads.setdefault(head, []).append(kind)
        for base in sorted({network.base for network in networks if network.base}):
            bases.setdefault(base, []).append(kind)
    for kind, names in lost.items():
        parts = getattr(CONFIG_MAPPING[kind], "sub_configs", {}).values()
        if kind not in known and (any(map(renames, [kind, *names])) or any(part is transformers.AutoConfig or part.model_type in unknown or table.get(part.model_type) for part in parts)):
            unknown.add(kind)
    lines = [f"// Generated by tests/peers/network_names.py from transformers {transformers.__version__}; not to be edited.", "constexpr NetworkRow kNetworkRows[] = {"]
    lines += [f"{{{text(' '.join(kinds))}, {text(source)}, {text(target)}}}," for (source, target), kinds in in_order(table)]
    lines += [f"{{{text(' '.join(sorted(unknown)))}, \"\", nullptr}},", "};"]
    for array, found in (("kTiedHeads", heads), ("kBasePrefixes", bases)):
        lines += [f"constexpr NetworkModule {array}[] = {{", *(f"{{{text(' '.join(kinds))}, {text(name)}}}," for name, kinds in sorted(found.items())), "};"]
    FILE.write_text("\n".join(lines) + "\n")
    print(f"{len(known)} model types, {sum(map(bool, table.values()))} with other names, {len(lines)} lines, not known: {sorted(unknown)}")


if __name__ == "__main__":
    main()
