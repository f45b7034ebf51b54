"""A library decorates a function by torch.compile that nobody calls."""
import torch


@torch.compile
def unused(x):
    return x + 1


@torch.compile(dynamic=True)
def unused_too(x):
    return x + 1


net = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(3)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    net(torch.rand(512, 256, device="cuda")).sum().backward()
    optimizer.step()
