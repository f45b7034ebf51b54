#include "planner/timeline/known_frames.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace vramplan {
namespace {

// `children`: what the frame must call, in this order, "blocks.#" for the modules of a list, ":pad" for an operator of
// its own, "!act1" for what it must not call. `names`: one name after another, by commas; a name is what it is written
// with, in turn, ":add@2" being the second sum, ":add@-1" the last; "+" in front: a list, which keeps all that it was
// given; "<" behind: not what the statement makes but what it reads. A row without children names the library whose
// frames stand below it: where a file says the classes of modules, they act on classes of that library alone; below an
// empty name stands code that people copy.
struct KnownFrame {
  std::string_view children, names;
};

constexpr KnownFrame kFrames[] = {
    {"", "monai."},
    // MONAI 1.6, networks/nets: basic_unet.py, basic_unetplusplus.py, attentionunet.py, segresnet.py, vnet.py,
    // unetr.py,
    // swin_unetr.py; networks/blocks/dynunet_block.py: UnetUpBlock
    {"upsample convs", "upsample :pad"},
    {"conv_0 down_1 upcat_1", "conv_0, down_1, down_2, down_3, down_4, upcat_4, upcat_3, upcat_2, upcat_1"},
    {"conv_0_0 conv_1_0 upcat_0_1",
     "conv_0_0, conv_1_0, conv_2_0, conv_3_0, conv_4_0, upcat_0_1, upcat_0_2, upcat_0_3, upcat_0_4, upcat_1_1, "
     "upcat_1_2, upcat_1_3, upcat_2_1, upcat_2_2, upcat_3_1"},
    {"submodule upconv attention merge", "upconv, attention, merge"},
    {"W_g W_x psi", "W_g, W_x, relu psi"},
    {"convInit down_layers.# up_samples.# up_layers.#",
     "convInit down_layers.# :add up_layers.# conv_final, +down_layers.#"},
    {"conv_block act_function", "conv_block act_function, :repeat"},
    {"down_conv bn1 act_function1 ops", "act_function1, dropout ops act_function2"},
    {"up_conv bn1 act_function1 ops", "dropout act_function1 ops act_function2, dropout2, :cat"},
    {"conv1 pool1 bn0 maxpool layer1 up0 dense0 trans1 dense4",  // ahnet.py
     "conv1 pool1 bn0, relu, maxpool, layer1, layer2, layer3, layer4, :add@1, :add@2, :add@3, :add@4, :add@5, dense0, "
     "dense1, dense2, dense3, dense4, psp, :cat"},
    {"in_tr down_tr32 up_tr32 out_tr",
     "in_tr, down_tr32, down_tr64, down_tr128, down_tr256, up_tr256 up_tr128 up_tr64 up_tr32 out_tr"},
    {"downsample next_layer upsample", "downsample, next_layer"},  // nets/dynunet.py
    {"transp_conv conv_block", "transp_conv :cat conv_block"},
    {"vit encoder1 encoder2 decoder5",
     "vit, encoder1, encoder2, encoder3, encoder4, decoder5, decoder4, decoder3, decoder2"},
    {"swinViT encoder1 encoder10 decoder1",
     "swinViT, encoder1, encoder2, encoder3, encoder4, encoder10, decoder5, decoder4, decoder3, decoder2, decoder1"},
    {"", "timm."},
    // timm 1.0, layers/split_attn.py; models: fastvit.py, vovnet.py, starnet.py, davit.py, cspnet.py, resnetv2.py,
    // nfnet.py, mvitv2.py
    {"fc1 bn1 act1 fc2 rsoftmax", "conv bn0 act0, :sum :mean fc1 bn1 act1, fc2 rsoftmax"},
    {"conv_scale conv_kxk.#", "identity, conv_scale"},
    {"conv_mid conv_concat", "conv_reduction conv_mid conv_concat attn drop_path :add, +conv_mid.#"},
    {"dwconv f1 f2 g dwconv2", "dwconv :mul dwconv2 :add, f1, f2"},
    {"cpe1 norm1 attn cpe2", "attn"},
    {"cpe1 norm1 :pad attn cpe2", "cpe1, attn<"},
    {"conv_exp blocks conv_transition", "conv_down conv_exp, blocks conv_transition_b, conv_transition"},
    {"norm1 conv1 norm2 conv2 norm3 conv3", "norm1, conv1 conv2 conv3"},
    {"act1 :mul conv1 act2 conv2 act3 conv3", ":mul@1 conv1 conv2 conv2b attn conv3 attn_last :add, downsample"},
    {"qkv pool_q norm_q pool_k norm_k proj", ":matmul@1 :add@2"},
    // layers/mlp.py; models: inception_resnet_v2.py, dla.py, hgnet.py, ghostnet.py, coat.py, focalnet.py
    {"fc1_g fc1_x :mul fc2", "fc1_g"},
    {"branch0 branch1 :cat conv2d", "branch0, branch1, branch2"},
    {"tree1 tree2 root", "downsample, project, tree1, tree2"},
    {"stem1 stem2a stem2b pool :cat stem3", "stem1 :pad@1 :cat stem3, stem2a :pad@2 stem2b, pool"},
    {"short_conv primary_conv cheap_operation gate_fn", "short_conv, primary_conv, cheap_operation, :cat"},
    {"cpe norm1 factoratt_crpe norm2 mlp", "norm1 factoratt_crpe norm2 mlp"},
    {"f focal_layers.# h proj", "f, focal_layers.#, :add, act"},
    {"", "transformers."},
    // transformers 5: modeling_pvt.py; modeling_modernbert.py; modeling_gpt_neox.py, whose other blocks add once before
    // mlp;
    // modeling_hiera.py; modeling_swin.py: its windows, its mask and what it puts together of windows;
    // modeling_squeezebert.py; modeling_mobilebert.py; modeling_mt5.py and its kin; modeling_resnet.py
    {"layer_norm_1 attention layer_norm_2 mlp", "attention"},
    {"attn mlp_norm mlp", "attn"},
    {"input_layernorm attention post_attention_layernorm mlp :add :add", "attention, mlp"},
    {"layernorm_before attn layernorm_after mlp", "layernorm_before attn, layernorm_after mlp"},
    {"layernorm_before :reshape attention :reshape layernorm_after mlp",
     ":reshape@3, attention, :roll@2, :masked_fill@2, :reshape@8"},
    {"query key value matmul_qk softmax matmul_qkv", "query, key, value, matmul_qk :div :add, softmax"},
    {"attention post_attention intermediate output", "attention, intermediate"},
    {"bottleneck attention ffn.# intermediate output", "bottleneck, attention, ffn.#, intermediate"},
    {"dense :add LayerNorm", "dense dropout LayerNorm"},
    {"wi_0 act wi_1 :mul wo", "act, wi_1"},
    {"layer shortcut :add activation", "shortcut"},
    {"short_conv main_conv blocks.# :cat final_conv", "short_conv, main_conv blocks.#, :cat attention"},  // cspnext.py
    // transformers 5, modeling_poolformer.py, modeling_yolos.py and modeling_videomae.py, modeling_timesformer.py,
    // modeling_patchtst.py, modeling_patchtsmixer.py
    {"before_norm pooling after_norm output", "pooling, :mul, output"},
    {"layernorm_before attention layernorm_after intermediate output !temporal_attention !:pad",
     "layernorm_before, attention, layernorm_after intermediate output"},
    {"temporal_attention temporal_dense attention intermediate output",
     "temporal_attention, temporal_dense, :add@1, :cat@1, attention, :add@2, layernorm_after intermediate output"},
    {"conv1 :gelu conv2 :gelu embed_positions layers.#", ":gelu"},  // modeling_whisper.py
    {"self_attn norm_sublayer1 ff norm_sublayer3", "self_attn"},
    {"norm_sublayer1 self_attn norm_sublayer3 ff", "self_attn"},
    {"embedder positional_encoder layers.#", "embedder, positional_encoder layers.#"},
    {"scaler patchifier encoder", "scaler, patchifier, encoder"},
    {"patching encoder", "scaler, patching"},
    {"patcher mlp_mixer_encoder", "patcher"},
    {"main_conv main_batch_norm",  // modeling_textnet.py
     "main_conv main_batch_norm :add, vertical_conv vertical_batch_norm, horizontal_conv horizontal_batch_norm, "
     "rbr_identity"},
    // modeling_donut_swin.py, modeling_maskformer_swin.py, modeling_clap.py; modeling_swin.py; self-attention as
    // transformers 4 writes it, and version 5 where it has no other: modeling_visual_bert.py, modeling_rembert.py (its
    // eager_attention_forward multiplies with a scale and has one name for all)
    {"layernorm_before :pad attention layernorm_after intermediate output",
     "layernorm_before :pad :add@-2, :pad :roll@1, :roll@1, attention<, attention, :contiguous, :reshape@-2, :roll@2, "
     "layernorm_after intermediate :add@-1"},
    {"layernorm_before :pad attention layernorm_after mlp",
     "layernorm_before :pad :add@-2 layernorm_after mlp :add@-1, :add@-2, attention<, attention, :reshape@-1"},
    {"query key value :matmul :div :softmax :matmul", ":matmul@1 :div@-1 :add@-1, :softmax dropout"},
    // modeling_dpt.py, modeling_depth_anything.py, modeling_zoedepth.py; modeling_glpn.py; modeling_nomic_bert.py
    {"neck head", "+neck.fusion_stage.layers.#"},
    {"neck relative_head", "+neck.fusion_stage.layers.#"},
    {"stages.# final_upsample", "+stages.#"},
    {"embeddings layers.#", "embeddings"},
    {"self_attn post_attention_layernorm mlp post_mlp_layernorm", "self_attn"},
    // outputs = self.model(...): modeling_cohere.py and all models with a head, modeling_t5.py and its children
    {"model lm_head", "model"},
    {"transformer lm_head", "transformer"},
    {"encoder decoder lm_head", "encoder, decoder"},
    {"", ""},
    // Diego999's pyGAT, layers.py: Wh, e, attention, h_prime
    {":leaky_relu :where :softmax :matmul :elu", ":leaky_relu@-1, :where :softmax dropout, :matmul@-1"},
    {"", "segmentation_models_pytorch."},
    // segmentation_models_pytorch 0.6, decoders/*/decoder.py
    {"p5 p4 p3 p2 seg_blocks.# merge", "p5, p4, p3, p2, +seg_blocks.#"},
    {"aspp up block1 block2", "aspp up, block1, :cat, block2"},
    {":upsample_bilinear2d conv2 conv1 :mul :add", "conv2, conv1, :mul, :upsample_bilinear2d"},  // PAN's GAUBlock
    {"mlp_stage.# fuse_stage", "mlp_stage.#, +:upsample_bilinear2d"},
    {"blocks.x_0_0 blocks.x_0_1", ":cat"},
    {"x_0_0 x_0_1", ":cat"},  // as TorchScript has it: a dict of modules without its name
    {"psp fpn_lateral_blocks.# fpn_conv_blocks.# fusion_block",
     "+feature_norms.#, psp, +fpn_lateral_blocks.#, +fpn_conv_blocks.#, +:upsample_bilinear2d, :cat"},
    {"", ""},
    // lucidrains/vit-pytorch, vit_pytorch/vit.py: dots = q @ k * self.scale; attn = self.attend(dots); x = self.norm(x)
    {"to_qkv :matmul attend :matmul to_out", "norm, :matmul@1 :mul"},
    // xuebinqin/U-2-Net, model/u2net.py
    {"rebnconvin rebnconv1 rebnconv2 rebnconv2d rebnconv1d",
     "rebnconvin, rebnconv1, rebnconv2, rebnconv3, rebnconv4, rebnconv5, rebnconv6, rebnconv7, rebnconv6d, rebnconv5d, "
     "rebnconv4d, rebnconv3d, rebnconv2d, pool1 pool2 pool3 pool4 pool5, +:upsample_bilinear2d upscore2"},
    {"stage1 pool12 stage2 stage1d side1",
     "stage1, stage2, stage3, stage4, stage5, stage6, stage5d, stage4d, stage3d, stage2d, stage1d, side1, "
     "pool12 pool23 pool34 pool45 pool56, +:upsample_bilinear2d upscore2"},
    // XPixelGroup/BasicSR, archs/rrdbnet_arch.py; xinntao/ESRGAN, RRDBNet_arch.py; sanghyun-son/EDSR-PyTorch,
    // src/model/edsr.py
    {"conv_first body conv_body :add conv_up1 conv_up2 conv_last", "conv_first :add lrelu@1 lrelu@2, conv_body"},
    {"conv_first RRDB_trunk trunk_conv :add upconv1 upconv2 conv_last", "conv_first :add lrelu@1 lrelu@2, trunk_conv"},
    {"head body :add tail", "head tail, :add"},
    // The U-Net that most others were copied from (milesial/Pytorch-UNet, unet/unet_model.py, unet_parts.py).
    {"up :pad :cat conv", "up :pad"},
    {"inc down1 down2 up1 outc", "inc, down1, down2, down3, down4"},
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// The table with its words apart.
struct FrameRow {
  std::string_view library;
  std::vector<std::string_view> children, names;
};

const std::vector<FrameRow>& Rows() {
  static const std::vector<FrameRow> rows = [] {
    std::vector<FrameRow> apart;
    std::string_view library;
    for (const KnownFrame& known : kFrames) {
      if (known.children.empty()) {
        library = known.names;
      } else {
        apart.push_back({library, Split(known.children, ' '), Split(known.names, ',')});
      }
    }
    return apart;
  }();
  return rows;
}

class KnownFrames {
 public:
  KnownFrames(const Layers& layers, const Statements& statements, std::vector<Release>& release)
      : layers_(layers), statements_(statements), release_(release), last_reader_(layers.values.size(), -1) {
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      for (const ValueId id : layers.layers[l].inputs) {
        if (id.valid()) last_reader_[static_cast<size_t>(id.value)] = static_cast<int>(l);
      }
    }
  }

  void Hold() {
    std::set<ModuleId> frames = {ModuleId()};
    for (const Layer& layer : layers_.layers) {
      for (ModuleId m = layer.module; m.valid() && layers_[m].parent.valid(); m = layers_[m].parent) {
        if (!frames.insert(m).second) break;
      }
    }
    for (const ModuleId frame : frames) {
      if (frame.valid() && layers_[frame].class_name.starts_with("torch.nn.modules.")) continue;
      HoldFrame(frame);
    }
  }

 private:
  struct Kinded {
    Statements::Statement statement;
    std::string kind;
  };

  void HoldFrame(ModuleId frame) {
    std::vector<Kinded> run;
    for (const Statements::Statement& statement : statements_.StatementsOf(frame)) {
      std::string kind = statements_.KindOf(statement);
      if (!statement.call.valid()) kind.insert(0, ":");
      if (kind.front() == '.') kind.erase(0, 1);
      run.push_back({statement, std::move(kind)});
    }
    const std::set<std::string_view> kinds = KindsOf(run);
    const Release end = statements_.WithFrame(frame);
    const std::string_view class_name = frame.valid() ? layers_[frame].class_name : std::string_view();
    for (const FrameRow& row : Rows()) {
      if (!class_name.empty() && !class_name.starts_with(row.library)) continue;
      if (kinds.count(row.children.front()) == 0 || !Calls(run, row.children)) continue;
      for (const std::vector<Kinded>& turn : TurnsOf(run, row.children.front())) {
        const bool whole = turn.size() == run.size();
        for (const std::string_view name : row.names)
          HoldName(frame, turn, name, whole ? end : Release{turn.back().statement.last, end.holder});
      }
    }
  }

  static std::set<std::string_view> KindsOf(const std::vector<Kinded>& run) {
    std::set<std::string_view> kinds;
    for (const Kinded& one : run) kinds.insert(one.kind);
    return kinds;
  }

  // A frame that comes to its first child again and again is that of a loop, which calls block.forward(x): exporters
  // see none of the blocks' own frames. What runs from child to child is one of them.
  static std::vector<std::vector<Kinded>> TurnsOf(const std::vector<Kinded>& run, std::string_view head) {
    const auto begins = [&](const Kinded& one) { return one.kind == head; };
    const bool of_list = head.front() == ':' || head.find('#') != std::string_view::npos;
    if (of_list || std::count_if(run.begin(), run.end(), begins) < 2) return {run};
    std::vector<std::vector<Kinded>> turns;
    for (const Kinded& one : run) {
      if (begins(one)) turns.emplace_back();
      if (!turns.empty()) turns.back().push_back(one);
    }
    return turns;
  }

  static bool Calls(const std::vector<Kinded>& run, const std::vector<std::string_view>& children) {
    auto at = run.begin();
    for (std::string_view child : children) {
      const bool never = child.front() == '!';
      if (never) child.remove_prefix(1);
      const auto found =
          std::find_if(never ? run.begin() : at, run.end(), [&](const Kinded& one) { return one.kind == child; });
      if (never ? found != run.end() : found == run.end()) return false;
      if (!never) at = found;
    }
    return true;
  }

  void HoldName(ModuleId frame, const std::vector<Kinded>& run, std::string_view name, Release end) {
    const bool list = name.front() == '+', reads = name.back() == '<';
    if (list) name.remove_prefix(1);
    if (reads) name.remove_suffix(1);
    const std::vector<std::string_view> writes = Split(name, ' ');
    std::vector<ValueId> bound;
    std::map<std::string_view, int> all, count;
    for (const Kinded& one : run) ++all[one.kind];
    const auto is_written = [&](const std::string& kind) {
      return std::find(writes.begin(), writes.end(), kind) != writes.end();
    };
    for (const Kinded& one : run) {
      const int place = ++count[one.kind];
      if (!is_written(one.kind) && !is_written(one.kind + "@" + std::to_string(place)) &&
          !is_written(one.kind + "@" + std::to_string(place - 1 - all[one.kind]))) {
        continue;
      }
      if (!list) {
        for (const ValueId id : bound) vramplan::Hold(release_, id, {one.statement.last, end.holder});
        bound.clear();
      }
      const std::vector<ValueId> more = reads ? ReadBy(one.statement) : ResultsOf(one.statement);
      bound.insert(bound.end(), more.begin(), more.end());
    }
    if (list && bound.empty()) bound = ResultsInside(frame, writes);
    for (const ValueId id : bound) vramplan::Hold(release_, id, end);
  }

  // What a statement makes and something behind it reads.
  std::vector<ValueId> ResultsOf(const Statements::Statement& statement) const {
    std::vector<ValueId> results;
    for (int l = statement.first; l <= statement.last; ++l) {
      for (const ValueId id : layers_.layers[static_cast<size_t>(l)].outputs) {
        if (id.valid() && last_reader_[static_cast<size_t>(id.value)] > statement.last) results.push_back(id);
      }
    }
    return results;
  }

  std::vector<ValueId> ReadBy(const Statements::Statement& statement) const {
    std::vector<ValueId> read;
    for (int l = statement.first; l <= statement.last; ++l) {
      for (const ValueId id : layers_.layers[static_cast<size_t>(l)].inputs) {
        const int maker = id.valid() ? statements_.MakerOf(id) : -1;
        if (maker >= 0 && maker < statement.first) read.push_back(id);
      }
    }
    return read;
  }

  // Results of the calls that a call of this frame makes, or one within it: a list that they were given or return.
  std::vector<ValueId> ResultsInside(ModuleId frame, const std::vector<std::string_view>& kinds) const {
    constexpr int kDeepest = 3;
    std::vector<ValueId> results;
    for (size_t m = 0; m < layers_.modules.size(); ++m) {
      const ModuleId call = layers_.modules[m].parent;
      const int first = statements_.FirstOf(ModuleId{static_cast<int32_t>(m)});
      if (!call.valid() || first < 0) continue;
      std::vector<ModuleId> calls = {call};  // out to the frame
      while (calls.back().valid() && layers_[calls.back()].parent != frame && calls.size() < kDeepest)
        calls.push_back(layers_[calls.back()].parent);
      if (!calls.back().valid() || layers_[calls.back()].parent != frame) continue;
      const Statements::Statement inner = statements_.StatementOf(first, call);
      std::string path = statements_.KindOf(statements_.StatementOf(first, frame));
      for (size_t c = calls.size(); c-- > 0;) path += statements_.KindOf(statements_.StatementOf(first, calls[c]));
      if (path.front() == '.') path.erase(0, 1);
      if (std::find(kinds.begin(), kinds.end(), path) == kinds.end()) continue;
      const std::vector<ValueId> more = ResultsOf(inner);
      results.insert(results.end(), more.begin(), more.end());
    }
    return results;
  }

  const Layers& layers_;
  const Statements& statements_;
  std::vector<Release>& release_;
  std::vector<int> last_reader_;  // layer, by value; -1: none
};

}  // namespace

void HoldKnownFrames(const Layers& layers, const Statements& statements, std::vector<Release>& release) {
  KnownFrames(layers, statements, release).Hold();
}

}  // namespace vramplan
