"""A convolutional classifier with autocast and a gradient scaler, as a beginner's tutorial has it."""
import sys

import torch
from torch import nn

batch = int(sys.argv[1]) if len(sys.argv) > 1 else 32


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                                      nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128), nn.ReLU())
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)()
for step in range(100):
    images = torch.randn(batch, 3, 64, 64).cuda()
    labels = torch.randint(0, 10, (batch,)).cuda()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(images), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(step, loss.item())
torch.save(model.state_dict(), "must_not_be_written.pt")
