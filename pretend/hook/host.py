"""Small tensors are computed on the host too (`vramplan run --values host`).

A card that is not there computes nothing, and what is read from it is zeros. In this mode every operator whose inputs on
the card are known is run a second time on the host, and what is read then, or becomes a shape, is the host's result. Known
are tensors that were copied from the host or made of numbers, and what follows from them alone; tensors above 1 MiB and
random ones are not. The card's own operators still run, so that the memory is that of the script; only operators whose
result is as long as the values say are replaced by an allocation of that size.
"""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

_MOST_BYTES = 1 << 20
_aten = torch.ops.aten
# As long as the values of their first argument say; the others' values do not matter for the length.
_SHAPED = {_aten.nonzero.default, _aten._unique2.default, _aten.unique_dim.default, _aten.unique_consecutive.default,
           _aten.repeat_interleave.Tensor, _aten.bincount.default}
# What was there before does not matter.
_WRITERS = {_aten.copy_.default, _aten.fill_.Scalar, _aten.fill_.Tensor, _aten.zero_.default}
_EMPTY = {_aten.empty.memory_format, _aten.empty_strided.default, _aten.empty_like.default, _aten.new_empty.default,
          _aten.new_empty_strided.default}


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


_BY_HAND = {getattr(_aten, name).default: instead
            for name, instead in (("_amp_foreach_non_finite_check_and_unscale_", _unscale), ("_amp_update_scale_", _update_scale))
            if not torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "CPU")}


class Host(TorchDispatchMode):
    def __init__(self, tell):
        super().__init__()
        self.tell = tell
        self.known = {}  # of a storage: (weak reference, its bytes on the host)
        self.ran, self.unknown, self.failed = 0, 0, {}

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        tensors = [each for each in tree_flatten((arguments, named))[0] if isinstance(each, torch.Tensor)]
        on_card = [each for each in tensors if each.is_cuda]
        if not on_card and not any(_is_card(each) for each in tree_flatten((arguments, named))[0]):
            return function(*arguments, **named)
        if any(type(each) not in (torch.Tensor, torch.nn.Parameter) for each in on_card):
            return function(*arguments, **named)  # a kind of its own, whose parts nobody here knows
        if function is _aten.index.Tensor or function is _aten.masked_select.default:
            arguments = self.without_masks(function, arguments)
            if function is _aten.masked_select.default and len(arguments) == 3:
                function, arguments = _aten.index.Tensor, arguments[:2]
            on_card = [each for each in tree_flatten(arguments)[0] if isinstance(each, torch.Tensor) and each.is_cuda]
        twins = {id(each): self.twin(each) for each in on_card}
        all_known = all(twin is not None for twin in twins.values())
        if function is _aten._local_scalar_dense.default:
            return self.read(function, arguments[0], twins)
        if function in _SHAPED:
            if all_known:
                return self.shaped(function, arguments, named, twins, on_card[0].device)
            self.tell(function.name().partition("::")[2].partition(".")[0] + "() of unknown values")
        return self.follow(function, arguments, named, twins, all_known)

    # -- what is known

    def twin(self, tensor):
        """The tensor on the host, over the bytes that are known of its storage."""
        storage = tensor.untyped_storage()
        reference, data = self.known.get(storage._cdata, (None, None))
        if reference is None or tensor.is_conj() or tensor.is_neg():
            return None
        if reference.expired():
            del self.known[storage._cdata]
            return None
        return torch.empty(0, dtype=tensor.dtype).set_(
            data.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())

    def remember(self, tensor, value):
        """`value`: the whole of it, on the host."""
        storage = tensor.untyped_storage()
        if not 0 < storage.nbytes() <= _MOST_BYTES:
            return
        if self.twin(tensor) is None:
            data = torch.zeros(storage.nbytes(), dtype=torch.uint8)
            self.known[storage._cdata] = (StorageWeakRef(storage), data)
        self.twin(tensor).copy_(value)

    def forget(self, tensor):
        self.known.pop(tensor.untyped_storage()._cdata, None)

    # -- operators

    def read(self, function, tensor, twins):
        twin = twins.get(id(tensor))
        value = function(tensor)
        if twin is not None:
            return twin.item()
        self.unknown += 1
        if not tensor.is_floating_point():
            self.tell("item() of an unknown value")
        return value

    def without_masks(self, function, arguments):
        """Masks that are known become the indices of what they let through, as PyTorch itself makes them."""
        source, given = arguments[0], arguments[1]
        if function is _aten.masked_select.default:
            given = [given]
            if source.shape != given[0].shape:
                return arguments
        indices, changed = [], False
        for index in given:
            if isinstance(index, torch.Tensor) and index.is_cuda and index.dtype in (torch.bool, torch.uint8):
                twin = self.twin(index)
                if twin is None:
                    self.tell("a mask of unknown values")
                    return arguments
                for column in twin.nonzero().unbind(1):
                    column = column.contiguous()
                    there = torch.empty(column.shape, dtype=column.dtype, device=index.device)
                    self.remember(there, column)
                    indices.append(there)
                changed = True
            else:
                indices.append(index)
        if not changed:
            return arguments
        return (source, indices) if function is _aten.index.Tensor else (source, indices, True)

    def shaped(self, function, arguments, named, twins, device):
        results = function(*_on_host(arguments, twins), **_on_host(named, twins))
        self.ran += 1

        def there(result):
            if not isinstance(result, torch.Tensor):
                return result
            tensor = torch.empty(result.shape, dtype=result.dtype, device=device)
            self.remember(tensor, result)
            return tensor
        return tree_map(there, results)

    def follow(self, function, arguments, named, twins, all_known):
        written = [each for each in _written(function, arguments, named) if each.is_cuda]
        to_host = [each for each in _written(function, arguments, named) if not each.is_cuda]
        if function in _WRITERS and written:
            others = [twin for key, twin in twins.items() if key != id(written[0])]
            all_known = all(twin is not None for twin in others)
        results = function(*arguments, **named)
        fresh = [each for each in tree_flatten(results)[0] if isinstance(each, torch.Tensor)]
        random = torch.Tag.nondeterministic_seeded in function.tags
        if function in _EMPTY:
            return results
        if not all_known or random or any(each.untyped_storage().nbytes() > _MOST_BYTES for each in written):
            for each in written:
                self.forget(each)
            self.unknown += 1
            return results
        shared = {each.untyped_storage()._cdata for each in tree_flatten((arguments, named))[0]
                  if isinstance(each, torch.Tensor) and each.is_cuda}
        new = [each for each in fresh if each.is_cuda and each.untyped_storage()._cdata not in shared]
        if not written and not to_host and any(each.is_cuda for each in fresh) and not new:
            return results  # a view
        if any(each.numel() * each.element_size() > _MOST_BYTES for each in new):
            self.unknown += 1
            return results
        try:
            if function in _WRITERS and written and twins.get(id(written[0])) is None:
                if not _is_whole(written[0]):
                    return results
                self.remember(written[0], torch.zeros((), dtype=written[0].dtype))
                twins[id(written[0])] = self.twin(written[0])
            values = _BY_HAND.get(function, function)(*_on_host(arguments, twins), **_on_host(named, twins))
            self.ran += 1
        except Exception:  # noqa: BLE001  what the host has no kernel for
            name = function.name()
            self.failed[name] = self.failed.get(name, 0) + 1
            for each in written:
                self.forget(each)
            return results
        for result, value in zip(fresh, [each for each in tree_flatten(values)[0] if isinstance(each, torch.Tensor)]):
            if result.is_cuda and any(result is each for each in new):
                self.remember(result, value)
            elif not result.is_cuda and not any(result is each for each in to_host) and result.shape == value.shape:
                result.copy_(value)  # what was read
        return results


def _is_card(value):
    return isinstance(value, torch.device) and value.type == "cuda"


def _on_host(values, twins):
    def there(value):
        if isinstance(value, torch.Tensor) and value.is_cuda:
            return twins[id(value)]
        return torch.device("cpu") if _is_card(value) else value
    return tree_map(there, values)


def _is_whole(tensor):
    return tensor.is_contiguous() and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()


def _written(function, arguments, named):
    if not function._schema.is_mutable:
        return []
    found = []
    for number, argument in enumerate(function._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = arguments[number] if number < len(arguments) else named.get(argument.name)
        found += [each for each in (value if isinstance(value, (list, tuple)) else [value])
                  if isinstance(each, torch.Tensor)]
    return found


def install(tell):
    host = Host(tell)
    host.__enter__()
    return host
