"""The checkpoints that a script writes: what they hold was computed on a card that is not there.

Where a file has its name already, a checkpoint is held back: it goes to a folder that is gone with the run, and is read
from there. A new one is written, and named in the answer: a script may copy it.
"""

import functools
import os


class Saved:
    def __init__(self, torch, when_imported, place, folder, pretended):
        self.place, self.folder, self.pretended = place, folder, pretended
        self.saved = {}  # path as the script has it: (held back, place)
        self.aside = {}  # path: where it was put instead
        for owner in (torch, torch.serialization):
            self.wrap_save(owner, "save", 1)
            self.wrap_load(owner, "load")
        when_imported("safetensors.torch", self.wrap_safetensors)

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
            try:
                path = self.aside.get(os.path.abspath(path), path)
            except TypeError:  # an open file
                pass
            return whole(path, *arguments, **named)
        setattr(owner, name, load)

    def saves(self, path):
        """Where to write it instead; nothing: where it is wanted."""
        try:
            name = os.path.abspath(os.fspath(path))
        except TypeError:
            name = getattr(path, "name", None)
            # Without a name: a buffer, which a library may write to a file by itself.
            self.saved.setdefault(name if isinstance(name, str) else "", (False, self.place()))
            return None
        known = self.saved.get(name)
        held = self.pretended and (known[0] if known else os.path.exists(name))
        self.saved.setdefault(name, (held, self.place()))
        if not held:
            return None
        os.makedirs(os.path.join(self.folder, "held"), exist_ok=True)
        return self.aside.setdefault(name, os.path.join(self.folder, "held", "%d-%d" % (os.getpid(), len(self.aside))))

    def lines(self):
        for name, (held, place) in self.saved.copy().items():
            yield ("saved", "held" if held else "written", name, *place)
