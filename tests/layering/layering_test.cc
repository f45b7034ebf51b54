// The house keeps its shape: includes go one way, third-party headers stay in their folders, no file grows past 500
// lines, every folder explains itself, and nothing in the repository names a machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = VRAMPLAN_SOURCE_DIR;

// What each folder may include: itself and these. Direct edges; what they may include follows.
//
//   base <- ir <- onnx, shapes, habits <- layers <- programs <- lift <- spec <- semantics <- timeline <- allocator <- solver <- report
//   <- picture <- answers, ui <- scripts <- cli
const std::map<std::string, std::vector<std::string>> kMayInclude = {
    {"graph/base", {}},
    {"graph/ir", {"graph/base"}},
    {"graph/facts", {"graph/ir"}},
    {"graph/architectures", {"graph/facts"}},
    {"graph/pt2", {"graph/facts"}},
    {"graph/onnx", {"graph/facts", "graph/pt2"}},
    {"graph/shapes", {"graph/ir"}},
    {"graph/habits", {"graph/base"}},
    {"graph/layers", {"graph/shapes"}},
    {"graph/programs", {"graph/layers"}},
    {"graph/lift", {"graph/programs", "graph/habits"}},
    {"planner/spec", {"graph/lift"}},
    {"planner/semantics", {"planner/spec", "pretend/card"}},
    {"planner/lifetimes", {"graph/lift"}},
    {"planner/timeline", {"planner/semantics", "planner/lifetimes"}},
    {"planner/allocator", {"planner/timeline"}},
    {"planner/runtimes", {"planner/allocator"}},
    {"planner/remat", {"graph/base"}},
    {"planner/solver", {"planner/allocator", "planner/remat"}},
    {"planner/calibration", {"planner/solver", "cuda_probe"}},
    {"planner/oom", {"planner/solver"}},
    {"planner/record", {"planner/allocator", "pretend/recording"}},
    {"planner/report",
     {"graph/architectures", "planner/calibration", "planner/oom", "planner/record", "cuda_probe",
      "pretend/recording"}},
    {"planner/picture", {"planner/report"}},
    {"planner/ui", {"planner/picture", "planner/record"}},
    {"planner/snapshot", {"planner/allocator"}},
    {"planner/answers", {"planner/picture", "planner/runtimes", "planner/snapshot", "graph/onnx"}},
    {"planner/scripts", {"planner/answers"}},
    {"planner/cli", {"planner/scripts", "planner/ui"}},
    {"cuda_probe", {"graph/base"}},
    {"pretend/recording", {"graph/base"}},
    {"pretend/card", {}},
    {"pretend/library", {"pretend/card", "planner/semantics"}},
    {"models", {"graph/base"}},
};

// Headers of others, and the only places that may see them.
struct Confined {
  std::string_view header_prefix;
  std::vector<std::string> allowed;  // a folder (with its slash) or a file
};
const std::vector<Confined> kConfined = {
    {"CLI/", {"planner/cli/parse.cc"}},
    {"onnx/", {"graph/onnx/", "models/generate/"}},
    {"google/protobuf/", {"graph/onnx/", "models/generate/"}},
    {"nlohmann/", {"planner/report/", "graph/facts/", "graph/architectures/", "graph/pt2/read_program.cc"}},
    {"Eigen/", {"planner/calibration/"}},
    {"cuda.h", {"cuda_probe/"}},
    {"cuda_runtime", {}},
    {"cudnn", {}},
    {"cublas", {}},
    {"doctest/", {}},
};

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Every file below `folder`, as paths from the root; build trees and what begins with a dot is not the project's, but
// .ci is.
std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  if (!fs::exists(kRoot / folder)) return files;
  for (auto entry = fs::recursive_directory_iterator(kRoot / folder); entry != fs::recursive_directory_iterator();
       ++entry) {
    const std::string name = entry->path().filename().string();
    const bool hidden = name.starts_with('.') && name != ".ci";
    if (entry->is_directory() && (hidden || name.starts_with("build"))) entry.disable_recursion_pending();
    if (entry->is_regular_file() && (!hidden || name.starts_with(".clang"))) {
      files.push_back(fs::relative(entry->path(), kRoot).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

// As one string, a line each: what a failed CHECK prints.
std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

bool IsSource(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h") || path.ends_with(".cu"); }

std::vector<std::string> Sources() {
  std::vector<std::string> sources = {"main.cc"};
  for (const char* folder : {"graph", "planner", "cuda_probe", "pretend", "models"}) {
    for (std::string& file : FilesBelow(folder)) {
      if (IsSource(file)) sources.push_back(std::move(file));
    }
  }
  return sources;
}

struct Include {
  std::string target;
  bool quoted = false;  // "..." rather than <...>
};

std::vector<Include> IncludesOf(const std::string& text) {
  std::vector<Include> includes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const size_t open = line.find_first_of("\"<", word + 7);
    if (open == std::string::npos) continue;
    const size_t close = line.find_first_of("\">", open + 1);
    includes.push_back({line.substr(open + 1, close - open - 1), line[open] == '"'});
  }
  return includes;
}

// The room of a file: "graph/ir" for graph/ir/dim.h, "pretend/card" for pretend/card/card.h, "cuda_probe" for
// cuda_probe/probe.h, "" for main.cc, "models" below models.
std::string RoomOf(const std::string& path) {
  const size_t first = path.find('/');
  if (first == std::string::npos) return "";
  const std::string top = path.substr(0, first);
  if (top != "graph" && top != "planner" && top != "pretend") return top;
  return path.substr(0, path.find('/', first + 1));
}

bool Reaches(const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto edges = kMayInclude.find(from);
  if (edges == kMayInclude.end()) return false;
  return std::ranges::any_of(edges->second, [&](const std::string& next) { return Reaches(next, to); });
}

// One line for each include of `path` that the house does not allow.
std::vector<std::string> Violations(const std::string& path, const std::string& text) {
  std::vector<std::string> violations;
  for (const Include& include : IncludesOf(text)) {
    if (include.quoted) {
      const std::string to = RoomOf(include.target);
      const bool main_to_cli = path == "main.cc" && to == "planner/cli";
      if (!main_to_cli && !Reaches(RoomOf(path), to)) {
        violations.push_back(path + " includes \"" + include.target + "\"");
      }
    }
    for (const Confined& confined : kConfined) {
      if (include.quoted || !include.target.starts_with(confined.header_prefix)) continue;
      if (std::ranges::none_of(confined.allowed, [&](const std::string& place) { return path.starts_with(place); })) {
        violations.push_back(path + " includes <" + include.target + ">");
      }
    }
  }
  return violations;
}

TEST_CASE("the rule itself: what is allowed and what is not") {
  struct Row {
    const char* path;
    const char* text;
    std::vector<std::string> violations;
  };
  const std::vector<Row> rows = {
      {"graph/ir/dim.h", "#include \"graph/base/bytes.h\"\n", {}},
      {"graph/base/bytes.h", "#include \"graph/ir/dim.h\"\n", {"graph/base/bytes.h includes \"graph/ir/dim.h\""}},
      {"planner/timeline/schedule.cc", "#include \"graph/ir/dim.h\"\n#include <map>\n", {}},
      {"graph/lift/lift.cc",
       "  #  include \"planner/spec/spec.h\"\n",
       {"graph/lift/lift.cc includes \"planner/spec/spec.h\""}},
      {"graph/shapes/conv.cc",
       "#include \"graph/onnx/load.h\"\n",
       {"graph/shapes/conv.cc includes \"graph/onnx/load.h\""}},
      {"planner/cli/fit.cc", "#include <CLI/CLI.hpp>\n", {"planner/cli/fit.cc includes <CLI/CLI.hpp>"}},
      {"planner/cli/parse.cc", "#include <CLI/CLI.hpp>\n#include \"graph/onnx/load.h\"\n", {}},
      {"graph/lift/lift.cc", "#include <onnx/onnx_pb.h>\n", {"graph/lift/lift.cc includes <onnx/onnx_pb.h>"}},
      {"planner/spec/device.h", "#include <cuda_runtime.h>\n", {"planner/spec/device.h includes <cuda_runtime.h>"}},
      {"main.cc", "#include \"planner/cli/run.h\"\n", {}},
      {"main.cc", "#include \"graph/onnx/load.h\"\n", {"main.cc includes \"graph/onnx/load.h\""}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(Lines(Violations(row.path, row.text)) == Lines(row.violations));
  }
}

TEST_CASE("includes go one way, and third-party headers stay where they belong") {
  std::vector<std::string> violations;
  const std::vector<std::string> sources = Sources();
  for (const std::string& path : sources) {
    for (std::string& violation : Violations(path, ReadText(kRoot / path))) violations.push_back(std::move(violation));
  }
  CHECK(sources.size() > 20);
  CHECK(Lines(violations) == "");
}

TEST_CASE("nlohmann/json is seen by at most five files") {
  std::vector<std::string> seen_by;
  for (const std::string& path : Sources()) {
    for (const Include& include : IncludesOf(ReadText(kRoot / path))) {
      if (include.target.starts_with("nlohmann/")) seen_by.push_back(path);
    }
  }
  CAPTURE(Lines(seen_by));
  CHECK(seen_by.size() <= 5);
}

// Files of a room compile as one translation unit, where a second function of the same name in an unnamed namespace, or
// one that a header of the room declares too, is an overload that a call may pick unseen.
std::string FunctionOf(const std::string& line) {
  const size_t open = line.find('(');
  if (line.empty() || std::isalpha(static_cast<unsigned char>(line[0])) == 0 || open == std::string::npos) return "";
  if (line.find('=') < open || line.find(';') < open) return "";
  size_t begin = open;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 || line[begin - 1] == '_'))
    --begin;
  const bool typed = begin > 0 && (line[begin - 1] == ' ' || line[begin - 1] == '&' || line[begin - 1] == '*');
  const bool named = begin < open && std::isupper(static_cast<unsigned char>(line[begin])) != 0;
  return typed && named ? line.substr(begin, open - begin) : "";
}

TEST_CASE("no overload hides in an unnamed namespace of another file of the room") {
  CHECK(FunctionOf("Shape Columns(const Tensor& like, int64_t times) {") == "Columns");
  CHECK(FunctionOf("  return Columns(like, 2);") == "");
  CHECK(FunctionOf("const int width = Columns(like)[0];") == "");
  std::map<std::string, std::map<std::string, std::set<std::string>>> local;  // by room and function: files
  std::map<std::string, std::set<std::string>> declared;                      // by room
  for (const std::string& path : Sources()) {
    std::istringstream lines(ReadText(kRoot / path));
    bool unnamed = false;
    for (std::string line; std::getline(lines, line);) {
      if (line == "namespace {") unnamed = true;
      if (line == "}  // namespace") unnamed = false;
      const std::string function = FunctionOf(line);
      if (function.empty() || !(path.starts_with("graph/") || path.starts_with("planner/"))) continue;
      if (unnamed) local[RoomOf(path)][function].insert(path);
      if (!unnamed && path.ends_with(".h")) declared[RoomOf(path)].insert(function);
    }
  }
  std::vector<std::string> hidden;
  for (const auto& [room, functions] : local) {
    for (const auto& [function, files] : functions) {
      if (files.size() > 1 || declared[room].contains(function)) hidden.push_back(function + " in " + *files.begin());
    }
  }
  CHECK(local.size() > 10);
  CHECK(Lines(hidden) == "");
}

// Uses (graph/layers/uses.h) is the only table of who makes and who reads a value of Layers.
std::vector<std::string> TablesOfUses(const std::string& path, const std::string& text) {
  static const std::regex table(R"(std::(vector|map|unordered_map)<.*> \w*(maker|reader)s?_\b)"
                                R"(|std::vector<\w+> \w*(maker|reader)s?\(\w*layers\w*[.])");
  std::vector<std::string> tables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, table)) tables.push_back(path + ": " + line);
  }
  return tables;
}

TEST_CASE("nobody makes a table of makers or readers of their own") {
  CHECK(TablesOfUses("a.cc", "  std::vector<int> last_reader_;  // layer, by value\n").size() == 1);
  CHECK(TablesOfUses("a.cc", "  std::vector<int> readers(layers.values.size(), 0);\n").size() == 1);
  CHECK(TablesOfUses("a.cc", "  const std::span<const int32_t> readers = uses_.ReadersOf(id);\n").empty());
  std::vector<std::string> tables;
  for (const std::string& path : Sources()) {
    const std::string text = ReadText(kRoot / path);
    const bool of_layers = text.find("graph/layers/") != std::string::npos || path.starts_with("planner/");
    // What checks layers that may be broken cannot take a table for granted.
    if (!of_layers || path.starts_with("graph/layers/uses.") || path.starts_with("graph/layers/check_layers."))
      continue;
    for (std::string& one : TablesOfUses(path, text)) tables.push_back(std::move(one));
  }
  CHECK(Lines(tables) == "");
}

// Lines of the sources that match, but for those of files that begin so.
std::vector<std::string> LinesWith(const std::regex& wanted, const std::vector<std::string_view>& but) {
  std::vector<std::string> found;
  for (const std::string& path : Sources()) {
    if (std::ranges::any_of(but, [&](std::string_view begin) { return path.starts_with(begin); })) continue;
    std::istringstream lines(ReadText(kRoot / path));
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_search(line, wanted)) found.push_back(path + ": " + line);
    }
  }
  return found;
}

// What a stage concludes for the next is a field of its result (Guesses, Timeline::refused).
TEST_CASE("notes are for people: nobody reads them back but who prints them") {
  const std::regex reads(R"([nN]otes(\(\))?(\.|->)(Has|all)\(|[nN]ote\w*(\.|->)code\b)");
  CHECK(std::regex_search("if (notes->Has(\"assumed-inplace\"))", reads));
  CHECK(std::regex_search("note.code == \"bce-under-autocast\"", reads));
  CHECK(Lines(LinesWith(reads, {"graph/base/note.", "planner/report/", "planner/picture/", "planner/cli/run.cc"})) ==
        "");
}

// Behind Lift, Prepare finishes them with what the user says of which parameters are trained, before anyone has seen
// them. ONNX Runtime's Layers are its own nodes, which it fuses itself.
TEST_CASE("Layers change nowhere behind Lift") {
  const std::regex changes(R"(\bLayers ?[*&] ?\w)"), only_read(R"(const Layers ?[*&])");
  std::vector<std::string> found;
  for (const std::string& line : LinesWith(changes, {"graph/", "planner/spec/adapters.", "planner/spec/trained.",
                                                     "planner/runtimes/fusions.", "planner/answers/prepare.cc"})) {
    if (!std::regex_search(line, only_read)) found.push_back(line);
  }
  CHECK(Lines(found) == "");
}

TEST_CASE("headers write VRAMPLAN_CHECK, for CHECK is doctest's where a test includes them") {
  std::vector<std::string> bare;
  for (const std::string& path : Sources()) {
    if (path == "graph/base/check.h" || !path.ends_with(".h")) continue;
    const std::string text = ReadText(kRoot / path);
    if (text.find(" CHECK(") != std::string::npos) bare.push_back(path);
  }
  CHECK(Lines(bare) == "");
}

TEST_CASE("no file is longer than 500 lines") {
  std::vector<std::string> files = Sources();
  for (std::string& file : FilesBelow("tests")) {
    if (IsSource(file)) files.push_back(std::move(file));
  }
  std::vector<std::string> too_long;
  for (const std::string& path : files) {
    const std::string text = ReadText(kRoot / path);
    if (std::ranges::count(text, '\n') > 500) too_long.push_back(path);
  }
  CHECK(Lines(too_long) == "");
}

// Precompiled headers and rooms that compile as one hide a missing include. What a file names of the standard library
// stands in its own includes, or in those of the project's headers that it includes.
const std::map<std::string_view, std::vector<std::string_view>> kStandard = {
    {"array", {"std::array<"}},
    {"bit", {"std::bit_", "std::popcount(", "std::countr_zero("}},
    {"charconv", {"std::from_chars(", "std::to_chars("}},
    {"deque", {"std::deque<"}},
    {"filesystem", {"std::filesystem"}},
    {"fstream", {"std::ifstream", "std::ofstream"}},
    {"functional", {"std::function<"}},
    {"limits", {"std::numeric_limits<"}},
    {"map", {"std::map<", "std::multimap<"}},
    {"memory", {"std::unique_ptr<", "std::shared_ptr<", "std::make_unique<", "std::make_shared<"}},
    {"numeric", {"std::accumulate(", "std::iota("}},
    {"optional", {"std::optional<", "std::nullopt"}},
    {"queue", {"std::queue<", "std::priority_queue<"}},
    {"set", {"std::set<"}},
    {"span", {"std::span<"}},
    {"sstream", {"std::stringstream", "std::istringstream", "std::ostringstream"}},
    {"string", {"std::string ", "std::to_string("}},
    {"string_view", {"std::string_view"}},
    {"unordered_map", {"std::unordered_map<"}},
    {"unordered_set", {"std::unordered_set<"}},
    {"utility", {"std::move(", "std::pair<", "std::exchange(", "std::swap("}},
    {"variant", {"std::variant<", "std::visit("}},
    {"vector", {"std::vector<"}},
};

// Standard headers that `path` includes, itself or through the project's headers.
std::set<std::string> StandardIn(const std::string& path, std::map<std::string, std::set<std::string>>* known) {
  if (const auto found = known->find(path); found != known->end()) return found->second;
  (*known)[path] = {};
  std::set<std::string> headers;
  for (const Include& include : IncludesOf(ReadText(kRoot / path))) {
    if (!include.quoted) {
      headers.insert(include.target);
    } else if (fs::exists(kRoot / include.target)) {
      const std::set<std::string> more = StandardIn(include.target, known);
      headers.insert(more.begin(), more.end());
    }
  }
  return (*known)[path] = headers;
}

TEST_CASE("every file includes what it names of the standard library") {
  std::map<std::string, std::set<std::string>> known;
  std::vector<std::string> missing;
  for (const std::string& path : Sources()) {
    if (path.ends_with(".cu")) continue;
    const std::string text = ReadText(kRoot / path);
    const std::set<std::string> headers = StandardIn(path, &known);
    for (const auto& [header, names] : kStandard) {
      const bool named =
          std::ranges::any_of(names, [&](std::string_view name) { return text.find(name) != text.npos; });
      if (named && headers.count(std::string(header)) == 0) missing.push_back(path + ": <" + std::string(header) + ">");
    }
  }
  CHECK(Lines(missing) == "");
}

TEST_CASE("every folder with sources has a README of about a screen") {
  std::set<std::string> folders = {"cuda_probe", "models", "tests", "tests/data"};
  for (const std::string& path : Sources()) {
    if (path != "main.cc" && !path.starts_with("models/")) folders.insert(fs::path(path).parent_path().string());
  }
  std::vector<std::string> without;
  for (const std::string& folder : folders) {
    const std::string text = ReadText(kRoot / folder / "README.md");
    const bool titled = text.starts_with("# " + folder + "\n") || text.starts_with("# " + folder + ":");
    if (!titled || std::ranges::count(text, '\n') < 5) without.push_back(folder);
  }
  CHECK(Lines(without) == "");
}

TEST_CASE("nothing names a machine") {
  // Put together here, so that this file is clean too.
  std::vector<std::string> forbidden;
  for (const char* name : {"work", "opt", "home", "root", "mnt", "Users"})
    forbidden.push_back(std::string("/") + name + "/");
  const std::set<std::string> leading = {" ", "\"", "'", "(", "=", ":", "`", "\n", "\t", "["};
  std::vector<std::string> naming;
  for (const std::string& path : FilesBelow(".")) {
    const std::string text = ReadText(kRoot / path);
    for (const std::string& name : forbidden) {
      for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        // An absolute path begins a word: build/root/x is none, "x: /root" would be.
        if (at == 0 || leading.contains(std::string(1, text[at - 1]))) {
          naming.push_back(path + ": " + text.substr(at, 40));
          break;
        }
      }
    }
  }
  CHECK(Lines(naming) == "");
}

}  // namespace
