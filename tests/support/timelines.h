// Hand-made timelines, one line an event:
//
//   TimelineText("setup + 0 parameters 4096\n"          block 0 is born
//                "forward + 1 activations 512*B\n"
//                "forward |\n"                            the mark that ends a phase: after forward, after backward,
//                step end "update - 1\n")                          block 1 dies
#pragma once

#include <string>

#include "planner/timeline/timeline.h"

namespace vramplan {

// The layer that asks follows the bytes as "@2"; without it nobody does. A new step begins with the first forward after
// an update.
Timeline TimelineText(const std::string& text);

}  // namespace vramplan
