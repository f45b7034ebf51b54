"""denoise.py NAME METHOD BATCH [height=N] [width=N] [frames=N] [text=N] [checkpoint]: a model of diffusers of models/architectures/names.jsonl at its
real size, with random weights, as diffusers' training scripts run it (examples/text_to_image, examples/dreambooth).

METHOD is full (fp32), amp (fp32 weights under bf16 autocast), amp-fp16 (with a GradScaler), lora-amp (a frozen base in bf16 and adapters
of rank 16 as add_adapter makes them, under autocast), lora-amp-fp16 (the adapters in fp32), or infer-bf16 (forwards under no_grad).
"""
import sys

import diffusers
import known
import torch

name, method, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
settings = known.rows()[name]["config"]
title = settings.pop("_class_name")
flux, flux2, sd3, wan, pixart, qwen = (title.startswith(one) for one in ("FluxT", "Flux2", "SD3", "Wan", "PixArt", "QwenImage"))
side = 8 * settings.get("sample_size", 128)
lengths = {"height": side, "width": side, "text": 512 if flux or flux2 or qwen else 154 if sd3 else 77}
if wan:
    lengths = {"height": 480, "width": 832, "frames": 81, "text": 512}
if pixart:
    lengths["text"] = 300
lengths |= {k: int(v) for k, v in (word.split("=") for word in sys.argv[4:] if "=" in word)}
half = torch.float16 if method.endswith("fp16") else torch.bfloat16
halves = "lora" in method or method == "infer-bf16"
stored = half if halves else torch.float32
torch.manual_seed(0)
of_class = getattr(diffusers, title)  # imported here: what modules make when they are imported would be made on the card
torch.set_default_dtype(stored)
with torch.device("cuda"):
    model = of_class(**settings)
torch.set_default_dtype(torch.float32)
torch.cuda.empty_cache()

rows, columns = lengths["height"] // 8, lengths["width"] // 8


def given(*shape):
    return torch.randn(batch, *shape, device="cuda", dtype=stored)


if flux:
    data = {"hidden_states": given(rows // 2 * (columns // 2), 64), "timestep": torch.rand(batch, device="cuda") * 1000, "encoder_hidden_states": given(lengths["text"], 4096),
            "pooled_projections": given(768), "txt_ids": torch.zeros(lengths["text"], 3, device="cuda", dtype=stored),
            "img_ids": torch.zeros(rows // 2 * (columns // 2), 3, device="cuda", dtype=stored)}
    if model.config.guidance_embeds:
        data["guidance"] = torch.ones(batch, device="cuda")
elif sd3:
    data = {"hidden_states": given(16, rows, columns), "timestep": torch.rand(batch, device="cuda") * 1000, "encoder_hidden_states": given(lengths["text"], 4096), "pooled_projections": given(2048)}
elif flux2:
    data = {"hidden_states": given(rows // 2 * (columns // 2), 128), "timestep": torch.rand(batch, device="cuda") * 1000,
            "encoder_hidden_states": given(lengths["text"], model.config.joint_attention_dim), "txt_ids": given(lengths["text"], 4), "img_ids": given(rows // 2 * (columns // 2), 4)}
    if model.config.guidance_embeds:
        data["guidance"] = torch.ones(batch, device="cuda")
elif qwen:
    data = {"hidden_states": given(rows // 2 * (columns // 2), 64), "timestep": torch.rand(batch, device="cuda") * 1000,
            "encoder_hidden_states": given(lengths["text"], model.config.joint_attention_dim), "img_shapes": [[(1, rows // 2, columns // 2)]] * batch}
elif wan:
    frames = (lengths["frames"] - 1) // 4 + 1
    data = {"hidden_states": given(model.config.in_channels, frames, rows, columns), "timestep": torch.rand(batch, device="cuda") * 1000,
            "encoder_hidden_states": given(lengths["text"], model.config.text_dim)}
elif pixart:
    data = {"hidden_states": given(4, rows, columns), "timestep": torch.zeros(batch, dtype=torch.long, device="cuda"),
            "encoder_hidden_states": given(lengths["text"], model.config.caption_channels), "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
            "encoder_attention_mask": torch.ones(batch, lengths["text"], dtype=torch.long, device="cuda")}
else:
    data = {"sample": given(4, rows, columns), "timestep": torch.zeros(batch, dtype=torch.long, device="cuda"),
            "encoder_hidden_states": given(lengths["text"], model.config.cross_attention_dim)}
    if model.config.addition_embed_type == "text_time":
        data["added_cond_kwargs"] = {"text_embeds": given(1280), "time_ids": given(6)}

if method == "infer-bf16":
    model.eval()
    for step in range(3):
        with torch.no_grad():
            out = model(**(data | {"timestep": data["timestep"] / 1000} if flux or flux2 or qwen else data), return_dict=False)[0]
    sys.exit()

target = given(16, frames, rows, columns) if wan else given(16, 1, rows, columns) if qwen else given(128, rows // 2, columns // 2) if flux2 else given(16 if flux or sd3 else 4, rows, columns)
if "lora" in method:
    from diffusers.training_utils import cast_training_params
    from peft import LoraConfig, inject_adapter_in_model

    targets = ["to_k", "to_q", "to_v", "to_out.0"]
    if flux or sd3:
        targets = [f"attn.{t}" for t in [*targets, "add_k_proj", "add_q_proj", "add_v_proj", "to_add_out"]]
    if flux:
        targets += ["ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"]
    model.requires_grad_(False)
    adapters = LoraConfig(r=16, lora_alpha=16, init_lora_weights="gaussian", target_modules=targets)
    if pixart:  # the class has no add_adapter, which calls this
        inject_adapter_in_model(adapters, model)
    else:
        model.add_adapter(adapters)
    if half == torch.float16:
        cast_training_params(model, dtype=torch.float32)
if "checkpoint" in sys.argv:
    model.enable_gradient_checkpointing()
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
scaler = torch.amp.GradScaler(enabled=half == torch.float16)


def loss_of():
    predicted = model(**(data | {"timestep": data["timestep"] / 1000} if flux or flux2 or qwen else data), return_dict=False)[0]
    if pixart:
        predicted = predicted.chunk(2, dim=1)[0]
    if qwen:
        predicted = diffusers.QwenImagePipeline._unpack_latents(predicted, lengths["height"], lengths["width"], 8)
    elif flux2:
        predicted = predicted.permute(0, 2, 1).reshape(target.shape)
    elif not flux and not sd3 and not wan:
        return torch.nn.functional.mse_loss(predicted.float(), target.float(), reduction="mean")
    if flux:
        predicted = diffusers.FluxPipeline._unpack_latents(predicted, lengths["height"], lengths["width"], 8)
    weighting = torch.ones_like(target[(slice(None), *[slice(1)] * (target.dim() - 1))])
    return torch.mean((weighting.float() * (predicted.float() - target.float()) ** 2).reshape(batch, -1), 1).mean()


for step in range(3):
    with torch.autocast("cuda", dtype=half, enabled="amp" in method):
        loss = loss_of()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
