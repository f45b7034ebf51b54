#include "graph/architectures/hub.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "graph/base/environment.h"
#include "graph/base/text.h"

extern char** environ;

namespace vramplan {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMost = size_t{4} << 20;  // bytes of an answer

// huggingface_hub/constants.py: HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE, true values of _is_true.
bool IsOffline() {
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    std::string value = EnvironmentVariable(name);
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (IsOneOf(value, {"1", "ON", "YES", "TRUE"})) return true;
  }
  return false;
}

fs::path Home() {
  const std::string home = EnvironmentVariable("HF_HOME");
  return home.empty() ? fs::path(EnvironmentVariable("HOME")) / ".cache/huggingface" : fs::path(home);
}

std::string Token() {
  std::string token = EnvironmentVariable("HF_TOKEN");
  if (!token.empty()) return token;
  const std::string file = EnvironmentVariable("HF_TOKEN_PATH");
  std::ifstream(file.empty() ? Home() / "token" : fs::path(file)) >> token;
  return token;
}

// What curl wrote, after it was given `config` (its -K file) as input; nothing: there is no curl. `exit_code` is its.
std::optional<std::string> Curl(const std::string& config, int* exit_code) {
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return std::nullopt;
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return std::nullopt;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "curl", option = "-K", input = "-";
  std::array<char*, 4> words = {program.data(), option.data(), input.data(), nullptr};
  pid_t pid = 0;
  const bool started = posix_spawnp(&pid, "curl", &actions, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  std::string text;
  if (started) {
    // Shorter than what a pipe holds. A curl that does not read it ends all the same.
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    const bool given = write(in[1], config.data(), config.size()) == static_cast<ssize_t>(config.size());
    sigaction(SIGPIPE, &before, nullptr);
    close(in[1]);
    std::array<char, 4096> part{};
    for (ssize_t count = 0; given && text.size() < kMost && (count = read(out[0], part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<size_t>(count));
    int status = 0;
    close(out[0]);
    waitpid(pid, &status, 0);
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
  }
  close(in[1]);
  close(out[0]);
  return std::nullopt;
}

Error Failure(const std::string& repository, const std::string& endpoint, int exit_code, const std::string& status) {
  if (exit_code != 0) {
    return {ErrorCode::kBadInput, repository,
            "it is in no table and no cache, and " + endpoint + " does not answer (curl: exit code " +
                std::to_string(exit_code) + ")",
            "give the path of its config.json, which is a few kB"};
  }
  if (status == "401" || status == "403") {
    return {ErrorCode::kBadInput, repository,
            "the Hub does not show it (" + status + "): it is gated, private, or not there",
            "ask for access on its page and set HF_TOKEN, or give the path of its config.json"};
  }
  return {ErrorCode::kBadInput, repository, "the Hub has no config.json of it (" + status + ")",
          "type vramplan models for names that are known; a pipeline of diffusers has it in a folder of its own: give "
          "the path of its unet/config.json or transformer/config.json"};
}

}  // namespace

bool EndsAsFile(const std::string& path) {
  static constexpr std::string_view kFiles[] = {".onnx", ".pt2",  ".pt",          ".pth", ".bin", ".json", ".csv",
                                                ".gz",   ".ckpt", ".safetensors", ".txt", ".ort", ".pb",   ".pkl"};
  return std::ranges::any_of(kFiles, [&](std::string_view end) { return path.ends_with(end); });
}

bool IsHubName(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size() || name.find('/', slash + 1) != name.npos)
    return false;
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  std::error_code ignored;
  return std::ranges::all_of(name, plain) && name[0] != '.' && !EndsAsFile(name) &&
         !fs::exists(name.substr(0, slash), ignored);
}

fs::path ConfigIn(const fs::path& folder) {
  std::error_code ignored;
  for (const char* part : {"unet", "transformer"}) {
    if (fs::exists(folder / "config.json", ignored)) break;
    if (fs::exists(folder / part / "config.json", ignored)) return folder / part / "config.json";
  }
  return folder / "config.json";
}

std::optional<fs::path> ConfigInCache(const std::string& repository) {
  const std::string given = EnvironmentVariable("HF_HUB_CACHE");
  const fs::path cache = given.empty() ? Home() / "hub" : fs::path(given);
  std::string folder = "models--" + repository;
  for (size_t slash = folder.find('/'); slash != std::string::npos; slash = folder.find('/'))
    folder.replace(slash, 1, "--");
  std::optional<fs::path> newest;
  fs::file_time_type of_newest;
  std::error_code code;
  for (fs::directory_iterator at(cache / folder / "snapshots", code), end; !code && at != end; at.increment(code)) {
    const fs::path config = ConfigIn(at->path());
    std::error_code missing;
    const fs::file_time_type time = fs::last_write_time(config, missing);
    if (missing || (newest && time <= of_newest)) continue;
    newest = config;
    of_newest = time;
  }
  return newest;
}

Result<std::optional<std::string>> ConfigFromHub(const std::string& repository) {
  static std::map<std::string, Result<std::optional<std::string>>> asked;
  if (const auto known = asked.find(repository); known != asked.end()) return known->second;
  if (IsOffline()) return std::optional<std::string>();
  std::string endpoint = EnvironmentVariable("HF_ENDPOINT");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  std::string config = "url = \"" + endpoint + "/" + repository + "/resolve/main/config.json\"\n" +
                       "silent\nlocation\nconnect-timeout = 5\nmax-time = 15\nwrite-out = \"\\n%{http_code}\"\n";
  if (const std::string token = Token(); !token.empty() && token.find_first_of("\"\\\n") == std::string::npos)
    config += "header = \"authorization: Bearer " + token + "\"\n";
  int exit_code = 0;
  std::optional<std::string> answer = Curl(config, &exit_code);
  if (!answer || exit_code == 127) return std::optional<std::string>();
  const size_t line = answer->rfind('\n');
  const std::string status = line == std::string::npos ? "" : answer->substr(line + 1);
  Result<std::optional<std::string>> result = Failure(repository, endpoint, exit_code, status);
  if (exit_code == 0 && status == "200") result = std::optional<std::string>(answer->substr(0, line));
  asked.emplace(repository, result);
  return result;
}

}  // namespace vramplan
