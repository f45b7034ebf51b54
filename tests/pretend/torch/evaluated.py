"""A loop whose evaluation keeps its graphs, or which runs out of memory in its backward."""
import sys

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
rows = int(sys.argv[1])
for step in range(2):
    net(torch.rand(rows, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
total = 0
for step in range(50):
    total += net(torch.rand(rows, 1024, device="cuda")).square().mean()
