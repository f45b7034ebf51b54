"""Records a row of operators.csv: what PyTorch asks its allocator for in one call of one operator.

    python tests/data/operators/record.py lgamma '' 'x:f[8,64]' 'x.lgamma()'
    lgamma,,"x:f[8,64]","f[8,64]",1+2048,x,2+2048 3+2048 2- g- x- 3-,x.lgamma()

Operator and attributes are as the row of planner/semantics has them, inputs in the notation of
tests/support/one_operator.h; the call is Python over x, y, z (activations), w, b, v (parameters), c, d, e (without a
gradient). Needs a card: a real one, or `vramplan run -- python ...`, which gives the script a pretend one.
"""
import csv
import sys

import torch

TYPES = {"f": torch.float32, "d": torch.float64, "h": torch.float16, "y": torch.bfloat16, "z": torch.complex64,
         "i": torch.int64, "j": torch.int32, "b": torch.bool}
NAMES = {"x": "xyzuq", "p": "wbvmn", "c": "cdehijkaflopr"}


def trace():
    return torch.cuda.memory._snapshot()["device_traces"][0]


def empty(text):
    lengths, _, order = text[2:].partition("]")
    sizes = [int(length) for length in lengths.split(",") if length]
    order = [int(axis) for axis in order[1:].split(",")] if order else list(range(len(sizes)))
    strides, running = [0] * len(sizes), 1
    for axis in reversed(order):
        strides[axis], running = running, running * sizes[axis]
    return torch.empty_strided(sizes, strides, dtype=TYPES[text[0]], device="cuda")


class Source(torch.autograd.Function):  # what something before made
    @staticmethod
    def forward(ctx, _, text):
        return empty(text)

    @staticmethod
    def backward(ctx, _):
        return None, None


class Loss(torch.autograd.Function):
    arrived = 0

    @staticmethod
    def forward(ctx, *outputs):
        ctx.like = [(out.size(), out.stride(), out.dtype) for out in outputs]
        return torch.empty((), device="cuda")

    @staticmethod
    def backward(ctx, _):
        gradients = [torch.empty_strided(size, stride, dtype=dtype, device="cuda") if needed else None
                     for (size, stride, dtype), needed in zip(ctx.like, ctx.needs_input_grad)]
        for i, gradient in enumerate(gradients):
            if gradient is not None:
                living[gradient.data_ptr()] = "g" if i == 0 else f"g{i + 1}"
        Loss.arrived = len(trace())
        return tuple(gradients)


living, born = {}, 0


def events(begin, end):
    global born
    words = []
    for entry in trace()[begin:end]:
        address = entry["addr"]
        if entry["action"] == "alloc":
            born += 1
            living[address] = str(born)
            words.append(f"{born}+{entry['size']}")
        elif entry["action"] == "free_requested" and address in living:
            words.append(living.pop(address) + "-")
    return " ".join(words)


def main(op, attributes, inputs, call):
    torch.cuda.memory._record_memory_history(max_entries=100000, context=None)
    source = torch.empty(0, device="cuda", requires_grad=True)
    given, count = {}, dict.fromkeys(NAMES, 0)
    for word in inputs.split():
        if word == "-":
            continue
        role, text = word.split(":", 1)
        name = NAMES[role][count[role]]
        count[role] += 1
        given[name] = Source.apply(source, text) if role == "x" else empty(text).requires_grad_(role == "p")
        living[given[name].data_ptr()] = name
    begin = len(trace())
    outputs = eval(call, {"torch": torch, "F": torch.nn.functional}, given)
    forward = events(begin, len(trace()))
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    letters = {dtype: letter for letter, dtype in TYPES.items()}
    made = " ".join(f"{letters[out.dtype]}[{','.join(map(str, out.shape))}]" for out in outputs)
    tracked = [out for out in outputs if out.requires_grad]
    loss = Loss.apply(*tracked) if tracked else None
    parameters = [given.pop(name) for name in list(given) if name in NAMES["p"]]
    begin = len(trace())
    del outputs, tracked
    given.clear()
    events(begin, len(trace()))
    left_out = {tensor.data_ptr() for tensor in parameters}
    kept = " ".join(name for address, name in living.items() if address not in left_out)
    backward = ""
    if loss is not None:
        loss.backward()
        backward = events(Loss.arrived, len(trace()))
    csv.writer(sys.stdout, lineterminator="\n").writerow([op, attributes, inputs, made, forward, kept, backward, call])


if __name__ == "__main__":
    main(*sys.argv[1:])
