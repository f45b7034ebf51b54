# Ways through PyTorch that replaced functions and modes get in the way of: scripts, transforms, sparse tensors, libraries.
import torch


@torch.jit.script
def scripted(x):
    return torch.where(x > 0, x, x.exp()), torch.nonzero(x > 0)


def curve(x):
    return (x.sin() * 2 + x.sum()).exp()


x = torch.randn(6, device="cuda")
assert scripted(x)[0].shape == (6,)
assert torch.func.jvp(curve, (x,), (x,))[1].shape == (6,)
assert torch.func.jacfwd(curve)(x).shape == torch.func.jacrev(curve)(x).shape == (6, 6)
assert torch.vmap(torch.func.grad(lambda row: row.square().sum()))(torch.randn(3, 4, device="cuda")).shape == (3, 4)

square = torch.randn(64, 64, device="cuda")
torch.linalg.eigh(square @ square.T)
torch.linalg.solve(square, square)
torch.stft(torch.randn(2, 4000, device="cuda"), 256, 64, window=torch.hann_window(256, device="cuda"), return_complex=True)
torch.fft.rfft2(square)
# What decides by the values of tensors that nobody knows, and by known ones.
tokens, special = (torch.randn(100000, device="cuda") * 100).long(), (torch.randn(5000, device="cuda") * 100).long()
for invert in (False, True):
    assert torch.isin(tokens, special, invert=invert).shape == (100000,)
known = torch.arange(20000, device="cuda")
assert torch.isin(known, known[:5000]).sum() == 5000 and torch._unique(known // 2)[0].shape == (10000,)
assert torch.repeat_interleave(x, torch.randn(6, device="cuda").abs().long()).dim() == 1
coordinates = torch.randint(0, 50, (2, 200))
sparse = torch.sparse_coo_tensor(coordinates, torch.ones(200), (50, 50)).coalesce().cuda()
assert (sparse.to_sparse_csr() @ torch.randn(50, 4, device="cuda")).shape == (50, 4)
assert (sparse + sparse).to_dense().shape == (50, 50)

compiled = torch.compile(lambda a, b: (a * b + 1).sum(0), backend="aot_eager", dynamic=True)
for rows in (4, 5):
    assert compiled(torch.ones(rows, 1, device="cuda"), torch.ones(7, device="cuda")).shape == (7,)
