// ProbeReport: what the cards of this machine said, and what a context on them takes ("vramplan.probe/1").
//
//   reserved by the driver        400.00 MiB
//   pid 4121 python3              600.00 MiB    compute
//   nobody claims it              624.00 MiB
//   free                           14.41 GiB
//   total                          16.00 GiB    the sum
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/facts.h"
#include "graph/base/note.h"
#include "planner/calibration/loads.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

// A row of who holds the card's memory. Those with bytes sum to the total.
struct HolderRow {
  std::string name;
  std::optional<Bytes> bytes;  // nothing: the driver does not say
  std::string what;            // "compute, graphics"
  bool operator==(const HolderRow&) const = default;
};
std::vector<HolderRow> HolderRows(const CardFacts& card);

struct ProbedCard {
  CardFacts facts;
  std::optional<SeenLoads> loads;  // nothing: --no-context
  std::string id;                  // of the catalogue; empty: not in it
  std::string profile;             // the stored file; empty: none
  std::string profile_date;
};

struct ProbeReport {
  DriverFacts driver;
  std::vector<ProbedCard> cards;
  Notes notes;
};

// What each part added, and the sum; of calibrate, too.
std::string PrintLoads(const char* title, const MeasuredLoads& loads, int width, int indent);
std::string PrintProbe(const ProbeReport& report, const Style& style);
Json ToJson(const ProbeReport& report);

}  // namespace vramplan
