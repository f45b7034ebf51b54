"""blocks.py [slow|checkpoint|amp]: six equal blocks, as it is, or as `vramplan run --try` changes it from outside."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

how = sys.argv[1] if len(sys.argv) > 1 else ""


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(256), nn.Linear(256, 1024), nn.Linear(1024, 256)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(6))

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if how == "checkpoint" else block(x)
        return x


model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters(), foreach=False if how == "slow" else None)
for step in range(5):
    with torch.autocast("cuda", dtype=torch.float16, enabled=how == "amp"):
        loss = model(torch.zeros(8, 128, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
