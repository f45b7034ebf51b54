#include <algorithm>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "planner/report/probe.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Said(const std::optional<bool>& fact, const char* yes, const char* no) {
  return !fact ? "not said" : *fact ? yes : no;
}

std::string FreeText(const CardFacts& card) {
  if (!card.free) return "the driver does not say how much of " + ToString(card.usable) + " is free";
  return ToString(std::min(*card.free, card.usable)) + " of " + ToString(card.usable) + " free";
}

std::string ProbeVerdict(const ProbeReport& report) {
  std::string line = Counted(static_cast<int64_t>(report.cards.size()), "card") + ": ";
  const char* before = "";
  for (const ProbedCard& card : report.cards) {
    line += before + card.facts.name + ", " + FreeText(card.facts);
    before = "; ";
  }
  return line;
}

std::string DriverText(const DriverFacts& driver) {
  std::string text = "driver " + (driver.driver.empty() ? "(version not said)" : driver.driver);
  if (!driver.cuda.empty()) text += ", runs CUDA up to " + driver.cuda;
  if (!driver.toolkit.empty()) text += "; this program was built with CUDA " + driver.toolkit;
  if (driver.wsl) text += "; under WSL the driver does not say what processes hold, and memory is paged";
  return text;
}

std::string PrintHolders(const CardFacts& card, const Style& style) {
  TextTable table({{"who holds it", kLeft, true}, {"bytes", kRight}, {""}});
  Bytes sum;
  for (const HolderRow& row : HolderRows(card)) {
    sum += row.bytes.value_or(Bytes());
    table.AddRow({row.name, OrNotSaid(row.bytes), row.what});
  }
  CHECK(sum == card.total);
  table.AddRule();
  table.AddRow({"total", ToString(sum), card.mig ? "of the slice" : "of the board"});
  return table.Print(style.width, 4);
}

std::string PrintCard(const ProbedCard& probed, const Style& style) {
  const CardFacts& card = probed.facts;
  std::string text =
      "\ncard " + std::to_string(card.index) + ": " + card.name + (card.mig ? " (a slice of a card)" : "") + "\n";
  TextTable facts({{""}, {"", kLeft, true}});
  const auto add = [&](const char* name, const std::string& value) { facts.AddRow({name, value}); };
  add("uuid", card.uuid.empty() ? "not said" : card.uuid);
  if (!card.pci.empty()) add("pci", card.pci);
  add("capability", std::to_string(card.capability_major) + "." + std::to_string(card.capability_minor) + ", " +
                        std::to_string(card.multiprocessors) + " multiprocessors");
  add("usable", ToString(card.usable) + " by a CUDA program");
  add("granularity", card.granularity > Bytes() ? ToString(card.granularity) + " of physical memory" : "not said");
  add("ECC", Said(card.ecc, "on", "off"));
  add("display", Said(card.display, "attached or in use", "none"));
  add("catalogue", probed.id.empty() ? "not in it" : "--gpu " + probed.id);
  add("profile", probed.profile.empty()        ? "none: vramplan calibrate makes one"
                 : probed.profile_date.empty() ? probed.profile
                                               : "of " + probed.profile_date + ", " + probed.profile);
  text += facts.Print(style.width, 4) + "\n" + PrintHolders(card, style);
  std::vector<std::string> unknown = card.unknown;
  if (probed.loads) {
    if (const MeasuredLoads& loads = probed.loads->loads; loads != MeasuredLoads())
      text += "\n" + PrintLoads("what a program adds", loads, style.width, 4);
    unknown.insert(unknown.end(), probed.loads->unknown.begin(), probed.loads->unknown.end());
    if (probed.loads->drift != Bytes()) unknown.push_back(DriftText(probed.loads->drift));
    if (probed.loads->failed) unknown.push_back(ToString(*probed.loads->failed));
  }
  if (!unknown.empty()) text += "\n";
  for (const std::string& line : unknown)
    text += "    " + Wrapped("not known: " + line, style.width - 4, "      ") + "\n";
  return text;
}

}  // namespace

std::vector<HolderRow> HolderRows(const CardFacts& card) {
  std::vector<HolderRow> rows;
  Bytes claimed;
  const auto add = [&](std::string name, const std::optional<Bytes>& bytes, std::string what = "") {
    claimed += bytes.value_or(Bytes());
    rows.push_back({std::move(name), bytes, std::move(what)});
  };
  if (card.reserved) add("reserved by the driver", card.reserved);
  for (const Holder& holder : card.holders) {
    // Another user's, or in another container, whose process numbers are not ours.
    std::string name = "pid " + std::to_string(holder.pid) + " " + (holder.name.empty() ? "(nameless)" : holder.name);
    add(std::move(name), holder.bytes,
        holder.compute && holder.graphics ? "compute, graphics"
        : holder.compute                  ? "compute"
        : holder.graphics                 ? "graphics"
                                          : "");
  }
  const Bytes rest = card.total - claimed - card.free.value_or(Bytes());
  if (!card.free) {
    add(rest < Bytes() ? "claimed twice" : "free, or claimed by nobody", rest);
  } else if (rest != Bytes()) {
    add(rest < Bytes() ? "claimed twice" : "nobody claims it", rest);
  }
  if (card.free) add("free", card.free);
  return rows;
}

std::string PrintLoads(const char* title, const MeasuredLoads& loads, int width, int indent) {
  TextTable table({{title, kLeft, true}, {"bytes", kRight}});
  Bytes sum;
  const auto add = [&](const char* name, const std::optional<Bytes>& bytes) {
    if (!bytes) return;
    sum += *bytes;
    table.AddRow({name, ToString(*bytes)});
  };
  add("CUDA context", loads.context);
  add("first kernel", loads.kernel);
  add("cuBLAS", loads.cublas);
  add("cuDNN", loads.cudnn);
  table.AddRule();
  table.AddRow({"sum", ToString(sum)});
  return table.Print(width, indent);
}

std::string PrintProbe(const ProbeReport& report, const Style& style) {
  std::string text = ProbeVerdict(report) + "\n" + Wrapped(DriverText(report.driver), style.width, "  ") + "\n";
  for (const ProbedCard& card : report.cards) text += PrintCard(card, style);
  return text;
}

}  // namespace vramplan
