"""vramplan run with a real PyTorch: the scripts of tests/pretend/torch, their counters to the byte.

The counters are those of torch 2.10.0 for CUDA 12.8 at capability 7.5, as PyTorch counted them on another pretend card
(the lab that made tests/data/truth; without this hook, steps in the same windows), 2026-11-22. With another torch the
scripts run, and only what does not depend on its version is compared. What torch.zoo measures stands in
tests/data/truth/pytorch.csv.
"""

import csv
import importlib.util
import json
import os
import pty
import subprocess
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
VRAMPLAN = os.path.abspath(sys.argv[1])
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
COUNTED = torch.__version__.startswith("2.10.0")
# torch 2.0 is older than what run is for, and here because its wheel for CUDA 11.7 is the last of CUDA 11 on PyPI: what it
# has not, or asks otherwise of values and of other ranks. fully_shard has its public name since 2.6.
WITHOUT = set()
if VERSION < (2, 1):
    WITHOUT |= {"averaged.py", "two_cards.py", "fsdp1", "compiled.py", "gloo.py"}
if VERSION < (2, 6):
    WITHOUT |= {"fsdp2"}
wrong = []


def run(script, *arguments, options=("--gpu", "t4"), code=0, needs=(), launcher=()):
    """The answer as JSON; nothing when a package is missing."""
    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    missing += [name + " in torch " + torch.__version__ for name in WITHOUT.intersection((script, *arguments))]
    if missing:
        print("skip  %s: no %s" % (script, ", ".join(missing)))
        return None
    command = [VRAMPLAN, "run", "--format", "json", *options, "--", *(launcher or (sys.executable,)),
               os.path.join(HERE, "torch", script), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        left = os.listdir(folder)
    is_("%s leaves" % script, left, [])
    is_("%s exit code" % script, done.returncode, code)
    if done.returncode != code:
        print(done.stderr[-2000:])
        return None
    print("ran   %s" % " ".join((script, *arguments)))
    return json.loads(done.stdout) if done.stdout else None


def is_(what, got, expected):
    if got != expected:
        wrong.append(what)
        print("FAIL  %s: %s instead of %s" % (what, got, expected))


def steps(answer):
    return "; ".join("%d %d %d" % (s["requested"], s["allocated"], s["reserved"]) for s in answer["steps"])


def whole(script, answer, counters):
    """What holds for every run that ended after its three steps."""
    is_(script + " rows sum to the peak", sum(place["bytes"] for place in answer["places"]), answer["peak"]["requested"])
    is_(script + " ended", (answer["verdict"], answer["ended_by"], answer["uncovered"]), ("fits", "steps", []))
    if COUNTED and counters:
        is_(script + " steps", steps(answer), counters)


TABLE = (
    ("train.py", ("32",), (), "88172788 88179712 121634816; 88791364 88801280 121634816; 88791364 89718784 121634816"),
    ("gan.py", (), (), "42973200 42975232 54525952; 48080924 48084480 75497472; 48080924 48084480 75497472"),
    ("frozen.py", (), (), "60849572 60854784 88080384; 72283988 72289280 88080384; 72283988 72289280 88080384"),
    ("checkpointed.py", (), (),
     "83180584 83182080 125829120; 95806504 95808000 130023424; 95806504 95808000 130023424"),
    ("averaged.py", (), (), "28595720 28596736 33554432; 31768072 31769088 37748736; 31768072 31769088 37748736"),
    ("lora.py", (), ("transformers", "peft"),
     "46314056 46316032 62914560; 46543432 46545408 62914560; 46543432 46545408 62914560"),
    ("qlora.py", (), ("transformers", "peft", "accelerate", "bitsandbytes"),
     "135208840 135415808 176160768; 145771964 146026496 180355072; 145771964 146026496 180355072"),
    ("detr.py", (), ("transformers", "scipy"),
     "56636392 56665600 81788928; 89944196 89973248 134217728; 89944196 89973248 134217728"),
    ("diffusion.py", (), ("diffusers",),
     "971467308 973773824 1178599424; 1098284612 1105988608 1201668096; 1098284612 1105988608 1237319680"),
    # With the values of a card: position_ids are no packed sequences (lora.py, whisper.py; the lab's card, which reads zeros,
    # counted a mask more).
    ("whisper.py", (), ("transformers",),
     "339346076 342417920 448790528; 396798620 400138752 469762048; 396798620 399135232 469762048"),
    ("recurrent.py", (), (), None),
    ("compiled.py", (), ("triton",), None),
)
for script, arguments, needs, counters in TABLE:
    answer = run(script, *arguments, needs=needs)
    if answer:
        whole(script, answer, counters)

# Compiling takes long, and a terminal is told so.
if "compiled.py" not in WITHOUT and importlib.util.find_spec("triton"):
    ours, theirs = pty.openpty()
    command = [VRAMPLAN, "run", "--", sys.executable, os.path.join(HERE, "torch", "compiled.py")]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs)
    is_("progress of compiling", b"vramplan: torch.compile: graph 1" in os.read(ours, 1 << 16), True)

# What was recorded asks of vramplan's allocator what it asked of PyTorch's.
def vramplan(*words):
    return json.loads(subprocess.run([VRAMPLAN, *words, "--format", "json"], capture_output=True, text=True).stdout)


LEVELS = ("requested", "allocated", "reserved")
with tempfile.TemporaryDirectory() as folder:
    stream = os.path.join(folder, "train.csv.gz")
    answer = run("train.py", "32", options=("--gpu", "t4", "--record", stream))
    if answer:
        peaks = {"replay": vramplan("replay", stream)["peak"], "fit": vramplan("fit", stream, "--gpu", "t4")["ways"][0]["peak"]}
        for verb, peak in peaks.items():
            is_("%s of train.py" % verb, [peak[level] for level in LEVELS], [answer["peak"][level] for level in LEVELS])
    # The same model as a file: every event of the step.
    stream = os.path.join(folder, "resnet50.csv.gz")
    answer = run("zoo.py", "resnet50", "8", options=("--gpu", "t4", "--record", stream), needs=("torchvision",))
    if answer and COUNTED:
        for step in ("1", "2"):
            compared = vramplan("trace", os.path.join(HERE, "../../models/resnet50.onnx"), "--batch", "8", "--gpu", "t4",
                                "--framework", "pytorch@2.10", "--step", step, "--compare", stream)
            is_("step %s of resnet50 as a file and as a script" % step, compared["equal"], True)
    # What a record makes of a change, and what the change makes of the script.
    stream = os.path.join(folder, "blocks.csv.gz")
    answer = run("blocks.py", options=("--gpu", "t4", "--record", stream))
    if answer:
        planned = {way["change"]: way["peak"] for way in vramplan("plan", stream, "--gpu", "t4")["ways"]}
        written = run("blocks.py", "checkpoint")["peak"]["requested"]
        computed = planned["checkpoint blocks.* (6 modules)"]["requested"]
        most = 2 if COUNTED else 4  # per cent
        is_("checkpointed blocks, computed within %d %% of %d (%d)" % (most, written, computed), abs(computed - written) * 100 < written * most, True)

# A snapshot of ours in PyTorch's own viewer: it opens, and sums to what is reserved and requested.
import pickle
from torch.cuda import _memory_viz

with tempfile.TemporaryDirectory() as folder:
    model, path = os.path.join(HERE, "../../models/resnet50.onnx"), os.path.join(folder, "step.pickle")
    subprocess.run([VRAMPLAN, "estimate", model, "--batch", "8", "--format", "snapshot", "--out", path], check=True,
                   capture_output=True)
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    peak = vramplan("estimate", model, "--batch", "8")["peak"]
    level = highest = 0
    for entry in snapshot["device_traces"][0]:
        level += {"alloc": entry["size"], "free_completed": -entry["size"]}.get(entry["action"], 0)
        highest = max(highest, level)
    is_("the snapshot's requested peak", highest, peak["requested"])
    is_("the snapshot's segments", sum(segment["total_size"] for segment in snapshot["segments"]), peak["reserved"])
    is_("_memory_viz reserved", "total_reserved: %s" % _memory_viz.Bytes(peak["reserved"]) in _memory_viz.segsum(snapshot), True)
    is_("_memory_viz trace", "Device 0" in _memory_viz.trace(snapshot), True)
    is_("_memory_viz trace_plot", len(_memory_viz.trace_plot(snapshot)) > 100000, True)
    print("ran   torch/cuda/_memory_viz.py on a snapshot of ours")

# A model of the accuracy tables: the rows that PyTorch's counters gave.
answer = run("zoo.py", "resnet18", "8", options=("--gpu", "t4", "--until-exit"), needs=("torchvision",))
if answer and COUNTED:
    key = dict(framework="pytorch@2.10", model="resnet18", batch="8", dims="", mode="train", precision="fp32",
               optimizer="adam", optimizer_impl="foreach", capability="7.5")
    with open(os.path.join(HERE, "../data/truth/pytorch.csv")) as file:
        row = next(row for row in csv.DictReader(file) if all(row[name] == key[name] for name in key))
    is_("zoo.py resnet18", steps(answer), "; ".join(
        " ".join(row["step%d_%s" % (step, level)] for level in ("requested", "allocated", "reserved"))
        for step in (1, 2, 3)))

answer = run("train.py", "2048", options=("--gpu-memory", "1GiB"), code=3)
if answer:
    oom = answer["oom"]
    is_("out of memory", (answer["verdict"], oom["step"], oom["phase"], os.path.basename(oom["place"]["file"])),
        ("does-not-fit", 1, "forward", "train.py"))
    is_("out of memory: rows", sum(place["bytes"] for place in answer["places"]), oom["held"]["requested"])

# The first screen of README.md: where it fails does not depend on the version.
answer = run("train.py", "8192", code=3)
if answer:
    with open(os.path.join(HERE, "../../README.md")) as file:
        said = file.read().partition("train.py 8192\n")[2].partition("\n...")[0]
    oom = answer["oom"]
    is_("README.md", " ".join(said.split()), "train.py does not fit on Tesla T4: it runs out of memory in the %s of step %d: "
        "%.2f GiB more did not fit at train.py:%d %s" % (oom["phase"], oom["step"], oom["asked"] / 2**30,
                                                         oom["place"]["line"], oom["place"]["function"]))

answer = run("infer.py")
if answer:
    is_("infer.py", (answer["steps"], answer["ended_by"], answer["verdict"]), ([], "exit", "fits"))

# The search ends with a number that runs, and the next one does not.
answer = run("train.py", "{batch}", options=("--gpu-memory", "1GiB", "--largest", "batch=200:600"))
if answer:
    largest = answer["largest"]
    is_("largest", largest["first_failing"], largest["largest"] + 1)
    runs = {tried["value"]: tried["fits"] for tried in largest["tried"]}
    is_("largest is proved", (runs[largest["largest"]], runs[largest["first_failing"]]), (True, False))
    print("      batch %d in %d runs" % (largest["largest"], len(runs)))

# Changes from outside: each gives what the script gives when it is written so. (8-bit Adam needs bitsandbytes.)
answer = run("blocks.py", options=("--gpu", "t4", "--try"))
if answer:
    tried = {row["change"]: row for row in answer["tried"]}
    is_("tried", [row["change"] for row in answer["tried"]],
        ["expandable segments", "no foreach", "checkpointed layers", "half the batch", "autocast", "8-bit Adam"])
    is_("half of a batch without a DataLoader", tried["half the batch"]["run"], None)
    is_("advice", answer["advice"].startswith("It fits as it is. The most is saved by "), True)
    is_("what was checkpointed", tried["checkpointed layers"]["changed"], "blocks (6 x Block)")
    if "8-bit Adam" in tried and tried["8-bit Adam"]["run"]:
        with tempfile.TemporaryDirectory() as folder:
            stream = os.path.join(folder, "blocks.csv.gz")
            run("blocks.py", options=("--gpu", "t4", "--record", stream))
            small = {way["change"]: way["peak"] for way in vramplan("plan", stream, "--gpu", "t4")["ways"]}["8-bit optimizer states"]
        is_("8-bit states, computed", [small[level] for level in LEVELS],
            [tried["8-bit Adam"]["run"]["peak"][level] for level in LEVELS])
    is_("what was slowed", tried["no foreach"]["changed"], "AdamW(foreach=False)")
    for change, argument in (("no foreach", "slow"), ("checkpointed layers", "checkpoint"), ("autocast", "amp")):
        written = run("blocks.py", argument)
        is_("%s, as written in the script" % change, steps(tried[change]["run"]), steps(written))
        is_("%s is smaller" % change, tried[change]["run"]["peak"]["reserved"] < answer["peak"]["reserved"], True)

# Layers of a module that nobody calls, and of a library that keeps a cache beside them; a loader that gives half.
answer = run("unseen_layers.py", "loose", options=("--gpu", "t4", "--try"))
if answer:
    tried = {row["change"]: row for row in answer["tried"]}
    is_("loose layers", tried["checkpointed layers"]["changed"], "layers (4 x TransformerEncoderLayer)")
    is_("half the batch", tried["half the batch"]["changed"], "DataLoader(batch_size=8), and a step each second time")
    for change, argument in (("checkpointed layers", "loose-checkpointed"), ("half the batch", "loose-half")):
        is_("%s, as written in the script" % change, steps(tried[change]["run"]), steps(run("unseen_layers.py", argument)))
answer = run("unseen_layers.py", "library", options=("--gpu", "t4", "--try"), needs=("transformers",))
if answer:
    tried = {row["change"]: row for row in answer["tried"]}
    is_("layers of a library, as written in the script", steps(tried["checkpointed layers"]["run"]),
        steps(run("unseen_layers.py", "library-checkpointed")))

answer = run("lightning_loop.py", "1", options=("--gpu", "t4", "--try"), needs=("lightning",))
if answer:
    tried = {row["change"]: row for row in answer["tried"]}
    is_("layers of a Lightning module", tried["checkpointed layers"]["changed"], "layers (3 x TransformerEncoderLayer)")
    is_("layers of a Lightning module save", tried["checkpointed layers"]["run"]["peak"]["requested"] < answer["peak"]["requested"], True)

# A list that keeps a result of each step, and how many steps fit; what was not seen; a checkpoint that is not lost.
answer = run("growing.py")
if answer:
    growth = answer["growth"]
    is_("growth", (growth["each_step"], [(row["line"], row["bytes"]) for row in growth["lines"]]), (268435456, [(8, 268435456)]))
    is_("nothing but steps was seen", answer["seen"], {"evaluation": False, "saved": [], "stays": [], "waiting": []})
    failed = run("growing.py", options=("--gpu", "t4", "--until-exit"), code=3)
    is_("the step that growth says", failed["oom"]["step"], growth["full_in_step"])
answer = run("saving.py", options=("--gpu", "t4", "--until-exit"))
if answer:
    is_("checkpoints", [(os.path.basename(row["path"]), row["held"]) for row in answer["seen"]["saved"]],
        [("best.pt", True), ("new.pt", False)])
    is_("an evaluation was seen", answer["seen"]["evaluation"], True)

answer = run("by_value.py")
if answer:
    is_("by value", [(row["what"], row["line"], row["times"]) for row in answer["value_dependent"]],
        [("nonzero()", 11, 3), ("a mask as index", 12, 3), ("unique()", 13, 3)])

# Values that the host knows, in both modes: the scripts fail where they read another one.
for script, needs in (("known_values.py", ()), ("other_ways.py", ()), ("generates.py", ("transformers",)),
                      ("evaluates.py", ("transformers", "accelerate")), ("schedulers.py", ("diffusers",))):
    answers = [run(script, options=("--gpu", "t4", "--until-exit", "--values", values), needs=needs) for values in ("zeros", "host")]
    if all(answers):
        is_(script, [answer["verdict"] for answer in answers], ["fits", "fits"])
        if script == "other_ways.py":
            notes = [note["text"] for note in answers[0]["notes"] if "workspaces" in note["text"]]
            is_("workspaces", len(notes), 1)

# Small tensors computed on the host: values as a card has them, and no other memory.
answer = run("on_host.py", options=("--gpu", "t4", "--values", "host"))
if answer:
    is_("on the host", [(row["what"], row["line"]) for row in answer["value_dependent"]],
        [("item() of an unknown value", 24), ("nonzero() of unknown values", 25)])
    is_("on the host: lines", sorted({os.path.basename(place["file"]) for place in answer["places"]}), ["on_host.py"])
for script, arguments in (("train.py", ("32",)), ("gan.py", ()), ("blocks.py", ())):
    is_("%s on the host" % script, *(steps(run(script, *arguments, options=("--gpu", "t4", "--values", values)))
                                     for values in ("host", "zeros")))

# What a card counts: the decoder's own position_ids are no packed sequences.
answer = run("whisper.py", options=("--gpu", "t4", "--values", "host"), needs=("transformers",))
if answer:
    whole("whisper.py on the host", answer,
          "339346076 342417920 448790528; 396798620 400138752 469762048; 396798620 399135232 469762048")
    is_("whisper.py by value", answer["value_dependent"], [])

answer = run("packed.py", needs=("transformers",))
if answer:
    is_("packed: the host knows position_ids", answer["value_dependent"], [])

# One process that uses two cards: counters of each; places and steps are those of the fuller one.
for arguments in ((), ("parallel",)):
    answer = run("two_cards.py", *arguments, options=("--gpu", "t4", "--gpus", "2", "--one-process"))
    if answer:
        cards = {row["card"]: row["reserved"] for row in answer["ranks"]}
        is_("two cards", (sorted(cards), answer["peak"]["reserved"]), ([0, 1], max(cards.values())))
        whole("two_cards.py", answer, None)
answer = run("two_cards.py", code=1)

# One rank of many, alone. The requested bytes are those that scripts in the same windows were seen to take under the
# lab's library (torch 2.10, 2026-11-21): 12 bytes a parameter are shared by the ranks.
PARAMETERS = 159_925_248
RANKS = (
    ("fsdp2", 2, (), 2665150728),
    ("fsdp2", 8, (), 1945487112),
    ("fsdp2", 64, (), 1735585224),
    ("zero2", 8, ("deepspeed",), 2020534740),
    ("zero3", 8, ("deepspeed",), 2428177370),
)
for kind, gpus, needs, requested in RANKS:
    answer = run("llama_ranks.py", kind, options=("--gpu", "a100-80gb", "--gpus", str(gpus)), needs=("transformers", *needs))
    if answer and COUNTED:
        is_("%s of %d ranks" % (kind, gpus), answer["steps"][2]["requested"], requested)
        # In fp32 with two states each, all shared; ZeRO computes with a copy in bf16, which ZeRO-3 shares too.
        copy = {"zero2": 2 * PARAMETERS, "zero3": 2 * PARAMETERS // gpus}.get(kind, 0)
        held = answer["ranks"][0]["categories"]
        is_("%s of %d ranks: parameters, states" % (kind, gpus), (held["parameters"], held["optimizer_state"]),
            (4 * PARAMETERS // gpus + copy, 8 * PARAMETERS // gpus))
        is_("%s ranks" % kind, [(rank["rank"], rank["ranks"]) for rank in answer["ranks"]], [(0, gpus)])

# Tensor parallelism of Megatron-core: the groups have their size, and each rank its share of the matrices.
answers = [run("megatron_gpt.py", shared_by, options=("--gpu", "t4", "--gpus", "8", "--rank", rank), needs=("megatron",))
           for shared_by, rank in (("1", "0"), ("4", "0"), ("4", "5"))]
if all(answers):
    whole_model, share, other = (answer["peak"]["requested"] for answer in answers)
    is_("megatron_gpt.py shared by 4", share * 4 < whole_model * 2, True)
    is_("megatron_gpt.py, another rank", other, share)

# The same counters, whether a launcher starts both ranks and one of them runs, or both, or the script is alone.
for kind in ("ddp", "fsdp1", "fsdp2"):
    launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "{gpus}")
    answers = [run("ranks.py", kind, options=("--gpu", "t4", "--gpus", "2", *options), launcher=launch)
               for options, launch in (((), ()), ((), launcher), (("--all-ranks",), launcher))]
    if all(answers):
        is_(kind + " alone and with its launcher", steps(answers[0]), steps(answers[1]))
        # Ranks that run let go of tensors when their watchdog does: blocks lie elsewhere then.
        is_(kind + " alone and with all", answers[0]["peak"]["requested"], answers[2]["peak"]["requested"])
        is_(kind + " with all", [rank["rank"] for rank in answers[2]["ranks"]], [0, 1])

# Whatever starts Python hands the card on; ports of their own, because torchrun's is taken for a while.
STARTED = (
    ("infer.py", ("sh", "-c", '"$0" "$@"', sys.executable), (), ()),
    ("notebook.ipynb", (sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", "--stdout"), (),
     ("nbconvert", "ipykernel")),
    ("ranks.py", (sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "{gpus}",
                  "--main_process_port", "29611"), ("ddp",), ("accelerate",)),
    ("ranks.py", (sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", "{gpus}", "--master_port", "29612"),
     ("ddp",), ("deepspeed",)),
)
for script, launcher, arguments, needs in STARTED:
    gpus = ("--gpus", "2") if arguments else ()
    answer = run(script, *arguments, options=("--gpu", "t4", *gpus), launcher=launcher, needs=needs)
    if answer:
        is_("%s of %s" % (script, launcher[2]), answer["verdict"], "fits")
        is_("%s of %s: rows" % (script, launcher[2]), sum(place["bytes"] for place in answer["places"]), answer["peak"]["requested"])

answer = run("ranks.py", "ddp", options=("--gpu", "t4", "--gpus", "2", "--rank", "1"))
if answer:
    is_("another rank", [(rank["rank"], rank["ranks"]) for rank in answer["ranks"]], [(1, 2)])

# Groups of Gloo beside those of NCCL: each rank alone, and all of them, who really talk to each other.
launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "{gpus}")
alone = 0 if hasattr(torch._C._distributed_c10d, "FakeProcessGroup") else 1  # it is refused before torch 2.3
answers = [run("gloo.py", options=("--gpu", "t4", "--gpus", "4", *options), launcher=launch, code=0 if launch else alone)
           for options, launch in ((("--rank", "0"), ()), (("--rank", "3"), ()), (("--all-ranks",), launcher))]
if all(answers):
    is_("ranks with Gloo", [[rank["rank"] for rank in answer["ranks"]] for answer in answers], [[0], [3], [0, 1, 2, 3]])
    is_("ranks with Gloo, requested", len({answer["peak"]["requested"] for answer in answers}), 1)

print("torch %s: %d wrong" % (torch.__version__, len(wrong)))
sys.exit(bool(wrong))
