// Page: an answer as one HTML file. Nothing is loaded from anywhere: the style and the script stand in it, and without
// the script every table remains.
//
//   eyebrow   vramplan fit
//   verdict   unet.onnx trains on Tesla T4: batch 34 is safe ...       [may fit]
//   tiles     34 safe batch   38 may fit   14.43 GiB of 14.56 GiB
//   said      what else stands below the verdict
//   sections  memory over the step, who holds it, by batch, plans, segments, notes
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/base/note.h"
#include "planner/picture/markup.h"
#include "planner/report/estimate.h"
#include "planner/report/parts/assumption.h"

namespace vramplan {

enum class Mood : uint8_t { kPlain, kGood, kTight, kBad };

struct Tile {
  std::string number, text;
};

struct Section {
  std::string heading, text;  // the text may be empty
  Markup body;
};

struct Page {
  std::string verb, title, verdict;
  Mood mood = Mood::kPlain;
  std::string badge;  // "fits"; empty: none
  std::vector<Tile> tiles;
  std::vector<std::string> said;
  std::vector<Section> sections;

  // Takes the verdict of an answer in text, its first line, and what is said below it, up to its first table.
  void Say(const std::string& answer);
  // Adds a section, unless its body is empty.
  void Add(std::string heading, std::string text, Markup body);
};

std::string PrintPage(const Page& page);

// Sections that several verbs have.
Markup DrawSpec(const std::vector<SpecRow>& spec);
Markup DrawNotes(const Notes& notes);
// The parts of each peak, a column each; the first has bars.
struct PeakColumn {
  std::string header;
  const Peak* peak;
};
Markup DrawBreakdown(const std::vector<PeakColumn>& columns, Bytes context);
Markup DrawAssumptions(const std::vector<Assumption>& assumptions);

// Ours, as they stand in every page.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace vramplan
