# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs exports of the sample model in programs that serve them: GPTQ in gptqmodel and transformers, MLX in mlx_lm, HDF5 in h5py. Every
weight must equal the output of `quantscope-cli dequantize` bit for bit. That output must be within two rounding errors of the analysed
values (layout `plain`). Logits are compared with those of a dense model with the same weights.

    compare_served.py CLI [MODEL]
"""
import subprocess
import tempfile
from pathlib import Path

import torch

from exports import apart, check, cli, dequantize, edit_json, export, folder_tensors, ids, load, logits_of, quantized_names, same_bits, sample, versions


def near(ours, analysed, steps):
    """True if the difference is within `steps` rounding errors of the coarser dtype, for the largest value of a row."""
    largest = analysed.float().abs().amax(-1, keepdim=True)
    eps = max(torch.finfo(t.dtype).eps for t in (ours, analysed))
    return bool(((ours.float() - analysed.float()).abs() <= steps * eps * largest).all())


def dense(values):
    """The sample model in f16 with other weights."""
    model = load(sample, torch.float16)
    missing = model.load_state_dict({name: value.half() for name, value in values.items()}, strict=False)
    check(f"gptq: names {missing}", not missing.unexpected_keys)
    return logits_of(model)


def serve_gptq(title, out, model, values, names):
    layers = {f"{name}.weight": layer for name, layer in model.named_modules() if hasattr(layer, "qweight")}
    check(f"{title}: {len(layers)} quantized layers, {len(names)} expected", set(layers) == names)
    for name, layer in layers.items():
        check(f"{title}: {name}", same_bits(layer.dequantize_weight().T.contiguous(), values[name].half()))
    far = apart(logits_of(model), dense(values))
    check(f"{title}: logits {far}", far < 2e-3)
    return far


def gptq(work):
    """transformers only quantizes layers within the blocks, and selects them in its own way. So each kind of checkpoint is tested with both
    loaders.
    """
    from gptqmodel import BACKEND, GPTQModel
    from transformers import GPTQConfig

    logging_off()
    versions("gptqmodel", "optimum")
    kept = ("--tensor", "layers.[0-5].*_proj.weight$")
    farthest = 0
    for index, (spec, more) in enumerate((("int4:dialect=ct:block=32:scaletype=f16", ()), ("int4:block=32:scaletype=f16:sym=no", ()),
                                          ("int8:dialect=ct:scale=channel:scaletype=f16", ()), ("int3:dialect=ct:block=32:scaletype=f16", ()),
                                          ("int2:block=32:scaletype=f16:sym=no", ()), ("int4:dialect=ct:block=32:scaletype=f16", kept))):
        out, plain = work / f"gptq{index}", work / f"gptq{index}.plain"
        if not export(spec, "gptq", out, *more) or not export(spec, "plain", plain, *(more or ("--tensor", "_proj.weight$"))):
            continue
        values, analysed, names = dequantize(out, work / "values.safetensors"), folder_tensors(plain), quantized_names(plain)
        for name in names:
            check(f"gptq {spec} {name} near what was analysed", near(values[name], analysed[name], 2))
        title = f"gptq {spec} {' '.join(more)}"
        # The loader of its tokenizer needs a padding token, which the sample model does not have.
        edit_json(out / "tokenizer_config.json", lambda said: said.update(pad_token="\u0100"))
        for loader in ("gptqmodel", "transformers"):
            try:
                if loader == "gptqmodel":
                    model = GPTQModel.load(str(out), device="cpu", backend=BACKEND.GPTQ_TORCH, dtype=torch.float16).model
                else:
                    # tensors missing in the file get random values; other kernels are compiled on first use
                    model = load(out, torch.float16, device_map="cpu", quantization_config=GPTQConfig(bits=int(spec[3]), backend="gptq_torch"))
            except Exception as error:  # an exception of the peer is a test result
                check(f"{title} loads in {loader}: {type(error).__name__}: {error}", False)
                continue
            farthest = max(farthest, serve_gptq(f"{loader}: {title}", out, model, values, names))
    print(f"gptq: logits at most {farthest:.1e} apart (relative, f16 products)")


def logging_off():
    """gptqmodel sets its own log level."""
    import logging

    logging.disable(logging.WARNING)


def mlx(work):
    import mlx.core as mx
    import numpy as np
    from mlx.utils import tree_flatten
    from mlx_lm.utils import dequantize_model, load_model

    mx.set_default_device(mx.cpu)
    versions("mlx", "mlx-lm")

    def logits(model):
        return torch.from_numpy(np.array(model(mx.array(ids().numpy())).astype(mx.float32)))

    def value(array):
        kind = {mx.bfloat16: torch.bfloat16, mx.float16: torch.float16, mx.float32: torch.float32}[array.dtype]
        return torch.from_numpy(np.array(array.astype(mx.float32))).to(kind)

    mixed = ("--spec", "down_proj=int8:sym=no:block=32:scaletype=bf16")
    for index, (spec, more) in enumerate((("int4:sym=no:block=32:scaletype=bf16", ()), ("int8:sym=no:block=64:scaletype=bf16", ("--tensor", "(q|k|v|o|up|gate)_proj.weight$")),
                                          ("int3:sym=no:block=32:scaletype=f16", ()), ("int6:sym=no:block=32:scaletype=bf16", ()), ("int4:sym=no:block=32:scaletype=bf16", mixed))):
        title = f"mlx {spec} {' '.join(more)}"
        out, plain = work / f"mlx{index}", work / f"mlx{index}.plain"
        if not export(spec, "mlx", out, *more) or not export(spec, "plain", plain, *more):
            continue
        values, analysed, names = dequantize(out, work / "values.safetensors"), folder_tensors(plain), quantized_names(plain)
        model = load_model(out)[0]
        quantized = {f"{name}.weight": layer for name, layer in model.named_modules() if hasattr(layer, "scales")}
        check(f"{title}: {len(quantized)} quantized layers, {len(names)} expected", set(quantized) == names)
        for name, layer in quantized.items():
            theirs = value(mx.dequantize(layer.weight, layer.scales, layer.biases, layer.group_size, layer.bits))
            check(f"{title} {name}", same_bits(theirs, values[name]))
            check(f"{title} {name} near what was analysed", near(values[name], analysed[name], 2))
        ours = logits(model)
        model = dequantize_model(model)
        check(f"{title}: nothing is quantized any more", not any(name.endswith("scales") for name, _ in tree_flatten(model.parameters())))
        far = apart(ours, logits(model))
        check(f"{title}: logits {far}", far < 2e-2)
        print(f"{title}: logits {far:.1e} from those of its own dense model")


def hdf5(work):
    import h5py
    import numpy as np

    if '"hdf5"' not in subprocess.run([cli, "layouts", "--json", "-"], capture_output=True, text=True).stdout.replace(" ", ""):
        print("SKIP hdf5 by h5py: this quantscope-cli has no layout hdf5")
        return
    versions("h5py")
    for index, spec in enumerate(("nf4", "int4:sym=no:block=32", "ternary:scale=channel", "q4_0", "bf16")):
        out, native = work / f"out{index}.h5", work / f"native{index}"
        layout = "plain" if spec == "bf16" else "native"
        if not export(spec, "hdf5", out) or not export(spec, layout, native):
            continue
        fields, seen = folder_tensors(native), 0
        with h5py.File(out) as file:
            for name, want in fields.items():
                got = file[name][()] if name in file else None
                wide = want.view(torch.int16) if want.dtype == torch.bfloat16 else want
                same = got is not None and got.shape == tuple(want.shape)
                if same and want.dtype == torch.bfloat16 and got.dtype.itemsize == 4:  # HDF5 has no bfloat16
                    same = np.array_equal(got, want.float().numpy())
                elif same:
                    same = got.tobytes() == wide.numpy().tobytes()
                check(f"hdf5 {spec} {name}", same, "" if got is None else f"{got.dtype} {got.shape}")
                seen += 1
        print(f"hdf5 {spec}: {seen} datasets")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for peer in (hdf5, mlx, gptq):
            peer(Path(folder))
    check.finish()


main()
