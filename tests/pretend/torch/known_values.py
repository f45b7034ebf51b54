# Values that the host gave the card are read back as they are, whichever way they went; no assertion here fails on a card.
import numpy
import torch

card = "cuda"


def is_(got, expected):
    assert got == expected, (got, expected)


x = torch.zeros(8, 3, device=card)
for guard in (torch.enable_grad, torch.no_grad, torch.inference_mode):
    with guard():
        is_(torch.tensor(x.shape, device=card)[None].cpu().tolist(), [[8, 3]])
is_(torch.as_tensor(numpy.array([4.5]), device=card).item(), 4.5)
is_(torch.from_numpy(numpy.arange(3)).to(card, non_blocking=True)[1:].tolist(), [1, 2])
is_([torch.cuda.FloatTensor([1.5]).item(), torch.LongTensor([7, 9]).cuda().max().item()], [1.5, 9])
is_(torch.arange(6, device=card).view(2, 3).sum(1).tolist(), [3, 12])
is_((torch.full((4,), 3, device=card) // 2).tolist(), [1, 1, 1, 1])
y = torch.zeros(3, device=card)
y[1] = 4
y[torch.tensor([0], device=card)] = 2
is_(y.tolist(), [2, 4, 0])
y.detach().add_(1)
is_(y.tolist(), [3, 5, 1])
with torch.device(card):
    is_(torch.tensor(0.0).add_(1).item(), 1)

# What becomes a shape.
lengths = torch.tensor([2, 0, 1]).to(card)
is_(torch.repeat_interleave(torch.randn(3, 4, device=card), lengths, dim=0).shape, (3, 4))
is_(torch.randn(3, device=card)[lengths > 0].shape, (2,))
is_(torch.randn(3, device=card)[: int(lengths.max())].shape, (2,))
is_(torch.empty(lengths.sum(), device=card).shape, (3,))

# A write that nobody follows: what was known is not said any more.
z = torch.tensor([5.0], device=card)
z.uniform_(6, 7)
is_(z.item() != 5, True)

# A number that nobody knows is finite.
for value in (torch.randn((), device=card), torch.randn(3, device=card), torch.randn(1 << 22, device=card)):
    is_([bool(torch.isfinite(value).all()), bool(torch.isnan(value).any()), bool(torch.isinf(value).any())], [True, False, False])
    is_([bool((~torch.isnan(value)).all()), int(torch.isnan(value).sum())], [True, 0])

# Nothing is held on the card for it.
before = torch.cuda.memory_allocated()
for _ in range(5000):
    torch.tensor([1, 2], device=card) + 1
is_(torch.cuda.memory_allocated(), before)

# The default device: Adam reads how many steps it made.
torch.set_default_device(card)
net = torch.nn.Linear(10, 10)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = net(torch.randn(5, 10)).sum()
    if torch.isfinite(loss):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
is_(optimizer.state[net.weight]["step"].item(), 3)
is_(torch.cuda.max_memory_allocated() > 1000, True)
