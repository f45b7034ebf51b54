// AllForms: an answer in all its forms at once ("--format all"), for programs that show it in several: a step is laid out
// once.
//
//   {"json": {"schema": "vramplan.fit/1", ...}, "text": "unet.onnx trains on ...", "html": "<!doctype html>...", "code": ""}
#pragma once

#include <string>

#include "planner/report/writing/json.h"

namespace vramplan {

// `page`: empty: there is none. `code`: of --emit.
std::string AllForms(Json answer, std::string text, std::string page, std::string code = "");

}  // namespace vramplan
