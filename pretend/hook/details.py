"""What `vramplan run --record` wants besides: when modules are entered and left, what they give, and which tensors are
parameters, gradients and states. Lines with when they were (sitecustomize.py), which the history of allocations has too.

    in NAME               out NAME ADDRESS,...           a module's forward, and the storages that it gives
    at forward            phases as a loop has them: forward, loss, backward, update, zero-grad; after-... ends one
    tag gradients 4 ADDRESS,...                          storages by what they are for, and the bytes of an element
"""

import gc


class Details:
    def __init__(self, torch, guarded, when, modules):
        self.torch, self.when, self.modules = torch, when, modules
        self.lines = []  # (when, words)
        self.inside = 0  # backwards that run: forwards in there are recomputations
        self.tagged = type(modules.names)()  # modules that the script called, whose parameters are told
        self.unseen = False  # torch.compile was called: no module tells any more that its forward runs
        self.guarded = guarded
        self.wrap_zero_grad(torch.optim.Optimizer)
        self.wrap_zero_grad(torch.nn.Module)
        for name in ("backward", "grad"):
            self.wrap_backward(torch.autograd, name)

    def step_over(self, step):
        self.lines.append((self.when(), step))

    def written(self, steps):
        return [(when, words if isinstance(words, tuple) else ("at", "step")) for when, words in self.lines
                if isinstance(words, tuple) or steps.ends_one(words)]

    def line(self, *words):
        self.lines.append((self.when(), words))

    # Optimizer.zero_grad and Module.zero_grad have no hooks.
    def wrap_zero_grad(self, owner):
        whole, tell = owner.zero_grad, self.guarded(self.line)

        def zero_grad(*arguments, **named):
            tell("at", "zero-grad")
            try:
                return whole(*arguments, **named)
            finally:
                tell("at", "after-zero-grad")
        zero_grad.__doc__, zero_grad.__wrapped__ = whole.__doc__, whole
        owner.zero_grad = zero_grad

    # From where the first gradient is made, before the engine runs. Reentrant checkpoints call it again inside.
    def wrap_backward(self, owner, name):
        whole, tell = getattr(owner, name), self.guarded(self.line)

        def backward(*arguments, **named):
            if not self.inside:
                tell("at", "backward")
            self.inside += 1
            try:
                return whole(*arguments, **named)
            finally:
                self.inside -= 1
                if not self.inside:
                    tell("at", "after-backward")
        backward.__name__, backward.__doc__, backward.__wrapped__ = name, whole.__doc__, whole
        setattr(owner, name, backward)

    def enter(self, module, arguments, name, outermost):
        if outermost and not self.inside and self.has_parameters(module):
            self.tag("inputs", self.tensors(arguments))
            self.line("at", "forward")
        self.line("in", name)

    def leave(self, module, result, name, outermost):
        self.line("out", name, ",".join(str(address) for _, address in self.storages(self.tensors(result))))
        if outermost and not self.inside and self.has_parameters(module):
            self.line("at", "loss")

    def has_parameters(self, module):
        if not self.tagged.get(module):
            self.tagged.set(module, True)
            self.tag_parameters(module.parameters())
            self.tag("buffers", module.buffers())
        return self.modules.has_parameters(module)

    def tag_modules(self):
        """What has_parameters tags, of every module that there is. DeepSpeed's optimizers have copies of parameters."""
        modules = [each for each in gc.get_objects() if issubclass(type(each), self.torch.nn.Module)]
        self.tag_parameters([each for module in modules for each in module.parameters(recurse=False)])
        self.tag("buffers", [each for module in modules for each in module.buffers(recurse=False)])

    def tag_parameters(self, parameters):
        parameters = list(parameters)
        self.tag("parameters", parameters)
        self.tag("frozen", [each for each in parameters if not each.requires_grad])

    def before_update(self, optimizer):
        if self.unseen:
            self.unseen = False
            self.tag_modules()
        self.tag("gradients", (p.grad for p in self.parameters(optimizer) if p.grad is not None))

    def after_update(self, optimizer):
        self.tag("parameters", self.parameters(optimizer))
        states = list(getattr(optimizer, "state", {}).values())
        self.tag("optimizer_state", self.tensors(states))

    def parameters(self, optimizer):
        return [p for group in optimizer.param_groups for p in group["params"]]

    def tag(self, category, tensors):
        by_size = {}
        for size, address in self.storages(tensors):
            by_size.setdefault(size, []).append(str(address))
        for size, addresses in by_size.items():
            self.line("tag", category, size, ",".join(addresses))

    def tensors(self, value, depth=0):
        """The tensors in what a module takes or gives: in lists, dicts and objects with fields, as libraries nest them."""
        if isinstance(value, self.torch.Tensor):
            yield value
        elif depth < 4:
            if isinstance(value, dict):
                value = list(value.values())
            elif hasattr(value, "__dict__") and not isinstance(value, (type, self.torch.nn.Module)):
                value = list(vars(value).values())
            if isinstance(value, (list, tuple)):
                for each in value:
                    yield from self.tensors(each, depth + 1)

    def storages(self, tensors):
        """Where they lie on the card: (bytes of an element, address). Those that lie nowhere are left out."""
        for tensor in tensors:
            tensor = getattr(tensor, "_local_tensor", tensor)  # of a DTensor, this rank's part
            tensor = getattr(tensor, "ds_tensor", tensor)  # of a parameter of ZeRO-3: DeepSpeed keeps it there
            try:
                if tensor.is_cuda and (address := tensor.untyped_storage().data_ptr()):
                    yield tensor.element_size(), address
            except Exception:  # noqa: BLE001  a kind of tensor without a storage
                pass
