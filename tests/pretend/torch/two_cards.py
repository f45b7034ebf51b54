"""two_cards.py [parallel]: a process that uses two cards: layers on one each, or nn.DataParallel."""
import sys

import torch
from torch import nn

if sys.argv[1:] == ["parallel"]:
    model = nn.DataParallel(nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).cuda())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
else:
    first, second = nn.Linear(512, 512).to("cuda:0"), nn.Linear(512, 2048).to("cuda:1")
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)

    def model(x):
        return second(first(x).to("cuda:1"))
for step in range(5):
    model(torch.zeros(64, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
