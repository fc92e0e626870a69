# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes orbax_2 and orbax_3 with Orbax, and arrays with TensorStore. FOLDER.sha256 has what TensorStore reads in them, one line per array:
sha256 of its elements in C order, NumPy dtype, shape, name.

    pip install jax orbax-checkpoint==0.12.8 tensorstore==0.1.86 && python make_folders.py
"""
import hashlib
import os
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts

here = Path(__file__).resolve().parent
rng = np.random.default_rng(5)


def orbax(name, **options):
    shutil.rmtree(here / name, ignore_errors=True)
    tree = {"params": {"dense": {"kernel": jnp.asarray(rng.normal(size=(24, 20)), jnp.float32), "bias": jnp.asarray(rng.normal(size=20), jnp.bfloat16)}, "scale": jnp.float32(0.75)},
            "step": 7, "codes": jnp.asarray(rng.integers(-128, 128, (5, 9)), jnp.int8)}
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)) as checkpointer:
        checkpointer.save(here / name, tree)
    for extra in "_sharding", "array_metadatas", "commit_success.txt":
        path = here / name / extra
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def array(name, version, values, **metadata):
    spec = {"driver": "zarr" if version == 2 else "zarr3", "kvstore": {"driver": "file", "path": f"{here}/arrays/{name}"}, "metadata": metadata, "create": True, "delete_existing": True}
    store = ts.open(spec, shape=values.shape, dtype=str(values.dtype)).result()
    store[...] = values
    return store


def arrays():
    shutil.rmtree(here / "arrays", ignore_errors=True)
    (here / "arrays").mkdir()
    (here / "arrays" / ".zgroup").write_text("{\"zarr_format\": 2}")
    f = rng.normal(size=(7, 10)).astype(np.float32)
    cube = rng.integers(0, 60000, (5, 6, 7)).astype(np.uint16)
    for compressor in None, {"id": "zstd", "level": 3}, {"id": "zlib", "level": 6}, {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}, {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 2}:
        name = "none" if compressor is None else compressor["id"] + compressor.get("cname", "")
        array(f"v2/{name}", 2, f, chunks=[3, 4], compressor=compressor)
    array("v2/fortran", 2, cube, chunks=[2, 3, 4], order="F", compressor=None)
    array("v2/slashes", 2, cube, chunks=[2, 3, 4], dimension_separator="/", compressor={"id": "zlib", "level": 1})
    array("v2/big endian", 2, cube, chunks=[5, 6, 7], dtype=">u2", compressor=None)
    array("v2/whole", 2, f, chunks=[7, 10], compressor=None)
    for name, fill in ("fill", 1.5), ("nan", "NaN"), ("null", None):
        store = array(f"v2/{name}", 2, f, chunks=[4, 4], fill_value=fill, dtype="<f4", compressor=None)
        for missing in here.glob(f"arrays/v2/{name}/1.*"):
            missing.unlink()
    shard = lambda outer, inner, *codecs: dict(chunk_grid={"name": "regular", "configuration": {"chunk_shape": outer}}, codecs=[{"name": "sharding_indexed", "configuration": {"chunk_shape": inner, "codecs": list(codecs), "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}])
    plain = lambda chunk, *codecs: dict(chunk_grid={"name": "regular", "configuration": {"chunk_shape": chunk}}, codecs=list(codecs))
    little, big = ({"name": "bytes", "configuration": {"endian": e}} for e in ("little", "big"))
    zstd, gzip, blosc = {"name": "zstd", "configuration": {"level": 3}}, {"name": "gzip", "configuration": {"level": 5}}, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}
    array("v3/plain", 3, f, **plain([3, 4], little))
    array("v3/zstd", 3, f, **plain([3, 4], little, zstd))
    array("v3/gzip", 3, f, **plain([3, 4], big, gzip))
    array("v3/blosc and check sum", 3, f, **plain([3, 4], little, blosc, {"name": "crc32c"}))
    array("v3/transposed", 3, cube, **plain([2, 3, 4], {"name": "transpose", "configuration": {"order": [2, 1, 0]}}, little))
    array("v3/shards", 3, cube, **shard([4, 6, 4], [2, 3, 2], little, zstd))
    array("v3/dots", 3, f, chunk_key_encoding={"name": "v2", "configuration": {"separator": "."}}, data_type="float32", fill_value=-2.0, **shard([6, 8], [3, 4], little))
    half = array("v3/half a shard", 3, np.zeros((6, 8), np.float32), data_type="float32", fill_value=0.0, **shard([6, 8], [3, 4], little, zstd))
    half[:3, :4] = f[:3, :4]


def read(folder):
    for meta in sorted([*folder.rglob(".zarray"), *folder.rglob("zarr.json")]):
        driver = "zarr" if meta.name == ".zarray" else "zarr3"
        values = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": str(meta.parent)}}).result().read().result()
        name = str(meta.parent.relative_to(folder))
        yield f"{hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()} {values.dtype} {','.join(map(str, values.shape)) or '-'} {name}"


os.chdir(here)
orbax("orbax_2", use_ocdbt=False, use_zarr3=False)
orbax("orbax_3", use_ocdbt=False, use_zarr3=True)
arrays()
for folder in "orbax_2", "orbax_3", "arrays":
    (here / f"{folder}.sha256").write_text("\n".join(read(here / folder)) + "\n")
