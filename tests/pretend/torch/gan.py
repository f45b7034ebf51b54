"""Two optimizers: one step is one of each."""
import torch
from torch import nn

generator = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024)).cuda()
critic = nn.Sequential(nn.Linear(1024, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).cuda()
of_generator = torch.optim.Adam(generator.parameters())
of_critic = torch.optim.Adam(critic.parameters())
real = torch.randn(256, 1024, device="cuda")
for step in range(10):
    noise = torch.randn(256, 64, device="cuda")
    fake = generator(noise)
    mixed = (0.5 * real + 0.5 * fake.detach()).requires_grad_()
    slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    of_critic.zero_grad()
    (critic(fake.detach()).mean() - critic(real).mean() + ((slope.norm(dim=1) - 1) ** 2).mean()).backward()
    of_critic.step()
    of_generator.zero_grad()
    (-critic(fake).mean()).backward()
    of_generator.step()
