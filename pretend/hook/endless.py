"""A loop that waits for a value never ends where all values are zeros. It is known by what it does: no step, no backward,
and reads from the card that go on. Many reads in a short time are such a loop; fewer are one if the line that reads stands in
a `while`, or in a `for` over what never ends, that has been running all the time: who goes over data comes to its end."""

import ast
import ctypes
import linecache
import sys
import threading
import time

READS, SECONDS = 100_000, 30
SECONDS_OF_FEW, LEAST_READS = 50, 50
_WITHOUT_END = {"count", "cycle", "repeat"}  # of itertools


def watch(recorder):
    reads = getattr(ctypes.CDLL(None), "vramplan_pretend_reads", None)
    if reads is None:
        return
    reads.restype = ctypes.c_uint64

    def look():
        progress, since, before, seen = None, time.monotonic(), 0, []
        while not recorder.done:
            time.sleep(1)
            now, count = time.monotonic(), reads()
            stack = _stack()
            if len(recorder.lines) != progress or count == before:  # steps, backwards and errors are lines
                progress, since, before, seen = len(recorder.lines), now, count, stack
                continue
            seen = _still(seen, stack)
            passed, made = now - since, count - before
            if passed >= SECONDS and made >= READS or \
                    passed >= SECONDS_OF_FEW and made >= LEAST_READS and _stands_in_endless(seen):
                recorder.by_value[("a loop that makes no step", *(recorder.last_read or ("", 0, "")))] = made
                recorder.end("loop")
    threading.Thread(target=look, daemon=True).start()


def _stack():
    """From the outermost: which frames run, and at which lines each was seen. No frame is kept, nor the tensors in it."""
    frame, frames = sys._current_frames().get(threading.main_thread().ident), []
    while frame is not None:
        frames.append((id(frame), frame.f_code.co_filename, {frame.f_lineno}))
        frame = frame.f_back
    return frames[::-1]


def _still(seen, now):
    """Those that were running all the time."""
    still = []
    for before, after in zip(seen, now):
        if before[:2] != after[:2]:
            break
        still.append((*before[:2], before[2] | after[2]))
    return still


def _stands_in_endless(stack):
    """Whether the innermost loop that holds all lines of a frame may go on for ever."""
    for _, file, lines in reversed(stack):
        loop = _innermost(file, lines)
        if loop is not None:
            return isinstance(loop, ast.While) or _name(getattr(loop.iter, "func", None)) in _WITHOUT_END
    return False


def _innermost(file, lines):
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.While, ast.For))
              and node.lineno <= min(lines) and max(lines) <= node.end_lineno]
    return max(around, key=lambda node: node.lineno, default=None)


def _name(node):
    return getattr(node, "id", getattr(node, "attr", None))
