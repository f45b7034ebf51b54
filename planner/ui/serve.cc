// HttpListener: one thread that waits for all connections at once, so that one that says nothing keeps nobody waiting. A
// question is answered in a process of its own, so that one that takes long keeps nobody waiting either.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include "planner/ui/http.h"

namespace vramplan {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMostConnections = 64;
constexpr auto kIdle = std::chrono::seconds(30);

// The processes that answer.
class Answering {
 public:
  ~Answering() {
    for (const pid_t one : processes_) kill(one, SIGTERM);
    for (const pid_t one : processes_) waitpid(one, nullptr, 0);
  }
  void Add(pid_t one) { processes_.push_back(one); }
  void ForgetThoseThatEnded() {
    std::erase_if(processes_, [](pid_t one) { return waitpid(one, nullptr, WNOHANG) != 0; });
  }

 private:
  std::vector<pid_t> processes_;
};

// One that talks to us, until it is answered.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {
    const timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  ~Connection() {
    if (file_ >= 0) close(file_);
    close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  int socket() const { return socket_; }
  bool idle() const { return Clock::now() - last_ > kIdle; }

  // What has come. False: it is over here.
  bool Read(const HttpDesk& desk, Answering* answering) {
    char buffer[size_t{1} << 16];
    const ssize_t count = recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    last_ = Clock::now();
    std::string_view came(buffer, static_cast<size_t>(count));
    if (!head_) {
      text_ += came;
      head_ = ReadHead(text_);
      if (!head_) return true;
      if (head_->refused != 0) return Reply({head_->refused, "text/plain; charset=utf-8", "not a request\n"});
      if (!Admit(desk)) return false;
      came = text_;
      came.remove_prefix(head_->size);
    }
    if (!Take(came)) return Reply({507, "text/plain; charset=utf-8", "it cannot be stored: " + reason_ + "\n"});
    return left_ > 0 || Answer(desk, answering);
  }

 private:
  // False, for it is over here.
  bool Answer(const HttpDesk& desk, Answering* answering) const {
    const pid_t process = desk.changes(head_->request) ? -1 : fork();
    if (process > 0) {
      answering->Add(process);
      return false;
    }
    Reply(desk.answer(head_->request));
    if (process == 0) _exit(0);
    return false;
  }

  // False: it was refused.
  bool Admit(const HttpDesk& desk) {
    const HttpDesk::Admission admission = desk.admit(head_->request);
    if (admission.refusal) return Reply(*admission.refusal);
    left_ = head_->body;
    if (left_ > admission.most)
      return Reply({413, "text/plain; charset=utf-8", "more than " + std::to_string(admission.most) + " bytes\n"});
    if (admission.file.empty()) return true;
    head_->request.file = admission.file;
    file_ = open(admission.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    reason_ = std::strerror(errno);
    return true;
  }

  bool Take(std::string_view came) {
    came = came.substr(0, static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(came.size()))));
    left_ -= static_cast<int64_t>(came.size());
    if (head_->request.file.empty()) {
      head_->request.body += came;
      return true;
    }
    while (file_ >= 0 && !came.empty()) {
      const ssize_t count = write(file_, came.data(), came.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        reason_ = std::strerror(errno);
        return false;
      }
      came.remove_prefix(static_cast<size_t>(count));
    }
    return file_ >= 0;
  }

  // False, for it is the end.
  bool Reply(const HttpReply& reply) const {
    const std::string text = PrintReply(reply);
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t count = send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      rest.remove_prefix(static_cast<size_t>(count));
    }
    // What it still sends is read, or closing would throw the reply away (RFC 9112, 9.6).
    shutdown(socket_, SHUT_WR);
    char unread[4096];
    while (recv(socket_, unread, sizeof unread, MSG_DONTWAIT) > 0) {
    }
    return false;
  }

  int socket_, file_ = -1;
  std::string text_, reason_;
  std::optional<HttpHead> head_;
  int64_t left_ = 0;
  Clock::time_point last_ = Clock::now();
};

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

Result<HttpListener> HttpListener::On(int port) {
  HttpListener listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), port);
  const int yes = 1;
  setsockopt(listener.socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = Loopback(port);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.socket_, generic, size) != 0 || listen(listener.socket_, SOMAXCONN) != 0 ||
      getsockname(listener.socket_, generic, &size) != 0) {
    return Error{ErrorCode::kBadInput, "port " + std::to_string(port),
                 "cannot be used: " + std::string(std::strerror(errno)), "leave out --port to use a free one"};
  }
  listener.port_ = ntohs(address.sin_port);
  return listener;
}

HttpListener::~HttpListener() {
  if (socket_ >= 0) close(socket_);
}

void HttpListener::Serve(const HttpDesk& desk, int signals) {
  std::vector<std::unique_ptr<Connection>> connections;
  Answering answering;
  while (true) {
    std::vector<pollfd> waiting = {{signals, POLLIN, 0}, {socket_, POLLIN, 0}};
    for (const auto& connection : connections) waiting.push_back({connection->socket(), POLLIN, 0});
    constexpr int kLookAfterIdle = 5000;
    if (poll(waiting.data(), waiting.size(), kLookAfterIdle) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) return;
    for (size_t i = connections.size(); i-- > 0;) {
      answering_ = connections[i]->socket();
      const bool over = waiting[i + 2].revents != 0 ? !connections[i]->Read(desk, &answering) : connections[i]->idle();
      if (over) connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i));
    }
    answering_ = -1;
    answering.ForgetThoseThatEnded();
    if (waiting[1].revents == 0) continue;
    const int came = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (came < 0) continue;
    if (connections.size() >= kMostConnections) connections.erase(connections.begin());
    connections.push_back(std::make_unique<Connection>(came));
  }
}

}  // namespace vramplan
