// Http: as much of HTTP/1.1 (RFC 9112) as a browser on this machine needs of a page: a request and its reply, then the
// connection is closed. Debian's cpp-httplib is a shared library that brings OpenSSL, which a wheel cannot; and this is one
// thread, from which a question can be forked.
//
//   ReadHead("POST /answer HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 2\r\n\r\n{}")
//       {"POST", "/answer", {{"host", "127.0.0.1:80"}, {"content-length", "2"}}}, 69 bytes, of which the body is not one
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace vramplan {

struct HttpRequest {
  std::string method, target;                  // the target as it was sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body, file;                      // the body, or where it lies

  std::string_view Header(const std::string& name) const;  // empty: not sent
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
};
std::string PrintReply(const HttpReply& reply);

// What stands before the body.
struct HttpHead {
  HttpRequest request;
  size_t size = 0;   // with the empty line
  int64_t body = 0;  // bytes that follow
  int refused = 0;   // the status of the reply to what is no request that we read; 0: it is one
};
// Nothing: more has to come.
std::optional<HttpHead> ReadHead(std::string_view text);

// Who answers.
struct HttpDesk {
  struct Admission {
    std::optional<HttpReply> refusal;  // its body is not read
    int64_t most = 0;                  // bytes of a body
    std::string file;                  // into which the body goes; empty: into the request
  };
  std::function<Admission(const HttpRequest& head)> admit;
  std::function<HttpReply(const HttpRequest& request)> answer;
  // Whether the desk is another one after it. All others are answered in processes of their own.
  std::function<bool(const HttpRequest& request)> changes;
};

// A socket on 127.0.0.1, closed at the end. Error: the port is taken.
class HttpListener {
 public:
  static Result<HttpListener> On(int port);  // 0: any that is free
  HttpListener(HttpListener&& other) noexcept : socket_(other.socket_), port_(other.port_) { other.socket_ = -1; }
  HttpListener& operator=(HttpListener&&) = delete;
  ~HttpListener();
  int port() const { return port_; }
  // Until one of `signals`, a descriptor of signalfd, can be read.
  void Serve(const HttpDesk& desk, int signals);
  // The connection that is being answered; -1: none.
  int answering() const { return answering_; }

 private:
  HttpListener(int socket, int port) : socket_(socket), port_(port) {}
  int socket_, port_, answering_ = -1;
};

}  // namespace vramplan
