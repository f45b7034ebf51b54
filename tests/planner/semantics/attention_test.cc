#include "planner/semantics/attention.h"

#include <doctest/doctest.h>

#include "planner/semantics/view.h"
#include "tests/support/recording_memory.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

using eager::AttentionCall;
using eager::AttentionKernel;

DType TypeOf(const std::string& name) {
  if (name == "float64") return DType::kFloat64;
  if (name == "float16") return DType::kFloat16;
  return name == "bfloat16" ? DType::kBFloat16 : DType::kFloat32;
}

const char* Name(AttentionKernel kernel) {
  constexpr const char* kNames[] = {"math", "eff", "flash"};
  return kNames[static_cast<int>(kernel)];
}

// tests/data/operators/attention.csv: scaled_dot_product_attention and its backward as PyTorch 2.10 asked and released,
// on pretend cards. q, k, v lie as a linear layer leaves them ("bshd") or contiguously; the arriving gradient lies like
// the output; cuBLAS has its workspaces.
void CheckRow(const testing::Row& row) {
  const auto count = [&row](const char* column) { return testing::Count(row, column); };
  const std::string& capability = row.at("capability");
  OperatorBench bench({{capability[0] - '0', capability[2] - '0'}, static_cast<int>(count("multiprocessors"))});
  const eager::Storage workspace = bench.eager.Scratch(Bytes::Of(1));
  bench.eager.handles["cublas/main"] = workspace;
  bench.eager.handles["cublas/autograd"] = workspace;
  const DType type = TypeOf(row.at("type"));
  const bool trains = count("gradient") != 0;
  const auto operand = [&](int64_t heads, int64_t positions, int64_t width) {
    const Dim batch(count("batch"));
    const bool by_position = row.at("layout") == "bshd";
    auto t = by_position ? bench.Constant(Shape{batch, positions, heads, width}, type)
                         : bench.Constant(Shape{batch, heads, positions, width}, type);
    if (by_position) t = Transpose(bench.eager, t, 1, 2);
    t->requires_grad = trains;
    return t;
  };
  const int64_t heads = count("heads"), queries = count("queries"), keys = count("keys");
  AttentionCall call;
  call.query = operand(heads, queries, count("width"));
  call.key = operand(count("key_heads"), keys, count("width"));
  call.value = operand(count("key_heads"), keys, count("value_width"));
  call.dropout = std::stod(row.at("dropout"));
  call.causal = count("causal") != 0;
  const std::string& mask = row.at("mask");
  const Dim batch(count("batch"));
  if (mask == "bool") call.mask = bench.Constant(Shape{batch, 1, queries, keys}, DType::kBool);
  if (mask == "key") {
    call.mask =
        Expand(bench.eager, bench.Constant(Shape{batch, 1, 1, keys}, DType::kBool), Shape{batch, 1, queries, keys});
  }
  if (mask == "float") call.mask = bench.Constant(Shape{batch, 1, queries, keys}, type);
  if (mask == "floatH") call.mask = bench.Constant(Shape{1, heads, queries, keys}, type);
  if (mask == "fgrad") call.mask = bench.Parameter(Shape{batch, heads, queries, keys}, type);

  CHECK(std::string(Name(ChooseAttention(bench.eager, call))) == row.at("kernel"));
  const auto out = ScaledDotProductAttention(bench.eager, call);
  CHECK(bench.Take() == row.at("forward"));
  if (!trains) return;
  bench.Backward(out);
  const std::string arriving = std::to_string(out->numel() * BitWidth(type) / 8);
  const std::string backward = row.at("backward");
  CHECK(bench.Take() == "+" + arriving + (backward.empty() ? "" : " " + backward) + " -" + arriving);
}

TEST_CASE("attention: kernel, forward and backward, event by event, the recorded table") {
  const auto rows = testing::ReadCsv(testing::DataFolder() + "/operators/attention.csv.gz");
  REQUIRE(rows.size() > 400);
  for (const auto& row : rows) {
    std::string what;
    for (const auto& [column, cell] : row) {
      if (column != "forward" && column != "backward") what += column + "=" + cell + " ";
    }
    CAPTURE(what);
    CheckRow(row);
  }
}

TEST_CASE("a forced kernel is taken where it can run") {
  const auto chosen = [](Attention wanted, DType type, Capability capability) {
    TrainingSpec spec;
    spec.framework = {2, 10};
    spec.capability = capability;
    spec.attention = wanted;
    RecordingMemory memory;
    eager::Eager e(memory, spec, 1, nullptr);
    const auto q = e.Empty(Shape{2, 4, 128, 64}, type);
    return std::string(Name(ChooseAttention(e, {q, q, q, {}})));
  };
  CHECK(chosen(Attention::kAuto, DType::kFloat16, {8, 0}) == "flash");
  CHECK(chosen(Attention::kEfficient, DType::kFloat16, {8, 0}) == "eff");
  CHECK(chosen(Attention::kMath, DType::kFloat16, {8, 0}) == "math");
  CHECK(chosen(Attention::kFlash, DType::kFloat32, {8, 0}) == "math");
  CHECK(chosen(Attention::kAuto, DType::kFloat32, {8, 0}) == "eff");
  CHECK(chosen(Attention::kAuto, DType::kBFloat16, {7, 5}) == "math");
}

TEST_CASE("workspace of efficient attention's backward (truth/events bert_base, deit_tiny)") {
  const eager::EfficientTiles tiles = eager::TilesOf({7, 5}, DType::kFloat32, 64, false);
  CHECK(EfficientWorkspace(tiles, 4 * 12, 128, 128, 64, 64) == Bytes::Of(1574400));
  CHECK(EfficientWorkspace(tiles, 8 * 3, 197, 197, 64, 64) == Bytes::Of(24 * 4 * 16400));
  // Halves wider than 128 sum the gradients of keys and values in memory, for three parts of 192 keys.
  CHECK(EfficientWorkspace(eager::TilesOf({7, 5}, DType::kFloat16, 160, false), 8, 128, 192, 160, 160) ==
        Bytes::Of(3932544));
}

}  // namespace
}  // namespace vramplan
