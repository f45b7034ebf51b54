#include "planner/ui/desk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

// A desk whose questions are written down, and answered by `answer`.
struct TestDesk {
  Asked answer{0, "{\"text\":\"it fits\"}\n", ""};
  std::vector<std::string> words;
  std::string input;
  Asker ask = [this](const std::vector<std::string>& asked, const std::string& given) {
    words = asked;
    input = given;
    return answer;
  };
  Desk desk{{.controls = {{.flag = "--gpu", .verbs = {"fit", "plan", "explain"}},
                          {.flag = "--batch", .verbs = {"fit", "explain"}},
                          {.flag = "--emit", .verbs = {"fit"}}},
             .names = {"llama-3.2-1b"},
             .file = "models/unet.onnx"},
            ask,
            kToken,
            8040};

  HttpReply Reply(HttpRequest request) {
    request.headers.try_emplace("host", "127.0.0.1:8040");
    const HttpDesk::Admission admission = desk.Admit(request);
    if (admission.refusal) return *admission.refusal;
    if (!admission.file.empty()) std::ofstream(admission.file) << request.body;
    request.file = admission.file;
    return desk.Answer(request);
  }
  HttpReply Get(const std::string& behind) { return Reply({"GET", std::string("/") + kToken + behind, {}, "", ""}); }
  HttpReply Post(const std::string& behind, const std::string& body) {
    return Reply({"POST", std::string("/") + kToken + behind, {}, body, ""});
  }
};

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST_CASE("ui: who is answered") {
  const std::string address = std::string("/") + kToken + "/";
  const struct {
    const char* what;
    std::string method, target;
    std::map<std::string, std::string> headers;
    int status;
  } rows[] = {
      {"the address", "GET", address, {}, 200},
      {"by the machine's other name", "GET", address, {{"host", "localhost:8040"}}, 200},
      {"the page itself",
       "POST",
       address + "answer",
       {{"origin", "http://127.0.0.1:8040"}, {"sec-fetch-site", "same-origin"}},
       200},
      {"no token", "GET", "/", {}, 403},
      {"a wrong one", "GET", "/0123456789abcdef0123456789abcdee/", {}, 403},
      {"a part of it", "GET", "/0123456789abcdef/", {}, 403},
      {"more than it", "GET", std::string("/") + kToken + "0/", {}, 403},
      {"a name that was rebound to this machine", "GET", address, {{"host", "evil.example:8040"}}, 403},
      {"another port of it", "GET", address, {{"host", "127.0.0.1:80"}}, 403},
      {"no host", "GET", address, {{"host", ""}}, 403},
      {"another page", "POST", address + "answer", {{"origin", "http://evil.example"}}, 403},
      {"a page without an origin", "POST", address + "answer", {{"origin", "null"}}, 403},
      {"a page of another port", "POST", address + "answer", {{"origin", "http://127.0.0.1:80"}}, 403},
      {"a link on another site", "GET", address, {{"sec-fetch-site", "cross-site"}}, 403},
      {"another place", "GET", address + "../etc/passwd", {}, 404},
      {"another method", "PUT", address + "answer", {}, 400},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    TestDesk test;
    CHECK(test.Reply({row.method, row.target, row.headers, "{}", ""}).status == row.status);
    CHECK(test.words.empty());
  }
}

TEST_CASE("ui: a question is a command line") {
  const struct {
    const char* question;
    const char* words;
    const char* command;
  } rows[] = {
      {R"({"verb":"fit","subject":"0","options":[["--gpu","t4"],["--batch","8"]]})",
       "fit models/unet.onnx --gpu t4 --batch 8 --format all", "vramplan fit models/unet.onnx --gpu t4 --batch 8"},
      {R"({"verb":"plan","subject":"llama-3.2-1b","options":[["--gpu","t4"]]})",
       "plan llama-3.2-1b --gpu t4 --format all", "vramplan plan llama-3.2-1b --gpu t4"},
      {R"({"verb":"explain","subject":"-","model":"0","options":[["--batch","8"]],"input":"out of memory"})",
       "explain - --model models/unet.onnx --batch 8 --format all",
       "vramplan explain - --model models/unet.onnx --batch 8 < message.txt"},
      {R"({"verb":"fit","subject":"0","options":[["--gpu","t 4"]]})", "fit models/unet.onnx --gpu t 4 --format all",
       "vramplan fit models/unet.onnx --gpu 't 4'"},
      {R"({"verb":"inspect","subject":"0"})", "inspect models/unet.onnx --format all",
       "vramplan inspect models/unet.onnx"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.question);
    TestDesk test;
    const Result<Json> reply = ParseJson("reply", test.Post("/answer", row.question).body);
    REQUIRE(reply.ok());
    CHECK(Joined(test.words) == row.words);
    CHECK(StringIn(MemberOf(*reply, "command")) == row.command);
    CHECK(StringIn(MemberOf(*MemberOf(*reply, "answer"), "text")) == "it fits");
  }
  TestDesk test;
  test.answer.out = "batch = 8\n";
  CHECK(test.Post("/answer", R"({"verb":"fit","subject":"0","options":[["--emit","hf"]]})").body ==
        R"({"command":"vramplan fit models/unet.onnx --emit hf","exit":0,"answer":{"text":"batch = 8\n"}})");
  CHECK(Joined(test.words) == "fit models/unet.onnx --emit hf");
  CHECK(test.Post("/answer", R"({"verb":"explain","subject":"-","input":"some text"})").status == 200);
  CHECK(test.input == "some text");
}

TEST_CASE("ui: what is not asked") {
  const struct {
    const char* question;
    const char* error;
  } rows[] = {
      {"nonsense", "the question: is not JSON at byte 2"},
      {R"({"verb":"run","subject":"0"})", "run: is no question of this page"},
      {R"({"verb":"fit","subject":"/etc/passwd"})", "/etc/passwd: was not opened here, and is no name of a model"},
      {R"({"verb":"fit","subject":"models/unet.onnx"})",
       "models/unet.onnx: was not opened here, and is no name of a model"},
      {R"({"verb":"fit","subject":"-"})", "-: was not opened here, and is no name of a model"},
      {R"({"verb":"explain","subject":"-","model":"secret.onnx"})",
       "secret.onnx: was not opened here, and is no name of a model"},
      {R"({"verb":"fit","subject":"0","options":[["--out","x"]]})", "--out: is no option of this page's fit"},
      {R"({"verb":"fit","subject":"0","options":[["--profile","x"]]})", "--profile: is no option of this page's fit"},
      {R"({"verb":"plan","subject":"0","options":[["--batch","8"]]})", "--batch: is no option of this page's plan"},
      {R"({"verb":"fit","subject":"0","options":[["--gpu","--out"]]})", "--gpu: --out is no value"},
      {R"({"verb":"fit","subject":"0","options":[["--gpu",""]]})", "--gpu: '' is no value"},
      {R"({"verb":"fit","subject":"0","options":["--gpu"]})", "options: are pairs of flag and value"},
      {R"({"verb":"fit","subject":"0","options":"--gpu"})", "options: are no list"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.question);
    TestDesk test;
    const Result<Json> reply = ParseJson("reply", test.Post("/answer", row.question).body);
    REQUIRE(reply.ok());
    CHECK(StringIn(MemberOf(*reply, "error")) == row.error);
    CHECK(test.words.empty());
  }
}

TEST_CASE("ui: what cannot be answered is the command line's one line") {
  TestDesk test;
  test.answer = {2, "", "note: --batch: assumed 1\nvramplan: --gpu: \"t5\" is not a card (hint: type --gpu t4)\n"};
  CHECK(
      test.Post("/answer", R"({"verb":"fit","subject":"0","options":[["--gpu","t5"]]})").body ==
      R"-({"command":"vramplan fit models/unet.onnx --gpu t5","exit":2,"error":"--gpu: \"t5\" is not a card (hint: type --gpu t4)"})-");
  test.answer = {3, "{\"text\":\"it does not fit\"}\n", ""};
  CHECK(Says(test.Post("/answer", R"({"verb":"fit","subject":"0"})").body,
             R"-("exit":3,"answer":{"text":"it does not fit")-"));
}

TEST_CASE("ui: a file that is opened lies in a private folder until the end") {
  std::string path;
  {
    TestDesk test;
    CHECK(test.Post("/open/..%2Fa%20b%2F-u net.onnx", "graph").body ==
          R"({"id":"1","name":"u net.onnx","kind":"model"})");
    CHECK(test.Post("/open/oom.log", "out of memory").body == R"({"id":"2","name":"oom.log","kind":"message"})");
    CHECK(test.Post("/open/run.pickle", "").body == R"({"id":"3","name":"run.pickle","kind":"snapshot"})");
    CHECK(test.Post("/open/..", "").status == 400);
    CHECK(Says(test.Post("/answer", R"({"verb":"fit","subject":"1"})").body, "vramplan fit 'u net.onnx'"));
    REQUIRE(test.words.size() > 1);
    path = test.words[1];
    CHECK(fs::path(path).filename() == "u net.onnx");
    CHECK(fs::file_size(path) == 5);
    test.answer = {1, "", "vramplan: " + path + ": not an ONNX model\n"};
    CHECK(Says(test.Post("/answer", R"({"verb":"fit","subject":"1"})").body,
               R"("error":"u net.onnx: not an ONNX model")"));
    const fs::perms mode = fs::status(fs::path(path).parent_path().parent_path()).permissions();
    CHECK((mode & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none);
  }
  CHECK(!fs::exists(fs::path(path).parent_path().parent_path()));
}

TEST_CASE("ui: what the page begins with") {
  const struct {
    const char *file, *opened;
  } rows[] = {
      {"", "[]"},
      {"models/unet.onnx", R"([{"id":"0","name":"models/unet.onnx","kind":"model"}])"},
      {"llama-3.2-1b", R"([{"id":"0","name":"llama-3.2-1b","kind":"model"}])"},
      {"some/folder", R"([{"id":"0","name":"some/folder","kind":"model"}])"},
      {"train.log", R"([{"id":"0","name":"train.log","kind":"message"}])"},
      {"run.pickle", R"([{"id":"0","name":"run.pickle","kind":"snapshot"}])"},
      {"tests/fuzz/corpus/record_fuzz/layers.csv",
       R"([{"id":"0","name":"tests/fuzz/corpus/record_fuzz/layers.csv","kind":"record"}])"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.file);
    const Asker ask = [](const std::vector<std::string>&, const std::string&) { return Asked{0, "{}", ""}; };
    Desk desk({.file = row.file}, ask, kToken, 8040);
    const HttpReply reply = desk.Answer({"GET", std::string("/") + kToken + "/start", {}, "", ""});
    CHECK(reply.body == R"({"controls":[],"opened":)" + std::string(row.opened) + R"(,"cards":{},"models":{}})");
  }
}

TEST_CASE("ui: the page asks for nothing but its own address") {
  TestDesk test;
  CHECK(test.Get("/").type == "text/html; charset=utf-8");
  const std::string page = test.Get("/").body + test.Get("/page.css").body + test.Get("/page.js").body;
  CHECK(page.find("http://") == std::string::npos);
  CHECK(page.find("https://") == std::string::npos);
  CHECK(page.find("@import") == std::string::npos);
  CHECK(NewToken()->size() == 32);
  CHECK(*NewToken() != *NewToken());
}

TEST_CASE("ui: the command line's part") {
  CHECK(Do("ui nowhere.onnx").err ==
        "vramplan: nowhere.onnx: there is no such file (hint: vramplan models lists the models with names)\n");
  CHECK(Do("ui train.py").exit_code == 1);
  CHECK(Do("ui --port 0").exit_code == 2);
  CHECK(Do("ui --batch 8").err ==
        "vramplan: --batch: ui does not have this option (hint: vramplan ui --help lists its options)\n");
}

}  // namespace
}  // namespace vramplan::testing
