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
    OptionRow{"--command", "TEXT", "start this in the shell instead of naming a process; its stdout goes to stderr",
              Of({kWatch}), kScript, Text<&Options::command>},
    OptionRow{"--interval", "S", "seconds between two samples [0.1]", Of({kWatch}), kScript,
              Into<&Options::interval, ReadInterval>},
    OptionRow{"--seconds", "S", "watch for at most S seconds [until the process ends, or Ctrl-C]", Of({kWatch}),
              kScript, Into<&Options::watch_seconds, ReadSeconds>},
    OptionRow{"--seconds", "S", "end the script after so long, whatever it has done [no limit]", Of({kRun}), kScript,
              Into<&Script::most_seconds, ReadSeconds>},
    OptionRow{"--seconds", "S", "how long to look for a cheaper schedule [1]", Of({kSolve}), kScript,
              Into<&RematWishes::seconds, ReadSeconds>},
    OptionRow{"--save", "", "store the run's context in the card's profile", Of({kWatch}), kScript,
              Flag<&Options::save>},
    OptionRow{"--save", "",
              "store what the message says about the card (usable bytes, what lies outside PyTorch's allocator) as a "
              "profile, which --gpu auto and --profile use; with --gpu, which names the card",
              Of({kExplain}), kScript, Flag<&Options::save>},
    OptionRow{"--steps", "K", "end the script after so many optimizer steps [3]", Of({kRun}), kScript,
              Into<&Script::steps, [](const Typed& t) { return Whole(t, 1, kMostSteps, "3"); }>}
        .First(),
    OptionRow{"--until-exit", "", "let the script end by itself", Of({kRun}), kScript, Flag<&Script::until_exit>}
        .First(),
    OptionRow{"--largest", "NAME=LO:HI",
              "the largest number of this range with which the script runs on the card: {NAME} in the command stands "
              "for it, or, when it is not there, the environment variable NAME",
              Of({kRun}), kSearch, Into<&ScriptWishes::largest, ReadRange>}
        .First(),
    OptionRow{"--largest-in", "FILE:KEY",
              "where the number of --largest stands instead: a key of a yaml or json file that the command names, as "
              "config.yaml:data.batch_size; the command is given a copy",
              Of({kRun}), kSearch, Into<&ScriptWishes::largest_in, ReadKey>},
    OptionRow{"--write-back", "",
              "with --largest-in: write the largest number into FILE, and change nothing else in it", Of({kRun}),
              kSearch, Flag<&ScriptWishes::write_back>},
    OptionRow{"--vary", "NAME=A,B,...",
              "one run for each of these values of {NAME}, as a table; repeatable: each with each", Of({kRun}), kSearch,
              Into<&ScriptWishes::vary, ReadChoices>}
        .Repeats(),
    OptionRow{"--gpus", "N",
              "the script is one rank of so many: it runs alone, and what the other ranks would say is what it says; "
              "{gpus} in the command stands for N; N,N,... makes a table",
              Of({kRun}), kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--nodes", "M", "machines that share the cards of --gpus [1]", Of({kRun}), kScript,
              Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--rank", "R", "which of the ranks [0]", Of({kRun}), kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--all-ranks", "", "with --gpus, and torchrun or its like in the command: all of them run", Of({kRun}),
              kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--values", "zeros|host",
              "what is read from the card: zeros, or what the host computes of tensors up to 1 MiB that follow from "
              "known values alone [zeros]",
              Of({kRun}), kScript,
              Into<&ScriptWishes::values_on_host, [](const Typed& t) { return IsSecond(t, "zeros", "host"); }>},
    OptionRow{"--one-process", "",
              "with --gpus: one process that uses all of the cards (nn.DataParallel, device_map), no ranks", Of({kRun}),
              kScript, Into<&ScriptWishes::ranks, ReadRanks>},
    OptionRow{"--try", "",
              "run it again with each change that may make it smaller: expandable segments, optimizers that update one "
              "parameter after the other, checkpointed layers, 8-bit Adam; the answer says what each really changed",
              Of({kRun}), kSearch, Flag<&ScriptWishes::tries>}
        .First(),
    OptionRow{"--real", "",
              "run it on this machine's card too, with the same hook, and print both beside each other; without --gpu "
              "the pretend card is like that one",
              Of({kRun}), kScript, Flag<&ScriptWishes::real>},
    OptionRow{"--record", "FILE",
              "write every request of the run there, with its phase, module and line, for fit, plan, replay and trace "
              "--compare; .gz: gzipped",
              Of({kRun}), kScript, Text<&Options::record>}
        .First(),
    OptionRow{"--no-context", "", "only look: make no context, and do not measure what one takes", Of({kProbe}),
              kScript, Flag<&Options::no_context>},
};

}  // namespace

std::span<const OptionRow> RunOptions() { return kRunRows; }

}  // namespace vramplan
