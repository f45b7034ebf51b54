#include "planner/spec/other_words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "graph/base/text.h"

namespace vramplan {
namespace {

struct WordRow {
  std::string_view words;  // between spaces
  KnownOption option;
};

constexpr std::array kOptions = {
    WordRow{
        " b bs batchsize batch-size batches micro-batch micro-batch-size train-batch-size eval-batch-size "
        "per-device-batch-size per-device-train-batch-size per-device-eval-batch-size train-micro-batch-size-per-gpu ",
        {"--batch", "type --batch N"}},
    WordRow{" fp16 float16 half ", {"--precision", "type --precision fp16, or amp-fp16 for autocast"}},
    WordRow{" bf16 bfloat16 ", {"--precision", "type --precision bf16, or amp-bf16 for autocast"}},
    WordRow{" amp autocast mixed-precision ", {"--precision", "type --precision amp-fp16 or amp-bf16"}},
    WordRow{" fp32 float32 float ", {"--precision", "type --precision fp32"}},
    WordRow{" tf32 ", {"--precision", "type --precision tf32"}},
    WordRow{" dtype torch-dtype type ", {"--precision", "type --precision P"}},
    WordRow{" optim opt ", {"--optimizer", "type --optimizer NAME"}},
    WordRow{" fused foreach ", {"--optimizer-impl", "type --optimizer-impl IMPL"}},
    WordRow{" wd ", {"--weight-decay", "type --weight-decay X"}},
    WordRow{" card device gpu-name gpu-type accelerator cuda ", {"--gpu", "type --gpu NAME"}},
    WordRow{" vram gpu-vram mem memory gpu-mem max-memory memory-limit ", {"--gpu-memory", "type --gpu-memory 16GiB"}},
    WordRow{" seq seq-len seqlen seq-length sequence sequence-length max-length max-seq-len max-seq-length block-size "
            "context-length ",
            {"--dim", "type --dim NAME=N with the name that vramplan inspect shows, such as sequence=128"}},
    WordRow{" img-size imgsz image-size img resolution height width crop-size ",
            {"--image", "type --image 512, or --image HEIGHTxWIDTH"}},
    WordRow{" input-size input-shape shape size ",
            {"--input", "type --input NAME=AxBxC with the input's name, as x=8x3x224x224"}},
    WordRow{" infer inference forward predict test no-grad ", {"--mode", "type --mode infer"}},
    WordRow{" eval evaluate validation ", {"--mode", "type --mode eval"}},
    WordRow{" train training ", {"--mode", "type --mode train"}},
    WordRow{" accum grad-accum accumulation-steps grad-accumulation grad-accum-steps gradient-accumulation "
            "gradient-accumulation-steps accumulate-grad-batches ",
            {"--accumulate", "type --accumulate N"}},
    WordRow{" clip clip-grad grad-clip max-grad-norm gradient-clip-val gradient-clipping ",
            {"--clip-grad-norm", "type --clip-grad-norm X"}},
    WordRow{" recompute grad-checkpointing gradient-checkpointing activation-checkpointing ",
            {"--checkpoint",
             "type --checkpoint all for a named model, or --checkpoint MODULE; vramplan plan chooses the modules"}},
    WordRow{" load-in-4bit load-in-8bit bnb bnb-4bit-quant-type quantize quantization ",
            {"--quant", "type --quant nf4,double or --quant int8 for a named model"}},
    WordRow{" use-8bit-adam ", {"--optimizer", "type --optimizer adamw-8bit"}},
    WordRow{" use-liger-kernel use-liger liger-kernel ", {"--liger", "type --liger"}},
    WordRow{" padding pad-to-max-length padding-strategy ", {"--padded", "type --padded"}},
    WordRow{" packing packed ", {"--padded", "leave it out: only --padded makes sequences of several lengths"}},
    WordRow{" num-gpus n-gpus ngpus nproc-per-node num-processes world-size devices ", {"--gpus", "type --gpus N"}},
    WordRow{" zero-stage fsdp deepspeed ddp ", {"--strategy", "type --strategy ddp, fsdp2, zero1, zero2 or zero3"}},
    WordRow{" max-model-len ", {"--dim", "type --engine vllm --dim sequence=N"}},
    WordRow{" gpu-memory-utilization ", {"--engine", "type --engine vllm,utilization=0.95"}},
    WordRow{" max-num-seqs ", {"--engine", "type --engine vllm,seqs=N"}},
    WordRow{" max-num-batched-tokens ", {"--engine", "type --engine vllm,tokens=N"}},
    WordRow{" enforce-eager ", {"--engine", "type --engine vllm,eager"}},
    WordRow{" kv-cache-dtype ", {"--kv", "type --engine vllm --kv fp8"}},
    WordRow{" qlora lora-r lora-rank lora-alpha peft adapter adapters ",
            {"--lora",
             "type --lora R for a named model; otherwise export it with its adapters, or in Python: "
             "vramplan.fit(peft.get_peft_model(model, config), inputs, gpu=\"t4\")"}},
    WordRow{" criterion loss-fn loss-function ", {"--loss", "type --loss LOSS"}},
    WordRow{" torch torch-version pytorch pytorch-version ", {"--framework", "type --framework pytorch@2.15"}},
    WordRow{" sdpa attn attn-implementation flash-attention ", {"--attention", "type --attention KIND"}},
    WordRow{" alloc-conf pytorch-cuda-alloc-conf pytorch-alloc-conf ",
            {"--allocator-conf", "type --allocator-conf CONF"}},
    WordRow{" json ", {"--format", "type --format json"}},
    WordRow{" o output output-file ", {"--out", "type --out FILE"}},
};

struct PrecisionWord {
  std::string_view words;
  std::string_view hint;
};

constexpr std::array kPrecisionWords = {
    PrecisionWord{" half float16 f16 16 16-true ", "type --precision fp16, or amp-fp16 for autocast"},
    PrecisionWord{" bfloat16 bfloat bf bf16-true ", "type --precision bf16, or amp-bf16 for autocast"},
    PrecisionWord{" single float float32 f32 full 32 32-true ", "type --precision fp32"},
    PrecisionWord{" double float64 f64 64 64-true ", "type --precision fp64"},
    PrecisionWord{" amp mixed autocast fp16-mixed 16-mixed mixed-fp16 mixed-precision ",
                  "type --precision amp-fp16 or amp-bf16"},
    PrecisionWord{" bf16-mixed mixed-bf16 amp-bfloat16 ", "type --precision amp-bf16"},
    PrecisionWord{
        " int8 uint8 8bit 8-bit int4 4bit 4-bit nf4 fp8 float8 fp4 ",
        "type --quant nf4,double or --quant int8 for the weights of a named model, and --precision fp16 or bf16"},
};

// " batch-size " of "--Batch_Size", to be found in a row of words.
std::string Word(std::string_view typed) {
  std::string word = LowerCase(typed.substr(std::min(typed.find_first_not_of('-'), typed.size())));
  std::ranges::replace(word, '_', '-');
  return " " + word + " ";
}

}  // namespace

KnownOption OptionFor(std::string_view typed) {
  const std::string word = Word(typed);
  for (const WordRow& row : kOptions) {
    if (row.words.find(word) != std::string_view::npos) return row.option;
  }
  return {};
}

std::string_view PrecisionFor(std::string_view typed) {
  const std::string word = Word(typed);
  for (const PrecisionWord& row : kPrecisionWords) {
    if (row.words.find(word) != std::string_view::npos) return row.hint;
  }
  return {};
}

}  // namespace vramplan
