#include "planner/ui/private_folder.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace vramplan {
namespace {

namespace fs = std::filesystem;
constexpr size_t kLongestName = 200;

// The last part of the path that it may be, as a name that is no option and no folder.
std::string SafeName(const std::string& name) {
  std::string safe = name.substr(name.find_last_of("/\\") + 1);
  std::erase_if(safe, [](unsigned char c) { return std::iscntrl(c) != 0; });
  safe.erase(0, std::min(safe.find_first_not_of("-. "), safe.size()));
  if (safe.size() > kLongestName) safe.erase(0, safe.size() - kLongestName);  // its end says what it is
  return safe;
}

}  // namespace

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<std::string> PrivateFolder::Place(const std::string& name) {
  const auto failed = [&](std::string text) { return Error{ErrorCode::kBadInput, name, std::move(text), ""}; };
  const std::string safe = SafeName(name);
  if (safe.empty()) return failed("is no name of a file");
  std::error_code code;
  if (folder_.empty()) {
    std::string made = (fs::temp_directory_path(code) / "vramplan-XXXXXX").string();
    if (code || mkdtemp(made.data()) == nullptr) return failed("there is no place for a copy: TMPDIR names one");
    folder_ = made;
  }
  const fs::path own = fs::path(folder_) / std::to_string(++placed_);
  if (!fs::create_directory(own, code)) return failed("there is no place for a copy: " + code.message());
  return (own / safe).string();
}

}  // namespace vramplan
