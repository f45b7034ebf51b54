"""Three models after each other; each time what PyTorch holds and held at most, and which steps were its own."""
import gc
import sys

import torch


def told(what):
    stats = torch.cuda.memory_stats()
    print("COUNTED", what, *(stats[level + "_bytes.all." + kind] for level in ("requested", "allocated", "reserved")
                             for kind in ("peak", "current")), stats["allocation.all.allocated"], flush=True)


kept = []
for fold in range(3):
    net = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(2):
        net(torch.randn(64, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    told("fold %d" % fold)
    if "reset" in sys.argv:
        torch.cuda.memory._record_memory_history(None if fold else "all")
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        print("COUNTED", "trace", len(trace))
        torch.cuda.reset_accumulated_memory_stats()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
del net, optimizer
gc.collect()
told("nothing")
