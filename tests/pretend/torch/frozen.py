"""A backbone that is not trained under a head that is; its batch norms still update their statistics."""
import torch
from torch import nn

backbone = nn.Sequential(nn.Conv2d(3, 64, 3, stride=2), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 256, 3, stride=2),
                         nn.BatchNorm2d(256), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()).cuda()
backbone.requires_grad_(False)
head = nn.Sequential(nn.Linear(4096, 512), nn.GELU(), nn.Dropout(0.1), nn.Linear(512, 20)).cuda()
optimizer = torch.optim.AdamW(head.parameters())
for step in range(5):
    loss = nn.functional.cross_entropy(head(backbone(torch.zeros(16, 3, 96, 96, device="cuda"))),
                                       torch.zeros(16, dtype=torch.long, device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
