# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints saved by Orbax and databases written by TensorStore. Names, dtypes, shapes and bytes that quantscope-cli reads must equal
those that TensorStore reads, and those that were saved.

    python3 tests/peers/compare_ocdbt.py CLI [CHECKPOINT ...]
"""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts
from jax.sharding import Mesh, NamedSharding, PartitionSpec

DTYPES = "float32 bfloat16 float16 float64 int8 int16 int32 int64 uint8 uint16 uint32 bool complex64 float8_e4m3fn float8_e5m2 int4 int2".split()
OURS = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "float64": "F64", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
        "uint8": "U8", "uint16": "U16", "uint32": "U32", "bool": "BOOL", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "int4": "I8", "int2": "I8"}


def some(dtype, shape, seed):
    bits = np.random.default_rng(seed).integers(0, 256, (int(np.prod(shape)), np.dtype(dtype).itemsize), np.uint8)
    return (bits & 1).reshape(shape).astype(bool) if dtype == "bool" else bits.reshape(-1).view(dtype).reshape(shape)


def raw(values):
    return np.ascontiguousarray(values.astype(np.int8) if str(values.dtype) in ("int2", "int4") else values).tobytes()


def sharded(values, mesh, *spec):
    return jax.make_array_from_callback(values.shape, NamedSharding(mesh, PartitionSpec(*spec)), lambda at: values[at])


def tree(mesh=None):
    """Arrays of every dtype, from scalars to arrays split over four devices. jax has no 64-bit dtypes here."""
    out = {"types": {d: some(d, (12, 11), i) for i, d in enumerate(DTYPES)}, "scalar": np.float32(2.5), "zeros": np.zeros((300, 40), np.float32), "layers": {}}
    for i in range(30):
        out["layers"][str(i)] = {"kernel": some("float32", (32, 24 + i), 100 + i), "bias": some("bfloat16", (24 + i,), 200 + i)}
    if mesh:
        out = {"cut": {"rows": sharded(some("float32", (64, 30), 1), mesh, "a"), "both": sharded(some("bfloat16", (40, 24), 2), mesh, "a", "b"), "whole": sharded(some("int8", (9, 9), 3), mesh)}}
    return out


def save_as_process(path, number, port):
    jax.distributed.initialize(f"localhost:{port}", 2, number)
    devices = jax.devices()
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
        checkpointer.save(Path(path), tree(Mesh(np.array(devices).reshape(len(devices) // 2, 2), ("a", "b"))))


def by_tensorstore(folder):
    """Maps names to arrays, for all databases in a folder and below."""
    for manifest in sorted(folder.rglob("manifest.ocdbt")):
        if manifest.parent.name.startswith("ocdbt.process_"):
            continue
        store = {"driver": "ocdbt", "base": f"file://{manifest.parent}/"}
        if list(manifest.parent.glob("manifest.0*")):
            store["config"] = {"manifest_kind": "numbered"}
        below = "" if manifest.parent == folder else f"{manifest.parent.relative_to(folder)}/"
        for key in ts.KvStore.open(store).result().list().result():
            name, _, about = key.decode().rpartition("/")
            if about in (".zarray", "zarr.json"):
                yield below + name, ts.open({"driver": "zarr" if about == ".zarray" else "zarr3", "kvstore": {**store, "path": f"{name}/"}}).result().read().result()


def leaves(tree, prefix=""):
    for key, value in tree.items():
        yield from leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, np.asarray(value))]


def read_safetensors(path):
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + n])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + n + t["data_offsets"][0] : 8 + n + t["data_offsets"][1]]) for name, t in header.items()}


class Compared:
    def __init__(self, check, quantscope, scratch):
        self.check, self.quantscope, self.scratch = check, quantscope, scratch

    def __call__(self, name, folder, saved=None):
        want = dict(by_tensorstore(folder))
        listed = {t["name"]: t for t in json.loads(self.quantscope("inspect", folder, "--json", "-"))["tensors"]}
        self.check(f"{name}: names", set(listed) == set(want) and want, f"{set(listed) ^ set(want)}")
        out = self.scratch / "out.safetensors"
        out.unlink(missing_ok=True)
        self.quantscope("dequantize", folder, "-o", out)
        ours = read_safetensors(out)
        for key, value in want.items():
            self.check(f"{name} {key}: type and shape", (ours[key][0], ours[key][1]) == (OURS[str(value.dtype)], list(value.shape)), f"{ours[key][:2]} {value.dtype} {value.shape}")
            self.check(f"{name} {key}: bytes", ours[key][2] == raw(value))
        for key, value in leaves(saved or {}):
            self.check(f"{name} {key}: as saved", key in ours and ours[key][2] == raw(value))
        print(f"{name}: {len(want)} arrays, {sum(v.nbytes for v in want.values())} bytes")


def databases(folder):
    """Databases written by TensorStore alone: every kind of tree, values inside and outside of nodes, and missing chunks."""
    for compression in None, {"id": "zstd", "level": 9}:
        for inline in 0, 100, 1 << 20:
            for node in 1, 600, 1 << 20:
                for manifest in "single", "numbered":
                    name = f"{'zstd' if compression else 'plain'}-{inline}-{node}-{manifest}"
                    config = {"compression": compression, "max_inline_value_bytes": inline, "max_decoded_node_bytes": node, "manifest_kind": manifest, "version_tree_arity_log2": 1}
                    for i in range(5):
                        store = ts.open({"driver": ("zarr", "zarr3")[i % 2], "kvstore": {"driver": "ocdbt", "base": f"file://{folder / name}/", "config": config, "path": f"layers.{i}.kernel/"}}, create=True, dtype=("float32", "bfloat16", "int8")[i % 3], shape=[13, 9 + i], chunk_layout=ts.ChunkLayout(chunk_shape=[4, 5])).result()
                        values = some(str(store.dtype.name), (13, 9 + i), i)
                        store[: 13 if i % 2 else 6].write(values[: 13 if i % 2 else 6]).result()
                        store[:2, :2].write(values[2:4, 2:4]).result() # an older version of the values stays in the database
                    yield name, folder / name


def main():
    from checks import Checks, quantscope

    check = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        compared = Compared(check, quantscope, folder)
        mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
        for name, options in ("orbax, zarr 2", {}), ("orbax, zarr 3", {"use_zarr3": True}):
            for what, values in ("arrays", tree()), ("cut", tree(mesh)):
                path = folder / f"{name} {what}"
                with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)) as checkpointer:
                    checkpointer.save(path, values)
                compared(path.name, path, values)
        with ocp.CheckpointManager(folder / "steps") as manager:
            manager.save(7, args=ocp.args.Composite(params=ocp.args.StandardSave(tree(mesh)), state=ocp.args.StandardSave({"mu": some("float32", (9, 9), 4)}), notes=ocp.args.JsonSave({"a": 1})))
        compared("orbax, a step of a manager", folder / "steps" / "7")
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        processes = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, "--process", folder / "processes", str(i), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in (0, 1)]
        ended = [process.wait(240) for process in processes]
        check("orbax, two processes: saved", ended == [0, 0], str(ended))
        compared("orbax, two processes", folder / "processes")
        for name, path in databases(folder):
            compared(f"tensorstore {name}", path)
        for path in sys.argv[2:]:
            compared(path, Path(path).resolve())
    print(f"orbax-checkpoint {ocp.__version__}, tensorstore {version('tensorstore')}, jax {jax.__version__}")
    check.finish()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--process":
        save_as_process(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
