#include "planner/spec/wheels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace vramplan {
namespace {

// TORCH_CUDA_ARCH_LIST of what each release published: pytorch/builder manywheel/build_cuda.sh, pytorch
// .ci/manywheel/build_cuda.sh and RELEASE.md, pytorch#190355 (2.14), pytorch#190385 (2.15).
TEST_CASE("the lowest capability that a version's wheels hold kernels for") {
  CHECK(LowestCapability({2, 0}) == Capability{3, 7});
  CHECK(LowestCapability({2, 7}) == Capability{3, 7});
  CHECK(LowestCapability({2, 8}) == Capability{5, 0});
  CHECK(LowestCapability({2, 14}) == Capability{5, 0});
  CHECK(LowestCapability({2, 15}) == Capability{7, 5});
  CHECK(LowestCapability({2, 15, Runtime::kOnnxRuntime}) == Capability{0, 0});
  CHECK(LastFor({3, 7}) == Framework{2, 7});
  CHECK(LastFor({7, 0}) == Framework{2, 14});
  CHECK(LastFor({7, 5}) == Framework{2, 15});
  CHECK_FALSE(LastFor({3, 0}));
}

TEST_CASE("cards that a version runs on, the smallest first") {
  const auto has = [](Framework framework, const std::string& id) {
    return std::ranges::any_of(CardsFor(framework), [&](const Card* card) { return card->id == id; });
  };
  CHECK(has({2, 7}, "k80"));
  CHECK_FALSE(has({2, 8}, "k80"));
  CHECK(has({2, 14}, "v100-16gb"));
  CHECK_FALSE(has({2, 15}, "v100-16gb"));
  CHECK(has({2, 15}, "t4"));
  CHECK_FALSE(has({2, 15}, "mi300x"));  // AMD's are another question
  const std::vector<const Card*> cards = CardsFor({2, 15});
  CHECK(std::ranges::is_sorted(cards, {}, [](const Card* card) { return card->usable; }));
}

}  // namespace
}  // namespace vramplan
