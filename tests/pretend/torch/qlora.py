"""QLoRA: a small Llama loaded in 4 bits, LoRA's matrices over it, AdamW with paged states in 8 bits.

Needs transformers, peft, accelerate and bitsandbytes. The checkpoint is made here first, so nothing is downloaded.
"""
import tempfile

import torch
from bitsandbytes.optim import PagedAdamW8bit
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=2000, hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8,
                     num_key_value_heads=4)
in_4_bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                               bnb_4bit_compute_dtype=torch.bfloat16)
with tempfile.TemporaryDirectory() as folder:
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, quantization_config=in_4_bits, device_map={"": 0}, dtype=torch.bfloat16)
model = prepare_model_for_kbit_training(model, gradient_checkpointing_kwargs={"use_reentrant": False})
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM"))
optimizer = PagedAdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-4)
tokens = torch.zeros(2, 256, dtype=torch.long, device="cuda")
for step in range(5):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
