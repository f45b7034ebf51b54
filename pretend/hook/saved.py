"""The checkpoints that a script writes: what they hold was computed on a card that is not there.

Where a file has its name already, what is written is held back: it goes to a folder that is gone with the run, and is read
from there. A new file is written, and named in the answer if it holds tensors or arrays: a script may copy it.

A file is written by torch.save and safetensors, which open it themselves, and by whatever opens it in Python or moves it to
its name when it is whole (Lightning's checkpoints, torch.distributed.checkpoint, numpy, pickle). Before the script uses the
card it writes what it knows itself, and files are its own business.
"""

import builtins
import functools
import io
import os
import pathlib
import shutil
import stat

path_of = part("removed").path_of  # noqa: F821  sitecustomize.py gives it to its parts


class Saved:
    def __init__(self, torch, when_imported, place, folder, removed, used, guarded):
        self.place, self.folder, self.removed, self.used = place, folder, removed, used
        self.saved = {}  # path as the script has it: (held back, place)
        self.opened = {}  # path of a new file, which may be none of a checkpoint: place
        self.aside = {}  # path: where it was put instead
        self.hold = guarded(self.hold)
        for owner in (torch, torch.serialization):
            self.wrap_save(owner, "save", 1)
            self.wrap_load(owner, "load")
        when_imported("safetensors.torch", self.wrap_safetensors)
        if removed:
            builtins.open = io.open = self.wrap_open(builtins.open)
            for name in ("rename", "replace"):
                setattr(os, name, self.wrap_move(getattr(os, name)))
            of_paths = getattr(pathlib, "_NormalAccessor", None)  # before Python 3.11 they have these functions of their own
            for name, owner in (("open", io), ("rename", os), ("replace", os)):
                if hasattr(of_paths, name):
                    setattr(of_paths, name, staticmethod(getattr(owner, name)))

    def wrap_safetensors(self, module):
        self.wrap_save(module, "save_file", 1)
        self.wrap_load(module, "load_file")

    def wrap_save(self, owner, name, at):
        whole = getattr(owner, name)

        @functools.wraps(whole)
        def save(*arguments, **named):
            key = next((key for key in ("f", "filename") if key in named), None)
            path = named[key] if key else arguments[at] if len(arguments) > at else None
            to = self.saves(path)
            if to is None:
                return whole(*arguments, **named)
            if key:
                return whole(*arguments, **{**named, key: to})
            return whole(*arguments[:at], to, *arguments[at + 1:], **named)
        setattr(owner, name, save)

    def wrap_load(self, owner, name):
        whole = getattr(owner, name)

        @functools.wraps(whole)
        def load(path, *arguments, **named):
            return whole(self.aside.get(path_of(path), path), *arguments, **named)
        setattr(owner, name, load)

    def wrap_open(self, whole):
        @functools.wraps(whole)
        def open(file, mode="r", *arguments, **named):
            name = None
            if isinstance(mode, str) and (self.aside or "w" in mode and self.used()):
                name = path_of(file)
            if name is not None:
                if "w" in mode and self.used() and not self.hold(name) and not self.is_written(name):
                    self.opened[name] = self.place()
                if "w" in mode or "b" in mode:  # what reads text reads the file that stays
                    file = self.aside.get(name, file)
            return whole(file, mode, *arguments, **named)
        return open

    def wrap_move(self, whole):
        @functools.wraps(whole)
        def move(src, dst, *arguments, **named):
            source, target = path_of(src), path_of(dst)
            if source is None or target is None or named or not (self.aside or self.used()):
                return whole(src, dst, *arguments, **named)
            here = self.aside.get(source, src)
            if self.used() and os.path.isfile(here) and self.hold(target):
                # What the run did not write stays where it is too.
                (shutil.move if self.is_written(source) else shutil.copyfile)(here, self.aside[target])
                self.opened.pop(source, None)
                return None
            if here is not src:
                shutil.move(here, dst)
                self.saved[target], _ = (False, self.place()), self.aside.pop(source)
                return None
            if os.path.isfile(src) and self.removed.stays(src):
                shutil.copyfile(src, dst)
                self.opened.pop(target, None)  # it holds what it held
                return None
            moved = whole(src, dst)
            for known in (self.saved, self.opened):
                for name in [name for name in known if name == source or name.startswith(source + os.sep)]:
                    known[target + name[len(source):]] = known.pop(name)
            return moved
        return move

    def saves(self, path):
        """Where to write it instead; nothing: where it is wanted."""
        name = path_of(path)
        if name is None:
            name = getattr(path, "name", None)
            # Without a name: a buffer, which a library may write to a file by itself.
            self.saved.setdefault(name if isinstance(name, str) else "", (name in self.aside, self.place()))
            return None
        if self.hold(name):
            return self.aside[name]
        self.saved.setdefault(name, (False, self.place()))
        return None

    def is_written(self, name):
        """By this run: a file of its own."""
        return name in self.saved or name in self.opened or name.startswith(self.folder + os.sep)

    def hold(self, name):
        """Whether it is held back: a file with something in it has this name, which the run did not write."""
        if not self.removed or name in self.aside:
            return name in self.aside
        if self.is_written(name) or not _is_file(name):
            return False
        self.saved[name] = (True, self.place())
        os.makedirs(os.path.join(self.folder, "held"), exist_ok=True)
        self.aside[name] = os.path.join(self.folder, "held", "%d-%d" % (os.getpid(), len(self.saved)))
        return True

    def lines(self):
        for name, place in self.opened.copy().items():
            if name not in self.saved and not _is_compiled(name) and _holds_values(name):
                self.saved[name] = (False, place)
        for name, (held, place) in self.saved.copy().items():
            if not name.startswith(self.folder + os.sep):  # what was moved there
                yield "saved", "held" if held else "written", name, *place


def _is_file(name):
    try:
        found = os.stat(name)
        return stat.S_ISREG(found.st_mode) and found.st_size > 0
    except OSError:
        return False


def _is_compiled(name):
    """In the caches of inductor and of Triton, whose pickles are code."""
    caches = [os.environ.get("TORCHINDUCTOR_CACHE_DIR"), os.environ.get("TRITON_CACHE_DIR")]
    return "/torchinductor_" in name or "/.triton/" in name or any(each and name.startswith(each) for each in caches)


def _holds_values(name):
    """A pickle, an array of numpy or of HDF5, or an archive of such, as torch.save writes it."""
    try:
        with open(name, "rb") as file:
            start = file.read(256)
    except OSError:
        return False
    return start[:1] == b"\x80" and start[1:2] in b"\2\3\4\5" or start.startswith((b"\x93NUMPY", b"\x89HDF")) or \
        start.startswith(b"PK\3\4") and (b"data.pkl" in start or b".npy" in start)
