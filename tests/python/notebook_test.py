"""docs/notebook.ipynb runs from top to bottom: every code cell in order, in one namespace, as a kernel would run it.

Twice where torch has CUDA: the second time as if it had none. Exit code 77 where torch, onnx or onnxscript is missing.
"""

import ast
import importlib.util
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

for needed in ("torch", "onnx", "onnxscript"):
    if importlib.util.find_spec(needed) is None:
        print(f"{needed} is not installed")
        sys.exit(77)
if importlib.util.find_spec("vramplan") is None:  # else the installed wheel is what is tested
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])

import torch  # noqa: E402


def show(value):
    """What a notebook does with the last expression of a cell."""
    html = getattr(value, "_repr_html_", None)
    if html is not None:
        assert html().lstrip().startswith("<"), "no HTML"
    print(value)


def run_notebook():
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())["cells"]
    namespace = {"__name__": "__main__"}
    ran = 0
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], f"cell {number} was saved with its output"
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
            if value is not None:
                show(value)
        ran += 1
    return ran, namespace


ran, said = run_notebook()
assert said["fit"].fits and said["fit"].largest_batch > 100, "the model trains on a T4"
assert said["applied"].batch * said["applied"].accumulate == 4 * said["fit"].largest_batch
assert said["page"].read_text().startswith("<!doctype html>")
with_run = bool(torch.version.cuda)
if with_run:
    assert said["code"] == 0, "the script runs on a pretend card"
    torch.version.cuda = None
    again, said = run_notebook()
    assert again == ran and "code" not in said
print(f"{ran} cells; vramplan run " + ("with a CUDA wheel, and without" if with_run else "skipped: this torch has no CUDA"))
