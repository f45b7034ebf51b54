"""The hook of `vramplan run`: what PyTorch's own counters and history say of a script, written when it ends.

Python imports this module at its start because `vramplan run` puts its folder first into PYTHONPATH; a sitecustomize of
the user's is imported afterwards. Nothing but the script's own torch is needed, and nothing of the script is changed:
steps are counted by PyTorch's global optimizer hooks, modules are named by its global forward hooks, allocations are
recorded by its memory history. The format of the file is described in pretend/recording/recording.h.
"""

import atexit
import importlib.machinery
import importlib.util
import os
import re
import sys
import threading
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.environ.get("VRAMPLAN_RECORDING")
_ALONE = os.environ.get("VRAMPLAN_ALONE")  # the rank of many that runs alone; nothing: no other is pretended
_CHANGE = os.environ.get("VRAMPLAN_TRY")  # of pretend/hook/changes.py; nothing: the script as it is
_ON_HOST = os.environ.get("VRAMPLAN_VALUES") == "host"  # small tensors are computed there: host.py
_DETAILS = os.environ.get("VRAMPLAN_DETAILS") == "1"  # a run that is recorded: what details.py writes
_REAL = os.environ.get("VRAMPLAN_REAL") == "1"  # the card is one: what is read of it are values
_STEPS = int(os.environ.get("VRAMPLAN_STEPS") or 0)  # 0: until the script ends
_SECONDS = float(os.environ.get("VRAMPLAN_SECONDS") or 0)  # 0: without a limit
# Entries of the history that are kept: about 1 KiB of host memory each. The oldest are lost first.
_MOST_ENTRIES = 2_000_000
_LEVELS = (("requested", "requested_bytes"), ("allocated", "allocated_bytes"), ("reserved", "reserved_bytes"))


class _PerCard(dict):
    """Words of a line that are other ones for each card; which of them is written is known at the end."""


class _Recorder:
    def __init__(self, torch):
        self.torch = torch
        self.stats = getattr(torch._C, "_cuda_memoryStats", None)  # a wheel without CUDA has none
        self.lock = threading.RLock()
        self.lines = []  # steps, marks and errors, in their order
        self.modules = []  # (when, name of the module that is entered, or left for the one around it)
        self.timed = not re.match(r"2\.[01]\.", torch.__version__)  # entries of the history have their time
        self.names = {}  # id of a module: its name below the outermost module that was called
        self.running = threading.local()
        self.kept_peaks = {}  # what the script would read if nobody had reset the peaks
        self.steps = 0
        self.leader = None  # the optimizer whose steps are counted: the first that stepped
        self.others = False  # another one steps too
        self.began = time.monotonic()
        self.done = False
        self.history = False
        self.alone = None
        self.ranks = None  # alone.py too: how to wait for what collectives hold
        self.by_value = {}  # (what, file, line, function): how often
        self.changed = []  # what --try changed
        self.details = None
        self.host = None
        self.last_read = None  # the line that last read a value which nobody knows
        self.refusing = None  # the card that refused memory last

    # -- beginning

    def install(self):
        torch = self.torch
        if _ALONE:
            self.alone = _part("alone")
            self.alone.install(torch)
        from torch.optim import optimizer
        optimizer.register_optimizer_step_pre_hook(self.guarded(self.before_update))
        optimizer.register_optimizer_step_post_hook(self.guarded(self.after_update))
        modules, leave = torch.nn.modules.module, self.guarded(self.leave)
        self.forward_hooks = [modules.register_module_forward_pre_hook(self.guarded(self.enter))]
        try:
            self.forward_hooks.append(modules.register_module_forward_hook(leave, always_call=True))
        except TypeError:  # torch 2.0: a forward that fails is not told
            self.forward_hooks.append(modules.register_module_forward_hook(leave))
        if _DETAILS:
            self.details = _part("details").Details(torch, self.guarded, self.when)
        self.keep_values = lambda: None
        if not _REAL:
            self.host = _part("host").install(self.guarded(self.value), self.guarded(self.value_read), _ON_HOST)
            self.keep_values = _part("values").install(torch, self.guarded(self.value), _when_imported, self.host)
        self.wrap(torch, "compile", self.step_aside)
        _part("compiled").install(torch, _when_imported, self.wrap, self.guarded)
        if _CHANGE:
            _part("changes").install(torch, _CHANGE, self.changed.append)
        self.wrap_backward()
        torch._C._cuda_memoryStats = self.told_stats
        reset = torch._C._cuda_resetPeakMemoryStats
        self.reset_peaks = reset

        def told_reset(device):
            self.kept_peaks.pop(device, None)
            reset(device)
        torch._C._cuda_resetPeakMemoryStats = told_reset
        torch.cuda._lazy_call(self.guarded(self.start_history))
        if _STEPS and not _REAL:
            _part("endless").watch(self)
        if _SECONDS:
            threading.Thread(target=self.watch, daemon=True).start()

    def watch_failure(self):
        before = sys.excepthook

        def failed(kind, error, trace):
            with self.lock:
                text = " ".join(str(error).split())[:2000]
                self.line("failed", kind.__module__ + "." + kind.__qualname__, text)
            before(kind, error, trace)
        sys.excepthook = failed

    def guarded(self, function):
        """A fault of ours must not become one of the script."""
        def call(*arguments, **named):
            try:
                function(*arguments, **named)
            except Exception as error:  # noqa: BLE001
                self.line("fault", function.__name__, repr(error))
        return call

    def wrap(self, owner, name, first=lambda: None, then=lambda: None):
        whole = getattr(owner, name, None)
        if whole is None:
            return

        def wrapped(*arguments, **named):
            first()
            try:
                return whole(*arguments, **named)
            finally:
                then()
        wrapped.__name__, wrapped.__doc__, wrapped.__wrapped__ = name, whole.__doc__, whole
        setattr(owner, name, wrapped)

    def step_aside(self):
        """torch.compile looks into Python functions: ours would be in its way."""
        for hook in self.forward_hooks:
            hook.remove()
        if self.details:
            self.details.unseen = True
        self.keep_values()

    def value(self, what):
        place = self.place()
        if not self.done and place[0]:  # a backward has no line of Python, and asks what its forward asked
            key = (what, *place)
            self.by_value[key] = self.by_value.get(key, 0) + 1

    def value_read(self):
        self.last_read = self.place()

    def wrap_backward(self):
        """Backwards run in threads of PyTorch's own, without Python lines: the line that called them is theirs."""
        autograd = self.torch.autograd
        name = "_engine_run_backward" if hasattr(autograd, "_engine_run_backward") else "backward"
        run = getattr(autograd, name)

        def wrapped(*arguments, **named):
            self.mark("backward")
            try:
                return run(*arguments, **named)
            finally:
                self.mark("after-backward")
        wrapped.__wrapped__ = run
        setattr(autograd, name, wrapped)

    def start_history(self):
        record = self.torch.cuda.memory._record_memory_history
        try:
            record("all", context="alloc", stacks="python", max_entries=_MOST_ENTRIES)
        except TypeError:  # torch 2.0
            record(True, trace_alloc_max_entries=_MOST_ENTRIES, trace_alloc_record_context=True)
        self.history = True
        self.torch._C._cuda_attach_out_of_memory_observer(self.guarded(self.out_of_memory))

    # -- while the script runs

    def cards(self):
        return range(self.torch.cuda.device_count())

    def fullest(self):
        """The card that is reported: the one that refused memory, else the one that held the most."""
        if self.refusing is not None:
            return self.refusing
        return max(self.cards(), key=lambda card: self.told_stats(card)["reserved_bytes"]["all"]["peak"])

    def used(self):
        return self.torch.cuda.is_initialized()

    def told_stats(self, device):
        """The counters as the script would read them without us."""
        stats = self.stats(device)
        for kind, pools in self.kept_peaks.get(device, {}).items():
            for pool, peak in pools.items():
                if stats[kind][pool]["peak"] < peak:
                    stats[kind][pool]["peak"] = peak
        return stats

    def line(self, *words):
        per_card = any(isinstance(word, _PerCard) for word in words)
        self.lines.append(words if per_card else self.text(words))

    def text(self, words, card=None):
        if card is not None:
            words = [each for word in words for each in (word.get(card, ()) if isinstance(word, _PerCard) else (word,))]
        return "\t".join(str(word).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") for word in words)

    def place(self, frame=None):
        """The innermost line that is neither PyTorch's nor ours: file, line, function."""
        frame = frame or sys._getframe(1)
        own = os.path.dirname(self.torch.__file__) + os.sep
        while frame is not None:
            name = frame.f_code.co_filename
            if os.path.dirname(name) != _HERE and not name.startswith(own) and not name.startswith("<"):
                return name, frame.f_lineno, frame.f_code.co_name
            frame = frame.f_back
        return "", 0, ""

    def allocations(self, stats):
        """How many there were so far: where in the history we are."""
        return stats["allocation"]["all"]["allocated"]

    def when(self):
        """Microseconds as the history has them, or, where it has none, how many allocations and frees there were."""
        if self.timed:
            return time.time_ns() // 1000
        return self.events(self.torch.cuda.current_device()) if self.used() else 0

    def events(self, card):
        blocks = self.stats(card)["allocation"]["all"]
        return blocks["allocated"] + blocks["freed"]

    def mark(self, what):
        if not self.used() or self.done:
            return
        try:
            if self.details and "update" in what:
                self.details.line("at", what)
            with self.lock:
                counts = _PerCard((card, (self.allocations(self.stats(card)),)) for card in self.cards())
                self.line("mark", what, counts, *self.place())
        except Exception as error:  # noqa: BLE001
            self.line("fault", what, repr(error))

    def enter(self, module, arguments):
        names = getattr(self.running, "names", None)
        if names is None:
            names = self.running.names = []
        if self.done_enough and not names and not self.others and self.torch.is_grad_enabled():
            self.end("steps")
        if not names and id(module) not in self.names:
            self.names.update((id(each), name or type(module).__name__) for name, each in module.named_modules())
        name = self.names.get(id(module), type(module).__name__)
        if self.details:
            self.details.enter(module, arguments, name, not names)
        names.append(name)
        self.modules.append((self.when(), name))
        if len(self.modules) > _MOST_ENTRIES:
            del self.modules[:_MOST_ENTRIES // 2]

    def leave(self, module, _, result):
        names = getattr(self.running, "names", None)
        if names:
            name = names.pop()
            if self.details:
                self.details.leave(module, result, name, not names)
            self.modules.append((self.when(), names[-1] if names else ""))

    @property
    def done_enough(self):
        return _STEPS and self.steps >= _STEPS

    def settle(self):
        """Collectives cost no time here, so that a step is over before their watchdog lets tensors go."""
        distributed = self.torch.distributed
        if _REAL or not (distributed.is_available() and distributed.is_initialized()):
            return
        if self.ranks is None:
            self.ranks = self.alone or _part("alone")
        self.ranks.settle(self.torch)

    def before_update(self, optimizer, *_):
        if self.done_enough and optimizer is self.leader:
            self.end("steps")
        self.settle()
        if self.details and self.used() and not self.done:
            self.details.before_update(optimizer)
        self.mark("update")

    def after_update(self, optimizer, *_):
        if not self.used() or self.done:
            return
        self.settle()
        if self.alone:
            self.alone.forget()
        self.mark("after-update")
        if self.details:
            self.details.after_update(optimizer)
        if self.leader is None:
            self.leader = optimizer
        if optimizer is not self.leader:
            self.others = True
            return
        self.steps += 1
        if self.details:
            self.details.line("at", "step")
        self.count_step()

    def count_step(self):
        with self.lock:
            counters = _PerCard()
            for card in self.cards():
                stats = self.stats(card)
                counters[card] = [self.allocations(stats)] + [
                    stats[kind]["all"][value] for value in ("peak", "current") for _, kind in _LEVELS]
                self.keep_peaks(card, stats)
                self.reset_peaks(card)
            self.line("step", self.steps, counters, round(time.monotonic() - self.began, 3))

    def keep_peaks(self, card, stats):
        kept = self.kept_peaks.setdefault(card, {})
        for kind, pools in stats.items():
            if not isinstance(pools, dict):
                continue
            for pool, values in pools.items():
                if isinstance(values, dict) and "peak" in values:
                    most = kept.setdefault(kind, {})
                    most[pool] = max(most.get(pool, 0), values["peak"])

    def out_of_memory(self, device, asked, total, free):
        with self.lock:
            self.refusing = device
            stats = self.stats(device)
            words = [stats[kind]["all"]["current"] for _, kind in _LEVELS]
            self.line("out-of-memory", self.allocations(stats), asked, total, free, *words, *self.place())

    def watch(self):
        time.sleep(_SECONDS)
        _part("processes").wait_for_those_begun(_FOLDER, _SECONDS + 10, self.used)
        self.end("seconds")

    # -- the end

    def end(self, why):
        """The script has shown what it takes: it is ended here, before it writes results that mean nothing."""
        try:
            self.write(why)
        except Exception as error:  # noqa: BLE001  this may be a thread of ours, and the script must end all the same
            print("vramplan: the recording was not written: %r" % error, file=sys.stderr)
        if not _ALONE:
            _part("processes").wait_for_ranks(_FOLDER)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # noqa: BLE001
                pass
        try:
            import ctypes
            ctypes.CDLL(None).vramplan_pretend_write()
        except Exception:  # noqa: BLE001
            pass
        os._exit(0)

    def write(self, why):
        with self.lock:
            if self.done:
                return
            self.done = True
            path = os.path.join(_FOLDER, "%d.recording" % os.getpid())
            with open(path + ".new", "w", encoding="utf-8", errors="replace") as file:
                self.write_to(file, why)
            os.replace(path + ".new", path)

    def write_to(self, file, why):
        torch = self.torch
        lines, self.lines = self.lines, []
        self.line("vramplan.recording/1")
        self.line("python", sys.version.split()[0], sys.executable)
        self.line("torch", torch.__version__, torch.version.cuda or "", getattr(torch.version, "hip", None) or "")
        self.line("argv", *sys.argv)
        self.line("preloaded", int(_REAL or _is_preloaded()))
        self.line("rank", os.environ.get("RANK", 0), os.environ.get("WORLD_SIZE", 1))
        card = self.fullest() if self.used() else None
        lines = [line if isinstance(line, str) else self.text(line, card) for line in lines]
        file.write("\n".join(self.lines + lines) + "\n")
        self.lines = []
        # The script may still run, when its time is over: a copy cannot change in between.
        for (what, *place), times in self.by_value.copy().items():
            self.line("by-value", what, times, *place)
        if self.last_read:
            self.line("read", *self.last_read)
        if self.host and _ON_HOST:
            failed = self.host.failed.copy()
            self.line("on-host", self.host.ran, self.host.unknown, *sorted(failed, key=failed.get, reverse=True))
        for text in self.changed.copy():
            self.line("changed", text)
        if self.used():
            for each in self.cards():
                told = self.told_stats(each)
                if len(self.cards()) > 1 and told["reserved_bytes"]["all"]["peak"]:
                    self.line("on-card", each, *(told[kind]["all"]["peak"] for _, kind in _LEVELS))
            stats = self.stats(card)
            words = [self.told_stats(card)[kind]["all"]["peak"] for _, kind in _LEVELS]
            words += [stats[kind]["all"][value] for value in ("peak", "current") for _, kind in _LEVELS]
            self.line("last", self.allocations(stats), *words, stats["num_alloc_retries"])
            try:
                self.write_history(file, card)
            except Exception as error:  # noqa: BLE001
                self.line("fault", "write_history", repr(error))
        self.line("end", why, round(time.monotonic() - self.began, 3))
        file.write("\n".join(self.lines) + "\n")

    def write_history(self, file, card):
        traces = self.torch.cuda.memory._snapshot()["device_traces"]
        if not self.history or card >= len(traces):
            return
        details = self.details.lines if self.details else ()
        events = None if self.timed else self.events(card)
        lines = _part("history").lines(traces[card], self.modules, details, self.text, _HERE, events)
        file.write("".join(line + "\n" for line in lines))


class _Finder:
    """Does something when a module has been imported. Libraries may look for it (find_spec) long before that."""

    def __init__(self, name, then):
        self.name, self.then, self.looking = name, then, False

    def find_spec(self, name, path, target=None):
        if name != self.name or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking = False
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_do(module):
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            run(module)
            self.then(module)
        spec.loader.exec_module = run_and_do
        return spec


def _is_preloaded():
    try:
        import ctypes
        return hasattr(ctypes.CDLL(None), "vramplan_pretend_write")
    except Exception:  # noqa: BLE001  a Python without ctypes
        return True


def _when_imported(name, then):
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, then))


def _record(torch):
    recorder = _Recorder(torch)
    atexit.register(recorder.guarded(lambda: recorder.write("exit")))
    recorder.watch_failure()
    # One that is killed leaves this. What outlives the command, as a compiler's worker may, finds no folder.
    try:
        open(os.path.join(_FOLDER, "%d.began" % os.getpid()), "w").close()
    except FileNotFoundError:
        return
    if torch.version.cuda and torch.cuda.is_available():
        recorder.guarded(recorder.install)()


def _part(name):
    """A module beside this one, under a name that no script has."""
    spec = importlib.util.spec_from_file_location("vramplan_" + name, os.path.join(_HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_the_users():
    """The sitecustomize that Python would have imported without us."""
    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _note_framework(name):
    """Whoever imports another framework and no torch is told that it cannot be measured."""
    def note(_):
        try:
            with open(os.path.join(_FOLDER, "%d.framework" % os.getpid()), "w") as file:
                file.write(name)
        except OSError:
            pass
    return note


if _FOLDER and _ALONE and _part("alone").is_another_rank(_ALONE):
    os._exit(0)
if _FOLDER and os.path.isdir(_FOLDER):
    sys.meta_path.insert(0, _Finder("torch", _record))
    for _module, _framework in (("tensorflow", "TensorFlow"), ("jax", "JAX")):
        sys.meta_path.insert(0, _Finder(_module, _note_framework(_framework)))
_import_the_users()
