"""An LSTM: cuDNN keeps its weights in one flat buffer."""
import torch
from torch import nn

model = nn.LSTM(64, 128, num_layers=2, bidirectional=True, batch_first=True).cuda()
head = nn.Linear(256, 5).cuda()
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
for step in range(4):
    out, _ = model(torch.randn(16, 50, 64, device="cuda"))
    loss = nn.functional.cross_entropy(head(out[:, -1]), torch.zeros(16, dtype=torch.long, device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
