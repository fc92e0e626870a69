# SPDX-License-Identifier: GPL-3.0-or-later
"""make.py: trains two small networks with Keras 3 and saves them beside this file in all formats of Keras. NAME.safetensors has the values
that h5py reads from each. Needs keras, jax and h5py.
"""
import io
import json
import os
import struct
import zipfile

os.environ["KERAS_BACKEND"] = "jax"
import h5py
import keras
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def at(name):
    return os.path.join(here, name)


def reference(name, file):
    """Every numeric dataset that h5py reads, by its path."""
    found = {}

    def visit(path, item):
        if isinstance(item, h5py.Dataset):
            found[path] = (item[()], "BF16" if item.attrs.get("dtype") == "bfloat16" else None)

    with h5py.File(file, "r") as opened:
        opened.visititems(visit)
    header, data = {}, b""
    for path, (values, dtype) in sorted(found.items()):
        raw = np.asarray(values)
        dtype = dtype or {"f": "F", "i": "I", "u": "U"}[raw.dtype.kind] + str(8 * raw.dtype.itemsize)
        header[path] = {"dtype": dtype, "shape": list(raw.shape), "data_offsets": [len(data), len(data) + raw.nbytes]}
        data += raw.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(at(name + ".safetensors"), "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


keras.utils.set_random_seed(7)
model = keras.Sequential([
    keras.layers.Input((12, 12, 1)), keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
    keras.layers.MaxPooling2D(), keras.layers.Flatten(), keras.layers.Dense(16, activation="relu", name="hidden"),
    keras.layers.BatchNormalization(), keras.layers.Dense(4, name="head")])
model.compile("adam", "mse")
x = np.random.rand(256, 12, 12, 1).astype("float32")
y = np.stack([x.mean((1, 2, 3)), x.max((1, 2, 3)), x.min((1, 2, 3)), x.std((1, 2, 3))], 1)
model.fit(x, y, epochs=3, verbose=0)
model.save(at("tiny.keras"))
model.save_weights(at("tiny.weights.h5"))
model.save(at("legacy.h5"))
half = keras.DTypePolicy("bfloat16")
small = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, dtype=half), keras.layers.Dense(4, dtype=half)])
small.save_weights(at("bf16.weights.h5"))
for name in ("tiny.weights.h5", "legacy.h5", "bf16.weights.h5"):
    reference(name, at(name))
with zipfile.ZipFile(at("tiny.keras")) as archive:
    reference("tiny.keras", io.BytesIO(archive.read("model.weights.h5")))
# Deflated, as other tools repack it.
with zipfile.ZipFile(at("tiny.keras")) as archive, zipfile.ZipFile(at("deflated.keras"), "w", zipfile.ZIP_DEFLATED) as again:
    for member in archive.namelist():
        again.writestr(member, archive.read(member))
