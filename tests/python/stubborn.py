"""A model that no exporter takes, and that no tensor without values can go through."""

import torch
from torch import nn


class Stubborn(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 512)

    def forward(self, x):
        if torch.jit.is_tracing() or torch.compiler.is_compiling():
            raise RuntimeError("not to be exported")
        y = self.linear(x)
        return y if y.sum() < 1e30 else -y
