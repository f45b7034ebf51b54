"""A diffusion U-Net that learns to tell the noise in a noisy image. Needs diffusers."""
import torch
from diffusers import DDPMScheduler, UNet2DModel

model = UNet2DModel(sample_size=64, in_channels=3, out_channels=3, layers_per_block=2, block_out_channels=(64, 128, 256),
                    down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                    up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D")).cuda()
scheduler = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(5):
    images = torch.randn(8, 3, 64, 64).cuda()
    noise = torch.randn_like(images)
    times = torch.randint(0, 1000, (8,), device="cuda")
    loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(images, noise, times), times).sample, noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
