// What the card saw, written when the program ends: into VRAMPLAN_RECORDING/PID.card, whole or not at all. The hook
// asks for it earlier, where it ends the program itself. Read by pretend/recording/card_log.h.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "pretend/library/abi.h"
#include "pretend/library/cudnn_version.h"
#include "pretend/library/uncovered.h"

namespace {

std::string Text() {
  const pretend::Process& process = pretend::Process::This();
  std::string text = "vramplan.card/1\n";
  const auto line = [&](const std::string& word, const std::string& value) { text += word + "\t" + value + "\n"; };
  line("cuda", std::to_string(pretend::CudaVersion()));
  for (int i = 0; i < process.cards(); ++i) {
    const pretend::Process::Counts counts = process.CountsOf(i);
    line("card", std::to_string(i) + "\t" + std::to_string(process.Total(i)) + "\t" + std::to_string(counts.used) +
                     "\t" + std::to_string(counts.peak));
    if (counts.refused.times > 0) {
      line("refused", std::to_string(i) + "\t" + std::to_string(counts.refused.times) + "\t" +
                          std::to_string(counts.refused.largest));
    }
  }
  for (int i = 0; i < pretend::kMostCards; ++i) {
    const pretend::Companions::Peak together = process.Together(i);
    if (together.contexts < 2) continue;
    line("together",
         std::to_string(i) + "\t" + std::to_string(together.bytes) + "\t" + std::to_string(together.contexts));
  }
  if (pretend::CudnnWasUsed()) line("cudnn", "used");
  if (process.managed_peak() > 0) line("managed", std::to_string(process.managed_peak()));
  for (const std::string& name : pretend::CalledOf(pretend::kSized)) line("workspaces", name);
  for (const std::string& name : pretend::CalledOf(pretend::kUncovered)) line("uncovered", name);
  for (const std::string& module : pretend::StaticRuntimes()) line("static-runtime", module);
  return text;
}

}  // namespace

// pretend/hook/sitecustomize.py, before it ends the process without running its end: writes what the card saw.
PRETEND_API void vramplan_pretend_write() {
  const char* const folder = std::getenv("VRAMPLAN_RECORDING");
  if (folder == nullptr || pretend::Process::This().cards() == 0) return;
  const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".card";
  std::FILE* const file = std::fopen((path + ".new").c_str(), "w");
  if (file == nullptr) return;  // the program ends, and nobody waits for it
  const std::string text = Text();
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && whole) std::rename((path + ".new").c_str(), path.c_str());
}

namespace {

// Only processes that used a card or called something have anything to say.
__attribute__((destructor)) void WriteAtEnd() {
  const pretend::Process& process = pretend::Process::This();
  bool used = !pretend::CalledOf(pretend::kUncovered).empty() || !pretend::StaticRuntimes().empty();
  for (int i = 0; i < process.cards(); ++i)
    used = used || process.CountsOf(i).peak > 0 || process.CountsOf(i).refused.times > 0;
  if (used) vramplan_pretend_write();
}

}  // namespace
