# net.onnx at batch 96 on Tesla T4, by vramplan: allocated 1.95 KiB, on the device 3.91 KiB
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
