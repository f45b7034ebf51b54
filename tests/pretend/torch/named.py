"""named.py NAME full|lora|amp|infer|generate BATCH [sequence=N] [target=N] [checkpoint]: a model of models/architectures/names.jsonl
at its real size, with random weights, as a plain script trains it.

full: the weights in the type of its configuration, and AdamW; lora: peft's defaults for r=16 beside them; amp: fp32 weights under bf16
autocast; infer: one forward under no_grad; generate: 32 more tokens. Needs transformers, and peft for lora.
"""
import json
import pathlib
import sys

import torch
import transformers

name, method, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
lengths = {"sequence": 512, "target": 128} | {k: int(v) for k, v in (word.split("=") for word in sys.argv[4:] if "=" in word)}
table = pathlib.Path(__file__).resolve().parents[3] / "models/architectures/names.jsonl"
settings = next(row["config"] for row in map(json.loads, table.read_text().splitlines()) if row["name"] == name)
title = settings.pop("architectures")[0]
stored = getattr(torch, settings.pop("dtype", "float32"))
torch.manual_seed(0)
torch.set_default_dtype(torch.float32 if method == "amp" else stored)
with torch.device("cuda"):
    config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings)
    model = getattr(transformers, title)(config)
torch.set_default_dtype(torch.float32)


def words(length):
    return torch.randint(3, 1000, (batch, length), device="cuda")


trains = method in ("full", "lora", "amp")
if title.startswith("ViT"):
    data = {"pixel_values": torch.zeros(batch, 3, config.image_size, config.image_size, device="cuda", dtype=model.dtype)}
elif title.startswith("Whisper"):
    data = {"input_features": torch.zeros(batch, config.num_mel_bins, 2 * config.max_source_positions, device="cuda", dtype=model.dtype)}
else:
    data = {"input_ids": words(lengths["sequence"])}
    data["attention_mask"] = torch.ones_like(data["input_ids"])
writes = title.endswith("ForConditionalGeneration")
if writes:
    data["labels" if trains else "decoder_input_ids"] = words(lengths["target"])
elif trains:
    data["labels"] = torch.zeros(batch, dtype=torch.long, device="cuda") if title.endswith("Classification") else words(lengths["sequence"])

if method == "generate":
    model.eval()
    model.generate(**data, max_new_tokens=32, min_new_tokens=32, do_sample=False, pad_token_id=0)
    sys.exit()
if method == "infer":
    model.eval()
    with torch.no_grad():
        out = model(**data)
    sys.exit()

if "checkpoint" in sys.argv:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if method == "lora":
        model.enable_input_require_grads()
if method == "lora":
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32))
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
for step in range(3):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=method == "amp"):
        loss = model(**data).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
