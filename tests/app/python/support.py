# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the tests of the Python module: the command line beside it, and safetensors files byte by byte."""
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing; packaging/install-deps --test installs python3-numpy")
    sys.exit(77)

CLI = os.environ["QS_CLI"]
os.environ["QS_WORKER"] = str(Path(CLI).parent / "quantscope-worker")
SAMPLE = Path("resources/samples/tiny-llama")
TYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "int8": "I8", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


def cli(*arguments):
    """Runs quantscope-cli and returns what it prints."""
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"quantscope-cli {shlex.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def refusal(*arguments):
    """The sentence with which the command line refuses."""
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 1, f"exit code {done.returncode}"
    return done.stderr.strip().removeprefix("quantscope-cli: ")


def rows_of(*arguments):
    """The rows of a command as JSON."""
    return json.loads(cli(*arguments, "--json", "-"))["rows"]


def write_safetensors(path, tensors, skew=0):
    """Arrays, or (dtype, shape, bytes) for types that NumPy lacks. `skew` bytes of blanks move the data off alignment."""
    header, data = {}, b""
    for name, array in tensors.items():
        dtype, shape, raw = array if isinstance(array, tuple) else (TYPES[array.dtype.name], array.shape, array.tobytes())
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 + skew)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    return Path(path)


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    raw = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    return {
        name: (one["dtype"], tuple(one["shape"]), data[slice(*one["data_offsets"])])
        for name, one in header.items()
        if name != "__metadata__"
    }


def bf16(values):
    """The bits of f32 values as bf16, to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_same_bits(self, ours, theirs, what):
        ours = np.ascontiguousarray(ours)
        self.assertEqual(ours.tobytes(), theirs if isinstance(theirs, bytes) else np.ascontiguousarray(theirs).tobytes(), what)


def main():
    unittest.main(verbosity=1)
