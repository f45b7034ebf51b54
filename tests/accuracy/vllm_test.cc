// `vllm serve` against its own logs. tests/data/names/vllm.csv has what other people's runs printed on real cards, from
// versions before the one that is modelled: what they say of a part is held against that part. The ranges were made of
// the `formed` rows; the `judged` ones had been read by then, too. tests/data/names/vllm_pretend.csv has vLLM 0.33.0
// itself on a pretend card (tests/pretend/torch/vllm_start.py), where the driver keeps nothing.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"
#include "tests/support/expectation.h"
#include "tests/support/sanitized.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

constexpr double kGiB = 1 << 30;
constexpr size_t kEvery = EveryNth(6);

struct Answer {
  Json json;
  double At(const char* name) const { return Number(*MemberOf(json, "vllm"), name); }
  double At(const char* name, const char* end) const { return Number(*MemberOf(*MemberOf(json, "vllm"), name), end); }
  static double Number(const Json& of, const char* name) {
    const Json* value = MemberOf(of, name);
    REQUIRE_MESSAGE(value != nullptr, name);
    return static_cast<double>(std::get<int64_t>(value->value()));
  }
};

Answer AnswerTo(const Row& row, const std::string& bytes, const std::string& engine) {
  const Said said =
      Do("fit " + row.at("model") + " --gpu " + row.at("card") + " --gpu-memory " + bytes + " --engine vllm" + engine +
         " --kv " + row.at("kv") + " --dim sequence=" + row.at("context") + " --format json");
  CAPTURE(row.at("model"));
  REQUIRE_MESSAGE(said.exit_code % 3 == 0, said.err);
  const Result<Json> json = ParseJson("answer", said.out);
  REQUIRE(json.ok());
  return {*json};
}

// With so many digits behind the point.
std::string Shown(double value, int digits = 3) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

TEST_CASE("accuracy: vllm serve, as logs of real cards have it") {
  std::string text = "ours, and what was logged; GiB\n\n";
  int inside = 0, judged = 0, within = 0, known = 0;
  size_t index = 0;
  for (const Row& row : ReadCsv(DataFolder() + "/names/vllm.csv")) {
    if (index++ % kEvery != 0) continue;
    const Answer answer = AnswerTo(row, row.at("total_gib") + "GiB", ",utilization=" + row.at("utilization"));
    text += row.at("model") + " on " + row.at("card") + ", vLLM " + row.at("version") + ", " + row.at("used") + "\n";
    const bool is_judged = row.at("used") == "judged";
    const auto logged = [&](const char* column) { return row.at(column).empty() ? -1 : std::stod(row.at(column)); };
    const auto part = [&](const char* column, double ours, double tolerance) {
      if (logged(column) < 0) return;
      const bool good = std::fabs(ours / logged(column) - 1) <= tolerance;
      known += is_judged;
      within += is_judged && good;
      text += "  " + std::string(column) + " " + Shown(ours) + "  " + Shown(logged(column)) + (good ? "\n" : "  OFF\n");
    };
    const auto range = [&](const char* column, double low, double high) {
      if (logged(column) < 0) return;
      const bool good = low - 0.01 <= logged(column) && logged(column) <= high + 0.01;
      judged += is_judged;
      inside += is_judged && good;
      text += "  " + std::string(column) + " " + Shown(low) + " to " + Shown(high) + "  " + Shown(logged(column)) +
              (good ? "\n" : "  OFF\n");
    };
    part("weights_gib", answer.At("weights") / kGiB, 0.005);
    part("peak_gib", answer.At("peak", "low") / kGiB, 0.12);
    range("kernels_gib", answer.At("kernels", "low") / kGiB, answer.At("kernels", "high") / kGiB);
    range("graphs_gib", answer.At("graphs", "low") / kGiB, answer.At("graphs", "high") / kGiB);
    // Runners before 0.33 kept no counts of tokens, and up to 0.20 graphs were not subtracted; 0.6 profiled other
    // tokens.
    const double left = (answer.At("requested") - answer.At("weights") - answer.At("peak", "low")) / kGiB;
    if (row.at("version") != "0.6")
      range("available_gib", left - answer.At("kernels", "high") / kGiB, left - answer.At("kernels", "low") / kGiB);
    // What was logged as free, in blocks.
    if (logged("tokens") > 0) {
      const double blocks = std::floor(logged("available_gib") * kGiB / answer.At("block"));
      part("tokens", blocks * 16 * (row.at("model").starts_with("gemma-2") ? 8192.0 / (1025 * 16) : 1), 0.002);
    }
  }
  text += "\nof the judged rows: " + std::to_string(within) + " of " + std::to_string(known) +
          " numbers within 0.5 % (weights), 12 % (peak), 0.2 % (tokens); " + std::to_string(inside) + " of " +
          std::to_string(judged) + " inside their range\n";
  if (kEvery == 1) CheckWhole("vllm", text);
}

TEST_CASE("accuracy: vllm serve, run on a pretend card") {
  std::string text = "MiB above what vLLM left for cache and graphs, of what it asked for\n\n";
  size_t index = 0;
  for (const Row& row : ReadCsv(DataFolder() + "/names/vllm_pretend.csv")) {
    if (index++ % kEvery != 0) continue;
    const Answer answer = AnswerTo(row, row.at("total") + "B", row.at("eager") == "1" ? ",eager" : "");
    CAPTURE(row.at("model"));
    CHECK(answer.At("requested") == std::stod(row.at("requested")));
    CHECK(answer.At("max_num_batched_tokens") == std::stod(row.at("batched")));
    CHECK(answer.At("max_num_seqs") == std::stod(row.at("seqs")));
    const double left = std::stod(row.at("available")) + std::stod(row.at("graphs"));
    const double known = answer.At("requested") - answer.At("weights") - answer.At("kept");
    const double later = known - answer.At("peak", "low"), first = known - answer.At("peak", "high");
    const bool compiles = std::fabs(first - left) < std::fabs(later - left);  // nothing was cached of it
    const double off = ((compiles ? first : later) - left) / (1 << 20);
    CHECK(std::fabs(off) <= 70);  // segments that are not full are in the range of the kernels
    // Its blocks hold what it logs of tokens.
    CHECK(std::floor(std::stod(row.at("available")) / answer.At("block")) == std::stod(row.at("blocks")));
    text += row.at("model") + (row.at("eager") == "1" ? " eager" : "") + ", context " + row.at("context") + ", kv " +
            row.at("kv") + (compiles ? ", first start" : "") + ": " + Shown(off, 1) + " of " +
            Shown(answer.At("requested") / (1 << 20), 1) + "\n";
  }
  if (kEvery == 1) CheckWhole("vllm_pretend", text);
}

}  // namespace
}  // namespace vramplan::testing
