#include "planner/picture/held.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {
namespace {

constexpr const char* kNoModule = "(outside modules)";

HeldNode* ChildOf(HeldNode* node, const std::string& name, std::optional<Category> category) {
  const auto found = std::ranges::find_if(
      node->children, [&](const HeldNode& child) { return child.name == name && child.category == category; });
  if (found != node->children.end()) return &*found;
  node->children.push_back({.name = name, .bytes = Bytes(), .blocks = 0, .category = category, .children = {}});
  return &node->children.back();
}

void Put(const std::string& path, Category category, Bytes bytes, HeldNode* root) {
  HeldNode* node = root;
  const auto enter = [&](const std::string& name, std::optional<Category> leaf) {
    node = ChildOf(node, name, leaf);
    node->bytes += bytes;
    ++node->blocks;
  };
  root->bytes += bytes;
  ++root->blocks;
  std::string above;  // of a number in a list, which says nothing alone: "blocks.0"
  for (size_t from = 0; from < path.size();) {
    const size_t dot = std::min(path.find('.', from), path.size());
    std::string part = path.substr(from, dot - from);
    if (!above.empty() && !part.empty() && part[0] >= '0' && part[0] <= '9') part = above + "." + part;
    enter(part, std::nullopt);
    above = part;
    from = dot + 1;
  }
  std::string name(Name(category));
  std::ranges::replace(name, '_', ' ');
  enter(name, category);
}

// Sorts, joins what has a single child that is a module, and gathers the smallest.
void Tidy(HeldNode* node, size_t most) {
  while (node->children.size() == 1 && !node->children.front().category) {
    HeldNode only = std::move(node->children.front());
    const bool repeats = only.name.starts_with(node->name + ".");
    node->name = repeats ? only.name : node->name + "." + only.name;
    node->children = std::move(only.children);
  }
  for (HeldNode& child : node->children) Tidy(&child, most);
  std::ranges::stable_sort(node->children, [](const HeldNode& a, const HeldNode& b) { return a.bytes > b.bytes; });
  if (node->children.size() <= most) return;
  HeldNode rest;
  rest.name = std::to_string(node->children.size() - most + 1) + " more";
  for (size_t i = most - 1; i < node->children.size(); ++i) {
    rest.bytes += node->children[i].bytes;
    rest.blocks += node->children[i].blocks;
  }
  node->children.resize(most - 1);
  node->children.push_back(std::move(rest));
}

}  // namespace

HeldNode HeldAt(const Subject& subject, const PeakMoment& moment, size_t most) {
  const Timeline& timeline = subject.timeline;
  const std::vector<std::optional<Category>> category = CategoriesAfter(timeline, moment.event);
  std::vector<size_t> birth(timeline.blocks.size());
  for (size_t i = 0; i <= moment.event && i < timeline.events.size(); ++i) {
    const Event& event = timeline.events[i];
    if (event.kind == EventKind::kAllocate) birth[static_cast<size_t>(event.block.value)] = i;
  }
  HeldNode root;
  for (const BlockId id : moment.live) {
    const auto block = static_cast<size_t>(id.value);
    const BlockWords words = subject.words(birth[block]);
    Put(words.module.empty() ? kNoModule : words.module, *category[block], timeline[id].bytes.At(subject.batch), &root);
  }
  CHECK(root.bytes == moment.levels.requested);
  for (HeldNode& child : root.children) Tidy(&child, most);
  std::ranges::stable_sort(root.children, [](const HeldNode& a, const HeldNode& b) { return a.bytes > b.bytes; });
  root.name = "the step";
  return root;
}

}  // namespace vramplan
