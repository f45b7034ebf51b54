"""PyTorch's counters and history of the whole run, whatever the script does to them; and what the script reads of them,
which is what it would read if nobody had looked.

Peaks are reset by us at each step, and by a script that measures a part of itself (reset_peak_memory_stats). Both kinds of
peaks are kept apart: `highest` and `in_step` are ours, `kept` is what the script would still read. A script that switches
the memory history on or off gets a snapshot of the time between, and ours goes on.
"""

import os
import time

LEVELS = ("requested_bytes", "allocated_bytes", "reserved_bytes")
# Entries of the history that are kept: about 1 KiB of host memory each. The oldest are lost first.
_MOST_ENTRIES = 2_000_000
_RECORDERS = ("_cuda_record_memory_history", "_cuda_record_memory_history_legacy")


def peaks(stats):
    return [stats[level]["all"]["peak"] for level in LEVELS]


def _higher(kept, key, values):
    kept[key] = [max(pair) for pair in zip(kept.get(key, values), values)]


class Counters:
    levels = LEVELS

    def __init__(self, torch):
        self.torch = torch
        self.stats = getattr(torch._C, "_cuda_memoryStats", None)  # a wheel without CUDA has none
        self.kept = {}  # card: {kind: {pool: peak}}, what the script would read if we had not reset the peaks
        self.highest = {}  # card: peaks of the run, before they were reset
        self.in_step = {}  # card: peaks since the last step, before they were reset
        self.before = {}  # card: (allocations, frees, retries) before the script reset these
        self.history = False
        self.limits = {}  # card: the share of it that the script allows itself
        self.script_history = None  # (since, until, entries, whether it wants a trace): in microseconds

    @staticmethod
    def out_of_memory_behind(error):
        """The error of a full card that this one was raised for, or while it was handled; else this one."""
        seen, each = set(), error
        while each is not None and id(each) not in seen:
            if any(kind.__name__ == "OutOfMemoryError" for kind in type(each).__mro__):
                return each
            seen.add(id(each))
            each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
        return error

    def install(self):
        self.reset = self.torch._C._cuda_resetPeakMemoryStats
        self.replace("_cuda_memoryStats", lambda whole: self.told)
        self.replace("_cuda_resetPeakMemoryStats", lambda whole: self.reset_by_script)
        self.replace("_cuda_resetAccumulatedMemoryStats", self.counting_on)
        self.replace("_cuda_setMemoryFraction", self.limited)
        # torch.accelerator, since 2.9.
        self.replace("_accelerator_getDeviceStats", lambda whole: self.told)
        self.replace("_accelerator_resetPeakStats", lambda whole: self.reset_by_script)
        self.replace("_accelerator_resetAccumulatedStats", self.counting_on)
        # A script may switch its history on before it uses the card, which is when ours begins.
        self.recorders = {name: getattr(self.torch._C, name, None) for name in _RECORDERS}
        self.take_wishes()

    def take_wishes(self):
        self.replace("_cuda_record_memory_history", lambda whole: self.wish)
        self.replace("_cuda_record_memory_history_legacy", lambda whole: self.wish_of_old)

    def replace(self, name, by):
        whole = getattr(self.torch._C, name, None)
        if whole is not None:
            setattr(self.torch._C, name, by(whole))

    # -- the counters

    def cards(self):
        return range(self.torch.cuda.device_count())

    def told(self, card):
        """As the script would read them without us."""
        stats = self.stats(card)
        for kind, pools in self.kept.get(card, {}).items():
            for pool, peak in pools.items():
                if stats[kind][pool]["peak"] < peak:
                    stats[kind][pool]["peak"] = peak
        return stats

    def peaks_of_run(self, card):
        return [max(pair) for pair in zip(self.highest.get(card, (0, 0, 0)), peaks(self.stats(card)))]

    def peaks_of_step(self, card, stats):
        return [max(pair) for pair in zip(self.in_step.get(card, (0, 0, 0)), peaks(stats))]

    def allocations(self, card, stats):
        """How many there were so far: where in the history we are."""
        return stats["allocation"]["all"]["allocated"] + self.before.get(card, (0, 0, 0))[0]

    def events(self, card):
        blocks = self.stats(card)["allocation"]["all"]
        return blocks["allocated"] + blocks["freed"] + sum(self.before.get(card, (0, 0, 0))[:2])

    def retries(self, card, stats):
        return stats["num_alloc_retries"] + self.before.get(card, (0, 0, 0))[2]

    def step_over(self, card, stats):
        """A step's peaks end here; the script may still ask for those of the run."""
        kept = self.kept.setdefault(card, {})
        for kind, pools in stats.items():
            if not isinstance(pools, dict):
                continue
            for pool, values in pools.items():
                if isinstance(values, dict) and "peak" in values:
                    most = kept.setdefault(kind, {})
                    most[pool] = max(most.get(pool, 0), values["peak"])
        _higher(self.highest, card, self.peaks_of_step(card, stats))
        self.in_step.pop(card, None)
        self.reset(card)

    def reset_by_script(self, card):
        seen = peaks(self.stats(card))
        _higher(self.highest, card, seen)
        _higher(self.in_step, card, seen)
        self.kept.pop(card, None)
        self.reset(card)

    def counting_on(self, reset):
        def counted(card):
            stats = self.stats(card)
            blocks = stats["allocation"]["all"]
            seen = (blocks["allocated"], blocks["freed"], stats["num_alloc_retries"])
            self.before[card] = tuple(map(sum, zip(self.before.get(card, (0, 0, 0)), seen)))
            reset(card)
        return counted

    def limited(self, limit):
        """Refused then is what the card has: PyTorch does so on a real one too, and the answer says why."""
        def limited(fraction, card):
            self.limits[card] = fraction
            limit(fraction, card)
        return limited

    # -- the history

    def other_allocator(self):
        """Another allocator than PyTorch's own has neither counters of requests nor a history: its name; else nothing."""
        if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:
            return "PYTORCH_NO_CUDA_MEMORY_CACHING"
        ask = getattr(self.torch.cuda, "get_allocator_backend", lambda: "native")
        return ask() if ask() != "native" else None

    def start_history(self):
        record = self.torch.cuda.memory._record_memory_history
        for name, whole in self.recorders.items():
            self.replace(name, lambda wish, whole=whole: whole)
        try:
            record("all", context="alloc", stacks="python", max_entries=_MOST_ENTRIES)
        except TypeError:  # torch 2.0
            record(True, trace_alloc_max_entries=_MOST_ENTRIES, trace_alloc_record_context=True)
        self.history = True
        self.take_wishes()
        self.snapshot = self.torch._C._cuda_memorySnapshot
        self.torch._C._cuda_memorySnapshot = self.told_snapshot

    def wish(self, enabled=None, context=None, stacks=None, max_entries=1 << 62, *_, **__):
        """The script switches the history on or off; ours goes on."""
        now = time.time_ns() // 1000
        if enabled:
            self.script_history = (now, None, max_entries, enabled == "all")
        elif self.script_history and self.script_history[1] is None:
            self.script_history = (self.script_history[0], now, *self.script_history[2:])

    def wish_of_old(self, enabled, record_context=True, trace_alloc_max_entries=1, *_, **__):
        self.wish("all" if enabled and trace_alloc_max_entries > 1 else enabled and "state", None, None,
                  trace_alloc_max_entries)

    def told_snapshot(self, *arguments, **named):
        whole = self.snapshot(*arguments, **named)
        since, until, most, trace = self.script_history or (0, 0, 0, False)
        recording = self.script_history is not None and until is None

        def of_script(entry):
            return since <= entry.get("time_us", since)
        # Switched off, PyTorch forgets what it had.
        whole["device_traces"] = [[entry for entry in entries if of_script(entry)][-most:] if recording and trace else []
                                  for entries in whole["device_traces"]]
        if not recording:
            for segment in whole["segments"]:
                for part in (segment, *segment["blocks"]):
                    if "frames" in part:
                        part["frames"] = []
        return whole

    def traces(self):
        """All that was recorded, a list for each card."""
        if not self.history:
            return ()
        try:
            return self.snapshot(None)["device_traces"]
        except TypeError:  # before torch 2.9
            return self.snapshot()["device_traces"]
