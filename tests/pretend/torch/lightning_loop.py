"""Lightning computes forward and backward in a closure that the optimizer's step() calls."""
import sys

import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True) for _ in range(3))

    def training_step(self, batch, _):
        for layer in self.layers:
            batch = layer(batch)
        return batch.square().mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


cards = int(sys.argv[1])
lightning.Trainer(accelerator="gpu", devices=cards, max_steps=4, logger=False, enable_checkpointing=False,
                  strategy="ddp" if cards > 1 else "auto", enable_progress_bar=False, enable_model_summary=False).fit(
    Model(), torch.utils.data.DataLoader(torch.zeros(256, 32, 64), 16))
