# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the scripts of this folder."""
import subprocess
import sys


class Checks:
    """Counts passed checks and prints the names of failed ones."""

    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, right, more=""):
        self.passed, self.failed = self.passed + bool(right), self.failed + (not right)
        if not right:
            print(f"FAIL {name} {more}".rstrip())

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


def quantscope(*arguments):
    """Runs quantscope-cli, whose path is the first argument of the script, and returns its standard output."""
    done = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"quantscope-cli {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout
