"""PyTorch's operators, seen where it chooses their backend (the dispatch key BackendSelect): below autograd, in every thread,
and for calls that C++ makes too. No function of torch is replaced, and no mode is entered, in which PyTorch takes other ways.
"""

import torch

address = part("known").address  # noqa: F821  sitecustomize.py gives it to its parts

_CUDA = torch.DispatchKey.CUDA
_BELOW = torch._C._dispatch_keyset_full_after(torch.DispatchKey.BackendSelect)
_NOT_BELOW = torch._C._dispatch_keyset_full_after(torch.DispatchKey.Undefined)  # PythonDispatcher, of no place in the order
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key


class Operator:
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
            except RuntimeError as error:
                if not self.may_be_numbers(error, arguments):
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

    def may_be_numbers(self, error, arguments):
        """Whether it was refused because it does not take them."""
        return isinstance(error, RuntimeError) and not isinstance(error, torch.cuda.OutOfMemoryError) and any(
            type(arguments[at]) in (bool, int, float, complex) for at in self.tensors if at < len(arguments))

    def without_numbers(self, arguments):
        given = list(arguments)
        for at in self.tensors:
            if at < len(given) and type(given[at]) in (bool, int, float, complex):
                other = next((each for each in arguments if isinstance(each, torch.Tensor)), None)
                with torch._C.DisableTorchFunction():
                    kind = None if other is None else torch.result_type(other, given[at])
                    given[at] = torch.tensor(given[at], dtype=kind, device="cpu")
        return given

    def is_seen(self):
        """Whether it can be: a kernel of its own stands below autograd, and PyTorch has none at our place."""
        name = "aten::" + self.name
        return not (self.is_view or has_kernel(name, "BackendSelect") or has_kernel(name, "CompositeImplicitAutograd"))

    def watch(self, library, after, instead=None, asks=None, known=None):
        """after(operator, result, arguments, named): what the caller gets when the operator has run on the card.
        instead(operator, way, arguments, named): runs it. asks: its `asking` is told that the operator reads values itself.
        known: the storages of which something is; where no argument is of one, nothing follows."""
        name, choose, simple, ways = "aten::" + self.name, self.overload._op_dk, self.simple, {}

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
                    return self.run_in_python(arguments, named)
                if not on_card:
                    return choose(way, *arguments, **named) if simple else self.run(way, arguments, named)
                if asks:
                    asks.asking = self.name
                if instead:
                    return instead(self, way, arguments, named)
                result = choose(way, *arguments, **named) if simple else self.run(way, arguments, named)
                return after(self, result, arguments, named)
            except BaseException:
                del arguments, named  # a traceback would hold the tensors longer than without us
                raise
            finally:
                if asks:
                    asks.asking = None
        if known is None or not self.alone:
            return self.register(library, seen)
        tensors, tensor, here = self.tensors, torch.Tensor, {}

        # The same, with as little Python as can be: most operators have nothing to do with a value that is known.
        def followed(keys, *arguments, **named):
            way = here.get(keys.raw_repr())
            if way is None:
                way, on_card = way_of(keys)
                if not (on_card and self.takes_numbers):
                    return seen(keys, *arguments, **named)
                here[keys.raw_repr()] = way
            for at in tensors:
                if isinstance(arguments[at], tensor) and address(arguments[at]) in known:
                    return seen(keys, *arguments, **named)
            try:
                return choose(way, *arguments, **named)
            except BaseException as error:
                if not self.may_be_numbers(error, arguments):
                    del arguments, named
                    raise
            here.clear()
            return seen(keys, *arguments, **named)
        return self.register(library, followed)

    def register(self, library, seen):
        try:
            library.impl(self.name, seen, "BackendSelect", with_keyset=True)
        except TypeError:  # before torch 2.4
            library.impl(self.name, lambda *arguments, **named: seen(_keys_of(arguments, named), *arguments, **named),
                         "BackendSelect")


def _way(name, key):
    """The key under which the operator's own kernel for it stands."""
    for each in (key, torch.DispatchKey.CompositeExplicitAutogradNonFunctional, torch.DispatchKey.CompositeExplicitAutograd):
        if has_kernel(name, each) and (each == key or torch._C._dispatch_is_included_in_alias(key, each)):
            return each
    raise NotImplementedError("Could not run '%s' with arguments from the '%s' backend." % (name, key.name))


def _keys_of(arguments, named):
    keys = torch._C._dispatch_tls_local_include_set()
    for each in flat(arguments, named):
        if isinstance(each, torch.Tensor):
            keys = keys | torch._C._dispatch_keys(each)
    return keys - torch._C._dispatch_tls_local_exclude_set()


def flat(arguments, named):
    for each in (*arguments, *named.values()):
        if isinstance(each, (list, tuple)):
            yield from each
        else:
            yield each


def written(operator, arguments, named):
    found = []
    for number, name in operator.written:
        value = arguments[number] if number < len(arguments) else named.get(name)
        found += [each for each in (value if isinstance(value, (list, tuple)) else [value])
                  if isinstance(each, torch.Tensor)]
    return found
