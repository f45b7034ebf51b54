"""The models of two parts, words and pictures, that make.py records. Settings of a part have its name before theirs: text_hidden_size is
hidden_size of its text_config. Those that are asked for words alone have a tower for pictures that does not run.
"""
from __future__ import annotations

import dataclasses
from typing import Any

import torch
import transformers

from families import Family, PRIMES, TIED, WIDEST, decoder, narrow, words


class Nested:
    """The config of a model of two: text_hidden_size is hidden_size of its text_config."""

    def __init__(self, config: Any) -> None:
        self.config = config

    def __getattr__(self, key: str) -> Any:
        part, _, rest = key.partition("_")
        return getattr(getattr(self.config, f"{part}_config"), rest) if part in ("text", "vision") else getattr(self.config, key)


@dataclasses.dataclass
class Pair(Family):
    """Words and pictures."""

    def configured(self, settings: dict[str, Any]) -> Any:
        nested: dict[str, Any] = {"text_config": {}, "vision_config": {}}
        for key, value in settings.items():
            part, _, rest = key.partition("_")
            (nested[f"{part}_config"] if part in ("text", "vision") else nested).update({rest if part in ("text", "vision") else key: value})
        return Nested(getattr(transformers, self.config)(**nested))

    def build(self, settings: dict[str, Any]) -> torch.nn.Module:
        return getattr(transformers, self.model)(self.configured(settings).config)


def paired(projected: bool) -> Any:
    def draw(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
        drawn = random.sample(PRIMES, 7)
        heads, other, patch, grid = (2, 3, 4, 6, 5)[number], (3, 2, 5, 4, 7)[number], (4, 6, 8, 10, 12)[number], (7, 11, 5, 9, 6)[number]
        text, vision = heads * 2 * drawn[0], other * 2 * drawn[1]
        settings = {
            "text_vocab_size": 10 * drawn[2] + 1, "text_hidden_size": text, "text_intermediate_size": 3 * drawn[3],
            "text_num_hidden_layers": (4, 5, 6, 4, 7)[number], "text_num_attention_heads": heads, "text_max_position_embeddings": drawn[4],
            "vision_hidden_size": vision if projected else text, "vision_intermediate_size": 5 * drawn[5],
            "vision_num_hidden_layers": (5, 4, 7, 6, 4)[number], "vision_num_attention_heads": other if projected else heads,
            "vision_image_size": patch * grid, "vision_patch_size": patch, "vision_num_channels": 3,
        }
        return {**settings, **({"projection_dim": 7 * drawn[6]} if projected else {})}, {}

    return draw


def captioned(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    text, vision = config.text_config, config.vision_config
    ids = torch.zeros(batch, text.max_position_embeddings, dtype=torch.long)
    inputs = {"input_ids": ids, "pixel_values": torch.zeros(batch, vision.num_channels, vision.image_size, vision.image_size)}
    return {**inputs, "return_loss": True} if mode == "train" else inputs


def words_of_pair(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    """A decoder of words, with a tower for pictures that its words alone do not run."""
    text, lengths = decoder(random, number)
    layers = text["num_hidden_layers"]
    text = {**text, "sliding_window": narrow(text), "sliding_window_pattern": {4: 2, 5: 2, 6: 3, 7: 3}[layers]}
    pictures, _ = paired(True)(random, number)
    side = (7, 11, 5, 9, 6)[number]  # of the squares that the projector makes of a picture
    return {**{f"text_{key}": value for key, value in text.items()}, **{key: value for key, value in pictures.items() if key.startswith("vision_")},
            "vision_image_size": pictures["vision_patch_size"] * side * 2, "mm_tokens_per_image": side * side, "image_token_id": 3}, lengths


def words_of_pixtral(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    """The same with a tower whose heads a rotation takes in quarters."""
    text, lengths = decoder(random, number)
    pictures, _ = paired(True)(random, number)
    vision = {key: value for key, value in pictures.items() if key.startswith("vision_")}
    return {**{f"text_{key}": value for key, value in text.items()}, **vision, "vision_hidden_size": 2 * vision["vision_hidden_size"]}, lengths


@dataclasses.dataclass
class Flat(Pair):
    """Words and pictures; the config.json has the settings of the words beside vision_config."""

    root: tuple[str, ...] = ("tie_word_embeddings",)

    def configured(self, settings: dict[str, Any]) -> Any:
        nested: dict[str, Any] = {"text_config": {}, "vision_config": {}}
        for key, value in settings.items():
            if key.startswith("vision_"):
                nested["vision_config"][key.removeprefix("vision_")] = value
            else:
                (nested if key in self.root else nested["text_config"])[key] = value
        return Beside(getattr(transformers, self.config)(**self.rotated(nested)))

    def rotated(self, nested: dict[str, Any]) -> dict[str, Any]:
        """The shares of a head that turn with time, rows and columns: 2, 3 and 3 eighths, as in each published config.json."""
        text = nested["text_config"]
        if "hidden_size" in text and "num_attention_heads" in text:
            share = text["hidden_size"] // text["num_attention_heads"] // 16
            text["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2 * share, 3 * share, 3 * share]}
        return nested


class Beside(Nested):
    """hidden_size is that of its text_config, too."""

    def __getattr__(self, key: str) -> Any:
        if key.startswith("vision_"):
            return getattr(self.config.vision_config, key.removeprefix("vision_"))
        return getattr(self.config if hasattr(self.config, key) else self.config.text_config, key)


def words_of_qwen_vl(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    text, lengths = decoder(random, number)
    del text["head_dim"]
    text["hidden_size"] = text["num_attention_heads"] * 16 * (5, 7, 3, 11, 13)[number]
    drawn = random.sample(PRIMES, 3)
    heads = (3, 2, 5, 4, 7)[number]
    return {**text, "vision_hidden_size": heads * 4 * drawn[0], "vision_intermediate_size": 5 * drawn[1], "vision_depth": (5, 4, 7, 6, 4)[number],
            "vision_num_heads": heads, "vision_patch_size": (4, 6, 8, 10, 12)[number], "vision_out_hidden_size": 3 * drawn[2]}, lengths


def words_of_qwen2_vl(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = words_of_qwen_vl(random, number)
    del settings["vision_intermediate_size"]
    return {**settings, "vision_embed_dim": settings["vision_hidden_size"], "vision_hidden_size": settings.pop("vision_out_hidden_size")}, lengths


def words_of_qwen3_vl(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = words_of_qwen_vl(random, number)
    text, _ = decoder(random, number)
    text["head_dim"] = 32 * (5, 7, 3, 2, 4)[number]
    vision = {key: value for key, value in settings.items() if key.startswith("vision_")}
    return {**{f"text_{key}": value for key, value in text.items()}, **vision, "vision_num_position_embeddings": (7, 11, 5, 9, 6)[number] ** 2}, lengths


@dataclasses.dataclass
class Stacked(Pair):
    """A tower that gives pictures to the first layers of the words, too, each by a projector of its own."""

    def configured(self, settings: dict[str, Any]) -> Any:
        given = {key: value for key, value in settings.items() if key != "vision_deepstack_visual_indexes_count"}
        if "text_head_dim" in given:
            share = given["text_head_dim"] // 32  # 6, 5 and 5 of 16 parts turn with time, rows and columns, as in each published config.json
            given["text_rope_parameters"] = {"rope_type": "default", "rope_theta": 5e6, "mrope_interleaved": True, "mrope_section": [6 * share, 5 * share, 5 * share]}
        count = settings.get("vision_deepstack_visual_indexes_count")
        return super().configured({**given, **({"vision_deepstack_visual_indexes": list(range(count))} if count else {})})


FAMILIES = [
    Pair("clip", ("CLIPModel",), "CLIPModel", "CLIPConfig", paired(True), captioned, dims={}, limits=(), lora=(),
         stacks=(("text_model.encoder.layers", "text_num_hidden_layers"), ("vision_model.encoder.layers", "vision_num_hidden_layers")),
         let={"grid": "vision_image_size/vision_patch_size"}),
    Pair("siglip", ("SiglipModel",), "SiglipModel", "SiglipConfig", paired(False), captioned, dims={}, limits=(), lora=(),
         stacks=(("text_model.encoder.layers", "text_num_hidden_layers"), ("vision_model.encoder.layers", "vision_num_hidden_layers")),
         relations=["equal text_hidden_size vision_hidden_size", "equal text_num_attention_heads vision_num_attention_heads"],
         let={"grid": "vision_image_size/vision_patch_size"}),
    Pair("gemma3-words", ("Gemma3ForConditionalGeneration",), "Gemma3ForConditionalGeneration", "Gemma3Config", words_of_pair, words,
         stacks=(("model.language_model.layers", "text_num_hidden_layers"), ("model.vision_tower.encoder.layers", "vision_num_hidden_layers")),
         every="text_sliding_window_pattern 1", window={"text_sliding_window": WIDEST}, limits=(("sequence", "text_max_position_embeddings"),),
         requires={"text_attention_dropout": 0.0, "text_attention_bias": False, "text_tie_word_embeddings": True, "vision_attention_dropout": 0.0, "vision_vision_use_head": False},
         defaults={"text_sliding_window_pattern": "6"}, let={"grid": "vision_image_size/vision_patch_size"}, unnamed=("image_token_id",), lora=()),
    Pair("mistral3-words", ("Mistral3ForConditionalGeneration",), "Mistral3ForConditionalGeneration", "Mistral3Config", words_of_pixtral, words,
         stacks=(("model.language_model.layers", "text_num_hidden_layers"), ("model.vision_tower.transformer.layers", "vision_num_hidden_layers")),
         limits=(("sequence", "text_max_position_embeddings"),),
         requires={"text_attention_dropout": 0.0, "text_sliding_window": None, "tie_word_embeddings": False, "vision_attention_dropout": 0.0,
                   "vision_feature_layer": -1, "multimodal_projector_bias": False, "spatial_merge_size": 2},
         defaults={"tie_word_embeddings": "false"},  # the class has true, and from_pretrained ties no head that the checkpoint has
         let={"grid": "vision_image_size/vision_patch_size"}, lora=()),
    Flat("qwen2_5_vl-words", ("Qwen2_5_VLForConditionalGeneration",), "Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLConfig", words_of_qwen_vl, words,
         stacks=(("model.language_model.layers", "num_hidden_layers"), ("model.visual.blocks", "vision_depth")), variants=TIED,
         requires={"attention_dropout": 0.0, "use_sliding_window": False, "vision_in_channels": 3, "vision_spatial_merge_size": 2, "vision_temporal_patch_size": 2},
         let={"rotary_share": "hidden_size/num_attention_heads/16"}, lora=()),
    Flat("qwen2_vl-words", ("Qwen2VLForConditionalGeneration",), "Qwen2VLForConditionalGeneration", "Qwen2VLConfig", words_of_qwen2_vl, words,
         stacks=(("model.language_model.layers", "num_hidden_layers"), ("model.visual.blocks", "vision_depth")), variants=TIED,
         requires={"attention_dropout": 0.0, "use_sliding_window": False, "vision_in_channels": 3, "vision_spatial_merge_size": 2, "vision_temporal_patch_size": 2, "vision_mlp_ratio": 4},
         let={"rotary_share": "hidden_size/num_attention_heads/16"}, lora=()),
    Stacked("qwen3_vl-words", ("Qwen3VLForConditionalGeneration",), "Qwen3VLForConditionalGeneration", "Qwen3VLConfig", words_of_qwen3_vl, words,
            stacks=(("model.language_model.layers", "text_num_hidden_layers"), ("model.visual.blocks", "vision_depth")), variants=TIED,
            requires={"text_attention_dropout": 0.0, "text_attention_bias": False, "vision_in_channels": 3, "vision_spatial_merge_size": 2, "vision_temporal_patch_size": 2,
                      "vision_deepstack_visual_indexes_count": 3},
            limits=(("sequence", "text_max_position_embeddings"),), let={"rotary_share": "text_head_dim/32"}, lora=()),
]
