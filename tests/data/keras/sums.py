# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints what h5py reads in an HDF5 file, one line per dataset: SHA-256 of its elements in C order, NumPy dtype, shape, path.

    python3 tests/data/keras/sums.py FILE > NAME.sha256
"""
import hashlib
import sys

import h5py
import numpy as np


def line(path, found):
    if isinstance(found, h5py.Dataset) and found.dtype.kind in "fiub":
        values = np.asarray(found[()])
        print(hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest(), values.dtype, ",".join(map(str, values.shape)) or "-", path)


with h5py.File(sys.argv[1]) as file:
    file.visititems(line)
