// The probe of builds without a CUDA toolkit: every answer is an error that says so.
#include "cuda_probe/probe.h"

namespace vramplan {
namespace {

Error NoProbe() {
  return {ErrorCode::kNoCard, "cuda_probe", "this build cannot see cards, because it was built without a CUDA toolkit",
          "install nvcc, remove build/release and run again; or name the card, --gpu t4"};
}

class NullProbe final : public Probe {
 public:
  Result<DriverFacts> Driver() override { return NoProbe(); }
  Result<std::vector<CardFacts>> Cards() override { return NoProbe(); }
  Result<std::unique_ptr<CardSession>> Open(int) override { return NoProbe(); }
  Result<std::optional<Bytes>> Used(int) override { return NoProbe(); }
  Result<std::optional<std::vector<Holder>>> Holders(int) override { return NoProbe(); }
  void Wait(double) override {}
};

}  // namespace

std::unique_ptr<Probe> ThisMachine() { return std::make_unique<NullProbe>(); }
bool BuiltWithProbe() { return false; }

}  // namespace vramplan
