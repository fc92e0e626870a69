# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command beside the command line: the same rows; plots, reports, tables for notebooks; what is refused."""
import ast
import inspect
import json
import os
from pathlib import Path

import support
from support import SAMPLE, Case, np, refusal, write_safetensors

import quantscope

TEXT = SAMPLE / "heldout.txt"
SHORT = {"ctx": 64, "chunks": 2}
SHORT_OPTIONS = ["--ctx", 64, "--chunks", 2]


def rows_of(command, *arguments):
    return json.loads(support.cli(command, *arguments, "--json", "-"))["rows"]


class Commands(Case):
    def same_rows(self, ours, theirs, *volatile):
        """Rows as the JSON of the command has them, but for times."""
        self.assertEqual(len(ours), len(theirs))
        self.assertGreater(len(ours), 0)
        self.assertEqual([column.id for column in ours.columns], list(theirs[0]))
        for one, other in zip(ours, theirs):
            for key in one:
                if key not in volatile:
                    mine = None if isinstance(one[key], float) and not np.isfinite(one[key]) else one[key]
                    if isinstance(other[key], list):
                        mine = json.loads(mine)
                    self.assertEqual(mine, other[key], key)

    def test_analyze(self):
        ours = quantscope.analyze(SAMPLE, ["nf4:block=32", "int8"], r"0\.mlp")
        self.same_rows(ours, rows_of("analyze", SAMPLE, "--spec", "nf4:block=32", "--spec", "int8", "--tensor", r"0\.mlp"))
        self.assertEqual([row["spec"] for row in ours.more["totals"]], ["nf4:block=32", "int8"])
        self.assertIn("proxy", ours.summary)
        self.same_rows(
            quantscope.analyze(SAMPLE, "nf4", r"0\.mlp", decoded="source"),
            rows_of("analyze", SAMPLE, "--spec", "nf4", "--tensor", r"0\.mlp", "--decoded", "source"),
        )

    def test_calibration_and_evidence(self):
        ours = quantscope.analyze(SAMPLE, "int4:block=32", r"0\.mlp", activations="synthetic", solver="gptq")
        options = ["--spec", "int4:block=32", "--activations", "synthetic", "--solver", "gptq"]
        self.same_rows(ours, rows_of("analyze", SAMPLE, "--tensor", r"0\.mlp", *options))
        self.assertIsNotNone(ours[0]["output_nmse"])
        self.assertLess(ours[0]["output_nmse"], quantscope.analyze(SAMPLE, "int4:block=32", r"0\.mlp", activations="synthetic")[0]["output_nmse"])
        self.assertGreater(len(ours.plots()), 0)  # the solver runs again for the report
        with self.assertRaisesRegex(quantscope.Error, "needs calibration inputs"):
            quantscope.analyze(SAMPLE, "int4:block=32", solver="gptq")
        inputs = self.folder / "inputs.safetensors"
        support.cli("capture", SAMPLE, "--text", TEXT, *SHORT_OPTIONS, "-o", inputs)
        ours = quantscope.export(SAMPLE, self.folder / "ours", "int4:block=32", layout="native", tensors=r"0\.mlp", solver="awq", activations=inputs)
        support.cli("quantize", SAMPLE, "--spec", "int4:block=32", "--layout", "native", "--tensor", r"0\.mlp", "--solver", "awq",
                    "--activations", inputs, "-o", self.folder / "theirs")  # fmt: skip
        written = [(self.folder / one / "model.safetensors").read_bytes() for one in ("ours", "theirs")]
        self.assertEqual(*written)
        self.assertEqual(len(ours.more["solved"]), 3)
        with self.assertRaises(quantscope.Error):
            quantscope.export(SAMPLE, inputs, "int4:block=32", solver="awq", activations=inputs)
        effects = self.folder / "effects.json"
        quantscope.sensitivity(SAMPLE, "int3:block=32", text=TEXT, tensors=r"0\.mlp", cache="", **SHORT).save(effects)
        ours = quantscope.analyze(SAMPLE, "int3:block=32", r"0\.mlp", evidence=effects)
        self.same_rows(ours, rows_of("analyze", SAMPLE, "--spec", "int3:block=32", "--tensor", r"0\.mlp", "--evidence", effects))
        self.assertIsNotNone(ours[0]["kl_alone"])

    def test_sweep(self):
        ours = quantscope.sweep(SAMPLE, ["nf4", "int8"], "k_proj", blocks=[32, 64])
        self.same_rows(ours, rows_of("sweep", SAMPLE, "--spec", "nf4", "--spec", "int8", "--block", 32, "--block", 64, "--tensor", "k_proj"))
        self.assertIn(True, ours.column("frontier"))

    def test_audit(self):
        x = np.zeros((64, 64), np.float32)
        x[0, 0] = np.nan
        path = write_safetensors(self.folder / "a.safetensors", {"layers.0.weight": x, "layers.1.weight": x})
        self.same_rows(quantscope.audit(path), rows_of("audit", path))
        self.assertGreater(len(quantscope.audit(path, fail_on="fault>9")), 0)
        for limit in ("fault", "fault>9o"):
            with self.assertRaises(quantscope.Error) as raised:
                quantscope.audit(path, fail_on=["note>99", limit])
            if limit == "fault":
                self.assertEqual(str(raised.exception), refusal("audit", path, "--fail-on", "note>99", "--fail-on", limit))

    def test_diff(self):
        random = np.random.default_rng(1)
        a = {name: random.standard_normal((16, 32)).astype(np.float32) for name in ("a", "b", "c")}
        one = write_safetensors(self.folder / "a.safetensors", a)
        other = write_safetensors(self.folder / "b.safetensors", {**a, "b": a["b"] + np.float32(0.5)})
        self.same_rows(quantscope.diff(one, other), rows_of("diff", one, other))
        changed = quantscope.diff(one, other, changed=True)
        self.same_rows(changed, rows_of("diff", one, other, "--changed"))
        self.assertEqual(len(changed), 1)

    def test_export_and_verify(self):
        ours, theirs = self.folder / "ours", self.folder / "theirs"
        specs = ["q_proj=int8", "nf4:block=32"]
        rows = quantscope.export(SAMPLE, ours, specs, layout="native")
        recipe = self.folder / "recipe.json"
        recipe.write_text('{"version":1,"default":"nf4:block=32","rules":[{"tensor":"q_proj","spec":"int8"}]}')
        support.cli("export", SAMPLE, "--recipe", recipe, "--layout", "native", "-o", theirs)
        self.assertEqual((ours / "model.safetensors").read_bytes(), (theirs / "model.safetensors").read_bytes())
        self.assertEqual(set(rows.column("result")), {"equal", "copied"})
        self.assertEqual(len(quantscope.export(SAMPLE, self.folder / "again", recipe=recipe, layout="native")), len(rows))
        self.assertTrue((ours / "certificate.json").exists())
        checked = quantscope.verify(ours)
        self.same_rows(checked, rows_of("verify", ours))
        self.same_rows(quantscope.verify(SAMPLE, ours, fail_on="differs"), rows_of("verify", SAMPLE, ours))
        with self.assertRaises(quantscope.Error) as raised:
            quantscope.verify(SAMPLE, ours, fail_on="nmse>0.000001")
        self.assertEqual(str(raised.exception), refusal("verify", SAMPLE, ours, "--fail-on", "nmse>0.000001"))
        with self.assertRaisesRegex(quantscope.Error, "name it before the export"):
            quantscope.verify(ours, fail_on="differs")
        with open(ours / "config.json", "a") as file:
            file.write(" ")
        with self.assertRaises(quantscope.Error) as raised:
            quantscope.verify(ours)
        self.assertEqual(str(raised.exception), refusal("verify", ours))

    def test_eval(self):
        ours = quantscope.eval(SAMPLE, ["int4:block=32", "int2:block=32"], text=TEXT, **SHORT)
        self.same_rows(ours, rows_of("eval", SAMPLE, "--spec", "int4:block=32", "--spec", "int2:block=32", "--text", TEXT, *SHORT_OPTIONS))
        self.assertEqual(len(ours.more["pairs"]), 1)
        against = quantscope.eval(SAMPLE, text=TEXT, against=quantscope.open(SAMPLE), floor=False, **SHORT)
        self.assertEqual(against[0]["kl_mean"], 0)

    def test_imports_trust_and_a_backend(self):
        figures = self.folder / "figures.csv"
        names = [f"model.layers.0.mlp.{one}_proj.weight" for one in ("gate", "up", "down")]
        figures.write_text(f"QTYPE,{','.join(names)}\nq4_0,0.01,0.02,0.03\n")
        specs = ["int2:block=32", "int3:block=32", "int4:block=32", "int8"]
        ours = quantscope.eval(SAMPLE, specs, text=TEXT, backend="cpu", floor=False, **SHORT)
        options = [word for spec in specs for word in ("--spec", spec)]
        theirs = rows_of("eval", SAMPLE, *options, "--text", TEXT, "--backend", "cpu", "--no-floor", *SHORT_OPTIONS)
        self.same_rows(ours, theirs)
        self.assertEqual(len(ours), 2 * len(specs))
        self.assertGreater(len(ours.more["trust"]), 0)
        ours = quantscope.sensitivity(SAMPLE, "int4:block=32", text=TEXT, tensors=r"0\.mlp", cache="", **SHORT,
                                      imports=(figures, "int4:block=32", 0.0))  # fmt: skip
        self.assertEqual(len(ours.more["imported"]), 1)
        for wrong in (
            lambda: quantscope.eval(SAMPLE, "int8", text=TEXT, backend="abacus", **SHORT),
            lambda: quantscope.eval(SAMPLE, "int8", text=TEXT, act="bf16", **SHORT),
            lambda: quantscope.eval(SAMPLE, text=TEXT, against=SAMPLE, backend="cpu", **SHORT),
            lambda: quantscope.eval(SAMPLE, "int8", text=TEXT, imports=TEXT, **SHORT),
        ):
            with self.assertRaises(quantscope.Error):
                wrong()

    def test_sensitivity(self):
        ours = quantscope.sensitivity(SAMPLE, "int3:block=32", text=TEXT, tensors=r"0\.self_attn", cache="", **SHORT)
        theirs = rows_of("sensitivity", SAMPLE, "--spec", "int3:block=32", "--text", TEXT, "--tensor", r"0\.self_attn", "--cache", "none",
                         *SHORT_OPTIONS)  # fmt: skip
        self.assertEqual(sorted(map(tuple, map(dict.values, ours)), key=str), sorted(map(tuple, map(dict.values, theirs)), key=str))
        self.assertEqual([column.id for column in ours.columns], list(theirs[0]))

    def test_plan(self):
        ours = quantscope.plan(SAMPLE, ["int4:block=32", "int8"], "6bpw", tensors="layers", lock="0.*k_proj=int8")
        recipe = self.folder / "plan.json"
        theirs = rows_of("plan", SAMPLE, "--spec", "int4:block=32", "--spec", "int8", "--budget", "6bpw", "--tensor", "layers", "--lock",
                         "0.*k_proj=int8", "-o", recipe)  # fmt: skip
        self.same_rows(ours, theirs)
        self.assertEqual(ours.recipe, recipe.read_text())
        with self.assertRaisesRegex(quantscope.Error, "--latency"):
            quantscope.plan(SAMPLE, ["int4:block=32", "int8"], "12ms", tensors="layers")

    def test_every_command_refuses_with_its_sentence(self):
        missing = self.folder / "missing.safetensors"
        nothing = refusal("inspect", missing)
        out = self.folder / "out.safetensors"
        for ours in (
            lambda: quantscope.analyze(missing, "nf4"),
            lambda: quantscope.sweep(missing),
            lambda: quantscope.audit(missing),
            lambda: quantscope.diff(missing, SAMPLE),
            lambda: quantscope.eval(missing, "nf4", text=TEXT),
            lambda: quantscope.sensitivity(missing, "nf4", text=TEXT),
            lambda: quantscope.plan(missing, ["nf4", "int8"], "5bpw"),
            lambda: quantscope.export(missing, out, "nf4"),
            lambda: quantscope.verify(missing, SAMPLE),
        ):
            with self.assertRaises(quantscope.Error) as raised:
                ours()
            self.assertEqual(str(raised.exception), nothing)
        for ours, theirs in (
            (lambda: quantscope.analyze(SAMPLE, "nf4", "nobody"), ["analyze", SAMPLE, "--spec", "nf4", "--tensor", "nobody"]),
            (lambda: quantscope.analyze(SAMPLE, "nf4", "("), ["analyze", SAMPLE, "--spec", "nf4", "--tensor", "("]),
            (lambda: quantscope.sweep(SAMPLE, "nf9"), ["sweep", SAMPLE, "--spec", "nf9"]),
            (lambda: quantscope.eval(SAMPLE, "nf4", text=missing), ["eval", SAMPLE, "--spec", "nf4", "--text", missing]),
            (lambda: quantscope.export(SAMPLE, out, "nf4", layout="none"), ["quantize", SAMPLE, "--spec", "nf4", "--layout", "none", "-o", out]),
        ):
            with self.assertRaises(quantscope.Error) as raised:
                ours()
            self.assertEqual(str(raised.exception), refusal(*theirs))
        for wrong in (
            lambda: quantscope.eval(SAMPLE, "nf4"),
            lambda: quantscope.eval(SAMPLE, text=TEXT),
            lambda: quantscope.export(SAMPLE, out),
            lambda: quantscope.plan(SAMPLE, ["nf4", "int8"]),
            lambda: quantscope.plan(SAMPLE, "nf4", "5bpw"),
            lambda: quantscope.sensitivity(SAMPLE, "nf4", text=TEXT, how="guess"),
            lambda: quantscope.analyze(SAMPLE, "nf4", decoded="f16"),
        ):
            with self.assertRaises(quantscope.Error):
                wrong()
        self.assertFalse(out.exists())

    def test_an_input_is_never_replaced(self):
        path = write_safetensors(self.folder / "in.safetensors", {"w": np.ones((4, 64), np.float32)})
        before = path.read_bytes()
        link = self.folder / "link.safetensors"
        os.link(path, link)
        for output in (path, link):
            with self.assertRaises(quantscope.Error):
                quantscope.export(path, output, "nf4")
        rows = quantscope.analyze(path, "nf4")
        (self.folder / "in.json").hardlink_to(path) if hasattr(Path, "hardlink_to") else os.link(path, self.folder / "in.json")
        with self.assertRaises(quantscope.Error):
            rows.save(self.folder / "in.json")
        self.assertEqual(path.read_bytes(), before)


class Shown(Case):
    def test_tables_plots_and_reports(self):
        rows = quantscope.analyze(SAMPLE, "nf4:block=32", r"0\.mlp")
        shown = rows._repr_html_()
        self.assertIn("<table>", shown)
        self.assertIn("nf4:block=32", shown)
        self.assertEqual(shown.count("<tr>"), 1 + len(rows))
        plots = rows.plots()
        self.assertGreater(len(plots), 0)
        for plot in plots:
            self.assertTrue(plot._repr_svg_().startswith("<svg"))
        self.assertIn("spec", repr(rows))
        for ending in (".html", ".pdf", ".md", ".json", ".csv"):
            rows.save(self.folder / f"report{ending}")
            self.assertGreater((self.folder / f"report{ending}").stat().st_size, 100)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(len(report["rows"]), len(rows))
        self.assertIn("quantscope.analyze('tiny-llama', ['nf4:block=32']", json.dumps(report))
        with self.assertRaisesRegex(quantscope.Error, "a report ends with one of"):
            rows.save(self.folder / "report.txt")
        rows.save(self.folder / "report.csv")  # written by this program
        other = self.folder / "other.csv"
        other.write_text("name,value\nx,1\n")
        with self.assertRaisesRegex(quantscope.Error, "force=True"):
            rows.save(other)
        self.assertEqual(other.read_text(), "name,value\nx,1\n")
        rows.save(other, force=True)
        self.assertIn("nf4", other.read_text())
        self.assertGreater(len(quantscope.sweep(SAMPLE, "nf4", "k_proj", blocks=[32]).plots()), 0)

    def test_an_export_replaces_and_copies_only_what_it_should(self):
        source = self.folder / "model"
        source.mkdir()
        write_safetensors(source / "model.safetensors", {"w": np.ones((4, 64), np.float32)})
        np.save(source / "other.npy", np.ones((4, 64), np.float32))
        rows = quantscope.export(source, self.folder / "out", "int8")
        self.assertIn("other.npy is left out", rows.summary)
        self.assertFalse((self.folder / "out/other.npy").exists())
        quantscope.export(source, self.folder / "whole", "int8", copy_all=True)
        self.assertTrue((self.folder / "whole/other.npy").exists())
        theirs = write_safetensors(self.folder / "theirs.safetensors", {"w": np.zeros((4, 64), np.float32)})
        before = theirs.read_bytes()
        with self.assertRaisesRegex(quantscope.Error, "force=True"):
            quantscope.export(source, theirs, "int8")
        self.assertEqual(theirs.read_bytes(), before)
        for _ in range(2):  # the second time it is its own file
            quantscope.export(source, theirs, "int8", force=theirs.read_bytes() == before)
        self.assertNotEqual(theirs.read_bytes(), before)

    def test_html_of_a_name_is_text(self):
        path = write_safetensors(self.folder / "in.safetensors", {"<script>": np.ones((4, 64), np.float32)})
        shown = quantscope.analyze(path, "nf4")._repr_html_()
        self.assertNotIn("<script>", shown)
        self.assertIn("&lt;script&gt;", shown)

    def test_stubs_say_what_there_is(self):
        stubs = ast.parse(Path("app/python/quantscope/__init__.pyi").read_text())
        functions = {one.name: one for one in stubs.body if isinstance(one, ast.FunctionDef)}
        classes = {one.name: one for one in stubs.body if isinstance(one, ast.ClassDef)}
        self.assertEqual(set(functions) | set(classes), set(quantscope.__all__))
        for name, stub in functions.items():
            function = getattr(quantscope, name)
            self.assertTrue(function.__doc__, name)
            known = inspect.signature(function).parameters
            arguments = stub.args.args + stub.args.kwonlyargs
            self.assertEqual([one.arg for one in arguments], list(known), name)
            defaults = [None] * (len(stub.args.args) - len(stub.args.defaults)) + stub.args.defaults + stub.args.kw_defaults
            for one, default in zip(arguments, defaults):
                self.assertEqual(default is None, known[one.arg].default is inspect.Parameter.empty, (name, one.arg))
        for name, stub in classes.items():
            members = {one.name for one in stub.body if isinstance(one, ast.FunctionDef)}
            self.assertLessEqual(members, set(dir(getattr(quantscope, name))), name)
        for name in ("Model", "Tensor", "Quantized"):
            public = {one for one in vars(getattr(quantscope, name)) if not one.startswith("_")}
            self.assertEqual(public, {one for one in (m.name for m in classes[name].body) if not one.startswith("_")}, name)


if __name__ == "__main__":
    support.main()
