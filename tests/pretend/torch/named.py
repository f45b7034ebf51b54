"""named.py NAME METHOD BATCH [sequence=N] [target=N] [image=N] [new=N] [checkpoint] [bf16|fp32] [on=MODULES] [liger] [padded]: a model of
models/architectures/names.jsonl at its real size, with random weights, as a plain script trains it.

METHOD is full (the weights in the type of its configuration, and AdamW), lora (peft's r=16 beside them, on MODULES, as q_proj+v_proj,
or where peft puts them), qlora (beside weights that bitsandbytes packed, the others in fp32), qlora-bf16 (the others in bf16),
int8-lora and int8-lora-bf16 (the same in eight bits), lora-dora or qlora-dora (with use_dora), amp, lora-amp or qlora-amp (under bf16
autocast, with fp32 weights unless bf16 is said), ddp or fsdp2 (full, over the ranks that there are), zero1, zero2 or zero3 (that by
DeepSpeed, with its defaults; zero1-bf16: all weights made so; lora-zero2: adapters alone), infer (forwards under no_grad), nf4 or int8
(that with packed weights), generate (`new` more tokens, or 32), static or static-eager (that with a cache that is allocated whole, which
generate() compiles its later forwards for, or not). liger is TrainingArguments(use_liger_kernel=True);
padded: the first sequence is half as long as the others. Needs transformers, peft
for adapters, bitsandbytes for packed weights, deepspeed for its stages, and liger-kernel for its kernels.
"""
import json
import pathlib
import sys

import torch
import transformers

name, method, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
said = dict(word.split("=") for word in sys.argv[4:] if "=" in word)
on = said.pop("on", "")
new = int(said.pop("new", 32))
lengths = {"sequence": 512, "target": 128} | {k: int(v) for k, v in said.items()}
asked = next((type for word, type in (("bf16", torch.bfloat16), ("fp32", torch.float32)) if word in sys.argv[4:]), None)
table = pathlib.Path(__file__).resolve().parents[3] / "models/architectures/names.jsonl"
settings = next(row["config"] for row in map(json.loads, table.read_text().splitlines()) if row["name"] == name)
title = settings.pop("architectures")[0]
settings.pop("quantization_config", None)  # of what is stored: gpt-oss is loaded dequantized
stored = getattr(torch, settings.pop("dtype", "float32"))
torch.manual_seed(0)
packs = method.startswith(("qlora", "nf4", "int8"))
torch.set_default_dtype(asked or (torch.float32 if method.endswith("amp") and not packs else stored))
generates = method in ("generate", "static", "static-eager")
shards = method == "fsdp2"  # what is made whole on the card before leaves segments that no shard fills
loads = packs or generates or shards or method == "infer"  # no head that is made and then tied is the most that a forward alone takes
with torch.device("meta" if loads else "cuda"):
    config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings)
    model = getattr(transformers, title)(config)
torch.set_default_dtype(torch.float32)
torch.cuda.empty_cache()  # as if the weights had been moved there: a head that is tied was never made on the card


def words(length):
    return torch.randint(3, 1000, (batch, length), device="cuda")


def load():
    """As from_pretrained loads the model: one weight after another, each once."""
    made = {}
    for module in model.modules():
        for key, parameter in module.named_parameters(recurse=False):
            if parameter.is_meta:
                if parameter not in made:
                    made[parameter] = torch.nn.Parameter(torch.zeros_like(parameter, device="cuda"), requires_grad=parameter.requires_grad)
                setattr(module, key, made[parameter])
        for key, buffer in module.named_buffers(recurse=False):
            module.register_buffer(key, torch.ones_like(buffer, device="cuda"), persistent=key not in module._non_persistent_buffers_set)


def load_packed():
    """As from_pretrained(quantization_config=BitsAndBytesConfig(...)) loads the model."""
    import bitsandbytes
    from transformers.pytorch_utils import Conv1D
    from transformers.quantizers.base import get_keys_to_not_convert

    kept = get_keys_to_not_convert(model) + [name for name, _ in model.named_modules() if name.split(".")[-1] in (model._keep_in_fp32_modules or [])]
    made = {}
    for name, module in list(model.named_modules()):
        if type(module) in (torch.nn.Linear, Conv1D) and name not in kept:
            shape = module.weight.shape[::-1] if isinstance(module, Conv1D) else module.weight.shape
            if method.startswith("int8"):
                packed = bitsandbytes.nn.Linear8bitLt(shape[1], shape[0], module.bias is not None, has_fp16_weights=False, threshold=6.0, device="meta")
                packed.weight = bitsandbytes.nn.Int8Params(torch.empty(shape, dtype=stored), requires_grad=False).to("cuda")
            else:
                weight = torch.empty(shape, dtype=stored, device="cuda")
                packed = bitsandbytes.nn.Linear4bit(shape[1], shape[0], module.bias is not None, torch.bfloat16, True, "nf4", device="meta")
                packed.weight = bitsandbytes.nn.Params4bit(weight, requires_grad=False, compress_statistics=True, quant_type="nf4", module=packed).to("cuda")
                del weight
            packed.bias = module.bias
            model.set_submodule(name, packed)
            module = packed
        for key, parameter in module.named_parameters(recurse=False):
            if parameter.is_meta:
                if parameter not in made:
                    made[parameter] = torch.nn.Parameter(torch.zeros_like(parameter, device="cuda"), requires_grad=parameter.requires_grad)
                setattr(module, key, made[parameter])
        for key, buffer in module.named_buffers(recurse=False):
            module.register_buffer(key, torch.ones_like(buffer, device="cuda"), persistent=key not in module._non_persistent_buffers_set)
    model.tie_weights()
    model.is_loaded_in_8bit = method.startswith("int8")
    model.is_loaded_in_4bit = not model.is_loaded_in_8bit


if packs:
    load_packed()
elif loads and not shards:
    load()
trains = not generates and method not in ("infer", "nf4", "int8")
if title.endswith("ImageClassification"):
    size = lengths.get("image", 224 if title.startswith("Dinov2") else getattr(config, "image_size", 224))
    data = {"pixel_values": torch.zeros(batch, 3, size, size, device="cuda", dtype=model.dtype)}
elif title in ("CLIPModel", "SiglipModel"):
    size = config.vision_config.image_size
    data = {"input_ids": words(config.text_config.max_position_embeddings), "return_loss": True,
            "pixel_values": torch.zeros(batch, 3, size, size, device="cuda", dtype=model.dtype)}
elif title.startswith("Whisper"):
    data = {"input_features": torch.zeros(batch, config.num_mel_bins, 2 * config.max_source_positions, device="cuda", dtype=model.dtype)}
else:
    data = {"input_ids": words(lengths["sequence"])}
    data["attention_mask"] = torch.ones_like(data["input_ids"])
    if "padded" in sys.argv:
        data["attention_mask"][0, lengths["sequence"] // 2:] = 0
writes = title.endswith("ForConditionalGeneration") and config.is_encoder_decoder
if writes:
    data["labels" if trains else "decoder_input_ids"] = words(lengths["target"])
elif trains and "return_loss" not in data:
    data["labels"] = torch.zeros(batch, dtype=torch.long, device="cuda") if title.endswith("Classification") else words(lengths["sequence"])

if generates:
    model.eval()
    cache = {"cache_implementation": "static", "disable_compile": method == "static-eager"} if method != "generate" else {}
    model.generate(**data, **cache, max_new_tokens=new, min_new_tokens=new, do_sample=False, pad_token_id=0)
    sys.exit()
if method in ("infer", "nf4", "int8"):
    model.eval()
    for step in range(3):
        with torch.no_grad():
            out = model(**data)
    sys.exit()

if packs and not method.endswith("bf16") and asked is None:
    from peft import prepare_model_for_kbit_training

    model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
if "checkpoint" in sys.argv:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if "lora" in method:
        model.enable_input_require_grads()
if "lora" in method:
    from peft import LoraConfig, get_peft_model

    modules = on if on == "all-linear" else on.split("+")
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, use_dora="dora" in method, **({"target_modules": modules} if on else {})))
if "liger" in sys.argv:
    import triton
    from transformers.integrations.liger import apply_liger_kernel

    triton.runtime.jit.JITFunction.run = lambda *arguments, **named: None  # a pretend card computes nothing
    apply_liger_kernel(model, None)
model.train()
if method in ("ddp", "fsdp2"):
    torch.distributed.init_process_group("nccl")
if method == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(model)
if shards:
    from torch.distributed.fsdp import fully_shard

    for module in model.modules():
        if type(module).__name__ in model._no_split_modules and "Embeddings" not in type(module).__name__:
            fully_shard(module)
    fully_shard(model)
    model.to_empty(device="cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
if "zero" in method:
    import deepspeed

    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config={
        "train_micro_batch_size_per_gpu": batch, "bf16": {"enabled": stored == torch.bfloat16 or "bf16" in method},
        "zero_optimization": {"stage": int(method[method.index("zero") + 4])}})
    del optimizer
    for step in range(3):
        loss = engine(**data).loss
        engine.backward(loss)
        engine.step()
    sys.exit()
for step in range(3):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=method.endswith("amp")):
        loss = model(**data).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
