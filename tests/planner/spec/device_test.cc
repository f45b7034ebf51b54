#include "planner/spec/device.h"

#include <doctest/doctest.h>

#include <set>

namespace vramplan {
namespace {

TEST_CASE("the catalogue: ids are unique, every row is complete, usable is below the number on the box") {
  CHECK_GE(Cards().size(), 70);
  std::set<std::string> ids;
  for (const Card& card : Cards()) {
    CAPTURE(card.id);
    CHECK(ids.insert(card.id).second);
    CHECK_FALSE(card.name.empty());
    CHECK_FALSE(card.source.empty());
    CHECK(std::string("OSK").find(card.source[0]) != std::string::npos);
    CHECK_GT(card.multiprocessors, 0);
    CHECK_GT(card.bandwidth_gb_s, 0);
    CHECK_GE(card.capability, Capability{3, 7});
    CHECK_LE(card.usable, Bytes::GiB(card.marketed_gb));
    if (card.id != "strix-halo") CHECK_GT(card.usable, Bytes::MiB(900) * card.marketed_gb);
    const Result<Card> found = FindCard(card.id);
    REQUIRE(found.ok());
    CHECK_EQ(found->id, card.id);
    const Result<Card> named = FindCard(card.name);
    REQUIRE(named.ok());
    CHECK_EQ(named->id, card.id);
  }
}

TEST_CASE("cards by the names that people and tools write") {
  struct Row {
    const char *typed, *id;
  };
  constexpr Row kRows[] = {
      {"t4", "t4"},
      {"T4", "t4"},
      {"Tesla T4", "t4"},
      {"NVIDIA GeForce RTX 3090", "rtx-3090"},
      {"3090", "rtx-3090"},
      {"rtx4090", "rtx-4090"},
      {"RTX 4090 24GB", "rtx-4090"},
      {"3080ti", "rtx-3080-ti"},
      {"3080 12gb", "rtx-3080-12gb"},
      {"NVIDIA GeForce RTX 3060 Laptop GPU", "rtx-3060-laptop"},
      {"NVIDIA A100-SXM4-80GB", "a100-80gb"},
      {"NVIDIA A100 80GB PCIe", "a100-80gb"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"Tesla V100-SXM2-16GB", "v100-16gb"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
      {"16GB T4", "t4"},
      {"t4 16 GB", "t4"},
      {"g4dn", "t4"},
      {"g4dn.xlarge", "t4"},
      {"g5", "a10g"},
      {"g5.12xlarge", "a10g"},
      {"g6", "l4"},
      {"p3", "v100-16gb"},
      {"colab-t4", "t4"},
      {"h100", "h100-sxm"},
      {"NVIDIA H100", "h100-sxm"},
      {"h100-80gb", "h100-sxm"},
      {"AMD Instinct MI300X", "mi300x"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.typed);
    const Result<Card> card = FindCard(row.typed);
    REQUIRE_MESSAGE(card.ok(), ToString(card.error()));
    CHECK_EQ(card->id, row.id);
  }
}

TEST_CASE("ambiguous names are refused with the choices, unknown ones with the nearest") {
  struct Row {
    const char *typed, *error;
  };
  constexpr Row kRows[] = {
      {"a100", "--gpu: \"a100\" is ambiguous: it can be a100-40gb or a100-80gb (hint: type --gpu a100-40gb)"},
      {"RTX 3080",
       "--gpu: \"RTX 3080\" is ambiguous: it can be rtx-3080-10gb or rtx-3080-12gb (hint: type --gpu rtx-3080-10gb)"},
      {"v100", "--gpu: \"v100\" is ambiguous: it can be v100-16gb or v100-32gb (hint: type --gpu v100-16gb)"},
      {"rtx 3091", "--gpu: \"rtx 3091\" is not in the catalogue (hint: did you mean rtx-3090?)"},
      {"banana",
       "--gpu: \"banana\" is not in the catalogue (hint: \"vramplan gpus\" lists the cards; --gpu-memory 16GiB takes "
       "any size)"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.typed);
    const Result<Card> card = FindCard(row.typed);
    REQUIRE_FALSE(card.ok());
    CHECK_EQ(ToString(card.error()), row.error);
  }
}

TEST_CASE("known facts: usable bytes, capability and multiprocessors") {
  struct Row {
    const char* id;
    int64_t usable;
    Capability capability;
    int multiprocessors;
  };
  constexpr Row kRows[] = {
      {"t4", 15'633'680'957, {7, 5}, 40},           // 14.56 GiB
      {"v100-16gb", 16'911'433'728, {7, 0}, 80},    // 15.75 GiB
      {"a100-40gb", 42'294'690'447, {8, 0}, 108},   // 39.39 GiB
      {"rtx-3060", 12'487'617'413, {8, 6}, 28},     // 11.63 GiB
      {"rtx-3090-ti", 25'285'361'664, {8, 6}, 84},  // 24114 MiB
      {"l4", 23'654'532'382, {8, 9}, 58},           // 22.03 GiB
      {"h100-pcie", 84'943'044'608, {9, 0}, 114},   // 81008 MiB
      {"rtx-pro-4500", 33'689'829'376, {12, 0}, 82},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.id);
    const Result<Card> card = FindCard(row.id);
    REQUIRE(card.ok());
    CHECK_EQ(card->usable.count(), row.usable);
    CHECK_EQ(card->capability, row.capability);
    CHECK_EQ(card->multiprocessors, row.multiprocessors);
  }
}

TEST_CASE("the context is a band for every card, and a point when given") {
  for (const Card& card : Cards()) {
    CAPTURE(card.id);
    const ContextBand band = ContextOf(card.capability, kNewestFramework, card.nvidia);
    CHECK_LT(band.low, band.likely);
    CHECK_LT(band.likely, band.high);
    CHECK_FALSE(band.source.empty());
  }
  CHECK_EQ(ContextOf({7, 5}, kNewestFramework).likely, Bytes::MiB(350));
  CHECK_EQ(ContextOf({8, 7}, kNewestFramework).likely, ContextOf({8, 6}, kNewestFramework).likely);
  CHECK_EQ(ContextOf({12, 0}, kNewestFramework).likely, ContextOf({10, 0}, kNewestFramework).likely);
  // With the CUDA of PyTorch 2.3 and before a context can be smaller (pytorch#86509).
  CHECK_EQ(ContextOf({8, 9}, {2, 3}).low, Bytes::Of(287'047'680));
  CHECK_EQ(ContextOf({8, 9}, {2, 4}).low, Bytes::MiB(426));
  CHECK_EQ(ContextOf({7, 5}, {2, 0}), ContextOf({7, 5}, {2, 15}));
  CHECK_EQ(GivenContext(Bytes::MiB(100)).high, Bytes::MiB(100));
}

TEST_CASE("what the allocator may take: usable less context less reserve, never below zero") {
  const Device device{"4 GiB", Bytes::GiB(4), "", ContextOf({7, 5}, kNewestFramework), Bytes::MiB(512)};
  CHECK_EQ(device.CapacityWith(Bytes::MiB(350)), Bytes::MiB(4096 - 350 - 512));
  CHECK_EQ(device.CapacityWith(Bytes::GiB(5)), Bytes());
}

}  // namespace
}  // namespace vramplan
