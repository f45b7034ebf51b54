"""Several ranks that really run. NCCL does nothing on a pretend card, so that its barrier would let everybody pass: here
ranks meet in the store through which they found each other."""

import os
import time


def install(torch, folder, guarded):
    distributed = torch.distributed
    if not distributed.is_available():
        return
    told = {}  # group: how often it has met
    whole = distributed.barrier

    def barrier(group=None, *arguments, **named):
        work = whole(group, *arguments, **named)
        guarded(meet)(distributed, group, told, folder)
        return work
    barrier.__doc__, barrier.__wrapped__ = whole.__doc__, whole
    distributed.barrier = distributed.distributed_c10d.barrier = barrier


def meet(distributed, group, told, folder):
    """Returns when all ranks of the group are here, or when one of them has ended: it comes no more."""
    group = group or distributed.group.WORLD
    size = distributed.get_world_size(group)
    if size < 2 or distributed.get_backend(group) == "gloo":
        return
    name = getattr(group, "group_name", "")
    told[name] = times = told.get(name, 0) + 1
    store, key = distributed.distributed_c10d._get_default_store(), "vramplan/%s/%d" % (name, times)
    store.add(key, 1)
    while store.add(key, 0) < size and not any(each.endswith(".recording") for each in _names(folder)):
        time.sleep(0.01)


def _names(folder):
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return ("gone.recording",)
