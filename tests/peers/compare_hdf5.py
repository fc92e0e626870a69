# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the layout hdf5 with h5py and decodes it by its attributes with NumPy only. Every value must equal that of the layout `npz`, which
has the values of the analysis.

    compare_hdf5.py CLI [MODEL]
"""
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"SKIP hdf5: {missing}; QS_H5PY_PYTHON names a Python that has h5py and numpy")
    sys.exit(0)

cli = sys.argv[1]
model = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parents[2] / "resources/samples/tiny-llama")
passed = failed = 0
NF4 = np.array([-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0, 0.0795803, 0.1609302, 0.2461123,
                0.33791524, 0.44070983, 0.562617, 0.72295684, 1], np.float32)


def check(name, same, more=""):
    global passed, failed
    passed, failed = passed + bool(same), failed + (not same)
    if not same:
        print(f"FAIL {name} {more}")


def bits_of(rows, bits, columns):
    """Unpacks the codes of a row from a bit stream, lowest bits first."""
    stream = np.unpackbits(rows, axis=1, bitorder="little")[:, : columns * bits].reshape(len(rows), columns, bits)
    return (stream << np.arange(bits, dtype=np.uint8)).sum(axis=2)


def decoded(file, name):
    codes = file[name + ".codes"]
    spec, shape = codes.attrs["quantscope_spec"].decode(), tuple(codes.attrs["quantscope_shape"])
    assert codes.attrs["quantscope_layout"] == b"hdf5"
    format, block = spec.split(":")[0], int(dict(p.split("=") for p in spec.split(":")[1:] if "=" in p).get("block", 64))
    bits = 4 if format == "nf4" else int(format[3:])
    values = bits_of(codes[()], bits, shape[1])
    if format == "nf4":
        levels = NF4[values]
    elif "dialect=mlx" in spec:
        scale, bias = (np.repeat(file[name + field][()].astype(np.float32), block, axis=1) for field in (".scale", ".bias"))
        return values.astype(np.float32) * scale + bias
    else:
        levels = values.astype(np.float32) - np.float32(2 ** (bits - 1) - (0 if "sym=no" in spec else 1)) # starts at -7 or -8
    if name + ".zero" in file:
        levels = levels - np.repeat(file[name + ".zero"][()].astype(np.float32), block, axis=1)[:, : shape[1]]
    return levels * np.repeat(file[name + ".scale"][()].astype(np.float32), block, axis=1)[:, : shape[1]]


def quantize(spec, layout, out):
    done = subprocess.run([cli, "quantize", str(model), "--spec", spec, "--layout", layout, "-o", str(out), "--force"], capture_output=True, text=True)
    check(f"{layout} {spec} is written", done.returncode == 0, done.stderr)


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    for spec in ("nf4:block=64", "int4:block=32", "int3:block=64", "int4:sym=no:block=64", "int5:block=32:dialect=mlx"):
        quantize(spec, "hdf5", folder / "out.h5")
        quantize(spec, "npz", folder / "out.npz")
        plain = np.load(folder / "out.npz")
        with h5py.File(folder / "out.h5") as file:
            check(f"{spec} version", file.attrs["quantscope_hdf5"] == b"1")
            for name in plain.files:
                value = decoded(file, name) if name + ".codes" in file else file[name][()]
                check(f"{spec} {name}", value.shape == plain[name].shape and np.array_equal(value, plain[name]))
    # Format `bf16`: values in their own dtype. bfloat16 is a 16-bit float type that libhdf5 converts.
    quantize("bf16", "hdf5", folder / "out.h5")
    quantize("bf16", "npz", folder / "out.npz")
    plain = np.load(folder / "out.npz")
    with h5py.File(folder / "out.h5") as file:
        for name in plain.files:
            check(f"bf16 {name}", np.array_equal(file[name][()].astype(np.float32), plain[name]))
print(f"h5py {h5py.__version__}: {passed} checks, {failed} failed")
sys.exit(failed > 0)
