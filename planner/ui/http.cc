#include "planner/ui/http.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace vramplan {
namespace {

constexpr size_t kMostHead = 16384;

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Error";
  }
}

bool ReadHeaders(std::string_view lines, HttpRequest* request) {
  while (!lines.empty()) {
    const size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 2);
    const size_t colon = line.find(':');
    if (colon == line.npos || colon == 0 || line.find_first_of(" \t") < colon) return false;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // Two of one name: which one counts is not said.
    if (!request->headers.emplace(std::move(name), Trimmed(line.substr(colon + 1))).second) return false;
  }
  return true;
}

// False: the length of the body is not given as a number.
bool ReadLength(const HttpRequest& request, int64_t* length) {
  if (!request.Header("transfer-encoding").empty()) return false;
  const std::string_view text = request.Header("content-length");
  if (text.empty()) return request.method == "GET";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *length);
  return error == std::errc() && end == text.data() + text.size() && *length >= 0;
}

}  // namespace

std::string_view HttpRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

std::string PrintReply(const HttpReply& reply) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " " + ReasonOf(reply.status) + "\r\n";
  text += "Content-Type: " + reply.type + "\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n";
  // Nothing is loaded from elsewhere, shown inside another page, kept, or told to another site.
  text +=
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src "
      "'self' "
      "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n"
      "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n\r\n";
  return text + reply.body;
}

std::optional<HttpHead> ReadHead(std::string_view text) {
  HttpHead head;
  const auto refused = [&](int status) {
    head.refused = status;
    return head;
  };
  const size_t end = text.find("\r\n\r\n");
  if (end > kMostHead) {  // also where there is none
    if (text.size() > kMostHead) return refused(431);
    return std::nullopt;
  }
  head.size = end + 4;
  const std::string_view lines = text.substr(0, end);
  const size_t first = lines.find("\r\n");
  const std::string_view line = lines.substr(0, first);
  const size_t method = line.find(' '), target = line.rfind(' ');
  if (method == line.npos || target == method || line.substr(target) != " HTTP/1.1") return refused(400);
  head.request.method = line.substr(0, method);
  head.request.target = line.substr(method + 1, target - method - 1);
  const std::string_view rest = first == lines.npos ? std::string_view() : lines.substr(first + 2);
  if (!ReadHeaders(rest, &head.request) || !ReadLength(head.request, &head.body)) return refused(400);
  return head;
}

}  // namespace vramplan
