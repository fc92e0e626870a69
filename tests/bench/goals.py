#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The goals of speed and what was last measured of them: goals.json.

  goals.py table            writes the table of README.md from goals.json
  goals.py record COMMAND   runs a benchmark, and puts what it prints of the goals' rows into goals.json: for example
                            goals.py record build/dev/bin/bench_kernels --rounds 9

A goal with "from" names the program, the options that change what is measured, the row (the beginning of its line, cells
joined by " | ") and the column (the beginning of its title). --threads 2 makes it the figure "two", else it is "one".
"reached" is not changed by `record`: read the figures, then say it by hand.
"""
import datetime
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GOALS = HERE / "goals.json"
CHANGES = {"--small-pages", "--warm", "--kn", "--any-probe"}  # options whose figures are those of another goal
BEGIN, END = "<!-- begin goals -->", "<!-- end goals -->"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.partition(':')[2].strip()}, {len(os.sched_getaffinity(0))} CPUs"
    return "not known"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(text):
    """(title of a column -> cell, the line) of every row of every table in Markdown."""
    titles = None
    for line in text.splitlines():
        if not line.startswith("|"):
            titles = None
        elif titles is None:
            titles = cells(line)
        elif not set(line) <= set("|-: "):
            yield dict(zip(titles, cells(line))), " | ".join(cells(line))


def record(command):
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(text)
    program = pathlib.Path(command[0]).name
    threads = command[command.index("--threads") + 1] if "--threads" in command else "1"
    which = "two" if threads == "2" or program == "bench_scaling" else "one"
    data = json.loads(GOALS.read_text())
    table, found = list(rows(text)), 0
    for goal in data["goals"]:
        source = goal.get("from")
        if not source or source["program"] != program or set(source.get("with", [])) != CHANGES & set(command):
            continue
        for row, line in table:
            column = next((title for title in row if title.startswith(source["column"])), None)
            if line.startswith(source["row"]) and column:
                goal[which] = row[column]
                goal["date"], goal["machine"] = datetime.date.today().isoformat(), processor()
                found += 1
                break
    GOALS.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    print(f"goals.py: {found} figures recorded; say in goals.json whether they are reached, then run goals.py table")


def table():
    data = json.loads(GOALS.read_text())
    lines = []
    for area in dict.fromkeys(goal["area"] for goal in data["goals"]):
        lines += [f"### {area}", "", "| what | goal | measured, 1 thread | 2 threads | reached | machine, date |", "|---|---|---|---|---|---|"]
        for goal in data["goals"]:
            if goal["area"] == area:
                machine = data["machines"].get(goal.get("machine"), {}).get("short", goal.get("machine", ""))
                where = f"{machine}, {goal['date']}" if goal.get("date") else "-"
                lines.append(f"| {goal['what']} | {goal['goal']} | {goal.get('one') or '-'} | {goal.get('two') or '-'} | "
                             f"{goal['reached']} | {where} |")
        lines.append("")
    lines += ["Machines:", ""]
    lines += [f"- **{one['short']}**: {one['what']}" for one in data["machines"].values()]
    page = HERE / "README.md"
    text = page.read_text()
    before, after = text[:text.index(BEGIN) + len(BEGIN)], text[text.index(END):]
    page.write_text(before + "\n" + "\n".join(lines) + "\n" + after)


if sys.argv[1:] == ["table"]:
    table()
elif sys.argv[1:2] == ["record"] and len(sys.argv) > 2:
    record(sys.argv[2:])
else:
    sys.exit(__doc__)
