# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes quantized.tflite with flatbuffers. Also writes what LiteRT's interpreter reads in it and in basic_pitch.tflite, one line per
tensor: sha256 of its elements in C order, NumPy dtype, shape, name. Quantized tensors are given as its kernel DEQUANTIZE decodes them.
Where a network computes with the integers, they are scale * (q - zero point) in float32, which is the formula of that kernel.

    pip install ai-edge-litert==2.3.0 flatbuffers numpy && python make_files.py            # writes
    python make_files.py FILE.tflite                                                      # prints the lines of another file
"""
import hashlib
import subprocess
import sys
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

here = Path(__file__).resolve().parent
DEQUANTIZE = 6


def line(name, array):
    return f"{hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()} {array.dtype} {','.join(map(str, array.shape)) or '-'} {name}"


def dequantized(details, values):
    """The values of an integer constant: decoded with the scales along its axis, or unchanged if it has none."""
    scales, zeros = details["quantization_parameters"]["scales"], details["quantization_parameters"]["zero_points"]
    if not len(scales) or values.dtype.kind not in "iu" or values.dtype.itemsize > 2:
        return values
    along = [1] * values.ndim
    if len(scales) > 1:
        along[details["quantization_parameters"]["quantized_dimension"]] = len(scales)
    whole = values.astype(np.int32) - np.reshape(zeros, along if len(zeros) > 1 else [1] * values.ndim)
    return whole.astype(np.float32) * np.reshape(scales, along).astype(np.float32)


def lines(content):
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    tensors = model.subgraphs[0].tensors
    derived = {}
    if any(op for op in model.subgraphs[0].operators if model.operatorCodes[op.opcodeIndex].builtinCode == DEQUANTIZE):
        interpreter.allocate_tensors()
        interpreter.invoke()
        derived = {op.inputs[0]: op.outputs[0] for op in model.subgraphs[0].operators}
    details = {d["index"]: d for d in interpreter.get_tensor_details()}
    for index, tensor in enumerate(tensors):
        data = model.buffers[tensor.buffer].data
        if data is not None and len(data):
            values = interpreter.get_tensor(derived.get(index, index))
            yield line(tensor.name.decode(), values if index in derived else dequantized(details[index], values))


def make():
    rng = np.random.default_rng(11)
    types = schema.TensorType
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.description = 3, "quantized tensors"
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = DEQUANTIZE
    code.version = 5
    model.operatorCodes, model.subgraphs, model.buffers = [code], [graph], [schema.BufferT()]
    graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []

    def add(name, kind, values, scales, zeros, axis=0):
        scales = np.float32(scales)
        for is_output in False, True:
            tensor = schema.TensorT()
            tensor.name, tensor.shape = name + ("_out" if is_output else ""), list(values.shape)
            tensor.type = types.FLOAT32 if is_output else kind
            if is_output:
                tensor.buffer = 0
            else:
                buffer = schema.BufferT()
                raw = values.tobytes()
                if kind == types.INT4:
                    flat = np.append(values.flatten(), [0] * (values.size % 2)).astype(np.uint8) & 15
                    raw = (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()
                buffer.data = np.frombuffer(raw, np.uint8)
                model.buffers.append(buffer)
                tensor.buffer = len(model.buffers) - 1
                q = tensor.quantization = schema.QuantizationParametersT()
                q.scale, q.zeroPoint, q.quantizedDimension = list(map(float, scales)), zeros, axis
            graph.tensors.append(tensor)
        op = schema.OperatorT()
        op.inputs, op.outputs = [len(graph.tensors) - 2], [len(graph.tensors) - 1]
        graph.operators.append(op)
        graph.outputs.append(len(graph.tensors) - 1)

    def codes(dtype, shape):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    add("int8", types.INT8, codes(np.int8, (3, 5)), [0.037], [-7])
    add("int8/channels", types.INT8, codes(np.int8, (4, 3, 5)), rng.uniform(1e-3, 1, 4), [0, 0, 0, 0])
    add("int8/last axis", types.INT8, codes(np.int8, (4, 3, 5)), rng.uniform(1e-3, 1, 5), [0, 1, -2, 3, 4], 2)
    add("int8/middle axis", types.INT8, codes(np.int8, (4, 3, 5)), rng.uniform(1e-3, 1, 3), [9, 1, -2], 1)
    add("uint8", types.UINT8, codes(np.uint8, (257,)), [1.0 / 255], [128])
    add("int16", types.INT16, codes(np.int16, (7, 3)), [3.1e-5], [0])
    add("int4", types.INT4, rng.integers(-8, 8, (3, 7), np.int8), [0.21], [0])
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    (here / "quantized.tflite").write_bytes(bytes(builder.Output()))


if len(sys.argv) > 1:
    print("\n".join(lines(Path(sys.argv[1]).read_bytes())))
else:
    make()
    network = subprocess.run(["zstd", "-dc", here / "basic_pitch.tflite.zst"], capture_output=True, check=True).stdout
    for name, content in ("quantized", (here / "quantized.tflite").read_bytes()), ("basic_pitch", network):
        (here / f"{name}.sha256").write_text("\n".join(lines(content)) + "\n")
