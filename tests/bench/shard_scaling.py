#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much faster a shared command is with two processes than with one, each on a core of its own.

    shard_scaling.py CLI [--rounds N] [--json FILE] -- COMMAND [ARGUMENT...]

The command is one that takes --records. A round runs it as one process on one core, then as two shards on two cores and a merge, in
turns. Prints the median and the least and largest of the wall times, and of the ratio within a round: 2 would be ideal. Checks that
the rows of both are equal. Needs taskset and two cores that are otherwise idle.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def text(values, unit):
    return f"{statistics.median(values):.2f} {unit} [{min(values):.2f}, {max(values):.2f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    one, two, ratios = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        rows = [f"{folder}/one.json", f"{folder}/two.json"]
        start = lambda core, more: subprocess.Popen(["taskset", "-c", str(core), given.cli, *given.command, *more], stdout=subprocess.DEVNULL)
        for i in range(given.rounds):
            begin = time.monotonic()
            if start(0, ["--records", f"{folder}/one{i}", f"--json={rows[0]}"]).wait():
                sys.exit("the command failed")
            one.append(time.monotonic() - begin)
            begin = time.monotonic()
            shards = [start(core, ["--records", f"{folder}/two{i}", "--shard", f"{core + 1}/2"]) for core in (0, 1)]
            if any([shard.wait() for shard in shards]):
                sys.exit("a shard failed")
            subprocess.run([given.cli, "merge", f"{folder}/two{i}", f"--json={rows[1]}"], check=True, stdout=subprocess.DEVNULL)
            two.append(time.monotonic() - begin)
            ratios.append(one[-1] / two[-1])
            read = [json.loads(pathlib.Path(path).read_text())["rows"] for path in rows]
            if read[0] != read[1]:
                sys.exit("the rows of two processes differ from those of one")
    print(f"one process   {text(one, 's')}\ntwo processes {text(two, 's')}, with the merge\nratio         {text(ratios, 'x')}")
    if given.json:
        given.json.write_text(json.dumps({"command": given.command, "one_s": one, "two_s": two, "ratio": ratios}) + "\n")


if __name__ == "__main__":
    main()
