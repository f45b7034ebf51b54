"""make.py [FAMILY...]: records how the libraries' classes run, and writes it as templates with named lengths.

A class is recorded at several small settings that share no factor (python/vramplan records; no weights, no card). What differs
between recordings is named: lengths as expressions of the settings, numbers of values, modules and calls by how many layers there
are. Blocks between the first and the last become one that repeats. A further recording, of other settings and another depth, must
come out of the template to the last number, or nothing is written. README.md of this folder describes the format.
"""
import fractions
import importlib.metadata
import itertools
import json
import pathlib
import random
import re
import sys
import warnings

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "python"))

import torch  # noqa: E402

from families import FAMILIES  # noqa: E402
from vramplan import _exporting, _facts  # noqa: E402

torch.set_grad_enabled(True)


class Unfit(Exception):
    """What the recordings have in common is no template."""


def record(family, form, mode, settings, lengths):
    """The facts of one recording (docs/facts.md)."""
    torch.set_default_dtype(torch.bfloat16 if form == "half" else torch.float32)
    with torch.device("meta"):
        model = family.build(settings)
    torch.set_default_dtype(torch.float32)
    model.train(mode == "train")
    facts = _facts.model_facts(model)
    facts["mode"] = "train" if mode == "train" else "eval"
    inputs = {name: tensor.to(model.dtype) if tensor.is_floating_point() else tensor
              for name, tensor in family.inputs(model.config, 2, lengths, mode).items()}
    _exporting._take_programs(model, (), inputs, (mode,), facts, None, None, False)
    for name, program in facts["programs"].items():
        if mode == "train":
            keep_only_the_loss(program)
    return facts


def keep_only_the_loss(program):
    """`loss = model(...).loss`: what else a forward returns dies with it."""
    program["returned"] = program["returned"][:1]
    last, kept = len(program["calls"]) - 1, set(program["returned"])
    held = [end for end in program["ends"] if end[1] == -1]
    program["ends"] = [end for end in program["ends"] if end[1] != -1]
    program["ends"] += [[value, last] for value, _ in held if value not in kept] + [end for end in held if end[0] in kept]


# --- segments ---------------------------------------------------------------------------------------------------------


def stack_of(path, stacks):
    for number, (prefix, _) in enumerate(stacks):
        found = re.match(re.escape(prefix) + r"\.(\d+)(\.|$)", path)
        if found:
            return number, int(found[1])
    return None


def tag_calls(program, stacks):
    """For each call the stack and the layer that it is of; what runs between two layers is of the first of them."""
    own = [stack_of(program["modules"][call[1]][0], stacks) if call[1] >= 0 else None for call in program["calls"]]
    tags, open_at = list(own), None
    for at, tag in enumerate(own):
        if tag:
            open_at = tag
        elif open_at and any(later and later[0] == open_at[0] for later in own[at:]):
            tags[at] = open_at
        else:
            open_at = None
    # Behind the last layer of a stack: as many as behind the one before, where they are the same calls.
    for number in range(len(stacks)):
        of_stack = [tag[1] for tag in tags if tag and tag[0] == number]
        if len(set(of_stack)) < 3:
            continue
        last = max(of_stack)

        def behind(layer):
            calls = [at for at, tag in enumerate(tags) if tag == (number, layer)]
            inside = [at for at in calls if own[at]]
            return [at for at in calls if at > inside[-1]]

        end = max(at for at, tag in enumerate(own) if tag == (number, last))
        expected = behind(last - 1)
        follows = list(range(end + 1, end + 1 + len(expected)))
        if follows and follows[-1] < len(own) and all(
            program["calls"][a][0] == program["calls"][b][0] and own[b] is None for a, b in zip(expected, follows)
        ):
            for at in follows:
                tags[at] = (number, last)
    return tags


def sections(facts, stacks):
    """Name of section -> list of (item, tag)."""
    named = lambda items, key: [(item, stack_of(key(item), stacks)) for item in items]  # noqa: E731
    out = {
        "parameters": named(facts["parameters"], lambda p: p["name"]),
        "buffers": named(facts["buffers"], lambda p: p["name"]),
        "functions": [(f, None) for f in facts["functions"]],
    }
    for name, program in facts["programs"].items():
        unknown = set(program) - {"values", "stored", "loose", "given", "returned", "modules", "calls", "ends"}
        if unknown:
            raise Unfit(f"a program with {unknown}")
        tags = tag_calls(program, stacks)
        values = [None] * len(program["values"])
        for path, number in program["stored"]:
            values[number] = stack_of(path, stacks)
        for call, tag in zip(program["calls"], tags):
            for number in call[3]:
                if number is not None:
                    values[number] = tag
        out[f"{name} values"] = list(zip(program["values"], values))
        out[f"{name} stored"] = named(program["stored"], lambda s: s[0])
        out[f"{name} modules"] = named(program["modules"], lambda m: m[0])
        out[f"{name} calls"] = list(zip(program["calls"], tags))
        # What dies outside of the layers may be of each of them: views of a table that all of them read.
        out[f"{name} ends"] = [(end, (tags[end[1]] if end[1] >= 0 else None) or values[end[0]]) for end in program["ends"]]
        for part in ("loose", "given", "returned"):
            out[f"{name} {part}"] = [(item, None) for item in program[part]]
    return out


def runs_of(items, counts, period, alone):
    """[(None, items)] and [(stack, blocks)] in their order; counts: blocks of `period` layers; alone: how many blocks stand so at either end of a stack."""
    out = []
    for tag, group in itertools.groupby(items, key=lambda pair: pair[1]):
        part = [item for item, _ in group]
        if tag is None:
            out.append([None, part])
            continue
        stack, layer = tag
        block = layer // period
        last = counts[stack] - 1
        if block < alone[0] or block > last - alone[1]:
            out.append([None, part])
        elif out and out[-1][0] == stack and out[-1][2] == block:
            out[-1][1][-1] += part
        elif out and out[-1][0] == stack and out[-1][2] == block - 1:
            out[-1][1].append(part)
            out[-1][2] = block
        else:
            out.append([stack, [part], block])
    merged = []
    for run in out:
        if run[0] is None and merged and merged[-1][0] is None:
            merged[-1] = (None, merged[-1][1] + run[1])
        else:
            merged.append((run[0], run[1]))
    return merged


# --- numbers ----------------------------------------------------------------------------------------------------------


class Names:
    """Finds an expression of the settings for the values that a number has in the recordings."""

    def __init__(self, environments):
        self.environments = environments
        self.known = {}
        names = [n for n in environments[0] if all(isinstance(e[n], int) for e in environments)]
        names = [n for n in names if len({e[n] for e in environments}) > 1]
        monomials = [((), ())]
        for degree in (1, 2, 3):
            monomials += [(m, ()) for m in itertools.combinations_with_replacement(names, degree)]
        monomials += [((*m,), (d,)) for degree in (1, 2) for m in itertools.combinations_with_replacement(names, degree)
                      for d in names if d not in m]
        self.monomials = []
        for above, below in monomials[1:]:
            values = []
            for e in environments:
                value = fractions.Fraction(1)
                for n in above:
                    value *= e[n]
                for n in below:
                    value /= e[n]
                values.append(value)
            self.monomials.append(("*".join(above) + "".join("/" + n for n in below), values, len(above) + 2 * len(below)))
        scaled = []
        for factor, cost in ((1, 0), (2, 1), (3, 1), (4, 1), (fractions.Fraction(1, 2), 1), (6, 2), (8, 2), (5, 2), (7, 2), (-1, 2), (-2, 3),
                             (fractions.Fraction(1, 4), 2)):
            for text, values, degree in self.monomials:
                if factor == 1:
                    shown = text
                elif isinstance(factor, fractions.Fraction):
                    shown = f"{text}/{factor.denominator}"
                else:
                    shown = f"{factor}*{text}"
                scaled.append((shown, [factor * v for v in values], degree + cost))
        for shown, values, cost in sorted(scaled, key=lambda s: s[2]):
            self.add(shown, values)
        for shown, values, cost in sorted(scaled, key=lambda s: s[2]):
            for offset in (1, -1, 2, -2, 3, -3):
                self.add(f"{shown}{offset:+d}", [v + offset for v in values])
        simple = [s for s in scaled if s[2] <= 3]
        for (a, x, _), (b, y, _) in itertools.product(simple, simple):
            self.add(f"{a}{'' if b.startswith('-') else '+'}{b}", [v + w for v, w in zip(x, y)])

    def add(self, text, values):
        if all(v.denominator == 1 for v in values):
            self.known.setdefault(tuple(int(v) for v in values), text)

    def length(self, values):
        if len(set(values)) == 1:
            return str(values[0])
        found = self.known.get(tuple(values))
        if found is None:
            raise Unfit(f"no expression for {values}")
        return found


def solve(rows, values):
    """Integer coefficients c with rows c = values, or None."""
    columns = len(rows[0])
    matrix = [[fractions.Fraction(x) for x in row] + [fractions.Fraction(v)] for row, v in zip(rows, values)]
    pivots, at = [], 0
    for column in range(columns):
        pivot = next((r for r in range(at, len(matrix)) if matrix[r][column] != 0), None)
        if pivot is None:
            continue
        matrix[at], matrix[pivot] = matrix[pivot], matrix[at]
        matrix[at] = [x / matrix[at][column] for x in matrix[at]]
        for r in range(len(matrix)):
            if r != at and matrix[r][column] != 0:
                matrix[r] = [x - matrix[r][column] * y for x, y in zip(matrix[r], matrix[at])]
        pivots.append(column)
        at += 1
    if any(row[-1] != 0 for row in matrix[at:]):
        return None
    out = [fractions.Fraction(0)] * columns
    for row, column in zip(matrix, pivots):
        out[column] = row[-1]
    return [int(x) for x in out] if all(x.denominator == 1 for x in out) else None


class Writer:
    """Writes an item whose copies, one a data point, differ in numbers alone."""

    def __init__(self, names, points, counters):
        self.names = names          # Names
        self.points = points        # (recording, block or None)
        self.counters = counters    # for each point the numbers of layers, and the block

    def number(self, values):
        """Of a value, a module or a call: by numbers of layers."""
        if len(set(values)) == 1:
            return str(values[0])
        labels = [f"n{s}" for s in range(len(self.counters[0]) - 1)] + ["i"]
        found = solve([[*row, 1] for row in self.counters], values)
        if found is None:
            raise Unfit(f"a number that layers do not explain: {values}")
        terms = "".join(f"{c:+d}*{label}" if c not in (1, -1) else f"{'+' if c > 0 else '-'}{label}" for c, label in zip(found, labels) if c)
        text = (terms + (f"{found[-1]:+d}" if found[-1] else "")).lstrip("+")
        return f"<{text}>"

    def length(self, values):
        per_recording = {}
        for (recording, _), value in zip(self.points, values):
            if per_recording.setdefault(recording, value) != value:
                raise Unfit(f"a length that differs between layers: {values}")
        text = self.names.length([per_recording[r] for r in sorted(per_recording)])
        return text if re.fullmatch(r"-?\d+", text) else f"<{text}>"

    def text(self, values):
        if len(set(values)) == 1:
            return json.dumps(values[0])
        if all(re.fullmatch(r"%\d+", v) for v in values):
            return '"%' + self.number([int(v[1:]) for v in values]) + '"'
        split = [re.split(r"(\d+)", v) for v in values]
        if len({len(s) for s in split}) == 1:
            parts = []
            for piece in zip(*split):
                if len(set(piece)) == 1:
                    parts.append(piece[0])
                elif all(p.isdigit() for p in piece):
                    parts.append(self.number([int(p) for p in piece]))
                else:
                    raise Unfit(f"texts {values}")
            return '"' + "".join(parts) + '"'
        raise Unfit(f"texts {values}")

    def argument(self, values):
        """Of a call: a length, a real number or a text."""
        first = values[0]
        if all(v is None for v in values):
            return "null"
        if any(v is None for v in values):
            return "null"
        if all(isinstance(v, bool) for v in values):
            return json.dumps(first) if len(set(values)) == 1 else "null"
        if all(isinstance(v, int) for v in values):
            return self.length(values)
        if all(isinstance(v, (int, float)) for v in values):
            return json.dumps(first) if len(set(values)) == 1 else "null"
        if all(isinstance(v, list) for v in values):
            if len({len(v) for v in values}) != 1:
                raise Unfit(f"lists {values}")
            return "[" + ",".join(self.argument(list(v)) for v in zip(*values)) + "]"
        if all(isinstance(v, str) for v in values):
            return self.text(values)
        raise Unfit(f"arguments {values[:4]}")

    def shape(self, values):
        if len({len(v) for v in values}) != 1:
            raise Unfit("ranks differ")
        out = []
        for lengths in zip(*values):
            if any(isinstance(n, list) for n in lengths):
                lists = [n if isinstance(n, list) else [n] for n in lengths]
                wide = max(map(len, lists))
                lists = [[*n, *[0] * (wide - len(n))] for n in lists]
                out.append("[" + ",".join(self.length(list(n)) for n in zip(*lists)) + "]")
            else:
                out.append(self.length(list(lengths)))
        return "[" + ",".join(out) + "]"

    def item(self, section, values):
        kind = section.split()[-1]
        if kind in ("parameters", "buffers"):
            parts = []
            for key in values[0]:
                each = [v[key] for v in values]
                shown = self.shape(each) if key == "shape" else json.dumps(each[0]) if key in ("type", "trained") else self.text(each)
                if key in ("type", "trained") and len(set(each)) != 1:
                    raise Unfit(f"{key} differs")
                parts.append(f'"{key}":{shown}')
            return "{" + ",".join(parts) + "}"
        if kind == "functions":
            return self.text(values)
        if kind == "values":
            types = {v[0] for v in values}
            if len(types) != 1:
                raise Unfit(f"types {types}")
            return f'["{types.pop()}",{self.shape([v[1] for v in values])}]'
        if kind in ("stored", "given"):
            return f"[{self.text([v[0] for v in values])},{self.number([v[1] for v in values])}]"
        if kind in ("loose", "returned"):
            return "null" if values[0] is None else self.number(values)
        if kind == "modules":
            return f"[{self.text([v[0] for v in values])},{self.text([v[1] for v in values])},{self.number([v[2] for v in values])}]"
        if kind == "ends":
            return f"[{self.number([v[0] for v in values])},{self.number([v[1] for v in values])}]"
        assert kind == "calls", kind
        if len({v[0] for v in values}) != 1 or len({len(v[2]) for v in values}) != 1 or len({len(v[3]) for v in values}) != 1:
            raise Unfit(f"calls {sorted({v[0] for v in values})}")
        results = ",".join("null" if r[0] is None else self.number(list(r)) for r in zip(*(v[3] for v in values)))
        arguments = ",".join(self.argument(list(a)) for a in zip(*(v[2] for v in values)))
        text = f'["{values[0][0]}",{self.number([v[1] for v in values])},[{arguments}],[{results}]'
        keywords = [v[4] if len(v) > 4 else {} for v in values]
        if any(keywords):
            if len({tuple(sorted(k)) for k in keywords}) != 1:
                raise Unfit(f"keywords {keywords[:3]}")
            text += ",{" + ",".join(f'"{key}":{self.argument([k[key] for k in keywords])}' for key in keywords[0]) + "}"
        return text + "]"


def generalize(family, recorded, environments, counts):
    names = Names(environments)
    everything = [sections(facts, family.stacks) for facts in recorded]
    lines = []
    for section in everything[0]:
        if any(section not in other for other in everything):
            raise Unfit(f"{section} is not in every recording")
        for alone in ((0, 0), (1, 0), (0, 1), (1, 1)):
            try:
                lines += section_lines(section, [runs_of(parts[section], count, family.period, alone) for parts, count in zip(everything, counts)],
                                       counts, names, alone)
                break
            except Unfit:
                if alone == (1, 1):
                    raise
    return lines


def section_lines(section, runs, counts, names, alone):
    if len({tuple(run[0] for run in each) for each in runs}) != 1:
        raise Unfit(f"{section}: {[[(run[0], len(run[1])) for run in each] for each in runs]}")
    lines = [f"= {section}"]
    for same in zip(*runs):
        stack = same[0][0]
        if stack is None:
            if len({len(run[1]) for run in same}) != 1:
                raise Unfit(f"{section}: {[len(run[1]) for run in same]} items between blocks")
            writer = Writer(names, [(r, None) for r in range(len(same))], [[*count, 0] for count in counts])
            lines += [writer.item(section, list(items)) for items in zip(*(run[1] for run in same))]
            continue
        points, counters, blocks = [], [], []
        for r, run in enumerate(same):
            if len(run[1]) != counts[r][stack] - sum(alone):
                raise Unfit(f"{section}: a part of the layers")
            for i, block in enumerate(run[1]):
                points.append((r, i + alone[0]))
                counters.append([*counts[r], i + alone[0]])
                blocks.append(block)
        if len({len(block) for block in blocks}) != 1:
            raise Unfit(f"{section}: blocks of {sorted({len(b) for b in blocks})} items")
        writer = Writer(names, points, counters)
        lines.append(f"* n{stack} {alone[0]} {alone[1]}")
        lines += [writer.item(section, list(items)) for items in zip(*blocks)]
        lines.append(".")
    return lines


# --- and back, as graph/architectures does it ------------------------------------------------------------------------


def expand(lines, environment, counts):
    """Sections of a template as lists."""
    out, section, block, stack = {}, None, None, None

    def fill(line, i):
        scope = {**environment, **{f"n{s}": n for s, n in enumerate(counts)}, "i": i}

        def put(found):
            value = eval(found[1].replace("/", "//"), {}, scope)  # noqa: S307: our own template
            return str(value)

        return json.loads(re.sub(r"<([^<>\"]+)>", put, line))

    for line in lines:
        if line.startswith("= "):
            section = out.setdefault(line[2:], [])
        elif line.startswith("* "):
            stack, first, behind = map(int, line[3:].split())
            block = []
        elif line == ".":
            for i in range(first, counts[stack] - behind):
                section += [fill(item, i) for item in block]
            block = None
        elif block is not None:
            block.append(line)
        else:
            section.append(fill(line, 0))
    return out


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


def make(family, variant):
    random_of = random.Random(f"{family.name} {sorted(variant.items())}")
    points = [family.draw(random_of, number) for number in range(5)]
    lines = [
        "vramplan template 1",
        *(f"class {name}" for name in family.classes),
        *(f"default {key} {text}" for key, text in family.defaults.items()),
        *(f"let {key} {text}" for key, text in family.let.items()),
        *(f"when {key} {json.dumps(value)}" for key, value in {**family.requires, **variant}.items()
          if key not in dict(family.limits).values()),
        *(f"stack {prefix} {key}" for prefix, key in family.stacks),
        f"period {family.period}",
        *(f"dim {key} {usual}" for key, usual in family.dims.items()),
        *(f"most {key} {limit}" for key, limit in family.limits),
        *(f"lora {target}" for target in family.lora),
        "made with " + ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("torch", family.library)),
    ]
    for form, mode in family.recordings:
        recorded, environments, counts = [], [], []
        for settings, lengths in points:
            whole = {**settings, **family.requires, **variant}
            facts = record(family, form, mode, whole, lengths)
            recorded.append(facts)
            scope = {**whole, **lengths}
            for key, text in family.let.items():
                scope[key] = eval(text.replace("/", "//"), {}, scope)  # noqa: S307
            environments.append({k: v for k, v in scope.items() if isinstance(v, int) and not isinstance(v, bool)})
            if any(settings[key] % family.period for _, key in family.stacks):
                raise Unfit("layers that are no multiple of the period")
            counts.append([settings[key] // family.period for _, key in family.stacks])
        made = generalize(family, recorded[:-1], environments[:-1], counts[:-1])
        proof = {name: [item for item, _ in items] for name, items in sections(recorded[-1], family.stacks).items()}
        got = expand(made, environments[-1], counts[-1])
        wrong = differs({k: proof[k] for k in sorted(proof)}, {k: got[k] for k in sorted(got)})
        if wrong:
            raise Unfit(f"the proof: {wrong}")
        lines += [f"recording {form} {mode}", *made]
    return lines


if __name__ == "__main__":
    failed = False
    for family in FAMILIES:
        if sys.argv[1:] and family.name not in sys.argv[1:]:
            continue
        for tag, variant in family.variants.items():
            name = f"{family.name}{'-' if tag else ''}{tag}"
            try:
                lines = make(family, variant)
            except Unfit as error:
                failed = True
                print(f"{name}: {str(error)[:300]}", file=sys.stderr)
                continue
            (HERE / f"{name}.template").write_text("\n".join(lines) + "\n")
            print(name, len(lines), "lines", flush=True)
    sys.exit(failed)
