"""zoo.py MODEL BATCH: three steps of a model of torchvision as tests/data/truth/pytorch.csv has them (Adam)."""
import sys

import torch
import torchvision

name, batch = sys.argv[1], int(sys.argv[2])
model = getattr(torchvision.models, name)().cuda()
torch.cuda.empty_cache()
optimizer = torch.optim.Adam(model.parameters())
images = torch.zeros(batch, 3, 224, 224, device="cuda")
labels = torch.zeros(batch, dtype=torch.long, device="cuda")
for step in range(3):
    out = model(images)
    loss = torch.nn.functional.cross_entropy(out, labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
