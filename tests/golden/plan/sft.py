# net.onnx at batch 96 on Tesla T4, by vramplan: allocated 1.95 KiB, on the device 3.91 KiB
# the plan checkpoints 2 modules; exactly those: model = prepare(model) of --emit pytorch
# for trl 1.16 and peft 0.21:
# SFTTrainer(model="meta-llama/Llama-3.1-8B", args=arguments, train_dataset=...)
from trl import SFTConfig

arguments = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=96,
    gradient_accumulation_steps=4,
    optim="adamw_torch_fused",
    bf16=False,
    fp16=True,
    max_grad_norm=0,  # the plan does not clip; left out, this is 1.0
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": False},
)
