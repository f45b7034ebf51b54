// ReadLog: the text in which an out-of-memory message is looked for. Of a long log the last 64 MiB: the message is what
// a run says last. A gzipped log is unpacked, up to the same size.
#pragma once

#include <string>

#include "graph/base/result.h"

namespace vramplan {

// "-": standard input. Errors: what the system says, a directory, a log that unpacks to more.
Result<std::string> ReadLog(const std::string& path);

}  // namespace vramplan
