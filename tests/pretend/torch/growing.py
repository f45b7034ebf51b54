"""growing.py: a list that keeps what each step computes."""
import torch

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
kept = []
for step in range(1000):
    result = model(torch.rand(65536, 1024, device="cuda"))
    result.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(result)
