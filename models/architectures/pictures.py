"""The models of transformers for pictures that make.py records and whose blocks are of several stages: each stage is a stack, with a
width of its own. Settings are the items of lists, as graph/architectures reads them: hidden_sizes_0 is of the first stage.
"""
from __future__ import annotations

import dataclasses
import json
import random
import re
from typing import Any

import torch
import transformers

from families import Family, PRIMES, pictured, resized
from lists import listed, spread

STAGES = 4
EVERYWHERE = tuple((form, mode) for mode in ("train", "infer") for form in ("float32", "half"))


class Items:
    """A config, and the items of its lists by their names."""

    def __init__(self, config: Any) -> None:
        self.config = config

    def __getattr__(self, key: str) -> Any:
        of = re.fullmatch(r"(.*)_(\d+|count)", key)
        if hasattr(self.config, key) or of is None:
            return getattr(self.config, key)
        items = getattr(self.config, of[1])
        return len(items) if of[2] == "count" else items[int(of[2])]


@dataclasses.dataclass
class Staged(Family):
    def configured(self, settings: dict[str, Any]) -> Any:
        return Items(getattr(transformers, self.config)(**listed(settings)))

    def build(self, settings: dict[str, Any]) -> torch.nn.Module:
        return getattr(transformers, self.model)(self.configured(settings).config)

    def taken(self) -> list[str]:
        usual = getattr(transformers, self.config)()
        drawn, _ = self.draw(random.Random(0), 0)
        keys = dict.fromkeys(re.sub(r"_(\d+|count)$", "", key) if re.search(r"_(\d+|count)$", key) else key for key in [*drawn, *self.requires])
        return [f"default {key} {json.dumps(value)}" for one in keys for key, value in spread(one, getattr(usual, one)).items()]


def in_stages(key: str, values: Any) -> dict[str, int]:
    return {f"{key}_{n}": value for n, value in enumerate(values)}


def sides(first: int) -> dict[str, str]:
    """The sides of what each stage sees, of pictures that the first one sees `first` times smaller."""
    return {f"side_{n}": f"image/{first * 2 ** n}" for n in range(STAGES)}


DEPTHS = [(4, 5, 6, 4), (3, 4, 7, 5), (5, 3, 4, 6), (6, 4, 5, 3), (3, 2, 8, 4)]


def of_resnet(equal: bool) -> Any:
    """equal: the first stage is as wide as what comes before it."""

    def draw(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
        drawn = random.sample(PRIMES, STAGES + 2)
        widths = [4 * prime for prime in drawn[:STAGES]]
        settings = {"embedding_size": widths[0] if equal else drawn[STAGES], **in_stages("hidden_sizes", widths), **in_stages("depths", DEPTHS[number]),
                    "num_channels": 3, "num_labels": drawn[STAGES + 1]}
        return settings, {"image": 32 * (101, 103, 107, 109, 113)[number]}

    return draw


def of_convnext(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, STAGES + 1)
    return {**in_stages("hidden_sizes", [2 * prime for prime in drawn[:STAGES]]), **in_stages("depths", DEPTHS[number]), "num_channels": 3,
            "num_labels": drawn[STAGES]}, {"image": 32 * (101, 103, 107, 109, 113)[number]}


def of_swin(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    """The third stage is the deep one of each published model; a picture has eight windows a side."""
    drawn = random.sample(PRIMES, 2)
    shares = [(2, 3, 1, 6), (3, 2, 5, 1), (6, 1, 2, 3), (5, 1, 3, 2), (2, 1, 6, 3)][number]  # the first stage has no single head
    width = 2 * 30 * (1, 2, 3, 1, 2)[number]
    patch, window = (4, 5, 6, 7, 9)[number], (5, 7, 3, 11, 9)[number]
    return {"embed_dim": width, **in_stages("num_heads", [share * 2 ** n for n, share in enumerate(shares)]), "depths_2": (6, 8, 10, 6, 12)[number],
            "patch_size": patch, "window_size": window, "image_size": 8 * patch * window, "num_channels": 3, "num_labels": drawn[0]}, {}


def stages(path: str) -> tuple[tuple[str, str], ...]:
    return tuple((path.format(n), f"depths_{n}") for n in range(STAGES))


def resnet(tag: str, layer: str, equal: bool) -> Staged:
    return Staged(
        f"resnet{tag}", ("ResNetForImageClassification",), "ResNetForImageClassification", "ResNetConfig", of_resnet(equal), resized,
        stacks=stages("resnet.encoder.stages.{}.layers"), dims={"image": 224}, limits=(), lora=(), recordings=EVERYWHERE, wholes=("image/32",), checkpoints="refused",
        like="resnet" if tag else "", relations=[f"{'equal' if equal else 'unlike'} embedding_size hidden_sizes_0"], let={**sides(4), "stem": "image/2"},
        requires={"layer_type": layer, "hidden_act": "relu", "downsample_in_first_stage": False, "downsample_in_bottleneck": False,
                  "hidden_sizes_count": STAGES, "depths_count": STAGES})


FAMILIES = [
    resnet("", "bottleneck", False),
    resnet("-basic", "basic", True),
    Staged("convnext", ("ConvNextForImageClassification",), "ConvNextForImageClassification", "ConvNextConfig", of_convnext, resized,
           stacks=stages("convnext.encoder.stages.{}.layers"), dims={"image": 224}, limits=(), lora=(), recordings=EVERYWHERE, wholes=("image/32",), let=sides(4), checkpoints="refused",
           requires={"patch_size": 4, "num_stages": STAGES, "hidden_act": "gelu", "drop_path_rate": 0.0, "layer_scale_init_value": 1e-6,
                     "hidden_sizes_count": STAGES, "depths_count": STAGES}),
    Staged("swin", ("SwinForImageClassification",), "SwinForImageClassification", "SwinConfig", of_swin, pictured,
           stacks=(("swin.encoder.layers.2.blocks", "depths_2"),), period=2, dims={}, limits=(), lora=(), recordings=EVERYWHERE, checkpoints="nested",
           relations=["equal image_size side_of_eight_windows"],
           let={"side_of_eight_windows": "8*patch_size*window_size", "side_0": "8*window_size", "side_1": "4*window_size", "side_2": "2*window_size",
                "area": "window_size*window_size", "span": "2*window_size-1", "shift": "window_size-1", "half_window": "window_size/2 or shift/2"},
           requires={"depths_0": 2, "depths_1": 2, "depths_3": 2, "depths_count": STAGES, "num_heads_count": STAGES, "mlp_ratio": 4.0, "qkv_bias": True,
                     "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "drop_path_rate": 0.1, "hidden_act": "gelu", "use_absolute_embeddings": False}),
]
