// StartedCommand: a command of the user's, run by the shell or by its words in a process group of its own; and the
// signals that end a watch.
//
// What the command writes to stdout goes to stderr, so that stdout stays the answer. SIGINT, SIGTERM and SIGHUP that we
// get are passed on to every process of its group; a worker that the command started gets them, too. While we are in
// the foreground of a terminal the group is, so that it can read there, and Ctrl-C and Ctrl-Z reach it.
//
//   kill -TERM $(pidof vramplan)      sh, python and its data loaders get SIGTERM; the answer is still printed
//   Ctrl-Z                            the command stops, then we do; fg continues both
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

// While it lives, SIGINT, SIGTERM and SIGHUP do not end this process. One that was ignored before (nohup) stays so.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  bool came() const;
};

class StartedCommand {
 public:
  // `signals` go to it from now on; none is lost in between. Errors: no process can be made; a signal came before.
  static Result<StartedCommand> Start(const std::string& command, const SignalsHeld& signals);
  // Variables that are set beside those of this process.
  using Environment = std::vector<std::pair<std::string, std::string>>;
  // A program, found as a shell finds it, and its arguments. Exit code 127: there is none.
  static Result<StartedCommand> Start(const std::vector<std::string>& words, const Environment& environment,
                                      const SignalsHeld& signals);
  int64_t pid() const { return pid_; }
  struct End {
    std::optional<int> exit_code, signal;  // one of the two
  };
  // Where the command was stopped from the terminal: stops this process, too, and afterwards continues both.
  void FollowStop() const;
  // Waits for it; the terminal is ours again.
  End Wait() const;

 private:
  explicit StartedCommand(int64_t pid) : pid_(pid) {}
  int64_t pid_;
};

}  // namespace vramplan
