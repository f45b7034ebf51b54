#include "tests/support/development.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "planner/allocator/replay.h"
#include "planner/spec/adapters.h"
#include "planner/timeline/timeline.h"

namespace vramplan::testing {
namespace {

// A row's files, relative to tests/data.
std::vector<std::string> FilesOf(const Row& row) {
  const auto kind = row.find("kind");
  const bool adapter = kind != row.end() && kind->second == "adapter";
  const std::string model = row.at("model"), folder = adapter ? "adapters/" : "zoo/";
  std::vector<std::string> files;
  for (const std::string& file :
       {folder + model + ".ts-train.onnx", folder + model + ".dynamo-train.onnx", "pt2/" + model + ".pt2"}) {
    if (std::filesystem::exists(DataFolder() + "/" + file)) files.push_back(file);
  }
  return files;
}

double ErrorOf(const Layers& layers, const Row& row) {
  const int64_t batch = Count(row, "batch");
  const auto timeline = Schedule(layers, SpecOf(row).value(), batch, nullptr);
  if (!timeline.ok()) return 1;
  double worst = 0;
  for (const StepPeak& step : Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).steps) {
    const int64_t truth = Count(row, "step" + std::to_string(step.step) + "_requested");
    if (truth < 0) continue;
    const double error = static_cast<double>(step.peak.requested.count()) / static_cast<double>(truth) - 1;
    worst = std::max(worst, std::abs(error));
  }
  return worst;
}

}  // namespace

std::vector<DevelopmentFile> DevelopmentFiles() {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Row> largest;
  for (const char* table : {"pytorch", "models", "frozen"}) {
    for (Row& row : ReadCsv(DataFolder() + "/truth/" + table + ".csv")) {
      if (row.at("framework") != "pytorch@2.10" || row.at("capability") != "7.5") continue;
      if (row.contains("kind") && row.at("kind") != "adapter") continue;
      row.try_emplace("mode", "train");
      Row& kept = largest[{row.at("model"), row.at("dims"), row.at("mode"), row.at("precision")}];
      if (kept.empty() || Count(kept, "batch") <= Count(row, "batch")) kept = std::move(row);
    }
  }
  std::map<std::string, DevelopmentFile> files;
  for (const auto& [question, row] : largest) {
    for (const std::string& name : FilesOf(row)) {
      DevelopmentFile& file = files[name];
      file.name = std::filesystem::path(name).filename().string();
      file.path = DataFolder() + "/" + name;
      file.rows.push_back(row);
    }
  }
  std::vector<DevelopmentFile> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

std::vector<double> ErrorsOf(const DevelopmentFile& file) {
  std::map<std::string, Result<Layers>> by_dims;
  std::vector<double> errors;
  for (const Row& row : file.rows) {
    const std::string& dims = row.at("dims");
    if (!by_dims.contains(dims)) {
      Notes notes;
      Result<Layers> layers = LayersOf(file.path, dims);
      if (layers.ok() && row.contains("kind")) AssumeFrozenBase({}, &*layers, &notes);
      by_dims.emplace(dims, std::move(layers));
    }
    const Result<Layers>& layers = by_dims.at(dims);
    errors.push_back(layers.ok() ? ErrorOf(*layers, row) : 1);
  }
  return errors;
}

}  // namespace vramplan::testing
