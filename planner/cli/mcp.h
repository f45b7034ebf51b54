// Mcp: vramplan for agents: a server of the Model Context Protocol on standard input and output (revision 2025-06-18: JSON-RPC
// 2.0, a message a line).
//
//   {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
//    "params": {"name": "fit", "arguments": {"model": "llama-3.1-8b", "gpu": "rtx-4090", "lora": 16}}}
//   {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "llama-3.1-8b trains on ..."}],
//    "structuredContent": {"schema": "vramplan.fit/1", ...}, "isError": false}}
//
// A tool is a verb: it is answered by the command line that a person would type, and structuredContent is the answer of
// --format json. Tools read; none writes a file.
#pragma once

#include <iosfwd>
#include <string>

#include "planner/report/asked.h"

namespace vramplan {

// What is to be written for a line that was read; empty: nothing, as for notifications.
std::string AnswerMessage(const std::string& line, const Asker& ask);
// How a client starts it.
std::string McpHelp();
// Until the end of `in`. The exit code.
int ServeMcp(std::istream& in, std::ostream& out, const Asker& ask);

}  // namespace vramplan
