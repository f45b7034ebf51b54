"""rows.py STEPS: the rows of tests/data/truth/real/*/scripts.csv, from the folder `steps` that check.sh made.

A script without a counted step (an inference) has one row, "all". Steps that a gradient scaler skipped on one side are left out.
"""
import json
import pathlib
import sys

print("script,step,pretend_requested,pretend_allocated,pretend_reserved,real_requested,real_allocated,real_reserved")
for path in sorted(pathlib.Path(sys.argv[1]).glob("real-*.out")):
    pretend = json.loads(path.read_text())
    real = pretend["real"]["run"]
    name = " ".join(word.removeprefix("tests/pretend/torch/") for word in pretend["command"][1:])
    pairs = [(a["step"], a, b) for a, b in zip(pretend["steps"], real["steps"])] or [("all", pretend["peak"], real["peak"])]
    if len(pretend["steps"]) == len(real["steps"]):
        for step, *sides in pairs:
            print(name, step, *(side[level] for side in sides for level in ("requested", "allocated", "reserved")), sep=",")
