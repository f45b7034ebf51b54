// The probe of real machines against the pretend one: what it says, whom it names, how each failure reads.
#include <doctest/doctest.h>

#include "tests/support/pretend_gpu.h"

using namespace vramplan::testing;

namespace {

struct DriverProbeRow {
  const char* name;
  PretendMachine machine;
  std::vector<std::string> questions;
  std::string out;
};

void DriverProbeCheck(const std::vector<DriverProbeRow>& rows) {
  if (!HasPretendGpu()) return;
  for (const DriverProbeRow& row : rows) {
    CAPTURE(row.name);
    const PretendRun run = OnPretendGpu(row.machine, AskCard(row.questions));
    CHECK(run.out == row.out);
    CHECK(run.err == "");
    CHECK(run.exit_code == 0);
    CHECK(run.complaints == "");
  }
}

const std::string kCard0 =
    "card 0: Tesla T4, GPU-11111111-1111-1111-1111-111111111111, 0000:01:00.0, 7.5, 40 multiprocessors\n";
const std::string kMemory =
    "  total 17179869184 usable 16106127360 free 16106127360 reserved 1073741824 granularity 2097152\n";
const std::string kState = "  ecc on display off\n";
const std::string kOrName = "; or name a card instead: vramplan fit FILE.onnx --gpu t4)\n";

}  // namespace

TEST_CASE("driver probe: what a machine says of its cards") {
  DriverProbeCheck({
      {"one card",
       {.description = "card Tesla T4"},
       {"driver", "cards"},
       "driver 580.95.05, cuda 13.0\n" + kCard0 + kMemory + kState},
      {"its own numbers",
       {.description =
            "driver 535.104.05; cuda 12.2\ncard NVIDIA A100-SXM4-80GB\nuuid 0a1b2c3d-0000-0000-0000-00000000000f\n"
            "pci 0000:3b:00.0; capability 8.0; multiprocessors 108; total 85899345920; usable 84987740160\n"
            "granularity 64KiB; ecc off; display on"},
       {"driver", "cards"},
       "driver 535.104.05, cuda 12.2\n"
       "card 0: NVIDIA A100-SXM4-80GB, GPU-0a1b2c3d-0000-0000-0000-00000000000f, 0000:3b:00.0, 8.0, 108 "
       "multiprocessors\n"
       "  total 85899345920 usable 84987740160 free 84987740160 reserved 911605760 granularity 65536\n"
       "  ecc off display on\n"},
      // A compute and graphics process is named once; a name that cannot be seen is empty; bytes may be hidden.
      {"holders",
       {.description = "card Tesla T4\nholder 9000002 graphics /usr/lib/xorg/Xorg 20MiB\n"
                       "holder 9000001 both /usr/bin/python3 600MiB\nholder 9000003 compute - 100MiB\n"
                       "holder 9000004 compute blender ?80MiB"},
       {"cards", "used 0", "holders 0"},
       kCard0 + "  total 17179869184 usable 16106127360 free 15267266560 reserved 1073741824 granularity 2097152\n" +
           kState +
           "  holder 9000001 compute graphics \"python3\" 629145600\n  holder 9000002 graphics \"Xorg\" 20971520\n"
           "  holder 9000003 compute \"\" 104857600\n  holder 9000004 compute \"blender\" unknown\n"
           "used 1912602624\n4 holders\n"
           "  holder 9000001 compute graphics \"python3\" 629145600\n  holder 9000002 graphics \"Xorg\" 20971520\n"
           "  holder 9000003 compute \"\" 104857600\n  holder 9000004 compute \"blender\" unknown\n"},
      {"two cards, the second alone is visible, NVML sees both",
       {.description = "card Tesla T4; card GeForce GTX 1080; capability 6.1; multiprocessors 20; ecc unknown",
        .environment = "CUDA_VISIBLE_DEVICES=1"},
       {"cards", "open 1"},
       "card 0: GeForce GTX 1080, GPU-22222222-2222-2222-2222-222222222222, 0000:02:00.0, 6.1, 20 multiprocessors\n" +
           kMemory + "  ecc unknown display off\n  unknown ecc: not supported\n" +
           "card 1: there is no such card: 1 in all (hint: they are counted from 0: see vramplan probe)\n"},
      {"a slice of a card: its own memory, the card's ECC",
       {.description =
            "card NVIDIA A100 MIG 1g.5gb; mig; total 5GiB; usable 4864MiB; holder 9000001 compute python3 1GiB"},
       {"cards"},
       "card 0: NVIDIA A100 MIG 1g.5gb, MIG-11111111-1111-1111-1111-111111111111, 0000:01:00.0, 7.5, 40 "
       "multiprocessors, "
       "a slice\n  total 5368709120 usable 5100273664 free 4026531840 reserved 268435456 granularity 2097152\n" +
           kState + "  holder 9000001 compute \"python3\" 1073741824\n"},
      {"below Windows processes have no bytes",
       {.description = "wsl; card Tesla T4; holder 9000001 compute python3 1GiB", .windows = true},
       {"driver", "holders 0"},
       "driver 580.95.05, cuda 13.0, below Windows\n1 holders\n  holder 9000001 compute \"python3\" unknown\n"},
  });
}

TEST_CASE("driver probe: what it may not ask is named") {
  DriverProbeCheck({
      {"no NVML",
       {.description = "card Tesla T4", .nvml = false},
       {"driver", "cards", "used 0", "holders 0"},
       "driver , cuda 13.0\n" + kCard0 +
           "  total 16106127360 usable 16106127360 free unknown reserved unknown granularity 2097152\n"
           "  ecc unknown display unknown\n"
           "  unknown total, free, processes, ecc, display: libnvidia-ml.so.1 is not found\n"
           "used unknown\nholders unknown\n"},
      {"no right to see processes",
       {.description = "fail nvmlDeviceGetComputeRunningProcesses_v2 4; card Tesla T4"},
       {"cards", "holders 0"},
       kCard0 + kMemory + kState + "  unknown processes: insufficient permissions\nholders unknown\n"},
      {"no right to see those that draw",
       {.description =
            "fail nvmlDeviceGetGraphicsRunningProcesses_v2 4; card Tesla T4; holder 9000001 both python3 1GiB"},
       {"cards"},
       kCard0 + "  total 17179869184 usable 16106127360 free 15032385536 reserved 1073741824 granularity 2097152\n" +
           kState + "  holder 9000001 compute \"python3\" 1073741824\n" +
           "  unknown processes: Graphics: insufficient permissions\n"},
      {"a driver older than 510 has neither the second memory query",
       {.description = "fail nvmlDeviceGetMemoryInfo_v2 13; card Tesla T4"},
       {"cards"},
       kCard0 + "  total 17179869184 usable 16106127360 free 16106127360 reserved unknown granularity 2097152\n" +
           kState + "  unknown reserved: the driver is older than 510\n"},
      {"nor the second list of processes",
       {.description =
            "fail nvmlDeviceGetComputeRunningProcesses_v2 13; card Tesla T4; holder 9000001 compute python3 1GiB"},
       {"holders 0"},
       "1 holders\n  holder 9000001 compute \"python3\" 1073741824\n"},
      {"virtual memory is not supported",
       {.description = "fail cuMemGetAllocationGranularity 801; card Tesla T4"},
       {"cards"},
       kCard0 + "  total 17179869184 usable 16106127360 free 16106127360 reserved 1073741824 granularity 0\n" + kState +
           "  unknown granularity: CUDA_ERROR_NOT_SUPPORTED\n"},
      {"NVML does not know the UUID",
       {.description = "fail nvmlDeviceGetHandleByUUID 6; card Tesla T4"},
       {"cards"},
       kCard0 + kMemory + kState + "  unknown NVML knows this card by its slot only: not found\n"},
  });
}

TEST_CASE("driver probe: no card, one line each") {
  DriverProbeCheck({
      {"no driver",
       {.driver = false},
       {"driver", "cards", "open 0", "used 0", "holders 0"},
       [] {
         const std::string line =
             "libcuda.so.1: no NVIDIA driver is found on this machine (hint: install it, start the container with "
             "--gpus all, or name a card instead: vramplan fit FILE.onnx --gpu t4)\n";
         return line + line + line + line + line;
       }()},
      {"a driver without a card",
       {},
       {"cards", "open 0"},
       [] {
         const std::string line =
             "driver: the driver finds no card (CUDA_ERROR_NO_DEVICE) (hint: check whether nvidia-smi does; a "
             "container needs --gpus all" +
             kOrName;
         return line + line;
       }()},
      {"a card that is not to be seen",
       {.description = "card Tesla T4", .environment = "CUDA_VISIBLE_DEVICES="},
       {"cards"},
       "driver: the driver shows this program no card (CUDA_ERROR_NO_DEVICE) (hint: unset CUDA_VISIBLE_DEVICES, which "
       "is \"\"" +
           kOrName},
      {"the toolkit's stub",
       {.description = "fail cuInit 34; card Tesla T4"},
       {"cards"},
       "driver: libcuda.so.1 is the toolkit's stub, not a driver (CUDA_ERROR_STUB_LIBRARY) (hint: take the toolkit's "
       "folder stubs out of LD_LIBRARY_PATH" +
           kOrName},
      {"no right to the device files",
       {.description = "fail cuInit 304; card Tesla T4"},
       {"cards"},
       "driver: this user has no permission to open the card (CUDA_ERROR_OPERATING_SYSTEM) (hint: check the "
       "permissions of /dev/nvidia*" +
           kOrName},
      {"after an update without a restart",
       {.description = "fail cuInit 803; card Tesla T4"},
       {"cards"},
       "driver: libcuda.so.1 and the kernel's driver are of different versions (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) "
       "(hint: restart the machine after a driver update" +
           kOrName},
      {"the switches of a large machine are not up",
       {.description = "fail cuInit 802; card Tesla T4"},
       {"cards"},
       "driver: the machine's cards are not ready (CUDA_ERROR_SYSTEM_NOT_READY) (hint: start nvidia-fabricmanager" +
           kOrName},
      {"anything else",
       {.description = "fail cuInit 999; card Tesla T4"},
       {"driver"},
       "driver: the driver does not start (CUDA_ERROR_UNKNOWN) (hint: see nvidia-smi and dmesg" + kOrName},
      {"a code that the driver cannot name",
       {.description = "fail cuInit 998; card Tesla T4"},
       {"driver"},
       "driver: the driver does not start (CUDA error 998) (hint: see nvidia-smi and dmesg" + kOrName},
  });
}
