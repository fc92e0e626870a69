# SPDX-License-Identifier: GPL-3.0-or-later
"""Models written by the weight writer of tensorflowjs, in shards of many sizes, quantized and not. `dequantize` must give the values of its
reader bit for bit (for float16, before they are widened).

    compare_tfjs.py QUANTSCOPE-CLI UNPACKED-WHEEL
"""
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data" / "tfjs"))
import peer
from checks import Checks, quantscope

write_weights, read_weights = peer.load(sys.argv[2])
rng = np.random.default_rng(29)
check = Checks()


def weights():
    """Weights with unusual shapes and ranges: around zero, far from it, constant, tiny, huge, one element, no element."""
    out = []
    for i, shape in enumerate([(64, 48), (3, 3, 8, 16), (257,), (1,), (), (0, 4), (1000, 7)]):
        values = rng.normal(size=shape)
        for kind, data in {"about zero": values, "far": values + 37, "below": -np.abs(values) - 5, "constant": np.full(shape, 0.1), "tiny": values * 1e-38, "huge": values * 1e37, "outlier": values ** 9}.items():
            out.append({"name": f"{i}/{kind}", "data": np.asarray(data, np.float32)})
    out += [{"name": "int", "data": rng.integers(-2**31, 2**31, (9, 5)).astype(np.int32)}, {"name": "bool", "data": rng.integers(0, 2, (3, 3)).astype(bool)},
            {"name": "complex", "data": (rng.normal(size=9) + 1j * rng.normal(size=9)).astype(np.complex64)}, {"name": "uint8", "data": np.arange(9, dtype=np.uint8)},
            {"name": "uint16", "data": np.arange(9, dtype=np.uint16)}, {"name": "text", "data": np.array(["a", "", "ü" * 300], dtype=object)}]
    return out


def compare(name, shard_bytes, split, quantization):
    entries = [w for w in weights() if w["data"].size or not quantization]  # the writer cannot quantize empty tensors
    groups = [entries[:split], entries[split:]] if split else [entries]
    with tempfile.TemporaryDirectory() as scratch:
        manifest = write_weights.write_weights(groups, scratch, shard_bytes, False, quantization)
        model = Path(scratch, "model.json")
        model.write_text(json.dumps({"format": "layers-model", "modelTopology": {}, "weightsManifest": manifest}))
        quantscope("dequantize", model, "-o", f"{scratch}/out.safetensors")
        ours = load_file(f"{scratch}/out.safetensors")
        listed = {t["name"]: t for t in json.loads(quantscope("inspect", model, "--json", "-"))["tensors"]}
        described = [w for group in manifest for w in group["weights"]]
        theirs = read_weights.read_weights(manifest, scratch, flatten=True)
        check(f"{name}: number", len(listed) == len(ours) == len(described) - 1, f"{len(listed)} {len(ours)}")
        for entry, said in zip(theirs, described):
            data, codes = entry["data"], said.get("quantization", {}).get("dtype")
            if said["dtype"] == "string":
                check(f"{name}: {entry['name']}", entry["name"] not in listed)
                continue
            if codes == "float16":
                data = data.astype(np.float16)
            mine = ours.get(entry["name"])
            check(f"{name}: {entry['name']}", mine is not None and mine.dtype == data.dtype and mine.shape == data.shape and mine.tobytes() == data.tobytes())
            if codes in ("uint8", "uint16"):
                check(f"{name}: {entry['name']} is shown as it is stored", listed[entry["name"]]["dtype"] == f"TFJS {codes.upper()}", listed[entry["name"]]["dtype"])


for name, quantization in {"as they are": None, "uint8": {"uint8": True}, "uint16": {"uint16": True}, "float16": {"float16": True}, "mixed": {"uint8": ["0/*", "3/*"], "float16": "2/*", "uint16": True}}.items():
    for shard_bytes, split in ((4 << 20, 0), (1 << 15, 20), (1001, 7), (97, 0) if quantization and "uint8" in quantization else (4096, 1)):
        compare(f"{name}, shards of {shard_bytes}", shard_bytes, split, quantization)
check.finish()
