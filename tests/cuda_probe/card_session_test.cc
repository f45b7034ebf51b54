// A session on a pretend card: memory is counted to the byte, time is exact, every failure is a line, nothing is left.
#include <doctest/doctest.h>

#include <regex>

#include "tests/support/pretend_gpu.h"

using namespace vramplan::testing;

namespace {

struct Row {
  const char* name;
  PretendMachine machine;
  std::vector<std::string> questions;
  std::string out;
  std::string complaints;
};

void Check(const std::vector<Row>& rows) {
  if (!HasPretendGpu()) return;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const PretendRun run = OnPretendGpu(row.machine, AskCard(row.questions));
    // The toolkit of this build.
    CHECK(std::regex_replace(run.out, std::regex("of CUDA [0-9.]+"), "of CUDA X") == row.out);
    CHECK(run.err == "");
    CHECK(run.exit_code == 0);
    CHECK(run.complaints == row.complaints);
  }
}

// Of a T4 with 15 GiB and nobody on it.
const char* const kT4 = "card Tesla T4";

std::string Lost(const std::string& doing) {
  return "card 0: the card no longer answers: it failed " + doing +
         " (CUDA_ERROR_DEVICE_UNAVAILABLE) (hint: see dmesg for an Xid line; it may need a restart)\n";
}
const char* const kTaken =
    "card 0: another process has the card for itself, or it no longer answers (CUDA_ERROR_DEVICE_UNAVAILABLE) (hint: "
    "nvidia-smi -c DEFAULT lets others in; else see dmesg)\n";

}  // namespace

TEST_CASE("card session: a context and three libraries take what they take, and give it back") {
  Check({
      {"context 200 MiB, kernel 2, cuBLAS 40, cuDNN 60; loading twice takes nothing more",
       {.description = kT4},
       {"open 0", "free", "load kernel", "free", "load cublas", "free", "load cudnn", "free", "load cublas",
        "load cudnn", "free", "close", "used 0", "open 0", "free", "load cublas"},
       "open\nfree 15896412160 of 16106127360\nloaded\nfree 15894315008 of 16106127360\nloaded\n"
       "free 15852371968 of 16106127360\nloaded\nfree 15789457408 of 16106127360\nloaded\nloaded\n"
       "free 15789457408 of 16106127360\nclosed\nused 1073741824\nopen\nfree 15896412160 of 16106127360\nloaded\n",
       ""},
      {"not installed",
       {.description = kT4, .cublas = false, .cudnn = false},
       {"open 0", "load cublas", "load cudnn", "workspace forward", "free"},
       "open\nnot installed\nnot installed\nworkspace unknown\nfree 15896412160 of 16106127360\n",
       ""},
      {"other processes see the context and its name",
       {.description = "card Tesla T4; holder 9000001 compute python3 1GiB"},
       {"open 0", "used 0"},
       "open\nused 2357198848\n",
       ""},
  });
}

TEST_CASE("card session: blocks are rounded, bounds are kept, all is given back in the end") {
  Check({
      {"rounding to 2 MiB",
       {.description = kT4},
       {"open 0", "allocate a 1", "free", "allocate b 3MiB", "free", "release a", "free", "release b", "free"},
       "open\na is there\nfree 15894315008 of 16106127360\nb is there\nfree 15890120704 of 16106127360\na is released\n"
       "free 15892217856 of 16106127360\nb is released\nfree 15896412160 of 16106127360\n",
       ""},
      {"full: the last piece fits exactly, one byte more does not",
       {.description = kT4},
       {"open 0", "allocate a 15896412161", "allocate a 15896412160", "allocate b 1", "release a", "allocate b 1"},
       "open\nout of memory\na is there\nout of memory\na is released\nb is there\n",
       ""},
      {"in pieces: much is free, but not together",
       {.description = "card Tesla T4; largest-piece 1GiB"},
       {"open 0", "allocate a 2GiB", "allocate a 1GiB", "allocate b 1GiB"},
       "open\nout of memory\na is there\nb is there\n",
       ""},
      {"a neighbour takes 14 GiB before the second allocation, and leaves before the fourth",
       {.description = "card Tesla T4; neighbour 2 14GiB; neighbour 4 -14GiB"},
       {"open 0", "allocate a 1GiB", "free", "allocate b 1GiB", "free", "allocate c 4MiB", "allocate b 1GiB"},
       "open\na is there\nfree 14822670336 of 16106127360\nout of memory\nfree 0 of 16106127360\nout of memory\n"
       "b is there\n",
       ""},
      {"our own mistakes are refused before they reach the card",
       {.description = kT4},
       {"open 0", "allocate a 2MiB", "touch a 3MiB", "touch nothing", "release nothing", "copy a nothing",
        "allocate b 0", "touch a"},
       "open\na is there\ncard 0: touched what was not allocated\ncard 0: touched what was not allocated\n"
       "card 0: released what was not allocated\ncard 0: copied what was not allocated\n"
       "card 0: the card failed to allocate 0 B (CUDA_ERROR_INVALID_VALUE) (hint: see dmesg for an Xid line)\n"
       "2.09715e+06 in 1.37381e-05 s\n",
       ""},
  });
}

TEST_CASE("card session: time is the card's, and work is what was done") {
  Check({
      // 5 us and 240e9 bytes a second: 240 MB take 1.005 ms, a copy of 120 MB as long.
      {"bytes",
       {.description = kT4},
       {"open 0", "allocate a 240000000", "allocate b 240000000", "touch a", "copy a b"},
       "open\na is there\nb is there\n2.4e+08 in 0.001005 s\n4.8e+08 in 0.002005 s\n",
       ""},
      // 1e12 FLOP are seven products of 4096 x 4096 (2 x 4096^3 = 1.374e11 each) at 7 and 40 TFLOP/s, and 7 x 5 us.
      {"FLOP through cuBLAS",
       {.description = kT4},
       {"open 0", "compute fp32 1e12", "compute fp16 1e12", "compute bf16 1e12", "compute tf32 1e12", "compute fp32 1",
        "free"},
       "open\n9.62073e+11 in 0.137474 s\n9.62073e+11 in 0.0240868 s\nthe card cannot\nthe card cannot\n"
       "3.35544e+07 in 9.79349e-06 s\nfree 15854469120 of 16106127360\n",
       ""},
      // 320 blocks of 256 threads, 16 FLOP an iteration with FMA, 1024 with tensor cores (fp16).
      {"FLOP through our own kernels",
       {.description = kT4, .cublas = false},
       {"open 0", "compute fp32 1e12", "compute fp16 1e12", "compute bf16 1e12", "compute tf32 1e12"},
       "open\n9.99999e+11 in 0.142862 s\n1.00001e+12 in 0.0250051 s\nthe card cannot\nthe card cannot\n",
       ""},
      {"a card of 8.6 has all four; one of 6.1 has halves by pairs, one of 5.0 has none",
       {.description =
            "card A; capability 8.6; rate tf32 35e12; rate bf16 70e12; card B; capability 6.1; card C; capability 5.0",
        .cublas = false},
       {"open 0", "compute bf16 1e12", "compute tf32 1e12", "close", "open 1", "compute fp16 1e12", "compute bf16 1",
        "close", "open 2", "compute fp32 1e12", "compute fp16 1"},
       "open\n1.00001e+12 in 0.0142908 s\n1.00001e+12 in 0.0285766 s\nclosed\nopen\n1e+12 in 0.025005 s\nthe card "
       "cannot\nclosed\n"
       "open\n9.99999e+11 in 0.142862 s\nthe card cannot\n",
       ""},
      // 4 GiB free beside the context: no room for matrices, so the kernels that need none compute.
      {"on a full card",
       {.description = kT4},
       {"open 0", "load cublas", "allocate a 15852371968", "compute fp32 1e12"},
       "open\nloaded\na is there\n9.99999e+11 in 0.142862 s\n",
       ""},
  });
}

TEST_CASE("card session: cuDNN's workspace is the one of the first algorithm that works") {
  Check({
      {"by pass, in one to three axes",
       {.description =
            "card Tesla T4; workspace forward 1MiB; workspace input-gradient 5MiB; workspace weight-gradient 0"},
       {"open 0", "workspace forward 1d", "workspace input-gradient 2d", "workspace weight-gradient 3d"},
       "open\nworkspace 1048576\nworkspace 5242880\nworkspace 0\n",
       ""},
      {"an output that does not belong to the input",
       {.description = kT4},
       {"open 0", "workspace forward wrong"},
       "open\nworkspace unknown\n",
       ""},
      {"cuDNN refuses",
       {.description = "fail cudnnGetConvolutionForwardAlgorithm_v7 3000; card Tesla T4"},
       {"open 0", "workspace forward", "workspace weight-gradient"},
       "open\nworkspace unknown\nworkspace 3145728\n",
       ""},
  });
}

TEST_CASE("card session: what goes wrong is one line, and what was taken is given back") {
  Check({
      {"no room for a context",
       {.description = "card Tesla T4; holder 9000001 compute python3 15200MiB"},
       {"open 0"},
       "card 0: no memory is left on the card to make a context (CUDA_ERROR_OUT_OF_MEMORY) (hint: see who holds it: "
       "vramplan probe)\n",
       ""},
      {"another process has the card for itself",
       {.description = "fail cuDevicePrimaryCtxRetain 46; card Tesla T4"},
       {"open 0"},
       kTaken,
       ""},
      {"a driver older than the toolkit",
       {.description = "fail cuModuleLoadData 222; card Tesla T4"},
       {"open 0", "load kernel", "allocate a 2MiB", "free"},
       "open\ncard 0: the driver cannot run kernels of CUDA X (CUDA_ERROR_UNSUPPORTED_PTX_VERSION) (hint: "
       "update the driver, or build with an older toolkit)\na is there\nfree 15894315008 of 16106127360\n",
       ""},
      {"a card for which there is no kernel",
       {.description = "fail cuModuleLoadData 209; card GeForce GTX 980; capability 5.2"},
       {"open 0", "load kernel"},
       "open\ncard 0: the driver cannot run kernels of CUDA X (CUDA_ERROR_NO_BINARY_FOR_GPU) (hint: update "
       "the driver, or build with an older toolkit)\n",
       ""},
      {"no room for a library",
       {.description = kT4},
       {"open 0", "allocate a 15896412160", "load kernel", "load cublas", "load cudnn", "release a", "load cublas"},
       "open\na is there\ncard 0: no memory is left on the card to load a kernel (CUDA_ERROR_OUT_OF_MEMORY) (hint: see "
       "who holds it: vramplan probe)\ncuBLAS: no memory is left on the card to load it (hint: see who holds it: "
       "vramplan "
       "probe)\ncuDNN: it does not start: status 4004 (hint: memory may be short, or it is newer than the driver: see "
       "vramplan probe)\na is released\nloaded\n",
       ""},
      {"a library that is newer than the driver",
       {.description = "fail cublasCreate_v2 1; fail cudnnCreate 1001; card Tesla T4"},
       {"open 0", "load cublas", "load cudnn", "compute fp32 1e12"},
       "open\ncuBLAS: it failed with status 1 (hint: it may be newer than the driver: see vramplan probe)\ncuDNN: it "
       "does "
       "not start: status 1001 (hint: memory may be short, or it is newer than the driver: see vramplan probe)\n"
       "9.99999e+11 in 0.142862 s\n",
       ""},
      {"lost in the middle: every later call says so, and the end does not hang",
       {.description = "lost cuMemAlloc_v2 2; card Tesla T4"},
       {"open 0", "load cublas", "free", "allocate a 2MiB", "allocate b 2MiB", "touch a", "copy a a", "release a",
        "compute fp16 1e12", "load kernel", "workspace forward", "close", "used 0", "open 0"},
       [] {
         const std::string line = Lost("to allocate 2.00 MiB");
         return "open\nloaded\nfree 15854469120 of 16106127360\n" + line + line + line + line + line + line + line +
                line + "closed\nused unknown\n" + kTaken;
       }(),
       ""},
      {"an uncorrectable error while it runs",
       {.description = "lost cuEventSynchronize 1 214; card Tesla T4"},
       {"open 0", "allocate a 2MiB", "touch a", "free"},
       [] {
         const std::string line =
             "card 0: the card failed to write 2.00 MiB (CUDA_ERROR_ECC_UNCORRECTABLE) (hint: see dmesg for an Xid "
             "line)\n";
         return "open\na is there\n" + line + line;
       }(),
       ""},
  });
}
