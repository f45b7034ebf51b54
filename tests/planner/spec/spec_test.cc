#include "planner/spec/spec.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

// Every value prints as a name that reads back as that value.
template <typename Enum, typename Parse>
void CheckRoundTrip(Enum last, Parse parse) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const Enum value = static_cast<Enum>(i);
    const auto read = parse(Name(value));
    REQUIRE(read.ok());
    CHECK_EQ(static_cast<int>(*read), i);
  }
}

TEST_CASE("every enum value has a name that reads back") {
  CheckRoundTrip(Mode::kInfer, ParseMode);
  CheckRoundTrip(Precision::kBf16, ParsePrecision);
  CheckRoundTrip(Optimizer::kLion8bit, ParseOptimizer);
  CheckRoundTrip(ZeroGrad::kAfterForward, ParseZeroGrad);
  CheckRoundTrip(Ema::kModelEmaV3, ParseEma);
  CheckRoundTrip(OptimizerImpl::kForLoop, ParseOptimizerImpl);
  CheckRoundTrip(Loss::kKlDiv, ParseLoss);
  CheckRoundTrip(Loss::kTripletMargin, ParseLoss);
  CheckRoundTrip(Attention::kFlash, ParseAttention);
  CheckRoundTrip(Inplace::kOff, ParseInplace);
}

TEST_CASE("names are known in PyTorch's writing, too") {
  CHECK_EQ(*ParseOptimizer("AdamW"), Optimizer::kAdamW);
  CHECK_EQ(*ParseOptimizer("SGD"), Optimizer::kSgd);
  CHECK_EQ(*ParsePrecision("BF16"), Precision::kBf16);
  CHECK_FALSE(ParseOptimizer("Adam ").ok());
}

TEST_CASE("an unknown value lists the choices and the nearest") {
  CHECK_EQ(
      ParseMode("trian").error(),
      Error{ErrorCode::kUsage, "--mode", "\"trian\" is not one of train, eval, infer or serve", "did you mean train?"});
  CHECK_EQ(ParsePrecision("half").error(),
           Error{ErrorCode::kUsage, "--precision",
                 "\"half\" is not one of fp64, fp32, tf32, amp-fp16, amp-bf16, fp16 or bf16",
                 "type --precision fp16, or amp-fp16 for autocast"});
  CHECK_EQ(ParsePrecision("int8").error().hint,
           "type --quant nf4,double or --quant int8 for the weights of a named model, and --precision fp16 or bf16");
  CHECK_EQ(ParseMode("test").error().hint, "type --mode infer");
  CHECK_EQ(ParseMode("half").error().hint, "type --mode train");  // a word of another option
  CHECK_EQ(ToString(ParseAttention("flsh").error()),
           "--attention: \"flsh\" is not one of auto, math, efficient or flash (hint: did you mean flash?)");
}

TEST_CASE("capabilities") {
  CHECK_EQ(*ParseCapability("8.6"), Capability{8, 6});
  CHECK_EQ(*ParseCapability("12.0"), Capability{12, 0});
  CHECK_EQ(ToString(Capability{12, 0}), "12.0");
  CHECK(Capability{7, 5} < Capability{8, 0});
  for (const char* wrong : {"", "8", "8.", ".6", "8.6.1", "8,6", "sm_86", "-8.6", "2.1", "13.0", "8.66"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseCapability(wrong).ok());
  }
}

TEST_CASE("frameworks") {
  CHECK_EQ(*ParseFramework("pytorch"), kNewestFramework);
  CHECK_EQ(*ParseFramework("pytorch@2.6"), Framework{2, 6});
  CHECK_EQ(*ParseFramework("pytorch@2.10"), Framework{2, 10});
  CHECK_EQ(*ParseFramework("torch@2.10.1"), Framework{2, 10});
  CHECK_EQ(ToString(Framework{2, 10}), "pytorch@2.10");
  for (const char* typed :
       {"2.10", "v2.10", "2.10.0", "pytorch==2.10", "torch==2.10.0", "torch==2.10.0+cu128", "PyTorch 2.10", "torch2.10",
        "pytorch-2.10", "pytorch=2.10", "pytorch v2.10", "TORCH@2.10"}) {
    CAPTURE(typed);
    CHECK_EQ(*ParseFramework(typed), Framework{2, 10});
  }
  CHECK(Framework{2, 6} < Framework{2, 10});
  for (const char* wrong : {"", "caffe", "jax@0.4", "pytorch@", "pytorch@2", "pytorch@1.13", "pytorch@2.16",
                            "pytorch@2.x", "pytorch@2.6.x", "pytorch>=2.6", "3.10", "2", "torch=="}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseFramework(wrong).ok());
  }
  CHECK_EQ(*ParseFramework("onnxruntime"), Framework{2, 15, Runtime::kOnnxRuntime});
  CHECK_EQ(*ParseFramework("ort"), Framework{2, 15, Runtime::kOnnxRuntime});
  CHECK_EQ(ToString(*ParseFramework("tensorflow")), "tensorflow");
  CHECK_EQ(ToString(ParseFramework("jaxx").error()),
           "--framework: \"jaxx\" is not one of pytorch, onnxruntime, tensorflow or jax (hint: did you mean jax?)");
  CHECK_EQ(
      ToString(ParseFramework("onnxruntime@1.18").error()),
      "--framework: versions of ONNX Runtime make no difference here: \"1.18\" (hint: type --framework onnxruntime)");
  CHECK_EQ(ToString(ParseFramework("pytorch@2.16").error()),
           "--framework: PyTorch 2.16 is not modelled; 2.0 to 2.15 are (hint: type pytorch@2.0 to pytorch@2.15, or "
           "pytorch for the newest)");
}

}  // namespace
}  // namespace vramplan
