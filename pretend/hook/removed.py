"""Files that a script removes, as it does with the oldest of its checkpoints. What was there before the run stays: what the
script would keep instead was computed on a card that is not there.

Before the script uses the card it removes what it knows itself. What the run made itself is its own business: a file that was
changed since the run began is no older.
"""

import functools
import os
import pathlib
import shutil
import stat
import time

# Python's processes of one command, whichever began first.
_BEGAN = float(os.environ.setdefault("VRAMPLAN_BEGAN", repr(time.time())))


class Removed:
    def __init__(self):
        """Wraps before the script imports a name of these modules for itself."""
        self.used = lambda: False  # whether the script has used the card
        self.place = self.is_written = None  # of the recorder; is_written(name): by this run
        self.kept = {}  # path of what stays: the line that removes it
        self.folders = set()  # that are gone for the script
        self.unlink, self.remove_folder = os.unlink, os.rmdir
        os.remove, os.unlink = self.wrap_unlink(os.remove), self.wrap_unlink(os.unlink)
        os.rmdir = self.wrap_rmdir(os.rmdir)
        shutil.rmtree = self.wrap_rmtree(shutil.rmtree)
        for name in ("mkdir", "symlink", "link"):
            setattr(os, name, self.wrap_make(getattr(os, name), 0 if name == "mkdir" else 1))
        of_paths = getattr(pathlib, "_NormalAccessor", None)  # before Python 3.11 they have these functions of their own
        for name in ("unlink", "rmdir", "mkdir", "symlink", "link"):
            if hasattr(of_paths, name):
                setattr(of_paths, name, staticmethod(getattr(os, name)))
        for known in (os.supports_dir_fd, os.supports_follow_symlinks):
            known.update([getattr(os, whole.__name__) for whole in known if hasattr(os, whole.__name__)])

    def begin(self, used, place, is_written):
        self.used, self.place, self.is_written = used, place, is_written

    def stays(self, path):
        """Whether it is kept back: the path of something that was there before the run."""
        name = path_of(path)
        if name is None or not self.used() or self.is_written(name):
            return False
        try:
            found = os.lstat(name)
        except OSError:
            return False
        if not (stat.S_ISLNK(found.st_mode) or stat.S_ISREG(found.st_mode) and found.st_size) or found.st_ctime >= _BEGAN:
            return False
        self.kept.setdefault(name, self.place())
        return True

    def wrap_unlink(self, whole):
        @functools.wraps(whole)
        def unlink(path, *arguments, **named):
            # With dir_fd the path is none.
            if arguments or named or not self.stays(path):
                return whole(path, *arguments, **named)
        return unlink

    def wrap_rmdir(self, whole):
        @functools.wraps(whole)
        def rmdir(path, *arguments, **named):
            try:
                return whole(path, *arguments, **named)
            except OSError:
                name = path_of(path)
                if arguments or named or not self.holds_kept(name):
                    raise
                self.folders.add(name)
        return rmdir

    def wrap_rmtree(self, whole):
        @functools.wraps(whole)
        def rmtree(path, *arguments, **named):
            name = path_of(path)
            if name is None or not self.used() or not any([self.stays(file) for file, _ in _under(name)]):
                return whole(path, *arguments, **named)
            for each, is_folder in _under(name):
                if each not in self.kept:
                    try:
                        (self.remove_folder if is_folder else self.unlink)(each)
                    except OSError:  # something in it stays
                        pass
                if is_folder:
                    self.folders.add(each)
            self.folders.add(name)
        return rmtree

    def wrap_make(self, whole, at):
        """What is gone for the script it may make anew."""
        @functools.wraps(whole)
        def make(*arguments, **named):
            try:
                return whole(*arguments, **named)
            except FileExistsError:
                name = path_of(arguments[at]) if len(arguments) > at else None
                if name not in self.folders and name not in self.kept:
                    raise
                self.folders.discard(name)
        return make

    def holds_kept(self, name):
        return name is not None and any(each.startswith(name + os.sep) for each in self.kept)

    def lines(self):
        for name, place in self.kept.copy().items():
            yield "stays", name, *place


def path_of(path):
    try:
        name = os.fspath(path)
        return os.path.abspath(name) if isinstance(name, str) else None
    except TypeError:  # an open file
        return None


def _under(name):
    """What lies in a folder, and whether it is a folder itself: the deepest first."""
    if os.path.islink(name):
        return
    for folder, folders, files in os.walk(name, topdown=False):
        for each in files:
            yield os.path.join(folder, each), False
        for each in folders:
            path = os.path.join(folder, each)
            yield path, not os.path.islink(path)
