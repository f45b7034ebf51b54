"""What is known of storages on the card: the bytes that the host gave them, or the one value that is everywhere in them.

Of a small storage the bytes are kept on the host as long as it lives. A write that nobody told changes the version of the
tensor, and what was known is unknown. What is not known counts as zeros, as it is read; a result to which such a value
contributed is not `sure`.
"""

import torch
from torch.multiprocessing.reductions import StorageWeakRef

MOST_BYTES, MOST_BYTES_OF_NUMBERS = 1 << 20, 1 << 16
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Which storage a tensor has. Its Python object would count as a holder, and autograd adds in place only to what nobody else
# holds (torch/csrc/autograd/input_buffer.cpp): so none is made of what is not remembered, nor of any gradient.
address = getattr(torch._C, "_storage_address", None) or (lambda tensor: tensor.untyped_storage()._cdata)
_graph_task = getattr(torch._C, "_current_graph_task_id", lambda: -1)


class _OfStorage:
    """Of a storage: its bytes, or the one value that is everywhere in it."""
    __slots__ = ("reference", "data", "everywhere", "version", "settled", "sure")


class Known:
    def __init__(self, every):
        """`every`: larger tensors are kept too."""
        self.every = every
        self.known = {}  # of a storage
        self.swept = 1000  # how many it may hold before those that are gone are looked for

    def may_be_known(self, tensor):
        # Large tensors of numbers are not kept.
        return tensor is not None and (tensor.numel() <= MOST_BYTES_OF_NUMBERS or not tensor.is_floating_point() or self.every) \
            and address(tensor) in self.known

    def find(self, tensor, slack=0):
        """`slack`: so many writes more were counted, of the operator that runs."""
        if type(tensor) not in _PLAIN or tensor.is_conj() or tensor.is_neg():
            return None  # a kind of its own, whose parts nobody here knows
        known = self.known.get(address(tensor))
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
        return MOST_BYTES if self.every or not dtype.is_floating_point else MOST_BYTES_OF_NUMBERS

    def is_small(self, tensor):
        return tensor.numel() * tensor.element_size() <= self.most(tensor.dtype)

    def remember(self, tensor, value, sure=True):
        """`value`: the whole of it, on the host."""
        if type(tensor) not in _PLAIN:
            return
        if is_gradient(tensor) or not self.is_small(tensor) or not _may_be_whole(tensor) and address(tensor) not in self.known:
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
        if is_gradient(tensor) or tensor.dtype.is_floating_point and not self.is_small(tensor):
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
        known = self.known[storage._cdata] = _OfStorage()
        known.reference, known.data, known.everywhere, known.sure = StorageWeakRef(storage), None, None, True
        return known

    def wrote(self, tensor, known, sure):
        known.version, known.settled = _version(tensor), False
        known.sure = sure and (known.sure or _is_whole(tensor))

    def forget(self, tensor):
        self.known.pop(address(tensor), None)


def _version(tensor):
    return 0 if tensor.is_inference() else tensor._version


def is_gradient(tensor):
    """Numbers that a backward makes; masks and places that it makes again are not."""
    return tensor.is_floating_point() and _graph_task() != -1


def _may_be_whole(tensor):
    return tensor.storage_offset() == 0 and tensor._base is None and tensor.is_contiguous()


def _is_whole(tensor):
    return tensor.is_contiguous() and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
