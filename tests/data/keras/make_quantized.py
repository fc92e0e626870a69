# SPDX-License-Identifier: GPL-3.0-or-later
"""make_quantized.py: small networks that Keras 3 quantizes, beside this file. NAME.values.json has dtype, shape and SHA-256 of what Keras itself
dequantizes, by the path of the codes, and the type that is shown. Needs keras and PyTorch.
"""
import hashlib
import json
import os
import re
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import layers, ops, quantizers
from keras.src.quantizers.quantizers import dequantize_with_sz_map

here = os.path.dirname(os.path.abspath(__file__))


def network():
    keras.utils.set_random_seed(11)
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(19, 32, name="embed")(tokens)
    y = layers.EinsumDense("abc,cde->abde", output_shape=(None, 4, 8), bias_axes="de", name="heads")(x)
    y = layers.EinsumDense("abde,dec->abc", output_shape=(None, 32), name="join")(y)
    x = layers.LayerNormalization(name="norm")(x + y)
    x = layers.Dense(40, name="up")(x)
    x = layers.Dense(15, use_bias=False, name="odd")(x)
    return keras.Model(tokens, x)


def array(x):
    return np.asarray(ops.convert_to_numpy(x))


def unpacked(codes, count, axis=-1):
    return array(quantizers.unpack_int4(codes, count, axis=axis))


def dense(layer, columns):
    """The values of a Dense or EinsumDense layer as the matrix that is stored."""
    packed = layer.quantization_mode == "int4"
    codes = unpacked(layer._kernel, columns) if packed else array(layer._kernel)
    if getattr(layer, "_int4_block_size", None) in (None, -1):
        return array(ops.divide(ops.cast(codes, "float32"), layer.kernel_scale))
    return array(dequantize_with_sz_map(ops.convert_to_tensor(codes), layer.kernel_scale, layer.kernel_zero, layer.g_idx, group_axis=0))


def embedding(layer):
    codes = unpacked(layer._embeddings, layer.output_dim) if layer.quantization_mode == "int4" else array(layer._embeddings)
    scale = layer.embeddings_scale
    if getattr(layer, "_int4_block_size", None) in (None, -1):
        return array(ops.divide(ops.cast(codes, "float32"), ops.expand_dims(scale, -1)))
    return array(dequantize_with_sz_map(ops.cast(codes, "float32"), scale, layer.embeddings_zero, layer.g_idx, group_axis=-1))


def save(name, config, keeps_config):
    model = network()
    model.quantize(config if isinstance(config, str) else None, config=None if isinstance(config, str) else config)
    ending = ".keras" if keeps_config else ".weights.h5"
    path = os.path.join(here, name + ending)
    model.save(path) if keeps_config else model.save_weights(path)
    values, seen = {}, {}
    for layer in model.layers:
        kind = re.sub("(?<!^)(?=[A-Z])", "_", type(layer).__name__).lower()
        seen[kind] = number = seen.get(kind, -1) + 1
        if not getattr(layer, "quantization_mode", None):
            continue
        if isinstance(layer, layers.Embedding):
            right = embedding(layer)
        elif isinstance(layer, layers.Dense):
            right = dense(layer, layer.units)
        else:
            right = dense(layer, getattr(layer, "_int4_unpacked_column_size", None))
        if layer.quantization_mode == "int8":
            right = right.reshape(layer.weights[0 if isinstance(layer, layers.Embedding) else int(layer.bias is not None)].shape)
        path = f"layers/{kind}{f'_{number}' if number else ''}/vars/0"
        values[path] = {"type": f"Keras-{layer.quantization_mode}", "dtype": str(right.dtype), "shape": list(right.shape), "sha256": hashlib.sha256(np.ascontiguousarray(right).tobytes()).hexdigest()}
        if "--print" in sys.argv:
            print(name, layer.name, right.dtype, right.shape, right.ravel()[:4], [tuple(v.shape) for v in layer.weights])
    json.dump(values, open(os.path.join(here, name + ending + ".values.json"), "w"), indent=1)


if __name__ == "__main__":
    blocks = keras.quantizers.Int4QuantizationConfig(block_size=16)
    whole = keras.quantizers.Int4QuantizationConfig(block_size=None)
    for name, config in [("int8", "int8"), ("int4", blocks), ("int4_channels", whole)]:
        for keeps_config in (True, False):
            save(name, config, keeps_config)
