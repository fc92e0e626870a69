# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes blocks.tflite, tables whose rows are quantized in blocks, with flatbuffers, and blocks.sha256, what LiteRT's EMBEDDING_LOOKUP gives
for all their rows. The kernel reads codes of 4 and 2 bits without zero points. Others are (code - zero point) * scale in float32, which the
schema says (schema.fbs, BlockwiseQuantization). See make_files.py for the form of the lines.

    pip install ai-edge-litert==2.3.0 flatbuffers numpy && python make_blocks.py
"""
import hashlib
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

here = Path(__file__).resolve().parent
rng = np.random.default_rng(12)
types = schema.TensorType
model, graph = schema.ModelT(), schema.SubGraphT()
model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []
code = schema.OperatorCodeT()
code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.EMBEDDING_LOOKUP
code.version = 4
model.operatorCodes = [code]


def line(name, array):
    return f"{hashlib.sha256(array.tobytes()).hexdigest()} {array.dtype} {','.join(map(str, array.shape))} {name}"


def tensor(name, kind, shape, data=None):
    out = schema.TensorT()
    out.name, out.type, out.shape = name, kind, list(shape)
    if data is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(data, np.uint8)
        model.buffers.append(buffer)
        out.buffer = len(model.buffers) - 1
    graph.tensors.append(out)
    return len(graph.tensors) - 1


def packed(values, bits):
    per = 8 // bits
    flat = values.reshape(-1, per) & (2**bits - 1)
    return sum(flat[:, i].astype(np.uint8) << (bits * i) for i in range(per)).astype(np.uint8).tobytes()


def table(name, bits, rows, columns, block, zeros=None):
    """Adds a table; returns its values if the kernel does not read it, else None."""
    values = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (rows, columns))
    scales = (rng.random((rows, columns // block)) * 0.1 + 0.01).astype(np.float16)
    data = packed(values, bits) if bits < 8 else values.astype(np.int8).tobytes()
    at = tensor(name, {4: types.INT4, 2: types.INT2, 8: types.INT8}[bits], (rows, columns), data)
    q, details = schema.QuantizationParametersT(), schema.BlockwiseQuantizationT()
    details.scales = tensor(name + "_scales", types.FLOAT16, scales.shape, scales.tobytes())
    details.zeroPoints, details.blockSize = -1, block
    if zeros is not None:
        z = rng.integers(-5, 6, scales.shape).astype(zeros)
        details.zeroPoints = tensor(name + "_zeros", {"i4": types.INT32, "i1": types.INT8}[zeros], z.shape, z.tobytes())
    q.detailsType, q.details = schema.QuantizationDetails.BlockwiseQuantization, details
    graph.tensors[at].quantization = q
    if bits < 8 and zeros is None:
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs = 0, [tensor(name + "/ids", types.INT32, (rows,)), at]
        op.outputs = [tensor(name + "/rows", types.FLOAT32, (rows, columns))]
        graph.operators.append(op)
        graph.inputs.append(op.inputs[0])
        graph.outputs.append(op.outputs[0])
        return None
    z = np.zeros(scales.shape, np.float32) if zeros is None else z.astype(np.float32)
    split = values.reshape(rows, -1, block).astype(np.float32)
    return ((split - z[..., None]) * scales.astype(np.float32)[..., None]).reshape(rows, columns)


tensor("ids come first", types.INT32, (1,))
made = {
    name: table(name, *how)
    for name, *how in [("int4", 4, 6, 64, 32), ("int2", 2, 5, 48, 16), ("int4/zeros", 4, 4, 32, 16, "i4"),
                       ("int8/zeros", 8, 4, 32, 8, "i1")]
}
builder = flatbuffers.Builder(1024)
builder.Finish(model.Pack(builder), b"TFL3")
content = bytes(builder.Output())
(here / "blocks.tflite").write_bytes(content)
interpreter = Interpreter(model_content=content)
interpreter.allocate_tensors()
for at in graph.inputs:
    interpreter.set_tensor(at, np.arange(graph.tensors[at].shape[0], dtype=np.int32))
interpreter.invoke()
for at in graph.outputs:
    name = graph.tensors[at].name
    made[name[: -len("/rows")]] = interpreter.get_tensor(at)
lines = [line(name, values) for name, values in made.items()]
(here / "blocks.sha256").write_text("\n".join(lines) + "\n")
print("\n".join(lines))
