"""Half of the blocks run their forward again in the backward: nothing in an exported file says so."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))
                                    for _ in range(6))

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = x + (checkpoint(block, x, use_reentrant=False) if i % 2 else block(x))
        return x


model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(5):
    loss = model(torch.zeros(8, 128, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
