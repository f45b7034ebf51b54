#include "planner/cli/all_forms.h"

#include <utility>

namespace vramplan {

std::string AllForms(Json answer, std::string text, std::string page, std::string code) {
  Json all = Json::Object();
  all.Set("json", std::move(answer)).Set("text", std::move(text)).Set("html", std::move(page));
  return PrintCompact(all.Set("code", std::move(code))) + "\n";
}

}  // namespace vramplan
