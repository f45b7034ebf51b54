"""The worked examples of docs/scripts-evidence.md: the first line of each answer is the one in the table, and others are in it.

An example whose packages are not there is left out and named; with another torch than the table's, all of them are.
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile

import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
VRAMPLAN = os.path.abspath(sys.argv[1])
wrong = right = 0

with open(os.path.join(ROOT, "docs/scripts-evidence.md")) as file:
    page = file.read().partition("## Worked examples\n")[2].partition("\n## ")[0]
version = re.search(r"\(torch\s+([\d.]+),", page).group(1)
if torch.__version__.split("+")[0] != version:
    print("the worked examples are of torch %s, this is %s" % (version, torch.__version__))
    sys.exit(77)
for line in page.splitlines():
    if not line.startswith("| ") or "`./vramplan" not in line:
        continue
    example, command, packages, first = (cell.strip() for cell in line.strip("|").split("|"))
    command, (first, *others) = command.strip("`"), re.findall("`([^`]+)`", first)
    missing = [name for name in re.findall(r"\w+", packages) if importlib.util.find_spec(name) is None]
    if missing:
        print("skip  %s: no %s" % (example, ", ".join(missing)))
        continue
    words = shlex.split(command)
    words[0], words[words.index("python")] = VRAMPLAN, sys.executable
    script = next(i for i, word in enumerate(words) if word.endswith(".py"))
    words[script] = os.path.join(ROOT, words[script])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    said = " ".join(done.stdout.split()) + " "
    if said.startswith(first + " ") and all(" %s " % other in said for other in others):
        right += 1
        print("ran   %s" % example)
    else:
        wrong += 1
        print("FAIL  %s:\n      %s\n      instead of\n      %s" % (example, done.stdout if others else done.stdout.partition("\n\n")[0], [first, *others]))
        print(done.stderr[-2000:])
print("%d examples, %d wrong" % (right + wrong, wrong))
sys.exit(bool(wrong or not right))
