"""try.py VRAMPLAN PYTHON ROOT [WORD...]: runs the scripts of tried.csv on a pretend card, and writes its columns again.

ROOT has a checkout of each source (of its name behind the slash), and `data` with what the commands name: images, text
and MNIST's files, a few of each, made up. WORDs choose rows by what stands in their script or command.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
vramplan, python, root, *words = sys.argv[1:]
vramplan, root = os.path.abspath(vramplan), os.path.abspath(root)
with open(os.path.join(HERE, "tried.csv"), newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows:
    if words and not any(word in row["script"] + " " + row["arguments"] for word in words):
        continue
    folder = os.path.join(root, row["source"].split("/")[-1])
    script = os.path.join(folder, row["script"])
    where = os.path.dirname(script)
    environment = dict(os.environ, WANDB_MODE="disabled", HF_HUB_OFFLINE="1", PYTHONPATH=folder)
    command = [vramplan, "run", "--gpu", "a100-80gb", "--format", "json", *row["options"].split(), "--", python, script,
               *row["arguments"].replace("ROOT", root).split()]
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        run = subprocess.Popen(command, cwd=where, env=environment, stdout=out, stderr=err)
        used = os.wait4(run.pid, 0)[2]  # of the command and all that it started
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read()
    row["seconds"] = round(time.monotonic() - began)
    row["host_mib"] = used.ru_maxrss // 1024  # of the largest process
    try:
        answer = json.loads(said)
        row["result"] = answer["verdict"]
        row["steps"] = len(answer["steps"])
        row.update({level: answer["peak"][level] for level in ("requested", "allocated", "reserved")})
    except ValueError:
        row["result"] = "fails"
        row.update(steps="", requested="", allocated="", reserved="")
        print(complained.decode(errors="replace")[-1000:])
    print(row["script"], row["result"], row["requested"], flush=True)
with open(os.path.join(HERE, "tried.csv"), "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
