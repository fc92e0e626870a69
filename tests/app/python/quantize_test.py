# SPDX-License-Identifier: GPL-3.0-or-later
"""quantize() against the command line, bit for bit, over all formats; all dtypes; awkward shapes; what is refused."""
import array
import os

import support
from support import Case, cli, np, read_safetensors, refusal, rows_of, write_safetensors

import quantscope

SHAPES = [(4, 512), (2, 3, 256), (3, 100), (5, 33), (1, 1), (7,), (256,), (0, 64), (2, 1, 31), ()]


def values(shape, seed):
    random = np.random.default_rng(seed)
    x = (random.standard_normal(shape) * 0.02).astype(np.float32)
    return np.where(random.random(shape) < 0.02, x * 40, x).astype(np.float32)


def tensors():
    return {"w" + "x".join(map(str, shape)): np.asarray(values(shape, i)) for i, shape in enumerate(SHAPES)}


def as_f32(dtype, shape, raw):
    """Stored values as f32."""
    if dtype == "BF16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, {"F32": np.float32, "F16": np.float16}[dtype]).astype(np.float32)


def specs_of(row):
    """The format's own, each dialect, zero points and each type of scales."""
    yield row["id"]
    if row["id"] in ("f32", "f16", "bf16"):
        return
    for dialect in row["dialects"].split():
        yield f"{row['id']}:dialect={dialect}"
    if "sym" in row["keys"].split():
        yield f"{row['id']}:sym=no"
    for kind in row["scale_types"].split():
        yield f"{row['id']}:scaletype={kind}"


class EveryFormat(Case):
    def stored(self, source, spec, names):
        """The file that the command line makes, and its decoded values; None: it refuses every tensor."""
        layout = "plain" if spec in ("f32", "f16", "bf16") else "native"
        packed, back = self.folder / "packed.safetensors", self.folder / "back.safetensors"
        filters = sum((["--tensor", f"^{name}$"] for name in names), [])
        cli("quantize", source, "--spec", spec, "--layout", layout, *filters, "-o", packed)
        cli("dequantize", packed, "-o", back)
        return read_safetensors(packed), read_safetensors(back)

    def test_bits_equal_the_command_lines(self):
        arrays = tensors()
        source = write_safetensors(self.folder / "in.safetensors", arrays)
        measured, compared = 0, set()
        for row in rows_of("formats"):
            for spec in specs_of(row):
                ours = {}
                for name, one in arrays.items():
                    try:
                        ours[name] = quantscope.quantize(one, spec)
                    except quantscope.Error:
                        continue
                if not ours:
                    self.assertTrue(refusal("analyze", source, "--spec", spec, "--tensor", "."))
                    continue
                fields, decoded = self.stored(source, spec, ours)
                for name, one in ours.items():
                    what = f"{name} as {spec}"
                    self.assertEqual(one.shape, arrays[name].shape, what)
                    self.assert_same_bits(one.dequantize(), as_f32(*decoded[name]), what)
                    self.compare_fields(one, fields, name, what)
                    measured += 1
                compared.add(row["id"])
        self.assertEqual(compared, {row["id"] for row in quantscope.formats()})
        self.assertGreater(measured, 500)

    def compare_fields(self, one, fields, name, what):
        if one.codes is None:
            self.assertIsNone(one.levels, what)
            return
        if one.levels is None:  # blocks of ggml
            self.assert_same_bits(one.codes, fields[name + ".codes"][2], what)
        else:
            self.assertEqual(one.codes.shape, one.shape, what)
            self.assertLess(int(one.codes.max(initial=0)), len(one.levels), what)
        scale = fields.get(name + ".scale")
        if scale and scale[0] == "F32" and name + ".tensor_scale" not in fields:
            self.assert_same_bits(one.scales, scale[2], what)
        if name + ".zero" in fields:
            self.assert_same_bits(one.zero_points.astype(np.int8), fields[name + ".zero"][2], what)
        else:
            self.assertIsNone(one.zero_points, what)

    def test_bits_per_weight_are_those_of_analyze(self):
        arrays = {name: one for name, one in tensors().items() if one.size}
        source = write_safetensors(self.folder / "in.safetensors", arrays)
        for spec in ("nf4:block=64", "int4:block=32:sym=no", "q4_k", "int8", "ternary", "f16"):
            for row in quantscope.analyze(source, spec, ".*"):
                if row["status"] == "ok":
                    self.assertAlmostEqual(quantscope.quantize(arrays[row["tensor"]], spec).bpw, row["bpw"], 12)

    def test_documented_arithmetic(self):
        x = values((4, 128), 3)
        q = quantscope.quantize(x, "nf4:block=64")
        scales = np.repeat(q.scales, 64, axis=-1)
        self.assertEqual(q.scales.shape, (4, 2))
        self.assert_same_bits(q.dequantize(), q.levels[q.codes] * scales, "level x scale")
        q = quantscope.quantize(x, "int4:block=32:sym=no")
        grown = [np.repeat(a, 32, axis=-1) for a in (q.scales, q.zero_points)]
        self.assert_same_bits(q.dequantize(), (q.levels[q.codes] - grown[1]) * grown[0], "(level - zero point) x scale")
        self.assertIsNone(q.biases)
        q = quantscope.quantize(x, "int4:dialect=mlx:block=64")
        self.assertIsNone(q.zero_points)
        grown = [np.repeat(a, 64, axis=-1) for a in (q.scales, q.biases)]
        self.assert_same_bits(q.dequantize(), q.levels[q.codes] * grown[0] + grown[1], "level x scale + bias")


class Inputs(Case):
    def test_dtypes(self):
        x = values((3, 64), 1)
        for dtype in ("float32", "float64", "float16"):
            one = quantscope.quantize(x.astype(dtype), "int8")
            self.assertEqual(one.dtype, support.TYPES[dtype])
            self.assert_same_bits(one.dequantize(), quantscope.quantize(x.astype(dtype).astype(np.float32), "int8").dequantize(), dtype)
        path = write_safetensors(self.folder / "b.safetensors", {"w": ("BF16", x.shape, support.bf16(x).tobytes())})
        one = quantscope.quantize(quantscope.open(path)["w"], "nf4")
        rounded = (support.bf16(x).astype(np.uint32) << 16).view(np.float32)
        self.assertEqual(one.dtype, "BF16")
        self.assert_same_bits(one.dequantize(), quantscope.quantize(rounded, "nf4").dequantize(), "bf16")

    def test_every_order_in_memory(self):
        x = values((8, 12, 16), 2)
        expected = quantscope.quantize(x, "nf4").dequantize()
        for name, same in (
            ("Fortran", np.asfortranarray(x)),
            ("swapped bytes", x.astype(">f4")),
            ("steps", np.repeat(x, 2, axis=1)[:, ::2]),
            ("unaligned", np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)),
        ):
            self.assert_same_bits(quantscope.quantize(same, "nf4").dequantize(), expected, name)

    def test_buffers_and_dlpack(self):
        x = values(64, 4)
        expected = quantscope.quantize(x, "nf4").dequantize()
        self.assert_same_bits(quantscope.quantize(array.array("f", x.tolist()), "nf4").dequantize(), expected, "array.array")
        self.assert_same_bits(quantscope.quantize(memoryview(x), "nf4").dequantize(), expected, "memoryview")

        class Other:  # an array of another library
            def __init__(self, kept, device=(1, 0)):
                self.kept, self.device = kept, device

            def __dlpack__(self, **_):
                return self.kept.__dlpack__()

            def __dlpack_device__(self):
                return self.device

        self.assert_same_bits(quantscope.quantize(Other(x), "nf4").dequantize(), expected, "DLPack")
        turned = values((6, 64), 5).T
        self.assert_same_bits(
            quantscope.quantize(Other(turned), "int8").dequantize(), quantscope.quantize(turned.copy(), "int8").dequantize(), "strides"
        )
        with self.assertRaisesRegex(quantscope.Error, "memory of a device"):
            quantscope.quantize(Other(x, (2, 0)), "nf4")

    def test_results_live_on(self):
        codes = quantscope.quantize(values((2, 64), 6), "nf4").codes  # of an object that is gone
        self.assertFalse(codes.flags.writeable)
        self.assertLess(codes.max(), 16)


class Refused(Case):
    def test_the_sentence_of_the_command_line(self):
        bad = values((2, 64), 7)
        bad[0, 3] = np.nan
        source = write_safetensors(self.folder / "in.safetensors", {"bad": bad})
        model = quantscope.open(source)
        for spec in ("nf5", "nf4:block=0", "int4:sym=maybe", "nf4:dialect=nobody"):
            with self.assertRaises(quantscope.Error) as raised:
                quantscope.quantize(bad, spec)
            self.assertEqual(str(raised.exception), refusal("analyze", source, "--spec", spec), spec)
        with self.assertRaisesRegex(quantscope.Error, "the format is missing"):
            quantscope.quantize(bad, "")
        with self.assertRaises(quantscope.Error) as raised:
            quantscope.quantize(model["bad"], "nf4")
        self.assertIn("tensor 'bad' holds 1 NaN and 0 Inf", str(raised.exception))
        self.assertEqual(raised.exception.works, ["nf4:nan=skip"])
        self.assertIsInstance(raised.exception, ValueError)
        with self.assertRaisesRegex(quantscope.Error, "array 'mine'|tensor 'mine'"):
            quantscope.quantize(bad, "nf4", name="mine")
        quantscope.quantize(bad, "nf4:nan=skip")

    def test_what_is_no_float(self):
        for one in (np.arange(4), np.zeros(4, bool), np.zeros(4, complex), np.array(["a"]), np.array([None]), "text", object()):
            with self.assertRaises(quantscope.Error):
                quantscope.quantize(one, "int8")


if __name__ == "__main__":
    os.environ.setdefault("QS_THREADS", "2")
    support.main()
