"""ranks.py KIND: a small transformer over several ranks: ddp, fsdp1 or fsdp2. It reads what the ranks tell each other."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

kind = sys.argv[1]
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
layers = [nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True) for _ in range(6)]
model = nn.Sequential(*layers, nn.Linear(512, 1000))
if kind == "ddp":
    model = nn.parallel.DistributedDataParallel(model.cuda())
elif kind == "fsdp1":
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({nn.TransformerEncoderLayer}),
                                     device_id=torch.cuda.current_device())
else:
    from torch.distributed.fsdp import fully_shard
    for layer in layers:
        fully_shard(layer)
    fully_shard(model)
    model.cuda()
optimizer = torch.optim.AdamW(model.parameters())
told = [None] * dist.get_world_size()
dist.all_gather_object(told, {"rank": dist.get_rank()})
# Of a rank that runs alone each says what this one says; ranks that run say it themselves.
alone = bool(os.environ.get("VRAMPLAN_ALONE"))
assert told == [{"rank": dist.get_rank() if alone else rank} for rank in range(dist.get_world_size())], told
for step in range(5):
    loss = model(torch.zeros(4, 64, 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
