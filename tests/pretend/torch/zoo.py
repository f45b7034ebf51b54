"""zoo.py MODEL BATCH [fp32|amp-fp16]: three steps of a model of tests/data/truth/pytorch.csv, with Adam."""
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F


def twice(inputs, outputs):
    layers = []
    for width in (inputs, outputs):
        layers += [nn.Conv2d(width, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, classes, base, bilinear):
        super().__init__()
        widths = [base << level for level in range(5)]
        self.first = twice(3, base)
        self.down = nn.ModuleList(nn.Sequential(nn.MaxPool2d(2), twice(a, b)) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList()
        for below, beside in zip(widths[:0:-1], widths[-2::-1]):
            up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) if bilinear else nn.ConvTranspose2d(below, beside, 2, stride=2)
            self.up.append(nn.ModuleList((up, twice(below + beside if bilinear else below, beside))))
        self.last = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(levels[-1]))
        x = levels.pop()
        for up, joined in self.up:
            x = joined(torch.cat([levels.pop(), up(x)], 1))
        return self.last(x)


class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20000, 128)
        self.filters = nn.ModuleList(nn.Conv1d(128, 100, width) for width in (3, 4, 5))
        self.dropout, self.classes = nn.Dropout(0.5), nn.Linear(300, 2)

    def forward(self, input_ids):
        x = self.words(input_ids).transpose(1, 2)
        return self.classes(self.dropout(torch.cat([F.relu(each(x)).amax(2) for each in self.filters], 1)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30000, 512), nn.Parameter(torch.zeros(1, 128, 512))
        layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, activation="gelu")
        self.layers, self.classes = nn.TransformerEncoder(layer, 6), nn.Linear(512, 30000)

    def forward(self, input_ids):
        return self.classes(self.layers(self.words(input_ids) + self.places))


def mlp():
    return nn.Sequential(nn.Linear(1000, 2000), nn.ReLU(), nn.Linear(2000, 1000), nn.ReLU(), nn.Linear(1000, 10))


def generator():
    widths, layers = (100, 512, 256, 128, 64), []
    for number, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += [nn.ConvTranspose2d(a, b, 4, 2 if number else 1, 1 if number else 0, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.GELU(), nn.Conv2d(32, 64, 3, 2, 1), nn.SiLU(), nn.Conv2d(64, 128, 3, 2, 1),
                                     nn.GroupNorm(8, 128), nn.LeakyReLU(0.1))
        self.decoder = nn.Sequential(
            nn.Conv2d(128, 256, 3, padding=1), nn.PixelShuffle(2), nn.Mish(), nn.Upsample(scale_factor=2), nn.Conv2d(64, 32, 3, padding=1),
            nn.InstanceNorm2d(32, affine=True), nn.ELU(inplace=True), nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(32, 3, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


def vision(name, **options):
    import torchvision
    return getattr(torchvision.models, name)(**options)


def fcn():
    from torchvision.models.segmentation import fcn_resnet50
    return fcn_resnet50(weights=None, weights_backbone=None, num_classes=21)


def from_timm(name):
    import timm
    return timm.create_model(name, pretrained=False)


def smp_unet():
    import segmentation_models_pytorch
    return segmentation_models_pytorch.Unet(encoder_name="resnet34", encoder_weights=None, classes=1)


def monai_unet():
    from monai.networks.nets import UNet as MonaiUNet
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)  # MONAI sets it: workspaces of 32 MiB
    return MonaiUNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32, 64, 128, 256), strides=(2, 2, 2, 2), num_res_units=2)


def hugging(name, kind="", **sizes):
    import transformers
    config = getattr(transformers, name + "Config")(**sizes)
    config.use_cache = False
    return getattr(transformers, name + kind)._from_config(config)


def zeros(*shape):
    return torch.zeros(shape, device="cuda")


def numbers(*shape):
    return torch.zeros(shape, dtype=torch.long, device="cuda")


def images(batch):
    return {"x": zeros(batch, 3, 224, 224)}, numbers(batch)


def words(targets=True, mask=False, decoder=False):
    """128 of them; a class for each, or for all."""
    def make(batch):
        arguments = {"input_ids": numbers(batch, 128)}
        if mask:
            arguments["attention_mask"] = torch.ones(batch, 128, dtype=torch.long, device="cuda")
        if decoder:
            arguments["decoder_input_ids"] = numbers(batch, 128)
        return arguments, numbers(batch, 128) if targets else numbers(batch)
    return make


def pictures(batch):
    x = zeros(batch, 3, 128, 128)
    return {"x": x}, x


def classes(out, target):
    if isinstance(out, dict) and "out" in out:
        out = out["out"]
    out = getattr(out, "logits", out)
    if out.dim() == 3:
        return F.cross_entropy(out.flatten(0, 1), target.flatten())
    return F.cross_entropy(out, target)


BINARY = (lambda batch: ({"x": zeros(batch, 3, 256, 256)}, zeros(batch, 1, 256, 256))), F.binary_cross_entropy_with_logits
MODELS = {
    "unet": (lambda: UNet(1, 64, False), *BINARY),
    "unet_bilinear": (lambda: UNet(4, 32, True), lambda batch: ({"x": zeros(batch, 3, 256, 256)}, numbers(batch, 256, 256)), classes),
    "smp_unet_resnet34": (smp_unet, *BINARY),
    "fcn_resnet50": (fcn, lambda batch: ({"x": zeros(batch, 3, 224, 224)}, numbers(batch, 224, 224)), classes),
    "monai_unet_3d": (monai_unet, lambda batch: ({"x": zeros(batch, 1, 64, 64, 64)}, numbers(batch, 64, 64, 64)), classes),
    "mlp": (mlp, lambda batch: ({"input": zeros(batch, 1000)}, numbers(batch)), classes),
    "dcgan_generator": (generator, lambda batch: ({"x": zeros(batch, 100, 1, 1)}, zeros(batch, 3, 64, 64)), F.mse_loss),
    "autoencoder": (Autoencoder, pictures, F.mse_loss),
    "textcnn": (TextCNN, words(targets=False), classes),
    "transformer_encoder": (Encoder, words(), classes),
    "bert_base": (lambda: hugging("Bert", "ForSequenceClassification"), words(targets=False, mask=True), classes),
    "distilbert": (lambda: hugging("DistilBert", "ForSequenceClassification"), words(targets=False, mask=True), classes),
    "gpt2": (lambda: hugging("GPT2", "LMHeadModel"), words(), classes),
    "llama_160m": (lambda: hugging("Llama", "ForCausalLM", hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12,
                                   num_key_value_heads=4, vocab_size=32000), words(), classes),
    "t5_small": (lambda: hugging("T5", "ForConditionalGeneration", d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8),
                 words(decoder=True), classes),
    "mixer_b16": (lambda: from_timm("mixer_b16_224"), images, classes),
    "deit_tiny": (lambda: from_timm("deit_tiny_patch16_224"), images, classes),
    "googlenet": (lambda: vision("googlenet", aux_logits=False, init_weights=False), images, classes),
}


def main(name, batch, precision="fp32"):
    build, make_inputs, loss_of = MODELS.get(name) or (lambda: vision(name), images, classes)
    model = build().cuda().train()
    torch.cuda.empty_cache()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)(enabled=precision == "amp-fp16")
    arguments, target = make_inputs(int(batch))
    if len(arguments) == 1:
        call = lambda values=tuple(arguments.values()): model(*values)
    else:
        call = lambda: model(**arguments)
    for step in range(3):
        with torch.autocast("cuda", dtype=torch.half, enabled=precision == "amp-fp16"):
            out = call()
            loss = loss_of(out, target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


main(*sys.argv[1:])
