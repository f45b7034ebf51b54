// Pages and SVGs as they are typed: whole, by themselves, and with the numbers of the answer.
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "graph/base/bytes.h"
#include "tests/planner/cli/script_support.h"
#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

// Every element is closed, in order, by its own end; what stands in scripts and styles is not looked at. "": it is so.
std::string Unbalanced(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    if (page[at + 1] == '!') continue;
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag without an end";
    const bool closes = page[at + 1] == '/', alone = page[end - 1] == '/';
    const size_t from = at + (closes ? 2 : 1);
    const std::string name = page.substr(from, page.find_first_of(" />", from) - from);
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes " + (open.empty() ? "" : open.back());
      open.pop_back();
    } else if (!alone) {
      open.push_back(name);
      if (name == "script" || name == "style") at = page.find("</" + name, end) - 1;
    }
  }
  return open.empty() ? "" : open.back() + " is never closed";
}

// What a page must not hold: anything that it would load.
void CheckAlone(const std::string& page) {
  CHECK_EQ(Unbalanced(page), "");
  for (const char* outside : {"src=", "href=\"http", "@import", "url(", "<link", "fetch(", "<iframe"}) {
    CAPTURE(outside);
    CHECK_EQ(page.find(outside), std::string::npos);
  }
  CHECK_LT(page.size(), size_t{2} << 20);
}

int64_t Number(const std::string& json, const std::string& from, const std::string& member) {
  const size_t at = json.find("\"" + member + "\": ", json.find(from));
  REQUIRE_NE(at, std::string::npos);
  return std::stoll(json.substr(at + member.size() + 4));
}

// Every row of the chart's data: the parts of each column.
std::vector<std::vector<int64_t>> Columns(const std::string& page) {
  const size_t begin = page.find("{\"columns\":[[") + 12, end = page.find("]]", begin);
  REQUIRE_NE(end, std::string::npos);
  std::vector<std::vector<int64_t>> columns(1);
  std::string number;
  for (size_t at = begin; at <= end; ++at) {
    const char c = page[at];
    if (c >= '0' && c <= '9') number += c;
    if ((c == ',' || c == ']') && !number.empty()) {
      columns.back().push_back(std::stoll(number));
      number.clear();
    }
    if (c == ']' && at < end) columns.emplace_back();
  }
  return columns;
}

}  // namespace

TEST_CASE("page: every verb about a step draws it") {
  const ScratchFile log("run.log",
                        "CUDA out of memory. Tried to allocate 624.00 MiB. GPU 0 has a total capacity of 14.56 GiB of "
                        "which 200.00 MiB is free. Of the allocated memory 13.70 GiB is allocated by PyTorch, and "
                        "320.00 MiB is reserved by PyTorch but unallocated.\n");
  for (const std::string& line :
       {std::string("estimate MODELS/resnet50.onnx --batch 8"), std::string("estimate MODELS/unet.onnx --mode infer"),
        std::string("estimate MODELS/resnet50.onnx --framework onnxruntime"),
        std::string("fit MODELS/unet.onnx --gpu t4"), std::string("fit MODELS/unet.onnx --gpu t4 --batch 64"),
        std::string("fit MODELS/mlp.onnx --gpu t4"), std::string("plan MODELS/unet.onnx --gpu-memory 8GiB --batch 32"),
        std::string("plan MODELS/unet.onnx --gpu-memory 1GiB --batch 64 --tier none"),
        "explain " + log.path() + " --model MODELS/unet.onnx"}) {
    CAPTURE(line);
    const Said text = Do(line), page = Do(line + " --format html"), svg = Do(line + " --format svg");
    CHECK_EQ(page.exit_code, text.exit_code);
    CHECK_EQ(svg.exit_code, text.exit_code);
    CheckAlone(page.out);
    CHECK_EQ(Unbalanced(svg.out), "");
    CHECK(page.out.starts_with("<!doctype html>\n"));
    CHECK(svg.out.starts_with("<svg xmlns="));
    for (const char* section : {"Memory over the step", "Who holds it at the peak", "Segments at the peak"}) {
      CHECK_NE(page.out.find(section), std::string::npos);
    }
    // The highest column is the peak of the picture, the context is in all of them.
    int64_t highest = 0;
    for (const std::vector<int64_t>& column : Columns(page.out)) {
      REQUIRE_EQ(column.size(), 11);
      int64_t allocated = 0;
      for (size_t part = 0; part < 9; ++part) allocated += column[part];
      highest = std::max(highest, allocated);
    }
    const std::string peak = "peak " + ToString(Bytes::Of(highest)) + " allocated";
    CHECK_NE(page.out.find(peak), std::string::npos);
    CHECK_NE(svg.out.find(peak), std::string::npos);
  }
}

TEST_CASE("page: the numbers of the picture are those of the answer") {
  const std::string line = "estimate MODELS/resnet50.onnx --batch 8 --gpu t4";
  const std::string json = Do(line + " --format json").out, page = Do(line + " --format html").out;
  int64_t requested = 0, allocated = 0, device = 0;
  for (const std::vector<int64_t>& column : Columns(page)) {
    int64_t sum = 0;
    for (size_t part = 0; part < 8; ++part) sum += column[part];
    requested = std::max(requested, sum);
    allocated = std::max(allocated, sum + column[8]);
    device = std::max(device, sum + column[8] + column[9] + column[10]);
  }
  CHECK_EQ(allocated, Number(json, "\"peak\": {", "allocated"));
  CHECK_EQ(device, Number(json, "\"peak\": {", "device"));
  CHECK_LE(requested, Number(json, "\"peak\": {", "requested"));
  // Who holds it: the root of the tree is requested at that moment.
  int64_t categories = 0;
  for (const char* name :
       {"parameters", "buffers", "gradients", "optimizer_state", "activations", "temporaries", "inputs", "workspace"})
    categories += Number(json, "\"categories\": {", name);
  CHECK_NE(page.find("<details data-b=\"" + std::to_string(categories) + "\" data-n=\"the step\""), std::string::npos);
}

TEST_CASE("page: the batches of fit are in its chart") {
  const std::string page = Do("fit MODELS/unet.onnx --gpu t4 --format html").out;
  const std::string json = Do("fit MODELS/unet.onnx --gpu t4 --format json").out;
  const std::string safe = std::to_string(Number(json, "\"schema\"", "safe_batch"));
  const int64_t largest = Number(json, "\"schema\"", "largest_batch");
  CHECK_NE(page.find("Up to " + safe + " it is safe. Up to " + std::to_string(largest) + " it may fit. From " +
                     std::to_string(largest + 1) + " on it fails."),
           std::string::npos);
  const auto row = [&](int64_t batch, const std::string& verdict) {
    const std::regex cells("<tr><td class=\"n\">" + std::to_string(batch) +
                           "</td>(<td class=\"n\">[0-9.]+ [GM]iB</td>){3}<td class=\"t\">" + verdict + "</td></tr>");
    return std::regex_search(page, cells);
  };
  CHECK(row(1, "safe"));
  CHECK(row(std::stoll(safe), "safe"));
  CHECK(row(largest, "may fit"));
  // Those two are exact: the answer's own.
  const std::string likely = ToString(Bytes::Of(Number(json, "\"peak\": {", "device")));
  CHECK_NE(page.find("batch 1: " + likely), std::string::npos);
}

TEST_CASE("page: a name from a file cannot become an element") {
  std::string record = "op,id,bytes,step,phase,category,element,module,file,line,function\n";
  record += "alloc,0,1000000,0,setup,parameters,4,,/x/train.py,6,main\n";
  record += "alloc,1,9000000,1,forward,activations,4,</script><img src=x onerror=alert(1)>,/x/m.py,9,<b>\n";
  record += "free,1,9000000,1,backward,,,,,,\n";
  const ScratchFile file("run.csv", record);
  const std::string page = Do("fit " + file.path() + " --gpu t4 --format html").out;
  CHECK_EQ(Unbalanced(page), "");
  CHECK_EQ(page.find("<img"), std::string::npos);
  CHECK_EQ(page.find("<b>,"), std::string::npos);
  CHECK_NE(page.find("&lt;img src=x onerror=alert(1)&gt;"), std::string::npos);
}

TEST_CASE("page: of a script's run, its record, and every card") {
  const testing::Script script{testing::kWhole, testing::kCard};
  const Said run = testing::Run("--gpu t4 --format html", script);
  CHECK_EQ(run.exit_code, 0);
  CheckAlone(run.out);
  CHECK_NE(run.out.find("PyTorch&#39;s own counters"), std::string::npos);
  CHECK_NE(run.out.find("blocks.0"), std::string::npos);
  const Said varied = testing::Run("--gpu t4 --vary A=1,2 --format html", script);
  CheckAlone(varied.out);
  CHECK_EQ(testing::Run("--gpu t4 --vary A=1,2 --format svg", script).exit_code, 2);
  CHECK(testing::Run("--gpu t4 --format svg", script).out.starts_with("<svg "));
  const Said full = testing::Run("--gpu t4 --format html", {testing::kFull, testing::kCard});
  CHECK_EQ(full.exit_code, 3);
  CheckAlone(full.out);
  const Said all = Do("fit MODELS/unet.onnx --gpu all --format html");
  CheckAlone(all.out);
  CHECK_NE(all.out.find("Tesla T4"), std::string::npos);
  CHECK_EQ(Do("fit MODELS/unet.onnx --gpu all --format svg").exit_code, 2);
  CHECK_EQ(Do("inspect MODELS/unet.onnx --format html").exit_code, 2);
}

TEST_CASE("page: of a run it has the lines of Python, and how sure it is") {
  const Said run = testing::Run("--gpu t4 --format html", {testing::kWhole, testing::kCard});
  CHECK_NE(run.out.find("Who holds it at the peak"), std::string::npos);
  CHECK_NE(run.out.find("How sure it is"), std::string::npos);
}

TEST_CASE("page: a sweep has its curves alone, and a diff is a page") {
  const std::string line = "sweep MODELS/unet.onnx --over batch=1,2,8 --gpu t4 --format ";
  const Said svg = Do(line + "svg"), page = Do(line + "html");
  CHECK_EQ(svg.exit_code, 0);
  CHECK_EQ(Unbalanced(svg.out), "");
  CHECK(svg.out.starts_with("<svg xmlns="));
  CheckAlone(page.out);
  for (const std::string& drawn : {svg.out, page.out}) {
    CHECK_NE(drawn.find("bytes on the device, likely"), std::string::npos);
    CHECK_NE(drawn.find("Tesla T4: 14.56 GiB"), std::string::npos);
    // 2 is a seventh of the way from 1 to 8.
    CHECK(std::regex_search(drawn, std::regex("class=\"curve\"[^>]* d=\"M0 [0-9]+L142 [0-9]+L1000 ")));
  }
  const Said diff = Do("diff MODELS/mlp.onnx MODELS/unet.onnx --budget 2% --format html");
  CHECK_EQ(diff.exit_code, 3);
  CheckAlone(diff.out);
  CHECK_NE(diff.out.find("beyond the budget of 2 %"), std::string::npos);
  CHECK_NE(diff.out.find("requested"), std::string::npos);
}

TEST_CASE("page: what is drawn is what is written, and axes have titles") {
  const std::string page = Do("fit MODELS/unet.onnx --gpu t4 --batch 16 --format html").out;
  // The mark stands above the context.
  CHECK(std::regex_search(page, std::regex("peak [0-9.]+ GiB allocated, [0-9.]+ GiB with the context")));
  CHECK_NE(page.find("<p class=\"axis up\">bytes on the device</p>"), std::string::npos);
  CHECK_NE(page.find("<p class=\"axis across\">batch</p>"), std::string::npos);
}

TEST_CASE("page: it replaces an earlier page, and nothing else") {
  const ScratchFile page("answer.html"), other("mine.html", "<!doctype html>\n<title>mine</title>\n");
  const std::string line = "estimate MODELS/mlp.onnx --format html --out ";
  CHECK_EQ(Do(line + page.path()).exit_code, 0);
  CHECK_EQ(Do(line + page.path()).exit_code, 0);
  CHECK_EQ(Do("estimate MODELS/mlp.onnx --format svg --out " + page.path()).exit_code, 0);
  CHECK_EQ(Do(line + page.path()).exit_code, 0);
  CHECK_EQ(Do(line + other.path()).exit_code, 2);
  CHECK_EQ(other.Bytes(), "<!doctype html>\n<title>mine</title>\n");
}
}  // namespace vramplan::testing
