"""rnn.py: what cuDNN takes for a recurrent network: the reserve, which a forward in train() keeps for its backward, and workspaces.

Prints rows "mode,type,layers,directions,input,hidden,projection,length,batch,positions,dropout,reserve,forward,inference,input_gradient,
weight_gradient": the last four are the workspaces of a forward in train(), of one in eval() and of the two halves of the backward, in
bytes: the most that a call held beyond its arguments and results. positions is less than length times batch for a packed sequence.
"""
import itertools

import torch

MODES = {"rnn_tanh": 1, "lstm": 2, "gru": 3}  # as ATen numbers them: CUDNN_RNN_RELU is 0
MODULES = {"rnn_tanh": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}


def held(call):
    """Result and workspace of `call`."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    results = call()
    stats = torch.cuda.memory_stats()
    return results, stats["requested_bytes.all.peak"] - stats["requested_bytes.all.current"], before


def measure(mode, kind, layers, directions, size, hidden, projection, length, batch, dropout=0.0, lengths=()):
    dtype = getattr(torch, kind)
    made = MODULES[mode](size, hidden, layers, bidirectional=directions == 2, dropout=dropout,
                         **({"proj_size": projection} if projection else {})).to("cuda", dtype)
    weights = made._flat_weights
    each = len(weights) // (layers * directions)
    positions = sum(lengths) or length * batch
    x = torch.zeros(*((positions,) if lengths else (length, batch)), size, device="cuda", dtype=dtype)
    h = torch.zeros(layers * directions, batch, projection or hidden, device="cuda", dtype=dtype)
    c = torch.zeros(layers * directions, batch, hidden, device="cuda", dtype=dtype) if mode == "lstm" else None
    memory = torch._cudnn_init_dropout_state(dropout, True, 0, dtype=torch.uint8, device="cuda") if dropout else None
    common = (MODES[mode], hidden, projection, layers, False, dropout)
    with torch.no_grad():
        flat = torch._cudnn_rnn_flatten_weight(weights, each, size, MODES[mode], hidden, projection, layers, False, directions == 2)

        def forward(train):
            return torch._cudnn_rnn(x, weights, each, flat, h, c, *common, train, directions == 2, list(lengths), memory)

        inference = held(lambda: forward(False))[1]
        (y, hy, cy, reserve, _), training, _ = held(lambda: forward(True))
        dy, dhy, dcy = torch.zeros_like(y), torch.zeros_like(hy), torch.zeros_like(cy) if mode == "lstm" else None

        def backward(*wanted):
            return torch.ops.aten._cudnn_rnn_backward(x, weights, each, flat, h, c, y, dy, dhy, dcy, *common, True, directions == 2,
                                                      list(lengths), memory, reserve, wanted)

        inputs = held(lambda: backward(True, False, False, False))[1]
        both = held(lambda: backward(True, False, False, True))[1]
    state = memory.numel() if memory is not None else 0
    print(f"{mode},{kind},{layers},{directions},{size},{hidden},{projection},{length},{batch},{positions},{dropout},{reserve.numel()},"
          f"{training},{inference},{inputs},{both}" + (f"  # dropout state {state}" if state else ""), flush=True)


print("mode,type,layers,directions,input,hidden,projection,length,batch,positions,dropout,reserve,forward,inference,input_gradient,weight_gradient")
SHAPES = [(64, 96, 20, 8), (32, 96, 20, 8), (256, 96, 20, 8), (64, 64, 20, 8), (64, 128, 20, 8), (64, 256, 20, 8), (64, 512, 20, 8),
          (64, 1024, 20, 8), (64, 96, 1, 8), (64, 96, 10, 8), (64, 96, 40, 8), (64, 96, 200, 8), (64, 96, 20, 1), (64, 96, 20, 16),
          (64, 96, 20, 64), (64, 96, 20, 256), (128, 128, 35, 17), (256, 512, 100, 32), (100, 200, 7, 3), (512, 512, 128, 64)]
for mode, kind, layers, directions, (size, hidden, length, batch) in itertools.product(MODES, ("float32", "float16"), (1, 2, 3), (1, 2), SHAPES):
    measure(mode, kind, layers, directions, size, hidden, 0, length, batch)
for mode, (size, hidden, length, batch) in itertools.product(MODES, SHAPES):
    measure(mode, "float32", 2, 1, size, hidden, 0, length, batch, 0.5)
    measure(mode, "bfloat16", 2, 2, size, hidden, 0, length, batch)
for kind, layers, directions, projection in itertools.product(("float32", "float16"), (1, 2, 3), (1, 2), (32, 48)):
    measure("lstm", kind, layers, directions, 64, 96, projection, 20, 8)
for mode, layers, directions in itertools.product(MODES, (1, 2), (1, 2)):
    measure(mode, "float32", layers, directions, 64, 96, 0, 5, 8, 0.0, (8, 6, 3, 3, 1))
    measure(mode, "float32", layers, directions, 64, 96, 0, 5, 8, 0.0, (8, 8, 8, 8, 8))
