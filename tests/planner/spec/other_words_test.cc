#include "planner/spec/other_words.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "planner/cli/option_row.h"
#include "planner/spec/spec.h"

namespace vramplan {
namespace {

TEST_CASE("words of other tools lead to options that exist, and none hides one of ours") {
  const auto ours = [](std::string_view flag) {
    return std::any_of(OptionRows().begin(), OptionRows().end(),
                       [&](const OptionRow& row) { return row.flag == flag; });
  };
  for (const char* typed :
       {"--batch-size", "--Batch_Size", "-b", "--bs", "--fp16", "--optim", "--vram", "--imgsz", "--img-size",
        "--max_seq_length", "--gradient_accumulation_steps", "--json", "--amp", "--device"}) {
    CAPTURE(typed);
    CHECK(ours(OptionFor(typed).flag));
    CHECK(OptionFor(typed).hint.find(OptionFor(typed).flag) != std::string_view::npos);
  }
  for (const OptionRow& row : OptionRows()) {
    CAPTURE(row.flag);
    CHECK(OptionFor(row.flag).flag.empty());
  }
  for (const char* typed : {"", "--", "--size of", "--batch-siz"}) CHECK(OptionFor(typed).flag.empty());
}

TEST_CASE("names of element types lead to precisions") {
  CHECK_EQ(PrecisionFor("Half"), "type --precision fp16, or amp-fp16 for autocast");
  CHECK_EQ(PrecisionFor("16-mixed"), "type --precision amp-fp16 or amp-bf16");
  CHECK_EQ(PrecisionFor("float64"), "type --precision fp64");
  CHECK_EQ(PrecisionFor("int8"),
           "type --quant nf4,double or --quant int8 for the weights of a named model, and --precision fp16 or bf16");
  CHECK_EQ(PrecisionFor("int16"), "");
  for (const char* ours : {"fp64", "fp32", "tf32", "amp-fp16", "amp-bf16", "fp16", "bf16"}) {
    CAPTURE(ours);
    CHECK(ParsePrecision(ours).ok());
    CHECK_EQ(PrecisionFor(ours), "");
  }
}

}  // namespace
}  // namespace vramplan
