"""The other processes of the command: what they have written so far."""

import os
import time


def _names(folder):
    """What outlives the command finds no folder, and waits for nobody."""
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return None


def wait_for_ranks(folder, world):
    """A rank that is gone early is a failure to those that still want it: until all have written, but not long. Those here
    are as many as the launcher says, and where it does not, all of the `world`."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE") or world)
    for _ in range(200):
        names = _names(folder)
        if names is None or sum(name.endswith(".recording") for name in names) >= ranks:
            return
        time.sleep(0.1)


def wait_for_those_begun(folder, seconds, used):
    """A launcher began before what it starts, whose time is counted from its own beginning. Who used the card is none."""
    late = time.monotonic() + seconds
    while not used() and time.monotonic() < late:
        names = _names(folder) or set()
        begun = {name[:-len(".began")] for name in names if name.endswith(".began")} - {str(os.getpid())}
        if all(name + ".recording" in names for name in begun):
            return
        time.sleep(0.1)
