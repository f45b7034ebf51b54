"""Which classes make.py records, at which settings and inputs."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch
import transformers

RECORDINGS = tuple((form, mode) for mode in ("train", "checkpointed", "infer") for form in ("float32", "half"))

INFERENCE = tuple((form, mode) for form, mode in RECORDINGS if mode == "infer")

HALVES = tuple((form, mode) for form, mode in RECORDINGS if form == "half")  # PyTorch's grouped_mm takes no other on meta


@dataclasses.dataclass
class Family:
    name: str
    classes: tuple[str, ...]  # names in config.json's `architectures` that run alike
    model: str
    config: str  # its class
    draw: Callable[[Any, int], tuple[dict[str, Any], dict[str, int]]]  # settings and lengths of a recording
    inputs: Callable[[Any, int, dict[str, int], str], dict[str, Any]]
    stacks: tuple[tuple[str, str], ...] = (("model.layers", "num_hidden_layers"),)
    like: str = ""  # the template that this one is written as changes to; a variant of a tag: that without one
    period: int = 1
    every: str = ""  # "KEY OFFSET": that setting says that each so-many-th layer is of another kind, counted from the offset
    capability: tuple[int, int] | None = None  # of the card, where the code asks for it
    variants: dict[str, dict[str, Any]] = dataclasses.field(default_factory=lambda: {"": {}})
    requires: dict[str, Any] = dataclasses.field(default_factory=dict)  # settings that are recorded so, and no other way
    let: dict[str, str] = dataclasses.field(default_factory=dict)  # "a or b": b where a, rounded down, is no whole number
    defaults: dict[str, str] = dataclasses.field(default_factory=dict)  # of settings that the class knows nothing of; "": it does not run without
    dims: dict[str, int] = dataclasses.field(default_factory=lambda: {"sequence": 512})  # free lengths, and usual ones
    limits: tuple[tuple[str, str], ...] = (("sequence", "max_position_embeddings"),)  # no null: the most that a length may be
    lora: tuple[str, ...] = ("q_proj", "v_proj")  # peft's own choice for the model type; none: it has none
    library: str = "transformers"
    recordings: tuple[tuple[str, str], ...] = RECORDINGS
    relations: list[str] = dataclasses.field(default_factory=list)  # "equal A B", "unlike A B": settings, as recorded
    wholes: tuple[str, ...] = ()  # quotients that must be whole
    window: dict[str, Any] = dataclasses.field(default_factory=dict)  # the setting of a sliding window that `draw` makes narrow: what hides nothing
    masks_from: str = ""  # the sequence from which on it hides something, where that is not the setting itself
    in_fp32: tuple[str, ...] = ()  # of what is given, in a model in halves, too
    checkpoints: str = ""  # why gradient_checkpointing_enable() has no recording: "refused" by the class, or one "nested" in another
    unnamed: tuple[str, ...] = ()  # settings and lengths that count by `let` alone

    def taken(self) -> list[str] | None:
        """`default` lines, where the configuration is no object that can be asked for them."""
        return None

    def modes(self) -> list[tuple[str, str]]:
        """Forms and modes of the recordings; long- with sequences that a window does not hold, padded- with a mask of the shorter ones."""
        kinds = [kind for kind in ("", "long-", "padded-", "long-padded-") if (self.window or "long" not in kind) and ("sequence" in self.dims or "padded" not in kind)]
        return [(form, kind + mode) for kind in kinds for form, mode in self.recordings]

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


def in_quarters(settings: dict[str, Any]) -> int:
    """A width whose heads a rotation may take in quarters, none wider than the kernels of attention take."""
    return settings["num_attention_heads"] * 4 * settings["head_dim"]


TIED = {"": {"tie_word_embeddings": False}, "tied": {"tie_word_embeddings": True}}
WINDOW = (("sequence", "max_position_embeddings"), ("sequence", "sliding_window"))
WIDEST = 1 << 20


def narrow(settings: dict[str, Any]) -> int:
    """A window that each sequence of these recordings is longer than."""
    return {(10, 5): 7, (9, 3): 11, (10, 2): 13, (14, 7): 5, (15, 5): 16}[settings["num_attention_heads"], settings["num_key_value_heads"]]


PATTERN = {4: 2, 5: 2, 6: 3, 7: 3}  # of each so many layers the last is of another kind, by the number of layers
FULL_EACH = {"sliding_window": narrow, "sliding_window_pattern": lambda s: PATTERN[s["num_hidden_layers"]]}


@dataclasses.dataclass
class Patterned(Family):
    """Layers with a sliding window and, after each few of them, one without: sliding_window_pattern stands for the list layer_types."""

    def configured(self, settings: dict[str, Any]) -> Any:
        pattern = settings.get("sliding_window_pattern")
        given = {key: value for key, value in settings.items() if key != "sliding_window_pattern"}
        if pattern and "num_hidden_layers" in given and "layer_types" not in given:
            given["layer_types"] = ["sliding_attention" if (n + 1) % pattern else "full_attention" for n in range(given["num_hidden_layers"])]
        return super().configured(given)


@dataclasses.dataclass
class Even(Family):
    """Layers without a window in a class that asks for layer_types then."""

    def configured(self, settings: dict[str, Any]) -> Any:
        return super().configured({**settings, "layer_types": settings.get("layer_types", ["full_attention"] * settings.get("num_hidden_layers", 32))})


def patterned(name: str, title: str, draw: Any, **rest: Any) -> Patterned:
    head = f"{title}ForCausalLM"
    return Patterned(name, (head,), head, f"{title}Config", draw, words, every="sliding_window_pattern 1", window={"sliding_window": WIDEST},
                     defaults={"sliding_window_pattern": "4"}, lora=(), **rest)


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


def of_bloom(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    """With heads whose number is a power of 2: others have slopes of two kinds."""
    drawn = random.sample(PRIMES, 3)
    heads = (2, 4, 8, 4, 16)[number]
    return {"vocab_size": 10 * drawn[0] + 1, "hidden_size": heads * 2 * drawn[1], "n_layer": (4, 5, 6, 4, 7)[number], "n_head": heads}, {"sequence": drawn[2]}


def of_falcon(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = of_bloom(random, number)
    return {"vocab_size": settings["vocab_size"], "hidden_size": settings["hidden_size"], "num_hidden_layers": settings["n_layer"],
            "num_attention_heads": settings["n_head"], "max_position_embeddings": 3000}, lengths


BERT = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
bert = without("num_key_value_heads", "head_dim", settings={"type_vocab_size": lambda s: 2, "num_labels": lambda s: 2})
roberta = without("num_key_value_heads", "head_dim", settings={"type_vocab_size": lambda s: 1, "num_labels": lambda s: 2})


def of_classes(draw: Any) -> Any:
    """The same, told apart in as many classes as no other length has."""

    def with_classes(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
        settings, lengths = draw(random, number)
        return {**settings, "num_labels": (101, 103, 107, 109, 113)[number]}, lengths

    return with_classes


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


def marian_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = bart_settings(random, number)
    return {**settings, "pad_token_id": 1, "decoder_start_token_id": 2}, lengths


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


def dinov2_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, _ = vit_settings(random, number)
    del settings["intermediate_size"]
    return {**settings, "mlp_ratio": 4}, {"image": settings["patch_size"] * (9, 5, 12, 7, 11)[number]}


def resized(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """Pictures of another size than those that the positions are for, as people use it: they are interpolated."""
    inputs = {"pixel_values": torch.zeros(batch, config.num_channels, lengths["image"], lengths["image"])}
    return {**inputs, "labels": torch.zeros(batch, dtype=torch.long)} if mode == "train" else inputs


EXPERTS = (2, 3, 2, 3, 2)
WIDE = {"hidden_size": lambda s: 8 * s["hidden_size"], "intermediate_size": lambda s: 8 * s["intermediate_size"]}  # grouped_mm wants whole 16 bytes
ROUTED = {"num_local_experts": lambda s: 11 + s["num_hidden_layers"], "num_experts_per_tok": lambda s: EXPERTS[s["num_hidden_layers"] - 4]}
LATENT = {"hidden_size": lambda s: 8 * s["hidden_size"], "moe_intermediate_size": lambda s: 8 * s["intermediate_size"] // 3, "num_experts_per_tok": ROUTED["num_experts_per_tok"],
          "num_key_value_heads": lambda s: s["num_attention_heads"], "n_shared_experts": lambda s: 1 + s["num_hidden_layers"] % 3, "kv_lora_rank": lambda s: 8 * (s["head_dim"] + 1),
          "qk_nope_head_dim": lambda s: s["head_dim"], "qk_rope_head_dim": lambda s: 2 * (s["num_hidden_layers"] + 1), "v_head_dim": lambda s: s["head_dim"] + 2 * s["num_hidden_layers"]}
KEYS = {"key_width": "qk_nope_head_dim+qk_rope_head_dim"}
MODERN = {"global_attn_every_n_layers": lambda s: {4: 2, 5: 2, 6: 2, 7: 3}[s["num_hidden_layers"]], "local_attention": lambda s: 8, "num_labels": lambda s: 2, "pad_token_id": lambda s: 0}
MODERN_WINDOW: dict[str, Any] = {"window": {"local_attention": WIDEST}, "masks_from": "local_attention/2"}
QUERY = ("query", "value")
FAMILIES = [
    causal("llama", "Llama", variants=TIED, requires={"attention_bias": False, "mlp_bias": False, "attention_dropout": 0.0}),
    causal("qwen2", "Qwen2", variants=TIED, draw=without("head_dim"), requires={"attention_dropout": 0.0, "use_sliding_window": False}),
    causal("qwen3", "Qwen3", variants=TIED, requires={"attention_dropout": 0.0, "attention_bias": False, "use_sliding_window": False}),
    causal("mistral", "Mistral", draw=without(settings={"sliding_window": narrow}), window={"sliding_window": None},
           requires={"attention_dropout": 0.0, "tie_word_embeddings": False}),
    causal("gemma", "Gemma", requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": True}),
    causal("gemma2", "Gemma2", period=2, draw=without(layers=2, settings={"sliding_window": narrow, "query_pre_attn_scalar": lambda s: 256}), window={"sliding_window": WIDEST},
           requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": True}),
    causal("phi3", "Phi3", draw=without("head_dim", settings={"pad_token_id": lambda s: 0, "partial_rotary_factor": lambda s: 1.0, "sliding_window": narrow}), window={"sliding_window": None},
           requires={"attention_dropout": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "tie_word_embeddings": False}, lora=(),
           let={"head_width": "hidden_size/num_attention_heads"}),
    causal("phi3-partial", "Phi3", draw=without("head_dim", settings={"pad_token_id": lambda s: 0, "hidden_size": in_quarters}),
           requires={"attention_dropout": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "tie_word_embeddings": True, "partial_rotary_factor": 0.75}, limits=WINDOW, lora=(),
           let={"head_width": "hidden_size/num_attention_heads", "rotary_width": "3*hidden_size/num_attention_heads/4"}),
    causal("glm4", "Glm4", draw=without(settings={"pad_token_id": lambda s: 0, "head_dim": lambda s: 2 * s["head_dim"]}),
           requires={"attention_dropout": 0.0, "attention_bias": True, "tie_word_embeddings": False, "partial_rotary_factor": 0.5}, lora=()),
    causal("olmo2", "Olmo2", draw=without("head_dim"), requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": False}, lora=()),
    patterned("olmo3", "Olmo3", without("head_dim", settings=FULL_EACH), requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": False}),
    causal("cohere", "Cohere", draw=without("head_dim"), requires={"attention_dropout": 0.0, "attention_bias": False, "use_qk_norm": False, "tie_word_embeddings": True}, lora=()),
    Even("exaone4", ("Exaone4ForCausalLM",), "Exaone4ForCausalLM", "Exaone4Config", decoder, words,
         requires={"attention_dropout": 0.0, "sliding_window": None, "tie_word_embeddings": True}, lora=()),
    causal("seed_oss", "SeedOss", requires={"attention_dropout": 0.1, "residual_dropout": 0.1, "attention_bias": True, "attention_out_bias": False, "mlp_bias": False,
                                            "tie_word_embeddings": False}, lora=()),
    causal("gemma3", "Gemma3", "Gemma3Text", every="sliding_window_pattern 1",
           draw=without(settings={"sliding_window": narrow, "sliding_window_pattern": lambda s: {4: 2, 5: 2, 6: 3, 7: 3}[s["num_hidden_layers"]]}), window={"sliding_window": WIDEST},
           requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": True}, defaults={"sliding_window_pattern": "6"}),
    causal("mixtral", "Mixtral", capability=(8, 0), recordings=HALVES, draw=without(settings={**WIDE, **ROUTED}),
           requires={"attention_dropout": 0.0, "tie_word_embeddings": False, "sliding_window": None, "router_jitter_noise": 0.0, "output_router_logits": False},
           defaults={"head_dim": "hidden_size/num_attention_heads"}, limits=WINDOW, lora=()),  # with experts of transformers 5 peft asks for targets
    causal("qwen3_moe", "Qwen3Moe", capability=(8, 0), recordings=HALVES, draw=without("intermediate_size", settings={
        "hidden_size": WIDE["hidden_size"], "moe_intermediate_size": WIDE["intermediate_size"], "num_experts": ROUTED["num_local_experts"], "num_experts_per_tok": ROUTED["num_experts_per_tok"]}),
           requires={"attention_dropout": 0.0, "attention_bias": False, "use_sliding_window": False, "tie_word_embeddings": False, "norm_topk_prob": True,
                     "decoder_sparse_step": 1, "output_router_logits": False},
           defaults={"head_dim": "hidden_size/num_attention_heads"}, lora=()),
    causal("gpt_oss", "GptOss", capability=(8, 0), recordings=HALVES, period=2,
           draw=without(layers=2, settings={**WIDE, "num_local_experts": ROUTED["num_local_experts"], "num_experts_per_tok": lambda s: EXPERTS[s["num_hidden_layers"] // 2 - 4],
                                            "sliding_window": narrow}),
           requires={"attention_dropout": 0.0, "attention_bias": True, "tie_word_embeddings": False, "output_router_logits": False}, lora=()),
    causal("deepseek_v2", "DeepseekV2", capability=(8, 0), recordings=HALVES, draw=without("head_dim", settings={**LATENT, "n_routed_experts": ROUTED["num_local_experts"]}),
           relations=["equal num_key_value_heads num_attention_heads"], let=KEYS, lora=(),
           requires={"attention_dropout": 0.0, "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False, "q_lora_rank": None, "first_k_dense_replace": 1,
                     "topk_method": "greedy", "output_router_logits": False}, defaults={"num_experts_per_tok": ""}),
    causal("deepseek_v3", "DeepseekV3", capability=(8, 0), recordings=HALVES, draw=without("head_dim", settings={**LATENT, "n_routed_experts": ROUTED["num_local_experts"]}),
           relations=["equal num_key_value_heads num_attention_heads"], let=KEYS, lora=(),
           requires={"attention_dropout": 0.0, "attention_bias": False, "tie_word_embeddings": False, "q_lora_rank": None, "first_k_dense_replace": 1, "n_group": 1,
                     "topk_group": 1, "norm_topk_prob": True, "rope_interleave": True, "output_router_logits": False}),
    causal("phi", "Phi", draw=without("head_dim", settings={"hidden_size": lambda s: 10 * s["hidden_size"]}),
           variants={"": {"partial_rotary_factor": 0.4, "resid_pdrop": 0.1}, "half": {"partial_rotary_factor": 0.5, "resid_pdrop": 0.0}},
           requires={"attention_dropout": 0.0, "embd_pdrop": 0.0, "tie_word_embeddings": False, "qk_layernorm": False},
           lora=("q_proj", "v_proj", "fc1", "fc2"), let={"rotary_width": "2*hidden_size/num_attention_heads/5"}),
    causal("smollm3", "SmolLM3", draw=without("head_dim", settings={"pad_token_id": lambda s: 0, "no_rope_layer_interval": lambda s: {4: 2, 5: 2, 6: 3, 7: 3}[s["num_hidden_layers"]]}),
           every="no_rope_layer_interval 1", lora=(), requires={"attention_dropout": 0.0, "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True,
                                                              "use_sliding_window": False}),
    causal("gpt2", "GPT2", stacks=(("transformer.h", "n_layer"),),
           draw=renamed({"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "max_position_embeddings": "n_positions"},
                        "intermediate_size", "num_key_value_heads", "head_dim"),
           requires={"attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "tie_word_embeddings": True, "n_inner": None},
           limits=(("sequence", "n_positions"),), lora=("c_attn",)),
    causal("gptj", "GPTJ", stacks=(("transformer.h", "n_layer"),),
           draw=renamed({"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "max_position_embeddings": "n_positions"},
                        "intermediate_size", "num_key_value_heads", "head_dim", settings={"rotary_dim": lambda s: s["head_dim"], "hidden_size": lambda s: 10 * s["hidden_size"]}),
           requires={"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0, "tie_word_embeddings": False, "n_inner": None},
           limits=(("sequence", "n_positions"),)),
    causal("gpt_neox", "GPTNeoX", stacks=(("gpt_neox.layers", "num_hidden_layers"),), draw=without("num_key_value_heads", "head_dim", settings={"rotary_pct": lambda s: 0.25, "hidden_size": lambda s: 4 * s["hidden_size"]}),
           requires={"attention_dropout": 0.0, "hidden_dropout": 0.0, "use_parallel_residual": True, "tie_word_embeddings": False, "rotary_pct": 0.25},
           let={"rotary_width": "hidden_size/num_attention_heads/4"}, lora=("query_key_value",)),
    causal("opt", "OPT", stacks=(("model.decoder.layers", "num_hidden_layers"),),
           draw=renamed({"intermediate_size": "ffn_dim"}, "num_key_value_heads", "head_dim", settings={"word_embed_proj_dim": lambda s: s["hidden_size"]}),
           relations=["equal word_embed_proj_dim hidden_size"],
           requires={"dropout": 0.1, "attention_dropout": 0.0, "layerdrop": 0.0, "tie_word_embeddings": True, "do_layer_norm_before": True}),
    Family("opt-projected", ("OPTForCausalLM",), "OPTForCausalLM", "OPTConfig",
           renamed({"intermediate_size": "ffn_dim"}, "num_key_value_heads", "head_dim", settings={"word_embed_proj_dim": lambda s: s["vocab_size"] // 10 + 1}), words,
           stacks=(("model.decoder.layers", "num_hidden_layers"),), relations=["unlike word_embed_proj_dim hidden_size"],
           requires={"dropout": 0.1, "attention_dropout": 0.0, "layerdrop": 0.0, "tie_word_embeddings": True, "do_layer_norm_before": False}),
    causal("falcon", "Falcon", stacks=(("transformer.h", "num_hidden_layers"),), draw=of_falcon,
           variants={"": {"alibi": False, "multi_query": True, "parallel_attn": True, "bias": False}, "alibi": {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}},
           requires={"attention_dropout": 0.0, "hidden_dropout": 0.0, "new_decoder_architecture": False, "tie_word_embeddings": True, "ffn_hidden_size": None},
           let={"head_width": "hidden_size/num_attention_heads"}, lora=("query_key_value",)),
    causal("granite", "Granite", draw=without("head_dim"),
           requires={"attention_dropout": 0.0, "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True}, lora=()),
    causal("starcoder2", "Starcoder2", draw=without("head_dim", settings={"sliding_window": narrow}), window={"sliding_window": None},
           requires={"attention_dropout": 0.1, "residual_dropout": 0.1, "embedding_dropout": 0.1, "use_bias": True, "tie_word_embeddings": True}, lora=()),
    causal("stablelm", "StableLm", draw=without("head_dim", settings={"hidden_size": in_quarters}),
           variants={"": {"use_qkv_bias": False}, "bias": {"use_qkv_bias": True}}, let={"rotary_width": "hidden_size/num_attention_heads/4"},
           requires={"attention_dropout": 0.0, "hidden_dropout": 0.0, "qk_layernorm": False, "use_parallel_residual": False, "tie_word_embeddings": False,
                     "partial_rotary_factor": 0.25}),
    causal("bloom", "Bloom", stacks=(("transformer.h", "n_layer"),), draw=of_bloom, limits=(), lora=("query_key_value",),
           requires={"attention_dropout": 0.0, "hidden_dropout": 0.0, "apply_residual_connection_post_layernorm": False, "slow_but_exact": False,
                     "tie_word_embeddings": True}, let={"head_width": "hidden_size/n_head"}),
    causal("gpt_neo", "GPTNeo", stacks=(("transformer.h", "num_layers"),), period=2,
           draw=renamed({"num_hidden_layers": "num_layers", "num_attention_heads": "num_heads"}, "num_key_value_heads", "head_dim", "intermediate_size", layers=2,
                        settings={"attention_types": lambda s: [[["global", "local"], s["num_hidden_layers"] // 2]]}),
           requires={"attention_dropout": 0.0, "resid_dropout": 0.0, "embed_dropout": 0.0, "intermediate_size": None, "window_size": 256, "tie_word_embeddings": True}),
    encoder("bert", "Bert", "classify", of_classes(bert), labels, requires=BERT, stacks=(("bert.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("bert", "Bert", "words", bert, filled, like="bert-classify", requires=BERT, stacks=(("bert.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("roberta", "Roberta", "classify", of_classes(roberta), labels, requires=BERT, stacks=(("roberta.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    encoder("roberta", "Roberta", "words", roberta, filled, like="roberta-classify", requires=BERT, stacks=(("roberta.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    Family("qwen3-features", ("Qwen3Model",), "Qwen3Model", "Qwen3Config", decoder, lambda config, batch, lengths, mode: words(config, batch, lengths, "infer"),
           stacks=(("layers", "num_hidden_layers"),), requires={"attention_dropout": 0.0, "attention_bias": False, "use_sliding_window": False}, recordings=INFERENCE),
    *(Family(f"{name}-features", classes, classes[0], f"{title}Config", draw, labels, stacks=(("encoder.layer", "num_hidden_layers"),), requires=BERT, lora=QUERY,
             recordings=INFERENCE)  # what makes a loss of the features is no part of it
      for name, title, draw, classes in (("bert", "Bert", bert, ("BertModel",)), ("roberta", "Roberta", roberta, ("RobertaModel", "XLMRobertaModel")))),
    encoder("electra", "Electra", "classify", of_classes(without("num_key_value_heads", "head_dim", settings={"type_vocab_size": lambda s: 2, "num_labels": lambda s: 2,
            "embedding_size": lambda s: s["hidden_size"]})), labels, requires=BERT, relations=["equal embedding_size hidden_size"], stacks=(("electra.encoder.layer", "num_hidden_layers"),), lora=QUERY),
    Family("deberta_v2-classify", ("DebertaV2ForSequenceClassification",), "DebertaV2ForSequenceClassification", "DebertaV2Config",
           of_classes(without("num_key_value_heads", "head_dim", settings={"pooler_hidden_size": lambda s: s["hidden_size"]})), labels,
           requires={**BERT, "relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p",
                     "position_biased_input": False, "max_relative_positions": -1, "type_vocab_size": 0, "pooler_dropout": 0.0, "pooler_hidden_act": "gelu"},
           relations=["equal pooler_hidden_size hidden_size"], stacks=(("deberta.encoder.layer", "num_hidden_layers"),), lora=("query_proj", "value_proj")),
    encoder("esm", "Esm", "words", without("num_key_value_heads", "head_dim", settings={"pad_token_id": lambda s: 1, "mask_token_id": lambda s: 32}), filled,
            requires={"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "position_embedding_type": "rotary", "token_dropout": True, "emb_layer_norm_before": False},
            defaults={"vocab_size": "", "pad_token_id": "", "mask_token_id": ""}, stacks=(("esm.encoder.layer", "num_hidden_layers"),), lora=(), unnamed=("pad_token_id", "mask_token_id")),
    encoder("distilbert", "DistilBert", "classify",
            of_classes(renamed({"hidden_size": "dim", "intermediate_size": "hidden_dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"},
                    "num_key_value_heads", "head_dim", settings={"num_labels": lambda s: 2})), labels,
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
    *(Family(name, (f"{title}{rest}",), f"{title}{rest}", f"{title}Config", draw, translated, unnamed=("pad_token_id", "decoder_start_token_id"),
             stacks=(("model.encoder.layers", "encoder_layers"), ("model.decoder.layers", "decoder_layers")), dims={"sequence": 512, "target": 128},
             limits=(("sequence", "max_position_embeddings"), ("target", "max_position_embeddings")), lora=(),
             requires={"dropout": 0.1, "activation_dropout": 0.0, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "tie_word_embeddings": True, **more})
      for name, title, rest, draw, more in (("m2m_100", "M2M100", "ForConditionalGeneration", bart_settings, {"attention_dropout": 0.1, "scale_embedding": True}),
                                            ("marian", "Marian", "MTModel", marian_settings, {"attention_dropout": 0.0, "scale_embedding": True, "activation_function": "swish"}))),
    Family("whisper", ("WhisperForConditionalGeneration",), "WhisperForConditionalGeneration", "WhisperConfig", whisper_settings, spoken,
           stacks=(("model.encoder.layers", "encoder_layers"), ("model.decoder.layers", "decoder_layers")), dims={"target": 128},
           limits=(("target", "max_target_positions"),), lora=(), requires={"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}),
    encoder("modernbert", "ModernBert", "classify", without("num_key_value_heads", "head_dim", settings=MODERN), labels, every="global_attn_every_n_layers 0",
            requires={"attention_dropout": 0.0, "embedding_dropout": 0.0, "mlp_dropout": 0.0, "classifier_pooling": "mean"}, lora=(), **MODERN_WINDOW),
    encoder("modernbert", "ModernBert", "words", without("num_key_value_heads", "head_dim", settings=MODERN), filled, every="global_attn_every_n_layers 0",
            requires={"attention_dropout": 0.0, "embedding_dropout": 0.0, "mlp_dropout": 0.0, "tie_word_embeddings": True}, lora=(), **MODERN_WINDOW),
    encoder("dinov2", "Dinov2", "image", dinov2_settings, resized, stacks=(("dinov2.encoder.layer", "num_hidden_layers"),), dims={"image": 224}, limits=(),
            requires={"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "drop_path_rate": 0.0, "qkv_bias": True, "use_swiglu_ffn": False},
            let={"grid": "image_size/patch_size", "tiles": "image/patch_size"}, lora=()),
    encoder("vit", "ViT", "image", vit_settings, pictured, stacks=(("vit.layers", "num_hidden_layers"),), dims={}, limits=(),
            requires={"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "qkv_bias": True},
            let={"grid": "image_size/patch_size"}, lora=()),
]
