"""rnn_reserve.py: the bytes that cuDNN keeps for the backward of a recurrent network, as torch._cudnn_rnn returns them.

Prints rows "mode,type,layers,directions,input,hidden,length,batch,dropout,reserve,workspace": workspace is the most that the call
held beyond its results.
"""
import itertools

import torch

MODES = {"rnn_tanh": 1, "lstm": 2, "gru": 3}  # as ATen numbers them: CUDNN_RNN_RELU is 0
print("mode,type,layers,directions,input,hidden,length,batch,dropout,reserve,workspace", flush=True)
shapes = [(64, 96, 20, 8), (96, 64, 20, 8), (128, 128, 35, 16), (128, 128, 35, 17), (256, 512, 100, 32), (100, 200, 7, 3)]
cases = [(*case, 0.0) for case in itertools.product(MODES, ("float32", "float16"), (1, 2, 3), (1, 2), shapes)]
cases += [(mode, "float32", 2, 1, shape, 0.5) for mode in MODES for shape in shapes]
for mode, kind, layers, directions, (size, hidden, length, batch), dropout in cases:
    dtype = getattr(torch, kind)
    made = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}[mode](
        size, hidden, layers, bidirectional=directions == 2, dropout=dropout).to("cuda", dtype)
    x = torch.zeros(length, batch, size, device="cuda", dtype=dtype)
    state = torch.zeros(layers * directions, batch, hidden, device="cuda", dtype=dtype)
    memory = torch._cudnn_init_dropout_state(dropout, True, 0, dtype=torch.uint8, device="cuda") if dropout else None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    with torch.no_grad():
        results = torch._cudnn_rnn(x, made._flat_weights, 4, None, state, state.clone() if mode == "lstm" else None, MODES[mode], hidden, 0,
                                   layers, False, dropout, True, directions == 2, [], memory)
    stats = torch.cuda.memory_stats()
    kept = stats["requested_bytes.all.current"] - before
    print(f"{mode},{kind},{layers},{directions},{size},{hidden},{length},{batch},{dropout},{results[3].numel()},"
          f"{stats['requested_bytes.all.peak'] - before - kept}", flush=True)
    del results
