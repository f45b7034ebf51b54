"""vramplan run with a real PyTorch: what a script holds and reads is what it would without us, and the answer is of all of it.

Scripts run twice: as they are on the pretend card, and by `vramplan run`. Their own prints of PyTorch's counters are equal.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VRAMPLAN = os.path.abspath(sys.argv[1])
PRETEND = os.path.join(os.path.dirname(VRAMPLAN), "pretend")
T4 = "card Tesla T4; capability 7.5; multiprocessors 40; usable 15640000000; context 350MiB"
wrong = []


def is_(what, got, expected):
    if got != expected:
        wrong.append(what)
        print("FAIL  %s: %s instead of %s" % (what, got, expected))


def counted(text):
    return [line for line in text.splitlines() if line.startswith("COUNTED")]


def run(script, *arguments, options=("--gpu", "t4"), launcher=(), code=0):
    command = [VRAMPLAN, "run", "--format", "json", *options, "--", *(launcher or (sys.executable,)), script, *arguments]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    is_("%s: exit code" % script, done.returncode, code)
    if done.returncode != code:
        print(done.stderr[-3000:])
    print("ran   %s" % " ".join((os.path.basename(script), *arguments)))
    return done, json.loads(done.stdout[done.stdout.index('{\n'):]) if '{\n' in done.stdout else None


def of(name):
    return os.path.join(HERE, "torch", name)


def text(script, **named):
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(script)
    try:
        return run(file.name, **named)
    finally:
        os.unlink(file.name)


def missing(*packages):
    without = [name for name in packages if importlib.util.find_spec(name) is None]
    if without:
        print("skip  no %s" % ", ".join(without))
    return without


def steps(answer):
    return [step["requested"] for step in answer["steps"]]


# Nothing that the script lets go stays, and later optimizers are counted.
for arguments in ((), ("reset",)):
    alone = subprocess.run([sys.executable, of("folds.py"), *arguments], capture_output=True, text=True, env=dict(
        os.environ, VRAMPLAN_PRETEND_GPU=T4,
        LD_PRELOAD="%s/libcuda.so.1:%s/libnvidia-ml.so.1" % (PRETEND, PRETEND)))
    done, answer = run(of("folds.py"), *arguments, options=("--gpu", "t4", "--until-exit"))
    is_("folds.py %s: what it reads" % (arguments,), counted(done.stderr), counted(alone.stdout))
    if not arguments:
        whole = answer
    is_("folds.py: steps", len(answer["steps"]), 6)
    for level in ("requested", "allocated", "reserved"):
        is_("folds.py: the highest %s" % level, answer["peak"][level], max(step[level] for step in answer["steps"]))
    is_("folds.py: rows", sum(place["bytes"] for place in answer["places"]), answer["peak"]["requested"])
    is_("folds.py: faults", [note for note in answer["notes"] if note["code"] == "hook-fault"], [])
is_("folds.py: a script's resets change nothing", steps(answer), steps(whole))

# A history that is switched on before the card is used is the script's own.
done, _ = text("""
import torch
torch.cuda.memory._record_memory_history(max_entries=1000)
kept = torch.empty(100, device="cuda")
print("COUNTED", [entry["action"] for entry in torch.cuda.memory._snapshot()["device_traces"][0]])
""")
is_("an early history", counted(done.stderr), ["COUNTED ['segment_alloc', 'alloc']"])

# Where it died: within a backward, at the line that called it; in an evaluation.
_, answer = run(of("evaluated.py"), "26000", options=("--gpu-memory", "1GiB"), code=3)
oom = answer["oom"]
is_("out of memory", (oom["phase"], oom["step"], oom["place"]["line"]), ("backward", 1, 10))
_, answer = run(of("evaluated.py"), "20000", options=("--gpu-memory", "2GiB", "--until-exit"), code=3)
oom = answer["oom"]
is_("evaluation", (oom["phase"], oom["step"], oom["place"]["line"], oom["with_gradients"]), ("evaluation", 2, 15, True))
is_("evaluation: no_grad", [note["code"] for note in answer["notes"]].count("evaluation-with-gradients"), 1)

if not missing("lightning"):
    _, answer = run(of("lightning_loop.py"), "1")
    phases = {}
    for place in answer["places"]:
        phases[place["phase"]] = phases.get(place["phase"], 0) + place["bytes"]
    is_("Lightning: most is the forward's", max(phases, key=phases.get), "forward")
    is_("Lightning: layers", any(place["module"].startswith("layers.1.") for place in answer["places"]), True)
    for options in (("--gpus", "2", "--one-process"), ("--gpus", "2")):
        _, answer = run(of("lightning_loop.py"), "2", options=("--gpu", "t4", *options))
        is_("Lightning's ranks %s: no warning" % (options,), [note["code"] for note in answer["notes"] if note["severity"] == "warning"], [])
        is_("Lightning's ranks: steps", {rank["steps"] for rank in answer["ranks"]}, {3})

_, answer = run(of("decorated.py"))
is_("decorated.py: modules", sorted({place["module"] for place in answer["places"]} - {""})[0], "0")

# A search for a batch size, which catches that memory ran out: the figures of what then succeeds.
SEARCH = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
def train(batch):
    model(torch.zeros(batch, 1024, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
batch = %d
while True:
    try:
        train(batch)
        break
    except torch.cuda.OutOfMemoryError:
        optimizer.zero_grad()
        torch.cuda.empty_cache()
        batch //= 2
for _ in range(3):
    train(batch)
"""
_, searched = text(SEARCH % (1 << 20))
_, alone = text(SEARCH % (1 << 18))
is_("a search: steps", searched["steps"], alone["steps"])
is_("a search: peak", searched["peak"], alone["peak"])
is_("a search: told", [note["code"] for note in searched["notes"]].count("out-of-memory-caught"), 1)
kinds = {place["kind"] for place in alone["places"]}
is_("kinds", kinds >= {"trained_weights", "optimizer_state", "activations"}, True)

# What cuDNN keeps of a recurrent network in train() is counted; without gradients it is made all the same
# (aten/src/ATen/native/cudnn/RNN.cpp 2.10, _cudnn_rnn: fn_train). An H200 kept 3072256 bytes of this one.
RECURRENT = "import torch\nmodel = torch.nn.LSTM(64, 96).cuda()\nout = model(torch.zeros(200, 8, 64, device='cuda'))[0]\n"
_, evaluated = text(RECURRENT.replace(".cuda()", ".cuda().eval()") + "out.sum()\n")
for code in ("", "with torch.no_grad(): model(torch.zeros(200, 8, 64, device='cuda'))\n"):
    _, answer = text(RECURRENT + code + "out.sum()\n")
    is_("LSTM", answer["peak"]["requested"] - evaluated["peak"]["requested"] >= 3072256, True)

# Several processes.
_, answer = run(of("shared_card.py"), options=("--gpu-memory", "1GiB"), code=3)
is_("two on a card", (answer["verdict"], answer["together"]), ("does-not-fit", {"processes": 2, "held": 600 << 20}))
_, answer = run(of("shared_card.py"), options=("--gpu", "t4"))
is_("two on a larger card", answer["verdict"], "fits")
launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "{gpus}")
_, answer = run(of("meeting.py"), options=("--gpu", "t4", "--gpus", "2", "--all-ranks"), launcher=launcher)
is_("ranks that meet", [rank["steps"] for rank in answer["ranks"]], [3, 3])

# What ranks make of a value that this one knows: the others have the same.
_, answer = text("""
import torch, torch.distributed as distributed
distributed.init_process_group("nccl")
count = torch.tensor([5.0, 2.0], device="cuda")
largest, every = count.clone(), torch.zeros(4, device="cuda")
distributed.all_reduce(count)
distributed.all_reduce(largest, distributed.ReduceOp.MAX)
distributed.all_gather_into_tensor(every, largest)
assert (count.tolist(), largest.tolist(), every.tolist()) == ([10, 4], [5, 2], [5, 2, 5, 2])
loss = torch.randn(8, device="cuda").sum()
distributed.all_reduce(loss)
assert torch.isfinite(loss)
distributed.destroy_process_group()
""", options=("--gpu", "t4", "--gpus", "2"))
is_("collectives", answer["value_dependent"], [])

# How scripts choose cards, take memory, and end.
TRAIN = """
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    model(torch.zeros(8, 64, device="cuda")).sum().backward()
    optimizer.step()
"""
for number, cards in (("2", 1), ("0,1", 2)):
    for before, after in (("import os\n", "import torch\n"), ("import os, torch\n", "")):
        code = before + "os.environ['CUDA_VISIBLE_DEVICES'] = %r\n" % number + after
        _, answer = text(code + "assert torch.cuda.device_count() == %d, torch.cuda.device_count()\n" % cards + TRAIN)
        is_("CUDA_VISIBLE_DEVICES=%s" % number, len(answer["steps"]), 2)
_, answer = text("import os, torch\n" + TRAIN + "os._exit(0)\n")
is_("os._exit", (len(answer["steps"]), answer["ended_by"]), (2, "exit"))
done, _ = text("import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'backend:cudaMallocAsync'\nimport torch\n" + TRAIN, code=1)
is_("cudaMallocAsync", "takes memory by cudaMallocAsync" in done.stderr, True)
done, _ = text("import os\nos.environ['PYTORCH_NO_CUDA_MEMORY_CACHING'] = '1'\nimport torch\n" + TRAIN, code=1)
is_("without a cache", "takes memory by PYTORCH_NO_CUDA_MEMORY_CACHING" in done.stderr, True)
_, answer = text("import torch\ntorch.cuda.set_per_process_memory_fraction(0.01)\nx = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\n", code=3)
is_("the script's own limit", [note["code"] for note in answer["notes"] if note["severity"] == "warning"], ["own-limit"])

# Which steps of optimizers end a step of the training, as pretend/hook/steps.py draws them; and how many were made before each.
spec = importlib.util.spec_from_file_location("steps", os.path.join(HERE, "../../pretend/hook/steps.py"))
steps_of = importlib.util.module_from_spec(spec)
spec.loader.exec_module(steps_of)
for taken, began, expected in (
        ("DGDGDG", {}, "DG DG DG"), ("AAABB", {}, "A A A B B"), ("AAAB", {"B": 3}, "A A A B"), ("AAAB", {}, "A A AB"),
        ("DDDGDDDGD", {}, "D D DG D D DG D"), ("GDDDGDDD", {}, "GDDD GDDD"), ("AABBCC", {"B": 2, "C": 4}, "A A B B C C"),
        ("ABABCDCD", {"C": 4, "D": 4}, "AB AB CD CD"), ("CATCACAT", {}, "CAT CA CAT"), ("DGDGDGGGG", {}, "DG DG D G G G G"), ("", {}, "")):
    names = sorted(set(taken))
    ends = steps_of.ends_of([names.index(who) for who in taken], [began.get(name, 0) for name in names])
    is_("steps of %s" % taken, "".join(who + " " * end for who, end in zip(taken, ends)).strip(), expected)

# An optimizer that is given one part of the parameters after another, as DeepSpeed's stage 3 does, makes one step of them all.
_, parts = text("""
import torch
nets = [torch.nn.Linear(64, 64).cuda() for part in range(3)]
optimizer = torch.optim.SGD(nets[0].parameters(), 0.1)
for step in range(4):
    sum(net(torch.randn(8, 64, device="cuda")).sum() for net in nets).backward()
    for net in nets:
        optimizer.param_groups[0]["params"] = list(net.parameters())
        optimizer.step()
""")
is_("a step in parts", len(parts["steps"]), 3)

# The critic steps three times before the generator does, and both are seen; an inference has no steps.
_, answer = text("""
import torch
critic, generator = (torch.nn.Linear(size, size).cuda() for size in (64, 1024))
optimizers = [torch.optim.SGD(each.parameters(), 0.1) for each in (critic, generator)]
for step in range(40):
    for net, optimizer in [(critic, optimizers[0])] * 5 + [(generator, optimizers[1])]:
        net(torch.randn(8, net.in_features, device="cuda")).sum().backward()
        optimizer.step()
""")
is_("a generator that steps late", (len(answer["steps"]), answer["peak"]["step"]), (10, 10))
for after, phase in (("", "forward"), (".sum().backward()", "backward")):
    _, answer = text("import torch\nnet = torch.nn.Linear(64, 4096).cuda()\nfor i in range(3):\n"
                     "    net(torch.randn(512, 64, device='cuda'))%s\n" % after)
    is_("without an optimizer", (answer["peak"]["step"], answer["peak"]["phase"]), (0, phase))

# A stage that did not come is said: its optimizer waits.
_, answer = text("""
import torch
body, head = torch.nn.Linear(64, 64).cuda(), torch.nn.Linear(64, 8).cuda()
first = torch.optim.SGD(head.parameters(), 0.1)
second = torch.optim.SGD(body.parameters(), 0.1)
for optimizer, steps in ((first, 100), (second, 100)):
    for step in range(steps):
        head(body(torch.zeros(8, 64, device="cuda"))).sum().backward()
        optimizer.step()
""")
is_("an optimizer that waits", [row["line"] for row in answer["seen"]["waiting"]], [5])

# What is printed decides nothing; a number in the place of a tensor; a deviation that nobody knows.
for values in ("zeros", "host"):
    _, answer = text("""
import torch
x = torch.randn(8, 64, device="cuda", requires_grad=True)
print(x, repr(x), f"{x.sum():.3f}", x[0, :3], x > 0)
y = torch.ones(4, device="cuda")
assert (2 ** y).tolist() == [2, 2, 2, 2] and (5 % y).tolist() == [0, 0, 0, 0] and torch.isin(1, y).item()
assert torch.normal(x.detach(), x.detach().exp()).shape == (8, 64)
""", options=("--gpu", "t4", "--values", values))
    is_("printed with --values %s" % values, answer["value_dependent"], [])

# Files that were there stay, however they are written over, and are read back as written; new ones that hold values are named.
_, answer = text("""
import io, os, pathlib, pickle, numpy, torch
for name in ("a.npy", "b.pt", "c.ckpt", "d.pkl", "last.pt"):
    pathlib.Path(name).write_text("trained on a card")
weight = torch.nn.Linear(8, 8).cuda().weight
numpy.save("a.npy", weight.detach().cpu().numpy())
assert numpy.load("a.npy").shape == (8, 8)
torch.save(weight, "whole.pt")
os.replace("whole.pt", "b.pt")
assert torch.load("b.pt", weights_only=False).shape == (8, 8)
buffer = io.BytesIO()
torch.save(weight, buffer)
for name in ("c.ckpt", "new.ckpt"):
    with open(name, "wb") as file:
        file.write(buffer.getvalue())
pathlib.Path("d.pkl").write_bytes(pickle.dumps({"lr": 0.1}))
os.replace("last.pt", "b.pt")
pathlib.Path("notes.txt").write_text("3 steps")
for name in ("a.npy", "b.pt", "c.ckpt", "d.pkl", "last.pt"):
    assert pathlib.Path(name).read_text() == "trained on a card", name
""", options=("--gpu", "t4", "--until-exit"))
is_("files", sorted((os.path.basename(row["path"]), row["held"]) for row in answer["seen"]["saved"] if row["path"]),
    [("a.npy", True), ("b.pt", True), ("c.ckpt", True), ("d.pkl", True), ("new.ckpt", False)])

# What was there before the run stays, however it is removed; and the script goes on as if it were gone.
REMOVES = """
import os, pathlib, shutil, sys, torch
from os import remove
from shutil import rmtree
os.chdir(sys.argv[1])
weight = torch.nn.Linear(8, 8).cuda().weight
def save(folder):
    os.makedirs(folder)
    torch.save(weight, folder + "/model.pt")
for step in (3, 4):  # a run that went on keeps the last two
    save("step-%d" % step)
    rmtree("step-%d" % (step - 2))
save("step-1")
remove("epoch=1.ckpt")
pathlib.Path("epoch=2.ckpt").unlink()
os.remove("last.ckpt"), os.symlink("epoch=2.ckpt", "last.ckpt")
shutil.move("best.pt", "best-old.pt")
torch.save(weight, "best.pt")
os.rename("step-4", "step-5")
rmtree("step-3")
"""
with tempfile.TemporaryDirectory() as folder:
    old = ["step-1/model.pt", "step-2/model.pt", "epoch=1.ckpt", "epoch=2.ckpt", "best.pt"]
    for name in old:
        os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(folder, name), "w") as file:
            file.write("trained on a card")
    os.symlink("epoch=1.ckpt", os.path.join(folder, "last.ckpt"))
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(REMOVES)
        file.flush()
        _, answer = run(file.name, folder, options=("--gpu", "t4", "--until-exit"))
    for name in old + ["best-old.pt"]:
        with open(os.path.join(folder, name)) as file:
            is_(name, file.read(1 << 16), "trained on a card")
    is_("left", sorted(os.listdir(folder)),
        ["best-old.pt", "best.pt", "epoch=1.ckpt", "epoch=2.ckpt", "last.ckpt", "step-1", "step-2", "step-5"])
    is_("a link", os.readlink(os.path.join(folder, "last.ckpt")), "epoch=1.ckpt")
    is_("what stays", sorted(os.path.relpath(row["path"], os.path.realpath(folder)) for row in answer["seen"]["stays"]),
        sorted(old + ["last.ckpt"]))

print("%d wrong" % len(wrong))
sys.exit(bool(wrong))
