#include "planner/picture/icicle.h"

#include "planner/picture/parts.h"
#include "planner/picture/plot.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// The row of a node: its name, bytes, share and bar.
void AddRow(const HeldNode& node, Bytes whole, Markup* to) {
  to->Element("span", {{"class", "name"}}, node.name);
  to->Element("span", {{"class", "n"}}, ToString(node.bytes));
  to->Element("span", {{"class", "n share"}}, PartText(node.bytes, whole));
  to->Open("span", {{"class", "lane"}});
  const std::string color = node.category ? PartClass(static_cast<size_t>(*node.category)) : "module";
  const double bytes = static_cast<double>(node.bytes.count()), all = static_cast<double>(whole.count());
  to->Element("i", {{"class", color}, {"style", "width:" + PercentOf(bytes, all)}}, "").Close();
}

void AddNode(const HeldNode& node, Bytes whole, bool open, Markup* to) {
  const std::string kind = node.category ? PartClass(static_cast<size_t>(*node.category)) : "";
  Markup::Attributes data = {{"data-b", std::to_string(node.bytes.count())}, {"data-n", node.name}};
  if (!kind.empty()) data.push_back({"data-c", kind});
  if (node.children.empty()) {
    data.insert(data.begin(), {"class", "leaf"});
    to->Open("div", data);
    AddRow(node, whole, to);
    to->Close();
    return;
  }
  if (open) data.push_back({"open", ""});
  to->Open("details", data).Open("summary");
  AddRow(node, whole, to);
  to->Close();
  for (const HeldNode& child : node.children) AddNode(child, whole, false, to);
  to->Close();
}

}  // namespace

Markup DrawHeld(const HeldNode& root) {
  Markup page;
  page.Open("figure", {{"class", "chart held"}, {"id", "held"}});
  page.Open("div", {{"class", "icicle"}, {"hidden", ""}}).Close();
  page.Open("div", {{"class", "tree"}});
  AddNode(root, root.bytes, true, &page);
  page.Close().Close();
  return page;
}

}  // namespace vramplan
