"""A rank that runs alone and asks for a group of Gloo, with PyTorch's three ways to have a group that tells nobody: none
(torch before 2.3), one that is called, and one that is made (2.9 and later). The torch is made up: none is needed."""

import os
import subprocess
import sys
import tempfile

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pretend", "hook")
TORCH = {
    "torch/__init__.py": "from . import distributed\n__version__ = %(version)r\n",
    "torch/distributed/__init__.py": """
class Store:
    pass
def is_available():
    return True
def is_gloo_available():
    return True
def monitored_barrier(*_):
    raise RuntimeError("the barrier of Gloo")
from . import distributed_c10d, rendezvous
""",
    "torch/distributed/rendezvous.py": "",
    "torch/distributed/distributed_c10d.py": """
class ProcessGroupGloo:
    def __init__(self, store, rank, size, timeout=None):
        raise RuntimeError("Gloo connects")
    @staticmethod
    def create_default_device():
        return "a device"
def _process_group_name(ranks):
    return "0"
%(imported)s
""",
    "torch/_C/__init__.py": "",
    "torch/_C/_distributed_c10d.py": "%(fake)s",
}
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import alone, torch
alone.install(torch)
gloo = torch.distributed.distributed_c10d.ProcessGroupGloo
print(gloo.create_default_device())
group = gloo(None, 1, 4, timeout=5)
print(type(group).__name__, group.rank, group.size, isinstance(group, gloo), isinstance(group, torch.distributed.Store))
group._set_sequence_number_for_group()
torch.distributed.monitored_barrier(group)
"""
CALLED = "class FakeProcessGroup:\n    def __init__(self, rank, size):\n        self.rank, self.size = rank, size\n"
MADE = ("class FakeProcessGroup:\n    @classmethod\n    def _create_internal(cls, rank, size):\n        group = cls()\n"
        "        group.rank, group.size = rank, size\n        return group\n")
GROUP = "a device\nFakeProcessGroup 1 4 True False\n"
ROWS = (
    ("2.2.2", "", "", 1, "a device\n"),
    ("2.3.0", CALLED, "", 0, GROUP),
    ("2.9.0", MADE, "from torch._C._distributed_c10d import FakeProcessGroup", 0, GROUP),
)
REFUSED = ("NotImplementedError: torch 2.2.2 has no FakeProcessGroup (2.3 and later have), so a rank that runs alone has no "
           "groups of Gloo: vramplan run --all-ranks runs all of them")

wrong = 0
for version, fake, imported, code, said in ROWS:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in TORCH.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w") as file:
                file.write(text % dict(version=version, fake=fake, imported=imported) if "%(" in text else text)
        done = subprocess.run([sys.executable, "-B", "-c", SCRIPT, HOOK], env=dict(os.environ, PYTHONPATH=folder),
                              capture_output=True, text=True)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if (done.returncode, done.stdout, last) != (code, said, REFUSED if code else ""):
        wrong += 1
        print("FAIL  torch %s: exit code %d\n%s%s" % (version, done.returncode, done.stdout, done.stderr))
print("groups of Gloo: %d ways, %d wrong" % (len(ROWS), wrong))
sys.exit(bool(wrong))
