"""One rank of many, alone: the other ranks are taken to do what this one does.

`vramplan run --gpus 8` sets RANK, WORLD_SIZE and their like as torchrun would, and this module answers in the place of
the store through which ranks meet: whatever this rank waits for is there, what it adds to a counter every rank adds,
and what another rank would have written under its number is what this one wrote under its own. NCCL's collectives do
nothing on a pretend card (pretend/library/nccl.cc); small messages come back as every rank's own.

With a launcher in the command (torchrun, accelerate launch, deepspeed) it is the launcher that starts the ranks: all
but the one that is wanted end as soon as Python begins.
"""

import ctypes
import datetime
import importlib
import os
import pickle
import re
import time


def is_another_rank(wanted):
    """Whether a launcher started this process as a rank that nobody wants to see."""
    return os.environ.get("RANK", wanted) != wanted


def store_class(distributed):
    class Alone(distributed.Store):
        def __init__(self, ranks):
            super().__init__()
            self.ranks = ranks
            self.values, self.counts = {}, {}

        def set(self, key, value):
            self.values[key] = value if isinstance(value, bytes) else str(value).encode()

        def get(self, key):
            if key in self.counts:
                return str(self.counts[key]).encode()
            # "0/rank_3" of another rank: as "0/rank_0" of this one. Its number is the last in the key, or the whole end.
            for known in (key, re.sub(r"\d+$", "0", key), re.sub(r"\d+(?=\D*$)", "0", key)):
                if known in self.values:
                    return self.values[known]
            # What the first rank of a group tells the others: NCCL's id, under the number of the communicator or its
            # two ranks (ProcessGroupNCCL::broadcastUniqueNCCLID; torch 2.15: nccl_storekey_0); it has 128 bytes.
            return bytes(128) if re.search(r"(^|/|nccl_storekey_)\d+(:\d+)?$", key) else b"0"

        def add(self, key, count):
            self.counts[key] = self.counts.get(key, 0) + count * (self.ranks if count > 0 else 1)
            return self.counts[key]

        # The truth: NCCL's monitor takes a key that is there for the word that another rank has failed.
        def check(self, keys):
            return all(key in self.values or key in self.counts for key in keys)

        def wait(self, keys, timeout=None):
            return None

        def compare_set(self, key, expected, desired):
            return self.values.setdefault(key, desired if isinstance(desired, bytes) else str(desired).encode())

        def delete_key(self, key):
            return self.values.pop(key, None) is not None

        def num_keys(self):
            return len(self.values)

        def set_timeout(self, timeout):
            pass

        @property
        def timeout(self):
            return datetime.timedelta(seconds=300)

        def clone(self):
            return self

        def has_extended_api(self):
            return False

    return Alone


def install(torch):
    """Every store that is made from the environment or an address is one of these, and the same one."""
    if not torch.distributed.is_available():
        return
    # torch.distributed.rendezvous is a function of that module.
    rendezvous = importlib.import_module("torch.distributed.rendezvous")
    distributed_c10d = importlib.import_module("torch.distributed.distributed_c10d")
    kind, stores = store_class(torch.distributed), {}

    def create(hostname, port, rank, world_size, *arguments, **named):
        return stores.setdefault((hostname, port), kind(world_size))
    rendezvous._create_c10d_store = create
    # A part of a communicator (ncclCommSplit) is made right after its name: its size goes to the library.
    library = ctypes.CDLL(None)
    name_of = distributed_c10d._process_group_name

    def named_group(ranks, *arguments, **named):
        library.vramplan_pretend_split(len(ranks))
        return name_of(ranks, *arguments, **named)
    distributed_c10d._process_group_name = named_group
    replace_gloo(torch.distributed, distributed_c10d, torch.__version__)

    # An object of each rank. PyTorch 2.15 looks for the longest of them by a kernel, which computes nothing here.
    def all_gather_object(object_list, obj, *_, **__):
        told = pickle.dumps(obj)
        object_list[:] = [pickle.loads(told) for _ in object_list]

    # What the first rank tells the others; another rank that runs alone cannot know it, and keeps what it has.
    def broadcast_object_list(*_, **__):
        pass
    for module in (torch.distributed, distributed_c10d):
        module.all_gather_object = all_gather_object
        module.broadcast_object_list = broadcast_object_list


def replace_gloo(distributed, distributed_c10d, version):
    """Gloo's groups connect processes, of which there is one. Here they are PyTorch's own group that tells nobody."""
    # In C++, with a name that can be imported, since torch 2.3 (pytorch/pytorch#118426).
    fake = getattr(distributed_c10d, "FakeProcessGroup", None)
    if fake is None:
        try:
            from torch._C._distributed_c10d import FakeProcessGroup as fake
        except ImportError:
            pass
    if not distributed.is_gloo_available():
        return
    real = distributed_c10d.ProcessGroupGloo

    # PyTorch asks whether a group is one of Gloo.
    class OfGloo(type):
        def __instancecheck__(cls, group):
            return isinstance(group, (real, fake) if fake else real)

    class ProcessGroupGloo(metaclass=OfGloo):
        def __new__(cls, store, rank, size, *_, **__):
            if fake is None:
                raise NotImplementedError("torch %s has no FakeProcessGroup (2.3 and later have), so a rank that runs "
                                          "alone has no groups of Gloo: vramplan run --all-ranks runs all of them"
                                          % version)
            make = getattr(fake, "_create_internal", fake)  # torch 2.9 and later
            return make(rank, size)
    for name in ("_Options", "create_device", "create_default_device"):
        if hasattr(real, name):
            setattr(ProcessGroupGloo, name, getattr(real, name))
    distributed_c10d.ProcessGroupGloo = ProcessGroupGloo

    if fake is None:
        return

    # What Gloo has and the other group has not.
    def nothing(*_, **__):
        pass
    fake._set_sequence_number_for_group = nothing
    for module in (distributed, distributed_c10d):
        module.monitored_barrier = nothing


def forget():
    """What the ranks told each other is old when a step is over."""
    ctypes.CDLL(None).vramplan_pretend_forget()


def settle(torch):
    """Waits for the thread that lets tensors go when their collective is over: a card takes longer for a step than it."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return
    for group in list(torch.distributed.distributed_c10d._world.pg_map):
        try:
            group._wait_for_pending_works()
        except (AttributeError, RuntimeError):  # an older torch, or a group without NCCL
            time.sleep(0.4)
