// libnvidia-ml.so.1: nothing but the name. Programs open NVML by it; what they look for in it is found in libcuda.so.1,
// on which it depends.
