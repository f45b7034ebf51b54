#include "graph/programs/aten_target.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("the name of a call, and whether it writes in place") {
  struct Row {
    const char* target;
    AtenTarget read;
  };
  const Row rows[] = {{"aten.relu.default", {"aten.relu.default", false}},
                      {"aten.relu_.default", {"aten.relu.default", true}},
                      {"aten.__and__.Tensor", {"aten.bitwise_and.Tensor", false}},
                      {"aten.__ior__.Scalar", {"aten.bitwise_or.Scalar", true}},
                      {"aten.__lshift__.Tensor", {"aten.__lshift__.Tensor", false}},
                      {"aten.add_", {"aten.add", true}},
                      {"aten.pow.Scalar", {"aten.pow.Scalar", false}},
                      {"aten.pow_.Scalar", {"aten.pow.Tensor_Scalar", true}},
                      {"prims.convert_element_type.default", {"prims.convert_element_type.default", false}},
                      {"_operator.mul", {"_operator.mul", false}},
                      {"aten._", {"aten._", false}},
                      {"relu_", {"relu_", false}},
                      {"", {"", false}}};
  for (const Row& row : rows) {
    CAPTURE(row.target);
    CHECK(ReadAtenTarget(row.target) == row.read);
  }
}

}  // namespace
}  // namespace vramplan
