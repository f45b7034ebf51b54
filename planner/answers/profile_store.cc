#include "planner/answers/profile_store.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "graph/base/environment.h"
#include "planner/report/json/profile_json.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBelow = "/vramplan/profiles";

std::string UserFolder() {
  const std::string data = EnvironmentVariable("XDG_DATA_HOME");
  if (data.starts_with('/')) return data + std::string(kBelow);
  const std::string home = EnvironmentVariable("HOME");
  return home.starts_with('/') ? home + "/.local/share" + std::string(kBelow) : "";
}

std::string StoredName(const CardFacts& card) {
  std::string name = card.uuid.empty() ? card.name : card.uuid;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '-';
  }
  return name + ".json";
}

bool OfSameKind(const Profile& profile, const CardFacts& card) {
  return profile.name == card.name && profile.capability == Capability{card.capability_major, card.capability_minor} &&
         profile.multiprocessors == card.multiprocessors;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> ProfileFolders() {
  std::vector<std::string> folders;
  if (std::string user = UserFolder(); !user.empty()) folders.push_back(std::move(user));
  std::string shared = EnvironmentVariable("XDG_DATA_DIRS");
  if (shared.empty()) shared = "/usr/local/share:/usr/share";
  for (size_t at = 0; at <= shared.size();) {
    const size_t end = std::min(shared.find(':', at), shared.size());
    std::string folder = shared.substr(at, end - at);
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (folder.starts_with('/')) folders.push_back(folder + std::string(kBelow));
    at = end + 1;
  }
  return folders;
}

Result<std::string> StorePath(const CardFacts& card) {
  const std::string folder = UserFolder();
  if (!folder.empty()) return folder + "/" + StoredName(card);
  return Error{ErrorCode::kUsage, "calibrate", "neither XDG_DATA_HOME nor HOME says where profiles are kept",
               "add --out FILE"};
}

std::optional<StoredProfile> FindStoredProfile(const CardFacts& card, const std::vector<std::string>& folders,
                                               Notes* notes) {
  const auto read = [&](const std::string& file) -> std::optional<StoredProfile> {
    Result<Profile> profile = ReadProfile(file);
    if (profile.ok()) return StoredProfile{file, *std::move(profile)};
    notes->Add({"stored-profile", Severity::kWarning, profile.error().subject,
                profile.error().text + "; the catalogue's values are used", "run vramplan calibrate again"});
    return std::nullopt;
  };
  for (const std::string& folder : folders) {
    const std::string file = folder + "/" + StoredName(card);
    std::error_code failed;
    if (!fs::exists(file, failed)) continue;
    if (std::optional<StoredProfile> own = read(file); own && OfSameKind(own->profile, card)) return own;
  }
  for (const std::string& folder : folders) {
    for (const std::string& file : FilesIn(folder)) {
      Result<Profile> profile = ReadProfile(file);
      if (profile.ok() && OfSameKind(*profile, card)) return StoredProfile{file, *std::move(profile)};
    }
  }
  return std::nullopt;
}

std::string Today() {
  std::time_t now = std::time(nullptr);
  if (const char* given = std::getenv("SOURCE_DATE_EPOCH")) {
    const std::string_view text = given;
    int64_t seconds = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (status == std::errc() && end == text.data() + text.size()) now = static_cast<std::time_t>(seconds);
  }
  std::tm day{};
  char text[32];
  if (gmtime_r(&now, &day) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d", &day) == 0) return "";
  return text;
}

}  // namespace vramplan
