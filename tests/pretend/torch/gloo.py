"""gloo.py: what ranks say to each other by Gloo, from host to host, beside NCCL: groups, barriers, numbers, objects."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("cpu:gloo,cuda:nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
ranks, rank = dist.get_world_size(), dist.get_rank()
group = dist.new_group(backend="gloo")
assert (dist.get_rank(group), dist.get_world_size(group), dist.get_backend(group)) == (rank, ranks, "gloo")
half = [dist.new_group(list(range(first, ranks, 2)), backend="gloo") for first in (0, 1)][rank % 2]  # all ranks make both
assert dist.get_rank(half) == rank // 2
dist.barrier(group)
number = torch.ones(1)
dist.all_reduce(number, group=half)
dist.all_reduce(number)
dist.broadcast(number, 0, group=group)
told = [torch.zeros(1) for _ in range(ranks)]
dist.all_gather(told, number, group=group)
objects = [None] * ranks
dist.all_gather_object(objects, "all ranks alike", group=group)
assert objects == ["all ranks alike"] * ranks, objects
dist.broadcast_object_list([{"seed": 1}], 0, group=group)
dist.monitored_barrier(group)

model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda())
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    model(torch.zeros(8, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
