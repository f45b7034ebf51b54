"""torch.compile in its default mode: Triton compiles for the capability of the pretend card."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8)).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    compiled(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
