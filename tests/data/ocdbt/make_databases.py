# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes OCDBT databases with Orbax and TensorStore. FOLDER.sha256 has what TensorStore reads in them, one line per array: sha256 of its
elements in C order, NumPy dtype, shape, name.

    pip install jax orbax-checkpoint==0.12.8 tensorstore==0.1.86 && python make_databases.py [FOLDER]
"""
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

here = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).resolve()
process = int(os.environ.get("PROCESS", -1)) # 0 and 1: one of the two processes that write `processes` together
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts
from jax.sharding import Mesh, NamedSharding, PartitionSpec

if process >= 0:
    jax.distributed.initialize(f"localhost:{os.environ['PORT']}", 2, process)

rng = np.random.default_rng(5)
values = {"params": {"dense": {"kernel": rng.normal(size=(40, 20)).astype(np.float32), "bias": rng.normal(size=20).astype(jnp.bfloat16)},
                     "norm": rng.normal(size=600).astype(np.float16), "scale": np.float32(0.75)},
          "step": 7, "codes": rng.integers(-128, 128, (5, 9)).astype(np.int8), "zeros": np.zeros((300, 7), np.float32)}


def shrink(folder):
    """Removes what a reader of arrays does not need: older versions, the databases of processes, and metadata of Orbax."""
    for extra in "_sharding", "array_metadatas", "commit_success.txt", "_strings.json":
        for path in sorted(folder.rglob(extra)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for manifest in sorted(folder.rglob("ocdbt.process_*/manifest.ocdbt")):
        manifest.unlink()
    for numbered in sorted(folder.rglob("manifest.0*"))[:-2]:
        numbered.unlink()
    used = {manifest.parent / place.split(":", 1)[1].rsplit(":", 2)[0].replace(":", "") for manifest in folder.rglob("manifest.ocdbt") for place in places(manifest.parent)}
    for data in sorted(folder.rglob("d/*")):
        if data not in used:
            data.unlink()
    for empty in sorted(folder.rglob("*"), reverse=True):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()


def newest(folder, base):
    """The manifest. If manifests are numbered, the last one, under a name that TensorStore looks for."""
    numbered = sorted(folder.glob("manifest.0*"))
    if not numbered:
        return ts.ocdbt.dump(base).result()
    memory = ts.KvStore.open("memory://").result()
    memory["manifest.ocdbt"] = numbered[-1].read_bytes()
    return ts.ocdbt.dump(memory).result()


def places(folder):
    """Positions of nodes and values, such as "value:ocdbt.process_0/:d/...:OFFSET:LENGTH"."""
    base = ts.KvStore.open({"driver": "file", "path": f"{folder}/"}).result()
    todo = [newest(folder, base)["versions"][-1]["root"]["location"]]
    while todo:
        place = todo.pop()
        yield place
        for entry in ts.ocdbt.dump(base, place).result()["entries"]:
            if "indirect_value" in entry:
                yield entry["indirect_value"]
            elif "location" in entry:
                todo.append(entry["location"])


def orbax(name, tree, **options):
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)) as checkpointer:
        checkpointer.save(here / name, tree)


def arrays(folder, count, **config):
    """Arrays of several dtypes with missing chunks, in one database written by TensorStore alone."""
    path = here / folder
    kvstore = {"driver": "ocdbt", "base": f"file://{path}/", "config": config}
    for i in range(count):
        dtype = ("<f4", "<u2", "bfloat16", "|i1", "<f8")[i % 5]
        chunks, compressor = [4, 5], ({"id": "zstd", "level": 1}, None)[i % 2]
        store = ts.open({"driver": "zarr", "kvstore": {**kvstore, "path": f"layers.{i}.w/"}, "metadata": {"chunks": chunks, "compressor": compressor, "fill_value": i % 3, "dtype": dtype, "shape": [7, 12 + i]}}, create=True).result()
        store[:4 if i % 4 == 3 else 7, 2:].write(np.asarray(rng.integers(0, 100, (4 if i % 4 == 3 else 7, 10 + i)), store.dtype.numpy_dtype)).result()


def read(folder):
    for manifest in sorted(folder.rglob("manifest.ocdbt")):
        kvstore = {"driver": "ocdbt", "base": f"file://{manifest.parent}/"}
        prefix = str(manifest.parent.relative_to(folder)) + "/" if manifest.parent != folder else ""
        for key in sorted(ts.KvStore.open(kvstore).result().list().result()):
            array, _, about = key.decode().rpartition("/")
            if about in (".zarray", "zarr.json"):
                stored = ts.open({"driver": "zarr" if about == ".zarray" else "zarr3", "kvstore": {**kvstore, "path": array + "/"}}).result().read().result()
                yield f"{hashlib.sha256(np.ascontiguousarray(stored).tobytes()).hexdigest()} {stored.dtype} {','.join(map(str, stored.shape)) or '-'} {prefix}{array}"


def sharded():
    mesh = Mesh(np.array(jax.devices()).reshape(4, 1), ("a", "b"))
    put = lambda x, *spec: jax.make_array_from_callback(x.shape, NamedSharding(mesh, PartitionSpec(*spec)), lambda at: x[at])
    return {"kernel": put(values["params"]["dense"]["kernel"], "a"), "wide": put(rng.normal(size=(8, 200)).astype(np.float32), "a"), "norm": put(values["params"]["norm"])}


if process >= 0:
    orbax("processes", sharded())
    sys.exit(0)

names = "orbax_2", "orbax_3", "step", "processes", "levels", "plain", "versions", "numbered"
for name in names:
    shutil.rmtree(here / name, ignore_errors=True)
orbax("orbax_2", values)
orbax("orbax_3", values, use_zarr3=True)
manager = ocp.CheckpointManager(here / "step.all")
manager.save(3, args=ocp.args.Composite(state=ocp.args.StandardSave(values), extra=ocp.args.StandardSave({"w": np.arange(12, dtype=np.int32)})))
manager.wait_until_finished()
shutil.move(here / "step.all" / "3", here / "step")
shutil.rmtree(here / "step.all")
both = [subprocess.Popen([sys.executable, __file__, str(here)], env={**os.environ, "PROCESS": str(i), "PORT": "17391"}) for i in (0, 1)]
assert [one.wait() for one in both] == [0, 0]
arrays("levels", 12, max_decoded_node_bytes=400, max_inline_value_bytes=24)
arrays("plain", 4, compression=None, max_inline_value_bytes=1 << 20)
arrays("versions", 7, version_tree_arity_log2=1, max_inline_value_bytes=0)
arrays("numbered", 3, manifest_kind="numbered")
for name in names:
    shrink(here / name)
    (here / f"{name}.sha256").write_text("\n".join(read(here / name)) + "\n")
