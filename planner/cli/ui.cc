// `vramplan ui`: the page's options are those of the command line, and its answers those of the command line.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "graph/architectures/named.h"
#include "planner/cli/ask_apart.h"
#include "planner/cli/lead_on.h"
#include "planner/cli/option_row.h"
#include "planner/cli/verbs.h"
#include "planner/ui/desk.h"

namespace vramplan {
namespace {

// What the page may ask with. None of these names a file.
constexpr std::string_view kOfPage[] = {"--gpu",        "--gpu-memory", "--batch", "--dim",   "--lora",
                                        "--precision",  "--mode",       "--quant", "--image", "--checkpoint",
                                        "--accumulate", "--optimizer",  "--emit"};

std::vector<UiControl> ControlsOfPage() {
  std::vector<UiControl> controls;
  for (const std::string_view flag : kOfPage) {
    UiControl control{.flag = std::string(flag)};
    for (const OptionRow& row : OptionRows()) {
      if (row.flag != flag) continue;
      for (const Verb verb : {Verb::kFit, Verb::kPlan, Verb::kExplain, Verb::kCompare})
        if (TakenBy(row, verb)) control.verbs.emplace_back(Name(verb));
      if (!control.text.empty()) continue;  // the first row is that of fit
      control.argument = row.argument;
      control.text = row.text;
      control.group = kOptionGroups[static_cast<size_t>(row.group)];
      control.repeats = row.repeats;
      if (row.words != nullptr) control.words = row.words();
    }
    controls.push_back(std::move(control));
  }
  return controls;
}

// A mistyped name is said before there is a page.
Status CheckStart(const std::string& file) {
  if (file.empty()) return Done();
  if (std::optional<Error> lead = LeadOn(Verb::kFit, file, "")) return *std::move(lead);
  std::error_code ignored;
  if (NamesModel(file) || std::filesystem::exists(file, ignored)) return Done();
  return Error{ErrorCode::kBadInput, file, "there is no such file", "vramplan models lists the models with names"};
}

}  // namespace

Result<Outcome> RunUi(const Options& options, const Style& /*style*/, Probe* /*machine*/) {
  if (const Status start = CheckStart(options.filter); !start.ok()) return start.error();
  UiOffer offer{.controls = ControlsOfPage(), .file = options.filter};
  for (const KnownModel& model : KnownModels()) offer.names.push_back(model.name);
  // Whichever of these comes, the loop ends and what was opened is removed.
  sigset_t ends, before;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, &before);
  const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
  const Result<std::string> token = NewToken();
  if (!token.ok()) return token.error();
  Result<HttpListener> listener = HttpListener::On(options.port);
  if (!listener.ok()) return listener.error();
  const Asker ask = [&](const std::vector<std::string>& words, const std::string& input) {
    return AskWhileAwaited(words, input, listener->answering(), signals);
  };
  Desk desk(std::move(offer), ask, *token, listener->port());
  std::cout << desk.Address() << std::endl;
  if (isatty(STDOUT_FILENO) != 0) std::cerr << "Open this address in a browser of this machine. Ctrl-C ends it.\n";
  listener->Serve({[&](const HttpRequest& head) { return desk.Admit(head); },
                   [&](const HttpRequest& request) { return desk.Answer(request); },
                   [&](const HttpRequest& request) { return desk.Changes(request); }},
                  signals);
  close(signals);
  return Outcome{};
}

}  // namespace vramplan
