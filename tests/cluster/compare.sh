# SPDX-License-Identifier: GPL-3.0-or-later
# What the tests of this folder share: $root, $cli (argument 1), $work (removed at the end), $analysis (a command of some seconds at most).
root=$(cd "$(dirname "$0")/../.." && pwd)
case "$1" in /*) cli=$1 ;; *) cli=$PWD/$1 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
analysis="$root/resources/samples/tiny-llama --spec nf4:block=32 --spec int4:block=32"

fail() { echo "failed: $1" >&2; exit 1; }

# soon WHAT CONDITION: waits until the condition holds.
soon() {
  for _ in $(seq 600); do
    if eval "$2"; then return 0; fi
    sleep 0.1
  done
  echo "after a minute it does not hold that $1" >&2
  return 1
}

# equal JSON WHAT: all but where the figures come from is that of a single run, to the last digit.
equal() {
  [ -e "$work/single.json" ] || "$cli" analyze $analysis --json "$work/single.json" > /dev/null
  python3 - "$work/single.json" "$1" "$2" <<'END'
import json, sys
single, other = (json.load(open(path)) for path in sys.argv[1:3])
single.pop("provenance"), other.pop("provenance")
if single != other or not single["rows"]:
    sys.exit(f"failed: {sys.argv[3]} differs from a single run")
print(f"{sys.argv[3]}: {len(single['rows'])} rows as of a single run")
END
}
