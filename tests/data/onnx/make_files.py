# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes types.onnx and types_outside.bin with onnx. SHA256SUMS.txt has what onnx reads in them and in the named networks, one line per
tensor: sha256 of its elements in C order, NumPy dtype, shape, name.

    /usr/bin/python3 make_files.py            # Debian's python3-onnx 1.12
    /usr/bin/python3 make_files.py FILE.onnx  # only prints the lines of another file
"""
import hashlib
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = Path(__file__).resolve().parent


def label(node, index):
    return node.name if 0 < len(node.name.encode()) <= 100 else f"{node.op_type}_{index}"


def array(tensor):
    if tensor.data_type == TensorProto.COMPLEX64 and not tensor.raw_data:  # onnx 1.12 fails for these
        return np.array(tensor.float_data, np.float32).view(np.complex64).reshape(tensor.dims)
    return numpy_helper.to_array(tensor, str(here))


def tensors(graph, prefix=""):
    """All tensors, with the names that QuantScope gives them."""
    for tensor in graph.initializer:
        yield prefix + tensor.name, array(tensor)
    for index, node in enumerate(graph.node):
        constant = node.op_type == "Constant"
        for a in node.attribute:
            name = prefix + (node.output[0] if constant else f"{label(node, index)}.{a.name}")
            if a.HasField("t"):
                yield name, numpy_helper.to_array(a.t)
            elif constant and a.name in ("value_float", "value_floats"):
                yield name, np.float32(a.f if a.name == "value_float" else list(a.floats))
            elif constant and a.name in ("value_int", "value_ints"):
                yield name, np.int64(a.i if a.name == "value_int" else list(a.ints))
            if a.HasField("g"):
                yield from tensors(a.g, f"{prefix}{label(node, index)}/{a.name}/")


def lines(model):
    for name, array in tensors(model.graph):
        if array.dtype != object and array.dtype != np.complex128:
            sha = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
            yield f"{sha} {array.dtype} {','.join(map(str, array.shape)) or '-'} {name}"


def make():
    rng = np.random.default_rng(7)
    initializers, nodes = [], []
    types = "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64".split()
    for kind in types:
        number = getattr(TensorProto, kind)
        dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[number]
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values = rng.integers(limits.min, limits.max, (5, 7), dtype, endpoint=True)
        elif dtype.kind == "c":
            values = (rng.normal(size=(5, 7)) + 1j * rng.normal(size=(5, 7))).astype(dtype)
        elif dtype.kind == "b":
            values = rng.integers(0, 2, (5, 7)).astype(dtype)
        else:
            values = rng.normal(size=(5, 7)).astype(dtype)
        initializers.append(numpy_helper.from_array(values, f"raw_{kind}"))
        plain = values.flatten()
        initializers.append(helper.make_tensor(f"typed_{kind}", number, (5, 7), plain))
    initializers.append(helper.make_tensor("texts", TensorProto.STRING, (2,), [b"a", b"b"]))
    many = rng.integers(-70000, 70000, 9001).astype(np.int32)
    initializers.append(helper.make_tensor("long_typed", TensorProto.INT32, (9001,), many))
    initializers.append(numpy_helper.from_array(np.float32(3.5), "scalar"))
    initializers.append(numpy_helper.from_array(np.zeros((0, 4), np.float32), "nothing"))
    outside = rng.normal(size=(6, 8)).astype(np.float32)
    (here / "types_outside.bin").write_bytes(b"\1" * 64 + outside.tobytes())
    tensor = numpy_helper.from_array(outside, "outside")
    onnx.external_data_helper.set_external_data(tensor, "types_outside.bin", 64, outside.nbytes)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    initializers.append(tensor)

    def constant(output, **value):
        return helper.make_node("Constant", [], [output], **value)

    def branch(name, fill):
        inner = helper.make_graph([constant("c", value=numpy_helper.from_array(np.full((2, 3), fill + 1, np.float32), ""))], "inner", [], [helper.make_tensor_value_info("c", 1, (2, 3))], [numpy_helper.from_array(np.full(4, fill, np.int64), "w")])
        return helper.make_graph([constant(name, value=numpy_helper.from_array(np.full((3, 2), fill, np.float32), "")),
                                  helper.make_node("Loop", [], ["l"], name="loop", body=inner)], name, [], [helper.make_tensor_value_info(name, 1, (3, 2))],
                                 [numpy_helper.from_array(np.full(5, fill, np.float32), "w")])
    nodes += [constant("one", value_float=1.25), constant("floats", value_floats=[1.0, -2.0, 3.5]), constant("int", value_int=-3),
              constant("ints", value_ints=[4, -5, 1 << 40]), constant("text", value_string="x"),
              helper.make_node("ConstantOfShape", ["ints"], ["filled"], value=numpy_helper.from_array(np.array([7.5], np.float32), "")),
              helper.make_node("If", ["raw_BOOL"], ["out"], then_branch=branch("t", 1), else_branch=branch("e", 2))]
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.float32([1, 2]), "sparse"), numpy_helper.from_array(np.int64([0, 3]), ""), [4])
    graph = helper.make_graph(nodes, "types", [], [helper.make_tensor_value_info("out", 1, None)], initializers, sparse_initializer=[sparse])
    model = helper.make_model(graph, producer_name="make_files.py", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    helper.set_model_props(model, {"note": "of every type"})
    (here / "types.onnx").write_bytes(model.SerializeToString())


if len(sys.argv) > 1:
    print("\n".join(lines(onnx.load(sys.argv[1]))))
else:
    import subprocess
    make()
    network = onnx.load_from_string(subprocess.run(["zstd", "-dc", here / "basic_pitch.onnx.zst"], capture_output=True, check=True).stdout)
    types = onnx.load(str(here / "types.onnx"), load_external_data=False)
    for name, model in ("types", types), ("basic_pitch", network):
        (here / f"{name}.sha256").write_text("\n".join(lines(model)) + "\n")
