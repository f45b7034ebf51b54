"""The models of diffusers that make.py records, with the losses of diffusers' training scripts.

examples/text_to_image/train_text_to_image(_lora)(_sdxl).py, examples/research_projects/pixart/train_pixart_controlnet_hf.py and
examples/dreambooth/train_dreambooth_lora_(sd3|flux|flux2|qwen_image).py (diffusers 0.42): noise is added to latents, the model says what was added, and a
squared error in fp32 is the loss.
"""
from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Any

import diffusers
import torch

from families import Family, PRIMES
from lists import listed, spread

LATENT = 8  # pixels of a latent's side (AutoencoderKL of all four: four levels)
EVERYWHERE = tuple((form, mode) for mode in ("train", "infer") for form in ("float32", "half"))


class Config(dict):
    """What the class takes where a setting is left out."""

    __getattr__ = dict.__getitem__


@dataclasses.dataclass
class Denoiser(Family):
    library: str = "diffusers"
    levels: tuple[str, ...] = ()  # settings that are a number for all levels, or a list of one for each
    depth: int = 0  # how many levels there are

    def configured(self, settings: dict[str, Any]) -> Any:
        raise NotImplementedError  # defaults are taken from the signature

    def taken(self) -> list[str]:
        """`default` lines."""
        lines = [f"default {key}_{n} {key}" for key in self.levels for n in range(self.depth)]
        for name, parameter in inspect.signature(getattr(diffusers, self.model).__init__).parameters.items():
            if name != "self" and parameter.default is not inspect.Parameter.empty:
                lines = [f"default {key} {json.dumps(value)}" for key, value in spread(name, parameter.default).items()] + lines
        return lines

    def build(self, settings: dict[str, Any]) -> torch.nn.Module:
        of_class = getattr(diffusers, self.model)
        return type(of_class.__name__, (of_class,), {"forward": type(self).step, "__module__": of_class.__module__})(**listed(settings))

    def step(self: Any, **given: Any) -> Any:
        raise NotImplementedError


def squared_error(model: Any, target: Any, prediction: torch.Tensor) -> Any:
    """The loss of text_to_image's scripts; without a target what is predicted."""
    if target is None:
        return prediction
    return (torch.nn.functional.mse_loss(prediction.float(), target.float(), reduction="mean"),)


class UNet(Denoiser):
    def step(self: Any, sample, timestep, encoder_hidden_states, target=None, text_embeds=None, time_ids=None):  # type: ignore[no-untyped-def]
        added = None if text_embeds is None else {"text_embeds": text_embeds, "time_ids": time_ids}
        made = diffusers.UNet2DConditionModel.forward(self, sample, timestep, encoder_hidden_states, added_cond_kwargs=added, return_dict=False)[0]
        return squared_error(self, target, made)


def flow_error(target: Any, prediction: torch.Tensor) -> Any:
    """The loss of the scripts of SD3 and Flux, with their default weighting, "none"."""
    if target is None:
        return prediction
    weighting = torch.ones_like(target[(slice(None), *[slice(1)] * (target.dim() - 1))])
    each = torch.mean((weighting.float() * (prediction.float() - target.float()) ** 2).reshape(target.shape[0], -1), 1)
    return (each.mean(),)


class SD3(Denoiser):
    def step(self: Any, hidden_states, timestep, encoder_hidden_states, pooled_projections, target=None):  # type: ignore[no-untyped-def]
        made = diffusers.SD3Transformer2DModel.forward(
            self, hidden_states=hidden_states, timestep=timestep, encoder_hidden_states=encoder_hidden_states,
            pooled_projections=pooled_projections, return_dict=False)[0]
        return flow_error(target, made)


class Flux(Denoiser):
    def step(self: Any, hidden_states, timestep, encoder_hidden_states, pooled_projections, txt_ids, img_ids, guidance=None, target=None):  # type: ignore[no-untyped-def]
        made = diffusers.FluxTransformer2DModel.forward(
            self, hidden_states=hidden_states, timestep=timestep / 1000, guidance=guidance, pooled_projections=pooled_projections,
            encoder_hidden_states=encoder_hidden_states, txt_ids=txt_ids, img_ids=img_ids, return_dict=False)[0]
        if target is None:
            return made
        made = diffusers.FluxPipeline._unpack_latents(made, LATENT * target.shape[2], LATENT * target.shape[3], LATENT)
        return flow_error(target, made)


def noisy(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """What a UNet is given, in latents of pictures of height x width."""
    latents = torch.zeros(batch, config.in_channels, lengths["height"] // LATENT, lengths["width"] // LATENT)
    words = torch.zeros(batch, lengths["text"], config.cross_attention_dim)
    inputs = {"sample": latents, "timestep": torch.zeros(batch, dtype=torch.long), "encoder_hidden_states": words}
    if config.addition_embed_type == "text_time":
        pooled = config.projection_class_embeddings_input_dim - 6 * config.addition_time_embed_dim
        inputs.update(text_embeds=torch.zeros(batch, pooled), time_ids=torch.zeros(batch, 6))
    return {**inputs, "target": latents.clone()} if mode == "train" else inputs


def unet_settings(levels: int, **more: Any) -> Any:
    """Lengths that share no factor; each width is of its own heads, and a multiple of the groups of GroupNorm. The fourth level is as
    wide as the third, as Stable Diffusion has it: it has no shortcut of its own then."""

    def draw(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
        drawn = random.sample(PRIMES, levels + 3)
        primes = [3, 5, 7, 11, 13]
        heads = [primes[(n + number) % 5] for n in range(levels)]
        settings: dict[str, Any] = {f"attention_head_dim_{n}": count for n, count in enumerate(heads)}
        for n in range(levels):
            settings[f"block_out_channels_{n}"] = 32 * drawn[n] * heads[n] * (heads[3] if n == 2 and levels > 3 else 1)
        if levels > 3:
            settings["block_out_channels_3"] = settings["block_out_channels_2"]
        settings |= {"cross_attention_dim": 3 * drawn[levels], **{key: make(number) for key, make in more.items()}}
        side = LATENT * 2 ** (levels - 1)
        return settings, {"height": side * (101, 103, 107, 109, 113)[number], "width": side * (127, 131, 137, 139, 149)[number], "text": drawn[levels + 1]}

    return draw


def latents_of(levels: int) -> dict[str, str]:
    """The sides of what each level sees, and of the pooled words."""
    return {f"{name}_{n}": f"{side}/{LATENT * 2 ** n}" for n in range(levels) for name, side in (("rows", "height"), ("columns", "width"))}


def multiples_of(pixels: int) -> tuple[str, ...]:
    return f"height/{pixels}", f"width/{pixels}"


def unet(tag: str, down: str, blocks: list[int], **more: Any) -> Denoiser:
    """down: of each level whether it has attention (A) or none (R)."""
    attends = [kind == "A" for kind in down]
    requires = {
        **spread("down_block_types", ["CrossAttnDownBlock2D" if a else "DownBlock2D" for a in attends]),
        **spread("up_block_types", ["CrossAttnUpBlock2D" if a else "UpBlock2D" for a in reversed(attends)]),
        **{f"layers_per_block_{n}": 2 for n in range(len(down))},
        "block_out_channels_count": len(down),
        **{f"transformer_layers_per_block_{n}": count for n, count in enumerate(blocks)},
        "in_channels": 4, "out_channels": 4, "norm_num_groups": 32, "dropout": 0.0, **PLAIN, **more.pop("requires", {}),
    }
    relations = [f"{'equal' if n == 3 else 'unlike'} block_out_channels_{n - 1} block_out_channels_{n}" for n in range(1, len(down))]
    let = latents_of(len(down)) | more.pop("let", {})
    return UNet(f"unet-{tag}", ("UNet2DConditionModel",), "UNet2DConditionModel", "", unet_settings(len(down), **more.pop("settings", {})), noisy,
                stacks=(), requires=requires, let=let, dims={**more.pop("dims"), "text": 77}, limits=(), lora=("to_k", "to_q", "to_v", "to_out.0"),
                levels=("layers_per_block", "attention_head_dim", "transformer_layers_per_block"), depth=len(down), relations=relations, wholes=multiples_of(LATENT * 2 ** (len(down) - 1)), recordings=EVERYWHERE, unnamed=("height", "width"), **more)


# What changes the calls of a UNet, as Stable Diffusion has it.
PLAIN = {
    "center_input_sample": False, "mid_block_type": "UNetMidBlock2DCrossAttn", "only_cross_attention": False, "downsample_padding": 1, "mid_block_scale_factor": 1,
    "act_fn": "silu", "num_attention_heads": None, "encoder_hid_dim_type": None, "dual_cross_attention": False, "class_embed_type": None,
    "num_class_embeds": None, "resnet_time_scale_shift": "default", "resnet_skip_time_act": False, "resnet_out_scale_factor": 1.0,
    "time_embedding_type": "positional", "time_embedding_dim": None, "time_embedding_act_fn": None, "timestep_post_act": None, "time_cond_proj_dim": None,
    "conv_in_kernel": 3, "conv_out_kernel": 3, "attention_type": "default", "class_embeddings_concat": False, "cross_attention_norm": None,
    "reverse_transformer_layers_per_block": None, **{f"{key}_count": None for key in ("cross_attention_dim", "only_cross_attention", "num_attention_heads")},
}
TEXT_TIME = {  # of SDXL: the size of a picture and the pooled words
    "addition_time_embed_dim": lambda number: 2 * (17, 19, 23, 29, 31)[number],
    "projection_class_embeddings_input_dim": lambda number: 12 * (17, 19, 23, 29, 31)[number] + (37, 41, 43, 47, 53)[number],
}


def sd3_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 5)
    heads, width = (3, 5, 7, 11, 13)[number], 4 * drawn[0]
    settings = {"num_layers": (4, 5, 6, 4, 7)[number], "num_attention_heads": heads, "attention_head_dim": width, "caption_projection_dim": heads * width,
                "joint_attention_dim": 3 * drawn[1], "pooled_projection_dim": 5 * drawn[2], "pos_embed_max_size": 8 * drawn[3] + 400}
    return settings, {"height": 32 * (101, 103, 107, 109, 113)[number], "width": 32 * (127, 131, 137, 139, 149)[number], "text": drawn[4]}


def flux_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 7)
    axes = {f"axes_dims_rope_{n}": 2 * drawn[n] for n in range(3)}
    settings = {"num_layers": (4, 5, 6, 4, 7)[number], "num_single_layers": (5, 4, 7, 6, 4)[number], "num_attention_heads": (3, 5, 7, 11, 13)[number],
                "attention_head_dim": sum(axes.values()), **axes, "joint_attention_dim": 3 * drawn[3], "pooled_projection_dim": 5 * drawn[4]}
    return settings, {"height": 32 * (101, 103, 107, 109, 113)[number], "width": 32 * (127, 131, 137, 139, 149)[number], "text": drawn[5]}


def flowing(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """What the transformers of SD3 and Flux are given; of Flux each four latents are a token."""
    rows, columns = lengths["height"] // LATENT, lengths["width"] // LATENT
    inputs = {"timestep": torch.zeros(batch), "encoder_hidden_states": torch.zeros(batch, lengths["text"], config.joint_attention_dim),
              "pooled_projections": torch.zeros(batch, config.pooled_projection_dim)}
    if "pos_embed_max_size" in config:
        inputs["hidden_states"] = torch.zeros(batch, 16, rows, columns)
    else:
        tokens = rows // 2 * (columns // 2)
        inputs.update(hidden_states=torch.zeros(batch, tokens, 64), txt_ids=torch.zeros(lengths["text"], 3), img_ids=torch.zeros(tokens, 3))
        if config.guidance_embeds:
            inputs["guidance"] = torch.zeros(batch)
    return {**inputs, "target": torch.zeros(batch, 16, rows, columns)} if mode == "train" else inputs


class Flux2(Denoiser):
    """Its script puts the tokens in place by their positions; here they are in order, and a copy stands for that."""

    def step(self: Any, hidden_states, timestep, encoder_hidden_states, txt_ids, img_ids, guidance=None, target=None):  # type: ignore[no-untyped-def]
        made = diffusers.Flux2Transformer2DModel.forward(
            self, hidden_states=hidden_states, timestep=timestep / 1000, guidance=guidance, encoder_hidden_states=encoder_hidden_states,
            txt_ids=txt_ids, img_ids=img_ids, return_dict=False)[0]
        return made if target is None else flow_error(target, made.permute(0, 2, 1).reshape(target.shape))


def flux2_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = flux_settings(random, number)
    axes = {f"axes_dims_rope_{n}": 2 * width for n, width in enumerate(random.sample(PRIMES, 4))}
    del settings["pooled_projection_dim"]
    return {**settings, **axes, "attention_head_dim": sum(axes.values())}, lengths


def patched(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """What FLUX.2 is given: four latents, each of 32 channels, are a token."""
    rows, columns = lengths["height"] // LATENT // 2, lengths["width"] // LATENT // 2
    inputs = {"hidden_states": torch.zeros(batch, rows * columns, 128), "timestep": torch.zeros(batch), "img_ids": torch.zeros(batch, rows * columns, 4),
              "encoder_hidden_states": torch.zeros(batch, lengths["text"], config.joint_attention_dim), "txt_ids": torch.zeros(batch, lengths["text"], 4)}
    if config.guidance_embeds:
        inputs["guidance"] = torch.zeros(batch)
    return {**inputs, "target": torch.zeros(batch, 128, rows, columns)} if mode == "train" else inputs


class QwenImage(Denoiser):
    def step(self: Any, hidden_states, timestep, encoder_hidden_states, rows, columns, target=None):  # type: ignore[no-untyped-def]
        made = diffusers.QwenImageTransformer2DModel.forward(
            self, hidden_states=hidden_states, timestep=timestep / 1000, encoder_hidden_states=encoder_hidden_states,
            img_shapes=[[(1, rows, columns)]] * hidden_states.shape[0], return_dict=False)[0]
        if target is None:
            return made
        return flow_error(target, diffusers.QwenImagePipeline._unpack_latents(made, 2 * LATENT * rows, 2 * LATENT * columns, LATENT))


def qwen_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    settings, lengths = flux_settings(random, number)
    return {key: value for key, value in settings.items() if key not in ("num_single_layers", "pooled_projection_dim")}, lengths


def framed(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """What Qwen-Image is given: each four latents of one frame are a token, and captions have no padding."""
    rows, columns = lengths["height"] // LATENT // 2, lengths["width"] // LATENT // 2
    inputs = {"hidden_states": torch.zeros(batch, rows * columns, 64), "timestep": torch.zeros(batch), "rows": rows, "columns": columns,
              "encoder_hidden_states": torch.zeros(batch, lengths["text"], config.joint_attention_dim)}
    return {**inputs, "target": torch.zeros(batch, 16, 1, 2 * rows, 2 * columns)} if mode == "train" else inputs


class Wan(Denoiser):
    """No script of diffusers trains it: the loss is that of its other flow models."""

    def step(self: Any, hidden_states, timestep, encoder_hidden_states, target=None):  # type: ignore[no-untyped-def]
        made = diffusers.WanTransformer3DModel.forward(self, hidden_states, timestep, encoder_hidden_states, return_dict=False)[0]
        return flow_error(target, made)


class PixArt(Denoiser):
    """The model says the variance too, and the loss takes the noise alone, as examples/research_projects/pixart does."""

    def step(self: Any, hidden_states, timestep, encoder_hidden_states, encoder_attention_mask, target=None):  # type: ignore[no-untyped-def]
        made = diffusers.PixArtTransformer2DModel.forward(
            self, hidden_states, encoder_hidden_states=encoder_hidden_states, encoder_attention_mask=encoder_attention_mask, timestep=timestep,
            added_cond_kwargs={"resolution": None, "aspect_ratio": None}, return_dict=False)[0]
        return made if target is None else squared_error(self, target, made.chunk(2, dim=1)[0])


def wan_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 5)
    settings = {"num_layers": (4, 5, 6, 4, 7)[number], "num_attention_heads": (3, 5, 7, 11, 13)[number], "ffn_dim": 6 * drawn[0], "freq_dim": 2 * drawn[1],
                "text_dim": 5 * drawn[2], "in_channels": 16 + drawn[3]}
    return settings, {"frames": 4 * (5, 7, 11, 13, 9)[number] + 1, "height": 16 * (17, 19, 23, 29, 31)[number], "width": 16 * (37, 41, 43, 47, 53)[number], "text": drawn[4]}


def filmed(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """What Wan is given: the first picture is a frame of latents, and each whole four behind it (AutoencoderKLWan._encode)."""
    latents = (lengths["frames"] - 1) // 4 + 1, lengths["height"] // LATENT, lengths["width"] // LATENT
    inputs = {"hidden_states": torch.zeros(batch, config.in_channels, *latents), "timestep": torch.zeros(batch),
              "encoder_hidden_states": torch.zeros(batch, lengths["text"], config.text_dim)}
    return {**inputs, "target": torch.zeros(batch, config.out_channels, *latents)} if mode == "train" else inputs


def pixart_settings(random: Any, number: int) -> tuple[dict[str, Any], dict[str, int]]:
    drawn = random.sample(PRIMES, 4)
    heads, width = (3, 5, 7, 11, 13)[number], 4 * drawn[0]
    settings = {"num_layers": (4, 5, 6, 4, 7)[number], "num_attention_heads": heads, "attention_head_dim": width, "cross_attention_dim": heads * width,
                "caption_channels": 3 * drawn[1], "sample_size": 2 * drawn[2]}
    return settings, {"text": drawn[3]}


def captions(config: Any, batch: int, lengths: dict[str, int], mode: str) -> dict[str, Any]:
    """What PixArt is given, of pictures of the size that its positions are for."""
    latents = torch.zeros(batch, config.in_channels, config.sample_size, config.sample_size)
    inputs = {"hidden_states": latents, "timestep": torch.zeros(batch, dtype=torch.long),
              "encoder_hidden_states": torch.zeros(batch, lengths["text"], config.caption_channels), "encoder_attention_mask": torch.ones(batch, lengths["text"], dtype=torch.long)}
    return {**inputs, "target": latents.clone()} if mode == "train" else inputs


SIDES = {"rows": "height/8", "rows_of_all": "16*rows", "columns": "width/8", "tile_rows": "height/16", "tile_columns": "width/16"}
OF_ATTENTION = ("to_k", "to_q", "to_v", "to_out.0")
OF_BOTH = ("attn.to_k", "attn.to_q", "attn.to_v", "attn.to_out.0", "attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj", "attn.to_add_out")
OF_FLUX = (*OF_BOTH, "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2")
FLOWS: dict[str, Any] = {"dims": {"height": 1024, "width": 1024, "text": 154}, "unnamed": ("height", "width", "left_over", "beside", "largest_side", "rope_width", "inner_width"), "recordings": EVERYWHERE, "in_fp32": ("timestep", "guidance"), "wholes": multiples_of(32)}
FAMILIES = [
    unet("sd", "AAAR", [1, 1, 1, 1], dims={"height": 512, "width": 512}, requires={"use_linear_projection": False, "addition_embed_type": None}),
    unet("sd2", "AAAR", [1, 1, 1, 1], like="unet-sd", dims={"height": 768, "width": 768}, requires={"use_linear_projection": True, "addition_embed_type": None}),
    unet("sdxl", "RAA", [1, 2, 10], dims={"height": 1024, "width": 1024}, requires={"use_linear_projection": True, "addition_embed_type": "text_time"},
         settings=TEXT_TIME, let={"pooled_width": "projection_class_embeddings_input_dim-6*addition_time_embed_dim"}),
    SD3("sd3", ("SD3Transformer2DModel",), "SD3Transformer2DModel", "", sd3_settings, flowing, stacks=(("transformer_blocks", "num_layers"),),
        variants={"": {"qk_norm": None}, "qk": {"qk_norm": "rms_norm"}},
        requires={"in_channels": 16, "out_channels": 16, "patch_size": 2, "dual_attention_layers_count": 0},
        let={**SIDES, "inner_width": "num_attention_heads*attention_head_dim", "left_over": "pos_embed_max_size-tile_rows", "top": "left_over/2",
             "beside": "pos_embed_max_size-tile_columns", "left": "beside/2", "largest_side": "16*pos_embed_max_size"},
        relations=["equal caption_projection_dim inner_width"], limits=(("height", "largest_side"), ("width", "largest_side")), lora=OF_BOTH, **FLOWS),
    Flux("flux", ("FluxTransformer2DModel",), "FluxTransformer2DModel", "", flux_settings, flowing,
         stacks=(("transformer_blocks", "num_layers"), ("single_transformer_blocks", "num_single_layers")),
         variants={"": {"guidance_embeds": True}, "schnell": {"guidance_embeds": False}},
         requires={"in_channels": 64, "out_channels": None, "patch_size": 1, "axes_dims_rope_count": 3},
         let={**SIDES, "rope_width": "axes_dims_rope_0+axes_dims_rope_1+axes_dims_rope_2"}, relations=["equal attention_head_dim rope_width"],
         limits=(), lora=OF_FLUX, **{**FLOWS, "dims": {"height": 1024, "width": 1024, "text": 512}}),
    Flux2("flux2", ("Flux2Transformer2DModel",), "Flux2Transformer2DModel", "", flux2_settings, patched,
          stacks=(("transformer_blocks", "num_layers"), ("single_transformer_blocks", "num_single_layers")),
          variants={"": {"guidance_embeds": True}, "klein": {"guidance_embeds": False}},
          requires={"in_channels": 128, "out_channels": None, "patch_size": 1, "axes_dims_rope_count": 4, "mlp_ratio": 3.0, "timestep_guidance_channels": 256},
          let={**SIDES, "inner_width": "num_attention_heads*attention_head_dim", "rope_width": "axes_dims_rope_0+axes_dims_rope_1+axes_dims_rope_2+axes_dims_rope_3"},
          relations=["equal attention_head_dim rope_width"], limits=(), lora=OF_ATTENTION,
          **{**FLOWS, "dims": {"height": 1024, "width": 1024, "text": 512}, "unnamed": ("height", "width", "rope_width")}),
    QwenImage("qwen_image", ("QwenImageTransformer2DModel",), "QwenImageTransformer2DModel", "", qwen_settings, framed, stacks=(("transformer_blocks", "num_layers"),),
              requires={"in_channels": 64, "out_channels": 16, "patch_size": 2, "axes_dims_rope_count": 3, "guidance_embeds": False, "zero_cond_t": False,
                        "use_additional_t_cond": False, "use_layer3d_rope": False},
              let={**SIDES, "half_rows": "height/32", "half_columns": "width/32", "rope_width": "axes_dims_rope_0+axes_dims_rope_1+axes_dims_rope_2"},
              relations=["equal attention_head_dim rope_width"], limits=(), lora=OF_ATTENTION, **{**FLOWS, "dims": {"height": 1024, "width": 1024, "text": 512}}),
    Wan("wan", ("WanTransformer3DModel",), "WanTransformer3DModel", "", wan_settings, filmed, stacks=(("blocks", "num_layers"),),
        requires={"patch_size_0": 1, "patch_size_1": 2, "patch_size_2": 2, "patch_size_count": 3, "attention_head_dim": 128, "out_channels": 16, "cross_attn_norm": True,
                  "qk_norm": "rms_norm_across_heads", "image_dim": None, "added_kv_proj_dim": None, "rope_max_seq_len": 1024, "pos_embed_seq_len": None},
        let={**SIDES, "less_one": "frames-1", "less_two": "frames-2", "less_three": "frames-3",
             "latent_frames": "less_one/4+1 or less_two/4+1 or less_three/4+1 or frames/4",
             "inner_width": "num_attention_heads*attention_head_dim", "longest_side": "16*rope_max_seq_len", "tiles": "tile_rows*tile_columns"},
        dims={"frames": 81, "height": 480, "width": 832, "text": 512}, limits=(("height", "longest_side"), ("width", "longest_side")), wholes=("height/16", "width/16"),
        lora=OF_ATTENTION, recordings=EVERYWHERE, in_fp32=("timestep",), unnamed=("height", "width", "frames", "less_one", "less_two", "less_three", "longest_side")),
    PixArt("pixart", ("PixArtTransformer2DModel",), "PixArtTransformer2DModel", "", pixart_settings, captions, stacks=(("transformer_blocks", "num_layers"),),
           requires={"in_channels": 4, "out_channels": 8, "dropout": 0.0, "attention_bias": True, "patch_size": 2, "activation_fn": "gelu-approximate", "upcast_attention": False,
                     "norm_type": "ada_norm_single", "norm_elementwise_affine": False, "use_additional_conditions": False, "attention_type": "default"},
           let={"inner_width": "num_attention_heads*attention_head_dim", "grid": "sample_size/2"}, relations=["equal cross_attention_dim inner_width"], wholes=("sample_size/2",),
           dims={"text": 300}, limits=(), lora=OF_ATTENTION, recordings=EVERYWHERE),
]
