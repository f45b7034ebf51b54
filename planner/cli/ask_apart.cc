#include "planner/cli/ask_apart.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string_view>

#include "planner/cli/run.h"

namespace vramplan {
namespace {

constexpr int kInternal = 70;

// A file in memory alone: unlike a pipe it never makes a writer wait.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("vramplan", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  bool there() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool Write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }

  std::string Text() const {
    std::string text;
    char buffer[size_t{1} << 16];
    for (off_t at = 0;;) {
      const ssize_t count = pread(descriptor_, buffer, sizeof buffer, at);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(buffer, static_cast<size_t>(count));
      at += count;
    }
  }

 private:
  int descriptor_;
};

[[noreturn]] void Answer(const std::vector<std::string>& words, const MemoryFile& in, const MemoryFile& out,
                         const MemoryFile& err) {
  // A server may block signals that it reads itself; its questions end at Ctrl-C.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(in.descriptor(), STDIN_FILENO);
  dup2(out.descriptor(), STDOUT_FILENO);
  dup2(err.descriptor(), STDERR_FILENO);
  std::vector<const char*> arguments{"vramplan"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const int code = Run(static_cast<int>(arguments.size()), arguments.data());
  std::cout.flush();
  std::cerr.flush();
  _exit(code);
}

// Until the process ends, or is ended because nobody waits for it.
void EndWithAsker(pid_t pid, int connection, int signals) {
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return;  // before Linux 5.3
  pollfd either[] = {{process, POLLIN, 0}, {connection, POLLRDHUP, 0}, {signals, POLLIN, 0}};
  while (poll(either, std::size(either), -1) < 0 && errno == EINTR) {
  }
  if (either[0].revents == 0) kill(pid, SIGKILL);
  close(process);
}

}  // namespace

Asked AskApart(const std::vector<std::string>& words, const std::string& input) {
  return AskWhileAwaited(words, input, -1, -1);
}

Asked AskWhileAwaited(const std::vector<std::string>& words, const std::string& input, int connection, int signals) {
  const MemoryFile in, out, err;
  const auto failed = [](const char* what) {
    return Asked{kInternal, "", std::string("vramplan: ") + what + ": " + std::strerror(errno) + "\n"};
  };
  if (!in.there() || !out.there() || !err.there() || !in.Write(input)) return failed("no memory for an answer");
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return failed("no process can be made");
  if (pid == 0) Answer(words, in, out, err);
  if (connection >= 0) EndWithAsker(pid, connection, signals);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return failed("its process cannot be waited for");
  }
  Asked asked{WIFEXITED(status) ? WEXITSTATUS(status) : kInternal, out.Text(), err.Text()};
  if (WIFSIGNALED(status))
    asked.err += "vramplan: internal error: ended by signal " + std::to_string(WTERMSIG(status)) + "\n";
  return asked;
}

}  // namespace vramplan
