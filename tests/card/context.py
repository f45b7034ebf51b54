"""context.py [amp]: what this process takes of the card beside PyTorch's own segments, after each thing that loads more.

Prints rows "what, device used less reserved in bytes" : device used is what cudaMemGetInfo says for the whole card, less what
it said before this process came, so nobody else may use the card meanwhile. The context catalogue
(planner/spec/context.cc) has bands of such numbers by generation of cards.
"""
import sys

import torch
from torch import nn


def used_before():
    """By NVML, before there is a context; without NVML nothing is known and 0 is said."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used
    except Exception as error:  # noqa: BLE001: any failure means the same: not known
        print(f"# no NVML: {error}")
        return 0


BEFORE = used_before()
half = torch.bfloat16 if "amp" in sys.argv else None


def say(what):
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    print(f"{what},{total - free - torch.cuda.memory_reserved()}", flush=True)


def step(model, x, optimizer):
    with torch.autocast("cuda", dtype=half, enabled=half is not None):
        loss = model(x).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


print(f"# torch {torch.__version__}, {torch.cuda.get_device_name(0)}, used before {BEFORE}")
torch.cuda.init()
say("context")
a = torch.ones(1024, 1024, device="cuda")
say("first kernel")
(a @ a).sum().item()
say("matmul")
(a.half() @ a.half()).sum().item()
say("half matmul")
linear = nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 1024)).cuda()
adam = torch.optim.AdamW(linear.parameters())
for _ in range(2):
    step(linear, a, adam)
say("two steps of an MLP")
convolutions = nn.Sequential(*[layer for n in (3, 32, 64) for layer in (nn.Conv2d(n, 2 * n if n > 3 else 32, 3, padding=1), nn.BatchNorm2d(2 * n if n > 3 else 32), nn.ReLU())]).cuda()
sgd = torch.optim.SGD(convolutions.parameters(), lr=0.1, momentum=0.9)
images = torch.randn(8, 3, 64, 64, device="cuda")
for _ in range(2):
    step(convolutions, images, sgd)
say("two steps of convolutions")
attention = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, batch_first=True), 2).cuda()
words = torch.randn(8, 128, 256, device="cuda")
adam = torch.optim.AdamW(attention.parameters())
for _ in range(2):
    step(attention, words, adam)
say("two steps of a transformer")
recurrent = nn.LSTM(64, 128, batch_first=True).cuda()
out, _ = recurrent(torch.randn(4, 16, 64, device="cuda"))
out.sum().backward()
say("an LSTM")
try:
    import torchvision

    resnet = torchvision.models.resnet50().cuda()
    sgd = torch.optim.SGD(resnet.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        step(resnet, torch.randn(16, 3, 224, 224, device="cuda"), sgd)
    say("three steps of ResNet-50")
except ImportError as error:
    print(f"# {error}")
