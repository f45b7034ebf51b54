"""Which classes make.py records, at which settings and inputs."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch
import transformers

RECORDINGS = tuple((form, mode) for mode in ("train", "checkpointed", "infer") for form in ("float32", "half"))


@dataclasses.dataclass
class Family:
    name: str
    classes: tuple[str, ...]  # names in config.json's `architectures` that run alike
    model: str
    config: str  # its class
    draw: Callable[[Any, int], tuple[dict[str, Any], dict[str, int]]]  # settings and lengths of a recording
    inputs: Callable[[Any, int, dict[str, int], str], dict[str, Any]]
    stacks: tuple[tuple[str, str], ...] = (("model.layers", "num_hidden_layers"),)
    period: int = 1
    variants: dict[str, dict[str, Any]] = dataclasses.field(default_factory=lambda: {"": {}})
    requires: dict[str, Any] = dataclasses.field(default_factory=dict)  # settings that are recorded so, and no other way
    let: dict[str, str] = dataclasses.field(default_factory=dict)
    dims: dict[str, int] = dataclasses.field(default_factory=lambda: {"sequence": 512})  # free lengths, and usual ones
    limits: tuple[tuple[str, str], ...] = (("sequence", "max_position_embeddings"),)  # no null: the most that a length may be
    lora: tuple[str, ...] = ("q_proj", "v_proj")  # peft's own choice for the model type; none: it has none
    library: str = "transformers"
    recordings: tuple[tuple[str, str], ...] = RECORDINGS

    def configured(self, settings: dict[str, Any]) -> Any:
        return getattr(transformers, self.config)(**settings)

    def build(self, settings: dict[str, Any]) -> torch.nn.Module:
        return getattr(transformers, self.model)(self.configured(settings))


PRIMES = [17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97]


def words(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    ids = torch.zeros(batch, lengths["sequence"], dtype=torch.long)
    inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return {**inputs, "labels": torch.zeros_like(ids)} if mode == "train" else inputs


def decoder(random: Any, number: int, layers: int = 1) -> tuple[dict[str, Any], dict[str, int]]:
    """Settings of a decoder of words: lengths that share no factor, three to six layers, groups of heads."""
    drawn = random.sample(PRIMES, 7)
    groups = (2, 3, 5, 2, 3)[number]
    kv = (5, 3, 2, 7, 5)[number]
    settings = {
        "vocab_size": 10 * drawn[0] + 1,
        "hidden_size": groups * kv * 2 * drawn[1],
        "intermediate_size": 3 * drawn[2],
        "num_hidden_layers": (4, 5, 6, 4, 7)[number] * layers,
        "num_attention_heads": groups * kv,
        "num_key_value_heads": kv,
        "head_dim": 2 * (11, 13, 7, 11, 19)[number],
        "max_position_embeddings": 100 * drawn[4],
    }
    return settings, {"sequence": drawn[5]}


TIED = {"": {"tie_word_embeddings": False}, "tied": {"tie_word_embeddings": True}}
WINDOW = (("sequence", "max_position_embeddings"), ("sequence", "sliding_window"))


def causal(name: str, title: str, config: str = "", draw: Any = decoder, **rest: Any) -> Family:
    head = "GPT2LMHeadModel" if title == "GPT2" else f"{title}ForCausalLM"
    return Family(name, (head,), head, f"{config or title}Config", draw, words, **rest)


def without(*keys: str, **more: Any) -> Any:
    """`decoder` less some settings; more: settings of this class alone, by those that are there."""

    def draw(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
        settings, lengths = decoder(random, number, more.get("layers", 1))
        made = {key: make(settings) for key, make in more.get("settings", {}).items()}
        return {**{k: v for k, v in settings.items() if k not in keys}, **made}, lengths

    return draw


def renamed(names: dict[str, str], *keys: str, **more: Any) -> Any:
    def draw(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
        settings, lengths = without(*keys, **more)(random, number)
        return {names.get(k, k): v for k, v in settings.items()}, lengths

    return draw


def encoder(name: str, title: str, head: str, draw: Any, inputs: Any, **rest: Any) -> Family:
    also = (f"XLM{title}For{HEAD[head]}",) if title == "Roberta" else ()
    return Family(f"{name}-{head}", (f"{title}For{HEAD[head]}", *also), f"{title}For{HEAD[head]}", f"{title}Config", draw, inputs, **rest)


HEAD = {"classify": "SequenceClassification", "words": "MaskedLM", "image": "ImageClassification"}


def labels(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    ids = torch.zeros(batch, lengths["sequence"], dtype=torch.long)
    inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return {**inputs, "labels": torch.zeros(batch, dtype=torch.long)} if mode == "train" else inputs


def filled(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    inputs = labels(config, batch, lengths, "infer")
    return {**inputs, "labels": torch.zeros_like(inputs["input_ids"])} if mode == "train" else inputs


def translated(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    inputs = labels(config, batch, lengths, "infer")
    target = torch.zeros(batch, lengths["target"], dtype=torch.long)
    return {**inputs, "labels": target} if mode == "train" else {**inputs, "decoder_input_ids": target}


def spoken(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    sound = torch.zeros(batch, config.num_mel_bins, 2 * config.max_source_positions)
    target = torch.zeros(batch, lengths["target"], dtype=torch.long)
    return {"input_features": sound, ("labels" if mode == "train" else "decoder_input_ids"): target}


def pictured(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    inputs = {"pixel_values": torch.zeros(batch, config.num_channels, config.image_size, config.image_size)}
    return {**inputs, "labels": torch.zeros(batch, dtype=torch.long)} if mode == "train" else inputs


BERT = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
bert = without("num_key_value_heads", "head_dim", settings={"type_vocab_size": lambda s: 2, "num_labels": lambda s: 2})
roberta = without("num_key_value_heads", "head_dim", settings={"type_vocab_size": lambda s: 1, "num_labels": lambda s: 2})


def t5_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 6)
    settings = {
        "vocab_size": 10 * drawn[0] + 1, "d_model": 2 * drawn[1], "d_ff": 3 * drawn[2], "d_kv": 2 * (11, 13, 7, 5, 17)[number],
        "num_heads": (2, 3, 4, 6, 5)[number], "num_layers": (4, 5, 6, 4, 7)[number], "num_decoder_layers": (5, 4, 7, 6, 4)[number],
        "decoder_start_token_id": 0,
    }
    return settings, {"sequence": drawn[3], "target": drawn[4]}


def bart_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 6)
    heads, decoder_heads = (2, 3, 4, 6, 5)[number], (2, 3, 4, 6, 5)[number]
    settings = {
        "vocab_size": 10 * drawn[0] + 1, "d_model": heads * 2 * drawn[1], "encoder_ffn_dim": 3 * drawn[2], "decoder_ffn_dim": 5 * drawn[5],
        "encoder_attention_heads": heads, "decoder_attention_heads": decoder_heads, "encoder_layers": (4, 5, 6, 4, 7)[number],
        "decoder_layers": (5, 4, 7, 6, 4)[number], "max_position_embeddings": 20 * drawn[2],
    }
    return settings, {"sequence": drawn[3], "target": drawn[4]}


def whisper_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = bart_settings(random, number)
    drawn = random.sample(PRIMES, 3)
    del settings["max_position_embeddings"]
    return {**settings, "num_mel_bins": 2 * drawn[0], "max_source_positions": 5 * drawn[1], "max_target_positions": 12 * drawn[2] + 400,
            "decoder_start_token_id": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}, {"target": lengths["target"]}


def vit_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 4)
    heads, patch, grid = (2, 3, 4, 6, 5)[number], (4, 6, 8, 10, 12)[number], (7, 11, 5, 9, 6)[number]
    return {"hidden_size": heads * 2 * drawn[0], "intermediate_size": 3 * drawn[1], "num_attention_heads": heads, "patch_size": patch,
            "image_size": patch * grid, "num_hidden_layers": (4, 5, 6, 4, 7)[number], "num_channels": 3, "num_labels": drawn[2]}, {}


QUERY = ("query", "value")
FAMILIES = [
    causal("llama", "Llama", variants=TIED, requires={"attention_bias": False, "mlp_bias": False, "attention_dropout": 0.0}),
    causal("qwen2", "Qwen2", variants=TIED, draw=without("head_dim"), requires={"attention_dropout": 0.0, "use_sliding_window": False}),
    causal("qwen3", "Qwen3", variants=TIED, requires={"attention_dropout": 0.0, "attention_bias": False, "use_sliding_window": False}),
    causal("mistral", "Mistral", requires={"attention_dropout": 0.0, "tie_word_embeddings": False, "sliding_window": None}, limits=WINDOW),
    causal("gemma", "Gemma", requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": True}),
    causal("gemma2", "Gemma2", period=2, draw=without(layers=2, settings={"sliding_window": lambda s: 4096, "query_pre_attn_scalar": lambda s: 256}),
           requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": True}, limits=WINDOW),
    causal("phi3", "Phi3", draw=without("head_dim", settings={"pad_token_id": lambda s: 0, "partial_rotary_factor": lambda s: 1.0}),
           requires={"attention_dropout": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "tie_word_embeddings": False, "sliding_window": None}, limits=WINDOW, lora=(),
           let={"head_width": "hidden_size/num_attention_heads"}),
    causal("olmo2", "Olmo2", draw=without("head_dim"), requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": False}, lora=()),
    causal("gpt2", "GPT2", stacks=(("transformer.h", "n_layer"),),
           draw=renamed({"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "max_position_embeddings": "n_positions"},
                        "intermediate_size", "num_key_value_heads", "head_dim"),
           requires={"attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "tie_word_embeddings": True, "n_inner": None},
           limits=(("sequence", "n_positions"),), lora=("c_attn",)),
    causal("gpt_neox", "GPTNeoX", stacks=(("gpt_neox.layers", "num_hidden_layers"),), draw=without("num_key_value_heads", "head_dim", settings={"rotary_pct": lambda s: 0.25, "hidden_size": lambda s: 4 * s["hidden_size"]}),
           requires={"attention_dropout": 0.0, "hidden_dropout": 0.0, "use_parallel_residual": True, "tie_word_embeddings": False, "rotary_pct": 0.25},
           let={"rotary_width": "hidden_size/num_attention_heads/4"}, lora=("query_key_value",)),
    causal("opt", "OPT", stacks=(("model.decoder.layers", "num_hidden_layers"),),
           draw=renamed({"intermediate_size": "ffn_dim"}, "num_key_value_heads", "head_dim", settings={"word_embed_proj_dim": lambda s: s["hidden_size"]}),
           requires={"dropout": 0.1, "attention_dropout": 0.0, "layerdrop": 0.0, "tie_word_embeddings": True, "do_layer_norm_before": True}),
    encoder("bert", "Bert", "classify", bert, labels, requires=BERT, stacks=(("bert.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("bert", "Bert", "words", bert, filled, requires=BERT, stacks=(("bert.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("roberta", "Roberta", "classify", roberta, labels, requires=BERT, stacks=(("roberta.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("roberta", "Roberta", "words", roberta, filled, requires=BERT, stacks=(("roberta.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("distilbert", "DistilBert", "classify",
            renamed({"hidden_size": "dim", "intermediate_size": "hidden_dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"},
                    "num_key_value_heads", "head_dim", settings={"num_labels": lambda s: 2}), labels,
            requires={"dropout": 0.1, "attention_dropout": 0.1, "seq_classif_dropout": 0.2},
            stacks=(("distilbert.transformer.layer", "n_layers"),), lora=()),
    Family("t5", ("T5ForConditionalGeneration", "MT5ForConditionalGeneration"), "T5ForConditionalGeneration", "T5Config", t5_settings, translated,
           stacks=(("encoder.block", "num_layers"), ("decoder.block", "num_decoder_layers")), dims={"sequence": 512, "target": 128}, limits=(),
           variants={"": {"feed_forward_proj": "relu", "tie_word_embeddings": True}, "gated": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}},
           requires={"dropout_rate": 0.1}, lora=("q", "v")),
    Family("bart", ("BartForConditionalGeneration",), "BartForConditionalGeneration", "BartConfig", bart_settings, translated,
           stacks=(("model.encoder.layers", "encoder_layers"), ("model.decoder.layers", "decoder_layers")), dims={"sequence": 512, "target": 128},
           limits=(("sequence", "max_position_embeddings"), ("target", "max_position_embeddings")),
           requires={"dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0}),
    Family("whisper", ("WhisperForConditionalGeneration",), "WhisperForConditionalGeneration", "WhisperConfig", whisper_settings, spoken,
           stacks=(("model.encoder.layers", "encoder_layers"), ("model.decoder.layers", "decoder_layers")), dims={"target": 128},
           limits=(("target", "max_target_positions"),), lora=(), requires={"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}),
    encoder("vit", "ViT", "image", vit_settings, pictured, stacks=(("vit.layers", "num_hidden_layers"),), dims={}, limits=(),
            requires={"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "qkv_bias": True},
            let={"grid": "image_size/patch_size"}, lora=()),
]
