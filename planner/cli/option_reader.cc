// The options of the verbs that run something: a script, a card.
#include "planner/cli/option_reader.h"

#include "planner/cli/read_size.h"
#include "planner/cli/typed_values.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

constexpr double kMostSeconds = 86400;

}  // namespace

Result<double> ParseSeconds(const std::string& text) {
  Result<double> seconds = ReadReal("--seconds", text);
  if (!seconds.ok() || (*seconds > 0 && *seconds <= kMostSeconds)) return seconds;
  return Wrong("--seconds", InQuotes(text) + " is not a number of seconds above 0 and up to 86400", "type --seconds 1");
}

void ReadScript(OptionReader* reader, const TypedOptions& typed, Options* options) {
  reader->Read("--steps", &options->steps, [](const std::string& t) -> Result<int> {
    constexpr int64_t kMost = 1000000;
    const std::optional<int64_t> steps = ReadInteger(t);
    if (steps && *steps >= 1 && *steps <= kMost) return static_cast<int>(*steps);
    return Wrong("--steps", InQuotes(t) + " is not a number of steps from 1 to a million", "type --steps 3");
  });
  options->until_exit = reader->Text("--until-exit") != nullptr;
  reader->Read("--seconds", &options->watch_seconds, ParseSeconds);
  if (options->until_exit && reader->Text("--steps") != nullptr)
    reader->Fail(Wrong("--until-exit", "does not go with --steps", "leave one of them out"));
  const auto vary = typed.find("--vary");
  Result<ScriptWishes> wishes = ReadScriptWishes(reader->Text("--largest"), reader->Text("--largest-in"),
                                                 vary == typed.end() ? std::vector<std::string>() : vary->second);
  if (!wishes.ok()) {
    reader->Fail(wishes.error());
    return;
  }
  options->wishes_of_script = *std::move(wishes);
  const Result<std::optional<ScriptRanks>> ranks =
      ReadScriptRanks(reader->Text("--gpus"), reader->Text("--nodes"), reader->Text("--rank"),
                      reader->Text("--all-ranks") != nullptr, reader->Text("--one-process") != nullptr);
  if (!ranks.ok()) {
    reader->Fail(ranks.error());
    return;
  }
  options->wishes_of_script.ranks = *ranks;
  options->wishes_of_script.write_back = reader->Text("--write-back") != nullptr;
  if (options->wishes_of_script.write_back && (!options->wishes_of_script.largest_in || vary != typed.end()))
    reader->Fail(Wrong("--write-back", "goes with --largest-in, and without --vary",
                       "type --largest batch=1:512 --largest-in config.yaml:data.batch_size --write-back"));
  options->wishes_of_script.tries = reader->Text("--try") != nullptr;
  if (const std::string* values = reader->Text("--values")) {
    options->wishes_of_script.values_on_host = *values == "host";
    if (*values != "host" && *values != "zeros")
      reader->Fail(Wrong("--values", InQuotes(*values) + " is not one of zeros or host", "type --values host"));
  }
  options->wishes_of_script.real = reader->Text("--real") != nullptr;
  const bool several = reader->Text("--vary") != nullptr || reader->Text("--largest") != nullptr ||
                       (*ranks && (*ranks)->gpus.size() > 1);
  if (options->wishes_of_script.tries && several)
    reader->Fail(Wrong("--try", "is about one run, and --vary, --largest and a list of --gpus make several",
                       "leave one of them out"));
  if (options->wishes_of_script.real && (several || options->wishes_of_script.tries || *ranks))
    reader->Fail(Wrong("--real", "compares one run on one card, and --vary, --largest, --try and --gpus are about more",
                       "leave them out"));
  if (const std::string* record = reader->Text("--record")) {
    options->record = *record;
    if (reader->Text("--vary") != nullptr)
      reader->Fail(Wrong("--record", "is about one run, and --vary makes several", "leave one of them out"));
    if (*ranks && (*ranks)->gpus.size() > 1)
      reader->Fail(Wrong("--record", "is about one run, and --gpus makes several", "name one number of cards"));
  }
  if (options->wishes_of_script.largest && reader->Text("--gpu") == nullptr && !options->gpu_memory) {
    reader->Fail(Wrong("--largest", "is about a card, and none is named", "add --gpu t4, or --gpu-memory 24GiB"));
  }
}

void ReadOnCard(OptionReader* reader, Verb verb, const std::string& positional, Options* options) {
  if (verb == Verb::kValidate) {
    reader->Read("--max-bytes", &options->max_bytes,
                 [&](const std::string& t) { return ReadSize("--max-bytes", t, &options->notes); });
    options->dry_run = reader->Text("--dry-run") != nullptr;
  }
  if (verb != Verb::kWatch) return;
  if (const std::string* command = reader->Text("--command")) options->command = *command;
  reader->Read("--interval", &options->interval, [](const std::string& t) -> Result<double> {
    constexpr double kShortest = 0.001, kLongest = 60;
    const Result<double> seconds = ReadReal("--interval", t);
    if (!seconds.ok() || (*seconds >= kShortest && *seconds <= kLongest)) return seconds;
    return Wrong("--interval", InQuotes(t) + " is not a number of seconds from 0.001 to 60", "type --interval 0.1");
  });
  reader->Read("--seconds", &options->watch_seconds, ParseSeconds);
  if (positional.empty() == options->command.empty()) {
    return reader->Fail(Wrong("watch",
                              positional.empty() ? "no process is given" : "both a process and a command are given",
                              "type vramplan watch PID, or vramplan watch --command \"python train.py\""));
  }
  if (positional.empty()) return;
  const std::optional<int64_t> pid = ReadInteger(positional);
  if (pid && *pid >= 1) {
    options->pid = *pid;
  } else {
    reader->Fail(Wrong(positional, "is not the number of a process",
                       "nvidia-smi shows the numbers; to start a command, add --command"));
  }
}

}  // namespace vramplan
