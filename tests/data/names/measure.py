"""measure.py PROGRAM: what named models ask for when a plain script trains them (tests/pretend/torch/named.py, and denoise.py for
those of diffusers), and when it generates, on a pretend H200.

Writes rows.csv and generate.csv beside it: the arguments of the script, the version of torch, and the three peaks of the last step, or
of the run. Rows that are there already for this version stay; delete them to measure anew.
"""
import csv
import json
import pathlib
import subprocess
import sys

CASES = """
qwen2.5-0.5b full 2 sequence=256|qwen2.5-0.5b amp 4 sequence=512|qwen2.5-0.5b lora 4 sequence=256 checkpoint|qwen2.5-0.5b infer 4 sequence=128
qwen3-0.6b full 2 sequence=256|qwen3-0.6b full 4 sequence=512 checkpoint|qwen3-0.6b lora 2 sequence=256|qwen3-0.6b amp 2 sequence=128
llama-3.2-1b full 2 sequence=512|llama-3.2-1b lora 1 sequence=1024 checkpoint|llama-3.2-1b infer 2 sequence=512|llama-3.2-1b full 4 sequence=256 checkpoint
smollm2-360m amp 4 sequence=512|smollm2-135m full 8 sequence=256|tinyllama-1.1b lora 2 sequence=512|llama-3.1-8b lora 1 sequence=512
mistral-7b-v0.3 lora 1 sequence=256|deepseek-coder-1.3b full 1 sequence=512 checkpoint
gpt2 amp 4 sequence=256|gpt2 lora 4 sequence=256|gpt2-medium full 2 sequence=512|gpt2 infer 8 sequence=128
gemma-2-2b lora 1 sequence=256|gemma-2b full 1 sequence=128 checkpoint|phi-3-mini-4k infer 1 sequence=256|olmo-2-1b full 1 sequence=256
pythia-160m full 4 sequence=256|pythia-410m amp 2 sequence=512|opt-125m full 8 sequence=256|opt-1.3b lora 1 sequence=512
bert-base-uncased full 8 sequence=128|bert-base-uncased amp 16 sequence=256|bert-large-uncased full 4 sequence=128|roberta-base amp 8 sequence=256
xlm-roberta-base full 4 sequence=128|distilbert-base-uncased amp 16 sequence=128
t5-small full 8 sequence=256 target=64|t5-base amp 4 sequence=256 target=64|flan-t5-base full 4 sequence=128 target=128|mt5-small full 4 sequence=128 target=64
bart-base full 4 sequence=256 target=64|whisper-tiny full 4 target=64|whisper-small amp 2 target=128
llama-3.2-1b qlora 2 sequence=512|llama-3.2-1b qlora 2 sequence=512 checkpoint|llama-3.2-1b qlora-amp 4 sequence=256|llama-3.2-1b qlora-bf16 1 sequence=1024
llama-3.1-8b qlora 1 sequence=1024 checkpoint|llama-3.1-8b qlora-amp 1 sequence=512|llama-3.1-8b nf4 1 sequence=1024|mistral-7b-v0.3 qlora 2 sequence=512 checkpoint
qwen2.5-1.5b qlora 2 sequence=512|qwen2.5-7b qlora-amp 1 sequence=1024 checkpoint|qwen3-1.7b qlora 1 sequence=512|gemma-2-2b qlora 1 sequence=512 checkpoint
phi-3-mini-4k full 1 sequence=256 checkpoint|gpt2-medium qlora 4 sequence=256|opt-1.3b qlora-amp 2 sequence=512
pythia-410m qlora 2 sequence=512|smollm2-360m qlora-bf16 8 sequence=256 checkpoint|bert-base-uncased qlora 8 sequence=128
gemma-3-1b lora 2 sequence=256|gemma-3-1b full 1 sequence=512 checkpoint|gemma-3-270m full 4 sequence=256|gemma-3-270m amp 2 sequence=128
phi-2 lora 1 sequence=512|phi-1.5 full 1 sequence=256 checkpoint|phi-1.5 lora 2 sequence=256 checkpoint
mixtral-8x7b infer 1 sequence=256|qwen3-30b-a3b infer 1 sequence=256|qwen3-30b-a3b infer 2 sequence=512
gemma-2-2b lora 2 sequence=512 checkpoint|llama-3.2-1b lora 2 sequence=512
clip-vit-base-patch32 full 16|clip-vit-base-patch32 amp 8|clip-vit-large-patch14 full 4|dinov2-base full 8 image=224|dinov2-small amp 16 image=224|modernbert-base full 4 sequence=256|siglip-base-patch16-224 full 4
qwen2.5-0.5b fsdp2 2 sequence=512 ranks=2|qwen2.5-0.5b fsdp2 2 sequence=512 ranks=8|qwen2.5-0.5b ddp 2 sequence=512 ranks=8
llama-3.2-1b fsdp2 1 sequence=1024 checkpoint ranks=4|qwen3-0.6b fsdp2 4 sequence=256 ranks=4|t5-small fsdp2 8 sequence=256 target=64 ranks=4
gpt2-medium ddp 2 sequence=512 ranks=4|bert-large-uncased fsdp2 4 sequence=128 ranks=4
qwen2.5-0.5b zero2 2 sequence=512 ranks=8|llama-3.2-1b zero2 1 sequence=1024 checkpoint ranks=4|llama-3.2-1b zero1 2 sequence=512 ranks=2
t5-small zero2 4 sequence=256 target=64 ranks=4|t5-small zero1-bf16 8 sequence=128 target=64 ranks=3|bert-base-uncased zero2-bf16 8 sequence=128 ranks=8
llama-3.2-1b lora-zero2 2 sequence=512 ranks=4|llama-3.1-8b zero2 1 sequence=512 checkpoint ranks=8|qwen3-0.6b zero1 2 sequence=256 ranks=64
qwen2.5-0.5b zero3 2 sequence=512 ranks=8|llama-3.2-1b zero3 1 sequence=1024 checkpoint ranks=2|llama-3.1-8b zero3 1 sequence=512 checkpoint ranks=4
llama-3.2-1b lora-zero3 2 sequence=512 ranks=4|llama-3.1-8b lora-zero3 1 sequence=512 checkpoint ranks=4|t5-small zero3 4 sequence=256 target=64 ranks=3
whisper-tiny zero3 4 target=64 checkpoint ranks=4|bert-base-uncased zero3-bf16 8 sequence=128 ranks=8|gpt2-medium zero3 2 sequence=512 ranks=2|qwen3-0.6b zero3 2 sequence=256 ranks=64
qwen3-30b-a3b zero3 1 sequence=256 checkpoint ranks=8|mistral-7b-v0.3 zero3 1 sequence=1024 ranks=8
llama-3.2-1b lora-dora 2 sequence=512|llama-3.2-1b lora-dora 1 sequence=256 checkpoint|gpt2 lora-dora 4 sequence=256|t5-small lora-dora 8 sequence=128 target=64|qwen2.5-0.5b lora-dora 2 sequence=256
llama-3.2-1b qlora-dora 2 sequence=512|mistral-7b-v0.3 qlora-dora 1 sequence=512 checkpoint
llama-3.2-1b int8-lora 2 sequence=512|llama-3.2-1b int8-lora-bf16 1 sequence=1024 checkpoint|llama-3.2-1b int8 2 sequence=512|opt-1.3b int8-lora 2 sequence=256|gpt2-medium int8-lora 4 sequence=256
mistral-7b-v0.3 int8-lora 1 sequence=512 checkpoint|t5-small int8-lora 4 sequence=128 target=64|bert-base-uncased int8-lora 8 sequence=128
t5-small qlora 4 sequence=128 target=64
sd-1.5 full 1|sd-1.5 amp 4 checkpoint|sd-1.5 amp-fp16 2|sd-1.5 lora-amp 2|sd-1.5 lora-amp-fp16 1|sd-1.5 lora-amp 4 checkpoint|sd-1.5 lora-amp 1 height=768 width=512|sd-1.5 infer-bf16 4
sdxl amp 1|sdxl amp-fp16 2 checkpoint|sdxl lora-amp 1 checkpoint|sdxl lora-amp-fp16 2|sdxl lora-amp-fp16 4 checkpoint|sdxl lora-amp 1 height=1216 width=832|sdxl infer-bf16 2
sd3-medium amp 1|sd3-medium lora-amp 1|sd3-medium lora-amp 4 checkpoint|sd3-medium lora-amp 2 height=512 width=768 text=333|flux-dev lora-amp 1 checkpoint|flux-dev lora-amp 1 height=512 width=512|flux-dev infer-bf16 1|flux-schnell lora-amp 2 height=768 width=768 checkpoint
sd-2.1 lora-amp-fp16 2|sd3.5-large lora-amp 1 height=512 width=512 checkpoint
wan2.1-t2v-1.3b full 1 frames=17|wan2.1-t2v-1.3b amp 1 frames=17 height=320 width=512|wan2.1-t2v-1.3b lora-amp 1 frames=49 checkpoint|wan2.1-t2v-1.3b lora-amp 2 frames=1 height=512 width=512
wan2.1-t2v-1.3b full 1 frames=33 checkpoint|wan2.1-t2v-1.3b infer-bf16 1|wan2.2-i2v-a14b lora-amp 1 frames=17 checkpoint|wan2.1-t2v-14b infer-bf16 1 frames=33|wan2.1-t2v-1.3b infer-bf16 1 frames=20
pixart-sigma full 1|pixart-sigma amp 4 checkpoint|pixart-sigma lora-amp 2|pixart-sigma lora-amp-fp16 2 checkpoint|pixart-sigma infer-bf16 4|pixart-alpha-512 full 4 text=120|pixart-sigma-512 amp-fp16 4
flux-kontext-dev lora-amp 1 height=512 width=1024 checkpoint
vit-base-patch16-224 full 8|vit-base-patch16-224 amp 16|vit-large-patch16-224 full 4
olmo-2-1b full 1 sequence=256 checkpoint|pythia-160m full 4 sequence=256 checkpoint|t5-small full 8 sequence=256 target=64 checkpoint|mt5-small full 4 sequence=128 target=64 checkpoint
flan-t5-base full 4 sequence=128 target=128 checkpoint|bart-base full 4 sequence=256 target=64 checkpoint|whisper-tiny full 4 target=64 checkpoint|bert-base-uncased full 8 sequence=128 checkpoint
roberta-base full 8 sequence=256 checkpoint|distilbert-base-uncased full 16 sequence=128 checkpoint|vit-base-patch16-224 full 32 checkpoint|modernbert-base full 8 sequence=512 checkpoint
opt-125m full 8 sequence=512 checkpoint|gemma-3-270m amp 2 sequence=512 checkpoint|phi-1.5 full 4 sequence=1024 checkpoint|clip-vit-base-patch32 full 64 checkpoint
siglip-base-patch16-224 full 16 checkpoint|dinov2-small amp 64 image=224 checkpoint|gpt2 amp 8 sequence=1024 checkpoint|qwen2.5-0.5b lora-amp 2 sequence=512
qwen2.5-0.5b full 2 sequence=256 fp32|qwen2.5-0.5b lora 2 sequence=256 fp32|bert-base-uncased lora 8 sequence=128 checkpoint|bert-base-uncased full 8 sequence=128 bf16
llama-3.2-1b lora-amp 2 sequence=512 bf16|qwen2.5-0.5b lora-amp 2 sequence=512 bf16 checkpoint|qwen3-0.6b amp 2 sequence=256 bf16|llama-3.2-1b qlora-amp 2 sequence=512 bf16
modernbert-base full 8 sequence=1024 checkpoint|mt5-small qlora-amp 2 sequence=256 target=64 checkpoint|bert-base-uncased lora 8 sequence=256 checkpoint|t5-base lora-amp 2 sequence=128 target=64 checkpoint on=all-linear
mistral-7b-instruct-v0.2 lora 2 sequence=256|opt-2.7b lora 2 sequence=256 checkpoint fp32 on=all-linear|smollm3-3b lora-amp 1 sequence=1024 bf16 on=all-linear|bart-large qlora 4 sequence=512 target=32 checkpoint
gemma-2-2b infer 2 sequence=256|qwen2.5-coder-1.5b-instruct qlora-amp 1 sequence=512 checkpoint on=all-linear|xlm-roberta-large full 1 sequence=512|opt-1.3b full 1 sequence=512
qwen3-30b-a3b lora 1 sequence=256 on=q_proj+v_proj|smollm3-3b lora-amp 1 sequence=128 bf16 on=all-linear|t5-large infer 8 sequence=128 target=32|qwen3-30b-a3b lora 1 sequence=512 on=q_proj+v_proj checkpoint
whisper-large-v3-turbo full 4 target=64 checkpoint bf16|distilbert-base-uncased lora-amp 8 sequence=512 checkpoint on=all-linear|modernbert-base qlora-amp 1 sequence=512 on=all-linear|olmo-2-7b infer 8 sequence=1024
gemma-3-270m full 2 sequence=1024|whisper-tiny qlora 2 target=32 checkpoint on=all-linear|gemma-2-2b-it amp 4 sequence=512
granite-3.1-2b lora 1 sequence=512 on=q_proj+v_proj|roberta-base lora 1 sequence=512 checkpoint|modernbert-base infer 4 sequence=512|granite-3.1-2b full 1 sequence=256 checkpoint
qwen2.5-math-1.5b lora 1 sequence=256 checkpoint|gemma-3-1b lora 1 sequence=1024 checkpoint|distilbert-base-uncased amp 4 sequence=512 checkpoint
whisper-small lora 1 target=32 checkpoint on=all-linear|qwen1.5-0.5b full 2 sequence=256|opt-1.3b lora 1 sequence=256 checkpoint|roberta-large lora 2 sequence=512
opt-6.7b lora 4 sequence=1024|dinov2-small full 1 image=224 checkpoint bf16|gemma-3-1b-it full 2 sequence=512 checkpoint
falcon-rw-1b full 1 sequence=256|falcon-7b infer 1 sequence=256
deepseek-v2-lite infer 1 sequence=256|deepseek-v2-lite infer 2 sequence=1024|deepseek-v2-lite lora 1 sequence=512 checkpoint on=q_proj+o_proj|deepseek-v2-lite lora 1 sequence=256 on=q_proj+kv_b_proj
deepseek-coder-v2-lite lora 2 sequence=256 checkpoint on=kv_a_proj_with_mqa+kv_b_proj|moonlight-16b-a3b infer 1 sequence=512|moonlight-16b-a3b lora 1 sequence=256 checkpoint on=q_proj+kv_b_proj
starcoder2-3b full 1 sequence=512|starcoder2-3b lora 2 sequence=256 checkpoint on=q_proj+v_proj|starcoder2-3b amp 1 sequence=256|starcoder2-7b infer 2 sequence=256
glm-4-9b-0414 lora 1 sequence=512 checkpoint on=q_proj+v_proj|glm-4-9b-0414 qlora 1 sequence=512 on=q_proj+v_proj|glm-4-9b-0414 infer 1 sequence=512|glm-4-9b-0414 full 1 sequence=256
phi-4-mini full 1 sequence=512 checkpoint|phi-4-mini lora 2 sequence=256 on=qkv_proj+o_proj|phi-4-mini amp 1 sequence=256|phi-4-mini infer 1 sequence=512
stablelm-2-1.6b full 2 sequence=256|stablelm-2-1.6b lora 1 sequence=512 checkpoint|stablelm-2-1.6b amp 2 sequence=128|stablelm-3b-4e1t infer 1 sequence=256
gemma-3-4b full 1 sequence=256 checkpoint|gemma-3-4b lora 1 sequence=512 on=q_proj+v_proj|gemma-3-4b qlora 1 sequence=512 checkpoint on=q_proj+v_proj|gemma-3-4b infer 1 sequence=256
gemma-3-4b amp 1 sequence=256|gemma-3-12b qlora-bf16 1 sequence=256 checkpoint on=q_proj+v_proj|gemma-3-27b nf4 1 sequence=256|gemma-3-4b full 1 sequence=1200
gpt-neo-125m full 4 sequence=256|gpt-neo-125m amp 4 sequence=512|gpt-neo-1.3b lora 1 sequence=512 checkpoint|gpt-neo-1.3b infer 2 sequence=512
mistral-small-3.1-24b lora 1 sequence=512 checkpoint on=q_proj+v_proj|mistral-small-3.1-24b qlora-bf16 1 sequence=512 on=all-linear|mistral-small-3.1-24b infer 1 sequence=512
qwen2.5-vl-3b full 1 sequence=256 checkpoint|qwen2.5-vl-3b lora 1 sequence=512 on=q_proj+v_proj|qwen2.5-vl-7b qlora 1 sequence=512 checkpoint on=all-linear|qwen2.5-vl-3b amp 1 sequence=256|qwen2.5-vl-3b qlora-bf16 1 sequence=256 on=all-linear|qwen2.5-vl-7b infer 1 sequence=512
resnet-50 full 16|resnet-50 amp 32|resnet-18 full 32|resnet-152 full 8 image=384|resnet-50 infer 32
convnext-tiny full 16|convnext-base amp 8|convnext-tiny infer 32 image=384
swin-tiny full 8|swin-base amp 8|swin-base-384 infer 8|deit-small full 32 checkpoint
all-minilm-l6-v2 infer 64 sequence=256|bge-large-en-v1.5 infer 16 sequence=512|multilingual-e5-base infer 8 sequence=256
phi-3.5-mini full 1 sequence=256|phi-3.5-mini lora 2 sequence=512 checkpoint on=qkv_proj+o_proj|granite-3.3-2b full 1 sequence=512 checkpoint|granite-3.3-2b lora 2 sequence=256 on=q_proj+v_proj
gpt-oss-20b fsdp2 1 sequence=256 checkpoint ranks=8|gpt-oss-20b fsdp2 1 sequence=100 ranks=4|gpt-oss-20b lora 1 sequence=256 on=q_proj+v_proj|gpt-oss-20b lora 2 sequence=512 checkpoint on=q_proj+k_proj+v_proj+o_proj
gpt-oss-20b lora-amp 1 sequence=512 bf16 on=q_proj+v_proj|gpt-oss-20b infer 1 sequence=512|gpt-oss-20b infer 4 sequence=64
llama-3.2-1b full 2 sequence=512 liger|llama-3.2-1b full 4 sequence=256 checkpoint liger|llama-3.2-1b lora 2 sequence=512 liger|llama-3.2-1b qlora-amp 4 sequence=256 liger
qwen2.5-0.5b amp 4 sequence=512 liger|qwen2.5-0.5b full 2 sequence=256 fp32 liger|qwen2.5-0.5b lora-amp 2 sequence=512 liger|qwen3-0.6b full 2 sequence=256 liger|qwen3-0.6b amp 2 sequence=128 liger
qwen3-1.7b qlora 1 sequence=512 liger|mistral-7b-v0.3 qlora 2 sequence=512 checkpoint liger|phi-3-mini-4k full 1 sequence=256 checkpoint liger|smollm3-3b lora-amp 1 sequence=128 bf16 on=all-linear liger
gemma-2b full 1 sequence=128 checkpoint liger|gemma-2-2b lora 1 sequence=256 liger|gemma-3-270m full 4 sequence=256 liger|gemma-3-270m amp 2 sequence=128 liger|olmo-2-1b full 1 sequence=256 liger
llama-3.1-8b lora 1 sequence=2048 checkpoint liger|llama-3.1-8b lora 1 sequence=2048 liger|llama-3.2-1b full 8 sequence=1024 liger|qwen2.5-0.5b amp 8 sequence=1024 liger|gemma-2-2b lora-amp 2 sequence=512 bf16 checkpoint liger
aya-23-8b full 1 sequence=256 checkpoint|aya-23-8b lora 1 sequence=512 on=q_proj+v_proj|aya-23-8b infer 1 sequence=256|command-r infer 1 sequence=256
seed-oss-36b lora 1 sequence=256 checkpoint on=q_proj+v_proj|seed-oss-36b infer 1 sequence=256|byt5-small full 4 sequence=512 target=64|qwen3-embedding-0.6b infer 8 sequence=256
olmo-3-7b full 1 sequence=256 checkpoint|olmo-3-7b lora 1 sequence=512 on=q_proj+v_proj|olmo-3-7b lora 1 sequence=4608 checkpoint on=q_proj+v_proj|olmo-3-7b infer 1 sequence=512
qwen2-vl-2b full 1 sequence=256 checkpoint|qwen2-vl-2b lora 2 sequence=512 on=q_proj+v_proj|qwen2-vl-7b qlora 1 sequence=512 checkpoint on=all-linear|qwen2-vl-7b infer 1 sequence=512
qwen3-vl-2b full 1 sequence=256|qwen3-vl-4b lora 1 sequence=512 checkpoint on=q_proj+v_proj|qwen3-vl-8b qlora 1 sequence=512 checkpoint on=all-linear|qwen3-vl-8b infer 1 sequence=256|qwen3-vl-2b amp 1 sequence=256
nllb-200-distilled-600m full 4 sequence=128 target=64|nllb-200-distilled-600m amp 4 sequence=128 target=64 checkpoint|nllb-200-distilled-600m infer 8 sequence=128 target=32
gpt-j-6b lora 1 sequence=512|gpt-j-6b full 1 sequence=256 checkpoint bf16|electra-base full 8 sequence=128|electra-large amp 4 sequence=256 checkpoint
exaone-4.0-1.2b full 1 sequence=512|exaone-4.0-1.2b lora 2 sequence=256 checkpoint on=q_proj+v_proj|opus-mt-en-de full 8 sequence=128 target=64|opus-mt-en-de amp 16 sequence=128 target=128 checkpoint
esm2-35m full 8 sequence=256|esm2-650m amp 4 sequence=512 checkpoint|esm2-650m infer 4 sequence=1024
llama-3.2-1b full 2 sequence=1024 padded|llama-3.2-1b lora 4 sequence=2048 padded|llama-3.2-1b lora 4 sequence=2048 checkpoint padded|llama-3.2-1b lora-amp 4 sequence=512 bf16 padded
llama-3.1-8b lora 2 sequence=1024 padded|qwen2.5-0.5b lora-amp 8 sequence=1024 padded|qwen3-0.6b lora 4 sequence=512 padded|mistral-7b-v0.3 lora 2 sequence=512 padded|gemma-2-2b lora 2 sequence=512 padded
phi-3-mini-4k lora 2 sequence=1024 padded on=qkv_proj+o_proj|gpt2 amp 8 sequence=1024 padded|pythia-410m amp 4 sequence=512 padded|opt-1.3b lora 2 sequence=512 padded
bert-base-uncased amp 16 sequence=512 padded|roberta-base full 8 sequence=256 padded|modernbert-base full 4 sequence=512 padded|t5-base amp 4 sequence=256 target=64 padded|llama-3.2-1b qlora 2 sequence=512 checkpoint padded
gemma-3-1b lora 2 sequence=512 padded|gemma-3-270m full 2 sequence=2048 checkpoint padded|mistral-7b-v0.1 lora 1 sequence=4608 checkpoint padded|starcoder2-3b lora 1 sequence=512 padded on=q_proj+v_proj
falcon-7b infer 2 sequence=256 padded|granite-3.1-2b full 1 sequence=256 checkpoint padded|olmo-2-1b full 2 sequence=256 padded|smollm3-3b lora-amp 2 sequence=256 bf16 padded on=all-linear
bart-large amp 4 sequence=512 target=64 padded|distilbert-base-uncased amp 8 sequence=256 padded|esm2-35m full 8 sequence=256 padded|nllb-200-distilled-600m full 4 sequence=128 target=64 padded|flan-t5-base full 2 sequence=512 target=64 checkpoint padded
qwen3-8b infer 4 sequence=1024 padded|llama-3.1-8b infer 2 sequence=2048 padded|modernbert-base amp 8 sequence=1024 padded|qwen3-30b-a3b infer 2 sequence=256 padded|gpt-oss-20b infer 2 sequence=512 padded
qwen2.5-7b lora 2 sequence=512 liger padded|qwen2.5-0.5b fsdp2 2 sequence=512 padded ranks=2|bge-m3 infer 4 sequence=512 padded|phi-2 lora 2 sequence=256 padded|qwen2.5-vl-3b lora 1 sequence=512 padded on=q_proj+v_proj
deberta-v3-base full 4 sequence=128|deberta-v3-base full 8 sequence=256 padded|deberta-v3-large amp 4 sequence=256 checkpoint|deberta-v3-base lora 8 sequence=128|deberta-v3-small infer 16 sequence=512|mdeberta-v3-base amp 4 sequence=512 padded
qwen-image lora-amp 1 height=512 width=512 checkpoint|qwen-image lora-amp 2 height=256 width=256 text=128|qwen-image infer-bf16 1 height=512 width=768
flux.2-klein-4b lora-amp 1 height=512 width=512 checkpoint|flux.2-klein-4b lora-amp 1 height=256 width=256 text=128|flux.2-klein-9b infer-bf16 1 height=512 width=512|flux.2-dev lora-amp 1 height=512 width=512 checkpoint
"""
GENERATED = """
qwen3-0.6b generate 1 sequence=512 new=1|llama-3.2-1b generate 1 sequence=2048 new=1|gpt2 generate 1 sequence=256 new=1
qwen3-0.6b generate 2 sequence=512 new=1|gemma-3-270m generate 3 sequence=256 new=1|pythia-160m generate 4 sequence=256 new=1|deepseek-v2-lite generate 2 sequence=256 new=1
qwen3-0.6b generate 2 sequence=512 new=32|qwen3-0.6b static 2 sequence=512 new=32|qwen3-0.6b static-eager 2 sequence=512 new=32
qwen3-0.6b generate 4 sequence=64 new=256|qwen3-0.6b static 4 sequence=64 new=256|qwen3-0.6b static-eager 4 sequence=64 new=256
llama-3.2-1b generate 1 sequence=2048 new=128|llama-3.2-1b static 1 sequence=2048 new=128|llama-3.2-1b static-eager 1 sequence=2048 new=128
gemma-3-1b generate 1 sequence=1024 new=64|gemma-3-1b static-eager 1 sequence=1024 new=64
"""

here = pathlib.Path(__file__).resolve().parent
scripts = here.parents[1] / "pretend/torch"
sys.path.insert(0, str(scripts))

import known  # noqa: E402

denoisers = {name for name, row in known.rows().items() if "_class_name" in row["config"]}
version = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__.split('+')[0])"], capture_output=True, text=True).stdout.strip()
for file, cases in (("rows.csv", CASES), ("generate.csv", GENERATED)):
    rows = list(csv.DictReader((here / file).open())) if (here / file).exists() else []
    for case in cases.replace("\n", "|").split("|"):
        if not case or any(row["case"] == case and row["torch"] == version for row in rows):
            continue
        ranks = [word.split("=")[1] for word in case.split() if word.startswith("ranks=")]
        gpus = ["--gpus", *ranks] if ranks else []
        script = scripts / ("denoise.py" if case.split()[0] in denoisers else "named.py")
        done = subprocess.run([sys.argv[1], "run", "--gpu", "h200", *gpus, "--format", "json", "--", sys.executable, str(script), *case.split()],
                              capture_output=True, text=True)
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            print(case, done.stderr[-500:], file=sys.stderr)
            continue
        peak = answer["steps"][-1] if answer["steps"] else answer["peak"]
        rows.append({"case": case, "torch": version, **{level: peak[level] for level in ("requested", "allocated", "reserved")}})
        print(rows[-1], flush=True)
        with (here / file).open("w") as out:
            writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
