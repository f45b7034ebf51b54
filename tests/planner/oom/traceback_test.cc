#include "planner/oom/traceback.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "planner/oom/message.h"

namespace vramplan {
namespace {

const std::string kTorch = "  File \"/usr/lib/python3.11/site-packages/torch/";
const std::string kRaised =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.56 GiB\n";

TEST_CASE("out-of-memory messages: the traceback says in which part of the run") {
  struct Row {
    RunPart part;
    const char* at;
    std::string frames;
  };
  const std::string own = "  File \"src/train.py\", line 7, in epoch\n    call()\n";
  const std::vector<Row> rows = {
      {RunPart::kOptimizer, "train.py:7, in epoch", own + kTorch + "optim/adamw.py\", line 243, in step\n"},
      {RunPart::kBackward, "train.py:7, in epoch", own + kTorch + "_tensor.py\", line 625, in backward\n"},
      {RunPart::kForward, "train.py:7, in epoch", own + kTorch + "nn/modules/module.py\", line 1775, in _call_impl\n"},
      {RunPart::kLoading, "train.py:7, in epoch", own + kTorch + "nn/modules/module.py\", line 1371, in to\n"},
      {RunPart::kLoading, "train.py:7, in epoch", own + kTorch + "serialization.py\", line 1500, in load\n"},
      {RunPart::kValidation, "train.py:9, in validate",
       own + "  File \"train.py\", line 9, in validate\n" + kTorch + "nn/modules/linear.py\", line 125, in forward\n"},
      // A backward in a function of this name is one.
      {RunPart::kBackward, "train.py:9, in validate",
       own + "  File \"train.py\", line 9, in validate\n" + kTorch + "_tensor.py\", line 625, in backward\n"},
      {RunPart::kForward, "train.py:9, in test_training",
       own + "  File \"train.py\", line 9, in test_training\n" + kTorch +
           "nn/modules/linear.py\", line 125, in forward\n"},
      {RunPart::kSaving, "train.py:7, in epoch", own + kTorch + "serialization.py\", line 970, in save\n"},
      {RunPart::kServing, "", "  File \"python3.12/dist-packages/vllm/v1/worker/gpu_worker.py\", line 3, in run\n"},
      {RunPart::kUnknown, "train.py:7, in epoch", own},
      {RunPart::kBackward, "main.py:5, in go",
       "  File \"C:\\me\\main.py\", line 5, in go\n  File \"C:\\py\\site-packages\\torch\\_tensor.py\", line 492, in "
       "backward\n"},
      // rich draws a frame around them.
      {RunPart::kOptimizer, "t.py:700, in train",
       "\xe2\x94\x82 src/t.py:700 in train \xe2\x94\x82\n\xe2\x94\x82 "
       "python3.10/site-packages/torch/optim/adamw.py:171 in step \xe2\x94\x82\n"},
      {RunPart::kSaving, "train.py:7, in epoch",
       own + kTorch + "nn/modules/module.py\", line 1900, in state_dict\n" + kTorch +
           "distributed/fsdp/_state_dict_utils.py\", line 700, in _full_pre_state_dict_hook\n"},
      {RunPart::kLoading, "",
       "  File \"python3.12/dist-packages/vllm/v1/worker/gpu_worker.py\", line 3, in load_model\n"},
      // IPython writes frames so.
      {RunPart::kBackward, "",
       "File /usr/lib/python3.11/site-packages/torch/_tensor.py:625, in Tensor.backward(self, gradient)\n"},
      {RunPart::kOptimizer, "<ipython-input-5-0a1b>:3",
       "<ipython-input-5-0a1b> in <module>\n      2 loss.backward()\n----> 3 optimizer.step()\n"
       "/usr/lib/python3.7/dist-packages/torch/optim/adam.py in step(self, closure)\n    116 \n--> 117 state['x'] = "
       "y\n"},
      {RunPart::kBackward, "77.py:9, in fit",
       "/tmp/ipykernel_55/77.py in fit(model)\n      8 \n----> 9   loss.backward()\n"
       "/usr/lib/python3.7/dist-packages/torch/_tensor.py in backward(self)\n--> 363 torch.autograd.backward(\n"},
      {RunPart::kUnknown, "Cell In[5]:15, in train", "Cell In[5], line 15, in train(x)\n     15 y = f(x)\n"},
      {RunPart::kInference, "run.py:4, in predict",
       "  File \"run.py\", line 4, in predict\n" + kTorch + "nn/modules/linear.py\", line 125, in forward\n"},
      {RunPart::kInference, "run.py:4, in go",
       "  File \"run.py\", line 4, in go\n    with torch.no_grad(): y = net(x)\n" + kTorch +
           "nn/modules/linear.py\", line 125, in forward\n"},
      {RunPart::kInference, "run.py:4, in go",
       "  File \"run.py\", line 4, in go\n    y = net(x)\n" + kTorch +
           "utils/_contextlib.py\", line 116, in decorate_context\n" + kTorch +
           "nn/modules/linear.py\", line 125, in forward\n"},
      // The frames below one's own are missing.
      {RunPart::kOptimizer, "run.py:4, in go", "  File \"run.py\", line 4, in go\n    self.optimizer.step()\n"},
      {RunPart::kBackward, "run.py:4, in go", "  File \"run.py\", line 4, in go\n    loss.backward()\n"},
      {RunPart::kLoading, "run.py:4, in go", "  File \"run.py\", line 4, in go\n    pipe.to(device)\n"},
      // Code that inductor wrote is nobody's own.
      {RunPart::kUnknown, "", "  File \"/tmp/torchinductor_me/ab/cab.py\", line 15, in call\n"},
      {RunPart::kUnknown, "", ""},
      // A state that is read is no step.
      {RunPart::kLoading, "train.py:7, in epoch",
       own + kTorch + "optim/optimizer.py\", line 170, in load_state_dict\n"},
      // Lightning's forwards and backwards run below a step.
      {RunPart::kForward, "net.py:3, in training_step",
       own + kTorch +
           "optim/adam.py\", line 66, in step\n  File \"/py/site-packages/pytorch_lightning/loop.py\", line 9, in "
           "closure\n  File \"net.py\", line 3, in training_step\n" +
           kTorch + "nn/functional.py\", line 9, in relu\n"},
      {RunPart::kOptimizer, "train.py:7, in epoch",
       own + "  File \"/py/site-packages/pytorch_lightning/loop.py\", line 9, in closure\n" + kTorch +
           "optim/adam.py\", line 66, in step\n"},
      {RunPart::kForward, "net.py:3, in forward", own + "  File \"net.py\", line 3, in forward\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.frames);
    const Result<OutOfMemory> message =
        ReadOutOfMemory("log", "Traceback (most recent call last):\n" + row.frames + kRaised);
    REQUIRE(message.ok());
    CHECK(Name(message->failure.part) == Name(row.part));
    CHECK(message->failure.at == row.at);
    CHECK(message->raised);
  }
  // The message may stand in a title, too. A traceback behind it that ends with something else is none of it: of the
  // launcher, or of another rank.
  const std::string behind =
      kRaised + "Traceback (most recent call last):\n" + own + kTorch + "optim/sgd.py\", line 9, in step\n";
  CHECK(ReadOutOfMemory("log", behind + kRaised)->failure.part == RunPart::kOptimizer);
  CHECK(ReadOutOfMemory("log", behind)->failure.part == RunPart::kOptimizer);
  CHECK(ReadOutOfMemory("log", behind + "CalledProcessError: exit status 1")->failure == Failure());
  CHECK(ReadOutOfMemory("log", behind + "CUDA out of memory. Tried to allocate 3.00 GiB.")->failure == Failure());
  // VS Code shows the innermost frame first.
  const std::string studio = "Exception has occurred: RuntimeError\nCUDA out of memory. Tried to allocate 2.00 GiB\n";
  const std::string reversed = "  File \"net.py\", line 3, in forward\n  File \"train.py\", line 9, in main\n";
  CHECK(ReadOutOfMemory("log", studio + reversed)->failure.at == "net.py:3, in forward");
  // An older traceback is none of it.
  const std::string older = "Traceback (most recent call last):\n" + own + kTorch +
                            "_tensor.py\", line 625, in backward\nValueError: x\nTraceback (most recent call last):\n" +
                            own;
  CHECK(ReadOutOfMemory("log", older + kRaised)->failure.part == RunPart::kUnknown);
}

TEST_CASE("out-of-memory messages: what the last lines of code ask memory for") {
  struct Row {
    Requester requester;
    const char* code;
  };
  const Row rows[] = {
      {Requester::kAttention, "y = scaled_dot_product_attention(q, k, v)\n    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"},
      {Requester::kVocabulary, "logits = self.attention_head(x)\nlogps = logits.log_softmax(-1)\n"},
      {Requester::kConvolution, "logits = self.predict(x)\nreturn F.conv3d(input, weight)\n"},
      {Requester::kUnknown, "y = torch.zeros(n, n)\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.code);
    CHECK(ReadOutOfMemory("log", row.code + kRaised)->failure.requester == row.requester);
  }
}

TEST_CASE("out-of-memory messages: page-locked memory for the batches of a data loader is the host's") {
  const std::string frames =
      "Traceback (most recent call last):\n" + kTorch + "utils/data/_utils/pin_memory.py\", line 57, in pin_memory\n";
  const Result<OutOfMemory> message = ReadOutOfMemory("log", frames + "RuntimeError: CUDA error: out of memory\n");
  REQUIRE(message.ok());
  CHECK(message->place == MemoryPlace::kHost);
  CHECK(ReadOutOfMemory("log", "RuntimeError: CUDA error: out of memory\n")->place == MemoryPlace::kCard);
}

TEST_CASE("out-of-memory messages: the one that was raised, of several") {
  const std::string log =
      "WARNING: batch 64 failed: CUDA out of memory. Tried to allocate 3.00 GiB, trying 32\n" + kRaised;
  const Result<OutOfMemory> message = ReadOutOfMemory("log", log);
  REQUIRE(message.ok());
  CHECK(message->tried == Bytes::GiB(2));
  CHECK(message->messages == 2);
  // Several wordings of one message are one.
  CHECK(
      ReadOutOfMemory(
          "log", "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,024 bytes (allocated so far: 9 bytes).")
          ->messages == 1);
  // What was caught has nothing to do with the traceback behind it.
  const std::string caught =
      "| WARNING: ran out of memory with exception: CUDA out of memory. Tried to allocate 20.00 MiB. Skipping batch\n"
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in main\nValueError: bad label\n";
  CHECK_FALSE(ReadOutOfMemory("log", caught)->raised);
  CHECK(ReadOutOfMemory("log", caught)->failure == Failure());
  const std::string retried =
      "allocating 900.00 MiB on device 0: cudaMalloc failed: out of memory\nbuffer allocation failed, retrying without "
      "it";
  CHECK_FALSE(ReadOutOfMemory("log", retried)->raised);
  // Of llama.cpp are only those that name it.
  CHECK(ReadOutOfMemory("log", retried)->kind == "device");
  CHECK(ReadOutOfMemory("log", "ggml_backend: " + retried)->kind == "llama.cpp");
  CHECK(ReadOutOfMemory("log", "MemoryError: std::bad_alloc: RMM failure at pool.hpp:182: Maximum pool size exceeded")
            ->place == MemoryPlace::kCard);
}

TEST_CASE("out-of-memory messages: advice about them is none") {
  CHECK_FALSE(ReadOutOfMemory("log", "INFO: to avoid CUDA out of memory errors lower the batch\ndone").ok());
  const Result<OutOfMemory> host =
      ReadOutOfMemory("log",
                      "DefaultCPUAllocator: can't allocate memory: you tried to allocate 264896512 bytes.\nIf you "
                      "encounter CUDA out of memory, use a smaller tile.");
  REQUIRE(host.ok());
  CHECK(host->place == MemoryPlace::kHost);
}

TEST_CASE("out-of-memory messages: broken at any width, coloured, with a rank in front of each line") {
  const std::string whole =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.50 GiB "
      "of "
      "which 500.00 MiB is free. Including non-PyTorch memory, this process has 47.00 GiB memory in use. Of the "
      "allocated "
      "memory 40.30 GiB is allocated by PyTorch, and 5.94 GiB is reserved by PyTorch but unallocated.";
  const Result<OutOfMemory> expected = ReadOutOfMemory("log", whole);
  REQUIRE(expected.ok());
  CHECK(expected->allocated ==
        ReadOutOfMemory("log", "CUDA out of memory. Of the allocated memory 40.30 GiB is")->allocated);
  for (const char* prefix : {"", "[rank0]: ", "2026-01-02 10:11:12,345 ", "\xe2\x94\x82 "}) {
    for (size_t width = 20; width < 140; ++width) {
      CAPTURE(prefix);
      CAPTURE(width);
      std::string log;
      for (size_t at = 0; at < whole.size(); at += width) log += prefix + whole.substr(at, width) + "\n";
      const Result<OutOfMemory> message = ReadOutOfMemory("log", log);
      REQUIRE(message.ok());
      CHECK(message->allocated == expected->allocated);
      CHECK(message->capacity == expected->capacity);
      CHECK(message->in_use == expected->in_use);
    }
  }
  const Result<OutOfMemory> coloured =
      ReadOutOfMemory("log", "CUDA out of memory. Tried to allocate \x1b[1m2.00 GiB\x1b[0m.");
  CHECK(coloured->tried == Bytes::GiB(2));
}

}  // namespace
}  // namespace vramplan
