// Profile: measurements of one card, which replace what the catalogue and the formulas say about it.
//
//   {"schema": "vramplan.profile/1", "date": "2026-11-20", "driver": "580.95",
//    "card": {"name": "Tesla T4", "uuid": "GPU-1111...", "capability": "7.5", "multiprocessors": 40,
//             "usable": 15633680957},
//    "context": {"low": 300000000, "likely": 310000000, "high": 330000000},
//    "rates": {"bandwidth": 2.4e11, "fp32": 7.1e12, "half": 2.9e13},
//    "loads": {"context": 298000000, "kernel": 2097152, "cublas": 8388608, "cudnn": null},
//    "memory": {"granularity": 2097152, "largest": 14000000000, "reachable": 15000000000, "margin": 268435456},
//    "fits": [{"what": "copy", "rate": 2.4e11, "launch": 6.1e-06, "residual": 0.012, "samples": 12}],
//    "convolutions": [{"pass": "forward", "type": "float32", "channels_last": false,
//                      "input": [8, 64, 56, 56], "filter": [64, 64, 3, 3], "output": [8, 64, 56, 56],
//                      "workspace": 3211264}]}
//
// Units: bytes, bytes or FLOP a second, seconds. `card` is required (its uuid is not); the other members are there if
// they were measured. A plan uses context, rates and convolutions; loads, memory and fits say where those come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/solver/time_model.h"
#include "planner/spec/context.h"
#include "planner/spec/measured_workspaces.h"
#include "planner/spec/spec.h"

namespace vramplan {

// What a process takes of the card beside its tensors. Nothing: could not be measured, or is not installed.
struct MeasuredLoads {
  std::optional<Bytes> context;                // with nothing loaded
  std::optional<Bytes> kernel, cublas, cudnn;  // what the first use of each added
  bool operator==(const MeasuredLoads&) const = default;
};

// What could be allocated, beside what others held.
struct MeasuredMemory {
  Bytes granularity;  // what every allocation was rounded to
  Bytes largest;      // one block
  Bytes reachable;    // in pieces, the margin that was left alone included
  Bytes margin;
  bool operator==(const MeasuredMemory&) const = default;
};

// seconds = launch + work / rate, by least squares.
struct FittedRate {
  std::string what;     // "copy", "fp32", "tf32", "fp16", "bf16"
  double rate = 0;      // bytes (copy) or FLOP a second
  double launch = 0;    // seconds
  double residual = 0;  // root of the mean square of (said - measured) / measured
  int samples = 0;
  bool operator==(const FittedRate&) const = default;
};

struct MeasuredConvolution {
  ConvolutionShape shape;
  Bytes workspace;
  bool operator==(const MeasuredConvolution& other) const;
};

struct Profile {
  std::string name, uuid;  // of the card
  Capability capability;
  int multiprocessors = 0;
  Bytes usable;
  std::string date, driver;            // empty: not said
  std::optional<ContextBand> context;  // its source names the file
  std::optional<Rates> rates;
  std::optional<MeasuredLoads> loads;
  std::optional<MeasuredMemory> memory;
  std::vector<FittedRate> fits;
  std::vector<MeasuredConvolution> convolutions;
  bool operator==(const Profile&) const = default;
};

MeasuredWorkspaces WorkspacesOf(const Profile& profile);

}  // namespace vramplan
