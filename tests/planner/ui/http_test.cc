#include "planner/ui/http.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

namespace vramplan::testing {
namespace {

TEST_CASE("http: a head that is read") {
  const std::string text = "POST /a/answer HTTP/1.1\r\nHost:  127.0.0.1:80 \r\nContent-Length: 2\r\n\r\n{}";
  for (size_t size = 0; size < text.size() - 2; ++size) CHECK(!ReadHead(std::string_view(text).substr(0, size)));
  const std::optional<HttpHead> head = ReadHead(text);
  REQUIRE(head);
  CHECK(head->refused == 0);
  CHECK(head->request.method == "POST");
  CHECK(head->request.target == "/a/answer");
  CHECK(head->request.Header("host") == "127.0.0.1:80");
  CHECK(head->request.Header("origin") == "");
  CHECK(head->size == text.size() - 2);
  CHECK(head->body == 2);
}

TEST_CASE("http: what is no request") {
  const struct {
    const char* text;
    int status;
  } rows[] = {
      {"GET / HTTP/1.1\r\n\r\n", 0},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\n\r\n", 400},
      {"nonsense\r\n\r\n", 400},
      {"\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const std::optional<HttpHead> head = ReadHead(row.text);
    REQUIRE(head);
    CHECK(head->refused == row.status);
  }
  CHECK(ReadHead("GET / HTTP/1.1\r\nA: " + std::string(20000, 'a'))->refused == 431);
}

TEST_CASE("http: a reply shuts other pages out") {
  const std::string reply = PrintReply({403, "text/plain", "no"});
  CHECK(reply.starts_with("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"));
  for (const char* header : {"default-src 'none'", "frame-ancestors 'none'", "Referrer-Policy: no-referrer\r\n",
                             "Cross-Origin-Resource-Policy: same-origin\r\n", "Cache-Control: no-store\r\n"})
    CHECK(reply.find(header) != std::string::npos);
  CHECK(reply.ends_with("\r\n\r\nno"));
}

std::string Exchanged(int port, const std::string& text) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::string came;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t count; (count = recv(connection, buffer, sizeof buffer, 0)) > 0;)
      came.append(buffer, static_cast<size_t>(count));
  }
  close(connection);
  return came;
}

TEST_CASE("http: one that says nothing or is answered slowly keeps nobody waiting, and a signal ends it") {
  Result<HttpListener> listener = HttpListener::On(0);
  REQUIRE(listener.ok());
  CHECK(!HttpListener::On(listener->port()).ok());
  const int ends = eventfd(0, EFD_CLOEXEC);
  const HttpDesk desk{[](const HttpRequest& head) {
                        return head.target == "/no" ? HttpDesk::Admission{HttpReply{403, "text/plain", "no"}, 0, ""}
                                                    : HttpDesk::Admission{std::nullopt, 4, ""};
                      },
                      [](const HttpRequest& request) {
                        if (request.target == "/slow") {
                          signal(SIGTERM, SIG_DFL);  // doctest's would speak
                          pause();
                        }
                        return HttpReply{200, "text/plain", "<" + request.body + ">"};
                      },
                      [](const HttpRequest& request) { return request.target == "/open"; }};
  std::thread server([&] { listener->Serve(desk, ends); });
  const int silent = socket(AF_INET, SOCK_STREAM, 0), slow = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(listener->port()));
  CHECK(connect(silent, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const std::string never = "GET /slow HTTP/1.1\r\n\r\n";
  CHECK(connect(slow, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(send(slow, never.data(), never.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(never.size()));
  const auto ask = [&](const std::string& text) { return Exchanged(listener->port(), text); };
  CHECK(ask("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcdef").ends_with("\r\n\r\n<abcd>"));
  CHECK(ask("POST /open HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd").ends_with("\r\n\r\n<abcd>"));
  CHECK(ask("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde").starts_with("HTTP/1.1 413 "));
  CHECK(ask("POST /no HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde").starts_with("HTTP/1.1 403 "));
  CHECK(ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  const uint64_t one = 1;
  CHECK(write(ends, &one, sizeof one) == sizeof one);
  server.join();
  char left = 0;
  CHECK(recv(slow, &left, 1, 0) <= 0);  // nobody is left that could answer
  close(silent);
  close(slow);
  close(ends);
}

}  // namespace
}  // namespace vramplan::testing
