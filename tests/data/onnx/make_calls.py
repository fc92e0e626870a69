# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes calls.onnx: weights that are dequantized inside of local functions and branches, which get them from the graph around them, by a
cast and a product, and behind Gather; and calls.safetensors, the weights that ONNX Runtime 1.32 computes with. Also tensorrt.onnx, with
nodes as ModelOpt 0.47 writes them for TensorRT, and scales that are quantized themselves (its NVFP4), and tensorrt.safetensors with
(code - zero point) * scale in float32, which is how onnx-tensorrt's importer describes them (onnxOpImporters.cpp).

    python make_calls.py   # ml_dtypes, onnx, onnxruntime, safetensors
"""
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from safetensors.numpy import save_file

here = Path(__file__).resolve().parent
rng = np.random.default_rng(7)
constants, nodes, outputs = [], [], {}
DOMAINS = [h.make_opsetid("", 21), h.make_opsetid("local", 1), h.make_opsetid("com.microsoft", 1), h.make_opsetid("trt", 1)]


def codes(name, *shape, kind=np.int8):
    lo, hi = (-128, 128) if kind == np.int8 else (0, 256)
    constants.append(nh.from_array(rng.integers(lo, hi, shape).astype(kind), name))
    return name


def scales(name, *shape):
    constants.append(nh.from_array((rng.random(shape) * 0.1 + 0.01).astype(np.float32), name))
    return name


def node(op, inputs, output, **attributes):
    nodes.append(h.make_node(op, inputs, [output], **attributes))


def function(name, inputs, outputs, nodes, attributes=()):
    return h.make_function("local", name, inputs, outputs, nodes, DOMAINS, list(attributes))


blocks = h.make_node("DequantizeLinear", ["W", "s"], ["w"], axis=0)
reference = onnx.AttributeProto(name="block_size", ref_attr_name="size", type=onnx.AttributeProto.INT)
blocks.attribute.append(reference)
functions = [
    function("Weight", ["W", "s"], ["w"], [h.make_node("DequantizeLinear", ["W", "s"], ["w"], axis=1)]),
    function("Outer", ["W", "s"], ["v"], [h.make_node("Weight", ["W", "s"], ["u"], domain="local"), h.make_node("Identity", ["u"], ["v"])]),
    function("Blocks", ["W", "s"], ["w"], [blocks], ["size"]),
    function("Four", ["x", "B", "s"], ["y"], [h.make_node("MatMulNBits", ["x", "B", "s"], ["y"], domain="com.microsoft", K=32, N=6, bits=4, block_size=16)]),
    function("Dynamic", ["x", "W", "s"], ["y"], [
        h.make_node("DynamicQuantizeLinear", ["x"], ["q", "xs", "xz"]), h.make_node("MatMulInteger", ["q", "W", "xz"], ["i"]),
        h.make_node("Cast", ["i"], ["f"], to=T.FLOAT), h.make_node("Mul", ["xs", "s"], ["both"]), h.make_node("Mul", ["f", "both"], ["y"])]),
]  # fmt: skip

for name in ("one", "two"):  # the same function for two weights
    node("Weight", [codes(name, 8, 6), scales(name + "_s", 6)], name + "=", domain="local")
    node("Dynamic", ["x8", codes("int_" + name, 8, 6), scales(name + "_is", 6)], "y_" + name, domain="local")
    outputs[name], outputs["int_" + name] = name + "=", None
node("Outer", [codes("nested", 8, 6), scales("nested_s", 6)], "nested=", domain="local")
node("Blocks", [codes("blocks", 8, 6), scales("blocks_s", 2, 6)], "blocks=", domain="local", size=4)
node("Four", ["x32", codes("four", 6, 2, 8, kind=np.uint8), scales("four_s", 6, 2)], "four=", domain="local")
outputs |= {"nested": "nested=", "blocks": "blocks=", "four": "four="}
branch = h.make_graph([h.make_node("DequantizeLinear", ["shared", "shared_s"], ["t"], axis=0)], "then", [], [h.make_tensor_value_info("t", T.FLOAT, None)])
other = h.make_graph([h.make_node("DequantizeLinear", ["shared", "shared_s"], ["e"], axis=0)], "else", [], [h.make_tensor_value_info("e", T.FLOAT, None)])
codes("shared", 8, 6), scales("shared_s", 8)
nodes.append(h.make_node("If", ["which"], ["shared="], then_branch=branch, else_branch=other))
outputs["shared"] = "shared="
for name, shape, of in (("rows", (8, 6), (8, 1)), ("groups", (6, 2, 8), (6, 2, 1)), ("columns", (8, 6), (6,))):
    node("Cast", [codes("cast_" + name, *shape, kind=np.uint8)], name + "f", to=T.FLOAT)
    number = name + "f"
    if name != "columns":
        node("Cast", [codes(name + "_z", *of, kind=np.uint8)], name + "zf", to=T.FLOAT)
        node("Sub", [number, name + "zf"], name + "d")
        number = name + "d"
    node("Mul", [scales(name + "_s", *of), number], name + "=")
    outputs["cast_" + name] = name + "="
node("Gather", [codes("table", 8, 6, kind=np.uint8), "ids"], "rows")
constants += [nh.from_array(np.float32(0.02), "table_s"), nh.from_array(np.uint8(131), "table_z")]
node("DequantizeLinear", ["rows", "table_s", "table_z"], "table=")
outputs["table"] = "table="

given = {"x8": np.eye(8, dtype=np.float32), "x32": np.eye(32, dtype=np.float32), "ids": np.arange(8), "which": np.array(True)}
inputs = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in given.items()]
results = [h.make_tensor_value_info(name, T.FLOAT, None) for name in outputs.values() if name]
results += [h.make_tensor_value_info("y_" + name, T.FLOAT, None) for name in ("one", "two")]
model = h.make_model(h.make_graph(nodes, "calls", inputs, results, constants), opset_imports=DOMAINS, functions=functions, ir_version=10)
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
right = {name: session.run([out], given)[0] for name, out in outputs.items() if out}
right["four"] = np.ascontiguousarray(right["four"].T)
held = {one.name: nh.to_array(one) for one in constants}
for name in ("one", "two"):  # its inputs are rounded to 8 bits, so the product says no more than how near it is
    right["int_" + name] = held["int_" + name].astype(np.float32) * held[name + "_is"]
    assert np.abs(session.run(["y_" + name], given)[0] - right["int_" + name]).max() < 0.01 * np.abs(right["int_" + name]).max()
onnx.save(model, here / "calls.onnx")
save_file(right, here / "calls.safetensors")

constants, nodes, right = [], [], {}


def floats(name, kind, number, *shape, spread=100):
    values = (rng.standard_normal(shape) * spread).astype(kind)
    constants.append(T(name=name, data_type=number, dims=shape, raw_data=values.tobytes()))
    return values.astype(np.float32)


w = floats("fp8", ml_dtypes.float8_e4m3fn, T.FLOAT8E4M3FN, 8, 6)
constants.append(nh.from_array(np.float32(0.01), "fp8_s"))
node("TRT_FP8DequantizeLinear", ["fp8", "fp8_s"], "fp8=", domain="trt")
right["fp8"] = w * np.float32(0.01)
four = rng.integers(-8, 8, (8, 6)).astype(np.int8)
constants.append(h.make_tensor("int4_i4", T.INT4, (8, 6), four.flatten().tolist()))
scales("int4_scale", 2, 6)
s = nh.to_array(constants[-1])
node("TRT_INT4DequantizeLinear", ["int4_i4", "int4_scale"], "int4=", domain="trt", axis=0, block_size=4)
node("TRT_INT4DequantizeLinear", ["int4_i4", "int4_scale"], "again=", domain="trt")  # the shapes say as much
right["int4_i4"] = four * np.repeat(s, 4, axis=0)
w = floats("mx", ml_dtypes.float8_e4m3fn, T.FLOAT8E4M3FN, 4, 32)
constants.append(nh.from_array(rng.integers(110, 130, (4, 1)).astype(np.uint8), "mx_scale"))
node("TRT_MXFP8DequantizeLinear", ["mx", "mx_scale"], "mx=", domain="trt", axis=-1, block_size=32, output_dtype=T.FLOAT)
right["mx"] = w * np.exp2(nh.to_array(constants[-1]).astype(np.float32) - 127)
level = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
four = rng.integers(0, 16, (4, 32)).astype(np.uint8)
constants.append(T(name="nv_f4", data_type=T.FLOAT4E2M1, dims=(4, 32), raw_data=(four.reshape(-1)[::2] | four.reshape(-1)[1::2] << 4).tobytes()))
s = floats("nv_f8_scale", ml_dtypes.float8_e4m3fn, T.FLOAT8E4M3FN, 4, 2)
constants.append(nh.from_array(np.float32(0.003), "nv_f8_scale_f32_scale"))
node("DequantizeLinear", ["nv_f8_scale", "nv_f8_scale_f32_scale"], "nv_f32_scale")
node("DequantizeLinear", ["nv_f4", "nv_f32_scale"], "nv=", axis=-1, block_size=16)
right["nv_f4"] = level[four] * np.repeat(s * np.float32(0.003), 16, axis=1)
results = [h.make_tensor_value_info(name + "=", T.FLOAT, None) for name in ("fp8", "int4", "again", "mx", "nv")]
model = h.make_model(h.make_graph(nodes, "tensorrt", [], results, constants), opset_imports=[h.make_opsetid("", 23), DOMAINS[3]], ir_version=11)
onnx.save(model, here / "tensorrt.onnx")
save_file({name: np.ascontiguousarray(value) for name, value in right.items()}, here / "tensorrt.safetensors")
