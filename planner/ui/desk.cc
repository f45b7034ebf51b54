#include "planner/ui/desk.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "planner/picture/page.h"
#include "planner/picture/parts.h"
#include "planner/record/record.h"
#include "planner/report/writing/quoting.h"

namespace vramplan {
namespace {

constexpr int64_t kMostOfFile = int64_t{4} << 30, kMostOfQuestion = int64_t{8} << 20;
constexpr std::string_view kOpen = "/open/";
constexpr const char* kVerbs[] = {"fit", "plan", "explain", "compare", "inspect"};

HttpReply JsonReply(const Json& json) { return {200, "application/json", PrintCompact(json)}; }

HttpReply Refusal(int status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}

Error Refused(std::string subject, std::string text) {
  return {ErrorCode::kUsage, std::move(subject), std::move(text), ""};
}

// Takes as long wherever they differ.
bool SameSecret(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  unsigned differs = 0;
  for (size_t i = 0; i < secret.size(); ++i) differs |= static_cast<unsigned char>(given[i] ^ secret[i]);
  return differs == 0;
}

// "a%20b" as "a b".
std::string Decoded(std::string_view text) {
  const auto digit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 0x20) - 'a' + 10;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    decoded += escaped ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escaped) i += 2;
  }
  return decoded;
}

// Which questions there are about it. `otherwise`: where its name does not say.
std::string KindOf(const std::string& path, const char* otherwise) {
  const auto ends = [&](std::initializer_list<const char*> some) {
    return std::ranges::any_of(some, [&](const char* one) { return path.ends_with(one); });
  };
  if (IsRecord(path)) return "record";
  if (ends({".pickle", ".pkl"})) return "snapshot";
  if (ends({".onnx", ".pt2", ".json"})) return "model";
  return ends({".log", ".txt"}) ? "message" : otherwise;
}

// The options of a question, as pairs of flag and value.
Result<std::vector<std::string>> OptionsIn(const Json* given, std::string_view verb,
                                           const std::vector<UiControl>& controls) {
  std::vector<std::string> words;
  const auto* items = given == nullptr ? nullptr : std::get_if<Json::Items>(&given->value());
  if (given != nullptr && items == nullptr) return Refused("options", "are no list");
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const auto* pair = std::get_if<Json::Items>(&(*items)[i].value());
    if (pair == nullptr || pair->size() != 2) return Refused("options", "are pairs of flag and value");
    const std::string flag = StringIn(pair->data()), value = StringIn(&(*pair)[1]);
    const auto control = std::ranges::find(controls, flag, &UiControl::flag);
    if (control == controls.end() || std::ranges::find(control->verbs, verb) == control->verbs.end())
      return Refused(flag, "is no option of this page's " + std::string(verb));
    if (value.empty() || value.starts_with('-')) return Refused(flag, InShell(value) + " is no value");
    words.push_back(flag);
    words.push_back(value);
  }
  return words;
}

}  // namespace

Desk::Desk(UiOffer offer, const Asker& ask, std::string token, int port)
    : offer_(std::move(offer)), ask_(ask), token_(std::move(token)), port_(port) {
  if (!offer_.file.empty()) opened_.push_back({offer_.file, offer_.file, KindOf(offer_.file, "model")});
}

std::string Desk::Address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/" + token_ + "/"; }

bool Desk::IsOurs(const HttpRequest& head) const {
  const std::string port = ":" + std::to_string(port_);
  const std::string_view host = head.Header("host"), origin = head.Header("origin"),
                         site = head.Header("sec-fetch-site");
  if (host != "127.0.0.1" + port && host != "localhost" + port) return false;
  if (!origin.empty() && origin != "http://" + std::string(host)) return false;
  if (!site.empty() && site != "same-origin" && site != "none") return false;
  const std::string_view target = head.target;
  return target.starts_with('/') && SameSecret(target.substr(1, target.find('/', 1) - 1), token_);
}

// What stands behind the token.
std::string_view Desk::Behind(const HttpRequest& request) const {
  const std::string_view target = request.target;
  return target.substr(std::min(target.size(), token_.size() + 1));
}

HttpDesk::Admission Desk::Admit(const HttpRequest& head) {
  if (!IsOurs(head)) return {Refusal(403, "this request is refused: open the address that vramplan ui printed"), 0, ""};
  const std::string_view place = Behind(head);
  if (head.method == "GET") return {};
  if (head.method != "POST") return {Refusal(400, "no such request"), 0, ""};
  if (!place.starts_with(kOpen)) return {std::nullopt, kMostOfQuestion, ""};
  Result<std::string> file = folder_.Place(Decoded(place.substr(kOpen.size())));
  if (!file.ok()) return {Refusal(400, ToString(file.error())), 0, ""};
  return {std::nullopt, kMostOfFile, *std::move(file)};
}

bool Desk::Changes(const HttpRequest& request) const {
  return request.method == "POST" && Behind(request).starts_with(kOpen);
}

HttpReply Desk::Answer(const HttpRequest& request) {
  const std::string_view place = Behind(request);
  if (request.method == "POST") {
    if (place == "/answer") return Question(request.body);
    return Changes(request) ? Open(request.file) : Refusal(404, "there is nothing here");
  }
  if (place == "/") return {200, "text/html; charset=utf-8", kUiPage};
  if (place == "/page.css") return {200, "text/css; charset=utf-8", PartStyle() + kPageStyle + kUiStyle};
  if (place == "/page.js") return {200, "text/javascript; charset=utf-8", std::string(kPageScript) + kUiScript};
  return place == "/start" ? Start() : Refusal(404, "there is nothing here");
}

Json Desk::ToJson(size_t opened) const {
  Json json = Json::Object();
  return json.Set("id", std::to_string(opened)).Set("name", opened_[opened].name).Set("kind", opened_[opened].kind);
}

HttpReply Desk::Start() {
  Json controls = Json::Array(), opened = Json::Array(), start = Json::Object();
  for (const UiControl& control : offer_.controls) {
    Json one = Json::Object(), words = Json::Array(), verbs = Json::Array();
    for (const std::string& word : control.words) words.Push(word);
    for (const std::string& verb : control.verbs) verbs.Push(verb);
    one.Set("flag", control.flag)
        .Set("argument", control.argument)
        .Set("text", control.text)
        .Set("group", control.group);
    one.Set("words", std::move(words)).Set("verbs", std::move(verbs)).Set("repeats", control.repeats);
    controls.Push(std::move(one));
  }
  for (size_t i = 0; i < opened_.size(); ++i) opened.Push(ToJson(i));
  const Result<Json> cards = ParseJson("cards", ask_({"gpus", "--format", "json"}, "").out);
  const Result<Json> models = ParseJson("models", ask_({"models", "--format", "json"}, "").out);
  start.Set("controls", std::move(controls)).Set("opened", std::move(opened));
  return JsonReply(start.Set("cards", cards.ok() ? *cards : Json()).Set("models", models.ok() ? *models : Json()));
}

HttpReply Desk::Open(const std::string& path) {
  opened_.push_back({path, path.substr(path.rfind('/') + 1), KindOf(path, "message")});
  return JsonReply(ToJson(opened_.size() - 1));
}

Result<Desk::Opened> Desk::Subject(std::string_view verb, const std::string& name) const {
  if (verb == "explain" && name == "-") return Opened{"-", "-", "message"};
  for (size_t i = 0; i < opened_.size(); ++i)
    if (name == std::to_string(i)) return opened_[i];
  if (std::ranges::find(offer_.names, name) != offer_.names.end()) return Opened{name, name, "model"};
  return Refused(name, "was not opened here, and is no name of a model");
}

HttpReply Desk::Question(const std::string& body) {
  Json reply = Json::Object();
  const auto failed = [&](const Error& error) { return JsonReply(reply.Set("error", ToString(error))); };
  const Result<Json> question = ParseJson("the question", body);
  if (!question.ok()) return failed(question.error());
  const std::string verb = StringIn(MemberOf(*question, "verb"));
  if (std::ranges::find(kVerbs, verb) == std::end(kVerbs)) return failed(Refused(verb, "is no question of this page"));
  const Result<Opened> subject = Subject(verb, StringIn(MemberOf(*question, "subject")));
  if (!subject.ok()) return failed(subject.error());
  Result<std::vector<std::string>> options = OptionsIn(MemberOf(*question, "options"), verb, offer_.controls);
  if (!options.ok()) return failed(options.error());
  std::vector<std::string> words = {verb, subject->path};
  std::string command = "vramplan " + verb + " " + InShell(subject->name);
  if (const std::string beside = StringIn(MemberOf(*question, "model")); !beside.empty()) {
    const Result<Opened> model = Subject("", beside);
    if (!model.ok()) return failed(model.error());
    words.insert(words.end(), {"--model", model->path});
    command += " --model " + InShell(model->name);
  }
  for (const std::string& option : *options) {
    words.push_back(option);
    command += " " + InShell(option);
  }
  const bool in_all_forms = verb != "compare" && std::ranges::find(*options, "--emit") == options->end();
  if (in_all_forms) words.insert(words.end(), {"--format", "all"});
  Asked asked = ask_(words, StringIn(MemberOf(*question, "input")));
  // A person knows the file by its name, and not where its copy lies.
  for (const Opened& one : opened_) {
    for (std::string* said : {&asked.out, &asked.err}) {
      for (size_t i = 0; one.path != one.name && (i = said->find(one.path, i)) != said->npos; i += one.name.size())
        said->replace(i, one.path.size(), one.name);
    }
  }
  reply.Set("command", command + (subject->path == "-" ? " < message.txt" : "")).Set("exit", asked.exit_code);
  if (!asked.answered()) return JsonReply(reply.Set("error", ErrorLine(asked)));
  if (!in_all_forms) return JsonReply(reply.Set("answer", Json::Object().Set("text", asked.out)));
  // It is JSON already, and long.
  std::string text = PrintCompact(reply);
  text.pop_back();
  return {200, "application/json", text + ",\"answer\":" + asked.out + "}"};
}

Result<std::string> NewToken() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error{ErrorCode::kBadInput, "vramplan ui", "the system gives no random bytes", ""};
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

}  // namespace vramplan
