// OtherWords: what PyTorch, trainers and other tools call the things that vramplan's options and values name. People
// type these, and no edit distance leads from "--bs" to "--batch" or from "half" to "fp16".
//
//   OptionFor("--batch_size")    {"--batch", "type --batch N"}
//   PrecisionFor("bfloat16")     "type --precision bf16, or amp-bf16 for autocast"
//
// The words are keys of transformers' TrainingArguments, Accelerate, Lightning, DeepSpeed, vLLM, timm's and ultralytics'
// train scripts, and PyTorch's names of element types.
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

struct KnownOption {
  std::string_view flag;  // ours; empty: the word is not known
  std::string_view hint;  // what to type
};

// With or without dashes before it, with - or _ within, in any case.
KnownOption OptionFor(std::string_view typed);

// Empty when the word is not known.
std::string_view PrecisionFor(std::string_view typed);

}  // namespace vramplan
