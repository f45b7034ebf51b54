"""make.py [--admitted] [FAMILY...]: records how the libraries' classes run, and writes it as templates with named lengths.

A class is recorded at several small settings that share no factor (python/vramplan records; no weights, no card). What differs
between recordings is named: lengths are expressions of the settings, the layers of a stack are one block that repeats. A further
recording, of other settings and another depth, must come out of the template to the last number, or nothing is written. README.md
of this folder describes the format. --admitted: nothing is recorded, and the settings that templates admit are found anew (admitted.py).
"""
import difflib
import importlib.metadata
import json
import pathlib
import random
import re
import string
import sys
import warnings

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "python"))

import torch  # noqa: E402
from torch.utils import _pytree  # noqa: E402

import admitted  # noqa: E402
import denoisers  # noqa: E402
import expand  # noqa: E402
import pairs  # noqa: E402
import pictures  # noqa: E402
from blocks import stack_of  # noqa: E402
from expressions import Names, Unfit  # noqa: E402
from families import FAMILIES  # noqa: E402
from write import Point, Variant, Writer  # noqa: E402
from vramplan import _exporting, _facts  # noqa: E402

torch.set_grad_enabled(True)


def record(family, form, mode, settings, lengths, runs_again=False):
    """The facts of one recording (docs/facts.md). runs_again: with the checkpoints of diffusers."""
    *kinds, mode = mode.split("-")  # of sequences that a window does not hold, or padded ones
    if family.window and "long" not in kinds:
        settings = {**settings, **family.window}
    torch.set_default_dtype(torch.bfloat16 if form == "half" else torch.float32)
    with torch.device("meta"):
        model = family.build(settings)
    torch.set_default_dtype(torch.float32)
    trains = mode != "infer"
    model.train(trains)
    if runs_again:
        model.enable_gradient_checkpointing()
    if mode == "checkpointed" and family.library == "transformers":
        checkpoint_once(model)
    facts = _facts.model_facts(model)
    facts["mode"] = "train" if trains else "eval"
    inputs = {name: tensor.to(model.dtype) if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and name not in family.in_fp32 else tensor
              for name, tensor in family.inputs(model.config, 2, lengths, "train" if trains else mode).items()}
    if "padded" in kinds:
        inputs["attention_mask"][0, lengths["sequence"] // 2 :] = 0
    _exporting._take_programs(model, (), inputs, ("train" if trains else mode,), facts, family.capability)
    if not trains and form == "half":
        facts["programs"].pop("infer-amp", None)
    if trains:
        for program in facts["programs"].values():
            keep_only_the_loss(program)
        facts["programs"] = {name.replace("train", mode): program for name, program in facts["programs"].items()}
    facts["programs"] = {"-".join([*kinds, name]): program for name, program in facts["programs"].items()}
    return facts


def checkpoint_once(model):
    """gradient_checkpointing_enable(), whose layers run once: it leaves no layer its cache (modeling_layers.py). A checkpoint
    keeps what it is given, positions that nothing reads too: a view in its region stands for them."""

    def run(forward, *args):
        for leaf in _pytree.tree_leaves(forward.keywords):
            if isinstance(leaf, torch.Tensor):
                leaf.unsqueeze(0)
        return forward(*args)

    model.gradient_checkpointing_enable()
    for module in model.modules():
        if hasattr(module, "_gradient_checkpointing_func"):
            module._gradient_checkpointing_func = run


def keep_only_the_loss(program):
    """`loss = model(...).loss`: what else a forward returns dies with it."""
    program["returned"] = program["returned"][:1]
    last, kept = len(program["calls"]) - 1, set(program["returned"])
    held = [end for end in program["ends"] if end[1] == -1]
    program["ends"] = [end for end in program["ends"] if end[1] != -1]
    program["ends"] += [[value, last] for value, _ in held if value not in kept] + [end for end in held if end[0] in kept]


def differs(expected, got, path=""):
    """Where a recording is not what the template says; None stands for anything."""
    if got is None:
        return None
    if isinstance(got, list) and isinstance(expected, (list, tuple)):
        if len(got) != len(expected):
            return f"{path}: {len(expected)} recorded, {len(got)} in the template"
        return next(filter(None, (differs(a, b, f"{path}[{n}]") for n, (a, b) in enumerate(zip(expected, got)))), None)
    if isinstance(got, dict) and isinstance(expected, dict) and set(got) == set(expected):
        return next(filter(None, (differs(expected[k], got[k], f"{path}.{k}") for k in got)), None)
    return None if got == expected else f"{path}: recorded {expected!r}, template {got!r}"


def defaults(family, points, names):
    """What the class takes of a setting that config.json leaves out, or has as null."""
    if family.taken() is not None:
        return family.taken()
    said = {key: text for key, text in family.defaults.items() if text}
    plain, derived, nulls = [], [f"default {key} {text}" for key, text in said.items()], [f"null {key} {text}" for key, text in said.items()]
    for key in points[0]:

        def taken(settings):
            try:
                return getattr(family.configured(settings), key)
            except Exception:  # of others that do not go with it
                return getattr(family.configured({}), key, Unfit)

        if key in family.defaults or (key in family.requires and family.requires[key] is None):
            continue  # none of it was recorded, whatever the class makes of that
        left_out = [taken({k: v for k, v in point.items() if k != key}) for point in points]
        if Unfit in left_out:
            continue
        if None in left_out and key not in family.requires and key not in family.window:
            raise Unfit(f"{key} is a number, and none where it is left out: say in `defaults` what the code takes")
        if all(value == left_out[0] for value in left_out):
            plain.append(f"default {key} {json.dumps(left_out[0])}")
        elif all(isinstance(value, int) for value in left_out):
            derived.append(f"default {key} {names.length(left_out)}")
        try:
            as_null = [getattr(family.configured({**point, key: None}), key) for point in points]
        except Exception:  # it cannot be
            continue
        if all(isinstance(value, int) and not isinstance(value, bool) for value in as_null):
            nulls.append(f"null {key} {names.length(as_null)}")
    return [*plain, *derived, *nulls]


def checkpoints_of(family, settings, lengths):
    """What enable_gradient_checkpointing() runs again of a class of diffusers, where that is no layer of a stack."""
    if family.stacks or family.library != "diffusers":
        return []
    return record(family, "float32", "train", settings, lengths, runs_again=True)["checkpointed"]


def embeddings_of(family, settings):
    """What enable_input_require_grads() hooks."""
    if family.library != "transformers":
        return []
    with torch.device("meta"):
        model = family.build(settings)
    model.enable_input_require_grads()
    return [path for path, module in model.named_modules() if module._forward_hooks]


def idle_of(family, settings, facts):
    """Linear layers that are of no stack and that no call reads: packed and adapted all the same."""
    read = set()
    for program in facts["programs"].values():
        numbers = set(re.findall(r'"%(\d+)"', json.dumps(program["calls"])))
        read |= {name for name, value in program["stored"] if str(value) in numbers}
    with torch.device("meta"):
        model = family.build(settings)
    weights = {parameter for name, parameter in model.named_parameters(remove_duplicate=False) if name in read}  # a tied one is read by another name
    return [path for path, module in model.named_modules()
            if type(module) is torch.nn.Linear and module.weight not in weights and stack_of(path, family.stacks) is None]


def head(family, variant, points, names, checkpoints, idle, more):
    groups = "num_attention_heads", "num_key_value_heads"
    return [
        "vramplan template 2",
        *(f"class {name}" for name in family.classes),
        *defaults(family, points, names),
        *([f"whole {'/'.join(groups)}"] if set(groups) <= set(points[0]) else []),
        *(f"whole {quotient}" for quotient in family.wholes),
        *family.relations,
        *(f"let {key} {one}" for key, text in family.let.items() for one in text.split(" or ")),
        *(f"when {key} {json.dumps(value)}" for key, value in {**family.requires, **variant}.items()
          if key not in dict(family.limits).values() and key not in family.window),
        *more,
        *(f"stack {prefix} {key}" for prefix, key in family.stacks),
        f"period {family.period}",
        *([f"every {family.every}"] if family.every else []),
        *(f"checkpoint {path}" for path in checkpoints),
        *(f"dim {key} {usual}" for key, usual in family.dims.items()),
        *(f"most {key} {limit}" for key, limit in family.limits),
        *(f"long sequence {family.masks_from or key}" for key in family.window),
        *(f"embedding {path}" for path in embeddings_of(family, points[0])),
        *(f"idle {path}" for path in idle),
        *(f"lora {target}" for target in family.lora),
        *(f"checkpoints {word}" for word in [family.checkpoints] if word),
        "made with " + ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("torch", family.library)),
    ]


def prove(lines, variants, model, environment, counts, every, recorded):
    """A recording must come out of the template. model: the program that its parameters are written of."""
    for variant in variants:
        facts = expand.Expansion(lines, model[variant.form, variant.program.removesuffix("-amp")], variant.form, environment, counts, every).facts()
        program = expand.Expansion(lines, variant.letter, variant.form, environment, counts, every).program(facts)
        whole = recorded[variant.form, variant.program.removesuffix("-amp")]
        programs = [{**one, "ends": sorted(one["ends"], key=lambda end: end[::-1])} for one in (whole["programs"][variant.program], program)]
        wrong = differs({**{key: whole[key] for key in facts}, **programs[0]}, {**facts, **programs[1]})
        if wrong:
            raise Unfit(f"the proof of {variant.form} {variant.program}{wrong}")


def admitted_by(family, variant, points):
    """`when`, `unless` and `each` lines of settings that nothing else names; none of diffusers, whose classes name each of theirs."""
    if family.library == "diffusers":
        return []
    settings, lengths = points[0]
    named = {**family.requires, **variant, **family.window}
    drawn = {key for key, value in settings.items() if any(other[key] != value for other, _ in points)}
    return admitted.admitted(family, {**settings, **named}, lengths, {*named, *drawn, *dict(family.limits).values()}, {**points[1][0], **named})


def admit_anew(family, variant, path):
    """A template's lines, with those of admitted_by() as they are now."""
    random_of = random.Random(0)
    more, named = admitted_by(family, variant, [family.draw(random_of, number) for number in range(5)]), {**family.requires, **variant}
    old = text_of(path)
    start = next(n for n, line in enumerate(old) if line.startswith("stack "))
    kept = [line for line in old[:start] if line.split()[0] not in ("unless", "each") and (line.split()[0] != "when" or line.split()[1] in named)]
    return [*kept, *more, *old[start:]]


def make(family, variant):
    random_of = random.Random(f"{family.name} {sorted(variant.items())}")
    points = [family.draw(random_of, number) for number in range(5)]
    recorded, environments, counts, kinds = [], [], [], []
    for settings, lengths in points:
        whole = {**settings, **family.requires, **variant}
        recorded.append({(form, mode): record(family, form, mode, whole, lengths) for form, mode in family.modes()})
        scope = {**whole, **lengths}
        for key, text in family.let.items():
            scope[key] = expand.evaluate(text.split(" or ")[0], scope)
        environments.append({k: v for k, v in scope.items() if isinstance(v, int) and not isinstance(v, bool) and k not in family.unnamed})
        if any(settings[key] % family.period for _, key in family.stacks):
            raise Unfit("layers that are no multiple of the period")
        counts.append([settings[key] // family.period for _, key in family.stacks])
        kinds.append((settings[family.every.split()[0]], int(family.every.split()[1])) if family.every else None)
    variants, model, alike = [], {}, []

    def programs(form, mode):
        return [list(facts[form, mode]["programs"].values()) for facts in recorded]

    for form, mode in family.modes():
        trained, unpadded = mode.replace("checkpointed", "train"), mode.replace("padded-", "")
        if mode != trained and programs(form, mode) == programs(form, trained):
            continue  # it has no cache, and trains so anyway
        if mode != unpadded and programs(form, mode) == programs(form, unpadded):  # it masks always
            kind = mode.removesuffix(unpadded.split("-")[-1])
            alike += [f"recording {v.letter} {form} {kind}{v.program.removeprefix('long-')}" for v in variants
                      if v.form == form and v.program.removesuffix("-amp") == unpadded]
            continue
        for program in recorded[0][form, mode]["programs"]:
            letter = string.ascii_letters[len(variants)].swapcase()
            if program == mode:
                model[form, mode] = letter
            variants.append(Variant(letter, form, program, [Point(facts[form, mode], program, count, every)
                                                            for facts, count, every in list(zip(recorded, counts, kinds))[:-1]]))
    names = Names(environments[:-1])
    lines = Writer(family, names, variants).write()
    prove(lines, variants, model, environments[-1], counts[-1], kinds[-1], recorded[-1])
    wholes = [{**settings, **family.requires, **variant} for settings, _ in points[:-1]]
    checkpoints = checkpoints_of(family, wholes[0], points[0][1])
    idle = idle_of(family, wholes[0], recorded[0]["half", "infer"])
    more = admitted_by(family, variant, points)
    return [*head(family, variant, wholes, names, checkpoints, idle, more), *(f"recording {v.letter} {v.form} {v.program}" for v in variants), *alike, *lines]


def text_of(path):
    """A template's lines. One that begins with `as FILE` has those of that one, but for its changes: `FROM COUNT LINES` says that COUNT
    lines from FROM on are the LINES lines that follow instead."""
    lines = path.read_text().splitlines()
    if not lines[0].startswith("as "):
        return lines
    whole, made, at, n = text_of(HERE / lines[0].removeprefix("as ")), [], 1, 1
    while n < len(lines):
        start, count, several = map(int, lines[n].split())
        made += whole[at - 1 : start - 1] + lines[n + 1 : n + 1 + several]
        at, n = start + count, n + 1 + several
    return made + whole[at - 1 :]


def shortened(lines, first):
    """As changes to the file `first`, where that is much shorter."""
    changes = [f"as {first}"]
    for tag, old, old_end, new, new_end in difflib.SequenceMatcher(None, text_of(HERE / first), lines, autojunk=False).get_opcodes():
        if tag != "equal":
            changes += [f"{old + 1} {old_end - old} {new_end - new}", *lines[new:new_end]]
    return changes if 4 * len("\n".join(changes)) < 3 * len("\n".join(lines)) else lines


def write(name, lines, like):
    """The template, and what is written as changes to it. like: the template that this one is written as changes to, or ""."""
    changed = {path: text_of(path) for path in HERE.glob("*.template") if path.read_text().startswith(f"as {name}.template\n")}
    if like and like != name:
        lines = shortened(lines, f"{like}.template")
    (HERE / f"{name}.template").write_text("\n".join(lines) + "\n")
    for path, whole in changed.items():
        path.write_text("\n".join(shortened(whole, f"{name}.template")) + "\n")


if __name__ == "__main__":
    failed, anew = False, "--admitted" in sys.argv
    wanted = [word for word in sys.argv[1:] if word != "--admitted"]
    for family in [*FAMILIES, *pairs.FAMILIES, *pictures.FAMILIES, *denoisers.FAMILIES]:
        if (wanted and family.name not in wanted) or (anew and family.library == "diffusers"):
            continue
        for tag, variant in family.variants.items():
            name = f"{family.name}{'-' if tag else ''}{tag}"
            if anew and not (HERE / f"{name}.template").exists():
                continue
            try:
                lines = admit_anew(family, variant, HERE / f"{name}.template") if anew else make(family, variant)
            except Unfit as error:
                failed = True
                print(f"{name}: {str(error)[:300]}", file=sys.stderr)
                continue
            write(name, lines, family.like or (family.name if "" in family.variants else ""))
            print(name, len(lines), "lines", flush=True)
    sys.exit(failed)
