# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the models of this folder with the weight writer of tensorflowjs. NAME.sha256 has what its reader reads in them, one line per
weight: sha256 of its elements in C order, NumPy dtype, shape, name. float16 weights stay float16.

    pip download --no-deps tensorflowjs==4.22.0 && python -m zipfile -e tensorflowjs-*.whl UNPACKED && python make_files.py UNPACKED
"""
import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np

import peer

here = Path(__file__).resolve().parent
write_weights, read_weights = peer.load(sys.argv[1])
rng = np.random.default_rng(11)


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def dense(name, units, inputs):
    return [{"name": f"{name}/kernel", "data": floats(inputs, units)}, {"name": f"{name}/bias", "data": floats(units)}]


def topology():
    """A description as Keras writes it: nested deeper than the headers of other formats."""
    initializer = {"class_name": "VarianceScaling", "config": {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": None}}
    layers = [{"class_name": "Dense", "config": {"name": name, "trainable": True, "units": units, "kernel_initializer": initializer}} for name, units in (("dense", 20), ("dense_1", 10))]
    inner = {"class_name": "Sequential", "config": {"name": "inner", "layers": layers}}
    return {"keras_version": "2.15.0", "backend": "tensorflow", "model_config": {"class_name": "Sequential", "config": {"name": "outer", "layers": [inner]}}}


def sums(name, manifest, folder):
    lines = []
    for entry, described in zip(read_weights.read_weights(manifest, folder, flatten=True), [w for group in manifest for w in group["weights"]]):
        data = entry["data"]
        if data.dtype == object:
            continue  # strings, which tensors do not support
        if described.get("quantization", {}).get("dtype") == "float16":
            data = data.astype(np.float16)
        shape = ",".join(map(str, data.shape)) or "-"
        lines.append(f"{hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()} {data.dtype.name} {shape} {entry['name']}")
    (here / f"{name}.sha256").write_text("\n".join(lines) + "\n")


def model(name, groups, shard_bytes, about=None, **quantization):
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    manifest = write_weights.write_weights(groups, str(folder), shard_bytes, about is None, quantization or None)
    if about is not None:
        (folder / "model.json").write_text(json.dumps({**about, "weightsManifest": manifest}))
    sums(name, manifest, str(folder))


keras = {"format": "layers-model", "generatedBy": "keras v2.15.0", "convertedBy": "TensorFlow.js Converter v4.22.0", "modelTopology": topology()}
graph = {"format": "graph-model", "generatedBy": "2.15.0", "convertedBy": "TensorFlow.js Converter v4.22.0", "signature": {"inputs": {"x": {"name": "x:0"}}}, "modelTopology": {"node": [{"name": "x", "op": "Placeholder"}]}}
model("layers", [dense("dense", 20, 24) + dense("dense_1", 10, 20)], 1000, keras)
every = [{"name": "ints", "data": np.arange(-5, 7, dtype=np.int32).reshape(3, 4)}, {"name": "flags", "data": rng.integers(0, 2, 9).astype(bool)},
         {"name": "texts", "data": np.array(["one", "", "drei €"], dtype=object)}, {"name": "complex", "data": (floats(6) + 1j * floats(6)).astype(np.complex64)},
         {"name": "bytes", "data": np.arange(7, dtype=np.uint8)}, {"name": "words", "data": np.arange(60000, 60006, dtype=np.uint16)},
         {"name": "scalar", "data": np.array(0.75, np.float32)}, {"name": "none", "data": floats(0, 3)}]
model("graph", [every, dense("second", 6, 5)], 77, graph)
many = dense("a", 30, 40) + dense("b", 9, 30) + [{"name": "positive", "data": np.abs(floats(33)) + 1}, {"name": "constant", "data": np.full((4, 4), 0.1, np.float32)},
                                                 {"name": "left/kernel", "data": floats(3, 5)}, {"name": "steps", "data": np.arange(3, dtype=np.int32)}]
model("quantized", [many], 301, keras, uint8=["a/*", "positive", "constant", "steps"], uint16=["b/kernel"], float16=["b/bias"])
model("before_version_1", [dense("dense", 12, 7)], 4 << 20, uint8=True)
