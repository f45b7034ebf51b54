"""llama_ranks.py KIND: a Llama of 159.9 M parameters, 2 x 512 tokens a step, over the ranks that there are: ddp, fsdp1,
fsdp2, or zero1, zero2, zero3 of DeepSpeed in bfloat16. Needs transformers; zero needs deepspeed."""
import os
import sys

import torch
import torch.distributed as dist
from transformers import LlamaConfig, LlamaForCausalLM

kind = sys.argv[1]
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = LlamaForCausalLM(LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16,
                                     num_key_value_heads=8, vocab_size=32000)).train()
layers = model.model.layers
if kind == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(model.cuda())
elif kind == "fsdp1":
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({type(layers[0])}),
                                     device_id=torch.cuda.current_device())
elif kind == "fsdp2":
    from torch.distributed.fsdp import fully_shard
    for layer in layers:
        fully_shard(layer)
    fully_shard(model)
    model.cuda()
else:
    import deepspeed
    config = {"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True},
              "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
              "zero_optimization": {"stage": int(kind[4])}}
    model, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
if not kind.startswith("zero"):
    optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    tokens = torch.randint(0, 32000, (2, 512)).cuda()
    loss = model(input_ids=tokens, labels=tokens).loss
    if kind.startswith("zero"):
        model.backward(loss)
        model.step()
    else:
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
