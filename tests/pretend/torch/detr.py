"""DETR with a small ResNet of random weights. Needs transformers, and scipy, which its matcher of boxes calls."""
import torch
from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

backbone = ResNetConfig(embedding_size=32, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], out_features=["stage4"])
config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, num_labels=20,
                    d_model=128, encoder_layers=3, decoder_layers=3, encoder_ffn_dim=512, decoder_ffn_dim=512, num_queries=100,
                    auxiliary_loss=True)
model = DetrForObjectDetection(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(5):
    images = torch.randn(2, 3, 384, 512).cuda()
    labels = [{"class_labels": torch.randint(0, 20, (boxes,)).cuda(), "boxes": torch.full((boxes, 4), 0.5).cuda()} for boxes in (7, 3)]
    loss = model(pixel_values=images, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
