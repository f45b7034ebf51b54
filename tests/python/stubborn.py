"""Models that cannot be recorded: no tensor without values can go through them."""

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


class Switching(nn.Module):
    """Another path with another batch: an exporter takes the one of its example, and no recording has lengths for both."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 512)

    def forward(self, x):
        y = self.linear(x)
        return y if x.shape[0] % 4 else torch.tanh(y)
