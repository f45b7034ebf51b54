"""Every model of tests/data/truth/pytorch.csv as a script (tests/pretend/torch/zoo.py), in fp32 and under autocast.

Three steps under `vramplan run` must have the counters of the table (PyTorch's own, on another pretend card), each level,
to the byte; what `vramplan estimate` says of the model's file is printed beside. With a PyTorch that the table does not
have, nothing is compared. One line a run, as CSV:

    model,batch,precision,requested,allocated,reserved,script,estimate_requested,estimate_allocated,estimate_reserved

The bytes are the highest of three steps; `script` says whether all nine counters were equal: `equal`, `differs`, or
`no-row`. Names after the program restrict it to these models.
"""

import csv
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
VRAMPLAN = os.path.abspath(sys.argv[1])
ONLY = sys.argv[2:]
FRAMEWORK = "pytorch@" + ".".join(torch.__version__.split(".")[:2])
LEVELS = ("requested", "allocated", "reserved")
NEEDS = {"smp_unet_resnet34": "segmentation_models_pytorch", "monai_unet_3d": "monai", "mixer_b16": "timm", "deit_tiny": "timm"}
NEEDS.update(dict.fromkeys(("bert_base", "distilbert", "gpt2", "llama_160m", "t5_small"), "transformers"))
NEEDS.update(dict.fromkeys(("mlp", "unet", "unet_bilinear", "textcnn", "transformer_encoder", "dcgan_generator", "autoencoder"), "torch"))


def rows():
    """The smallest batch of each model in fp32 and under autocast, of this PyTorch's rows; else of 2.10's, to name the runs."""
    with open(os.path.join(ROOT, "tests/data/truth/pytorch.csv")) as file:
        table = [row for row in csv.DictReader(file)
                 if row["mode"] == "train" and row["capability"] == "7.5" and row["precision"] in ("fp32", "amp-fp16")
                 and (row["optimizer"], row["optimizer_impl"]) == ("adam", "foreach") and row["dims"] in ("", "sequence=128")]
    known = any(row["framework"] == FRAMEWORK for row in table)
    chosen = {}
    for row in table:
        if row["framework"] == (FRAMEWORK if known else "pytorch@2.10"):
            kept = chosen.setdefault((row["model"], row["precision"]), row)
            if int(row["batch"]) < int(kept["batch"]):
                chosen[row["model"], row["precision"]] = row
    return known, [row for row in chosen.values() if not ONLY or row["model"] in ONLY]


def asked(*command, cwd=None):
    done = subprocess.run([VRAMPLAN, *command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return json.loads(done.stdout) if done.returncode in (0, 3) and done.stdout else None


def ran(row):
    with tempfile.TemporaryDirectory() as folder:
        return asked("run", "--format", "json", "--gpu", "t4", "--until-exit", "--", sys.executable,
                     os.path.join(HERE, "torch/zoo.py"), row["model"], row["batch"], row["precision"], cwd=folder)


def estimated(row):
    files = (os.path.join(ROOT, "tests/data/zoo/%s.%s-train.onnx" % (row["model"], kind)) for kind in ("ts", "dynamo"))
    answer = asked("estimate", next(filter(os.path.exists, files)), "--batch", row["batch"], "--precision", row["precision"],
                   "--framework", row["framework"], "--gpu", "t4", "--format", "json",
                   *(["--dim", row["dims"]] if row["dims"] else []))
    return answer["peak"] if answer else dict.fromkeys(LEVELS, "")


known, table = rows()
tried, wrong, skipped = 0, [], {}
print("model,batch,precision,requested,allocated,reserved,script,estimate_requested,estimate_allocated,estimate_reserved")
for row in table:
    missing = NEEDS.get(row["model"], "torchvision")
    if importlib.util.find_spec(missing) is None:
        skipped.setdefault(missing, set()).add(row["model"])
        continue
    tried += 1
    name, answer = " ".join((row["model"], row["precision"])), ran(row)
    if not answer or len(answer["steps"]) != 3:
        wrong.append(name)
        print("FAIL  %s did not make three steps" % name)
        continue
    got = [step[level] for step in answer["steps"] for level in LEVELS]
    counted = [int(row["step%d_%s" % (step, level)]) for step in (1, 2, 3) for level in LEVELS]
    outcome = ("equal" if got == counted else "differs") if known else "no-row"
    if outcome == "differs":
        wrong.append(name)
        print("FAIL  %s: %s instead of %s" % (name, got, counted))
    highest = [max(step[level] for step in answer["steps"]) for level in LEVELS]
    estimate = estimated(row)
    print(",".join(map(str, (row["model"], row["batch"], row["precision"], *highest, outcome, *(estimate[level] for level in LEVELS)))),
          flush=True)
for package, models in sorted(skipped.items()):
    print("skip  no %s: %s" % (package, ", ".join(sorted(models))), file=sys.stderr)
print("torch %s: %d runs, %d wrong" % (torch.__version__, tried, len(wrong)), file=sys.stderr)
sys.exit(bool(wrong) or not tried)
