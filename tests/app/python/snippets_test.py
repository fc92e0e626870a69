# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the examples of docs/python.md and compares what they print. A block that imports a library that is not installed is left out;
tests/peers/run has them all."""
import doctest
import importlib.util
import re
import sys
import tempfile
from pathlib import Path

import support  # noqa: F401: without NumPy there is nothing to run

PAGE = Path("docs/python.md")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def runnable(text):
    """The page without blocks that need what is missing."""
    kept = []
    for block in re.split(r"\n\n", text):
        needs = re.findall(r"^ *>>> import (\w+)", block, re.MULTILINE)
        missing = [name for name in needs if importlib.util.find_spec(name) is None]
        if missing:
            print(f"SKIP an example of {PAGE}: {', '.join(missing)} is not installed")
        else:
            kept.append(block)
    return "\n\n".join(kept)


with tempfile.TemporaryDirectory() as folder:
    text = runnable(PAGE.read_text()).replace("/tmp/", folder + "/")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 25
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    failed = runner.run(examples).failed
sys.exit(failed > 0)
