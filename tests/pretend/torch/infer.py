"""No optimizer: a forward under no_grad."""
import torch
from torch import nn

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, batch_first=True), 4).cuda().eval()
with torch.no_grad():
    model(torch.randn(8, 128, 256, device="cuda"))
