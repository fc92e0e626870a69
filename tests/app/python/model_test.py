# SPDX-License-Identifier: GPL-3.0-or-later
"""open(), tensors as NumPy without a copy, every stored type, broken files."""
import gc
import importlib.util
import subprocess
import sys
from pathlib import Path

import support
from support import SAMPLE, Case, np, refusal, write_safetensors

import quantscope

HAS_ML_DTYPES = importlib.util.find_spec("ml_dtypes") is not None


class Opened(Case):
    def test_a_model_is_a_mapping(self):
        model = quantscope.open(SAMPLE)
        listed = rows_of_inspect(SAMPLE)
        self.assertEqual(list(model), [row["name"] for row in listed])
        self.assertEqual(len(model), len(listed))
        for tensor, row in zip(model.tensors, listed):
            self.assertEqual((tensor.name, tensor.dtype, list(tensor.shape)), (row["name"], row["dtype"], row["shape"]))
            self.assertEqual(tensor.elements, np.prod(tensor.shape, dtype=int))
        self.assertIn("lm_head.weight", model)
        self.assertNotIn("nothing", model)
        with self.assertRaisesRegex(KeyError, "no tensor 'nothing'"):
            model["nothing"]
        self.assertIn("75 tensors", repr(model))
        self.assertEqual(len(quantscope.inspect(model)), 75)

    def test_no_copy_and_the_mapping_stays(self):
        x = np.arange(600, dtype=np.float32).reshape(20, 30)
        for skew in range(2):  # aligned, and not
            path = write_safetensors(self.folder / f"{skew}.safetensors", {"x": x}, skew)
            values = quantscope.open(path)["x"].numpy()
            self.assertFalse(values.flags.owndata)
            self.assertFalse(values.flags.writeable)
            self.assertTrue(same_memory(values, quantscope.open(path)["x"].numpy()) is False)  # each opening maps anew
            model = quantscope.open(path)
            self.assertTrue(same_memory(model["x"].numpy(), model["x"].numpy()))
            path.unlink()
            del model
            gc.collect()
            self.assert_same_bits(values, x, "after the model is gone")
        np.save(self.folder / "x.npy", x)
        model = quantscope.open(self.folder / "x.npy")
        self.assertTrue(same_memory(model.tensors[0].numpy(), model.tensors[0].numpy()))
        self.assert_same_bits(model.tensors[0].numpy(), x, ".npy")

    def test_every_stored_type(self):
        bits = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16}
        bits.update({"I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8})
        raw = {name: bytes([0, 1] * 128) if name == "BOOL" else bytes(range(256)) for name in bits}
        path = write_safetensors(
            self.folder / "all.safetensors", {name: (name, (256 * 8 // size,), raw[name]) for name, size in bits.items()}
        )
        model = quantscope.open(path)
        for name, size in bits.items():
            tensor = model[name]
            self.assertEqual(tensor.dtype, name)
            self.assert_same_bits(tensor.raw(), raw[name], name)
            if (name == "BF16" or name.startswith("F8")) and not HAS_ML_DTYPES:
                with self.assertRaisesRegex(quantscope.Error, f"tensor '{name}' is {name}, which NumPy lacks: install ml_dtypes"):
                    tensor.numpy()
            else:
                self.assert_same_bits(tensor.numpy(), raw[name], name)
                self.assertEqual(tensor.numpy().itemsize * 8, size)
            if not name.startswith(("F", "BF")):
                with self.assertRaisesRegex(quantscope.Error, f"tensor '{name}' is {name}: only floats"):
                    tensor.float32()
        self.check_floats(model)

    def check_floats(self, model):
        """Every byte of the small floats, by their definition."""
        for name, exponent, mantissa, bias, fn, fnuz in (
            ("F8_E4M3", 4, 3, 7, True, False),
            ("F8_E5M2", 5, 2, 15, False, False),
            ("F8_E4M3FNUZ", 4, 3, 8, False, True),
            ("F8_E5M2FNUZ", 5, 2, 16, False, True),
        ):
            found = model[name].float32()
            for byte in range(256):
                e, m, sign = (byte >> mantissa) & (2**exponent - 1), byte & (2**mantissa - 1), -1.0 if byte & 128 else 1.0
                value = sign * (m * 2.0 ** (1 - bias - mantissa) if e == 0 else (1 + m / 2**mantissa) * 2.0 ** (e - bias))
                if fn and byte & 127 == 127 or fnuz and byte == 128:
                    value = np.nan
                if not fn and not fnuz and e == 2**exponent - 1:
                    value = np.nan if m else sign * np.inf
                self.assertTrue(found[byte] == value or (np.isnan(value) and np.isnan(found[byte])), (name, byte, found[byte], value))
        found = model["F8_E8M0"].float32()
        self.assertTrue(all(found[byte] == 2.0 ** (byte - 127) for byte in range(255)) and np.isnan(found[255]))
        half = np.frombuffer(bytes(range(256)), np.float16).astype(np.float32)
        np.testing.assert_array_equal(model["F16"].float32(), half)

    def test_tensors_that_other_programs_quantized(self):
        for path in sorted(Path("tests/data/conventions").glob("[abg]*/")) + [Path("tests/data/diff/layer0_attention.gguf")]:
            model = quantscope.open(path)
            weight = next(t for t in model.tensors if len(t.shape) >= 2)
            self.assertEqual(weight.float32().shape, weight.shape)
            self.assertTrue(np.isfinite(weight.float32()).all())

    def test_what_quantize_stored_is_decoded_when_asked(self):
        out = self.folder / "q.safetensors"
        x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64)
        source = write_safetensors(self.folder / "in.safetensors", {"w": x})
        quantscope.export(source, out, "nf4:block=64")
        model = quantscope.open(out)
        self.assertNotIn("w", model)
        self.assert_same_bits(model.decoded()["w"].numpy(), quantscope.quantize(x, "nf4:block=64").dequantize(), "decoded")

    def test_broken_files(self):
        good = write_safetensors(self.folder / "good.safetensors", {"x": np.zeros((4, 4), np.float32)}).read_bytes()
        for name, content in (("short", good[:-1]), ("header", good[:20]), ("empty", b""), ("noise", bytes(range(256)))):
            path = self.folder / f"{name}.safetensors"
            path.write_bytes(content)
            with self.assertRaises(quantscope.Error) as raised:
                quantscope.open(path)
            self.assertEqual(str(raised.exception), refusal("inspect", path), name)
        with self.assertRaises(quantscope.Error) as raised:
            quantscope.open(self.folder / "none")
        self.assertEqual(str(raised.exception), refusal("inspect", self.folder / "none"))
        self.assertEqual(raised.exception.path, str(self.folder / "none"))

    def test_a_file_that_changed(self):
        path = write_safetensors(self.folder / "x.safetensors", {"x": np.zeros((4, 4), np.float32)})
        model = quantscope.open(path)
        write_safetensors(path, {"x": np.zeros((8, 4), np.float32)})
        with self.assertRaisesRegex(quantscope.Error, "written to since it was opened"):
            model["x"].float32()

    def test_importing_needs_no_numpy(self):
        code = "import sys; sys.modules['numpy'] = None; import quantscope; print(len(quantscope.open(sys.argv[1])))"
        done = subprocess.run([sys.executable, "-c", code, str(SAMPLE)], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "75\n")


def rows_of_inspect(path):
    import json

    return json.loads(support.cli("inspect", path, "--json", "-"))["tensors"]


def same_memory(a, b):
    return a.__array_interface__["data"][0] == b.__array_interface__["data"][0]


if __name__ == "__main__":
    support.main()
