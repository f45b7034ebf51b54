"""What `vramplan run --try` changes in a script: each of these is one run, and says what it really changed."""


def install(torch, change, told):
    """`change`: its name; told(text) is called with what was changed, once."""
    {"checkpoint": _checkpoint, "foreach": _foreach, "8-bit": _eight_bit}[change](torch, told)


def _repeated(torch, model):
    """The lists of modules of one kind, such as a transformer's layers, that no other list holds: name, modules."""
    found = []
    for name, module in model.named_modules():
        children = list(module.children())
        kinds = {type(child) for child in children}
        inside = any(name.startswith(outer + ".") for outer, _ in found)
        is_list = isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential))
        if is_list and len(children) > 1 and len(kinds) == 1 and not inside and any(children[0].children()):
            found.append((name, children))
    return found


def _checkpoint(torch, told):
    """Each module of a list of equals computes its forward again in the backward (torch.utils.checkpoint)."""
    from torch.utils.checkpoint import checkpoint
    seen = set()

    def wrap(module, _):
        if id(module) in seen or not torch.is_grad_enabled():
            return
        seen.update(map(id, module.modules()))
        lists = _repeated(torch, module)
        for _, children in lists:
            for child in children:
                child.forward = _again(checkpoint, torch, child.forward)
        if lists:
            told(", ".join("%s (%d x %s)" % (name, len(children), type(children[0]).__name__)
                           for name, children in lists))
    torch.nn.modules.module.register_module_forward_pre_hook(wrap)


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
