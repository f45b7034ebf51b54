"""Position ids as a model of transformers counts them itself, and as a script that packs sequences gives them."""
import torch
from transformers import masking_utils

counted = (torch.arange(16, device="cuda") + 0).unsqueeze(0)
given = torch.arange(16).unsqueeze(0).cuda()
for ids in (counted, given):
    print(masking_utils.find_packed_sequence_indices(ids) is None)
