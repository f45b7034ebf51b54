"""unseen_layers.py HOW: layers of a module that is never called itself (loose), and of a library that caches keys beside
them; as they are, and as `vramplan run --try` changes them from outside (-checkpointed, -half)."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

how = sys.argv[1]


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True) for _ in range(4))


if how.startswith("library"):
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=1000, attn_implementation="eager")).cuda()
    if how.endswith("checkpointed"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.config.use_cache = False
else:
    model = Holder().cuda()
half = how.endswith("half")
batches = torch.utils.data.DataLoader(torch.zeros(256, 64, 128), batch_size=8 if half else 16)
optimizer = torch.optim.AdamW(model.parameters())
for number, x in enumerate(batches):
    if how.startswith("library"):
        ids = torch.zeros(4, 128, dtype=torch.long, device="cuda")
        loss = model(input_ids=ids, labels=ids).loss
    else:
        x = x.cuda()
        for layer in model.layers:
            x = checkpoint(layer, x, use_reentrant=False) if how.endswith("checkpointed") else layer(x)
        loss = x.square().mean()
    loss.backward()
    if half and number % 2 == 0:
        continue
    optimizer.step()
    optimizer.zero_grad()
