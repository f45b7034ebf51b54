// Whole streams of recurrent networks are in tests/data/operators/models.csv.gz; here is what cuDNN alone decides.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "planner/semantics/cudnn_recurrent.h"
#include "tests/support/one_operator.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

using eager::RecurrentCell;
using eager::RecurrentNetwork;

TEST_CASE("recurrent networks: the weight space has room for both biases") {
  // nn.LSTM(64, 128): 512 * (64 + 128) + 2 * 512, recorded as one block of 397'312 B.
  CHECK(eager::WeightSpace({RecurrentCell::kLstm, 64, 128, 128, 1, 1}) * 4 == 397312);
  CHECK(eager::WeightSpace({RecurrentCell::kGru, 64, 128, 128, 1, 1}) == 384 * 192 + 768);
  // proj_size=32: what comes back is narrower, and a matrix 32 x 128 more.
  CHECK(eager::WeightSpace({RecurrentCell::kLstm, 64, 128, 32, 1, 1}) == 512 * 96 + 32 * 128 + 1024);
  CHECK(eager::WeightSpace({RecurrentCell::kRnn, 64, 128, 128, 2, 2}) == 2 * (128 * 192 + 128 * 384) + 1024);
}

TEST_CASE("recurrent networks: reserve and workspace of pytorch/pytorch#2895") {
  // 4 layers, 123 -> 320, 25'000 positions, fp32, Tesla P100.
  const RecurrentNetwork lstm{RecurrentCell::kLstm, 123, 320, 320, 4, 1}, gru{RecurrentCell::kGru, 123, 320, 320, 4, 1};
  CHECK(eager::ReservePerPosition(lstm) * 4 * 25000 == 736000000);
  CHECK(eager::ReservePerPosition(gru) * 4 * 25000 == 864000000);
  CHECK(eager::WorkspaceOf(lstm, 100) * 4 == 17730560);
  CHECK(eager::WorkspaceOf(gru, 100) * 4 == 13169920);
}

TEST_CASE("recurrent networks: the reserve is what cuDNN took on a real H200, and so are the states of its dropout") {
  const std::vector<testing::Row> rows = testing::ReadCsv(testing::DataFolder() + "/truth/real/h200/rnn.csv");
  CHECK(rows.size() == 888);
  for (const testing::Row& row : rows) {
    const auto whole = [&](const char* column) -> int64_t { return std::stoll(row.at(column)); };
    const std::string& mode = row.at("mode");
    RecurrentNetwork network;
    network.cell = mode == "lstm" ? RecurrentCell::kLstm : mode == "gru" ? RecurrentCell::kGru : RecurrentCell::kRnn;
    network.layers = whole("layers");
    network.directions = whole("directions");
    network.input = whole("input");
    network.hidden = whole("hidden");
    network.projected = whole("projection") == 0 ? network.hidden : whole("projection");
    const int64_t element = row.at("type") == "float32" ? 4 : 2;
    CAPTURE(mode);
    CAPTURE(whole("layers"));
    CHECK(eager::ReserveBytes(network, whole("positions"), element, std::stod(row.at("dropout")) > 0) ==
          whole("reserve"));
  }
  CHECK(eager::DropoutStateBytes(132, 2048) == 6488064);
}

TEST_CASE("an lstm alone: states, output, and gradients that are parts of one block") {
  testing::CheckOperator({"lstm", "num_layers=1 batch_first=0 hidden_size=16",
                          "x:f[5,2,8] - - p:f[64,8] p:f[64,16] p:f[64] p:f[64]", "f[5,2,16] f[1,2,16] f[1,2,16]",
                          "1+128 2+128 3+640 4+128 5+128", "x 1 2 3",
                          "6+320 7+128 8+128 9+6656 7- 8- g- g2- g3- 2- 1- x- 3- 9=.grad 9=.grad 9=.grad 9=.grad 6-"});
}

}  // namespace
}  // namespace vramplan
