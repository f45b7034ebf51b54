"""Three shapes that come from values."""
import importlib.util

importlib.util.find_spec("torch")  # as transformers does, before anybody imports it
import torch  # noqa: E402

model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    out = model(torch.randn(32, 64, device="cuda"))
    found = out.nonzero()
    chosen = out[out > 0]
    kinds = torch.unique(found[:, 1])
    torch.distributions.Normal(out, torch.ones_like(out))  # its check that all is valid must pass
    (out.mean() + chosen.sum()).backward()
    optimizer.step()
    optimizer.zero_grad()
