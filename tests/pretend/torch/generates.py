# generate() ends where its length says: so many forwards, whichever way it chooses tokens.
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=600, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)).half().cuda().eval()
forwards = 0


def count(*_):
    global forwards
    forwards += 1


model.register_forward_hook(count)
from_host = torch.randint(3, 600, (4, 20)).cuda()
on_card = torch.randint(3, 600, (4, 20), device="cuda")
ways = ({}, {"do_sample": True, "top_k": 20, "top_p": 0.9}, {"no_repeat_ngram_size": 3}, {"num_beams": 3})
for way in ways:
    for ids in (from_host, on_card):
        forwards = 0
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=9, **way)
        assert forwards == 9, (way, forwards)
        assert "num_beams" in way or out.shape == (4, 29), (way, out.shape)
