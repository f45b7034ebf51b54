# net.onnx at batch 96 on Tesla T4, by vramplan: allocated 1.95 KiB, on the device 3.91 KiB
# the plan checkpoints 2 modules; exactly those: model = prepare(model) of --emit pytorch
from lightning import Trainer

BATCH = 96  # of the DataLoader
trainer = Trainer(devices=1, precision="16-mixed", accumulate_grad_batches=4)
