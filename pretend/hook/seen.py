"""What of a script ran besides its steps, so that an answer says what it has not seen: an evaluation, and checkpoints.

A checkpoint that is written here holds zeros. Where a file has its name already it is held back: it goes to a folder
that is gone with the run, and is read from there. A new one is written, and named in the answer: a script may copy it.
"""

import functools
import os
import weakref


class Seen:
    def __init__(self, torch, when_imported, place, folder, pretended):
        self.torch, self.place, self.folder, self.pretended = torch, place, folder, pretended
        self.trained, self.looked_at = weakref.WeakSet(), weakref.WeakSet()
        self.evaluated = False
        self.blind = False  # torch.compile was called: no module tells that its forward runs
        self.saved = {}  # path as the script has it: (held back, place)
        self.aside = {}  # path: where it was put instead
        for owner in (torch, torch.serialization):
            self.wrap_save(owner, "save", 1)
            self.wrap_load(owner, "load")
        when_imported("safetensors.torch", self.wrap_safetensors)

    def wrap_safetensors(self, module):
        self.wrap_save(module, "save_file", 1)
        self.wrap_load(module, "load_file")

    def forward(self, module):
        """Of a module that the script calls itself. An evaluation is one of what is trained too, without gradients."""
        if module.training and self.torch.is_grad_enabled():
            if module not in self.trained:
                self.trained.update(module.modules())
                self.evaluated = self.evaluated or module in self.looked_at
        elif not self.evaluated:
            self.looked_at.update(module.modules())
            self.evaluated = module in self.trained

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
        if not self.blind:
            yield ("evaluated", int(self.evaluated))
        for name, (held, place) in self.saved.copy().items():
            yield ("saved", "held" if held else "written", name, *place)
