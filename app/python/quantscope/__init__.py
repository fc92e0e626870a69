# SPDX-License-Identifier: GPL-3.0-or-later
"""QuantScope for Python: what quantization does to the weights of a network.

    import quantscope
    model = quantscope.open("model.safetensors")
    quantized = quantscope.quantize(model["layers.0.weight"], "nf4:block=64")
    rows = quantscope.analyze(model, ["nf4:block=64", "int8"])
    rows.to_pandas()

Every function does what the command of its name does, with the same numbers to the bit and the same sentence where it
refuses (quantscope.Error, a ValueError). A model is a path or what open() returned. Long work runs without the GIL; Ctrl-C
cancels it. `progress` is called as progress(done, total, what), some 20 times a second at most: done and total are in one unit,
total 0 means unknown. An exception in it cancels the work and is raised again.
"""
import os as _os
import shutil as _shutil
import warnings as _warnings

from . import _core
from ._core import Error, Model, Quantized, Tensor, __version__
from .rows import Column, Plot, Rows

__all__ = [
    "Column", "Error", "Model", "Plot", "Quantized", "Rows", "Tensor", "analyze", "audit", "diff", "eval", "export", "formats",
    "inspect", "open", "plan", "quantize", "sensitivity", "sweep", "verify",
]  # fmt: skip

for _class in (Error, Model, Quantized, Tensor):
    _class.__module__ = __name__
Error.path, Error.works = None, ()  # those of core have their own
for _problem in _core.problems:
    _warnings.warn(_problem, stacklevel=2)
# HDF5 files are read, and backends run, by a process of their own, which is a program beside quantscope-cli.
if "QS_WORKER" not in _os.environ and (_worker := _shutil.which("quantscope-worker")):
    _os.environ["QS_WORKER"] = _worker

_MOST_WARNINGS = 10


def _listed(texts):
    """None, one text or several, as a list."""
    if texts is None:
        return []
    return [_os.fspath(texts)] if isinstance(texts, (str, _os.PathLike)) else [_os.fspath(text) for text in texts]


def _text(path):
    return "" if path is None else _os.fspath(path)


def _models(models):
    return [_model(one) for one in ([models] if isinstance(models, (str, _os.PathLike, Model)) else models or [])]


def _model(model):
    return model if isinstance(model, Model) else open(model)


def _imports(imports):
    """None, a path, or a list of paths and of tuples (path, spec, floor), as such tuples."""
    given = [imports] if isinstance(imports, (str, _os.PathLike, tuple)) else list(imports or [])
    out = []
    for one in given:
        path, spec, floor = (*one, None, None)[:3] if isinstance(one, tuple) else (one, None, None)
        out.append((_os.fspath(path), spec or "", floor))
    return out


def _call(name, *arguments, **settings):
    """How the function was called, for the provenance of reports."""
    said = [repr(a.path if isinstance(a, Model) else a) for a in arguments]
    said += [f"{key}={value!r}" for key, value in settings.items() if value not in (None, [], "", False)]
    return f"quantscope.{name}({', '.join(said)})"


def open(path, *, progress=None):
    """Opens a weight file, an index of shards or a folder; see docs/file-formats.md. Reads only headers.

    Returns a Model: model["name"] is a Tensor, len(model) the number of tensors, model.tensors the list of them.
    """
    model = _core.open_model(_os.fspath(path), progress)
    for sentence in model.warnings[:_MOST_WARNINGS]:
        _warnings.warn(sentence, stacklevel=2)
    return model


def inspect(model):
    """A row for each tensor: name, dtype, shape, bytes in the file."""
    return Rows(_core.inspect(_model(model)))


def formats():
    """The number formats: a list of dicts with id, title, summary and bits (of a code)."""
    return [dict(zip(("id", "title", "summary", "bits"), row)) for row in _core.format_rows()]


def quantize(array, spec, *, name="", progress=None):
    """Quantizes an array in memory, with the bits that `quantscope-cli quantize` stores.

    array  a NumPy array, a Tensor, or anything with __dlpack__ (PyTorch, JAX; in memory of the CPU) or the buffer protocol: f64,
           f32, f16, bf16, or a float of 8 bits, which is decoded to f32 first (exactly). Any shape; blocks run over the last axis.
    spec   "format[:key=value]*", for instance "nf4:block=64"; see docs/formats-and-specs.md
    name   for messages

    Returns a Quantized. Arrays that are in C order are not copied.
    """
    return _core.quantize(array, spec, name, progress)


def analyze(model, specs, tensors=None, *, decoded="f32", activations=None, solver=None, evidence=None, progress=None):
    """Measures specs on tensors: a row for each tensor and spec with bits per weight (bpw), SQNR in dB, NMSE and the other metrics.

    specs    a spec or a list of them
    tensors  regular expressions for names; None: every float tensor of rank 2 or more
    decoded  what errors are measured on: "f32", the decoded values, or "source", those values as a file of the source's type
             holds them
    activations  calibration inputs of the layers: a file of tensors named as they are, [..., K], or [K] for column weights, or an
             importance matrix of llama.cpp; "synthetic" makes some up. Rows then have weighted_nmse and output_nmse, which have
             no unit
    solver   measure the codes of a solver on these inputs: "gptq:order=act", "awq"; see `quantscope-cli solvers`
    evidence what is known of the model's output, as columns beside those of the weights: files that rows.save("x.json") of
             sensitivity() or eval() wrote, or figures of another program

    more["totals"]: a row for each spec, over all tensors. The error of weights is a proxy, not accuracy.
    """
    model, specs, tensors, evidence = _model(model), _listed(specs), _listed(tensors), _listed(evidence)
    given = _core.Calibration(_text(activations), solver or "")
    call = _call("analyze", model, specs, tensors=tensors, decoded=decoded, activations=_text(activations), solver=solver,
                 evidence=evidence)  # fmt: skip
    return Rows(_core.analyze(model, specs, tensors, decoded, given, evidence, call, progress))


def sweep(model, specs=None, tensors=None, *, blocks=None, decoded="f32", progress=None):
    """Measures many formats and block sizes: a row for each class of tensors and spec.

    specs   formats or specs, with every block size where they name none; None: the usual formats
    blocks  elements for each scale; None: 16, 32, 64, 128, 256

    Rows with "frontier" set are those that no other spec beats with fewer bits and no more error.
    """
    model, specs, tensors, blocks = _model(model), _listed(specs), _listed(tensors), list(blocks or [])
    call = _call("sweep", model, specs=specs, tensors=tensors, blocks=blocks, decoded=decoded)
    return Rows(_core.sweep(model, specs, blocks, tensors, decoded, call, progress))


def audit(model, *, fail_on=None, progress=None):
    """Looks for what is wrong in a checkpoint: a row for each finding, faults first. No rows: nothing was found.

    fail_on  limits at which it is an Error, with the sentence that the command line prints: "fault", "warning", "note", the id of
             a check; "warning>3" for more than three

    more["checks"]: every check, with its number of findings.
    """
    model = _model(model)
    return Rows(_core.audit(model, _listed(fail_on), _call("audit", model), progress))


def diff(a, b, tensors=None, *, changed=False, progress=None):
    """Compares two checkpoints tensor by tensor, whose names, fusion and order of rows may be others.

    changed  leave out tensors that are equal
    """
    a, b, tensors = _model(a), _model(b), _listed(tensors)
    return Rows(_core.diff(a, b, tensors, changed, _call("diff", a, b, tensors=tensors, changed=changed), progress))


def eval(model, specs=None, *, text=None, tokens=None, ctx=512, chunks=0, recipe=None, against=None, scored="second-half",
         memory=None, floor=True, imports=None, backend=None, plugin=None, variant=None, act=None, progress=None):  # fmt: skip
    """What specs do to the output of a language model: KL in nats a token, perplexity, agreement of the best token.

    text, tokens  one of them: a file in UTF-8, or one of token ids (.npy, or numbers in a text)
    ctx           tokens of a chunk
    chunks        chunks at most; 0: all
    recipe        files that say the spec of each tensor, in any recipe format
    against       other models with the same vocabulary
    scored        which predictions count: "second-half" of a chunk, or "all"
    memory        what the evaluation may hold, e.g. "1GiB"; None: half of what is free
    floor         measure the noise floor: the model against itself in another order of sums
    imports       figures of other programs, as proxies: files such as a log of llama-perplexity or of GPTQ; (path, spec, floor)
                  for one that does not say its spec, or whose figures (in nats) all hold a floor; without it the floor is estimated
    backend       a row more for each spec and recipe: its products run on this backend, with the backend's activations
    plugin        a backend library of your own, or a PJRT plugin
    variant, act  of the backend: its kernel, and its activations ("f32", "bf16", "int8", "fp8_e4m3")

    A row for each spec, recipe and model; more["pairs"] compares them by token. Of an encoder rows are of its embeddings.
    more["trust"], of four specs or more: how far figures of the weights and imported ones rank specs as the output does (Kendall's
    tau-b). more["imported"]: what was imported.
    """
    model, specs, recipes, others = _model(model), _listed(specs), _listed(recipe), _models(against)
    asked = _core.TextArguments(_text(text), _text(tokens), ctx, chunks, memory or "")
    serving, imports = _core.ServingArguments(backend or "", _text(plugin), variant or "", act or ""), _imports(imports)
    call = _call("eval", model, specs, text=text, tokens=tokens, ctx=ctx, chunks=chunks, recipe=recipes,
                 against=[one.path for one in others], scored=scored, imports=imports, backend=backend, plugin=_text(plugin),
                 variant=variant, act=act)  # fmt: skip
    return Rows(_core.eval(model, specs, asked, recipes, others, scored, floor, serving, imports, call, progress))


def sensitivity(model, specs=None, *, text=None, tokens=None, ctx=512, chunks=_core.USUAL_CHUNKS, how=_core.FIRST_HOW,
                by=_core.FIRST_GROUPING, tensors=None, until=0.0, cache=None, memory=None, imports=None, progress=None):  # fmt: skip
    """What quantizing each matrix does to the output of a language model, the worst first; see docs/evaluating.md.

    how      ways to measure, one or several: "alone", "spared", "slope", "output"
    by       what is quantized together: "tensor", "role" or "layer"
    until    of alone: a run ends when its standard error is at most this share of its mean KL; 0: never
    cache    folder that keeps finished runs, so that a stopped call goes on; None: the user's cache folder; "": none

    text, tokens, ctx, chunks, memory and imports are those of eval(). more["trust"]: how far proxies, the imported ones too, rank
    tensors as what was measured does; give several ways for `how`.
    """
    model, specs, tensors, how, imports = _model(model), _listed(specs), _listed(tensors), _listed(how), _imports(imports)
    asked = _core.TextArguments(_text(text), _text(tokens), ctx, chunks, memory or "")
    folder = _core.default_cache() if cache is None else _os.fspath(cache)
    call = _call("sensitivity", model, specs, text=text, tokens=tokens, ctx=ctx, chunks=chunks, how=how, by=by, tensors=tensors,
                 imports=imports)  # fmt: skip
    return Rows(_core.sensitivity(model, specs, asked, how, by, tensors, until, folder, imports, call, progress))


def plan(model, specs=None, budget=None, *, by=None, recipe=None, layout=None, tensors=None, lock=None, skip=None, at_least=None,
         at_most=None, group=None, text=None, tokens=None, ctx=512, chunks=0, null=19, null_chunks=8, progress=None):  # fmt: skip
    """Chooses a spec for every tensor under a budget, exactly: no other choice has a smaller loss. See docs/planning.md.

    specs              specs to choose from
    budget             size of the whole file: "4.5bpw" or "3.2GiB"; None: the size of the first recipe
    by                 what is made least, e.g. "nmse" (needs no text) or "slope"; None: "nmse"
    recipe             recipes to start from: their specs join, and they stand beside the plan
    layout             whose stored bytes count; None: the first that takes the most of the specs
    lock, skip         "REGEX=SPEC" or "REGEX=keep"; "REGEX": these tensors stay as they are
    at_least, at_most  "REGEX=SPEC": no fewer, no more bytes than under that spec
    group              regular expressions: tensors whose names are equal without what matches get one spec
    null, null_chunks  random plans of each kind that the plan is tested against, with a text; chunks of that test

    A row for each unit with its spec, bytes and loss. rows.recipe is the plan as a recipe file, which export() and eval() take.
    """
    model = _model(model)
    asked = _core.PlanArguments()
    asked.specs, asked.budgets, asked.recipes, asked.tensors = map(_listed, (specs, budget, recipe, tensors))
    asked.lock, asked.skip, asked.at_least, asked.at_most, asked.groups = map(_listed, (lock, skip, at_least, at_most, group))
    asked.by, asked.layout, asked.text, asked.tokens = by or "", layout or "", _text(text), _text(tokens)
    asked.ctx, asked.chunks, asked.null, asked.null_chunks = ctx, chunks, null, null_chunks
    call = _call("plan", model, asked.specs, budget, by=by, recipe=asked.recipes, layout=layout, text=text, tokens=tokens)
    table, text = _core.plan(model, asked, call, progress)
    return Rows(table, recipe=text)


def export(model, output, specs=None, *, recipe=None, layout=None, tensors=None, skip_refused=False, copy_all=False,
           force=False, allow_missing=False, solver=None, activations=None,
           progress=None):  # fmt: skip
    """Writes a quantized checkpoint, opens it again and proves every value. Files appear whole or not at all.

    output        a .safetensors, .gguf, .h5 or .npz file, or a folder; it may not be a file of the model
    specs         a spec, or several of the kind "REGEX=SPEC" or "REGEX=keep", the first that matches decides
    recipe        a recipe file instead
    layout        how it is stored, see docs/layouts.md; None: what writes files that end as the output does, else "eformer"
    skip_refused  tensors that are refused stay as they are
    copy_all      other weights of a folder are copied too
    force         replaces a file that this program did not write
    allow_missing a model that lacks shards or tensors is written without them; by default it is refused
    solver        codes that keep the output of each layer on its inputs: "gptq:order=act", "awq"; with one spec for all tensors
    activations   these inputs, as analyze() takes them

    A row for each tensor: how it was read back, bits per weight, bytes. A certificate is written beside it. more["solved"]: SQNR in
    dB of the output of each layer that a solver took, rounded to nearest and solved.
    """
    arguments = (_os.fspath(output), _listed(specs), _text(recipe), layout or "", _listed(tensors), skip_refused, copy_all, force,
                 allow_missing)  # fmt: skip
    return Rows(_core.export(_model(model), *arguments, _core.Calibration(_text(activations), solver or ""), progress))


def verify(original, exported=None, *, certificate=None, fail_on=None, progress=None):
    """Compares an export, made by any program, with its original: error, whether it derives from a spec, true bits per weight.

    With one path alone: whether the files of an export are still those of its certificate; Error if they are not.
    fail_on: limits at which it is an Error, e.g. "differs" or "nmse>0.01"; see `quantscope-cli verify --help`.
    more["claims"]: what the settings of the export say, and what its files hold.
    """
    if exported is None and fail_on:
        raise Error("fail_on compares with an original: name it before the export.")
    if exported is None:
        return Rows(_core.check_certificate(_os.fspath(original), _text(certificate), progress))
    if certificate is not None:
        raise Error("certificate is for an export without its original; beside one it is found by itself.")
    original, model = _model(original), _model(exported)
    path = exported.path if isinstance(exported, Model) else _os.fspath(exported)
    return Rows(_core.verify(original, model, path, _listed(fail_on), _call("verify", original, model), progress))
