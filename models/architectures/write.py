"""Recordings become the lines of a template: one text for all of them, where a line says which it is of if not of all.

Values have labels, one for each line that makes them, and no numbers: what a recording has and another has not moves nothing.
"""
import json
import re

from blocks import check_order, generic, module_of, place_of, stack_of, tag_calls
from expressions import Unfit
from pieces import Precision, Ref, Type
from section import Section


class Variant:
    """A program of a mode and a form, at several points."""

    def __init__(self, letter, form, program, points):
        self.letter, self.form, self.program, self.points = letter, form, program, points


class Point:
    """One recording of a program: its facts, as {"values": ...} with those of the model, and how many blocks its stacks have."""

    def __init__(self, facts, program, counts, every=None):
        self.facts, self.program, self.counts, self.every = facts, facts["programs"][program], counts, every


class Writer:
    def __init__(self, family, names, variants):
        self.stacks, self.period, self.names, self.variants = family.stacks, family.period, names, variants
        self.labels = {}

    def write(self):
        forms = []  # parameters are of a form and a mode, and so of its first program
        for variant in self.variants:
            if not variant.program.endswith("-amp"):
                forms.append(variant)
        lines = []
        for kind in ("parameters", "buffers"):
            lines += self.listed(kind, forms, lambda point, kind=kind: point.facts[kind], lambda item: item["name"], self.parameter)
        if any(point.facts["functions"] for variant in forms for point in variant.points):
            lines += self.listed("functions", forms, lambda point: point.facts["functions"], lambda item: "", lambda v, items: [items[0]])
        lines += self.listed("modules", self.variants, lambda point: point.program["modules"], lambda item: item[0],
                             lambda v, items: [" ", items[0][1]])
        for variant in self.variants:
            for point in variant.points:
                check_order(point)
        lines += self.listed("given", self.variants, lambda point: point.program["given"], lambda item: item[0], self.given)
        lines += self.listed("loose", self.variants, lambda point: point.program["loose"], lambda item: "", self.loose)
        return lines + self.calls()

    def name(self, name, stack, block):
        return generic(name, self.stacks, stack, block, self.period)

    def listed(self, kind, variants, items_of, name_of, pieces_of):
        """A section of items that have names."""
        made = Section(variants, lambda point: [stack_of(name_of(item), self.stacks) for item in items_of(point)],
                       lambda point, item, stack, b: self.name(name_of(items_of(point)[item]), stack, b),
                       lambda point: point.counts, self.period)

        def pieces(v, stack, items):
            points = variants[v].points
            names = {self.name(name_of(items_of(points[p])[item]), stack, b) for p, b, item in items}
            if len(names) != 1:
                raise Unfit(f"names {names}")
            self.here = [(variants[v], p, b, stack) for p, b, _ in items]
            return [names.pop(), *pieces_of(variants[v], [items_of(points[p])[item] for p, _, item in items])]

        return [f"= {kind}"] + self.text(made, made.lines(pieces)) if any(made.rows) else []

    def text(self, section, lines, before=lambda part, row, pieces: []):
        out, open_part = [], None
        for part, row, tag, pieces in lines:
            if part != open_part:
                if open_part is not None and section.parts[open_part] is not None:
                    out.append(".")
                if section.parts[part] is not None:
                    out.append(f"* n{section.parts[part]}")
                open_part = part
            out += before(part, row, pieces)
            out.append(tag + "".join(map(str, pieces)))
        if open_part is not None and section.parts[open_part] is not None:
            out.append(".")
        return out

    # The items of self.here, one a point and block, of one variant.

    def one(self, values, what):
        if any(value != values[0] for value in values):
            raise Unfit(f"{what} {values[:3]}")
        return values[0]

    def length(self, values):
        of_point = {}
        for (_, point, _, _), value in zip(self.here, values):
            if of_point.setdefault(point, value) != value:
                raise Unfit(f"a length that differs between layers: {values}")
        return self.names.length([of_point[p] for p in sorted(of_point)])

    def shape(self, values):
        self.one([len(v) for v in values], "ranks")
        out = []
        for lengths in zip(*values):
            lists = [n if isinstance(n, list) else [n] for n in lengths]
            wide = max(map(len, lists))
            terms = [self.length(list(n)) for n in zip(*[[*n, *[0] * (wide - len(n))] for n in lists])]
            if len(terms) == 2 and terms[0] == "0":
                out.append("B" if terms[1] == "1" else f"B*{terms[1]}")
            else:
                out.append(terms[0] if len(terms) == 1 else "[" + ",".join(terms) + "]")
        return "[" + ",".join(out) + "]"

    def tensor(self, variant, values):
        return [Type(variant.form, self.one([v[0] for v in values], "types")), self.shape([v[1] for v in values])]

    def parameter(self, variant, items):
        keys = self.one([tuple(item) for item in items], "keys")
        out = []
        if "same_as" in keys:
            return [" = " + self.one([item["same_as"] for item in items], "names")]
        out = [" ", *self.tensor(variant, [(item["type"], item["shape"]) for item in items])]
        if "trained" in keys:
            if any(item["trained"] for item in items):
                raise Unfit("trained, and said so")
            out.append(" frozen")
        return out

    def given(self, variant, items):
        return [" ", *self.tensor(variant, [self.point_of(h).program["values"][item[1]] for h, item in zip(self.here, items)])]

    def loose(self, variant, items):
        return self.tensor(variant, [self.point_of(h).program["values"][item] for h, item in zip(self.here, items)])

    def point_of(self, here):
        return here[0].points[here[1]]

    # Calls.

    def calls(self):
        def signature(point, item, stack, b):
            call = point.program["calls"][item]
            path = module_of(point.program, call)
            made = [value for value in call[3] if value is not None]
            rank = len(point.program["values"][made[0]][1]) if made else 0
            return call[0], self.name(path, stack, b), len(call[2]), len(call[3]), rank

        made = Section(self.variants, lambda point: tag_calls(point.program, self.stacks), signature, lambda point: point.counts, self.period)
        number = 0
        label_of = {}
        for part, rows in enumerate(made.rows):
            for row, _ in enumerate(rows):
                label_of[part, row] = str(number)
                number += 1
        self.made_by, self.of_name, self.dies, self.rows = {}, {}, {}, {}
        for (v, p), blocks in made.blocks.items():
            program = self.variants[v].points[p].program
            makers, dies = {}, {}
            for part, (stack, several) in enumerate(blocks):
                for b, items in enumerate(several):
                    for item in items:
                        for r, value in enumerate(program["calls"][item][3]):
                            if value is not None:
                                makers.setdefault(value, (part, stack, b, label_of[made.row_of[v, p, item]] + (f".{r}" if r else "")))
            names = {value: name for name, value in [*program["stored"], *program["given"]]}
            names.update({value: f"?{n}" for n, value in enumerate(program["loose"])})
            for value, call in program["ends"]:
                dies.setdefault(call, []).append(value)
            self.made_by[v, p], self.of_name[v, p], self.dies[v, p] = makers, names, dies
            self.rows[v, p] = {item: row for (a, c, item), row in made.row_of.items() if (a, c) == (v, p)}
            self.last_block = {}
        # The last block that has a label.
        for (v, p), makers in self.made_by.items():
            for part, _, b, label in makers.values():
                self.last_block[v, p, label] = max(b, self.last_block.get((v, p, label), 0))

        def pieces(v, stack, items):
            variant = self.variants[v]
            self.here = [(variant, p, b, stack) for p, b, _ in items]
            self.v = v
            calls = [variant.points[p].program["calls"][item] for p, _, item in items]
            target = self.one([call[0] for call in calls], "calls")
            self.part = self.one([made.row_of[v, p, item][0] for p, _, item in items], "parts")
            self.paths = [module_of(variant.points[p].program, call) for (p, _, _), call in zip(items, calls)]
            short = target.removeprefix("aten.").removesuffix(".default") if target.startswith("aten.") else target
            out = [f"{label_of[made.row_of[v, items[0][0], items[0][2]]]} {short}("]
            for n, argument in enumerate(zip(*self.same_length([call[2] for call in calls]))):
                out += ([","] if n else []) + self.argument(list(argument))
            keywords = [dict(call[4]) if len(call) > 4 else {} for call in calls]
            marks = ("autocast", "amp") if variant.form == "float32" else ()  # in halves a program under autocast is a recording of its own
            precision = self.one([[f"!{k}={json.dumps(w.pop(k))}" for k in list(w) if k in marks] for w in keywords], "precisions")
            out.append(")")
            keys = self.one([list(w) for w in keywords], "keywords")
            for n, key in enumerate(keys):
                out += ["{" if n == 0 else ",", f'"{key}":', *self.argument([w[key] for w in keywords])]
            out.append("}" if keys else "")
            out.append(Precision(variant.form, "".join(precision)))
            for values in zip(*self.same_length([call[3] for call in calls])):
                if any(value is None for value in values):
                    out.append(" " + self.one(["null" if value is None else "" for value in values], "results"))
                    continue
                numbers = list(values)
                out += [" ", *self.tensor(variant, [self.point_of(h).program["values"][n] for h, n in zip(self.here, numbers)])]
            dead = [self.dies[v, p].get(item, []) for p, _, item in items]
            return out + self.values([self.runs(v, p, stack, b, item) for (p, b, _), item in zip(items, dead)], " ;")

        lines = made.lines(pieces)
        current = [None]

        def before(part, row, _):
            path = made.rows[part][row][1]
            if path == current[0]:
                return []
            current[0] = path
            return [f"in {path}"]

        out = ["= calls", *self.text(made, lines, before)]
        for kind, values_of in (("kept", lambda v, p: self.dies[v, p].get(-1, [])),
                                ("returned", lambda v, p: self.variants[v].points[p].program["returned"])):
            found = []
            for v, variant in enumerate(self.variants):
                self.v, self.part = v, -1
                self.here = [(variant, p, 0, None) for p, _ in enumerate(variant.points)]
                self.paths = ["-"] * len(variant.points)
                shown = "".join(map(str, self.values([self.runs(v, p, None, 0, values_of(v, p)) for p, _ in enumerate(variant.points)], "")))
                found.append((variant.letter, shown))
            out.append(f"= {kind}")
            for text in dict.fromkeys(text for _, text in found):
                letters = "".join(letter for letter, shown in found if shown == text)
                if text:
                    out.append(("" if len(letters) == len(found) else "{" + letters + "} ") + text)
        return out

    def same_length(self, lists):
        if len({len(items) for items in lists}) != 1:
            raise Unfit(f"lists of lengths {[len(items) for items in lists]}")
        return lists

    def argument(self, values):
        first = values[0]
        if any(v is None for v in values):
            return ["null"]
        if all(isinstance(v, bool) for v in values):
            return [json.dumps(first) if len(set(values)) == 1 else "null"]
        if all(isinstance(v, int) for v in values):
            text = self.length(values)
            return [text if re.fullmatch(r"-?\d+", text) else f"<{text}>"]
        if all(isinstance(v, (int, float)) for v in values):
            return [json.dumps(first) if len(set(values)) == 1 else "null"]
        if all(isinstance(v, list) for v in values):
            out = ["["]
            for n, several in enumerate(zip(*self.same_length(values))):
                out += ([","] if n else []) + self.argument(list(several))
            return [*out, "]"]
        if all(isinstance(v, str) and re.fullmatch(r"%\d+", v) for v in values):
            return ["%", *self.reference([int(v[1:]) for v in values])]
        if all(isinstance(v, str) for v in values):
            return [json.dumps(self.one(values, "texts"))]
        raise Unfit(f"arguments {values[:4]}")

    def reference(self, values):
        """The same value at every point and block of self.here."""
        found = [self.token(self.v, here[1], self.part, here[2], path, value) for here, path, value in zip(self.here, self.paths, values)]
        out = found[0]
        for other in found[1:]:
            if isinstance(out, str) != isinstance(other, str) or str(out) != str(other):
                raise Unfit(f"values {[str(f) for f in found]}")
        return [out]

    def token(self, v, p, part, b, path, value):
        name = self.of_name[v, p].get(value)
        if name is not None:
            own = path.split("#")[0] + "."
            if name.startswith(own):
                return name[len(own) - 1:]
            stack = self.here[0][3]
            return self.name(name, stack, b)
        of_part, stack, block, label = self.made_by[v, p][value]
        last = self.last_block[v, p, label]
        if of_part == part and stack is not None:
            if block == b or block == last < b:
                return Ref(label, first=b == 0)
            if block == b - 1:
                return Ref(None, before=label)
        elif block == last:
            return Ref(label, first=part >= 0 and b == 0 and self.here[0][3] is not None)
        if block == 0:
            return Ref(f"{label}@")
        raise Unfit(f"label {label} of block {block} in block {b} of part {part}")

    def runs(self, v, p, stack, b, values):
        """Values that die, or are returned: a value, or ("*", labels) for those of all blocks of a stack, or of some places."""
        makers = self.made_by[v, p]
        made = {(of, block, label) for _, of, block, label in makers.values()}
        own, values = self.of_own_stack(v, p, stack, b, values)
        out, at = list(own), 0
        while at < len(values):
            maker = makers.get(values[at])
            if maker is None or maker[1] is None or maker[1] == stack or self.last_block[v, p, maker[3]] == 0:
                out.append(values[at])
                at += 1
                continue
            by_block, end = {}, at
            while end < len(values) and (other := makers.get(values[end])) and other[0] == maker[0] and other[2] >= max(by_block, default=0):
                by_block.setdefault(other[2], []).append(other[3])
                end += 1
            # What dies here of one block alone, and is made in the others too, is no part of the run.
            alone = {label for labels in by_block.values() for label in labels
                     if any(label not in other and (maker[1], b, label) in made for b, other in by_block.items())}
            if alone:
                end = next(n for n in range(at, end) if makers[values[n]][3] in alone)
                by_block = {}
                for value in values[at:end]:
                    by_block.setdefault(makers[value][2], []).append(makers[value][3])
            longest = max(by_block.values(), key=len, default=[])
            point = self.variants[v].points[p]
            places = {b: place_of(b, point.counts[maker[1]], point.every) for b in range(point.counts[maker[1]])}
            of = {places[b] for b in by_block}
            if len(by_block) < 2 or set(by_block) != {b for b, place in places.items() if place in of} or any(
                labels != [label for label in longest if label in labels] for labels in by_block.values()
            ):
                out.append(values[at])
                at += 1
                continue
            out.append(("*" if of == set(places.values()) else "*" + "".join(sorted(of)), tuple(longest)))
            at = end
        return out

    def of_own_stack(self, v, p, stack, b, values):
        """What dies in the last block of the stack that makes it, and was made in blocks before the one before; and the others.
        Their order is no matter: what dies together leaves the same memory."""
        makers, point = self.made_by[v, p], self.variants[v].points[p]
        places = {} if stack is None else {n: place_of(n, point.counts[stack], point.every) for n in range(point.counts[stack])}
        blocks = {}
        for value in values if b == len(places) - 1 else ():
            _, of, block, label = makers.get(value, (0, None, 0, ""))
            if of == stack:
                blocks.setdefault(label, set()).add(block)
        together = {}
        for label, of in blocks.items():
            held = {places[n] for n in of}
            if min(of) < b - 1 and of == {n for n, place in places.items() if place in held}:
                together.setdefault("".join(sorted(held)), []).append(label)
        labels = {label for several in together.values() for label in several}
        runs = [("*" if held == "".join(sorted(set(places.values()))) else f"*{held}", tuple(several)) for held, several in together.items()]
        return runs, [value for value in values if makers.get(value, (0, None))[1] != stack or stack is None or makers[value][3] not in labels]

    def values(self, lists, before):
        out = []
        for n, several in enumerate(zip(*self.same_length(lists))):
            out.append(before if n == 0 else " ")
            if isinstance(several[0], tuple):
                which, labels = self.one(list(several), "values of blocks")
                out.append(f"{which}({' '.join(labels)})")
            else:
                out += self.reference(list(several))
        return out
