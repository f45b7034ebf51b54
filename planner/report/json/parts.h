// What several answers have, as fields (planner/report/writing/fields.h).
#pragma once

#include <string>
#include <vector>

#include "planner/report/estimate.h"
#include "planner/report/fit.h"
#include "planner/report/parts/host.h"
#include "planner/report/parts/segments.h"
#include "planner/report/parts/sweep_laws.h"
#include "planner/report/writing/fields.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {

// What is read of a peak: its levels with a context, also with where it is, and its bytes by category.
struct LevelsAt {
  const Peak* peak;
  Bytes context;
};
struct PeakAt : LevelsAt {
  const PeakPlace* place;
};
struct CategoriesOf {
  const Peak* peak;
};
// What several assumptions do together.
struct JointlyOf {
  const std::vector<Assumption>* assumptions;
};

// The card of an answer about a step.
struct CardOf {
  std::string id;
  const Device* device;
};

// What on_a_larger_card says.
inline constexpr char kOnALargerCard[] = "device bytes on a card that is never full, where PyTorch gives no cache back";

// {"$ref"} to "$defs"; the fields are in parts.cc.
template <>
struct Described<Note> {
  static constexpr const char* kName = "note";
  static Fields<Note> Make();
};
template <>
struct Described<Band> {
  static constexpr const char* kName = "band";
  static Fields<Band> Make();
};
template <>
struct Described<ContextBand> {
  static constexpr const char* kName = "";
  static Fields<ContextBand> Make();
};
template <>
struct Described<Remedy> {
  static constexpr const char* kName = "";
  static Fields<Remedy> Make();
};
template <>
struct Described<DeviceBand> {
  static constexpr const char* kName = "device";
  static Fields<DeviceBand> Make();
};
template <>
struct Described<LevelsAt> {
  static constexpr const char* kName = "levels";
  static Fields<LevelsAt> Make();
};
template <>
struct Described<Levels> {
  static constexpr const char* kName = "allocator_levels";
  static Fields<Levels> Make();
};
template <>
struct Described<SweepLaw> {
  static constexpr const char* kName = "law";
  static Fields<SweepLaw> Make();
};
template <>
struct Described<PeakAt> {
  static constexpr const char* kName = "peak";
  static Fields<PeakAt> Make();
};
template <>
struct Described<CardOf> {
  static constexpr const char* kName = "";
  static Fields<CardOf> Make();
};
template <>
struct Described<CategoriesOf> {
  static constexpr const char* kName = "categories";
  static Fields<CategoriesOf> Make();
};
template <>
struct Described<ModelFacts> {
  static constexpr const char* kName = "model";
  static Fields<ModelFacts> Make();
};
template <>
struct Described<Assumption> {
  static constexpr const char* kName = "assumption";
  static Fields<Assumption> Make();
};
template <>
struct Described<JointlyOf> {
  static constexpr const char* kName = "assumptions_together";
  static Fields<JointlyOf> Make();
};
template <>
struct Described<Bottleneck> {
  static constexpr const char* kName = "bottleneck";
  static Fields<Bottleneck> Make();
};
template <>
struct Described<Pool> {
  static constexpr const char* kName = "pool";
  static Fields<Pool> Make();
};
template <>
struct Described<LayerRow> {
  static constexpr const char* kName = "layer";
  static Fields<LayerRow> Make();
};
template <>
struct Described<Segment> {
  static constexpr const char* kName = "segment";
  static Fields<Segment> Make();
};
template <>
struct Described<BandRow> {
  static constexpr const char* kName = "host_row";
  static Fields<BandRow> Make();
};
template <>
struct Described<HostMemory> {
  static constexpr const char* kName = "host";
  static Fields<HostMemory> Make();
};

template <>
struct JsonType<Notes> {
  static Json Value(const Notes& notes) { return JsonOf(notes.all()); }
  static Json Schema(SchemaParts* parts) { return JsonType<std::vector<Note>>::Schema(parts); }
};
// The options behind an answer, by name: {"precision": {"value": "fp32", "given": false}}
template <>
struct JsonType<std::vector<SpecRow>> {
  static Json Value(const std::vector<SpecRow>& rows);
  static Json Schema(SchemaParts* parts);
};

inline Band EndsOf(const ContextBand& context) { return {context.low, context.likely, context.high}; }

template <>
struct JsonType<Error> {
  static Json Value(const Error& error) { return ToString(error); }
  static Json Schema(SchemaParts*) { return TypeSchema("string"); }
};

// At the end of a path: null where the text is empty, the batch is none, or there are no bytes.
inline constexpr auto OrNone = []<typename V>(const V& value) {
  return value > V() ? std::optional(value) : std::nullopt;
};

}  // namespace vramplan
