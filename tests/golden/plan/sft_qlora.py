# net.onnx at batch 96 on Tesla T4, by vramplan: allocated 1.95 KiB, on the device 3.91 KiB
# the plan checkpoints 2 modules; exactly those: model = prepare(model) of --emit pytorch
# for trl 1.16 and peft 0.21:
# SFTTrainer(model="meta-llama/Llama-3.1-8B", args=arguments, peft_config=adapters, train_dataset=...)
import torch
from peft import LoraConfig
from transformers import BitsAndBytesConfig
from trl import SFTConfig

arguments = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=96,
    gradient_accumulation_steps=4,
    optim="adamw_torch_fused",
    bf16=False,
    fp16=False,
    max_grad_norm=0,  # the plan does not clip; left out, this is 1.0
    max_length=2048,
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": False},
    model_init_kwargs={"dtype": "bfloat16", "quantization_config": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16)},
)
adapters = LoraConfig(
    r=16,
    target_modules=["q_proj", "o_proj"],
    lora_dropout=0.05,
    task_type="CAUSAL_LM",
)
