"""A small Whisper that learns to write down 30 seconds of sound, with autocast. Needs transformers."""
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

config = WhisperConfig(vocab_size=5000, d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4,
                       decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, pad_token_id=0, bos_token_id=1,
                       eos_token_id=2, decoder_start_token_id=3)
model = WhisperForConditionalGeneration(config).cuda()
model.config.use_cache = False
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
scaler = torch.amp.GradScaler("cuda")
for step in range(5):
    sound = torch.randn(4, config.num_mel_bins, 3000).cuda()
    words = torch.randint(4, 5000, (4, 64)).cuda()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(input_features=sound, labels=words).loss
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
