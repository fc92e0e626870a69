#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measured KL of plans by every objective, beside uniform specs, llama.cpp's medium mix and random plans of the same size.

    plan_figures.py CLI MODEL TEXT [--budget BPW]... [--by OBJECTIVE]... [--spec SPEC]... [--ctx N] [--chunks N] [--proof-chunks N]
                    [--draws N] [--lock RULE]... [--reports FOLDER] [--name NAME] [--json FILE]
    plan_figures.py --self-check

Each plan is tested on the same chunks of the text: those behind the first --chunks, on which losses are measured. Prints a table in
Markdown with its conditions, and whether the goal is reached: at 4.0 and 4.5 bits per weight at most 0.8 of the KL of the better of
uniform and preset, outside of the random band. Draws have the seeds 1 to --draws of each kind. --reports keeps the report of each
plan, so that a run that was stopped goes on.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

BUDGETS = ["3.5", "4.0", "4.5", "5.0"]
OBJECTIVES = ["nmse", "output", "slope", "alone"]
SPECS = ["ternary:block=64", *(f"int{bits}:block=64:scaletype=f16" for bits in (3, 4, 5, 6, 8)), "nf4:block=128"]
PRESET, GOAL, GOAL_AT = "llama.cpp's medium mix", 0.8, ("4.0", "4.5")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("cli", "model", "text"):
        parser.add_argument(name)
    for name, value in (("budget", BUDGETS), ("by", OBJECTIVES), ("spec", SPECS)):
        parser.add_argument(f"--{name}", action="append", help=f"default: {' '.join(value)}")
    for name, value in (("ctx", 256), ("chunks", 8), ("proof-chunks", 16), ("draws", 19)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lock", action="append", default=[], help="REGEX=SPEC or REGEX=keep, as plan takes it")
    parser.add_argument("--reports", type=pathlib.Path)
    parser.add_argument("--name")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    for name, value in (("budget", BUDGETS), ("by", OBJECTIVES), ("spec", SPECS)):
        setattr(given, name, getattr(given, name) or value)
    return given


def planned(given, budget, by):
    command = [given.cli, "plan", given.model, "--budget", f"{budget}bpw", "--by", by, "--text", given.text, "--ctx", str(given.ctx),
               "--chunks", str(given.chunks), "--null", str(given.draws), "--null-chunks", str(given.proof_chunks), "--json", "-"]
    for spec in given.spec:
        command += ["--spec", spec]
    for rule in given.lock:
        command += ["--lock", rule]
    kept = given.reports and given.reports / f"{by}-{budget}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text())
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{' '.join(command)} failed")
    if kept:
        kept.write_text(done.stdout)
    return json.loads(done.stdout)


def figures(report, budget, by):
    """What the table says of one plan."""
    said = report["summary"]
    per_byte = said["bpw_all"] / said["bytes"]

    def one(row):
        return row and {"name": row["name"], "bpw": row["bytes"] * per_byte, "kl": row["kl_mean"], "se": row.get("kl_se_chunk")}

    measured = [{"name": "plan", "kind": "plan", **said}]
    measured += [row for row in report.get("baselines", []) if row.get("kl_mean") is not None]
    uniform = [row for row in measured if row["kind"] == "uniform"]
    preset = [row for row in measured if row["name"] == PRESET]
    out = {"budget": budget, "by": by, "plan": one(measured[0]), "uniform": one(min(uniform, key=lambda row: row["kl_mean"], default=None)),
           "preset": one(preset[0] if preset else None), "chance": report.get("chance", [])}
    others = [out[kind]["kl"] for kind in ("uniform", "preset") if out[kind]]
    out["ratio"] = out["plan"]["kl"] / min(others) if others else None
    out["inside"] = any(row["low"] is None or row["high"] is None or row["low"] <= 0 <= row["high"] for row in out["chance"])
    return out


def cell(one):
    if not one:
        return "none fits"
    return f"{one['kl']:.4g}" + (f" ± {one['se']:.1g}" if one["se"] is not None else "") + f" at {one['bpw']:.2f}"


def band(rows, kind):
    row = next((row for row in rows if row["kind"] == kind), None)
    return f"{row['kl_least']:.4g} to {row['kl_largest']:.4g}, p {row['rank_p']:.2g}" if row else "none found"


def table(rows):
    lines = ["| budget, bpw | plan by | KL of the plan | best uniform spec | preset | times the better | shuffled plans | random plans | random band |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        uniform = cell(row["uniform"]) + (f" (`{row['uniform']['name'].split(' ')[0]}`)" if row["uniform"] else "")
        lines.append("| " + " | ".join([row["budget"], f"`{row['by']}`", cell(row["plan"]), uniform, cell(row["preset"]),
                                        f"{row['ratio']:.2f}" if row["ratio"] is not None else "-", band(row["chance"], "shuffled plan"),
                                        band(row["chance"], "random plan"), "inside" if row["inside"] else "outside"]) + " |")
    return "\n".join(lines)


def goal(rows):
    """A sentence for each budget of the goal."""
    out = []
    for budget in GOAL_AT:
        here = [row for row in rows if row["budget"] == budget and row["ratio"] is not None]
        if not here:
            continue
        reached = [row["by"] for row in here if row["ratio"] <= GOAL and not row["inside"]]
        best = min(here, key=lambda row: row["ratio"])
        where = "inside" if best["inside"] else "outside of"
        out.append(f"At {budget} bpw the goal (at most {GOAL} of the better of uniform and preset, outside of the random band) is "
                   + (f"reached by {', '.join(reached)}." if reached else "not reached.")
                   + f" The least is {best['ratio']:.2f}, by {best['by']}, {where} the random band.")
    return "\n".join(out)


def conditions(given, report):
    said = report["provenance"]
    return (f"{given.name or pathlib.Path(given.model).name}, specs {', '.join(f'`{spec}`' for spec in given.spec)}"
            f"{''.join(f'; locked `{rule}`' for rule in given.lock)}. Text "
            f"`{pathlib.Path(given.text).name}`, SHA-256 `{said['text_sha256']}`; context {given.ctx}; losses on the first {given.chunks} chunks, "
            f"KL on the next {given.proof_chunks}; {given.draws} draws of each kind, seeds 1 to {given.draws}. KL in nats a token, ± its standard "
            "error by chunk; sizes are bits per weight of the whole file.")


def main():
    given = options()
    rows, report = [], None
    for by in given.by:
        for budget in given.budget:
            report = planned(given, budget, by)
            rows.append(figures(report, budget, by))
            print(f"{budget} {by}: {rows[-1]['plan']['kl']:.4g}", file=sys.stderr)
    rows.sort(key=lambda row: given.budget.index(row["budget"]))  # stable: the objectives stay in their order
    if given.json:
        given.json.write_text(json.dumps({"conditions": conditions(given, report), "text_sha256": report["provenance"]["text_sha256"],
                                          "context": given.ctx, "chunks": given.chunks, "proof_chunks": given.proof_chunks,
                                          "draws": given.draws, "specs": given.spec, "locks": given.lock, "rows": rows}, indent=1) + os.linesep)
    print(conditions(given, report), table(rows), goal(rows), sep="\n\n")


def self_check():
    def contender(name, kind, size, kl):
        return {"name": name, "kind": kind, "bytes": size, "kl_mean": kl, "kl_se_chunk": 0.001}

    report = {"provenance": {"text_sha256": "00"}, "summary": {"bytes": 1000, "bpw_all": 4.0, "kl_mean": 0.06, "kl_se_chunk": 0.001},
              "baselines": [contender("a everywhere", "uniform", 900, 0.1), contender("b everywhere", "uniform", 500, 0.3),
                            contender(PRESET, "rule of thumb", 950, 0.12)],
              "chance": [{"kind": "shuffled plan", "kl_least": 0.08, "kl_largest": 0.2, "rank_p": 0.05, "low": -0.9, "high": -0.2}]}
    row = figures(report, "4.0", "alone")
    assert abs(row["ratio"] - 0.6) < 1e-12 and not row["inside"], row
    assert abs(row["uniform"]["bpw"] - 3.6) < 1e-12 and row["uniform"]["name"] == "a everywhere", row
    assert "reached by alone" in goal([row]) and "0.60" in goal([row]), goal([row])
    assert table([row]).splitlines()[2].count("|") == table([row]).splitlines()[0].count("|"), table([row])
    report["chance"][0]["high"] = 0.1
    inside = figures(report, "4.0", "alone")
    assert inside["inside"] and "not reached" in goal([inside]), inside
    report["chance"][0]["high"] = None  # one chunk gives no interval
    assert figures(report, "4.0", "alone")["inside"]
    report["baselines"] = []
    alone = figures(report, "4.5", "nmse")
    assert alone["ratio"] is None and "none fits" in table([alone]) and goal([alone]) == "", alone


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        main()
