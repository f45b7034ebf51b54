// explain as it is typed: golden answers, JSON, and what is wrong with the input.
#include "planner/report/explain.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/cli/write_file.h"
#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Golden;
using testing::Said;
using testing::ScratchFile;

// The numbers of models/unet.onnx at batch 39 on a T4, as PyTorch prints them at the end of a traceback.
constexpr const char* kFull =
    "Traceback (most recent call last):\n  File \"train.py\", line 31, in <module>\n    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 624.00 MiB. GPU 0 has a total capacity of 14.56 GiB "
    "of which 437.12 MiB is free. Including non-PyTorch memory, this process has 14.13 GiB memory in use. Of the "
    "allocated memory 13.45 GiB is allocated by PyTorch, and 352.00 MiB is reserved by PyTorch but unallocated.\n";

// Where the example graphs lie is not part of the answer.
std::string Answer(const std::string& text, const std::string& options) {
  const ScratchFile log("oom.log", text);
  Said said = Do("explain " + log.path() + options);
  CHECK_EQ(said.exit_code, 0);
  const std::string folder = std::string(VRAMPLAN_SOURCE_DIR) + "/models/";
  for (size_t at = said.out.find(folder); at != said.out.npos; at = said.out.find(folder))
    said.out.replace(at, folder.size(), "models/");
  return said.out;
}

TEST_CASE("explain: golden answers") {
  struct Row {
    const char *name, *text, *options;
  };
  constexpr Row kRows[] = {
      {"alone", kFull, ""},
      {"batch_found", kFull, " --model MODELS/unet.onnx"},
      {"another_batch", kFull, " --model MODELS/unet.onnx --batch 8 --optimizer adamw --gpu t4"},
      {"no_numbers", "RuntimeError: CUDA error: out of memory\n", " --model MODELS/mlp.onnx"},
      {"host", "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 1073741824 bytes.", ""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const std::string text = Answer(row.text, row.options);
    CHECK_EQ(text, Golden("explain/" + std::string(row.name), text));
  }
}

TEST_CASE("explain: the first line is the whole verdict, however narrow the terminal") {
  const testing::ScopedVariable narrow("COLUMNS", "40");
  const std::string text = Answer(kFull, "");
  CHECK(text.starts_with(
      "out of memory on card 0 of 14.56 GiB: 624.00 MiB more did not fit, only 437.12 MiB are free, and 352.00 "
      "MiB lie unused in pieces\n"));
}

// The answer as one line.
std::string Line(const std::string& text, const std::string& options = "") {
  std::string line = Answer(text, options);
  for (size_t at = line.find('\n'); at != line.npos; at = line.find('\n'))
    line.replace(at, line.find_first_not_of(" \n", at) - at, " ");
  return line;
}

// GPT-2 at 1024 tokens: no batch held as much as the message says, and batch 4 comes closest.
TEST_CASE("explain: the closest batch of a run that held more than a step of the model") {
  const std::string said = Line(
      "RuntimeError: CUDA out of memory. Tried to allocate 786.00 MiB (GPU 0; 14.73 GiB total capacity; 13.33 GiB "
      "already allocated; 575.88 MiB free; 13.38 GiB reserved in total by PyTorch)",
      " --model " VRAMPLAN_SOURCE_DIR "/tests/data/zoo/gpt2.ts-train.onnx --dim sequence=1024");
  CHECK(
      said.find("gpt2.ts-train.onnx at batch 4 (the closest to the message) makes this request in the backward of step "
                "2: 785.27 MiB") != said.npos);
  CHECK(said.find("(of 12 requests of this size the closest)") != said.npos);
  CHECK(said.find("the message says 13.33 GiB (+3.8 %)") != said.npos);
}

TEST_CASE("explain: what is said of each cause") {
  struct Row {
    const char *text, *said;
  };
  constexpr Row kRows[] = {
      {"CUDA out of memory. Tried to allocate 80.00 MiB (GPU 0; 14.76 GiB total capacity; 13.27 GiB already allocated; "
       "5.75 MiB free; 13.29 GiB reserved in total by PyTorch)",
       "1.46 GiB is not named by the message: the CUDA context of this process"},
      {"CUDA out of memory. Tried to allocate 12.00 MiB (GPU 0; 23.65 GiB total capacity; 13.07 GiB already allocated; "
       "7.31 MiB free; 13.13 GiB reserved in total by PyTorch)",
       "10.51 GiB of the card are not named by the message: other processes, or what this one holds beside PyTorch's "
       "allocator"},
      {"CUDA out of memory. Tried to allocate 252.00 MiB. GPU 0 has a total capacity of 14.57 GiB of which 64.75 MiB "
       "is "
       "free. Including non-PyTorch memory, this process has 14.50 GiB memory in use.",
       "this process holds 14.50 GiB: the step needs more than the card has"},
      {"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.58 GiB of which 635.56 MiB is "
       "free. Process 9 has 13.96 GiB memory in use.",
       "process 9 holds 13.96 GiB, and may be this one"},
      {"CUDA out of memory. Tried to allocate 35.60 GiB. GPU 0 has a total capacity of 79.33 GiB of which 26.16 GiB is "
       "free. Process 9 has 53.16 GiB memory in use. Of the allocated memory 11.97 GiB is allocated by PyTorch, and "
       "40.69 GiB is reserved by PyTorch but unallocated.",
       "though 40.69 GiB lie unused between live tensors, in pieces that are too small one by one: fragmentation "
       "this one request is 44.9 % of the card: the line that makes this tensor is the one to change (a broadcast, or "
       "too much at once) "
       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch combine free pieces; inputs with a few fixed "
       "sizes cause less fragmentation process 9 is this one"},
      {"HIP out of memory. Tried to allocate 432.00 MiB. GPU 0 has a total capacity of 15.92 GiB of which 7.12 GiB is "
       "free. Of the allocated memory 8.08 GiB is allocated by PyTorch, and 321.96 MiB is reserved by PyTorch but "
       "unallocated.",
       "though 7.12 GiB were free what refused it: a limit (set_per_process_memory_fraction), a slice of a virtual "
       "machine, the driver, or another card"},
      {"CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is "
       "free. Of the allocated memory 13.98 GiB is allocated by PyTorch, and 129.48 MiB is reserved by PyTorch but "
       "unallocated.",
       "PyTorch holds 14.11 GiB, more than the card has: Windows pages the rest to the host's memory"},
      {"XPU out of memory. Tried to allocate 5.25 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated "
       "memory "
       "11.34 GiB is allocated by PyTorch, and 1.07 GiB is reserved by PyTorch but unallocated.",
       "3.15 GiB is not named by the message: what was free, what this process holds beside PyTorch's allocator (NCCL, "
       "other libraries), or other processes"},
      {"CUDA out of memory. Tried to allocate 244.12 MiB (GPU 0; 5.94 GiB total capacity; 4.82 GiB already allocated; "
       "48.44 MiB free; 207.58 MiB cached)",
       "only 48.44 MiB are free, and 207.58 MiB lie unused in pieces what helps: a smaller batch"},
      {"CUDA out of memory. Tried to allocate 600.00 MiB. GPU 0 has a total capacity of 16.00 GiB of which 100.00 MiB "
       "is free. Including non-PyTorch memory, this process has 15.90 GiB memory in use. Of the allocated memory 15.00 "
       "GiB is allocated by PyTorch, and 550.00 MiB is reserved by PyTorch but unallocated.",
       "expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF may have found room for this request"},
      {"line 3, in attend\n y = scaled_dot_product_attention(q, k, v)\nRuntimeError: CUDA out of memory. Tried to "
       "allocate 4.00 GiB (GPU 0; 14.76 GiB total capacity; 10.00 GiB already allocated; 500.00 MiB free; 10.10 GiB "
       "reserved in total by PyTorch)",
       "this one request is 27.1 % of the card: attention asks for it"},
      {"CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 0 bytes is "
       "free. Including non-PyTorch memory, this process has 24.00 GiB memory in use. Of the allocated memory 23.50 "
       "GiB is allocated by PyTorch, with 20.00 GiB allocated in private pools (e.g., CUDA Graphs), and 100.00 MiB is "
       "reserved by PyTorch but unallocated.",
       "though 20.00 GiB are idle in the pools of CUDA graphs, which nothing else may use what helps: fewer or smaller "
       "graphs"},
      {"  File \"C:\\me\\run.py\", line 3, in predict\nCUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a "
       "total capacity of 8.00 GiB of which 5.80 GiB is free. Of the allocated memory 1.00 GiB is allocated by "
       "PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.",
       "on Windows what a card holds counts against RAM and the paging file, too"},
      {"  File \"run.py\", line 4, in go\n    with torch.no_grad(): y = net(x_test)\nRuntimeError: CUDA out of memory. "
       "Tried to allocate 13.98 GiB. GPU 0 has a total capacity of 14.75 GiB of which 13.00 GiB is free. Of the "
       "allocated "
       "memory 1.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.",
       "the line that makes this tensor is the one to change (a broadcast, or too much at once) what helps: fewer "
       "inputs at once (a loader in place of "
       "the "
       "whole set)"},
      {"ValueError: Free memory on device (3.22/4.0 GiB) on startup is less than desired GPU memory utilization (0.9, "
       "3.6 "
       "GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
       "nothing was allocated yet: --gpu-memory-utilization 0.80 is what is free now"},
      {"CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 100.00 MiB "
       "is "
       "free. Process 1 has 0 bytes memory in use. Process 2 has 0 bytes memory in use. Including non-PyTorch memory, "
       "this process has 0 bytes memory in use. Of the allocated memory 10.00 GiB is allocated by PyTorch, and 100.00 "
       "MiB "
       "is reserved by PyTorch but unallocated.",
       "2 processes use this card, and a container does not see how much: if they are ranks of this run"},
      {"DefaultCPUAllocator: can't allocate memory: you tried to allocate 318778638336 bytes.",
       "one request is of 296.89 GiB: the line that makes this tensor is the one to change"},
      {"RuntimeError: UR error: UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
       "the driver refused and gives no sizes: the card is full, because of this process or others"},
      {"CUDA out of memory. Tried to allocate 30.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 23.00 GiB is "
       "free. Of the allocated memory 64.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "
       "unallocated.",
       "hardly anything else was there: a shape is a mistake (a broadcast, indices out of range), this one operator "
       "takes "
       "too much at once"},
      // Ranks that all took the first card.
      {"CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 79.32 GiB of which 6.88 MiB is "
       "free. Process 1103 has 9.89 GiB memory in use. Process 1102 has 35.03 GiB memory in use. Process 1104 has "
       "23.79 "
       "GiB memory in use. Including non-PyTorch memory, this process has 10.58 GiB memory in use. Of the allocated "
       "memory 9.56 GiB is allocated by PyTorch, and 534.22 MiB is reserved by PyTorch but unallocated.",
       "other processes hold 68.71 GiB of the card they are ranks of the same run, most likely"},
      // Cut off before what the process holds: nobody is blamed.
      {"  File \"t.py\", line 3, in go\n    optimizer.step()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to "
       "allocate 130.00 MiB. GPU 0 has a total capacity of 94.99 GiB of which 87.19 MiB is free.",
       "it failed in the optimizer's step (t.py:3, in go) what helps: a smaller optimizer state"},
      {"  File \"/x/torch/tensor.py\", line 185, in backward\nRuntimeError: CUDA out of memory. Tried to allocate 1.71 "
       "GiB (GPU 0; 31.72 GiB total capacity; 20.00 GiB already allocated; 1.00 GiB free; 25.50 GiB reserved in total "
       "by PyTorch)",
       "a newer PyTorch (this one is older than 1.9, and no setting of its allocator helps)"},
      {"CUDA out of memory. Tried to allocate 7.00 GiB (GPU 0; 23.67 GiB total capacity; 20.00 GiB already allocated; "
       "2.00 GiB free; 20.20 GiB reserved in total by PyTorch)",
       "(a broadcast, or too much at once) what helps besides: a smaller batch, smaller inputs, or a lower precision"},
      {"CUDA out of memory. Tried to allocate more than 1EB memory.", "1 EiB more did not fit, which no machine has"},
      {"RuntimeError: DataLoader worker (pid 4131) is killed by signal: Killed.", "host memory ran out, most likely"},
      {"The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache "
       "(3664)",
       "one request of 4096 tokens, and room for 3664 what helps: a shorter context (3664 tokens fit)"},
      {"out of resource: shared memory, Required: 131072, Hardware limit: 101376",
       "not the card's memory: one kernel wants 128.00 KiB of shared memory in a multiprocessor, and may have 99.00 "
       "KiB"},
      {"MPS backend out of memory (MPS allocated: 6.04 GB, other allocations: 1.04 GB, max allowed: 6.77 GB). Tried to "
       "allocate 459.07 MB on private pool.",
       "out of memory, within Metal's limit of 6.77 GiB: 459.07 MiB more did not fit, the step needs more than that"},
      {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes. BufferAssignment stats: "
       "maybe_live_out allocation: 9.64GiB preallocated temp allocation: 4.44GiB total allocation: 14.44GiB",
       "of 14.44 GiB in all: 9.64 GiB outputs, 4.44 GiB temporaries"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const std::string line = Line(row.text);
    CHECK_MESSAGE(line.find(row.said) != line.npos, line);
  }
}

TEST_CASE("explain: of sizes that no card has nothing is said") {
  const struct {
    const char *text, *said, *unsaid;
  } rows[] = {
      {"Tried to allocate -20.00 MiB. GPU 0 has a total capacity of 14.56 GiB of which 1.00 GiB is free.",
       "a size below zero or beyond 63 bits more did not fit, which no machine has", "-20"},
      {"Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 0 bytes of which 0 bytes is free.",
       "out of memory on card 0: 20.00 MiB more did not fit", "one request is larger"},
      {"Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 2000.00 GiB of which 1.00 GiB is free.",
       "out of memory on card 0: 20.00 MiB more did not fit", "2000"},
      {"Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 14.56 GiB of which 99.00 GiB is free.",
       "out of memory on card 0 of 14.56 GiB", "99.00 GiB"},
      {"Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 14.56 GiB of which 1.00 GiB is free. Of the "
       "allocated memory 99999.00 GiB is allocated by PyTorch",
       "out of memory on card 0 of 14.56 GiB: 9.00 GiB more did not fit", "Windows"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const std::string line = Line("CUDA out of memory. " + std::string(row.text));
    CHECK_MESSAGE(line.find(row.said) != line.npos, line);
    CHECK_MESSAGE(line.find(row.unsaid) == line.npos, line);
  }
  // A batch that was not found is not what plan is asked about.
  const std::string absurd = Line(
      "CUDA out of memory. Tried to allocate 99999999.00 GiB. GPU 0 has a total capacity of 14.56 GiB of which 1.00 "
      "GiB is free.",
      " --model MODELS/mlp.onnx");
  CHECK_MESSAGE(absurd.find("never requests 0.0931 EiB at once") != absurd.npos, absurd);
  CHECK_MESSAGE(absurd.find("/mlp.onnx --gpu-memory 14559MiB --context 0 assumed") != absurd.npos, absurd);
}

// No step is laid out beside a message of vLLM, and what is said to type is what fit takes.
TEST_CASE("explain --model: of a message of vLLM it says whether vllm serve starts") {
  const std::string longest =
      "ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, "
      "which is larger than the available KV cache memory (3.21 GiB). Based on the available memory, the estimated "
      "maximum model length is 16384.";
  const std::string held =
      "ValueError: Free memory on device (20.1/23.52 GiB) on startup is less than desired GPU memory utilization (0.9, "
      "21.17 GiB).";
  const struct {
    std::string text;
    const char *options, *says, *asks;
  } rows[] = {
      {longest, " --model qwen3-8b --gpu rtx-4090",
       "with what the message says: qwen3-8b starts under vLLM on GeForce RTX 4090 with 16384 tokens of context",
       "vramplan fit qwen3-8b --engine vllm --gpu rtx-4090 --dim sequence=16384"},
      {longest, " --model qwen3-8b --gpu rtx-4090 --mode serve --dim sequence=8192", "with 8192 tokens of context",
       "vramplan fit qwen3-8b --engine vllm --gpu rtx-4090 --dim sequence=8192"},
      {held, " --model qwen3-8b", "does not start under vLLM on a card of 23.52 GiB",
       "vramplan fit qwen3-8b --engine vllm --gpu-memory 24084MiB --reserve 29"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.options);
    const std::string text = Answer(row.text, row.options), line = Line(row.text, row.options);
    CHECK_MESSAGE(line.find(row.says) != line.npos, line);
    const size_t at = text.find("  what to ask: vramplan ");
    REQUIRE_MESSAGE(at != text.npos, text);
    const size_t begin = text.find("vramplan ", at);
    const std::string command = text.substr(begin, text.find('\n', begin) - begin);
    CHECK_MESSAGE(command.starts_with(row.asks), command);
    const Said asked = Do(command.substr(std::string("vramplan ").size()));
    CHECK_MESSAGE((asked.exit_code == 0 || asked.exit_code == 3), asked.err);
    CHECK(line.find("at batch 1") == line.npos);  // nothing of a step
    CHECK(line.find("optimizer") == line.npos);
  }
  CHECK(Line(longest).find("vramplan fit NAME --gpu CARD --engine vllm tells whether vLLM starts") !=
        std::string::npos);
  const testing::ScratchFile log("explain_vllm.log", longest);
  CHECK(Do("explain " + log.path() + " --model qwen3-8b").err.find("whether vLLM starts there is not known") !=
        std::string::npos);
  CHECK(Do("explain " + log.path() + " --model bert-base-uncased --gpu t4")
            .err.find(
                "how vLLM starts BertForMaskedLM is not modelled (hint: vramplan fit NAME --gpu CARD --mode serve") !=
        std::string::npos);
}

TEST_CASE("explain --mode: of what does not train it says what fits, and not what a training would change") {
  const std::string line = Line(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 0 has a total capacity of 23.52 "
      "GiB of which 500.00 MiB is free.",
      " --model qwen3-8b --mode serve");
  CHECK_MESSAGE(line.find("what fits there: vramplan fit qwen3-8b --gpu-memory ") != line.npos, line);
  CHECK_MESSAGE(line.find(" --context 0 --mode serve") != line.npos, line);
  CHECK(line.find("vramplan plan") == line.npos);
}

TEST_CASE("explain --model: PyTorch before 2.0 computed attention in parts, and plan is asked the same") {
  const std::string text =
      "RuntimeError: CUDA out of memory. Tried to allocate 48.00 MiB (GPU 0; 3.95 GiB total capacity; 2.90 GiB already "
      "allocated; 22.50 MiB free; 3.00 GiB reserved in total by PyTorch)";
  const std::string line = Line(text, " --model MODELS/gpt_small.onnx --dim sequence=64");
  CHECK_MESSAGE(
      line.find("--gpu-memory 3094MiB --context 0 --dim sequence=64 --framework pytorch@2.0 --attention math") !=
          line.npos,
      line);
  const std::string given = Line(text, " --model MODELS/gpt_small.onnx --dim sequence=64 --framework pytorch@2.4");
  CHECK_MESSAGE(given.find("--attention") == given.npos, given);
  // A card by name may have been shared: what the message says of it comes first.
  // Of a name what was typed, and not what it came to.
  CHECK_NE(Line(kFull, " --model gpt2 --lora 8 --dim sequence=64").find("--context 0 --lora 8 --dim sequence=64"),
           std::string::npos);
  CHECK_NE(Line(kFull, " --model MODELS/unet.onnx --gpu t4").find("--gpu-memory 14561MiB --context 0 --capability 7.5"),
           std::string::npos);
}

TEST_CASE("explain: JSON has the same") {
  const Result<Json> json = ParseJson("explain", Answer(kFull, " --model MODELS/unet.onnx --format json"));
  REQUIRE(json.ok());
  const std::string text = Print(*json);
  CHECK(text.find("\"schema\": \"vramplan.explain/1\"") != text.npos);
  CHECK(text.find("\"cause\": \"fragmentation\"") != text.npos);
  CHECK(text.find("\"batch\": 39") != text.npos);
  CHECK(text.find("\"batch_found\": true") != text.npos);
  CHECK(text.find("\"largest_batch\": 38") != text.npos);
}

TEST_CASE("explain: a log without a message, no log, no card") {
  const ScratchFile log("fine.log", "epoch 3 loss 0.1\n");
  const Said none = Do("explain " + log.path());
  CHECK_EQ(none.exit_code, 1);
  CHECK_EQ(none.out, "");
  CHECK(none.err.find(log.path()) != none.err.npos);
  CHECK_EQ(Do("explain /nowhere/at/all.log").exit_code, 1);
  CHECK_EQ(Do("explain").exit_code, 2);
  const ScratchFile short_log("oom.log", "CUDA error: out of memory");
  const Said said = Do("explain " + short_log.path() + " --model MODELS/mlp.onnx");
  CHECK_EQ(said.exit_code, 0);
  CHECK(said.err.find("--gpu: the message does not give the size of the card") != said.err.npos);
}

TEST_CASE("explain: a gzipped log, and a long one, of which the end counts") {
  const ScratchFile plain("oom.log", kFull), packed("oom.log.gz");
  REQUIRE(WriteFile({.path = packed.path()}, kFull).ok());
  const std::string answer = Do("explain " + plain.path()).out;
  CHECK(answer.starts_with("out of memory on card 0 of 14.56 GiB: 624.00 MiB more did not fit"));
  CHECK_EQ(Do("explain " + packed.path()).out, answer);
  const ScratchFile old(
      "old.log", "CUDA out of memory. Tried to allocate 1.00 MiB\n" + std::string(size_t{64} << 20, '\n') + kFull);
  CHECK_EQ(Do("explain " + old.path()).out, answer);
}

// The oldest form with numbers: what it calls cached is beside what is allocated, and its numbers sum to 5 % more than
// the card.
TEST_CASE("explain: numbers that do not add up are told, and what is free counts beside what is reserved") {
  const ScratchFile oldest(
      "oldest.log",
      "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 11.00 GiB total capacity; 7.50 "
      "GiB already allocated; 200.00 MiB free; 3.90 GiB cached)\n");
  const Said said = Do("explain " + oldest.path());
  CHECK_EQ(said.out,
           "out of memory on card 0 of 11.00 GiB: 1.00 GiB more did not fit, though 3.90 GiB lie unused between "
           "live tensors, in pieces that are too small one by one: fragmentation\n"
           "  what helps: inputs with a few fixed sizes, and torch.cuda.empty_cache() between parts that need\n"
           "    other sizes; PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512 keeps large blocks whole (this\n"
           "    PyTorch is older than 2.1 and ends with an error where expandable_segments is set)\n"
           "  the numbers of the message do not add up: they sum to 11.60 GiB, and the card has 11.00 GiB\n"
           "  --model FILE.onnx, or a name such as llama-3.1-8b, tells which request of the model's step failed,\n"
           "    and what fits on that card\n"
           "\n"
           "  when it failed\n"
           "  live tensors               7.50 GiB  68.2 %\n"
           "  reserved, not allocated    3.90 GiB  35.5 %\n"
           "  free                     200.00 MiB   1.8 %\n"
           "  -----------------------  ----------  ------\n"
           "  the card                  11.00 GiB\n");
  CHECK(Do("explain --format json " + oldest.path()).out.find("\"does-not-add-up\"") != std::string::npos);
  const ScratchFile both(
      "both.log",
      "CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which "
      "300.00 MiB is free. Including non-PyTorch memory, this process has 7.70 GiB memory in use. Of the "
      "allocated memory 6.80 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but "
      "unallocated.\n");
  std::string line = Do("explain " + both.path()).out;
  while (line.find("\n  ") != line.npos) line.replace(line.find("\n  "), 3, " ");
  CHECK(
      line.starts_with("out of memory on card 0 of 8.00 GiB: 700.00 MiB more did not fit, though 500.00 MiB lie unused "
                       "between live tensors and 300.00 MiB are free: fragmentation "));
}

}  // namespace
}  // namespace vramplan

namespace vramplan {
namespace {

TEST_CASE("explain --save: what a message says of a card is a profile that --profile and --gpu auto use") {
  const testing::ScratchStore store("explain_store");
  const ScratchFile log("oom.log", kFull), out("t4.json");
  // 14.13 GiB in use, of which PyTorch has 13.45 GiB and 352 MiB: 344.32 MiB outside.
  const Said said = Do("explain " + log.path() + " --save --gpu t4 --out " + out.path());
  CHECK_EQ(said.exit_code, 0);
  CHECK_NE(said.out.find("what the message says about the card is in the profile now:"), std::string::npos);
  CHECK_NE(said.out.find(out.path()), std::string::npos);
  CHECK_NE(said.out.find("the process held 344.32 MiB outside PyTorch's allocator"), std::string::npos);
  const Result<Json> profile = ParseJson("t4.json", out.Bytes());
  REQUIRE(profile.ok());
  CHECK_NE(out.Bytes().find("\"name\": \"Tesla T4\""), std::string::npos);
  // "14.56 GiB" of the message.
  CHECK_NE(out.Bytes().find("\"usable\": 15633680957"), std::string::npos);
  const Said fit = Do("fit MODELS/unet.onnx --gpu t4 --verbose --profile " + out.path());
  CHECK_NE(fit.out.find("context 344.32 MiB"), std::string::npos);
  // Without --out it goes to the store; a second message widens the band.
  CHECK(store.empty());
  CHECK_EQ(Do("explain " + log.path() + " --save --gpu t4").exit_code, 0);
  CHECK_FALSE(store.empty());
  const Said nameless = Do("explain " + log.path() + " --save");
  CHECK_EQ(nameless.exit_code, 2);
  CHECK_NE(nameless.err.find("the message does not name the card"), std::string::npos);
  const ScratchFile bare("bare.log", "RuntimeError: CUDA error: out of memory\n");
  CHECK_NE(Do("explain " + bare.path() + " --save --gpu t4").err.find("does not say how large the card is"),
           std::string::npos);
}

}  // namespace
}  // namespace vramplan
