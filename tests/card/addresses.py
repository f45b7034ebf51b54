"""addresses.py: which address the driver gives to each cuMemAlloc, as rows "what, size, address less the first".

PyTorch's caching allocator takes, among free blocks of one size, the one at the lowest address: so the order of segments in
the address space decides what is split, and with it the reserved bytes.
"""
import ctypes
import random

cuda = ctypes.CDLL("libcuda.so.1")
MIB = 1 << 20


def check(code, what):
    if code:
        raise SystemExit(f"{what}: CUDA error {code}")


check(cuda.cuInit(0), "cuInit")
device, context = ctypes.c_int(), ctypes.c_void_p()
check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
first = None


def take(size, what):
    global first
    address = ctypes.c_uint64()
    check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)), "cuMemAlloc")
    first = address.value if first is None else first
    print(f"{what},{size},{address.value - first}")
    return address.value


def give(address, what):
    check(cuda.cuMemFree_v2(ctypes.c_uint64(address)), "cuMemFree")
    print(f"{what},0,{address - first}")


for size in (2, 20, 2, 20, 32, 34, 100, 2, 258, 20, 1026, 2, 34, 20, 4, 6, 512):
    take(size * MIB, "growing")
blocks = [take(20 * MIB, "twenty") for _ in range(6)]
for index in (1, 3, 4):
    give(blocks[index], "free")
take(20 * MIB, "one hole")
take(2 * MIB, "small into holes")
take(40 * MIB, "two holes")
take(38 * MIB, "larger than a hole")
take(20 * MIB, "last hole")
chooser = random.Random(7)
held = []
for number in range(400):
    if held and chooser.random() < 0.4:
        give(held.pop(chooser.randrange(len(held))), f"random free {number}")
    else:
        held.append(take(chooser.choice([2, 2, 2, 20, 20, 20, 32, 34, 66, 128, 130, 258, 400, 514]) * MIB, f"random {number}"))
for address in held:
    give(address, "end")
for size in (2, 20, 34, 1026, 2, 20):
    take(size * MIB, "after all")
