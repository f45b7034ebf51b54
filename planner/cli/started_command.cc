#include "planner/cli/started_command.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace vramplan {
namespace {

constexpr std::array kHeld = {SIGINT, SIGTERM, SIGHUP};

std::atomic<pid_t> g_passed_to = 0;
std::atomic<bool> g_came = false;
std::array<struct sigaction, kHeld.size()> g_before;

void Pass(int signal, siginfo_t* from, void*) {
  const int error = errno;
  g_came = true;
  const pid_t to = g_passed_to;
  // The terminal sends them to every process in front, the command included.
  const bool of_terminal = from != nullptr && from->si_code == SI_KERNEL;
  if (to > 0 && !of_terminal) kill(to, signal);
  errno = error;
}

}  // namespace

Result<StartedCommand> StartedCommand::Start(const std::string& command) {
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorCode::kBadInput, "--command", "no process can be made for it", ""};
  if (pid == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    for (const int signal : kHeld) std::signal(signal, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    constexpr int kNotFound = 127;
    _exit(kNotFound);
  }
  return StartedCommand(pid);
}

StartedCommand::End StartedCommand::Wait() const {
  int status = 0;
  while (waitpid(static_cast<pid_t>(pid_), &status, 0) < 0) {
    if (errno != EINTR) return {};
  }
  End end;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

SignalsHeld::SignalsHeld() {
  g_came = false;
  g_passed_to = 0;
  struct sigaction action = {};
  action.sa_sigaction = Pass;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kHeld.size(); ++i) sigaction(kHeld[i], &action, &g_before[i]);
}

SignalsHeld::~SignalsHeld() {
  for (size_t i = 0; i < kHeld.size(); ++i) sigaction(kHeld[i], &g_before[i], nullptr);
  g_passed_to = 0;
}

void SignalsHeld::PassTo(int64_t pid) { g_passed_to = static_cast<pid_t>(pid); }
bool SignalsHeld::came() const { return g_came; }

}  // namespace vramplan
