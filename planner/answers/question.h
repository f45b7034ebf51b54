// Question: what is asked about a step, whoever asks: the model, how it is trained or run, the batch, the card and its
// allocator. A command line (planner/cli/options.h), a combination of a sweep and a remedy are all questions.
//
//   vramplan fit unet.onnx --gpu t4 --batch 8    {model "unet.onnx", gpu "t4", batch 8}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/architectures/lora.h"
#include "graph/architectures/quantization.h"
#include "graph/base/bytes.h"
#include "graph/base/note.h"
#include "graph/lift/lift.h"
#include "graph/shapes/infer.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/report/parts/host.h"
#include "planner/spec/spec.h"
#include "planner/spec/trained.h"
#include "planner/spec/vllm.h"

namespace vramplan {

struct NamedModel;

struct Question {
  // The model.
  std::string model;                        // a file, or the name of a model; empty: none
  std::shared_ptr<const NamedModel> named;  // where it is a name (TakeNamed)
  std::optional<Lora> lora;                 // of it
  std::optional<Quantization> quant;        // of it
  bool liger = false;                       // its training runs with Liger's kernels
  bool padded = false;                      // its sequences are of several lengths, and a mask says so
  std::optional<DType> weights;             // of it, where that is not what `spec.precision` says
  std::optional<VllmOptions> vllm;          // what serves it; nothing: generate() of transformers
  bool fp8_cache = false;                   // of vLLM's keys and values
  BindOptions bind;
  PutBack put_back;
  std::string second_model;  // a file, or a name; `spec.around.second` is what is in it (TakeSecondModel)

  // The step.
  TrainingSpec spec;
  bool of_step = true;                  // false: the step is a script's, so that `spec` says nothing of it
  bool optimizer_of_file = false;       // the file's facts name it (TakeSpecOfFile)
  std::vector<TrainedPattern> trained;  // --trainable and --frozen, as they stood on the line
  std::optional<int64_t> batch;

  // The card.
  std::string gpu;  // as typed; "all", "t4,a10", "auto" and "auto:N" are kept
  std::optional<Bytes> gpu_memory;
  std::optional<Capability> capability;
  Bytes reserve;
  std::optional<Bytes> context;
  std::string profile;  // the file; empty: none
  AllocatorConfig allocator;
  std::string allocator_text;  // as typed

  LoaderQuestion loader;  // of the host's RAM

  std::string hint_verb = "fit";  // the verb that hints name
  Notes notes;                    // about how all this was read
};

// Whether `gpu` is about several cards: "all", "t4,a10,l4".
inline bool AsksOfMany(const std::string& gpu) { return gpu == "all" || gpu.find(',') != std::string::npos; }

}  // namespace vramplan
