#include "planner/report/parts/sweep_laws.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "planner/report/fit.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// A coefficient is a size, and below a byte a number.
std::string CoefficientText(double bytes) {
  if (std::abs(bytes) < 1) return Formatted("%.2f B", bytes);
  return SignedText(Bytes::Of(std::llround(bytes)));
}

std::optional<int64_t> WholeNumber(const std::string& text) {
  int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view GrowthName(Growth growth) {
  switch (growth) {
    case Growth::kNone:
      return "none";
    case Growth::kLinear:
      return "linear";
    case Growth::kQuadratic:
      return "quadratic";
    case Growth::kSteps:
      return "steps";
    case Growth::kOther:
      return "other";
  }
  return "";
}

std::string UnitOf(const std::string& axis) {
  const auto has = [&](const char* part) { return axis.find(part) != std::string::npos; };
  if (has("batch")) return "sample";
  if (axis == "sequences") return "sequence";
  if (has("seq") || has("token") || has("length") || has("position")) return "token";
  if (has("height") || has("width")) return "pixel";
  if (has("frame")) return "frame";
  return axis;
}

std::string LawText(const SweepLaw& swept) {
  const GrowthLaw& law = swept.law;
  const std::string each = "each further " + swept.unit;
  std::string text(GrowthName(law.growth));
  switch (law.growth) {
    case Growth::kNone:
      return "no effect on the peak";
    case Growth::kLinear:
      text += ": " + each + " " + CoefficientText(law.linear);
      break;
    case Growth::kQuadratic:
      text += ": " + each + "² " + CoefficientText(law.square) + ", " + each + " " + CoefficientText(law.linear);
      break;
    case Growth::kSteps:
      text = "in steps: constant for several values, then a jump";
      break;
    case Growth::kOther:
      return "no simple law fits these values";
  }
  if (!swept.at.empty()) text += " (at " + swept.at + ")";
  return law.from > swept.first ? text + ", from " + std::to_string(law.from) + " on" : text;
}

std::vector<SweepLaw> LawsAlong(const std::vector<std::string>& axes, const std::vector<SweptAnswer>& answers,
                                size_t least) {
  std::vector<SweepLaw> laws;
  for (size_t a = 0; a < axes.size() && !answers.empty(); ++a) {
    const std::vector<std::string>& at = answers.front().values;
    std::map<int64_t, Bytes> found;
    std::set<int64_t> asked;
    bool whole = true;
    for (const SweptAnswer& answer : answers) {
      const std::optional<int64_t> number = WholeNumber(answer.values[a]);
      whole = whole && number;
      if (!whole) break;
      asked.insert(*number);
      bool first = answer.requested.has_value();
      for (size_t other = 0; other < axes.size(); ++other) first &= other == a || answer.values[other] == at[other];
      if (first) found.emplace(*number, *answer.requested);
    }
    if (!whole || found.size() < std::max<size_t>(least, 2)) continue;
    std::vector<GrowthPoint> points;
    for (const auto& [number, bytes] : found) points.push_back({number, bytes});
    SweepLaw law{axes[a], UnitOf(axes[a]), LawOf(points), "", *asked.begin()};
    if (law.law.growth == Growth::kOther && points.size() < 3) continue;  // two values have any law
    for (size_t other = 0; other < axes.size(); ++other) {
      if (other != a) law.at += (law.at.empty() ? "" : ", ") + axes[other] + " " + at[other];
    }
    laws.push_back(std::move(law));
  }
  return laws;
}

std::string PrintLaws(const std::vector<SweepLaw>& laws, const Style& style) {
  size_t widest = 0;
  for (const SweepLaw& law : laws) widest = std::max(widest, law.axis.size());
  std::string text;
  for (const SweepLaw& law : laws)
    text += Indented(law.axis + std::string(widest - law.axis.size() + 2, ' ') + LawText(law), style);
  return text;
}

}  // namespace vramplan
