"""How scripts end under `vramplan run`: each bad end has its one line, and leaves no process and no file behind."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

VRAMPLAN = os.path.abspath(sys.argv[1])
TRAIN = """import os, sys, time, torch
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    BODY
    model(torch.zeros(8, 64, device="cuda")).sum().backward()
    optimizer.step()
"""
wrong = []


def is_(what, got, expected):
    if got != expected:
        wrong.append(what)
        print("FAIL  %s:\n      %r\n      instead of\n      %r" % (what, got, expected))


def left(folder):
    """Processes that have this folder in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                if os.fsencode(folder) in file.read() and int(pid) != os.getpid():
                    found.append(pid)
        except OSError:
            pass
    return found


def ends(what, text, code, says, before="", options=("--gpu", "t4"), command=(sys.executable, "train.py"), interrupt=False):
    """`says`: the line on stderr, ... in it is anything; or what holds of the answer."""
    with tempfile.TemporaryDirectory() as folder:
        work, scratch = os.path.join(folder, "work"), os.path.join(folder, "tmp")
        os.mkdir(work), os.mkdir(scratch)
        with open(os.path.join(work, "train.py"), "w") as file:
            file.write(before + TRAIN.replace("BODY", text) if not text.startswith("#!") else text[2:])
        environment = dict(os.environ, TMPDIR=scratch, TORCHINDUCTOR_CACHE_DIR=scratch)
        process = subprocess.Popen([VRAMPLAN, "run", "--format", "json", *options, "--", *command], cwd=work, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   # A shell's background job would ignore it, and so would its children.
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        if interrupt:
            for _ in range(1200):
                if os.path.exists(os.path.join(work, "ready")):
                    break
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        lines = [line for line in err.splitlines() if line.startswith("vramplan: ")]
        is_(what + ": exit code", process.returncode, code)
        if callable(says):
            is_(what, out != "" and says(json.loads(out)), True)
            is_(what + ": lines", lines, [])
        else:
            pattern = ".*".join(map(re.escape, ("vramplan: " + says).split("...")))
            if len(lines) != 1 or not re.fullmatch(pattern, lines[0]):
                is_(what, lines, ["vramplan: " + says])
        is_(what + ": leaves files", os.listdir(scratch), [])
        is_(what + ": leaves processes", left(folder), [])
        print("ended %s" % what)
        if wrong and wrong[-1].startswith(what):
            print(err[-2000:])


def fits(answer):
    return answer["verdict"] == "fits" and len(answer["steps"]) == 3


ends("no python", "pass", 1, "nopython: the command was not found (hint: type the command after --, as you would without vramplan)",
     command=("nopython", "train.py"))
ends("no torch", "#!raise SystemExit(4)", 1,
     "train.py: ended with exit code 4 and imported no torch (hint: see its output above; is it the right python?)")
ends("fails at once", "pass", 1, "train.py: failed before it used the card: builtins.ZeroDivisionError: division by zero", "import torch\n1 / 0\n")
ends("fails in its second step", "1 / (1 - step)", 1,
     "train.py: ended with exit code 1 after 1 step: builtins.ZeroDivisionError: division by zero (hint: see its output above)")
ends("never steps", "#!import torch\nwith torch.no_grad():\n    torch.nn.Linear(64, 64).cuda()(torch.zeros(8, 64, device='cuda'))\n", 0,
     lambda answer: (answer["steps"], answer["ended_by"], answer["verdict"]) == ([], "exit", "fits") and answer["peak"]["requested"] > 20000)
ends("needs a network", "import urllib.request; urllib.request.urlopen('http://host.invalid/weights')", 1,
     "train.py: ended with exit code 1 after 0 steps: urllib.error.URLError: <urlopen error ...> "
     "(hint: see its output above)")
ends("forks", "assert step or os.fork() or os._exit(0) is None", 0, fits)
ends("leaves a child", "step or __import__('subprocess').Popen(['sleep', '600'])", 0, fits)
ends("loads with workers", "next(iter(torch.utils.data.DataLoader(torch.zeros(8, 64), num_workers=2)))", 0, fits)
ends("sets LD_PRELOAD", "pass", 1,
     "train.py: ran without the pretend card: something in the command takes LD_PRELOAD away (hint: keep LD_PRELOAD, as sudo, env -i and some "
     "shells' profiles do not)", command=("env", "LD_PRELOAD=", sys.executable, "train.py"))
ends("hides the card", "pass", 1,
     "train.py: failed before it used the card: it hides the card from itself (hint: does it set CUDA_VISIBLE_DEVICES? the pretend card is "
     "number 0)", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n")
ends("asks for its card's name", "assert torch.cuda.get_device_name() == 'Tesla T4'", 0, fits)
ends("asserts another name", "assert torch.cuda.get_device_name() == 'H100', torch.cuda.get_device_name()", 1,
     "train.py: ended with exit code 1 after 0 steps: builtins.AssertionError: Tesla T4 (hint: see its output above)")
ends("a card too small", "pass", 1,
     "a card of 100.00 MiB: its context alone takes 350.00 MiB of 100.00 MiB: nothing is left (hint: name a larger card, or --context SIZE)",
     options=("--gpu-memory", "100MiB"))
ends("Ctrl-C", "open('ready', 'w').close(); time.sleep(600)", 1, "train.py: was interrupted", interrupt=True)
ends("is killed", "os.kill(os.getpid(), 9) if step == 2 else None", 1,
     "train.py: was ended by signal 9 before it could say what it took (hint: was the host's memory full? --steps 1 ends it earlier)")
ends("never ends", "while step == 1: time.sleep(0.1)", 0, lambda answer: answer["ended_by"] == "seconds" and len(answer["steps"]) == 1,
     options=("--gpu", "t4", "--seconds", "30"))
ends("its time is over before it uses the card", "#!import torch, time\ntime.sleep(600)\n", 1,
     "train.py: had not used the card when its time was up (hint: give it more time with --seconds)", options=("--gpu", "t4", "--seconds", "2"))
ends("is started by a program with torch, whose time is over first", "while step == 1: time.sleep(0.1)", 0,
     lambda answer: answer["ended_by"] == "seconds" and len(answer["steps"]) == 1, options=("--gpu", "t4", "--seconds", "12"),
     command=(sys.executable, "-c", "import torch, subprocess, sys; subprocess.run([sys.executable, 'train.py'])"))
ends("waits for a value", "while step == 1 and not (torch.randn(2, device='cuda') > 0).all(): pass", 0,
     lambda answer: answer["ended_by"] == "loop" and len(answer["steps"]) == 1 and
     [row["line"] for row in answer["value_dependent"]] == [5] and answer["value_dependent"][0]["times"] >= 100000)
ends("waits for a value at its leisure", "while step == 1 and not torch.randn(2, device='cuda').sum() > 0: time.sleep(0.05)", 0,
     lambda answer: answer["ended_by"] == "loop" and len(answer["steps"]) == 1)
ends("ends by what it reads", "if x.sum().item() == 0: sys.exit('converged')", 1,
     "train.py: ended with exit code 1 after 0 steps (hint: see its output above; the last value that was read from the card before it "
     "ended, at ...train.py:..., is zero here and another number on a card)", before="import sys, torch\nx = torch.randn(4, device='cuda')\n")
ends("asks nvidia-smi", "assert __import__('subprocess').check_output(['nvidia-smi', '--query-gpu=name,memory.total', "
     "'--format=csv,noheader,nounits'], text=True).startswith('Tesla T4, 1'); __import__('subprocess').check_call(['nvidia-smi'])", 0, fits)
ends("is one for JAX", "#!import sys; sys.path.insert(0, '.')\nopen('jax.py', 'w').close()\nimport jax, os\nos.remove('jax.py')\nsys.exit(3)\n", 1,
     "train.py: imports JAX and no torch: run is for PyTorch (hint: vramplan explain reads the messages of JAX when memory ran out)")
# What is written then may change while it is written.
ends("reads values from many lines when its time is over", "while step == 1: exec(compile('x.nonzero()', "
     "'part%d.py' % (time.time_ns() // 1000000), 'exec'), {'x': x})", 0, lambda answer: answer["ended_by"] == "seconds" and len(answer["value_dependent"]) > 1000,
     before="import torch\nx = torch.randn(4, device='cuda')\n", options=("--gpu", "t4", "--seconds", "20"))

FULL = "x = torch.empty(1 << 40, dtype=torch.uint8, device='cuda')"
ends("catches that memory ran out, and gives up", "if step == 1:\n        try: %s\n        except torch.OutOfMemoryError: break" % FULL, 3,
     lambda answer: (answer["verdict"], len(answer["steps"])) == ("does-not-fit", 1))
ends("catches that memory ran out, and goes on", "try: %s\n    except torch.OutOfMemoryError: pass" % FULL, 0, fits)
ends("raises another error for it", "try: %s\n    except torch.OutOfMemoryError as e: raise RuntimeError('too large') from e" % FULL, 3,
     lambda answer: answer["verdict"] == "does-not-fit")
ends("compiles", "if step == 0: model = torch.compile(model)", 0,
     lambda answer: fits(answer) and not [note for note in answer["notes"] if "holds zeros" in note["text"]],
     "import os; os.environ['TORCHINDUCTOR_CACHE_DIR'] = os.path.abspath('cache')\n")

# A sitecustomize of the user's runs all the same.
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
        file.write("import os\nos.environ['OF_THE_USER'] = 'ran'\n")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    ends("has a sitecustomize of its user's", "assert os.environ['OF_THE_USER'] == 'ran'", 0, fits)

print("%d wrong" % len(wrong))
sys.exit(bool(wrong))
