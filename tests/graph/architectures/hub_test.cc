#include "graph/architectures/hub.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScopedVariable;

// A folder in which `curl` keeps what it is given in the file `asked` and says this.
class FakeCurl {
 public:
  FakeCurl(const std::string& body, const std::string& status, int exit_code)
      : folder_(std::filesystem::temp_directory_path() / ("curl-" + std::to_string(++count_))),
        path_("PATH", (folder_.string() + ":" + std::getenv("PATH")).c_str()),
        online_("HF_HUB_OFFLINE", nullptr),
        endpoint_("HF_ENDPOINT", "http://hub.test/"),
        token_("HF_TOKEN", "hf_secret") {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "body") << body;
    const std::string at = folder_.string();
    std::ofstream(folder_ / "curl") << "#!/bin/sh\ncat >" << at << "/asked\ncat " << at << "/body\nprintf '\\n"
                                    << status << "'\nexit " << exit_code << "\n";
    std::filesystem::permissions(folder_ / "curl", std::filesystem::perms::all);
  }
  ~FakeCurl() { std::filesystem::remove_all(folder_); }
  std::string Asked() const {
    std::ostringstream text;
    text << std::ifstream(folder_ / "asked").rdbuf();
    return text.str();
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path folder_;
  ScopedVariable path_, online_, endpoint_, token_;
};

constexpr const char* kTinyLlama = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
  "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
  "max_position_embeddings": 256, "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "torch_dtype": "float32",
  "hidden_act": "silu"})";

TEST_CASE("hub: a model of two names is asked for once, with the token on curl's input alone") {
  const FakeCurl curl(kTinyLlama, "200", 0);
  const Said said = Do("estimate some-organisation/tiny-llama --dim sequence=16 --gpu t4");
  CHECK_MESSAGE(said.exit_code == 0, said.err);
  CHECK(said.out.find("LlamaForCausalLM") != std::string::npos);
  CHECK(curl.Asked().find("url = \"http://hub.test/some-organisation/tiny-llama/resolve/main/config.json\"") == 0);
  CHECK(curl.Asked().find("authorization: Bearer hf_secret") != std::string::npos);
}

TEST_CASE("hub: what it refuses, and that nobody answers, is one line that says what to do") {
  const struct {
    const char *name, *status;
    int exit_code;
    const char *says, *hint;
  } rows[] = {{"some-organisation/gated", "403", 0, "gated, private, or not there", "HF_TOKEN"},
              {"some-organisation/missing", "404", 0, "no config.json", "vramplan models"},
              {"some-organisation/unreachable", "000", 6, "http://hub.test does not answer", "config.json"},
              {"some-organisation/broken", "200", 0, "", ""}};
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const FakeCurl curl("<html>", row.status, row.exit_code);
    const Said said = Do(std::string("fit ") + row.name + " --gpu t4");
    CHECK(said.exit_code == 1);
    CHECK(said.out.empty());
    CHECK(said.err.find(row.says) != std::string::npos);
    CHECK(said.err.find(row.hint) != std::string::npos);
    CHECK(std::ranges::count(said.err, '\n') == 1);
  }
}

TEST_CASE("hub: offline nobody is asked") {
  const FakeCurl curl(kTinyLlama, "200", 0);
  const ScopedVariable offline("HF_HUB_OFFLINE", "1");
  CHECK(Do("fit some-organisation/offline --gpu t4").exit_code == 1);
  CHECK(curl.Asked().empty());
}

}  // namespace
}  // namespace vramplan
