# net.onnx at batch 96 on Tesla T4, by vramplan: allocated 1.95 KiB, on the device 3.91 KiB
# the plan checkpoints 2 modules; exactly those: model = prepare(model) of --emit pytorch
import fnmatch

from lightning import Trainer

# Which parameters are trained, by globs over their names: the last that matches decides.
TRAINED = [
    ("*", False),
    ("*.lora_*", True),
    ("a\"b\\c\x0a", True),
]
# In front of all names of the file.
PREFIX = "m."


def _names(name):
    # The file may name parameters with the path of a wrapper in front, and so may the model.
    wrappers = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
    plain = ".".join(part for part in name.split(".") if part not in wrappers).removeprefix(PREFIX)
    parts = PREFIX.split(".")[:-1]
    return [".".join(parts[first:] + [plain]) for first in range(len(parts) + 1)]


def freeze(model):
    """Sets requires_grad of each parameter as the plan has it and returns the model."""
    missing = [glob for glob, _ in TRAINED]
    for name, parameter in model.named_parameters():
        for glob, is_trained in TRAINED:
            if any(fnmatch.fnmatchcase(each, glob) for each in _names(name)):
                parameter.requires_grad_(is_trained and parameter.is_floating_point())
                missing = [each for each in missing if each != glob]
    if missing:
        raise KeyError("no parameter of the model is called " + ", ".join(missing))
    return model


def trained(model):
    """The parameters for the optimizer: those that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# In the LightningModule: freeze(self) at the end of __init__, trained(self) for the optimizer.
BATCH = 96  # of the DataLoader
trainer = Trainer(devices=1, precision="16-mixed", accumulate_grad_batches=4)
