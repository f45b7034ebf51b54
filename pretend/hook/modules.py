"""Modules: which one's forward runs, and what it is called. Nothing here keeps one alive.

A module's name is its path from the outermost module that holds it, whoever calls it: "layers.3.linear1" where a loop of the
script calls each layer by itself. Who holds whom is told by PyTorch when a module becomes a part of another one.
"""

import threading
import weakref


class OfLiving:
    """What is known of objects, by who they are, as long as they live. A module may say that it equals another one."""

    def __init__(self):
        self.known = {}

    def get(self, one):
        reference, value = self.known.get(id(one), (None, None))
        return value if reference is not None and reference() is one else None

    def set(self, one, value):
        key = id(one)
        self.known[key] = (weakref.ref(one, lambda _: self.known.pop(key, None)), value)


class Modules:
    """`entered(module, arguments, name, outermost)` and `left(module, result, name, outermost)` are told of each forward."""

    def __init__(self, torch, guarded, entered, left):
        self.torch, self.entered, self.left = torch, entered, left
        self.names = OfLiving()
        self.parents = OfLiving()  # a module: the one that it is a part of, weakly
        self.computing = OfLiving()  # whether it has parameters
        self.running = threading.local()
        modules = torch.nn.modules.module
        enter, leave = guarded(self.enter), guarded(self.leave)
        self.hooks = [modules.register_module_forward_pre_hook(enter)]
        try:
            self.hooks.append(modules.register_module_forward_hook(leave, always_call=True))
        except TypeError:  # torch 2.0: a forward that fails is not told
            self.hooks.append(modules.register_module_forward_hook(leave))
        self.hooks.append(modules.register_module_module_registration_hook(guarded(self.becomes_part)))

    def remove(self):
        """torch.compile looks into Python functions: ours would be in its way. Those whose forward runs, innermost first."""
        for hook in self.hooks:
            hook.remove()
        running = getattr(self.running, "names", [])
        self.running = threading.local()
        return running[::-1]

    def becomes_part(self, module, _, part):
        if part is not None and self.holder(part) is None:
            self.parents.set(part, weakref.ref(module))

    def holder(self, module):
        parent = (self.parents.get(module) or (lambda: None))()
        return parent if parent is not None and any(part is module for part in parent.children()) else None

    def outermost_holder(self, module):
        seen = set()
        while id(module) not in seen:
            seen.add(id(module))
            module = self.holder(module) or module
        return module

    def name(self, module):
        return self.names.get(module) or type(module).__name__

    def enter(self, module, arguments):
        stack = getattr(self.running, "names", None)
        if stack is None:
            stack = self.running.names = []
        if not stack and self.names.get(module) is None:
            for name, each in self.outermost_holder(module).named_modules():
                self.names.set(each, name or type(each).__name__)
        name = self.name(module)
        self.entered(module, arguments, name, not stack)
        stack.append(name)

    def leave(self, module, _, result):
        stack = getattr(self.running, "names", None)
        if stack:
            self.left(module, result, stack.pop(), not stack)

    def around(self):
        """The module whose forward runs in this thread; nothing: none."""
        stack = getattr(self.running, "names", None)
        return stack[-1] if stack else ""

    def has_parameters(self, module):
        known = self.computing.get(module)
        if known is None:
            known = next(module.parameters(), None) is not None
            self.computing.set(module, known)
        return known
