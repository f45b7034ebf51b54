"""saving.py: an evaluation and two checkpoints, one over a file that is there. It removes what it wrote."""
import os

import torch

with open("best.pt", "w") as file:
    file.write("trained on a card")
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    model(torch.rand(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    model(torch.rand(8, 64, device="cuda"))
for name in ("best.pt", "new.pt"):
    torch.save(model.state_dict(), name)
    model.load_state_dict(torch.load(name))
assert open("best.pt").read() == "trained on a card"
os.remove("best.pt")
os.remove("new.pt")
