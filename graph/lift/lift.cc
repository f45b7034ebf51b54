#include <algorithm>

#include "graph/lift/assumed.h"
#include "graph/lift/builder.h"
#include "graph/lift/checkpointed.h"
#include "graph/lift/creations.h"
#include "graph/lift/decomposed_calls.h"
#include "graph/lift/decomposed_losses.h"
#include "graph/lift/dense_maps.h"
#include "graph/lift/detached.h"
#include "graph/lift/exported_mode.h"
#include "graph/lift/frozen.h"
#include "graph/lift/fx_names.h"
#include "graph/lift/fx_order.h"
#include "graph/lift/glu.h"
#include "graph/lift/held_outputs.h"
#include "graph/lift/index_adds.h"
#include "graph/lift/inplace.h"
#include "graph/lift/inplace_lines.h"
#include "graph/lift/layers.h"
#include "graph/lift/liveness.h"
#include "graph/lift/low_rank.h"
#include "graph/lift/merged.h"
#include "graph/lift/merged_pad.h"
#include "graph/lift/merged_stored.h"
#include "graph/lift/module_calls.h"
#include "graph/lift/nested_joins.h"
#include "graph/lift/noise.h"
#include "graph/lift/patterns.h"
#include "graph/lift/provenance.h"
#include "graph/lift/recurrent.h"
#include "graph/lift/recurrent_cells.h"
#include "graph/lift/reductions_by_index.h"
#include "graph/lift/reparametrized.h"
#include "graph/lift/shared_constants.h"
#include "graph/lift/single_joins.h"
#include "graph/lift/skipped_layers.h"
#include "graph/lift/skipped_masks.h"
#include "graph/lift/stored_fills.h"
#include "graph/lift/unused_signature.h"
#include "graph/lift/upcasts.h"
#include "graph/lift/writes.h"

namespace vramplan {

Result<Layers> Lift(const Graph& file, const Shapes& given_shapes, const PutBack& put_back, Notes* notes) {
  const bool fx_names = HasFxNames(file);  // the order of nodes does not change it
  const std::optional<Reordered> reordered = InCallOrder(file);
  const Graph& given = reordered ? reordered->graph : file;
  const std::optional<Graph> plain = WithoutUnusedSignature(given);
  const std::optional<Graph> filled = StoreFills(plain ? *plain : given, given_shapes);
  const Graph& whole = filled ? *filled : plain ? *plain : given;
  const std::optional<Separated> apart = SeparateMergedStored(whole, given_shapes, notes);
  const Graph& own = apart ? apart->graph : whole;
  const Shapes& own_shapes = apart ? apart->shapes : given_shapes;
  const std::optional<Separated> copied = SeparateSharedConstants(own, own_shapes);
  const Graph& graph = copied ? copied->graph : own;
  const Shapes& shapes = copied ? copied->shapes : own_shapes;
  LayerBuilder builder(graph, shapes);
  std::vector<bool> live = LiveNodes(graph);
  if (const Status done = LiftByProvenance(graph, shapes, builder, &live, notes); !done) return done.error();
  if (std::find(live.begin(), live.end(), true) != live.end()) {
    if (const Status done = LiftByPattern(graph, shapes, builder, live, notes); !done) return done.error();
  }
  Layers layers = std::move(builder).Finish(notes);
  if (put_back.batch_norms) layers.guesses.restored_norms = AssumeBatchNorm(&layers);
  NoteFoldedBatchNorms(layers, file.file, notes);
  layers.exported = layers.guesses.restored_norms > 0 ? ExportedMode::kEvaluation : ExportedModeOf(file);
  RestoreLowRankPairs(&layers);
  FreezeBackbonesOfDetr(&layers, notes);
  FreezeBatchNorms(&layers, notes);
  FreezeEncoderPositions(&layers, notes);
  GatherModuleCalls(&layers);
  GatherDecomposedLosses(&layers);
  GatherDecomposedCalls(&layers);
  GatherReparametrized(&layers);
  NoteMaxima(layers, notes);
  NoteSkippedLayers(layers, notes);
  GatherGlu(&layers);
  GatherRecurrent(&layers);
  GatherRecurrentCells(&layers);
  ShareMergedPads(&layers);
  DetachStraightThrough(&layers);
  GatherReductionsByIndex(&layers);
  DetachSoftmaxByIndex(&layers);
  GatherWrites(&layers);
  SplitMergedSlices(&layers);
  SplitMergedActivations(&layers);
  SplitMergedCentering(&layers);
  RestoreSingleJoins(&layers);
  SplitNestedJoins(&layers);
  TypeNoise(&layers);
  TypeCreations(graph, &layers);
  RestoreUpcasts(&layers);
  HoldEncoderState(&layers);
  HoldPrunedWeights(&layers, notes);
  SkipKnownMasks(&layers, fx_names, notes);
  MakePositionBiasesContiguous(&layers);
  MakeMasksContiguous(&layers);
  MakeMapsOfSequencesContiguous(&layers);
  if (put_back.dropout > 0) NoteDropouts(AssumeDropout(&layers, put_back), notes);
  AssumeInPlace(&layers, notes);
  // A file that was sorted anew has lost its traces too.
  if (!reordered) layers.source = ReadSource(graph);
  NameIndexAdds(&layers, notes);
  ReadInPlaceLines(&layers);
  ReadCheckpoints(&layers, notes);
  for (Layer& layer : layers.layers) {
    for (NodeId& node : layer.nodes) node = reordered ? reordered->given[static_cast<size_t>(node.value)] : node;
  }
  return layers;
}

}  // namespace vramplan
