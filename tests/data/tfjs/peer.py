# SPDX-License-Identifier: GPL-3.0-or-later
"""The weight writer and reader of tensorflowjs, from its unpacked wheel without its dependencies. They need NumPy, and from TensorFlow only
a file to write to.
"""
import io
import sys
import types


def load(folder):
    """`folder` contains the unpacked wheel. Returns its modules write_weights and read_weights."""
    tensorflow = types.ModuleType("tensorflow")
    tensorflow.io = types.SimpleNamespace(gfile=types.SimpleNamespace(GFile=io.open))
    package = types.ModuleType("tensorflowjs")  # its own __init__ needs TensorFlow
    package.__path__ = [f"{folder}/tensorflowjs"]
    sys.modules.update(tensorflow=tensorflow, tensorflowjs=package)
    from tensorflowjs import read_weights, write_weights
    return write_weights, read_weights
