# net.onnx at batch 96 on Tesla T4, by vramplan: allocated 1.95 KiB, on the device 3.91 KiB
# the plan checkpoints 2 modules; exactly those: model = prepare(model) of --emit pytorch
# for examples/text_to_image/train_text_to_image_lora_sdxl.py at the tag of the diffusers that is installed (flags as of 0.40)
# add --dataset_name and --output_dir
# the plan leaves out the VAE and the text encoders that the script keeps on the card: --resident counts them
# the script clips gradients, which --clip-grad-norm 1 counts
accelerate launch train_text_to_image_lora_sdxl.py \
  --pretrained_model_name_or_path=stabilityai/sdxl \
  --resolution=1024 \
  --train_batch_size=96 \
  --gradient_accumulation_steps=4 \
  --mixed_precision=fp16 \
  --gradient_checkpointing \
  --rank=16
