"""named.py MODEL full|lora|amp|generate BATCH LENGTH [checkpoint]: a published configuration at its real size, with random weights.

full: bf16 weights and AdamW; lora: peft's defaults for r=16 on bf16 weights; amp: fp32 weights under bf16 autocast; generate: 32 more
tokens. Needs transformers, and peft for lora. The configurations are those of each model's config.json.
"""
import sys

import torch
import transformers

LLAMA = dict(rms_norm_eps=1e-5, max_position_embeddings=131072, vocab_size=128256, num_attention_heads=32, num_key_value_heads=8,
             bos_token_id=128000, eos_token_id=128001)
MODELS = {
    "llama-3.1-8b": ("Llama", dict(LLAMA, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32)),
    "llama-3.2-1b": ("Llama", dict(LLAMA, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, tie_word_embeddings=True)),
    "qwen2.5-0.5b": ("Qwen2", dict(vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
                                   num_key_value_heads=2, tie_word_embeddings=True)),
    "qwen3-1.7b": ("Qwen3", dict(vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=28, num_attention_heads=16,
                                 num_key_value_heads=8, head_dim=128, tie_word_embeddings=True)),
}

name, method, batch, length = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
family, settings = MODELS[name]
torch.manual_seed(0)
torch.set_default_dtype(torch.float32 if method == "amp" else torch.bfloat16)
with torch.device("cuda"):
    model = getattr(transformers, f"{family}ForCausalLM")(getattr(transformers, f"{family}Config")(**settings))
    tokens = torch.randint(3, 1000, (batch, length))
torch.set_default_dtype(torch.float32)

if method == "generate":
    model.eval()
    model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=32, min_new_tokens=32, do_sample=False, pad_token_id=0)
    sys.exit()

if "checkpoint" in sys.argv:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.enable_input_require_grads()
if method == "lora":
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, task_type="CAUSAL_LM"))
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
for step in range(3):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=method == "amp"):
        loss = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens, use_cache=False).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
