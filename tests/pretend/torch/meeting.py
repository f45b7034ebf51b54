"""Ranks that wait for each other, and tell each other objects, over NCCL."""
import os
import time

import torch
import torch.distributed as distributed

distributed.init_process_group("nccl")
rank, ranks = distributed.get_rank(), distributed.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
place = os.path.join(os.environ["VRAMPLAN_RECORDING"], "made")
if rank == 0:
    time.sleep(2)
    open(place, "w").close()
distributed.barrier()
assert os.path.exists(place)
told = [{"from": rank}]
distributed.broadcast_object_list(told, src=1)
assert told == [{"from": 1}], told
everybody = [None] * ranks
distributed.all_gather_object(everybody, "rank %d" % rank)
assert everybody == ["rank %d" % each for each in range(ranks)], everybody
gathered = [None] * ranks if rank == 0 else None
distributed.gather_object(rank, gathered, dst=0)
assert gathered == (list(range(ranks)) if rank == 0 else None)
mine = [None]
distributed.scatter_object_list(mine, [10 * each for each in range(ranks)] if rank == 0 else None, src=0)
assert mine == [10 * rank], mine
net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(4):
    net(torch.rand(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    distributed.barrier()
