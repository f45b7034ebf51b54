// Options about what runs: a script, a process, a search on this machine.
#include <algorithm>
#include <string>

#include "planner/cli/option_row.h"
#include "planner/cli/settings.h"
#include "planner/cli/typed_script.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): the columns of the table below
using enum OptionGroup;

Result<double> ReadInterval(const Typed& typed) {
  constexpr double kShortest = 0.001, kLongest = 60;
  const Result<double> seconds = RealOf(typed);
  if (!seconds.ok() || (*seconds >= kShortest && *seconds <= kLongest)) return seconds;
  return Wrong(typed.flag, InQuotes(typed.text()) + " is not a number of seconds from 0.001 to 60",
               "type --interval 0.1");
}

constexpr OptionRow kRunRows[] = {
    OptionRow{"--command", "TEXT", "start this shell command and watch it, instead of a PID; its stdout goes to stderr",
              Of({kWatch}), kScript, Text<&Options::command>},
    OptionRow{"--interval", "S", "seconds between two samples [0.1]", Of({kWatch}), kScript,
              Into<&Options::interval, ReadInterval>},
    OptionRow{"--seconds", "S", "watch for at most S seconds [until the process ends, or Ctrl-C]", Of({kWatch}),
              kScript, Into<&Options::watch_seconds, ReadSeconds>},
    OptionRow{"--seconds", "S", "end the script after S seconds, whatever it has done [no limit]", Of({kRun}), kScript,
              Into<&Script::most_seconds, ReadSeconds>},
    OptionRow{"--seconds", "S", "how long to look for a cheaper schedule [1]", Of({kSolve}), kScript,
              Into<&RematWishes::seconds, ReadSeconds>},
    OptionRow{"--save", "", "store the run's context in the card's profile", Of({kWatch}), kScript,
              Flag<&Options::save>},
    OptionRow{"--save", "",
              "store what the message says about the card (usable bytes, what lies outside PyTorch's allocator) as a "
              "profile, which --gpu auto and --profile use; with --gpu, which names the card",
              Of({kExplain}), kScript, Flag<&Options::save>},
    OptionRow{"--steps", "K", "end the script after K optimizer steps [3]", Of({kRun}), kScript,
              Into<&Script::steps, [](const Typed& t) { return Whole(t, 1, kMostSteps, "3"); }>}
        .First(),
    OptionRow{"--until-exit", "", "do not end the script early", Of({kRun}), kScript, Flag<&Script::until_exit>}
        .First(),
    OptionRow{"--largest", "NAME=LO:HI",
              "find the largest number in this range with which the script fits the card. {NAME} in the command stands "
              "for the number; without {NAME}, the environment variable NAME holds it",
              Of({kRun}), kSearch, Into<&ScriptWishes::largest, ReadRange>}
        .First(),
    OptionRow{"--largest-in", "FILE:KEY",
              "put the number of --largest into this key of a yaml or json file that the command names, such as "
              "config.yaml:data.batch_size; the command is given a copy of the file",
              Of({kRun}), kSearch, Into<&ScriptWishes::largest_in, ReadKey>},
    OptionRow{"--write-back", "",
              "with --largest-in: write the largest number into FILE, and change nothing else in it", Of({kRun}),
              kSearch, Flag<&ScriptWishes::write_back>},
    OptionRow{"--vary", "NAME=A,B,...",
              "one run for each of these values of {NAME}, as a table; repeatable: every combination", Of({kRun}),
              kSearch, Into<&ScriptWishes::vary, ReadChoices>}
        .Repeats(),
    OptionRow{"--gpus", "N",
              "run the script as one rank of N. It runs alone, and the other ranks are assumed to send what it sends. "
              "{gpus} in the command stands for N; N,N,... makes a table",
              Of({kRun}), kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--nodes", "M", "machines that share the cards of --gpus [1]", Of({kRun}), kScript,
              Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--rank", "R", "which rank runs [0]", Of({kRun}), kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--all-ranks", "", "with --gpus, and torchrun or a similar launcher in the command: run every rank",
              Of({kRun}), kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--values", "zeros|host",
              "what a read from the card gives: zeros; or host: real values for tensors up to 1 MiB that depend only "
              "on known values, computed on the host [zeros]",
              Of({kRun}), kScript,
              Into<&ScriptWishes::values_on_host, [](const Typed& t) { return IsSecond(t, "zeros", "host"); }>},
    OptionRow{"--one-process", "",
              "with --gpus: one process uses all of the cards (nn.DataParallel, device_map); there are no ranks",
              Of({kRun}), kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--try", "",
              "run the script again with each change that may lower the peak: expandable segments, optimizers that "
              "update one parameter after the other, checkpointed layers, 8-bit Adam and others; the answer says what "
              "each really changed",
              Of({kRun}), kSearch, Flag<&ScriptWishes::tries>}
        .First(),
    OptionRow{"--real", "",
              "run the script on this machine's card too, with the same hook, and print both side by side; without "
              "--gpu the pretend card is like the real one",
              Of({kRun}), kScript, Flag<&ScriptWishes::real>},
    OptionRow{"--record", "FILE",
              "write every request of the run to FILE, with its phase, module and line, for fit, plan, replay and "
              "trace --compare; .gz: gzipped",
              Of({kRun}), kScript, Text<&Options::record>}
        .First(),
    OptionRow{"--no-context", "", "only look: create no context, and do not measure what one takes", Of({kProbe}),
              kScript, Flag<&Options::no_context>},
};

}  // namespace

std::span<const OptionRow> RunOptions() { return kRunRows; }

}  // namespace vramplan
