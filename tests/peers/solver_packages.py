# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs auto-gptq 0.7.1, autoawq 0.2.9 and hqq 0.2.8.post1 on one layer. Their own source files are imported from unpacked packages.

Of their dependencies only torch (1.13 or later) is imported; others, which their algorithms do not use, are replaced by stubs. GPTQ and AWQ
run completely in f64, so that no rounding of theirs changes a code.
"""
import importlib.util
import sys
import types
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import torch

torch.set_num_threads(1)
torch.cuda.synchronize = torch.cuda.empty_cache = lambda: None


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def in_f64(run):
    kept = torch.Tensor.float
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double
    try:
        return run()
    finally:
        torch.Tensor.float = kept
        torch.set_default_dtype(torch.float32)


class Layer(torch.nn.Linear):
    """autoawq saves the weights by .cpu() to restore them later. That copies on a GPU, but not on a CPU."""

    def state_dict(self, *arguments, **options):
        return {name: value.clone() for name, value in super().state_dict(*arguments, **options).items()}


class Packages:
    def __init__(self, folder):
        def source(pattern):
            return next(Path(folder).rglob(pattern))

        transformers = types.ModuleType("transformers")
        transformers.Conv1D = type("Conv1D", (), {})
        transformers.pytorch_utils = types.SimpleNamespace(Conv1D=transformers.Conv1D)
        sys.modules["transformers"] = transformers
        package = types.ModuleType("gq")
        package.__path__ = []
        sys.modules["gq"] = package
        module("gq.quantizer", source("auto_gptq/quantization/quantizer.py"))
        self._gptq = module("gq.gptq", source("auto_gptq/quantization/gptq.py"))
        for name in ("tqdm", "awq", "awq.utils", "awq.utils.calib_data", "awq.quantize", "awq.quantize.scale",
                     "awq.modules", "awq.modules.linear", "awq.utils.module", "awq.utils.utils"):
            sys.modules[name] = MagicMock()
        awq = module("awqq", source("awq/quantize/quantizer.py"))
        awq.get_op_name, awq.get_best_device = lambda *_: "", lambda: "cpu"
        self._awq = awq.AwqQuantizer
        self._hqq = module("hqq_optimize", source("hqq/core/optimize.py"))

    def gptq(self, w, x, bits, sym, **how):
        def run():
            layer = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
            layer.weight.data = torch.tensor(w, dtype=torch.float64)
            solver = self._gptq.GPTQ(layer)
            solver.quantizer.configure(bits, perchannel=True, sym=sym, mse=False)
            solver.add_batch(torch.tensor(x, dtype=torch.float64), None)
            solver.fasterquant(**how)
            return layer.weight.data.numpy().copy()

        return in_f64(run)

    def awq(self, w, x, bits, zero_point, group, duo, clip):
        """The weights as the layer uses them, with column scales removed, and the column scales."""
        def run():
            me = self._awq.__new__(self._awq)
            me.w_bit, me.group_size, me.zero_point, me.duo_scaling = bits, group, zero_point, duo
            me.max_chunk_memory, me.n_parallel_calib_samples = 1 << 30, None
            layer = Layer(w.shape[1], w.shape[0], bias=False)
            layer.weight.requires_grad = False
            layer.weight.data = torch.tensor(w, dtype=torch.float64)
            inputs = torch.tensor(x, dtype=torch.float64)
            scales = me._search_best_scale(None, None, [layer], inputs, kwargs={})[2]
            scaled = layer.weight.data * scales
            if clip:  # the package processes output channels 64 at a time
                many = torch.cat([scaled] * 64)
                most = me._compute_best_clip(many, inputs / scales)[: w.shape[0]]
                scaled = torch.clamp(scaled.reshape(w.shape[0], -1, group), -most, most).reshape(w.shape)
            return (me.pseudo_quantize_tensor(scaled)[0] / scales).numpy(), scales.numpy().copy()

        return in_f64(run)

    def hqq(self, group, bits):
        """Zero point and codes of one group, by the default solver without annealing (kappa = 1), in f32."""
        values = torch.tensor(group)
        top = 2**bits - 1
        scale = top / (values.max() - values.min())
        zero = (-values.min() * scale).reshape(1, 1)
        q, _, zero = self._hqq.optimize_weights_proximal_legacy(values[None], scale.reshape(1, 1), zero, [0, top],
                                                                axis=1, device="cpu")
        return float(zero), q.numpy()[0].astype(np.uint8)


def layer(seed, rows, k, m):
    """Weights, and inputs that correlate with some columns more than with others.

    The largest of 32 weights is positive. With a bound of 7.5 codes, a negative one would lie between -8 and -7: a tie that depends on the
    last bit of a scale.
    """
    r = np.random.default_rng(seed)
    w = (r.standard_normal((rows, k)) * 0.02).astype(np.float32)
    groups = w.reshape(-1, 32)
    groups *= np.where(groups.max(1) < -groups.min(1), np.float32(-1), np.float32(1))[:, None]
    x = r.standard_normal((m, 8)) @ r.standard_normal((8, k)) + 0.7 * r.standard_normal((m, k))
    x[:, ::31] *= 8
    return w, x.astype(np.float32)


# spec, settings, arguments of the package
GPTQ = [
    ("int4:dialect=ct:block=32", "gptq:block=32", dict(bits=4, sym=True, blocksize=32, group_size=32)),
    ("int4:sym=no:block=32", "gptq", dict(bits=4, sym=False, group_size=32)),
    ("int3:sym=no:scale=channel", "gptq:damp=0.1", dict(bits=3, sym=False, percdamp=0.1)),
    ("int4:sym=no:block=32", "gptq:order=act",
     dict(bits=4, sym=False, group_size=32, actorder=True, static_groups=True)),
    ("int2:dialect=ct:scale=channel", "gptq:order=act:block=48", dict(bits=2, sym=True, blocksize=48, actorder=True)),
]
AWQ = [
    ("int4:block=32", "awq", dict(bits=4, zero_point=False, group=32, duo=False, clip=False)),
    ("int3:sym=no:block=32", "awq:duo=yes", dict(bits=3, zero_point=True, group=32, duo=True, clip=False)),
    # Without zero points: if a range is clipped on both sides, zero points are halves, and their rounding depends on single ulps.
    ("int3:block=32", "awq:clip=yes", dict(bits=3, zero_point=False, group=32, duo=False, clip=True)),
    ("int2:block=32", "awq:duo=yes:clip=yes", dict(bits=2, zero_point=False, group=32, duo=True, clip=True)),
]


def save(tensors, path):
    """Writes safetensors without the package."""
    import json

    names = {"float32": "F32", "float64": "F64", "uint8": "U8"}
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": names[str(value.dtype)], "shape": list(value.shape),
                        "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value).tobytes())


def load(path):
    import json

    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F32": "<f4", "F64": "<f8", "U8": "u1", "I8": "i1"}
    out = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            raw = np.frombuffer(data[8 + size + begin:8 + size + end], kinds[entry["dtype"]])
            out[name] = raw.reshape(entry["shape"])
    return out
