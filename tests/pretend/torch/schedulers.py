# Schedulers of diffusers look for a time among their own, which are on the card.
import diffusers
import torch

NAMES = ("DDPMScheduler", "DDIMScheduler", "EulerDiscreteScheduler", "HeunDiscreteScheduler", "DPMSolverMultistepScheduler", "PNDMScheduler",
         "UniPCMultistepScheduler", "FlowMatchEulerDiscreteScheduler")
for name in NAMES:
    scheduler = getattr(diffusers, name)()
    scheduler.set_timesteps(4, device="cuda")
    sample = torch.randn(2, 4, 8, 8, device="cuda")
    for time in scheduler.timesteps:
        sample = scheduler.step(torch.randn_like(sample), time, sample).prev_sample
    assert sample.shape == (2, 4, 8, 8)
