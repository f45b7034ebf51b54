#include "planner/report/parts/sweep_laws.h"

#include <doctest/doctest.h>

#include <functional>

using namespace vramplan;

namespace {

constexpr Style kPlain{.width = 100, .unicode = true, .verbose = false};

std::vector<SweptAnswer> Answers(const std::vector<int64_t>& values, const std::function<int64_t(int64_t)>& bytes) {
  std::vector<SweptAnswer> answers;
  for (const int64_t value : values) answers.push_back({{std::to_string(value)}, Bytes::Of(bytes(value))});
  return answers;
}

TEST_CASE("sweep_laws: in words, by the axis") {
  const std::vector<int64_t> doubling = {1, 2, 4, 8, 16};
  struct Row {
    const char* axis;
    std::vector<SweptAnswer> answers;
    const char* said;
  };
  const Row rows[] = {
      {"batch", Answers(doubling, [](int64_t n) { return 1000 + (n << 20); }), "linear: each further sample 1.00 MiB"},
      {"train_batch_size", Answers({1, 2, 3}, [](int64_t n) { return n << 10; }),
       "linear: each further sample 1.00 KiB"},
      // What comes in another order is put into order.
      {"seq", Answers({8, 1, 4, 2}, [](int64_t n) { return (n * n << 20) + (n << 10); }),
       "quadratic: each further token² 1.00 MiB, each further token 1.00 KiB"},
      {"n", Answers({1, 2, 3, 4, 5, 6, 7, 8}, [](int64_t n) { return (n + 3) / 4 * 1000; }),
       "in steps: constant for several values, then a jump"},
      {"ckpt", Answers({0, 1, 2}, [](int64_t) { return 7; }), "no effect on the peak"},
      {"n", Answers(doubling, [](int64_t n) { return n * n * n; }), "no simple law fits these values"},
      {"batch", Answers(doubling, [](int64_t n) { return std::max<int64_t>(4 << 20, n << 20); }),
       "linear: each further sample 1.00 MiB, from 4 on"},
  };
  for (const Row& row : rows) {
    const std::vector<SweepLaw> laws = LawsAlong({row.axis}, row.answers, 3);
    REQUIRE(laws.size() == 1);
    CHECK(LawText(laws.front()) == row.said);
    CHECK(PrintLaws(laws, kPlain) == std::string("  ") + row.axis + "  " + row.said + "\n");
  }
}

TEST_CASE("sweep_laws: the others at their first value; what has no law") {
  // Batch by sequence, the larger half without an answer.
  std::vector<SweptAnswer> answers;
  for (const int64_t batch : {1, 2, 3}) {
    for (const int64_t seq : {10, 20, 30}) {
      answers.push_back({{std::to_string(batch), std::to_string(seq), "fp32"}, std::nullopt});
      if (batch + seq / 10 < 5) answers.back().requested = Bytes::KiB(batch * seq);
    }
  }
  const std::vector<std::string> axes = {"batch", "seq", "precision"};
  CHECK(PrintLaws(LawsAlong(axes, answers, 3), kPlain) ==
        "  batch  linear: each further sample 10.00 KiB (at seq 10, precision fp32)\n"
        "  seq    linear: each further token 1.00 KiB (at batch 1, precision fp32)\n");
  // Two numbers lie on any law, unless they are equal.
  answers.resize(2);
  CHECK(LawsAlong(axes, answers, 3).empty());
  CHECK(LawsAlong(axes, answers).empty());
  answers[1].requested = answers[0].requested;
  REQUIRE(LawsAlong(axes, answers).size() == 1);
  CHECK(LawText(LawsAlong(axes, answers).front()) == "no effect on the peak");
  CHECK(LawsAlong(axes, {}).empty());
}

}  // namespace
