# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes qmoe.onnx, mixtures of experts with weights of integers (QMoE), and qmoe.safetensors, the weights that ONNX Runtime
1.32 computes with: each is run beside a weight that is the identity, with tokens that are rows of the identity.

    python make_qmoe.py   # onnx, onnxruntime, safetensors
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
rng = np.random.default_rng(7)
EXPERTS, SIZE = 2, 32
nodes, constants, right, outputs = [], [], {}, []


def packed(codes, bits):
    per = 8 // bits
    rest = -codes.shape[-1] % per
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], rest), np.uint8)], -1)
    return sum((codes[..., i::per] << (bits * i)).astype(np.uint8) for i in range(per))


def weight(bits, block, zeros):
    """Codes, scales and zero points of random experts."""
    groups = SIZE // block if block else 1
    shape = (EXPERTS, SIZE, groups)
    made = [packed(rng.integers(0, 2**bits, (EXPERTS, SIZE, SIZE)).astype(np.uint8), bits), rng.random(shape).astype(np.float32)]
    if zeros and block:
        made.append(packed(rng.integers(0, 2**bits, shape).astype(np.uint8), bits))
    return made if block else [made[0], made[1][..., 0]] + [packed(z, bits) for z in rows_of(zeros, bits)]


def rows_of(zeros, bits):
    """Zero points without blocks: one a row, and those of all rows follow each other."""
    return [rng.integers(0, 2**bits, (EXPERTS, SIZE)).astype(np.uint8)] if zeros else []


def identity(bits, block, zeros):
    codes = np.full((EXPERTS, SIZE, SIZE), 2 ** (bits - 1), np.uint8) + np.eye(SIZE, dtype=np.uint8)
    shape = (EXPERTS, SIZE, SIZE // block) if block else (EXPERTS, SIZE)
    made = [packed(codes, bits), np.ones(shape, np.float32)]
    return made + ([packed(np.full(shape, 2 ** (bits - 1), np.uint8), bits)] if zeros else [])


def node(name, bits, block, zeros, weights):
    """Inputs: tokens, probabilities, then codes, scales and bias of fc1, fc2, fc3, then their zero points."""
    names, made = ["x", "p"], []
    for part, tensors in zip(("fc1", "fc2"), weights):
        for kind, array in zip(("", "_s", "_z"), tensors):
            made.append(nh.from_array(array, f"{name}_{part}{kind}"))
        names += [f"{name}_{part}", f"{name}_{part}_s", ""]
    names += ["", "", ""]
    if zeros:
        names += [f"{name}_fc1_z", f"{name}_fc2_z"]
    more = {"block_size": block} if block else {}
    return h.make_node("QMoE", names, ["y_" + name], domain="com.microsoft", k=1, expert_weight_bits=bits,
                       activation_type="identity", weights_prepacked=0, **more), made


def model(node_list, constant_list, names):
    inputs = [h.make_tensor_value_info("x", T.FLOAT, [None, SIZE]), h.make_tensor_value_info("p", T.FLOAT, [None, EXPERTS])]
    graph = h.make_graph(node_list, "qmoe", inputs, [h.make_tensor_value_info(n, T.FLOAT, None) for n in names], constant_list)
    out = h.make_model(graph, opset_imports=[h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)])
    out.ir_version = 10
    return out


def run(one, made):
    session = ort.InferenceSession(model([one], made, [one.output[0]]).SerializeToString(), providers=["CPUExecutionProvider"])
    rows = []
    for expert in range(EXPERTS):
        chosen = np.full((SIZE, EXPERTS), -1e4, np.float32)
        chosen[:, expert] = 1e4
        rows.append(session.run(None, {"x": np.eye(SIZE, dtype=np.float32), "p": chosen})[0].T)
    return np.stack(rows)


def add(name, bits, block, zeros=False):
    first, second, one = weight(bits, block, zeros), weight(bits, block, zeros), identity(bits, block, zeros)
    try:
        right[name + "_fc1"] = np.ascontiguousarray(run(*node(name, bits, block, zeros, (first, one))))
        right[name + "_fc2"] = np.ascontiguousarray(run(*node(name, bits, block, zeros, (one, second))))
    except Exception as error:  # the runtime has no kernel for it
        right.pop(name + "_fc1", None)
        return print(name, repr(error)[:300], file=sys.stderr)
    made, tensors = node(name, bits, block, zeros, (first, second))
    nodes.append(made), constants.extend(tensors), outputs.append(made.output[0])


add("four", 4, 0)
add("four_blocks", 4, 32)
add("four_zeros", 4, 16, True)
add("four_row_zeros", 4, 0, True)
add("eight", 8, 0)
add("eight_row_zeros", 8, 0, True)  # with blocks the runtime rounds the tokens to 8 bits
add("two", 2, 32)
onnx.save(model(nodes, constants, outputs), here / "qmoe.onnx")
save_file(right, here / "qmoe.safetensors")
print({name: value.shape for name, value in right.items()})
