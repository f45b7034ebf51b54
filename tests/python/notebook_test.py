"""docs/notebook.ipynb runs from top to bottom: every code cell in order, in one namespace, as a kernel would run it; --update
stores what comes out.

Twice where torch has CUDA: the second time as if it had none. Exit code 77 where torch is missing.
"""

import ast
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

for needed in ("torch",):
    if importlib.util.find_spec(needed) is None:
        print(f"{needed} is not installed")
        sys.exit(77)
if importlib.util.find_spec("vramplan") is None:  # else the installed wheel is what is tested
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])

import torch  # noqa: E402


NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
UPDATE = sys.argv[1:] == ["--update"]


def shown(value):
    """What a notebook does with the last expression of a cell."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    html = getattr(value, "_repr_html_", None)
    if html is not None:
        assert html().lstrip().startswith("<"), "no HTML"
        data["text/html"] = html().splitlines(keepends=True)
    return data


def run_notebook(update=False):
    """Every cell has stored outputs of the kinds that it makes. update: they are written anew."""
    notebook = json.loads(NOTEBOOK.read_text())
    namespace = {"__name__": "__main__"}
    ran = 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed, outputs = io.StringIO(), []
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"cell {number}", "exec"), namespace)
            value = None if last is None else eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
        ran += 1
        if printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
        if value is not None:
            outputs.append({"data": shown(value), "execution_count": ran, "metadata": {}, "output_type": "execute_result"})
        if update:
            cell["outputs"], cell["execution_count"] = outputs, ran
        kinds = [[o["output_type"], *o.get("data", ())] for o in outputs]
        assert kinds == [[o["output_type"], *o.get("data", ())] for o in cell["outputs"]], f"cell {number} was saved with other outputs"
    if update:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return ran, namespace


ran, said = run_notebook(UPDATE)
assert said["fit"].fits and said["fit"].largest_batch > 100, "the model trains on a T4"
assert said["applied"].batch * said["applied"].accumulate == 4 * said["fit"].largest_batch
assert said["fit"].html.startswith("<!doctype html>")
with_run = bool(torch.version.cuda)
if with_run:
    assert said["run"].fits, "the script runs on a pretend card"
    torch.version.cuda = None
    again, said = run_notebook()
    assert again == ran and "run" not in said
print(f"{ran} cells; vramplan run " + ("with a CUDA wheel, and without" if with_run else "skipped: this torch has no CUDA"))
