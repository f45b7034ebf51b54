// Parts: what the memory of a card is divided into in every picture, with a name and a colour each: the rows of a
// breakdown, in its order.
//
// The colours are apart for colour-blind readers in the order in which they are stacked, and stand out from the page by
// a contrast of 3 and more in light and in dark (W3C, WCAG 2.2, success criterion 1.4.11; the tests compute it).
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "planner/semantics/memory.h"

namespace vramplan {

struct Part {
  const char* name;
  const char* light;  // "#4477aa": on kLightSurface
  const char* dark;
};
inline constexpr size_t kParts = kCategories + 3;
inline constexpr size_t kSlackPart = kCategories, kUnusedPart = kCategories + 1, kContextPart = kCategories + 2;
const std::array<Part, kParts>& Parts();

// From the bottom to the top: what stays, then what comes and goes. Without kUnusedPart, which is a line.
inline constexpr std::array<size_t, kParts - 1> kStacked = {
    kContextPart,
    static_cast<size_t>(Category::kParameters),
    static_cast<size_t>(Category::kBuffers),
    static_cast<size_t>(Category::kOptimizerState),
    static_cast<size_t>(Category::kGradients),
    static_cast<size_t>(Category::kInputs),
    static_cast<size_t>(Category::kWorkspace),
    static_cast<size_t>(Category::kActivations),
    static_cast<size_t>(Category::kTemporaries),
    kSlackPart,
};

inline constexpr const char* kLightSurface = "#ffffff";
inline constexpr const char* kDarkSurface = "#15191f";

// "p3": the class of everything that has the part's colour.
std::string PartClass(size_t part);
// The rules of these classes, in both schemes, below `scope` ("" or ".chart ").
std::string PartStyle();

}  // namespace vramplan
