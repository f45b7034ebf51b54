#include "planner/report/parts/device_band.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

constexpr Style kPlain{.width = 100, .unicode = false};
const ContextBand kContext{Bytes::MiB(195), Bytes::MiB(350), Bytes::MiB(450), "seen"};

TEST_CASE("without a choice of cuDNN's only the context has a width") {
  const DeviceBand band = BandOf(Bytes::GiB(2), {}, kContext);
  CHECK_EQ(band.device(), Band{Bytes::MiB(2048 + 195), Bytes::MiB(2048 + 350), Bytes::MiB(2048 + 450)});
  CHECK_FALSE(band.convolutions.has_value());
  CHECK_EQ(PrintBand(BandOf(Bytes::GiB(2), {}, GivenContext(Bytes())), kPlain), "");
}

TEST_CASE("where cuDNN chooses, its workspaces are a row of their own, and rows sum to the device") {
  const DeviceBand band = BandOf(Bytes::Of(1000), {true, Bytes::Of(1500)}, GivenContext(Bytes::Of(50)));
  CHECK_EQ(band.reserved, Band{Bytes::Of(950), Bytes::Of(1000), Bytes::Of(1000)});
  CHECK_EQ(*band.convolutions, Band{Bytes(), Bytes(), Bytes::Of(500)});
  CHECK_EQ(band.device(), Band{Bytes::Of(1000), Bytes::Of(1050), Bytes::Of(1550)});
  // Where the formula's blocks find room in what is cached, what measured cards took above ours remains.
  CHECK_EQ(BandOf(Bytes::Of(1000), {true, Bytes::Of(900)}, kContext).convolutions->high, Bytes::Of(80));
  CHECK_EQ(MeasuredAbove(Bytes::Of(1000)), Bytes::Of(80));
}

TEST_CASE("the table of a band") {
  CHECK_EQ(PrintBand(BandOf(Bytes::MiB(1000), {true, Bytes::MiB(1200)}, kContext), kPlain),
           R"(  how sure                         low       likely         high
  reserved                  950.00 MiB  1000.00 MiB  1000.00 MiB
  cuDNN workspaces                 0 B          0 B   200.00 MiB
  CUDA context and kernels  195.00 MiB   350.00 MiB   450.00 MiB
  ------------------------  ----------  -----------  -----------
  on the device               1.12 GiB     1.32 GiB     1.61 GiB
)");
}

TEST_CASE("cuDNN chooses for convolutions, unless the user says how much") {
  Layers layers;
  TrainingSpec spec;
  layers.layers.resize(1);
  layers.layers[0].op = "linear";
  CHECK_FALSE(CudnnChooses(layers, spec));
  layers.layers[0].op = "conv_transpose2d";
  CHECK(CudnnChooses(layers, spec));
  spec.cudnn_workspace = Bytes();
  CHECK_FALSE(CudnnChooses(layers, spec));
}

}  // namespace
}  // namespace vramplan
