#include "planner/report/estimate.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/parts/segments.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/sparkline.h"

namespace vramplan {
namespace {

std::string PrintSteps(Mode mode, const Peak& peak, int training_steps, const Style& style) {
  using enum TextTable::Align;
  const bool train = mode == Mode::kTrain;
  std::vector<TextTable::Column> columns = {{train ? "step" : "forward", kRight},
                                            {"requested", kRight},
                                            {"allocated", kRight},
                                            {"reserved", kRight},
                                            {"after forward", kRight}};
  if (train) columns.insert(columns.end(), {{"after backward", kRight}, {"peak in"}});
  TextTable table(columns);
  for (const StepPeak& step : peak.steps) {
    const bool validates = train && step.step > training_steps;
    std::vector<std::string> cells = {validates ? "validation" : std::to_string(step.step),
                                      ToString(step.peak.requested), ToString(step.peak.allocated),
                                      ToString(step.peak.reserved), ToString(step.after_forward)};
    if (train) cells.insert(cells.end(), {ToString(step.after_backward), std::string(Name(step.phase))});
    table.AddRow(std::move(cells));
  }
  return table.Print(style.width);
}

bool IsBrief(const SpecRow& row) {
  const auto is_one_of = [&](std::initializer_list<const char*> options) {
    return std::find(options.begin(), options.end(), row.option) != options.end();
  };
  // The verdict has the card, but not that it was found, nor where.
  if (row.option == "gpu" && row.given) return row.text.starts_with("auto");
  if (row.given) return !is_one_of({"batch", "gpu-memory", "capability"});  // the verdict has them
  return is_one_of({"trainable", "dim", "dropouts-left-out", "layers-of-one-mode", "unread-parameters", "beside",
                    "mxfp4", "inputs", "padding", "precision", "optimizer", "loss", "framework", "ort-arena", "profile",
                    "held", "capability", "context"});
}

}  // namespace

std::string StepsText(Mode mode) { return mode == Mode::kTrain ? "steps 1 and 2" : "forwards 1 and 2"; }

size_t StepsToPrint(const AnswerHead& head, const Peak& peak) {
  // The second run of ONNX Runtime asks for other blocks than the first, and is the one that lasts.
  const bool all = head.mode == Mode::kTrain || head.runtime == Runtime::kOnnxRuntime;
  return all ? peak.steps.size() : std::min<size_t>(1, peak.steps.size());
}

PeakPlace PlaceOf(const Peak& peak, const Timeline& timeline, const Layers& layers) {
  if (peak.moment.event >= timeline.events.size()) return {};
  const Event& event = timeline.events[peak.moment.event];
  if (!event.block.valid()) return {};
  const Origin& origin = timeline[event.block].origin;
  PeakPlace place{origin.op, origin.op, event.step > timeline.steps};
  if (origin.layer >= 0 && static_cast<size_t>(origin.layer) < layers.layers.size()) {
    place.node = layers.layers[static_cast<size_t>(origin.layer)].name;
  }
  return place;
}

std::string PrintSpec(const std::vector<SpecRow>& spec, const Style& style) {
  std::string printed;
  for (const bool given : {true, false}) {
    std::string line = given ? "given:  " : "assumed:";
    const size_t empty = line.size();
    for (const SpecRow& row : spec) {
      if (row.given == given && (style.verbose || IsBrief(row)))
        line += " " + (row.phrase.empty() ? row.option + " " + row.text : row.phrase) + ",";
    }
    if (line.size() == empty) continue;
    line.pop_back();
    printed += Wrapped(line, style.width, "         ") + "\n";
  }
  return printed;
}

std::string CardText(const Device& device) {
  const std::string name = device.name + (device.resized ? " (its memory as given)" : "");
  return device.held > Bytes() ? name + " (others hold " + ToString(device.held) + " of it)" : name;
}

std::string PoolText(const Device& device, Bytes needs) {
  const Pool& pool = device.pool;
  if (pool.source.empty()) return "";
  if (!pool.taken_whole) return "its arena may take " + ToString(pool.bytes) + ": " + pool.source;
  return "nvidia-smi shows " + ToString(pool.bytes + device.context.likely) +
         " for any model, because the whole pool is taken at the start (" + pool.source + "); the step needs " +
         ToString(needs - device.context.likely);
}

std::string PrintPlace(const Peak& peak, const PeakPlace& place) {
  std::string text = place.validation ? "the validation"
                     : peak.moment.step == 0
                         ? "before step 1"
                         : "step " + std::to_string(peak.moment.step) + ", " + std::string(Name(peak.moment.phase));
  if (place.node.empty()) return text;
  text += ", at " + place.node;
  return place.op.empty() || place.op == place.node ? text : text + " (" + place.op + ")";
}

std::string FirstStepText(const Peak& peak, int training_steps, Mode mode) {
  if (mode != Mode::kTrain || peak.steps.size() < 2) return "";
  std::string text;
  const Bytes first = peak.steps[0].after_forward, steady = peak.steps[1].after_forward;
  if (steady > first && peak.steps[1].peak.requested > peak.steps[0].peak.requested) {
    const Bytes more = steady - first, state = peak.moment.categories[static_cast<size_t>(Category::kOptimizerState)];
    text = "after the first step " + ToString(more) + " more";
    if (state == more) text += ": optimizer state";
    if (state > Bytes() && state < more) text += ", of which optimizer state " + ToString(state);
  }
  Bytes training, validation;
  for (const StepPeak& step : peak.steps) {
    Bytes& of = step.step > training_steps ? validation : training;
    of = std::max(of, step.peak.requested);
  }
  if (validation == Bytes()) return text;
  text += text.empty() ? "" : "; ";
  return text + "a step requests " + ToString(training) + " and the validation " + ToString(validation) + ": the " +
         (validation > training ? "validation" : "step") + " decides";
}

std::string BatchText(Mode mode, int64_t batch) {
  return mode == Mode::kServe ? Counted(batch, "sequence") : "batch " + std::to_string(batch);
}

std::string PlaceText(const AnswerHead& head, const Device& device) {
  const std::string card = CardText(device);
  return head.ranks == 1 ? card : "each of " + std::to_string(head.ranks) + " cards (" + card + ")";
}

std::string StepVerdictText(const AnswerHead& head, Verdict verdict, const Device& device, const DeviceBand& band) {
  const char* const doing = head.mode == Mode::kTrain   ? "training"
                            : head.mode == Mode::kEval  ? "evaluation"
                            : head.mode == Mode::kServe ? "serving"
                                                        : "inference";
  return FileName(head.model.file) + " " + doing +
         (!head.model.has_batch       ? ""
          : head.mode == Mode::kServe ? " " + BatchText(head.mode, head.batch)
                                      : " at " + BatchText(head.mode, head.batch)) +
         " " + CardVerdictText(verdict, PlaceText(head, device), band.device(), device.available());
}

std::string VerdictLine(const Estimate& estimate) {
  const AnswerHead& head = estimate.head;
  if (estimate.device) return StepVerdictText(head, estimate.verdict, *estimate.device, estimate.band);
  return FileName(head.model.file) + " needs " + ToString(DeviceBytes(estimate.peak, estimate.context.likely)) +
         (head.ranks == 1 ? "" : " on each of " + std::to_string(head.ranks) + " cards") + " to " +
         std::string(Name(head.mode)) + (head.mode == Mode::kServe ? " " : " at ") + BatchText(head.mode, head.batch);
}

std::string PrintEstimate(const Estimate& estimate, const Style& style) {
  const AnswerHead& head = estimate.head;
  const Bytes device = DeviceBytes(estimate.peak, estimate.context.likely);
  std::string text = VerdictLine(estimate);
  text += (estimate.device ? "; " : ": ") + ToString(estimate.peak.peak.requested) + " requested, " +
          ToString(estimate.peak.peak.allocated) + " allocated, " + ToString(estimate.peak.peak.reserved) +
          " reserved by " + std::string(Title(head.runtime)) + "\n";
  if (const std::string roomy = RoomyText(estimate); !roomy.empty()) text += Indented(roomy, style);
  text += PrintAssumptions(estimate.assumptions, style);
  if (estimate.device) {
    const std::string pool = PoolText(*estimate.device, device);
    if (!pool.empty()) text += Wrapped(pool, style.width, "  ") + "\n";
  }
  text += PrintSpec(head.spec, style) + "\n";
  std::string below = "peak: " + PrintPlace(estimate.peak, estimate.place);
  const std::string first = FirstStepText(estimate.peak, estimate.training_steps, head.mode);
  if (!first.empty()) below += "; " + first;
  below = Wrapped(below, style.width, "  ") + "\n" + PrintSuggestions(estimate.assumptions, style);
  text += PrintBreakdown({{BatchText(head.mode, head.batch), &estimate.peak}}, estimate.context.likely, style,
                         RoomLeft(text + below, style));
  if (style.verbose) {
    if (const std::string band = PrintBand(estimate.band, style); !band.empty()) text += "\n" + band;
  }
  // The empty line is the first to go where there are too many.
  if (RoomLeft(text + below, style) > 0) below.insert(0, "\n");
  text += PrintCourses({{StepsText(head.mode), &estimate.over_step}}, RoomLeft(text + below, style), style);
  text += below;
  if (style.verbose) {
    text += "\n" + PrintSteps(head.mode, estimate.peak, estimate.training_steps, style) + "\n";
    text += PrintLayers(estimate.layers, head.mode, 10, style);
  }
  if (estimate.segments) text += "\n" + PrintSegments(*estimate.segments, estimate.peak.moment, style);
  return text;
}

}  // namespace vramplan
