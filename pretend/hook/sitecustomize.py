"""The hook of `vramplan run`: what PyTorch's own counters and history say of a script, written when it ends.

Python imports this module at its start because `vramplan run` puts its folder first into PYTHONPATH; a sitecustomize of
the user's is imported afterwards. Nothing but the script's own torch is needed, and nothing of the script is changed:
steps are counted by PyTorch's global optimizer hooks, modules are named by its global forward hooks, allocations are
recorded by its memory history. The format of the file is described in pretend/recording/recording.h.
"""

import atexit
import functools
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
_MOST_NAMES = 2_000_000  # of modules that ran; the oldest are lost first


def _part(name):
    """A module beside this one, under a name that no script has."""
    spec = importlib.util.spec_from_file_location("vramplan_" + name, os.path.join(_HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    module.part = _part
    spec.loader.exec_module(module)
    return module


_when_imported = _part("imports").when_imported
_removed = None  # removed.py; nothing: the card is one, and files are the script's own business


class _PerCard(dict):
    """Words of a line that are other ones for each card; which of them is written is known at the end."""


class _Recorder:
    def __init__(self, torch):
        self.torch = torch
        self.places = _part("places").Places(torch)
        self.counters = _part("counters").Counters(torch)
        self.compiled = _part("compiled")
        self.lock = threading.RLock()
        self.lines = []  # steps, marks and errors, in their order
        self.modules = None
        self.ran = []  # (when, name of the module that is entered, or left for the one around it)
        self.timed = not re.match(r"2\.[01]\.", torch.__version__)  # entries of the history have their time
        self.steps = None  # steps.py
        self.in_backward = 0
        self.began = time.monotonic()
        self.done = False
        self.alone = None
        self.ranks = None  # alone.py too: how to wait for what collectives hold
        self.rank = None  # which of how many, as torch.distributed said last
        self.by_value = {}  # (what, file, line, function): how often
        self.changed = []  # what --try changed
        self.details = None
        self.saved = None  # saved.py
        self.host = None
        self.last_read = None  # the line that last read a value which nobody knows
        self.refusing = None  # the card that refused memory last
        self.process = os.getpid()
        self.leave_process = os._exit

    # -- beginning

    def install(self):
        torch = self.torch
        if _ALONE:
            self.alone = _part("alone")
            self.alone.install(torch)
        from torch.optim import optimizer
        self.steps = _part("steps").Steps(torch, _STEPS, self.places.own_place)
        optimizer.register_optimizer_step_pre_hook(self.guarded(self.before_update))
        optimizer.register_optimizer_step_post_hook(self.guarded(self.after_update))
        self.modules = _part("modules").Modules(torch, self.guarded, self.enter, self.leave)
        if _DETAILS:
            self.details = _part("details").Details(torch, self.guarded, self.when, self.modules)
        self.keep_values = lambda: None
        if not _REAL:
            self.host = _part("host").install(self.guarded(self.value), self.guarded(self.value_read), _ON_HOST)
            self.keep_values = _part("values").install(torch, self.guarded(self.value), _when_imported, self.host)
            _part("collectives").install(torch, self.host, bool(_ALONE))
        self.saved = _part("saved").Saved(torch, _when_imported, self.places.own_place, _FOLDER, _removed, self.used, self.guarded)
        if _removed:
            _removed.begin(self.used, self.places.own_place, self.saved.is_written)
        self.compiled.install(torch, _when_imported, self.wrap, self.guarded, self.guarded(self.step_aside))
        if _CHANGE:
            _part("changes").install(torch, _CHANGE, self.changed.append)
        self.wrap_backward()
        if torch.distributed.is_available():
            for owner in (torch.distributed, torch.distributed.distributed_c10d):
                self.wrap(owner, "init_process_group", then=self.guarded(self.note_rank))
        self.counters.install()
        os._exit = self.exit_at_once
        if not (_ALONE or _REAL):
            _part("ranks").install(torch, _FOLDER, self.guarded)
        torch.cuda._lazy_call(self.guarded(self.start_history))
        if _STEPS and not _REAL:
            _part("endless").watch(self)
        if _SECONDS:
            threading.Thread(target=self.watch, daemon=True).start()

    def note_rank(self):
        """Launchers say it in variables of their own: torchrun in RANK, Lightning in LOCAL_RANK and NODE_RANK."""
        self.rank = self.torch.distributed.get_rank(), self.torch.distributed.get_world_size()

    def watch_failure(self):
        before = sys.excepthook

        def failed(kind, error, trace):
            with self.lock:
                first = self.counters.out_of_memory_behind(error)
                text = " ".join(str(first).split())[:2000]
                self.line("failed", type(first).__module__ + "." + type(first).__qualname__, text)
            before(kind, error, trace)
        sys.excepthook = failed

    def guarded(self, function):
        """A fault of ours must not become one of the script."""
        def call(*arguments, **named):
            try:
                return function(*arguments, **named)
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
        """Something is compiled now: Python functions are looked into, and ours would be in the way."""
        for name in self.modules.remove():
            if self.details:
                self.details.line("out", name, "")
            self.ran.append((self.when(), ""))
        if self.details:
            self.details.unseen = True
        self.keep_values()

    def value(self, what):
        place, own = self.places.place(), self.places.own_place()
        # A backward has no line of Python, and asks what its forward asked.
        if self.done or not place[0] or self.places.only_printed():
            return
        if own != place:
            what += " in %s:%d" % (re.sub(r".*-packages/", "", place[0]), place[1])
        key = (what, *own)
        self.by_value[key] = self.by_value.get(key, 0) + 1

    def value_read(self):
        if not self.places.only_printed():
            self.last_read = self.places.own_place()

    def wrap_backward(self):
        """Backwards run in threads of PyTorch's own, without Python lines: the line that called them is theirs."""
        autograd = self.torch.autograd
        name = "_engine_run_backward" if hasattr(autograd, "_engine_run_backward") else "backward"
        run = getattr(autograd, name)

        def wrapped(*arguments, **named):
            if arguments and self.compiled.is_traced(arguments[0]):
                return run(*arguments, **named)
            self.mark("backward")
            self.in_backward += 1
            try:
                return run(*arguments, **named)
            finally:
                self.in_backward -= 1
                self.mark("after-backward")
        wrapped.__wrapped__ = run
        setattr(autograd, name, wrapped)

    def start_history(self):
        other = self.counters.other_allocator()
        if other:
            self.line("allocator", other)
            self.end("allocator")
        self.counters.start_history()
        self.torch._C._cuda_attach_out_of_memory_observer(self.guarded(self.out_of_memory))

    # -- while the script runs

    def fullest(self):
        """The card that is reported: the one that refused memory, else the one that held the most."""
        if self.refusing is not None:
            return self.refusing
        return max(self.counters.cards(), key=lambda card: self.counters.peaks_of_run(card)[2])

    def used(self):
        return self.torch.cuda.is_initialized()

    def line(self, *words):
        per_card = any(isinstance(word, _PerCard) for word in words)
        self.lines.append(words if per_card else self.text(words))

    def text(self, words, card=None):
        if card is not None:
            words = [each for word in words for each in (word.get(card, ()) if isinstance(word, _PerCard) else (word,))]
        return "\t".join(str(word).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") for word in words)

    def when(self):
        """Microseconds as the history has them, or, where it has none, how many allocations and frees there were."""
        if self.timed:
            return time.time_ns() // 1000
        return self.counters.events(self.torch.cuda.current_device()) if self.used() else 0

    def mark(self, what, *more):
        if not self.used() or self.done:
            return
        try:
            if self.details and "update" in what:
                self.details.line("at", what)
            with self.lock:
                counts = self.per_card(lambda card, stats: [self.counters.allocations(card, stats)])
                self.line("mark", what, counts, *self.places.place(), *more)
        except Exception as error:  # noqa: BLE001
            self.line("fault", what, repr(error))

    def per_card(self, words):
        return _PerCard((card, words(card, self.counters.stats(card))) for card in self.counters.cards())

    def enter(self, module, arguments, name, outermost):
        graph = self.torch.is_grad_enabled()
        if outermost and graph and self.steps.enough():
            self.end("steps")
        # What is computed again within a backward is the backward's.
        if outermost and not self.in_backward and self.modules.has_parameters(module):
            self.mark("inference" if not graph else "forward" if module.training else "forward-of-eval", name)
        if self.details:
            self.details.enter(module, arguments, name, outermost)
        self.ran.append((self.when(), name))
        if len(self.ran) > _MOST_NAMES:
            del self.ran[:_MOST_NAMES // 2]

    def leave(self, module, result, name, outermost):
        if self.details:
            self.details.leave(module, result, name, outermost)
        self.ran.append((self.when(), self.modules.around()))

    def settle(self):
        """Collectives cost no time here, so that a step is over before their watchdog lets tensors go."""
        distributed = self.torch.distributed
        if _REAL or not (distributed.is_available() and distributed.is_initialized()):
            return
        if self.ranks is None:
            self.ranks = self.alone or _part("alone")
        self.ranks.settle(self.torch)

    def before_update(self, optimizer, arguments, named):
        if self.steps.enough(optimizer):
            self.end("steps")
        self.settle()
        if self.details and self.used() and not self.done:
            self.details.before_update(optimizer)
        self.mark("update")
        return self.with_marked_closure(optimizer, arguments, named)

    def with_marked_closure(self, optimizer, arguments, named):
        """A closure computes forward and backward within step(): Lightning's loop, LBFGS. The update is what is around."""
        closure = named.get("closure") or (arguments[1] if len(arguments) > 1 else None)
        if not callable(closure):
            return None

        @functools.wraps(closure, updated=())
        def marked(*given, **given_by_name):
            self.mark("after-update")
            try:
                return closure(*given, **given_by_name)
            finally:
                if self.details and self.used() and not self.done:
                    self.guarded(self.details.before_update)(optimizer)
                self.mark("update")
        if "closure" in named:
            return arguments, dict(named, closure=marked)
        return (arguments[0], marked, *arguments[2:]), named

    def after_update(self, optimizer, *_):
        if not self.used() or self.done:
            return
        self.settle()
        if self.alone:
            self.alone.forget()
        self.mark("after-update")
        if self.details:
            self.details.after_update(optimizer)
        def words(card, stats):
            values = [self.counters.allocations(card, stats), *self.counters.peaks_of_step(card, stats)]
            values += [stats[level]["all"]["current"] for level in self.counters.levels]
            self.counters.step_over(card, stats)
            return values
        with self.lock:
            step = self.steps.take(optimizer, self.per_card(words), round(time.monotonic() - self.began, 3))
            self.lines.append(step)
        if self.details:
            self.details.step_over(step)

    def out_of_memory(self, device, asked, total, free):
        with self.lock:
            self.refusing = device
            stats = self.counters.stats(device)
            words = [stats[level]["all"]["current"] for level in self.counters.levels]
            self.line("out-of-memory", self.counters.allocations(device, stats), asked, total, free, *words, *self.places.place())

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
            _part("processes").wait_for_ranks(_FOLDER, (self.rank or (0, 0))[1])
        self.leave_now(0)

    def exit_at_once(self, code):
        """os._exit() runs no end of Python's: this is the end. Of a process that is forked too, where it used the card."""
        self.guarded(self.write_if_used)()
        self.leave_now(code)

    def write_if_used(self):
        if os.getpid() == self.process or self.used():
            self.write("exit")

    def leave_now(self, code):
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
        self.leave_process(code)

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
        self.line("rank", *(self.rank or (os.environ.get("RANK", 0), os.environ.get("WORLD_SIZE", 1))))
        card = self.fullest() if self.used() else None
        lines = [line if isinstance(line, str) else self.text(line, card) for line in (self.steps.lines(lines) if self.steps else lines)]
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
        for place in self.steps.waiting() if self.steps else ():
            self.line("waits", *place)
        for files in (self.saved, _removed):
            for words in files.lines() if files else ():
                self.line(*words)
        if self.used():
            counters = self.counters
            if counters.limits.get(card, 1) < 1:
                self.line("limit", counters.limits[card])
            for each in counters.cards():
                highest = counters.peaks_of_run(each)
                if len(counters.cards()) > 1 and highest[2]:
                    self.line("on-card", each, *highest)
            stats = counters.stats(card)
            now = [stats[level]["all"]["current"] for level in counters.levels]
            self.line("last", counters.allocations(card, stats), *counters.peaks_of_run(card),
                      *counters.peaks_of_step(card, stats), *now, counters.retries(card, stats))
            try:
                self.write_history(file, card)
            except Exception as error:  # noqa: BLE001
                self.line("fault", "write_history", repr(error))
        self.line("end", why, round(time.monotonic() - self.began, 3))
        file.write("\n".join(self.lines) + "\n")

    def write_history(self, file, card):
        traces = self.counters.traces()
        if card >= len(traces):
            return
        details = self.details.written(self.steps) if self.details else ()
        events = None if self.timed else self.counters.events(card)
        lines = _part("history").lines(traces[card], self.ran, details, self.text, _HERE, events)
        file.write("".join(line + "\n" for line in lines))


def _is_preloaded():
    try:
        import ctypes
        return hasattr(ctypes.CDLL(None), "vramplan_pretend_write")
    except Exception:  # noqa: BLE001  a Python without ctypes
        return True


def _record(torch):
    recorder = _Recorder(torch)
    atexit.register(recorder.guarded(lambda: recorder.write("exit")))
    recorder.watch_failure()
    # One that is killed leaves this. What outlives the command, as a compiler's worker may, finds no folder.
    try:
        open(os.path.join(_FOLDER, "%d.began" % os.getpid()), "w").close()
    except FileNotFoundError:
        return
    # Whether there is a card is not asked: it would be too late then for a script to choose CUDA_VISIBLE_DEVICES.
    if torch.version.cuda:
        recorder.guarded(recorder.install)()


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
    _removed = None if _REAL else _part("removed").Removed()
    if not _REAL:
        _part("weights").Weights(_FOLDER, _when_imported)
    _when_imported("torch", _record)
    for _module, _framework in (("tensorflow", "TensorFlow"), ("jax", "JAX")):
        _when_imported(_module, _note_framework(_framework))
_import_the_users()
