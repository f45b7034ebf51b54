// AskApart: a command line, answered in a process of its own, for servers that answer many: each begins with nothing that
// an earlier one left behind, and one that ends badly takes nobody along.
//
//   AskApart({"fit", "unet.onnx", "--gpu", "t4"}, "")    exit code 0, out "unet.onnx trains on ...", err "note: ..."
#pragma once

#include <string>
#include <vector>

#include "planner/report/asked.h"

namespace vramplan {

// An Asker. The caller has no other threads.
Asked AskApart(const std::vector<std::string>& words, const std::string& input);
// The same, given up when the other end of `connection` hangs up, or a signal waits at `signals` (a signalfd).
Asked AskWhileAwaited(const std::vector<std::string>& words, const std::string& input, int connection,
                      int signals = -1);

}  // namespace vramplan
