#include "planner/picture/page.h"

#include <algorithm>
#include <sstream>

#include "planner/picture/parts.h"
#include "planner/picture/table.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

const char* ClassOf(Mood mood) {
  switch (mood) {
    case Mood::kPlain:
      return "plain";
    case Mood::kGood:
      return "good";
    case Mood::kTight:
      return "tight";
    case Mood::kBad:
      return "bad";
  }
  return "";
}

void AddHeader(const Page& page, Markup* to) {
  to->Open("header").Open("p", {{"class", "eyebrow"}}).Text("vramplan " + page.verb);
  if (!page.badge.empty()) to->Element("b", {{"class", std::string("badge ") + ClassOf(page.mood)}}, page.badge);
  to->Close().Element("h1", {}, page.verdict);
  if (!page.tiles.empty()) {
    to->Open("dl", {{"class", "tiles"}});
    for (const Tile& tile : page.tiles) {
      to->Open("div").Element("dt", {}, tile.text).Element("dd", {}, tile.number).Close();
    }
    to->Close();
  }
  for (const std::string& line : page.said) to->Element("p", {{"class", "said"}}, line);
  to->Close();
}

std::string AnchorOf(size_t section) { return "s" + std::to_string(section + 1); }

}  // namespace

void Page::Say(const std::string& answer) {
  std::istringstream lines(answer);
  std::getline(lines, verdict);
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
    line.erase(0, line.find_first_not_of(' '));
    said.push_back(std::move(line));
  }
}

void Page::Add(std::string heading, std::string text, Markup body) {
  if (!body.empty()) sections.push_back({std::move(heading), std::move(text), std::move(body)});
}

std::string PrintPage(const Page& page) {
  Markup html;
  html.Open("html", {{"lang", "en"}}).Open("head");
  html.Empty("meta", {{"charset", "utf-8"}});
  html.Empty("meta", {{"name", "generator"}, {"content", "vramplan"}});
  html.Empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Element("title", {}, page.title);
  html.Open("style").Literal(PartStyle()).Literal(kPageStyle).Close();
  html.Close().Open("body").Open("main");
  AddHeader(page, &html);
  if (page.sections.size() > 2) {
    html.Open("nav", {{"aria-label", "sections"}});
    for (size_t i = 0; i < page.sections.size(); ++i)
      html.Element("a", {{"href", "#" + AnchorOf(i)}}, page.sections[i].heading);
    html.Close();
  }
  for (size_t i = 0; i < page.sections.size(); ++i) {
    const Section& section = page.sections[i];
    html.Open("section", {{"id", AnchorOf(i)}}).Element("h2", {}, section.heading);
    if (!section.text.empty()) html.Element("p", {{"class", "lead"}}, section.text);
    html.Append(section.body).Close();
  }
  html.Close();
  html.Open("div", {{"id", "tip"}, {"role", "status"}, {"hidden", ""}}).Close();
  html.Open("script").Literal(kPageScript).Close();
  html.Close().Close();
  return "<!doctype html>\n" + html.text() + "\n";
}

Markup DrawSpec(const std::vector<SpecRow>& spec) {
  Markup body;
  for (const bool given : {true, false}) {
    if (std::ranges::none_of(spec, [&](const SpecRow& row) { return row.given == given; })) continue;
    body.Open("p", {{"class", "spec"}}).Element("b", {}, given ? "given" : "assumed");
    for (const SpecRow& row : spec) {
      if (row.given != given) continue;
      body.Element("span", {{"class", "chip"}}, row.phrase.empty() ? row.option + " " + row.text : row.phrase);
    }
    body.Close();
  }
  return body;
}

Markup DrawNotes(const Notes& notes) {
  Markup body;
  if (notes.all().empty()) return body;
  body.Open("ul", {{"class", "notes"}});
  for (const Note& note : notes.all()) {
    const bool warns = note.severity == Severity::kWarning;
    body.Open("li", {{"class", warns ? "warning" : "note"}});
    body.Element("b", {}, warns ? "warning" : "note").Text(" ");
    if (!note.subject.empty()) body.Element("code", {}, note.subject).Text(" ");
    body.Text(note.text);
    if (!note.hint.empty()) body.Text(" (" + note.hint + ")");
    body.Close();
  }
  body.Close();
  return body;
}

Markup DrawBreakdown(const std::vector<PeakColumn>& columns, Bytes context) {
  Markup body;
  std::vector<TableColumn> headers = {{"at the peak", false}};
  std::vector<std::vector<BreakdownRow>> parts;
  for (const PeakColumn& column : columns) {
    headers.push_back({column.header, true});
    parts.push_back(Breakdown(*column.peak, context));
  }
  headers.push_back({"share", true});
  const size_t shown = parts.size() - 1;
  const Bytes whole = DeviceBytes(*columns[shown].peak, context);
  const auto share = [&](Bytes bytes) {
    return whole == Bytes() ? 0 : static_cast<double>(bytes.count()) / static_cast<double>(whole.count());
  };
  std::vector<BarRow> rows;
  for (size_t part = 0; part < parts.front().size(); ++part) {
    BarRow row{{parts.front()[part].name}, share(parts[shown][part].bytes), PartClass(part)};
    for (const auto& column : parts) row.cells.push_back(ToString(column[part].bytes));
    row.cells.push_back(Formatted("%.1f %%", 100 * row.share));
    rows.push_back(std::move(row));
  }
  BarRow sum{{"on the device"}, 0, "none"};
  for (const PeakColumn& column : columns) sum.cells.push_back(ToString(DeviceBytes(*column.peak, context)));
  sum.cells.emplace_back("");
  rows.push_back(std::move(sum));
  AddBarTable(headers, rows, &body);
  return body;
}

Markup DrawAssumptions(const std::vector<Assumption>& assumptions) {
  Markup body;
  std::vector<std::vector<std::string>> rows;
  for (const Assumption& assumption : assumptions) {
    rows.push_back({assumption.text, ToString(assumption.low), ToString(assumption.likely), ToString(assumption.high),
                    assumption.settle});
  }
  if (rows.empty()) return body;
  AddTable({{"assumed", false}, {"least", true}, {"as assumed", true}, {"most", true}, {"what settles it", false}},
           rows, &body);
  return body;
}

}  // namespace vramplan
