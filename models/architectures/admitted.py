"""What a config.json may say besides the settings that a template names: `when`, `unless` and `each` lines.

A small model of the class is made once for each other value of each setting, and runs, on tensors without data where it can. A value that changes
the parameters or a call is refused by the program, as is one that the class does not take. Numbers in a call change no size.
"""
import json
import warnings

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

ACTIVATIONS = "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "silu", "swish"
LOSSES = "single_label_classification", "multi_label_classification", "regression"
ROTATIONS = {
    "default": {}, "linear": {"factor": 2.0}, "dynamic": {"factor": 2.0},
    "yarn": {"factor": 2.0, "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0},
    "llama3": {"factor": 2.0, "original_max_position_embeddings": 64, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "longrope": {"factor": 2.0, "original_max_position_embeddings": 64},
}
# What says nothing of the model, and use_cache, which the program reads by itself.
NO_SETTING = {"architectures", "dtype", "id2label", "label2id", "model_type", "return_dict", "transformers_version", "use_cache",
              "rope_parameters", "is_encoder_decoder", "initializer_range", "initializer_factor"}
KEPT = "output_hidden_states", "output_attentions"  # results that live longer, which no call shows


class Calls(TorchDispatchMode):
    """The operators that run, and what they make."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        name = str(function)
        shares = [number == 0 for number in _pytree.tree_leaves((args, kwargs)) if isinstance(number, float)] if "attention" in name else []
        self.rows.append((name, shares, [(str(t.dtype), tuple(t.shape)) for t in _pytree.tree_leaves(made) if isinstance(t, torch.Tensor)]))
        return made


def run(family, settings, lengths, device="meta"):
    modes = dict.fromkeys(mode for _, mode in family.recordings if mode != "checkpointed")
    in_halves = all(form == "half" for form, _ in family.recordings)
    torch.set_default_dtype(torch.bfloat16 if in_halves else torch.float32)
    try:
        with torch.device(device):
            model = family.build(settings)
    finally:
        torch.set_default_dtype(torch.float32)
    rows = [sorted((name, tuple(parameter.shape)) for name, parameter in model.named_parameters())]
    for mode in modes:
        model.train(mode != "infer")
        given = {name: t.to(device, model.dtype if t.is_floating_point() else t.dtype) if isinstance(t, torch.Tensor) else t
                 for name, t in family.inputs(model.config, 2, lengths, mode).items() if name != "attention_mask"}
        with Calls() as calls, torch.set_grad_enabled(mode != "infer"):
            model(**given)
        rows.append(calls.rows)
    return rows


def others(key, value):
    """Other values that a config.json may have."""
    if key.endswith("problem_type"):
        return LOSSES
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [other for other in ACTIVATIONS if other != value] if value in ACTIVATIONS else ["another"]
    if value is None:
        return [True, 2, 0.5, "another"]
    if isinstance(value, (int, float)) and "drop" in key:
        return [0.0 if value else 0.5]
    if isinstance(value, int):
        return [value + 1, 2 * value + 2, None]
    if isinstance(value, float):
        return [value / 2 + 0.25, None]
    return [[0]] if value == [] else []


def parts_of(config):
    """(prefix of its settings' names, config) of a model of one part or of several."""
    config = getattr(config, "config", config)
    nested = [(f"{part}_", getattr(config, f"{part}_config")) for part in ("text", "vision") if hasattr(config, f"{part}_config")]
    return [("", config), *nested]


def admitted(family, settings, lengths, free, second):
    """settings and lengths: those of a recording. free: the settings that a template has expressions or lines of its own for. second:
    settings of another recording: what differs there the class makes of the others, and no value of it stands for all."""
    warnings.filterwarnings("ignore")
    try:
        device, expected = "meta", run(family, settings, lengths)
    except RuntimeError:  # it looks at what is computed
        device, expected = "cpu", run(family, settings, lengths, "cpu")

    def alike(more, like=lambda rows: rows):
        """None: no config.json of the class may say so."""
        changed = {**settings, **more}
        try:
            family.configured(changed)
        except Exception:
            return None
        try:
            return like(run(family, changed, lengths, device)) == like(expected)
        except Exception:  # the class makes no model of it
            return False

    lines, flat = [], getattr(family, "root", ()) != ()
    for (prefix, config), (_, there) in zip(parts_of(family.configured(settings)), parts_of(family.configured(second))):
        if prefix == "text_" and flat:
            prefix = ""
        said = {**({"num_labels": config.num_labels} if prefix + "num_labels" in settings else {}), **config.to_dict()}
        for key, value in said.items():
            name = prefix + key
            if key in NO_SETTING or key.startswith("_") or name in free or isinstance(value, dict) or key.endswith("_token_id"):
                continue
            if not isinstance(value, (list, tuple)) and getattr(there, key) != value:
                continue
            if isinstance(value, (list, tuple)) and value:
                lines += layers(family, settings, name, list(value))
                continue
            tried = {json.dumps(other): alike({name: other}) for other in others(name, value)}
            good, bad = ([text for text, same in tried.items() if same is wanted] for wanted in (True, False))
            if not bad:
                continue
            if value == []:
                lines.append(f"when {name}_count 0")
            elif bad == ["null"]:
                lines.append(f"unless {name} null")
            else:
                lines.append(" ".join(["when", name, json.dumps(value), *good]))
        rotation = said.get("rope_parameters")
        if rotation and prefix != "vision_":
            lines += rotations(family, settings, prefix, rotation, alike)
    lines += [f"when {key} false" for key in KEPT]
    if "num_labels" in settings and any(line.startswith("when problem_type") for line in lines):
        lines.append("unless num_labels 1")  # a regression, where problem_type says nothing
    return list(dict.fromkeys(lines))


def without_lists(rows):
    """Less calls that make lists of numbers alone: longrope chooses the frequencies of half a head anew in each forward, below 4 KiB."""
    return [rows[0], *([row for row in of_mode if any(len(shape) > 1 for _, shape in row[2])] for of_mode in rows[1:])]


def rotations(family, settings, prefix, rotation, alike):
    """The kinds of rotary embeddings: `rope_type` of a config.json's rope_parameters or rope_scaling."""
    own, good = rotation.get("rope_type", "default"), []
    for kind, more in ROTATIONS.items():
        changed = {**rotation, **more, "rope_type": kind}
        if any(isinstance(of_kind, dict) for of_kind in rotation.values()):  # one for each kind of layer
            changed = {layer: {**of_kind, **more, "rope_type": kind} for layer, of_kind in rotation.items()}
        if kind == "longrope":
            with torch.device("meta"):
                width = next(len(buffer) for name, buffer in family.build(settings).named_buffers() if name.endswith("inv_freq"))
            for of_kind in changed.values() if "rope_type" not in changed else [changed]:
                of_kind.update(short_factor=[1.0] * width, long_factor=[1.0] * width)
        if kind == own or alike({prefix + "rope_parameters": changed}, without_lists):
            good.append(kind)
    return [" ".join(["when", prefix + "rope_type", *map(json.dumps, sorted(good, key=lambda kind: kind != own))])]


def layers(family, settings, name, values):
    """A list of one value for each layer, which the places of a block decide."""
    if len(values) not in [settings[key] for _, key in family.stacks] or any(isinstance(v, (list, dict)) for v in values):
        return []
    if family.every:
        key, offset = family.every.split()
        kinds = [(i + int(offset)) % settings[key] == 0 for i in range(len(values))]
        of_kinds = [next(v for v, kind in zip(values, kinds) if kind == wanted) for wanted in (False, True)]
        if [of_kinds[kind] for kind in kinds] != values:
            return []
    else:
        of_kinds = values[: family.period]
        if values != of_kinds * (len(values) // family.period):
            return []
    return [" ".join(["each", name, *map(json.dumps, of_kinds)])]

