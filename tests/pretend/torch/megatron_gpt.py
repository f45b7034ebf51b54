"""megatron_gpt.py T: a GPT of Megatron-core whose matrices are shared by T ranks. Needs megatron-core."""
import os
import sys

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

shared_by = int(sys.argv[1])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=shared_by)
assert parallel_state.get_tensor_model_parallel_world_size() == shared_by
assert parallel_state.get_data_parallel_world_size() == dist.get_world_size() // shared_by
assert parallel_state.get_tensor_model_parallel_rank() == dist.get_rank() % shared_by
assert parallel_state.get_data_parallel_rank() == dist.get_rank() // shared_by
model_parallel_cuda_manual_seed(1)
config = TransformerConfig(num_layers=4, hidden_size=512, num_attention_heads=8, use_cpu_initialization=True)
model = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=32000, max_sequence_length=512).cuda()
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.zeros(2, 512, dtype=torch.long, device="cuda")
places = torch.arange(512, device="cuda").unsqueeze(0).expand(2, -1)
mask = torch.ones(2, 1, 512, 512, dtype=torch.bool, device="cuda").triu(1)
for step in range(4):
    model(ids, places, mask, labels=ids).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
