"""A loop that waits for a value never ends where all values are zeros. It is known by what it does: it reads from the card
again and again, and no optimizer steps."""

import ctypes
import sys
import threading
import time

READS, SECONDS = 100_000, 30


def watch(recorder):
    reads = getattr(ctypes.CDLL(None), "vramplan_pretend_reads", None)
    if reads is None:
        return
    reads.restype = ctypes.c_uint64

    def look():
        steps, since, before = 0, time.monotonic(), 0
        while not recorder.done:
            time.sleep(1)
            now, count = time.monotonic(), reads()
            if recorder.steps != steps:
                steps, since, before = recorder.steps, now, count
            elif now - since >= SECONDS and count - before >= READS:
                place = recorder.place(sys._current_frames().get(threading.main_thread().ident))
                recorder.by_value[("a loop that makes no step", *place)] = count - before
                recorder.end("loop")
    threading.Thread(target=look, daemon=True).start()
