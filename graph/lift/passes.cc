#include "graph/lift/passes.h"

#include "graph/lift/any_export/creations.h"
#include "graph/lift/any_export/decomposed.h"
#include "graph/lift/any_export/inplace.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/dynamo/passes.h"
#include "graph/lift/recorded/recorded.h"
#include "graph/lift/simplifiers/passes.h"
#include "graph/lift/source_lines/passes.h"
#include "graph/lift/torchscript/merged_pad.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

constexpr std::string_view kAny = "any", kDynamo = "dynamo", kTorchScript = "TorchScript", kSimplified = "simplified",
                           kFacts = "with facts";

constexpr GraphPass kGraphPasses[] = {
    {"store-fills", kSimplified, "a small file makes weights of a number, ConstantOfShape, instead of storing them",
     StoreFills},
};

constexpr LayersPass kLayersPasses[] = {
    {"restore-batch-norms", kAny, "an export of eval() folds batch norms into convolutions; training runs them",
     [](LayersState& s) {
       if (s.put_back.batch_norms) s.layers.guesses.restored_norms = AssumeBatchNorm(&s.layers);
       NoteFoldedBatchNorms(s.layers, s.file.file, s.notes);
     }},
    {"tell-the-mode", kAny, "dropouts and statistics tell whether the export is of train() or of eval()",
     [](LayersState& s) {
       s.layers.exported = s.layers.guesses.restored_norms > 0 ? ExportedMode::kEvaluation : ExportedModeOf(s.file);
       if (s.file.facts && s.file.facts->training)
         s.layers.exported = *s.file.facts->training ? ExportedMode::kTraining : ExportedMode::kEvaluation;
       s.layers.unread_left_out = !s.file.facts && WrittenByTorchScript(s.file);
     },
     true},
    {"restore-low-rank-pairs", kTorchScript,
     "peft's lora_A and lora_B run in the scope of their key and lose their names",
     [](LayersState& s) { RestoreLowRankPairs(&s.layers); }},
    {"freeze-batch-norms", kAny, "FrozenBatchNorm2d has buffers only, which a file calls initializers",
     [](LayersState& s) { FreezeBatchNorms(&s.layers, s.notes); }},
    {"gather-module-calls", kDynamo, "the decompositions take modules of one operator apart; their class names it",
     [](LayersState& s) { GatherModuleCalls(&s.layers); }},
    {"gather-losses", kAny, "both exporters take losses apart, each in its own way",
     [](LayersState& s) { GatherDecomposedLosses(&s.layers); }},
    {"gather-calls", kAny, "operators that were taken apart and that only their form tells",
     [](LayersState& s) { GatherDecomposedCalls(&s.layers); }},
    {"gather-weight-norms", kAny, "weights that are made in front of each call are one operator or two",
     [](LayersState& s) { GatherReparametrized(&s.layers); }},
    {"gather-recurrent", kAny, "a module call of LSTM, GRU or RNN is one operator, whatever it was made into",
     [](LayersState& s) { GatherRecurrent(&s.layers); }},
    {"gather-cells", kAny, "LSTMCell and GRUCell are one operator on a card",
     [](LayersState& s) { GatherRecurrentCells(&s.layers); }},
    {"split-nested-joins", kTorchScript, "a join of a join is written as one node",
     [](LayersState& s) { SplitNestedJoins(&s.layers); }},
    {"type-noise", kAny, "noise has the type of what it is multiplied with",
     [](LayersState& s) { TypeNoise(&s.layers); }, true},
    {"type-creations", kAny, "zeros_like and new_zeros have the type of their operand, torch.zeros fp32",
     [](LayersState& s) { TypeCreations(s.graph, &s.layers); }},
    {"restore-upcasts", kAny, "x.float() leaves nothing in an export in fp32",
     [](LayersState& s) { RestoreUpcasts(&s.layers); }},
    {"hold-encoder-state", kAny, "encoder-decoder models return the encoder's state beside their logits",
     [](LayersState& s) { HoldEncoderState(&s.layers); }, true},
    {"hold-computed-weights", kAny, "torch.nn.utils.prune and weight_norm keep each weight until the next forward",
     [](LayersState& s) { HoldComputedWeights(&s.layers, s.notes); }, true},
    {"skip-known-masks", kDynamo, "transformers passes no mask that hides nothing; an export cannot look at its values",
     [](LayersState& s) { SkipKnownMasks(&s.layers); }, true},
    {"copy-masks", kAny, "a mask that is a view of one row is copied for the kernel",
     [](LayersState& s) { MakeMasksContiguous(&s.layers); }},
    {"make-computed-constants", kDynamo, "what a forward computes without an input is stored in the file",
     [](LayersState& s) { MakeComputedConstants(s.graph, &s.layers); }},
    {"assume-dropout", kAny, "--assume-dropout: an export of eval() has none",
     [](LayersState& s) {
       if (s.put_back.dropout > 0) NoteDropouts(AssumeDropout(&s.layers, s.put_back), s.notes);
     },
     true},
    {"assume-in-place", kTorchScript, "a file without classes does not say which activations overwrite their input",
     [](LayersState& s) { AssumeInPlace(&s.layers, s.notes); }},
    {"read-source-lines", kDynamo, "stack traces say where each operator was called",
     [](LayersState& s) { s.layers.source = ReadSource(s.graph); }, true},
    {"read-checkpoints", kDynamo, "source lines say which calls run under torch.utils.checkpoint",
     [](LayersState& s) { ReadCheckpoints(&s.layers, s.notes); }, true},
    {"take-facts", kFacts,
     "facts say what is trained, and a recorded forward which tensors Python kept and which calls were in place",
     [](LayersState& s) {
       if (!s.file.facts) return;
       const Facts& facts = *s.file.facts;
       TakeRecordedTensors(facts, &s.layers);
       TakeRecordedCheckpoints(facts, &s.layers);
       s.layers.told.functions = facts.functions && facts.functions->empty();
       const std::optional<RecordedForward>& forward = s.put_back.training ? facts.in_training : facts.in_inference;
       if (forward) TakeRecordedForward(s.graph, *forward, &s.layers);
     },
     true},
};

}  // namespace

std::span<const GraphPass> GraphPasses() { return kGraphPasses; }
std::span<const LayersPass> LayersPasses() { return kLayersPasses; }

}  // namespace vramplan
