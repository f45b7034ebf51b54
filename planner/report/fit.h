// Fit: does the step fit the card, what is the largest batch that does, and where do the bytes go ("vramplan.fit/1").
//
//   needs = reserved + context (likely)     fits: also at the high end of the band (context, cuDNN, reserved)
//                                           tight: only at its likely value
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/report/estimate.h"
#include "planner/report/parts/assumption.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/parts/device_band.h"
#include "planner/report/parts/host.h"
#include "planner/report/parts/kept_graphs.h"
#include "planner/report/verdict.h"
#include "planner/solver/batch_search.h"

namespace vramplan {

// One card's answer, at the batch asked for.
struct CardFit : OnCard {
  Device device;
  std::string id;  // of the catalogue; empty for a bare size
  LargestBatch largest;
  int64_t safe_batch = 0;  // the largest that fits at the high end of the band, too, whatever was asked; 0: none
  Bytes Needs() const { return DeviceBytes(peak, device.context.likely); }
  // What the card has less what the step needs; negative: so much too much.
  Bytes MarginAt(Bytes needs) const { return device.available() - needs; }
  bool operator<(const CardFit& other) const { return device.usable < other.device.usable; }
};

// The largest batch with another precision.
struct LadderRow {
  Precision precision = Precision::kFp32;
  LargestBatch largest;
  size_t checkpointed = 0;  // modules
};

// The same card under another setting of the allocator, where that changes the answer.
struct WhatIf {
  std::string conf;
  Verdict verdict = Verdict::kDoesNotFit;
  int64_t largest_batch = 0;
  std::string setting = "PYTORCH_CUDA_ALLOC_CONF";  // whose value `conf` is
  bool operator==(const WhatIf&) const = default;
};

// What would make a named model fit: options that the question does not have.
struct Remedy {
  std::string options;               // "--lora 16 --checkpoint all"
  Bytes needs;                       // on the device, at the batch that was asked for
  Verdict verdict = Verdict::kFits;  // at that batch; never that it does not fit
  int64_t safe_batch = 0, largest_batch = 0;
};
// "with --lora 16 --checkpoint all it fits: 20.08 GiB, batch 1 is safe"; "... it is tight: ...".
std::string RemedyText(const Remedy& remedy, const AnswerHead& head);

// A named model that serves: how many sequences of how many tokens.
struct Serving {
  struct Row {
    int64_t tokens = 0, safe = 0, largest = 0;  // sequences; 0: not one
  };
  std::vector<Row> rows;        // from short to long, up to the first that does not fit
  int64_t tokens = 0;           // of a sequence, as asked
  int64_t sequences = 1;        // of these
  int64_t longest = 0;          // are so many tokens safe, in steps of kServedStep; 0: none
  std::optional<int64_t> most;  // tokens that the model has positions for, where that is the limit
};
inline constexpr int64_t kServedStep = 256;
std::string PrintServingRows(const std::vector<Serving::Row>& rows, const Style& style);

struct Fit {
  AnswerHead head;
  CardFit card;
  PeakPlace place;
  std::vector<LayerRow> layers;
  std::vector<Bytes> over_step;   // requested over the first two steps, for a sparkline
  std::vector<Bytes> over_batch;  // requested peaks from batch 1 to `last_batch`
  int64_t last_batch = 0;
  std::optional<HostMemory> host;  // --host
  std::vector<LadderRow> ladder;
  std::vector<WhatIf> what_if;
  std::vector<Remedy> remedies;    // where it does not fit, or may not
  std::optional<Serving> serving;  // --mode serve
  std::optional<KeptGraphs> kept;  // of a step that fits
  std::vector<Assumption> assumptions;
  Notes notes;
};

// --gpu all: the smallest card first; --gpu t4,a10: in that order.
struct FitMatrix {
  AnswerHead head;
  std::vector<CardFit> cards;
  Notes notes;
};
// Null: it fits on none of them.
const CardFit* SmallestThatFits(const FitMatrix& matrix);

// "38", "38 or more", "no batch".
std::string LargestText(const LargestBatch& largest);
// "batch 35 is safe, up to 38 may fit".
std::string BatchesText(const LargestBatch& largest, int64_t safe);
// "none", "1 module", "16 modules".
std::string CheckpointingText(const LadderRow& row);

// The first line:
//
//   unet.onnx trains on Tesla T4: batch 35 is safe, up to 38 may fit; batch 1 needs 1.11 GiB of 14.56 GiB
//   unet.onnx training at batch 36 is tight on Tesla T4: needs 13.72 GiB of 14.56 GiB and may need 14.86 GiB; batch 35 is
//   safe, up to 38 may fit
std::string VerdictLine(const Fit& fit);

std::string PrintFit(const Fit& fit, const Style& style);
Json ToJson(const Fit& fit);
std::string PrintFitMatrix(const FitMatrix& matrix, const Style& style);
Json ToJson(const FitMatrix& matrix);

}  // namespace vramplan
