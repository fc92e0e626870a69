# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes packed.onnx, a node for each way in which ONNX Runtime's own operators pack weights, and packed.safetensors, the
weights that ONNX Runtime 1.32 computes with: the product of the identity with each, or all rows that are gathered.

    python make_packed.py   # onnx, onnxruntime, safetensors
"""
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from safetensors.numpy import save_file

here = Path(__file__).resolve().parent
rng = np.random.default_rng(5)
nodes, constants, right, outputs = [], [], {}, []


def codes(rows, groups, block, bits):
    values = rng.integers(0, 2**bits, (rows, groups, block)).astype(np.uint8)
    per = 8 // bits
    packed = np.zeros((rows, groups, block // per), np.uint8)
    for i in range(per):
        packed |= values[:, :, i::per] << (bits * i)
    return packed


def zeros(rows, groups, bits):
    values = rng.integers(0, 2**bits, (rows, groups)).astype(np.uint8)
    per = 8 // bits
    packed = np.zeros((rows, (groups + per - 1) // per), np.uint8)
    for g in range(groups):
        packed[:, g // per] |= values[:, g] << (bits * (g % per))
    return packed


def model(node_list, constant_list, inputs, names):
    graph = h.make_graph(node_list, "packed", inputs, [h.make_tensor_value_info(n, T.FLOAT, None) for n in names], constant_list)
    out = h.make_model(graph, opset_imports=[h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)])
    out.ir_version = 10
    return out


def run(node, constant_list, inputs, feed):
    one = model([node], constant_list, inputs, [node.output[0]])
    session = ort.InferenceSession(one.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0]


def add(name, node, constant_list, value):
    nodes.append(node)
    constants.extend(constant_list)
    right[name] = np.ascontiguousarray(value, np.float32)
    outputs.append(node.output[0])


def nbits(name, k, n, bits, block, zero=None, order=False):
    groups = (k + block - 1) // block
    made = [nh.from_array(codes(n, groups, block, bits), name), nh.from_array(rng.random((n, groups)).astype(np.float32), name + "_s")]
    inputs = [f"x{k}", name, name + "_s"]
    if zero == "packed":
        made.append(nh.from_array(zeros(n, groups, bits), name + "_z"))
    elif zero == "float":
        made.append(nh.from_array((rng.random((n, groups)) * 15).astype(np.float32), name + "_z"))
    if zero:
        inputs.append(name + "_z")
    if order:
        index = np.arange(k, dtype=np.int32) // block
        rng.shuffle(index)
        made.append(nh.from_array(index, name + "_g"))
        inputs += [""] * (4 - len(inputs)) + [name + "_g"]
    node = h.make_node("MatMulNBits", inputs, ["y_" + name], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block)
    x = h.make_tensor_value_info(f"x{k}", T.FLOAT, [1, k])
    rows = [run(node, made, [x], {f"x{k}": np.eye(k, dtype=np.float32)[i : i + 1]}) for i in range(k)]
    add(name, node, made, np.concatenate(rows).T)


def gather(name, data, scales, zero=None, **attributes):
    made = [data, nh.from_array(scales, name + "_s")] + ([zero] if zero is not None else [])
    inputs = [name, "rows", name + "_s"] + ([name + "_z"] if zero is not None else [])
    node = h.make_node("GatherBlockQuantized", inputs, ["y_" + name], domain="com.microsoft", **attributes)
    rows = data.dims[0]
    value = run(node, made, [h.make_tensor_value_info("rows", T.INT64, [None])], {"rows": np.arange(rows, dtype=np.int64)})
    add(name, node, made, value)


def bnb(name, k, n, block, kind):
    made = [nh.from_array(rng.integers(0, 256, (n * k + 1) // 2).astype(np.uint8), name),
            nh.from_array(rng.random((n * k + block - 1) // block).astype(np.float32), name + "_s")]  # fmt: skip
    node = h.make_node("MatMulBnb4", [f"x{k}", name, name + "_s"], ["y_" + name], domain="com.microsoft", K=k, N=n, block_size=block, quant_type=kind)
    x = h.make_tensor_value_info(f"x{k}", T.FLOAT, [k, k])
    add(name, node, made, run(node, made, [x], {f"x{k}": np.eye(k, dtype=np.float32)}).T)


def tried(what, *arguments, **named):
    try:
        what(*arguments, **named)
    except Exception as error:  # the runtime has no kernel for it
        print(arguments[0], repr(error)[:300], file=sys.stderr)


tried(nbits, "four", 96, 24, 4, 32)
tried(nbits, "four_zero", 96, 24, 4, 16, "packed")
tried(nbits, "four_odd_zero", 96, 24, 4, 32, "packed")
tried(nbits, "four_float", 96, 24, 4, 32, "float")
tried(nbits, "four_short", 80, 24, 4, 32, "packed")
tried(nbits, "four_order", 96, 24, 4, 32, None, True)  # beside zero points the runtime leaves them out, against its schema
tried(nbits, "eight", 96, 24, 8, 32)
tried(nbits, "eight_zero", 96, 24, 8, 32, "packed")
tried(nbits, "two", 96, 24, 2, 32)
tried(nbits, "two_zero", 96, 24, 2, 32, "packed")
for name, bits in (("table4", 4), ("table8", 8), ("table2", 2)):
    scales = rng.random((20, 2)).astype(np.float32)
    data = nh.from_array(rng.integers(0, 256, (20, 64 * bits // 8)).astype(np.uint8), name)
    tried(gather, name, data, scales, bits=bits, block_size=32, quantize_axis=1, gather_axis=0)
    if bits == 4:
        data = nh.from_array(rng.integers(0, 256, (20, 32)).astype(np.uint8), name + "z")
        tried(gather, name + "z", data, scales, nh.from_array(zeros(20, 2, 4), name + "z_z"), bits=4, block_size=32, quantize_axis=1, gather_axis=0)
signed = rng.integers(-8, 8, (20, 64)).astype(np.int8)
tried(gather, "table_int4", h.make_tensor("table_int4", T.INT4, (20, 64), signed.flatten().tolist()), rng.random((20, 2)).astype(np.float32),
      block_size=32, quantize_axis=1, gather_axis=0)  # fmt: skip
tried(gather, "table_int4_rows", h.make_tensor("table_int4_rows", T.INT4, (32, 6), rng.integers(-8, 8, 192).tolist()),
      rng.random((2, 6)).astype(np.float32), block_size=16, quantize_axis=0, gather_axis=0)  # fmt: skip
tried(bnb, "nf4", 96, 24, 32, 1)
tried(bnb, "fp4", 96, 24, 32, 0)

inputs = [h.make_tensor_value_info(f"x{k}", T.FLOAT, [None, k]) for k in (96, 80)]
inputs.append(h.make_tensor_value_info("rows", T.INT64, [None]))
onnx.save(model(nodes, constants, inputs, outputs), here / "packed.onnx")
save_file(right, here / "packed.safetensors")
print({name: value.shape for name, value in right.items()})
