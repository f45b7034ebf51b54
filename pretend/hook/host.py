"""Values that the host knows: what was copied to the card from the host or made of numbers, and what follows from it.

A card that is not there computes nothing, and what is read from it is zeros. But many small tensors have values that the
host gave them: sizes, lengths, masks, labels, counters. Of such a tensor the bytes are kept on the host as long as its
storage lives, operators on it are computed on the host too, and what is read then, or becomes a shape, is the host's
result. The card's own operators still run, so that the memory is that of the script; only operators whose result is as
long as the values say are replaced by an allocation of that size.

A result to which a value contributed that is not known is not `sure`: it is what is read, but no shape is taken from it. A
number that is not known is finite: x == x and x < inf are known.

`vramplan run --values host` sees every operator (otherwise only those of _FOLLOWED) and keeps larger tensors.
"""

import torch

_known, _operators = part("known"), part("operators")  # noqa: F821  sitecustomize.py gives it to its parts
_aten = torch.ops.aten

# As long as the values of their first argument say; the others' values do not matter for the length.
_SHAPED = {"nonzero": "nonzero()", "_unique": "unique()", "_unique2": "unique()", "unique_dim": "unique()",
           "unique_consecutive": "unique_consecutive()", "repeat_interleave.Tensor": "repeat_interleave()",
           "bincount": "bincount()"}
# They ask for nonzero() of a mask.
_MASKED = ("index.Tensor", "index_put_", "_index_put_impl_", "masked_select")
# They refuse a deviation or a length below zero; one that nobody knows is none.
_CHECKED = ("normal.Tensor_Tensor", "normal.float_Tensor", "normal.Tensor_float", "repeat_interleave.Tensor")
# They look for a large tensor's values among others by unique() of it, and the last one of these by its place.
_SEARCHED = ("isin.Tensor_Tensor", "isin.Tensor_Tensor_out")
_COMPARED = {"eq.Tensor": True, "ne.Tensor": False}  # of a number with itself
_LIMITS = {"eq.Scalar": lambda limit: False, "ne.Scalar": lambda limit: True, "lt.Scalar": lambda limit: limit > 0,
           "le.Scalar": lambda limit: limit > 0, "gt.Scalar": lambda limit: limit < 0, "ge.Scalar": lambda limit: limit < 0}
# What is the same everywhere stays so, and needs one element only.
_ELEMENTWISE = {"mul", "logical_not", "logical_and", "logical_or", "logical_xor", "bitwise_not", "bitwise_and", "bitwise_or",
                "bitwise_xor", "eq", "ne", "lt", "le", "gt", "ge", "all", "any", "max", "min"}
# Which of several numbers is the largest is not known where one of them is not; and two numbers differ.
_CHOOSING = {"argmax", "argmin", "topk", "sort", "searchsorted", "bucketize", "max.dim", "min.dim"}
_EQUAL = {"eq": False, "ne": True, "isin": False}
_FOLLOWED = frozenset((
    "add add_ sub sub_ rsub mul mul_ div div_ floor_divide floor_divide_ remainder remainder_ fmod pow pow_ neg abs sign "
    "clamp clamp_ clamp_min clamp_max maximum minimum floor ceil round trunc sqrt rsqrt reciprocal exp log log2 sin cos "
    "eq ne lt le gt ge eq_ ne_ lt_ le_ gt_ ge_ logical_not logical_and logical_or logical_xor "
    "bitwise_not bitwise_and bitwise_and_ bitwise_or bitwise_or_ bitwise_xor bitwise_xor_ "
    "sum prod mean max min amax amin argmax argmin all any cumsum cumprod count_nonzero isin "
    "cat stack where index_select gather masked_fill masked_fill_ scatter scatter_ index_fill index_fill_ index_copy_ "
    "flip roll tril triu sort topk searchsorted bucketize equal lerp "
    "_amp_update_scale_").split())
_ALONE = {*_SHAPED, *_MASKED, *_CHECKED, "copy_", "fill_.Scalar", "fill_.Tensor", "zero_", "_local_scalar_dense", "_is_all_true",
          "arange.start_out", "linspace.out", "eye.out", "eye.m_out", "_foreach_add_.Scalar"}


# They change a tensor and no value: what is known is of its storage.
_OF_SHAPE = {"resize_", "resize_as_", "set_", "as_strided_", "squeeze_", "unsqueeze_", "t_", "transpose_", "detach_"}


# What the host has no kernels for before torch 2.3: a gradient scaler's two.
def _unscale(gradients, found_inf, inverse):
    for gradient in gradients:
        if not gradient.isfinite().all():
            found_inf.fill_(1.0)
        gradient.mul_(inverse)


def _update_scale(scale, tracker, found_inf, growth, backoff, interval):
    if found_inf.item():
        scale.mul_(backoff)
        tracker.zero_()
    elif tracker.item() + 1 == interval:
        scale.mul_(growth)
        tracker.zero_()
    else:
        tracker.add_(1)
    return scale


_BY_HAND = {name: instead
            for name, instead in (("_amp_foreach_non_finite_check_and_unscale_", _unscale), ("_amp_update_scale_", _update_scale))
            if not _operators.has_kernel("aten::" + name, "CPU")}


class Host(_known.Known):
    def __init__(self, tell, read_unknown, every):
        """Calls tell(what) before a shape is taken from values that are not known, and read_unknown() when one is read.
        `every`: --values host."""
        super().__init__(every)
        self.tell, self.read_unknown = tell, read_unknown
        self.asking = None  # the operator that asks for nonzero() or a value itself
        self.ran, self.unknown, self.failed = 0, 0, {}

    def install(self):
        self.library = torch.library.Library("aten", "IMPL")
        for name in torch._C._dispatch_get_all_op_names():
            space, _, name = name.partition("::")
            base, _, overload = name.partition(".")
            # PyTorch calls those that write into `out` from within others, with numbers as tensors on the card, which do not
            # become arguments in Python (pow.Scalar).
            if space == "aten" and base not in _OF_SHAPE and (
                    name in _ALONE or (self.every or base in _FOLLOWED or _writes(base)) and "out" not in overload):
                self.see(_operators.Operator(getattr(getattr(_aten, base), overload or "default")))

    def see(self, operator):
        if not operator.is_seen() or operator.random and not operator.written and operator.name not in _CHECKED:
            return
        special = {"copy_": self.copied, "fill_.Scalar": self.filled, "fill_.Tensor": self.filled, "zero_": self.filled,
                   "_local_scalar_dense": self.read, "_is_all_true": self.all_true}
        compared = operator.name in {**_COMPARED, **_LIMITS}
        rule = special.get(operator.name, self.compared if compared else self.follow)

        # Most operators have nothing to do with a value that is known.
        def after_known(operator, result, arguments, named):
            return result if not self.any_known(arguments) else self.guarded(operator, rule, result, arguments, named)

        def after_copy(operator, result, arguments, named):
            if arguments[0].numel() > _known.MOST_BYTES and arguments[0].is_floating_point() and arguments[0].is_cuda:
                return result
            return self.guarded(operator, rule, result, arguments, named)

        def after_all(operator, result, arguments, named):
            return self.guarded(operator, rule, result, arguments, named)
        asks = self if operator.name in _MASKED + _CHECKED + _SEARCHED else None
        instead = self.shaped if operator.name in _SHAPED else None
        after = after_copy if rule == self.copied else \
            after_all if compared or operator.outputs or rule in (self.filled, self.all_true, self.read) else after_known
        skips = after is after_known and not (asks or instead)
        operator.watch(self.library, after, instead, asks, self.known if skips else None)

    def any_known(self, arguments):
        for each in arguments:
            if isinstance(each, torch.Tensor):
                if self.may_be_known(each):
                    return True
            elif isinstance(each, (list, tuple)) and each and isinstance(each[0], torch.Tensor):
                # Optimizers ask for sums of all parameters; what is known of them are counters of one element.
                if (len(each) < 16 or each[0].numel() == 1) and any(map(self.may_be_known, each)):
                    return True
        return False

    def guarded(self, operator, rule, result, arguments, named):
        try:
            with torch._C.DisableTorchFunction():
                return rule(operator, result, arguments, named)
        except Exception:  # noqa: BLE001  what the host has no kernel for
            self.failed[operator.name] = self.failed.get(operator.name, 0) + 1
            self.forget_written(operator, result, arguments, named)
            return result

    def forget_written(self, operator, result, arguments, named):
        for each in _operators.written(operator, arguments, named):
            self.forget(each)
        return result

    def copied(self, operator, result, arguments, named):
        target, source = arguments[:2]
        if not target.is_cuda:
            known = self.find(source)
            if known is not None:
                target.copy_(self.twin(source, known))
            if known is None or not known.sure:
                self.unknown += 1
                self.read_unknown()
        elif not self.is_small(target):
            if self.known:
                self.forget(target)
        elif not source.is_cuda:
            self.remember(target, source)
        else:
            known = self.find(source)
            if known is None:
                self.forget(target)
            else:
                self.remember(target, self.twin(source, known), known.sure)
        return result

    def filled(self, operator, result, arguments, named):
        value, sure = arguments[1] if len(arguments) > 1 else 0, True
        if isinstance(value, torch.Tensor) and value.is_cuda:
            known = self.find(value)
            if known is None:
                self.forget(arguments[0])
                return result
            value, sure = self.twin(value, known), known.sure
        self.remember_everywhere(arguments[0], value, sure)
        return result

    def read(self, operator, result, arguments, named):
        known = self.find(arguments[0])
        if known is None or not known.sure:
            if self.asking in _CHECKED and arguments[0].dtype == torch.bool:
                return True
            self.unknown += 1
            self.read_unknown()
            if self.every and not arguments[0].is_floating_point():
                self.tell("item() of an unknown value")
        return result if known is None else self.twin(arguments[0], known).item()

    def all_true(self, operator, result, arguments, named):
        """torch.distributions asks whether all its parameters are valid; those that nobody knows are."""
        known = self.find(arguments[0])
        valid = known is None or not known.sure or bool(self.twin(arguments[0], known).all())
        self.remember_everywhere(result, valid)
        return result

    def compared(self, operator, result, arguments, named):
        value, other = arguments[:2]
        if isinstance(value, torch.Tensor) and value.is_floating_point() and (value.is_cuda or isinstance(other, torch.Tensor)):
            known = self.find(value)
            if known is None or not known.sure:
                if operator.name in _COMPARED and value is other:
                    self.remember_everywhere(result, _COMPARED[operator.name])
                    return result
                if operator.name in _LIMITS and isinstance(other, float) and other in (float("inf"), -float("inf")):
                    self.remember_everywhere(result, _LIMITS[operator.name](other))
                    return result
        return self.follow(operator, result, arguments, named)

    def shaped(self, operator, way, arguments, named):
        first = arguments[0]
        with torch._C.DisableTorchFunction():
            known = self.find(first)
            if known is not None and known.sure and (self.is_small(first) or known.everywhere is not None):
                results = operator.call(self.on_host(arguments), self.on_host(named))
                self.ran += 1
                return _each(results, lambda result: self.there(result, first.device))
        if self.asking in _SEARCHED:  # numbers that nobody knows differ
            _, places, *more = operator.run(way, arguments, named)
            return torch.empty(first.numel(), dtype=first.dtype, device=first.device), places, *more
        self.tell("a mask as index" if self.asking in _MASKED and operator.name == "nonzero" else
                  _SHAPED[operator.name] + (" of unknown values" if self.every else ""))
        return operator.run(way, arguments, named)

    def there(self, value, device):
        tensor = torch.empty(value.shape, dtype=value.dtype, device=device)
        self.remember(tensor, value)
        return tensor

    def follow(self, operator, result, arguments, named):
        tensors = [each for each in _operators.flat(arguments, named) if isinstance(each, torch.Tensor) and each.is_cuda]
        targets = [each for each in _operators.written(operator, arguments, named) if each.is_cuda]
        if any(map(_known.is_gradient, targets)):
            return self.forget_written(operator, result, arguments, named)
        inputs = [each for each in tensors if not operator.outputs or not any(each is target for target in targets)]
        # Of lists a write is counted before it is made.
        known = [self.find(each, int(bool(targets) and operator.base.startswith("_foreach"))) for each in inputs]
        made = operator.outputs and not inputs  # of numbers alone
        sure = all(each is not None and each.sure for each in known)
        choosing = operator.base in _CHOOSING or operator.name in _CHOOSING
        if operator.random or not (made or sure or not choosing and any(each is not None for each in known)):
            if known:
                self.unknown += 1
            return self.forget_written(operator, result, arguments, named)
        fresh = [each for each in _operators.flat((result,), {}) if isinstance(each, torch.Tensor) and each.is_cuda]
        if all(each is not None and each.everywhere is not None for each in known) and known and not targets and \
                operator.base in _ELEMENTWISE and len(arguments) <= 2 and len(fresh) == 1:
            value = operator.call([each if not isinstance(each, torch.Tensor) or not each.is_cuda else
                                   self.find(each).everywhere.to(each.dtype) for each in arguments], named)
            self.remember_everywhere(fresh[0], value, sure)
            return result
        if not all(map(self.is_small, [*fresh, *inputs, *targets])):
            self.unknown += 1
            return self.forget_written(operator, result, arguments, named)
        # States of optimizers, which gradients go into: they decide nothing.
        if not (sure or self.every) and any(each.is_floating_point() and each.numel() > 1 for each in targets):
            return self.forget_written(operator, result, arguments, named)
        for each in targets:
            if operator.outputs:
                self.forget(each)
            else:
                self.writable(each, each.untyped_storage())
        if not sure and operator.base in _EQUAL and fresh:
            self.remember_everywhere(fresh[0], _EQUAL[operator.base], sure)
            return result
        here = self.on_host(arguments), self.on_host(
            {name: each for name, each in named.items() if name not in operator.outputs}, operator, targets)
        values = _BY_HAND[operator.name](*here[0]) if operator.name in _BY_HAND else operator.call(*here)
        self.ran += 1
        values = [each for each in _operators.flat((values,), {}) if each is None or isinstance(each, (torch.Tensor, bool))]
        if not fresh and isinstance(result, bool):  # equal()
            return values[0]
        for each in targets if not operator.outputs else ():
            self.wrote(each, self.known[_known.address(each)], sure)
        for there, value in zip(fresh, values):
            if operator.outputs or not any(there is each for each in targets):
                if sure or not value.is_floating_point() or bool(value.isfinite().all()):
                    self.remember(there, value, sure)
        return result

    def on_host(self, values, operator=None, targets=()):
        def twin(value):
            if isinstance(value, torch.Tensor) and value.is_cuda:
                return self.twin(value, self.find(value))
            if isinstance(value, torch.device) and value.type == "cuda":
                return torch.device("cpu")
            return [twin(each) for each in value] if isinstance(value, (list, tuple)) else value
        if isinstance(values, dict):
            there = {name: twin(value) for name, value in values.items()}
            if operator is not None and operator.outputs:
                there.update(zip(sorted(operator.outputs), (torch.empty(0, dtype=each.dtype, device="cpu") for each in targets)))
            return there
        return [twin(each) for each in values]


def _writes(base):
    return base.endswith("_") and not base.startswith("_")


def _each(results, change):
    if isinstance(results, (list, tuple)):
        return tuple(change(each) for each in results)
    return change(results)


def install(tell, read_unknown, every):
    host = Host(tell, read_unknown, every)
    host.install()
    return host
