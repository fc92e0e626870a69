# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the vectors of this folder with the reference implementation (PyPI safetensors); see README.md."""
import ctypes

import safetensors

# float4_e2m1fn_x2: torch counts pairs of values, the file counts values; the writer doubles the last axis.
BITS = {
    "bool": 8, "float4_e2m1fn_x2": 8, "uint8": 8, "int8": 8, "float8_e5m2": 8, "float8_e4m3fn": 8, "float8_e8m0fnu": 8,
    "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8, "int16": 16, "uint16": 16, "float16": 16, "bfloat16": 16, "int32": 32,
    "uint32": 32, "float32": 32, "complex64": 64, "float64": 64, "int64": 64, "uint64": 64,
}


keep = []


def tensor(dtype, shape, seed):
    count = 1
    for size in shape:
        count *= size
    length = count * BITS[dtype] // 8
    data = ctypes.create_string_buffer(bytes((seed * 37 + i * 11) % 256 for i in range(length)), length or 1)
    keep.append(data)  # the specification only holds an address
    return safetensors.TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(data), data_len=length)


def write(name, tensors):
    with open(name, "wb") as file:
        file.write(safetensors.serialize(tensors, metadata={"format": "pt"}))


def supported(dtype):
    try:
        safetensors.serialize({"x": tensor(dtype, [2, 2], 1)})
        return True
    except Exception as error:
        print("skipped", dtype, error)
        return False


dtypes = [dtype for dtype in BITS if supported(dtype)]
write("every_dtype.safetensors", {f"{d}.{n}": tensor(d, [3, 2], i) for i, d in enumerate(dtypes) for n in ("b", "a")})
write("names.safetensors", {
    name: tensor("float32", [1], i)
    for i, name in enumerate(["", "a/b\\c", 'quote"', "\t\n\r\b\f\x01\x1f\x7f", "é 日本 🙂", "layers.10", "layers.2", "__metadata", "</script>"])
})
write("empty.safetensors", {})
write("zero_sized.safetensors", {
    "scalar": tensor("float32", [], 1), "none": tensor("float32", [0], 2), "rows": tensor("bfloat16", [0, 7], 3), "one": tensor("int8", [1, 1, 1], 4),
})
for length in range(1, 9):  # all lengths of padding
    write(f"padding_{length}.safetensors", {"n" * length: tensor("uint8", [length], length)})
