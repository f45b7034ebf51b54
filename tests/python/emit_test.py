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
SEGMENTER = ["--gpu", "t4", "--batch", "2", "--precision", "amp-fp16", "--optimizer", "sgd-nesterov", "--clip-grad-norm", "12"]
DENOISER = ["--gpu", "h100-sxm", "--batch", "2", "--precision", "amp-bf16", "--optimizer", "adamw-8bit", "--clip-grad-norm", "1"]
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


def diffusers():
    """The arguments of accelerate, and those of the scripts where VRAMPLAN_DIFFUSERS names a checkout, which a wheel is not."""
    import argparse
    import ast
    import shlex

    from accelerate.commands.launch import launch_command_parser

    launcher = launch_command_parser()
    lora = ["--lora", "16"]
    some = ["--lora", "8,target=attn.to_q+attn.to_k,dropout=0.1"]
    models = (["sd-1.5", *lora], ["sd-2.1", "--image", "512"], ["sdxl", *lora], ["sdxl"], ["sd3-medium", *some], ["sd3-medium"],
              ["flux-dev", *lora], ["flux-schnell", *some, "--strategy", "ddp", "--gpus", "2"], ["flux-dev"])  # fmt: skip
    for model in models:
        text = subprocess.run([PROGRAM, "plan", *DENOISER, *model, "--emit", "diffusers"], capture_output=True, text=True)
        if text.returncode == 3:  # all of it on one card: there is no plan to paste
            continue
        place = next(line.split()[2] for line in text.stdout.splitlines() if line.startswith("# for "))
        words = shlex.split(text.stdout.replace("\\\n", ""), comments=True)
        told = launcher.parse_args(words[2:])
        assert (told.training_script, told.multi_gpu) == (place.rsplit("/", 1)[1], "--gpus" in model), words
        if "VRAMPLAN_DIFFUSERS" not in os.environ:
            continue
        tree = ast.parse((pathlib.Path(os.environ["VRAMPLAN_DIFFUSERS"]) / place).read_text())
        tree.body = [node for node in tree.body if getattr(node, "name", "") == "parse_args"]
        names = {"argparse": argparse, "os": os, "warnings": __import__("warnings"), "logger": __import__("logging").getLogger(), "transforms": argparse.Namespace(InterpolationMode=argparse.Namespace(lanczos=0))}
        exec(compile(tree, place, "exec"), names)
        sys.argv = [place, *told.training_script_args, "--output_dir=out"]
        sys.argv += ["--instance_data_dir=data", "--instance_prompt=x"] if "dreambooth" in place else ["--dataset_name=data"]
        arguments = names["parse_args"]()
        assert (arguments.train_batch_size, arguments.mixed_precision, arguments.max_grad_norm) == (2, "bf16", 1.0)
        assert arguments.use_8bit_adam and (("--lora" in model) == hasattr(arguments, "rank"))


def nnunet():
    """Its documentation's way to change a batch: read by its own code where it is installed."""
    config = json.loads(emitted("nnunet", [*UNET[:1], *SEGMENTER]))["configurations"]
    assert config["2d_vramplan"]["batch_size"] == 2 and config["2d_vramplan"]["patch_size"] == [256, 256]
    if importlib.util.find_spec("nnunetv2") is None:
        return
    from nnunetv2.utilities.plans_handling.plans_handler import PlansManager

    parent = {"batch_size": 12, "patch_size": [512, 512], "architecture": {"network_class_name": "x"}}
    plans = PlansManager({"configurations": {"2d": parent, **config}})
    read = plans.get_configuration("2d_vramplan")
    assert (read.batch_size, read.patch_size, read.network_arch_class_name) == (2, [256, 256], "x")


CHECKS = (
    ("transformers", hf), ("trl", sft), ("accelerate", accelerate), ("accelerate", diffusers), ("deepspeed", deepspeed), ("lightning", lightning),
    ("yaml", yaml_alone), ("axolotl", axolotl), ("json", nnunet),
)  # fmt: skip
done, left_out = [], []
for library, check in CHECKS:
    if importlib.util.find_spec(library) is None:
        left_out.append(library)
        continue
    check()
    done.append(check.__name__)
if not done:
    print(f"none of {', '.join(left_out)} is installed")
    sys.exit(77)
print(f"read: {', '.join(done)}" + (f"; not installed: {', '.join(left_out)}" if left_out else ""))
