"""What `vramplan run --try` changes in a script: each of these is one run, and says what it really changed."""

import functools
import gc
import types


def install(torch, change, told):
    """`change`: its name; told(text) is called with what was changed, once."""
    {"checkpoint": _checkpoint, "foreach": _foreach, "8-bit": _eight_bit, "amp": _autocast, "half": _half_batch}[change](
        torch, _once(told))


def _once(told):
    known = set()

    def tell(text):
        if text not in known:
            known.add(text)
            told(text)
    return tell


def _before_calls(torch, then):
    """then(module) before a module is called, and before its forward is looked up, as a hook would be too late for."""
    whole = torch.nn.Module.__call__

    def call(self, *arguments, **named):
        then(self)
        return whole(self, *arguments, **named)
    torch.nn.Module.__call__ = call


def _root(torch, module):
    """The outermost module that has this one. It need not be called itself: a LightningModule is not."""
    root, largest = module, 0
    for each in gc.get_objects():
        if issubclass(type(each), torch.nn.Module) and each is not module:
            inside = list(each.modules())
            if len(inside) > largest and any(one is module for one in inside):
                root, largest = each, len(inside)
    return root


def _repeated(torch, model):
    """The lists of modules of one kind, such as a transformer's layers, that no other list holds: name, modules."""
    found = []
    for name, module in model.named_modules():
        children = list(module.children())
        kinds = {type(child) for child in children}
        inside = any(not outer or name.startswith(outer + ".") for outer, _ in found)
        is_list = isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential))
        if is_list and len(children) > 1 and len(kinds) == 1 and not inside and any(children[0].children()):
            found.append((name, children))
    return found


def _sequences(torch, model):
    """The outermost nn.Sequential of so many modules that parts of them are worth it: name, module."""
    found = []
    for name, module in model.named_modules():
        inside = any(not outer or name.startswith(outer + ".") for outer, _ in found)
        if type(module).forward is torch.nn.Sequential.forward and len(module) >= 4 and not inside:
            found.append((name, module))
    return found


def _by_library(module, told):
    """As transformers and diffusers do it themselves. Their caches of keys do not go with it."""
    from_transformers = getattr(type(module), "gradient_checkpointing_enable", None)
    from_diffusers = getattr(type(module), "enable_gradient_checkpointing", None)
    name = type(module).__name__
    if getattr(module, "is_gradient_checkpointing", False):
        return False
    try:
        if from_transformers:
            module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            name += ".gradient_checkpointing_enable()"
        elif from_diffusers:
            module.enable_gradient_checkpointing()
            name += ".enable_gradient_checkpointing()"
        else:
            return False
    except (TypeError, ValueError):  # one that has the method and no layers for it
        return False
    if getattr(getattr(module, "config", None), "use_cache", None):
        module.config.use_cache = False
        name += ", config.use_cache=False"
    told(name)
    return True


def _checkpoint(torch, told):
    """Layers compute their forwards again in the backward: as their library does it, else each module of a list of
    equals, else the parts of an nn.Sequential (torch.utils.checkpoint)."""
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential
    seen = set()

    def change(module):
        if id(module) in seen or not torch.is_grad_enabled():
            return
        model = _root(torch, module)
        seen.update(map(id, model.modules()))
        if not any(each.requires_grad for each in model.parameters()):
            return  # a frozen one saves nothing
        outermost = []
        for each in model.modules():
            if not any(each is inner for outer in outermost for inner in outer.modules()) and _by_library(each, told):
                outermost.append(each)
        if outermost:
            return
        lists = _repeated(torch, model)
        for _, children in lists:
            for child in children:
                child.forward = _again(checkpoint, torch, child.forward)
        if lists:
            told(", ".join("%s (%d x %s)" % (name or type(model).__name__, len(children), type(children[0]).__name__)
                           for name, children in lists))
            return
        for name, sequence in _sequences(torch, model):
            parts = round(len(sequence) ** 0.5)
            sequence.forward = _in_parts(checkpoint_sequential, torch, sequence, parts)
            told("%s (%d modules in %d parts)" % (name or "nn.Sequential", len(sequence), parts))
    _before_calls(torch, change)


def _in_parts(checkpoint_sequential, torch, sequence, parts):
    def forwarded(value):
        if not torch.is_grad_enabled():
            return torch.nn.Sequential.forward(sequence, value)
        return checkpoint_sequential(list(sequence), parts, value, use_reentrant=False)
    return forwarded


def _again(checkpoint, torch, forward):
    def forwarded(*arguments, **named):
        if not torch.is_grad_enabled():
            return forward(*arguments, **named)
        return checkpoint(forward, *arguments, use_reentrant=False, **named)
    return forwarded


def _foreach(torch, told):
    """Optimizers update one parameter after the other: no list of temporaries as large as the model."""
    from torch.optim import optimizer

    def slow(one, *_):
        changed = False
        for group in one.param_groups:
            if group.get("foreach") is None and not group.get("fused") and "foreach" in group:
                group["foreach"] = False
                changed = True
        if changed:
            told(type(one).__name__ + "(foreach=False)")
    optimizer.register_optimizer_step_pre_hook(slow)


def _eight_bit(torch, told):
    """Adam and AdamW keep their states in 8 bits (bitsandbytes, where it is installed)."""
    try:
        import bitsandbytes
    except ImportError:
        return
    for name in ("Adam", "AdamW"):
        small = getattr(bitsandbytes.optim, name + "8bit")

        def make(parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=None, *, small=small, name=name, **_):
            told("bitsandbytes.optim.%s8bit" % name)
            decay = {} if weight_decay is None else {"weight_decay": weight_decay}
            return small(parameters, lr=lr, betas=betas, eps=eps, **decay)
        setattr(torch.optim, name, make)


def _autocast(torch, told):
    """Forwards and losses run under autocast, up to the backward: in bf16 where the card has it, else in fp16 (a
    GradScaler, which takes a few bytes, is not added)."""
    kind = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16
    # Its own, and whether the script uses autocast by itself: then nothing is changed.
    ours = {"context": None, "inside": False, "by_script": False}
    enter = torch.autocast.__enter__

    @functools.wraps(enter)
    def entered(self):
        if not ours["inside"] and self.device == "cuda" and self._enabled:
            ours["by_script"] = True
            leave()
        return enter(self)
    torch.autocast.__enter__ = entered

    def leave():
        if ours["context"] is not None:
            ours["context"].__exit__(None, None, None)
            ours["context"] = None

    def begin(module):
        if ours["context"] is not None or ours["by_script"] or not torch.is_grad_enabled():
            return
        if any(each.dtype == torch.float32 and each.is_cuda for each in module.parameters()):
            ours["inside"] = True
            ours["context"] = torch.autocast("cuda", dtype=kind)
            ours["context"].__enter__()
            ours["inside"] = False
    _before_calls(torch, begin)

    for name in ("backward", "grad"):
        whole = getattr(torch.autograd, name)

        @functools.wraps(whole)
        def backward(*arguments, whole=whole, **named):
            if ours["context"] is not None:
                leave()
                told("autocast in " + str(kind).replace("torch.", ""))
            return whole(*arguments, **named)
        setattr(torch.autograd, name, backward)


def _half_batch(torch, told):
    """A DataLoader gives half the batch, and optimizers step each second time: gradients are accumulated between."""
    from torch.optim import Optimizer
    from torch.utils.data import DataLoader
    skipped = {"halved": False, "odd": False}
    whole_loader, whole_optimizer = DataLoader.__init__, Optimizer.__init__

    @functools.wraps(whole_loader)
    def make_loader(self, dataset, batch_size=1, *arguments, **named):
        if isinstance(batch_size, int) and batch_size > 1 and named.get("batch_sampler") is None and len(arguments) < 3:
            batch_size = (batch_size + 1) // 2
            skipped["halved"] = True
            told("DataLoader(batch_size=%d), and a step each second time" % batch_size)
        whole_loader(self, dataset, batch_size, *arguments, **named)
    DataLoader.__init__ = make_loader

    @functools.wraps(whole_optimizer)
    def make_optimizer(self, *arguments, **named):
        whole_optimizer(self, *arguments, **named)
        whole_step, count = type(self).step, [0]

        def step(self, closure=None, **named):
            given = {} if closure is None else {"closure": closure}
            if not skipped["halved"]:  # the batches are made otherwise
                return whole_step(self, **given, **named)
            result = None
            if count[0] % 2:
                result = whole_step(self, **given, **named)
            elif closure is not None:
                with torch.enable_grad():
                    result = closure()
            count[0] += 1
            skipped["odd"] = bool(count[0] % 2)
            return result
        self.step = types.MethodType(step, self)
    Optimizer.__init__ = make_optimizer

    for owner in (Optimizer, torch.nn.Module):
        zero = owner.zero_grad

        @functools.wraps(zero)
        def zero_grad(self, *arguments, zero=zero, **named):
            if not skipped["odd"]:
                zero(self, *arguments, **named)
        owner.zero_grad = zero_grad
