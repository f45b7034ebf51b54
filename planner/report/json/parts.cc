#include "planner/report/json/parts.h"

#include <algorithm>

#include "graph/base/check.h"
#include "planner/report/parts/breakdown.h"

namespace vramplan {
namespace {

constexpr char kRequested[] =
    "bytes that tensors and library workspaces asked for: memory_stats()[\"requested_bytes.all.peak\"]";
constexpr char kAllocated[] = "bytes of the blocks that they were given: max_memory_allocated()";
constexpr char kReserved[] = "bytes of the segments taken from the driver: max_memory_reserved()";
constexpr char kDevice[] = "bytes that nvidia-smi shows: reserved, CUDA context and loaded kernels";

}  // namespace

Fields<Note> Described<Note>::Make() {
  return Fields<Note>()
      .Has("code", "kebab-case, stable", &Note::code)
      .Has("severity", "note or warning",
           [](const Note& note) { return std::string_view(note.severity == Severity::kWarning ? "warning" : "note"); })
      .Has("subject", "node, tensor or option; may be empty", &Note::subject)
      .Has("text", "", &Note::text)
      .Has("hint", "what to type, or to do; may be empty", &Note::hint);
}

Fields<Remedy> Described<Remedy>::Make() {
  return Fields<Remedy>()
      .Has("options", "what to type besides", &Remedy::options)
      .Has("device", "bytes on the device, at the batch that was asked for", &Remedy::needs)
      .Has("verdict", "of that batch", &Remedy::verdict)
      .Has("safe_batch", "", &Remedy::safe_batch)
      .Has("largest_batch", "", &Remedy::largest_batch);
}

Fields<Band> Described<Band>::Make() {
  return Fields<Band>().Has("low", "", &Band::low).Has("likely", "", &Band::likely).Has("high", "", &Band::high);
}

Fields<ContextBand> Described<ContextBand>::Make() {
  return Fields<ContextBand>().All<Band>(EndsOf).Has("source", "", &ContextBand::source);
}

Fields<DeviceBand> Described<DeviceBand>::Make() {
  return Fields<DeviceBand>()
      .All<Band>(&DeviceBand::device)
      .Group("parts", "whose sums they are",
             Fields<DeviceBand>()
                 .Has("reserved", "", &DeviceBand::reserved)
                 .May("cudnn_workspaces", "what cuDNN's heuristics may pick", &DeviceBand::convolutions)
                 .Has("context", "the CUDA context and loaded kernels", &DeviceBand::context));
}

Fields<Levels> Described<Levels>::Make() {
  return Fields<Levels>()
      .Has("requested", kRequested, &Levels::requested)
      .Has("allocated", kAllocated, &Levels::allocated)
      .Has("reserved", kReserved, &Levels::reserved);
}

Fields<SweepLaw> Described<SweepLaw>::Make() {
  return Fields<SweepLaw>()
      .Has("axis", "", &SweepLaw::axis)
      .Has("unit", "token, of sequence", &SweepLaw::unit)
      .Has("law", "", &SweepLaw::law, &GrowthLaw::growth, GrowthName)
      .Has("from", "the first value that it holds for", &SweepLaw::law, &GrowthLaw::from)
      .Has("linear", "bytes of each further unit", &SweepLaw::law, &GrowthLaw::linear)
      .Has("square", "bytes of its square", &SweepLaw::law, &GrowthLaw::square)
      .Has("at", "what the other axes were", &SweepLaw::at);
}

Fields<LevelsAt> Described<LevelsAt>::Make() {
  return Fields<LevelsAt>().All<Levels>(&LevelsAt::peak, &Peak::peak).Has("device", kDevice, [](const LevelsAt& at) {
    return DeviceBytes(*at.peak, at.context);
  });
}

Fields<PeakAt> Described<PeakAt>::Make() {
  return Fields<PeakAt>()
      .All<LevelsAt>()
      .Has("step", "0: before the first", &PeakAt::peak, &Peak::moment, &PeakMoment::step)
      .Has("phase", "forward, recompute, backward, update or setup", &PeakAt::peak, &Peak::moment, &PeakMoment::phase)
      .Has("node", "the layer whose allocation reaches the peak", &PeakAt::place, &PeakPlace::node)
      .Has("op", "the framework's operator", &PeakAt::place, &PeakPlace::op);
}

Fields<CardOf> Described<CardOf>::Make() {
  return Fields<CardOf>()
      .Has("id", "of the catalogue; empty for a bare size", &CardOf::id)
      .Has("name", "", &CardOf::device, &Device::name)
      .Has("usable_bytes", "that a program can get", &CardOf::device, &Device::usable)
      .Has("reserve_bytes", "to be left free", &CardOf::device, &Device::reserve)
      .Has("held_bytes", "by others", &CardOf::device, &Device::held)
      .Has("context_bytes", "likely", &CardOf::device, &Device::context, &ContextBand::likely);
}

Fields<CategoriesOf> Described<CategoriesOf>::Make() {
  Fields<CategoriesOf> fields;
  for (int i = 0; i < kCategories; ++i) {
    fields.Has(Name(static_cast<Category>(i)).data(), "",
               [i](const CategoriesOf& of) { return of.peak->moment.categories[static_cast<size_t>(i)]; });
  }
  return fields.Has("slack", "bytes of blocks beyond what was requested of them", [](const CategoriesOf& of) {
    const PeakMoment& moment = of.peak->moment;
    Bytes sum = moment.slack;
    for (const Bytes bytes : moment.categories) sum += bytes;
    CHECK(sum == of.peak->peak.allocated);
    return moment.slack;
  });
}

Fields<ModelFacts> Described<ModelFacts>::Make() {
  return Fields<ModelFacts>()
      .Has("file", "", &ModelFacts::file)
      .Has("opset", "", &ModelFacts::opset)
      .Has("nodes", "", &ModelFacts::nodes)
      .Has("parameters", "numbers; a tied weight counts once", &ModelFacts::parameters)
      .Has("parameter_bytes", "in the types of the file", &ModelFacts::parameter_bytes)
      .Has("trained_parameters", "numbers", &ModelFacts::trained)
      .Has("frozen_parameters", "numbers", &ModelFacts::frozen)
      .Has("buffer_bytes", "", &ModelFacts::buffer_bytes)
      .Has("batch_symbol", "empty where the file has no name for it", &ModelFacts::batch_symbol);
}

Fields<Assumption> Described<Assumption>::Make() {
  return Fields<Assumption>()
      .Has("code", "kebab-case, stable", &Assumption::code)
      .Has("text", "", &Assumption::text)
      .Has("settle", "what to type, or to do, so that nothing is assumed", &Assumption::settle)
      .Has("batch", "", &Assumption::batch)
      .Has("requested", "the peak as assumed, and the ends under other answers",
           [](const Assumption& each) {
             return Band{each.low, each.likely, each.high};
           })
      .Has("matters", "whether people are told", &Assumption::Matters);
}

namespace {
struct Ends {
  Bytes low, high;
};
}  // namespace
template <>
struct Described<Ends> {
  static constexpr const char* kName = "";
  static Fields<Ends> Make() { return Fields<Ends>().Has("low", "", &Ends::low).Has("high", "", &Ends::high); }
};

Fields<JointlyOf> Described<JointlyOf>::Make() {
  return Fields<JointlyOf>().Has("requested", kRequested, [](const JointlyOf& of) {
    const auto [low, high] = Together(*of.assumptions);
    return Ends{low, high};
  });
}

Fields<Bottleneck> Described<Bottleneck>::Make() {
  return Fields<Bottleneck>()
      .Has("batch", "", &Bottleneck::batch)
      .Has("step", "", &Bottleneck::step)
      .Has("phase", "", &Bottleneck::phase)
      .Has("node", "", &Bottleneck::node)
      .Has("tensor", "", &Bottleneck::tensor)
      .Has("bytes", "that there was no room for", &Bottleneck::bytes);
}

Fields<Pool> Described<Pool>::Make() {
  return Fields<Pool>()
      .Has("bytes", "", &Pool::bytes)
      .Has("taken_whole", "at the start, whatever the step needs", &Pool::taken_whole)
      .Has("source", "", &Pool::source);
}

Fields<LayerRow> Described<LayerRow>::Make() {
  return Fields<LayerRow>()
      .Has("name", "", &LayerRow::name)
      .Has("op", "the framework's operator", &LayerRow::op)
      .Has("module", "", &LayerRow::module)
      .Has("parameters", "of the first layer that uses them", &LayerRow::parameters)
      .Has("buffers", "", &LayerRow::buffers)
      .Has("saved", "for the backward", &LayerRow::saved)
      .Has("output", "", &LayerRow::output)
      .Has("gradients", "", &LayerRow::gradients)
      .Has("optimizer_state", "", &LayerRow::optimizer_state)
      .Has("peak_temporary", "its temporaries at their highest", &LayerRow::peak_temporary);
}

Fields<Segment> Described<Segment>::Make() {
  return Fields<Segment>()
      .Has("address", "", &Segment::address)
      .Has("size", "", &Segment::size)
      .Has("pool", "small or large",
           [](const Segment& segment) { return std::string_view(segment.small_pool ? "small" : "large"); })
      .Has("expandable", "", &Segment::expandable)
      .Has("free", "", FreeOf)
      .Has("largest_hole", "", LargestHole);
}

Fields<BandRow> Described<BandRow>::Make() {
  return Fields<BandRow>().Has("name", "", &BandRow::name).All<Band>(&BandRow::band);
}

Fields<HostMemory> Described<HostMemory>::Make() {
  return Fields<HostMemory>()
      .Has("beside_card", "RAM", &HostMemory::beside, SumOfBands)
      .Has("beside_card_rows", "", &HostMemory::beside)
      .Has("on_cpu", "RAM, the whole step on the CPU", &HostMemory::on_cpu, SumOfBands)
      .Has("on_cpu_rows", "", &HostMemory::on_cpu)
      .Has("cause", "why it fits there and not on the card, or what the card takes more", &HostMemory::cause);
}

Json JsonType<std::vector<SpecRow>>::Value(const std::vector<SpecRow>& rows) {
  Json object = Json::Object();
  for (const SpecRow& row : rows) {
    std::string name = row.option;
    std::ranges::replace(name, '-', '_');
    Json value = Json::Object();
    object.Set(std::move(name), std::move(value.Set("value", row.value).Set("given", row.given)));
  }
  return object;
}

Json JsonType<std::vector<SpecRow>>::Schema(SchemaParts* parts) {
  return PartSchema("spec", parts, [](SchemaParts*) {
    Json properties = Json::Object();
    properties.Set("value", OptionValueSchema())
        .Set("given", WithDescription(TypeSchema("boolean"), "whether the user said so; else it was assumed"));
    Json schema = TypeSchema("object");
    return schema.Set("additionalProperties", ObjectSchema({Json("value"), Json("given")}, std::move(properties)));
  });
}

}  // namespace vramplan
