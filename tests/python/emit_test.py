"""What `plan --emit` writes, read by the libraries that it is for, where they are installed: the values arrive. Exit code 77
where none is."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["VRAMPLAN_BINARY"]
UNET = [str(ROOT / "models" / "unet.onnx"), "--gpu", "t4", "--batch", "24", "--optimizer", "adamw"]
LLAMA = ["llama-3.1-8b", "--lora", "16", "--optimizer", "adamw", "--dim", "sequence=1024", "--gpu", "rtx-4090", "--batch", "1"]
os.environ["CUDA_VISIBLE_DEVICES"] = ""


def emitted(kind, line):
    return subprocess.run([PROGRAM, "plan", *line, "--emit", kind], capture_output=True, text=True, check=True).stdout


def chosen(line):
    told = subprocess.run([PROGRAM, "plan", *line, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)["chosen"]


def module(kind, line, text=None):
    names = {}
    exec(compile(text or emitted(kind, line), kind, "exec"), names)
    return names


def without_card(text, name):
    """Settings that only a card has are checked where they are made."""
    return text.replace(f"{name}=True", f"{name}=False")


def hf():
    plan = chosen(UNET)
    text = emitted("hf", UNET)
    for name in ("fp16", "bf16"):
        text = without_card(text, name)
    arguments = module("hf", UNET, text)["arguments"]
    assert (arguments.per_device_train_batch_size, arguments.gradient_accumulation_steps) == (plan["batch"], plan["accumulate"])
    assert arguments.gradient_checkpointing == bool(plan["checkpoint"])


def sft():
    plan = chosen(LLAMA)
    names = module("sft", LLAMA, without_card(emitted("sft", LLAMA), "bf16"))
    arguments, adapters = names["arguments"], names["adapters"]
    assert (arguments.per_device_train_batch_size, arguments.gradient_accumulation_steps) == (plan["batch"], plan["accumulate"])
    assert (arguments.max_length, arguments.gradient_checkpointing) == (1024, bool(plan["checkpoint"]))
    assert arguments.model_init_kwargs == {"dtype": "bfloat16"}
    assert (adapters.r, set(adapters.target_modules)) == (16, {"q_proj", "v_proj"})
    packed = module("sft", LLAMA, without_card(emitted("sft", [*LLAMA, "--quant", "nf4"]), "bf16"))["arguments"].model_init_kwargs["quantization_config"]
    assert packed.load_in_4bit and packed.bnb_4bit_quant_type == "nf4"


def accelerate():
    from accelerate.commands.config.config_args import load_config_from_file

    for kind in ("accelerate", "fsdp2"):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(emitted(kind, UNET))
            file.flush()
            config = load_config_from_file(file.name)
        precision = chosen(UNET)["precision"]
        assert config.mixed_precision == precision.removeprefix("amp-") if precision.startswith("amp-") else "no"
        if kind == "fsdp2":
            assert config.fsdp_config["fsdp_version"] == 2, config.fsdp_config
            # Every key is one that accelerate itself writes or reads.
            import accelerate.commands.launch as launch

            parser = launch.launch_command_parser()
            known = {action.dest for action in parser._actions}
            assert set(config.fsdp_config) <= known, set(config.fsdp_config) - known


def deepspeed():
    from deepspeed.runtime.config import DeepSpeedConfig

    plan = chosen(UNET)
    config = DeepSpeedConfig(json.loads(emitted("deepspeed", UNET)))
    assert (config.train_micro_batch_size_per_gpu, config.gradient_accumulation_steps) == (plan["batch"], plan["accumulate"])


def lightning():
    text = emitted("lightning", UNET).replace("devices=1", 'devices=1, accelerator="cpu"')
    for precision in ("16-mixed", "bf16-mixed"):
        text = text.replace(precision, "32-true") if importlib.util.find_spec("torch") else text
    trainer = module("lightning", UNET, text)["trainer"]
    assert trainer.accumulate_grad_batches == chosen(UNET)["accumulate"]


def yaml_alone():
    """axolotl and torchtune take apart what a YAML reader gives them; both are seldom installed."""
    import yaml

    plan = chosen(LLAMA)
    axolotl = yaml.safe_load(emitted("axolotl", LLAMA))
    assert axolotl["base_model"] == "meta-llama/Llama-3.1-8B" and axolotl["adapter"] == "lora"
    assert (axolotl["micro_batch_size"], axolotl["sequence_len"], axolotl["lora_r"]) == (plan["batch"], 1024, 16)
    assert yaml.safe_load(emitted("axolotl", [*LLAMA, "--quant", "nf4"]))["adapter"] == "qlora"
    torchtune = yaml.safe_load(emitted("torchtune", LLAMA))
    assert (torchtune["batch_size"], torchtune["dtype"]) == (plan["batch"], "bf16")
    assert torchtune["model"]["lora_attn_modules"] == ["q_proj", "v_proj"]


def axolotl():
    from axolotl.utils.schemas.config import AxolotlInputConfig
    import yaml

    for line in (LLAMA, [*LLAMA, "--quant", "nf4"]):
        config = yaml.safe_load(emitted("axolotl", line))
        known = set(AxolotlInputConfig.model_fields)
        assert set(config) <= known, set(config) - known


CHECKS = (
    ("transformers", hf), ("trl", sft), ("accelerate", accelerate), ("deepspeed", deepspeed), ("lightning", lightning),
    ("yaml", yaml_alone), ("axolotl", axolotl),
)  # fmt: skip
done, left_out = [], []
for library, check in CHECKS:
    if importlib.util.find_spec(library) is None:
        left_out.append(library)
        continue
    check()
    done.append(library)
if not done:
    print(f"none of {', '.join(left_out)} is installed")
    sys.exit(77)
print(f"read by {', '.join(done)}" + (f"; not installed: {', '.join(left_out)}" if left_out else ""))
