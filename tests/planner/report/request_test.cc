#include "planner/report/request.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

TEST_CASE("request: the high end, rounded up to MiB") {
  const Request request{"unet.onnx trains on Tesla T4",
                        {Bytes::MiB(900), Bytes::MiB(1000), Bytes::MiB(1222) + Bytes::Of(1)},
                        Band{Bytes::MiB(1), Bytes::MiB(2), Bytes::MiB(3000)},
                        2};
  const std::string text = PrintRequest(request);
  for (const char* line : {
           "# unet.onnx trains on Tesla T4\n",
           "\nGPU_MEMORY_BYTES=1281359873\n",
           "\nGPU_MEMORY_MIB=1223\n",
           "\nHOST_MEMORY_MIB=3000\n",
           "\n#SBATCH --gres=gpu:2\n",
           "\n#SBATCH --mem=3000M\n",
           "memory.compareTo(quantity('1223Mi')) >= 0\"\n",
           "nvidia.com/gpu: 2, memory: 3000Mi",
       }) {
    CAPTURE(line);
    CHECK_NE(text.find(line), std::string::npos);
  }
  const std::string without = PrintRequest({request.verdict, request.device, std::nullopt});
  CHECK_EQ(without.find("--mem="), std::string::npos);
  CHECK_EQ(without.find("HOST_MEMORY"), std::string::npos);
}

TEST_CASE("request: fit's numbers, and its exit code") {
  const Said said = Do("fit MODELS/unet.onnx --gpu t4 --format request");
  CHECK_EQ(said.exit_code, 0);
  const Said json = Do("fit MODELS/unet.onnx --gpu t4 --host --format json");
  const Json answer = ParseJson("fit", json.out).value();
  const auto member = [](const Json& of, const std::string& name) {
    for (const auto& [key, value] : std::get<Json::Members>(of.value()))
      if (key == name) return value;
    return Json();
  };
  const std::string high = PrintCompact(member(member(answer, "device"), "high"));
  CHECK_NE(said.out.find("\nGPU_MEMORY_BYTES=" + high + "\n"), std::string::npos);
  CHECK_NE(said.out.find("\n#SBATCH --mem="), std::string::npos);
  CHECK(said.out.starts_with("# unet.onnx trains on Tesla T4"));
  CHECK_EQ(Do("fit MODELS/unet.onnx --gpu-memory 100MiB --format request").exit_code, 3);
  const Said many = Do("fit MODELS/unet.onnx --gpu all --format request");
  CHECK_EQ(many.exit_code, 2);
  CHECK(Says(many.err, "request are for one card"));
  CHECK_EQ(Do("plan MODELS/unet.onnx --gpu t4 --format request").exit_code, 2);
}

}  // namespace
}  // namespace vramplan::testing
