// WriteFile: every file that vramplan writes goes through here, so that nobody loses one.
//
//   answer.json is not there yet         written beside it under another name and renamed: whole or not at all
//   answer.json is an earlier answer     replaced in the same way; its permissions stay
//   answer.json is anything else         refused without --force: a model, a script, a recorded stream
//   /dev/null, /dev/stdout, a pipe       written to as it is
//
// An earlier answer is known by its mark: the schema of a JSON answer, the first line of an emitted module, the last
// line of a text, the comment in the header of a gzip file. A plain CSV, a problem, a schedule and DeepSpeed's JSON
// have no room for one, so a second one to the same name needs --force.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

struct FileToWrite {
  std::string path;
  std::vector<std::string> inputs = {};  // the files that are read ("-": standard input); empty ones are passed over
  bool force = false;
  std::string_view option = "--out";  // what the user typed before the name
};

// Whether it may and can be written, before an answer is worked out. Errors: kUsage, it would destroy a file;
// kBadInput, what the system says about the place.
Status CheckFileToWrite(const FileToWrite& file);
// Gzipped when its name ends in .gz.
Status WriteFile(const FileToWrite& file, std::string_view bytes);

// A text answer with the last line that tells a file of ours.
std::string Signed(std::string text);
// The same for a file in which lines that begin with # are comments.
std::string SignedInComment(std::string text);

}  // namespace vramplan
