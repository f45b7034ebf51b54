"""events.py OUT.csv.gz MODEL BATCH [PRECISION]: every request and segment of three steps of a model of zoo.py, in order.

Rows: action, address, bytes: alloc, free_requested, free_completed, segment_alloc, segment_free as PyTorch's memory history
records them. On a card the rows have cuDNN's workspaces, and the addresses that its driver chose.
"""
import gzip
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pretend", "torch"))
out, arguments = sys.argv[1], sys.argv[2:]
sys.argv[1:] = arguments
torch.cuda.init()
torch.cuda.memory._record_memory_history("all", context=None, max_entries=1 << 22)
import zoo  # noqa: E402, F401: runs the steps

torch.cuda.synchronize()
rows = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
with gzip.open(out, "wt") as file:
    file.write("action,address,bytes\n")
    for row in rows:
        file.write(f"{row['action']},{row['addr']},{row['size']}\n")
print(len(rows), "rows;", {name: torch.cuda.memory_stats()[f"{name}.all.peak"] for name in ("requested_bytes", "allocated_bytes", "reserved_bytes")})
