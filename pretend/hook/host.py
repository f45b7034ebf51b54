"""Values that the host knows: what was copied to the card from the host or made of numbers, and what follows from it.

A card that is not there computes nothing, and what is read from it is zeros. But many small tensors have values that the
host gave them: sizes, lengths, masks, labels, counters. Of such a tensor the bytes are kept on the host as long as its
storage lives, operators on it are computed on the host too, and what is read then, or becomes a shape, is the host's
result. The card's own operators still run, so that the memory is that of the script; only operators whose result is as
long as the values say are replaced by an allocation of that size.

An operator is seen where PyTorch chooses its backend (the dispatch key BackendSelect), which is below autograd, in every
thread, and for calls that C++ makes too. No function of torch is replaced, and no mode is entered, in which PyTorch takes
other ways. A write by an operator that is not seen changes the version of the tensor, and what was known is unknown.

What is not known counts as zeros, as it is read. A result to which such a value contributed is not `sure`: it is what is
read, but no shape is taken from it. A number that is not known is finite: x == x and x < inf are known.

`vramplan run --values host` sees every operator (otherwise only those of _FOLLOWED) and keeps larger tensors.
"""

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_aten = torch.ops.aten
_CUDA = torch.DispatchKey.CUDA
_BELOW = torch._C._dispatch_keyset_full_after(torch.DispatchKey.BackendSelect)
_NOT_BELOW = torch._C._dispatch_keyset_full_after(torch.DispatchKey.Undefined)  # PythonDispatcher, of no place in the order
_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
_MOST_BYTES, _MOST_BYTES_OF_NUMBERS = 1 << 20, 1 << 16
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Which storage a tensor has. Its Python object would count as a holder, and autograd adds in place only to what nobody else
# holds (torch/csrc/autograd/input_buffer.cpp): so none is made of what is not remembered, nor of any gradient.
_address = getattr(torch._C, "_storage_address", None) or (lambda tensor: tensor.untyped_storage()._cdata)
_graph_task = getattr(torch._C, "_current_graph_task_id", lambda: -1)

# As long as the values of their first argument say; the others' values do not matter for the length.
_SHAPED = {"nonzero": "nonzero()", "_unique2": "unique()", "unique_dim": "unique()",
           "unique_consecutive": "unique_consecutive()", "repeat_interleave.Tensor": "repeat_interleave()",
           "bincount": "bincount()"}
# They ask for nonzero() of a mask.
_MASKED = ("index.Tensor", "index_put_", "_index_put_impl_", "masked_select")
# They refuse a deviation below zero; one that nobody knows is none.
_CHECKED = ("normal.Tensor_Tensor", "normal.float_Tensor", "normal.Tensor_float")
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
            if not _has_kernel("aten::" + name, "CPU")}


class _Known:
    """Of a storage: its bytes, or the one value that is everywhere in it."""
    __slots__ = ("reference", "data", "everywhere", "version", "settled", "sure")


class _Operator:
    """One overload, as its schema describes it."""

    def __init__(self, overload):
        self.overload, self.name = overload, overload.name().partition("::")[2]
        self.base = self.name.partition(".")[0]
        self.random = torch.Tag.nondeterministic_seeded in overload.tags
        arguments = overload._schema.arguments
        self.written = [(number, each.name) for number, each in enumerate(arguments)
                        if each.alias_info is not None and each.alias_info.is_write]
        self.outputs = {each.name for each in arguments if getattr(each, "is_out", False)}
        self.tensors = [number for number, each in enumerate(arguments) if str(each.type) == "Tensor"]
        # No tensor comes in another way: in a list, by its name, or perhaps not at all.
        self.alone = sum("Tensor" in str(each.type) for each in arguments) == len(self.tensors) and \
            not any(arguments[number].kwarg_only for number in self.tensors)
        self.takes_numbers, self.simple = True, len(self.tensors) < 2
        self.is_view = not self.written and any(each.alias_info is not None for each in overload._schema.returns)

    def run(self, way, arguments, named):
        if self.takes_numbers:
            try:
                return self.overload._op_dk(way, *arguments, **named)
            except RuntimeError:
                if not self.has_numbers(arguments):
                    raise
            self.takes_numbers = False
        return self.overload._op_dk(way, *self.without_numbers(arguments), **named)

    def run_in_python(self, arguments, named):
        """While torch.compile traces, PyTorch chooses among kernels in Python too."""
        key = (_keys_of(arguments, named) & _BELOW - _NOT_BELOW).highestPriorityTypeId()
        handler = self.overload._dispatch_cache.get(key) or self.overload._get_dispatch(key)
        if isinstance(handler, torch.DispatchKey):
            return self.run(handler, arguments, named)
        return handler(*arguments, **named)

    def call(self, arguments, named):
        return self.overload(*(arguments if self.takes_numbers else self.without_numbers(arguments)), **named)

    # A number in the place of a tensor comes here as a number, and only some operators take it back so.

    def has_numbers(self, arguments):
        return any(type(arguments[at]) in (bool, int, float, complex) for at in self.tensors if at < len(arguments))

    def without_numbers(self, arguments):
        given = list(arguments)
        for at in self.tensors:
            if at < len(given) and type(given[at]) in (bool, int, float, complex):
                other = next((each for each in arguments if isinstance(each, torch.Tensor)), None)
                with torch._C.DisableTorchFunction():
                    kind = None if other is None else torch.result_type(other, given[at])
                    given[at] = torch.tensor(given[at], dtype=kind, device="cpu")
        return given


class Host:
    def __init__(self, tell, read_unknown, every):
        """Calls tell(what) before a shape is taken from values that are not known, and read_unknown() when one is read.
        `every`: --values host."""
        self.tell, self.read_unknown, self.every = tell, read_unknown, every
        self.known = {}  # of a storage
        self.swept = 1000  # how many it may hold before those that are gone are looked for
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
                self.see(_Operator(getattr(getattr(_aten, base), overload or "default")))

    def see(self, operator):
        name = "aten::" + operator.name
        if operator.is_view or _has_kernel(name, "BackendSelect") or _has_kernel(name, "CompositeImplicitAutograd"):
            return
        if operator.random and not operator.written and operator.name not in _CHECKED:
            return
        ways, after, choose = {}, self.after_of(operator), operator.overload._op_dk
        asks, shaped, simple = operator.name in _MASKED + _CHECKED, operator.name in _SHAPED, operator.simple

        def way_of(keys):
            way = ways.get(keys.raw_repr())
            if way is None:
                key = (keys & _BELOW).highestPriorityTypeId()
                if key in (torch.DispatchKey.PythonDispatcher, torch.DispatchKey.Undefined):
                    return None, False
                way = ways[keys.raw_repr()] = _way(name, key), key == _CUDA
            return way

        def seen(keys, *arguments, **named):
            way, on_card = way_of(keys)
            try:
                if way is None:
                    return operator.run_in_python(arguments, named)
                if not on_card:
                    return choose(way, *arguments, **named) if simple else operator.run(way, arguments, named)
                if asks:
                    self.asking = operator.name
                if shaped:
                    return self.shaped(operator, way, arguments, named)
                result = choose(way, *arguments, **named) if simple else operator.run(way, arguments, named)
                return after(operator, result, arguments, named)
            except BaseException:
                del arguments, named  # a traceback would hold the tensors longer than without us
                raise
            finally:
                if asks:
                    self.asking = None

        known, tensors, tensor, here = self.known, operator.tensors, torch.Tensor, {}

        # The same, with as little Python as can be: most operators have nothing to do with a value that is known.
        def followed(keys, *arguments, **named):
            way = here.get(keys.raw_repr())
            if way is None:
                way, on_card = way_of(keys)
                if not (on_card and operator.takes_numbers):
                    return seen(keys, *arguments, **named)
                here[keys.raw_repr()] = way
            for at in tensors:
                if isinstance(arguments[at], tensor) and _address(arguments[at]) in known:
                    return seen(keys, *arguments, **named)
            try:
                return choose(way, *arguments, **named)
            except RuntimeError:
                if not operator.has_numbers(arguments):
                    del arguments, named
                    raise
            here.clear()
            return seen(keys, *arguments, **named)
        if after.__name__ == "after" and operator.alone and not (asks or shaped):
            self.register(operator, followed)
        else:
            self.register(operator, seen)

    def register(self, operator, seen):
        try:
            self.library.impl(operator.name, seen, "BackendSelect", with_keyset=True)
        except TypeError:  # before torch 2.4
            self.library.impl(operator.name, lambda *arguments, **named: seen(_keys_of(arguments, named), *arguments, **named),
                              "BackendSelect")

    def after_of(self, operator):
        """What follows when the operator has run on the card: gives back what the caller gets."""
        special = {"copy_": self.copied, "fill_.Scalar": self.filled, "fill_.Tensor": self.filled, "zero_": self.filled,
                   "_local_scalar_dense": self.read, "_is_all_true": self.all_true}
        rule = special.get(operator.name, self.compared if operator.name in {**_COMPARED, **_LIMITS} else self.follow)
        makes = rule == self.filled or rule == self.all_true or operator.outputs or operator.name in {**_COMPARED, **_LIMITS}

        def after(operator, result, arguments, named):
            # Most operators have nothing to do with a value that is known.
            return result if not self.any_known(arguments) else self.guarded(operator, rule, result, arguments, named)

        def after_copy(operator, result, arguments, named):
            if arguments[0].numel() > _MOST_BYTES and arguments[0].is_floating_point() and arguments[0].is_cuda:
                return result
            return self.guarded(operator, rule, result, arguments, named)

        def always(operator, result, arguments, named):
            return self.guarded(operator, rule, result, arguments, named)
        return after_copy if rule == self.copied else always if makes or rule == self.read else after

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

    def may_be_known(self, tensor):
        # Large tensors of numbers are not kept.
        return tensor is not None and (tensor.numel() <= _MOST_BYTES_OF_NUMBERS or not tensor.is_floating_point() or self.every) \
            and _address(tensor) in self.known

    def guarded(self, operator, rule, result, arguments, named):
        try:
            with torch._C.DisableTorchFunction():
                return rule(operator, result, arguments, named)
        except Exception:  # noqa: BLE001  what the host has no kernel for
            self.failed[operator.name] = self.failed.get(operator.name, 0) + 1
            self.forget_written(operator, result, arguments, named)
            return result

    # -- what is known

    def find(self, tensor, slack=0):
        """`slack`: so many writes more were counted, of the operator that runs."""
        if type(tensor) not in _PLAIN or tensor.is_conj() or tensor.is_neg():
            return None  # a kind of its own, whose parts nobody here knows
        known = self.known.get(_address(tensor))
        if known is None:
            return None
        version = _version(tensor)
        # The write that was seen is counted after it was made, or not at all.
        if not known.settled and version == known.version + 1 or known.version < version <= known.version + slack:
            known.version = version
        known.settled = True
        return known if version == known.version else None

    def knows(self, tensor):
        """Whether its values are known for sure."""
        with torch._C.DisableTorchFunction():
            known = self.find(tensor)
            return known is not None and known.sure

    def twin(self, tensor, known):
        """The tensor on the host. What is not known is zeros."""
        if known is None:
            return torch.zeros((), dtype=tensor.dtype, device="cpu").expand(tensor.size())
        if known.everywhere is not None:
            return known.everywhere.to(tensor.dtype).expand(tensor.size())
        return torch.empty(0, dtype=tensor.dtype, device="cpu").set_(
            known.data.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())

    def most(self, dtype):
        return _MOST_BYTES if self.every or not dtype.is_floating_point else _MOST_BYTES_OF_NUMBERS

    def is_small(self, tensor):
        return tensor.numel() * tensor.element_size() <= self.most(tensor.dtype)

    def remember(self, tensor, value, sure=True):
        """`value`: the whole of it, on the host."""
        if type(tensor) not in _PLAIN:
            return
        if _is_gradient(tensor) or not self.is_small(tensor) or not _may_be_whole(tensor) and _address(tensor) not in self.known:
            self.forget(tensor)
            return
        storage = tensor.untyped_storage()
        if not 0 < storage.nbytes() <= self.most(tensor.dtype):
            self.forget(tensor)
            return
        known = self.writable(tensor, storage)
        self.twin(tensor, known).copy_(value)
        self.wrote(tensor, known, sure)

    def remember_everywhere(self, tensor, value, sure=True):
        """It is the same in the whole tensor, which may be large."""
        if type(tensor) not in _PLAIN or tensor.numel() == 0:
            return
        if _is_gradient(tensor) or tensor.dtype.is_floating_point and not self.is_small(tensor):
            self.forget(tensor)
        elif not _may_be_whole(tensor) or not _is_whole(tensor):
            self.remember(tensor, value, sure)
        else:
            known = self.fresh(tensor.untyped_storage())
            known.everywhere = torch.zeros((), dtype=tensor.dtype, device="cpu").copy_(torch.as_tensor(value, device="cpu"))
            self.wrote(tensor, known, sure)

    def writable(self, tensor, storage):
        """What is known of the tensor's storage, as bytes."""
        known = self.find(tensor)
        if known is None:
            known = self.fresh(storage)
            known.sure, known.version, known.settled = _is_whole(tensor), _version(tensor), True
        if known.data is None:
            known.data = torch.zeros(storage.nbytes(), dtype=torch.uint8, device="cpu")
            if known.everywhere is not None:
                known.data.view(known.everywhere.dtype).fill_(known.everywhere)
                known.everywhere = None
        return known

    def fresh(self, storage):
        if len(self.known) >= self.swept:
            for key in [key for key, known in self.known.items() if known.reference.expired()]:
                del self.known[key]
            self.swept = 2 * len(self.known) + 1000
        known = self.known[storage._cdata] = _Known()
        known.reference, known.data, known.everywhere, known.sure = StorageWeakRef(storage), None, None, True
        return known

    def wrote(self, tensor, known, sure):
        known.version, known.settled = _version(tensor), False
        known.sure = sure and (known.sure or _is_whole(tensor))

    def forget(self, tensor):
        self.known.pop(_address(tensor), None)

    def forget_written(self, operator, result, arguments, named):
        for each in _written(operator, arguments, named):
            self.forget(each)
        return result

    # -- operators

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
            if self.asking in _CHECKED:
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
        self.tell("a mask as index" if self.asking in _MASKED and operator.name == "nonzero" else
                  _SHAPED[operator.name] + (" of unknown values" if self.every else ""))
        return operator.run(way, arguments, named)

    def there(self, value, device):
        tensor = torch.empty(value.shape, dtype=value.dtype, device=device)
        self.remember(tensor, value)
        return tensor

    def follow(self, operator, result, arguments, named):
        tensors = [each for each in _flat(arguments, named) if isinstance(each, torch.Tensor) and each.is_cuda]
        targets = [each for each in _written(operator, arguments, named) if each.is_cuda]
        if any(map(_is_gradient, targets)):
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
        fresh = [each for each in _flat((result,), {}) if isinstance(each, torch.Tensor) and each.is_cuda]
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
        values = [each for each in _flat((values,), {}) if each is None or isinstance(each, (torch.Tensor, bool))]
        if not fresh and isinstance(result, bool):  # equal()
            return values[0]
        for each in targets if not operator.outputs else ():
            self.wrote(each, self.known[_address(each)], sure)
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


def _way(name, key):
    """The key under which the operator's own kernel for it stands."""
    for each in (key, torch.DispatchKey.CompositeExplicitAutogradNonFunctional, torch.DispatchKey.CompositeExplicitAutograd):
        if _has_kernel(name, each) and (each == key or torch._C._dispatch_is_included_in_alias(key, each)):
            return each
    raise NotImplementedError("Could not run '%s' with arguments from the '%s' backend." % (name, key.name))


def _keys_of(arguments, named):
    keys = torch._C._dispatch_tls_local_include_set()
    for each in _flat(arguments, named):
        if isinstance(each, torch.Tensor):
            keys = keys | torch._C._dispatch_keys(each)
    return keys - torch._C._dispatch_tls_local_exclude_set()


def _flat(arguments, named):
    for each in (*arguments, *named.values()):
        if isinstance(each, (list, tuple)):
            yield from each
        else:
            yield each


def _each(results, change):
    if isinstance(results, (list, tuple)):
        return tuple(change(each) for each in results)
    return change(results)


def _version(tensor):
    return 0 if tensor.is_inference() else tensor._version


def _is_gradient(tensor):
    """Numbers that a backward makes; masks and places that it makes again are not."""
    return tensor.is_floating_point() and _graph_task() != -1


def _may_be_whole(tensor):
    return tensor.storage_offset() == 0 and tensor._base is None and tensor.is_contiguous()


def _is_whole(tensor):
    return tensor.is_contiguous() and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()


def _written(operator, arguments, named):
    found = []
    for number, name in operator.written:
        value = arguments[number] if number < len(arguments) else named.get(name)
        found += [each for each in (value if isinstance(value, (list, tuple)) else [value])
                  if isinstance(each, torch.Tensor)]
    return found


def install(tell, read_unknown, every):
    host = Host(tell, read_unknown, every)
    host.install()
    return host
