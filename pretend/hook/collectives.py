"""What ranks make together of values that this one knows: the others are taken to have the same. What NCCL writes no operator
tells, so what was known of it would stay known.
"""

import functools


def install(torch, host, alone):
    """`alone`: the others do what this rank does. Where they run themselves, nothing that they gave is sure."""
    distributed = torch.distributed
    if not distributed.is_available():
        return

    def twin(tensor):
        known = host.find(tensor) if tensor.is_cuda else None
        return (None, False) if known is None else (host.twin(tensor, known).clone(), known.sure and alone)

    def learn(target, value, sure):
        if not target.is_cuda:
            return
        if value is None:
            host.forget(target)
        else:
            host.remember(target, value.reshape(target.shape), sure)

    def reduced(value, op, ranks):
        if value is None or op in (None, distributed.ReduceOp.SUM):
            return None if value is None else value * ranks
        return value if op in (distributed.ReduceOp.AVG, distributed.ReduceOp.MAX, distributed.ReduceOp.MIN) else None

    def all_reduce(ranks, tensor, op=None, *_, **__):
        value, sure = twin(tensor)
        return lambda: learn(tensor, reduced(value, op, ranks), sure)

    def reduce(ranks, tensor, dst=None, op=None, *_, **__):
        return all_reduce(ranks, tensor, op)

    def all_gather_into_tensor(ranks, output_tensor, input_tensor, *_, **__):
        value, sure = twin(input_tensor)
        return lambda: learn(output_tensor, None if value is None else torch.cat([value.reshape(-1)] * ranks), sure)

    def all_gather(ranks, tensor_list, tensor, *_, **__):
        value, sure = twin(tensor)
        return lambda: [learn(each, value, sure) for each in tensor_list]

    for then_of in (all_reduce, reduce, all_gather_into_tensor, all_gather):
        whole = getattr(distributed, then_of.__name__, None)
        if whole is None:
            continue

        def wrapped(*arguments, whole=whole, then_of=then_of, **named):
            then = None
            try:
                group = named.get("group", next((each for each in arguments if isinstance(each, distributed.ProcessGroup)), None))
                with torch._C.DisableTorchFunction():
                    then = then_of(distributed.get_world_size(group), *arguments, **named)
            except Exception:  # noqa: BLE001  the function itself says what is wrong
                pass
            work = whole(*arguments, **named)
            if then is not None:
                with torch._C.DisableTorchFunction():
                    then()
            return work
        functools.update_wrapper(wrapped, whole)
        for owner in (distributed, distributed.distributed_c10d):
            setattr(owner, then_of.__name__, wrapped)
