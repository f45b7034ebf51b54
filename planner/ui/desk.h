// Desk: what is answered to the page of `vramplan ui`, and to nobody else.
//
//   GET  /TOKEN/            the page; page.css and page.js beside it
//   GET  /TOKEN/start       what it shows first: options, cards, names of models, the file that it was started with
//   POST /TOKEN/open/NAME   a file: {"id": "2", "name": "unet.onnx", "kind": "model"}
//   POST /TOKEN/answer      {"verb": "fit", "subject": "2", "options": [["--gpu", "t4"], ["--batch", "8"]]}
//                           {"command": "vramplan fit unet.onnx --gpu t4 --batch 8", "exit": 0, "answer": {"text": ...}}
//
// A question is a command line that is made here: of verbs and options from a list, none of which names a file, and of a
// subject that is a known name or was opened. Invariant: a request without the token, for another host (a name that was
// rebound to this machine) or from another page is refused before its body is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/report/asked.h"
#include "planner/report/writing/json.h"
#include "planner/ui/http.h"
#include "planner/ui/private_folder.h"

namespace vramplan {

// An option as a control of the page.
struct UiControl {
  std::string flag, argument, text, group;  // "--precision", "P", "fp64, fp32, ...", "the model and its inputs"
  std::vector<std::string> words;           // its values, where they are words
  std::vector<std::string> verbs;           // that take it
  bool repeats = false;
};

struct UiOffer {
  std::vector<UiControl> controls;
  std::vector<std::string> names;  // of models
  std::string file;                // what the page is started with: a name or a path; empty: nothing
};

class Desk {
 public:
  // `ask` must outlive it.
  Desk(UiOffer offer, const Asker& ask, std::string token, int port);
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  std::string Address() const;
  HttpDesk::Admission Admit(const HttpRequest& head);
  HttpReply Answer(const HttpRequest& request);
  bool Changes(const HttpRequest& request) const;  // it opens a file

 private:
  struct Opened {
    std::string path, name, kind;
  };
  bool IsOurs(const HttpRequest& head) const;
  std::string_view Behind(const HttpRequest& request) const;
  HttpReply Start();
  HttpReply Open(const std::string& path);
  HttpReply Question(const std::string& body);
  Result<Opened> Subject(std::string_view verb, const std::string& name) const;
  Json ToJson(size_t opened) const;

  UiOffer offer_;
  const Asker& ask_;
  std::string token_;
  int port_;
  PrivateFolder folder_;
  std::vector<Opened> opened_;
};

// 128 random bits, in hexadecimal. Error: the system has none.
Result<std::string> NewToken();

// The page, as it stands in planner/ui.
extern const char* const kUiPage;
extern const char* const kUiStyle;
extern const char* const kUiScript;

}  // namespace vramplan
