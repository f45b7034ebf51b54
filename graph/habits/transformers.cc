// transformers, and diffusers, which follows it.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr ClassHabit kTransformersClasses[] = {
    {"transformers.", Effect::kActsOutOfPlace},  // ACT2FN makes them without arguments
    {"transformers.", Effect::kSkipsMasks},      // masking_utils.py: sdpa_mask
};

constexpr FrameHabit kTransformersFrames[] = {
    // transformers 5: modeling_pvt.py; modeling_modernbert.py; modeling_gpt_neox.py, whose other blocks add once before
    // mlp; modeling_hiera.py; modeling_swin.py: its windows, its mask and what it puts together of windows;
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
    // modeling_t5.py: normed_hidden_states, attention_output, forwarded_states of the sublayers
    {"layer_norm SelfAttention", "layer_norm, SelfAttention"},
    {"layer_norm EncDecAttention", "layer_norm, EncDecAttention"},
    {"layer_norm DenseReluDense", "DenseReluDense"},
    // modeling_gpt2.py and its children: hidden_states = self.ln_1(hidden_states); attn_output = self.attn(...);
    // hidden_states = attn_output + residual
    {"ln_1 attn :add ln_2 mlp :add", "ln_1 :add@1, attn, ln_2 :add@-1, mlp"},
    // outputs = self.model(...): modeling_cohere.py and all models with a head, modeling_t5.py and its children
    {"model lm_head", "model"},
    {"transformer lm_head", "transformer"},
    {"encoder decoder lm_head", "encoder, decoder"},
};

constexpr NameHabit kTransformersNames[] = {
    {".EncDecAttention", NameHabit::Of::kCrossAttention},  // modeling_t5.py
    {"encoder", NameHabit::Of::kNamedFeatures},            // modeling_vit.py and others
    {".EncDecAttention", NameHabit::Of::kHalvesOfT5},      // modeling_t5.py: T5LayerCrossAttention
    {".block.", NameHabit::Of::kClamped, ".layer."},       // modeling_t5.py: T5Block
    {".attention_biases", NameHabit::Of::kCachedIndex},    // modeling_levit.py: attention_bias_cache
    {"relative_position_bias_table", NameHabit::Of::kDenseBias, "relative_position_index"},  // modeling_swin.py
    {".encoder_attn", NameHabit::Of::kCrossAttention},                                       // modeling_bart.py
    {".cross_attention", NameHabit::Of::kCrossAttention, ".cross_attention_layer_norm"},
    {"_gradient_checkpointing_func(", NameHabit::Of::kCheckpoint},  // modeling_layers.py: GradientCheckpointingLayer
    {"embeddings.word_embeddings.weight", NameHabit::Of::kPublished,
     "encoder.layer.0.attention.self.query.bias"},  // modeling_bert.py and its children
    {"embeddings.word_embeddings.weight", NameHabit::Of::kPublished,
     "transformer.layer.0.attention.q_lin.bias"},                       // modeling_distilbert.py
    {"wte.weight", NameHabit::Of::kPublished, "h.0.attn.c_attn.bias"},  // modeling_gpt2.py
    {"embeddings.patch_embeddings.projection.weight", NameHabit::Of::kPublished,
     "layers.0.attention.q_proj.bias"},  // modeling_vit.py
    {"embeddings.patch_embedding.weight", NameHabit::Of::kPublished,
     "encoder.layers.0.self_attn.q_proj.bias"},                                                      // modeling_clip.py
    {"shared.weight", NameHabit::Of::kPublished, "encoder.block.0.layer.0.SelfAttention.q.weight"},  // modeling_t5.py
    {"feature_extractor.conv_layers.0.conv.weight", NameHabit::Of::kPublished,
     "encoder.layers.0.attention.q_proj.bias"},  // modeling_wav2vec2.py
};

constexpr ClassHabit kDiffusersClasses[] = {
    {"diffusers.", Effect::kActsOutOfPlace},
};

constexpr FrameHabit kDiffusersFrames[] = {
    // models/resnet.py, ResnetBlock2D: output_tensor = (input_tensor + hidden_states) / self.output_scale_factor
    {"norm1 conv1 norm2 conv2 conv_shortcut", "conv2, conv_shortcut"},
};

}  // namespace

constinit const Library kTransformers = {"transformers.", "5.23", kTransformersClasses, kTransformersFrames,
                                         kTransformersNames};
constinit const Library kDiffusers = {"diffusers.", "0.42", kDiffusersClasses, kDiffusersFrames, {}};

}  // namespace vramplan
