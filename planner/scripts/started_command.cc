#include "planner/scripts/started_command.h"

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace vramplan {
namespace {

constexpr int kNotFound = 127;  // as the shell says it

constexpr std::array kHeld = {SIGINT, SIGTERM, SIGHUP};

std::atomic<pid_t> g_group = 0;  // 0: none is started
std::atomic<int> g_came = 0;     // the last signal; 0: none
std::array<struct sigaction, kHeld.size()> g_before;

void Pass(int signal) {
  const int error = errno;
  g_came = signal;
  if (const pid_t group = g_group; group > 0) kill(-group, signal);
  errno = error;
}

// Signals that wait as long as it lives.
class Blocked {
 public:
  Blocked() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : kHeld) sigaddset(&signals, signal);
    sigaddset(&signals, SIGTTOU);  // a process in the background gets it when it gives the terminal away
    sigprocmask(SIG_BLOCK, &signals, &before_);
  }
  ~Blocked() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  sigset_t before_;
};

// The terminal of this process; every call does nothing when there is none.
class Terminal {
 public:
  Terminal() : descriptor_(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}
  ~Terminal() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  bool there() const { return descriptor_ >= 0; }
  // Whether this group is the one that reads the keyboard.
  bool IsOf(pid_t group) const { return there() && tcgetpgrp(descriptor_) == group; }
  // From one group to another, if it has it.
  void Hand(pid_t from, pid_t to) const {
    const Blocked blocked;
    if (IsOf(from)) tcsetpgrp(descriptor_, to);
  }

 private:
  int descriptor_;
};

void Follow(pid_t group, int signal) {
  const Terminal terminal;
  if (!terminal.there()) return;  // whoever stopped it will continue it
  const pid_t ours = getpgrp();
  // It may have wanted to read while it was in the background, and be in front by now.
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (!wants_terminal || !terminal.IsOf(ours)) {
    terminal.Hand(group, ours);
    kill(0, SIGTSTP);  // goes on here when the shell continues the job
  }
  terminal.Hand(ours, group);
  kill(-group, SIGCONT);
}

Result<pid_t> Fork(const std::string& subject, const SignalsHeld& signals, const std::function<void()>& become) {
  pid_t pid = 0;
  {
    // A signal that comes in between waits until it can be passed on, or ends the child before it is the command.
    const Blocked blocked;
    if (signals.came())
      return Error{ErrorCode::kBadInput, subject, "a signal came before it was started, so it was not started", ""};
    const pid_t ours = getpgrp();
    pid = fork();
    if (pid < 0)
      return Error{ErrorCode::kBadInput, subject, std::string("no process can be made: ") + std::strerror(errno), ""};
    // By both of them, since either may run first.
    setpgid(pid, pid == 0 ? getpid() : pid);
    Terminal().Hand(ours, pid == 0 ? getpid() : pid);
    if (pid != 0) {
      g_group = pid;
      // A thread of the driver's may have taken one meanwhile, for which there was no group yet.
      if (const int signal = g_came; signal != 0) kill(-pid, signal);
    } else {
      for (size_t i = 0; i < kHeld.size(); ++i) {
        if (g_before[i].sa_handler != SIG_IGN) std::signal(kHeld[i], SIG_DFL);
      }
    }
  }
  if (pid != 0) return pid;
  dup2(STDERR_FILENO, STDOUT_FILENO);
  become();
  _exit(kNotFound);
}

}  // namespace

Result<StartedCommand> StartedCommand::Start(const std::string& command, const SignalsHeld& signals) {
  const Result<pid_t> pid =
      Fork("--command", signals, [&] { execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr)); });
  if (!pid.ok()) return pid.error();
  return StartedCommand(*pid);
}

Result<StartedCommand> StartedCommand::Start(const std::vector<std::string>& words, const Environment& environment,
                                             const SignalsHeld& signals) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const Result<pid_t> pid = Fork(words.front(), signals, [&] {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(arguments.front(), arguments.data());
  });
  if (!pid.ok()) return pid.error();
  return StartedCommand(*pid);
}

void StartedCommand::FollowStop() const {
  siginfo_t stop = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &stop, WSTOPPED | WNOHANG) != 0 || stop.si_pid == 0) return;
  Follow(static_cast<pid_t>(pid_), stop.si_status);
}

StartedCommand::End StartedCommand::Wait() const {
  const pid_t pid = static_cast<pid_t>(pid_);
  int status = 0;
  for (bool over = false; !over;) {
    if (waitpid(pid, &status, WUNTRACED) < 0) {
      if (errno != EINTR) return {};
    } else if (WIFSTOPPED(status)) {
      Follow(pid, WSTOPSIG(status));
    } else {
      over = true;
    }
  }
  g_group = 0;
  Terminal().Hand(pid, getpgrp());
  End end;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

SignalsHeld::SignalsHeld() {
  g_came = 0;
  g_group = 0;
  struct sigaction action = {};
  action.sa_handler = Pass;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kHeld.size(); ++i) {
    sigaction(kHeld[i], nullptr, &g_before[i]);
    if (g_before[i].sa_handler != SIG_IGN) sigaction(kHeld[i], &action, nullptr);
  }
}

SignalsHeld::~SignalsHeld() {
  for (size_t i = 0; i < kHeld.size(); ++i) sigaction(kHeld[i], &g_before[i], nullptr);
  g_group = 0;
}

bool SignalsHeld::came() const { return g_came != 0; }

}  // namespace vramplan
