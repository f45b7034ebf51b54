// StartedCommand: a command of the user's, run by the shell; and the signals that end a watch.
//
// What the command writes to stdout goes to stderr, so that stdout stays the answer. Signals that we get are passed on
// to it; those of the terminal it gets by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/base/result.h"

namespace vramplan {

class StartedCommand {
 public:
  // Error: no process can be made.
  static Result<StartedCommand> Start(const std::string& command);
  int64_t pid() const { return pid_; }
  struct End {
    std::optional<int> exit_code, signal;  // one of the two
  };
  // Waits for it.
  End Wait() const;

 private:
  explicit StartedCommand(int64_t pid) : pid_(pid) {}
  int64_t pid_;
};

// While it lives, SIGINT, SIGTERM and SIGHUP do not end this process.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  // From now on they go to this process.
  void PassTo(int64_t pid);
  bool came() const;
};

}  // namespace vramplan
