"""t4.py: the eight cases of tests/data/truth/real/t4.csv in the order in which they were measured on a real Tesla T4, beside what it said.

    ./vramplan run --gpu t4 --until-exit -- python tests/card/t4.py

The measurement asked torch.cuda.is_bf16_supported(), which counts emulation: so it is autocast in bf16, on a card that has none. Weights are
random here; it needs torch, transformers and torchvision.
"""
import csv
import os

import torch
from torch.nn import functional as F

ROWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "truth", "real", "t4.csv")


def language_model(name):
    import transformers

    kind = {"gpt2": ("GPT2", "LMHeadModel"), "distilbert-base-uncased": ("DistilBert", "Model"), "bert-base-uncased": ("Bert", "Model")}[name]
    config = getattr(transformers, kind[0] + "Config")()
    return getattr(transformers, kind[0] + kind[1])(config), config.vocab_size


def with_loss(out, loss_of):
    return out, loss_of(out)


def case(name, batch, size):
    """A model on the card, its learning rate, and the function that gives its output and its loss."""
    if name == "resnet50":
        import torchvision

        model = torchvision.models.resnet50().cuda()
        images, labels = torch.randn(batch, 3, size, size, device="cuda"), torch.randint(0, 1000, (batch,), device="cuda")
        return model, 1e-4, lambda: (None, F.cross_entropy(model(images), labels))
    model, words = language_model(name)
    model = model.cuda()
    ids = torch.randint(0, words - 1, (batch, size), device="cuda")
    if name == "gpt2":
        return model, 1e-5, lambda: with_loss(model(input_ids=ids, labels=ids), lambda out: out.loss)
    return model, 1e-5, lambda: with_loss(model(input_ids=ids), lambda out: out.last_hidden_state.float().pow(2).mean())


def peaks(name, batch, size):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    model, rate, run = case(name, batch, size)
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=rate)
    for _ in range(2):  # the second step is the one that counts
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out, loss = run()  # the output stays while the backward runs, as there
        loss.backward()
        optimizer.step()
        del out, loss
    return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


def warm():
    """A matrix product and a convolution, which that measurement made first."""
    a = torch.randn(256, 256, device="cuda")
    (a @ a).sum().item()
    layer = torch.nn.Conv2d(3, 16, 3, padding=1).cuda()
    layer(torch.randn(1, 3, 64, 64, device="cuda")).sum().backward()


warm()
with open(ROWS) as file:
    for row in csv.DictReader(file):
        ours = peaks(row["model"], int(row["batch"]), int(row["size"]))
        print(f"{row['model']:24s} {row['batch']:>2s} x {row['size']:>3s}", end="", flush=True)
        for level, bytes_here in zip(("allocated", "reserved"), ours):
            print(f"  {level} {bytes_here:>11,} {100 * (bytes_here / int(row[level]) - 1):+.2f} %", end="")
        print(flush=True)
