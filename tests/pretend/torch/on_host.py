"""What a script reads of small tensors with --values host; it fails where a value is not the card's."""
import torch

labels = torch.tensor([0, 1, 0, 1, 1]).cuda()
assert labels.nonzero().flatten().tolist() == [1, 3, 4]
assert torch.unique(labels).tolist() == [0, 1] and labels.sum().item() == 3 and bool((labels == 1).any())
assert torch.bincount(labels).tolist() == [2, 3]
large = torch.randn(5, 100000, device="cuda", requires_grad=True)
assert large[labels.bool()].shape == (3, 100000)  # the mask is known, what it picks is not
even = torch.arange(10, device="cuda") * 2
assert even[even > 6].tolist() == [8, 10, 12, 14, 16, 18] and torch.masked_select(even, even > 16).tolist() == [18]
layer = torch.nn.Linear(4, 2).cuda()
with torch.no_grad():
    layer.weight.fill_(1.0)
    layer.bias.zero_()
optimizer, scaler = torch.optim.Adam(layer.parameters(), lr=0.5), getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)()
for step in range(3):
    result = layer(torch.ones(3, 4, device="cuda"))
    assert step > 0 or result.tolist()[0] == [4.0, 4.0], result  # gradients are not known, nor what they change
    scaler.scale(result.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
assert (large > 0).sum().item() == 0  # not known: zeros
assert large.nonzero().shape == (0, 2)
assert scaler.get_scale() == 65536.0
