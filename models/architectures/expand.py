"""A template becomes facts again, as graph/architectures does it: how make.py proves what it wrote."""
import json
import re

from blocks import place_of


def evaluate(expression, scope):
    return eval(expression.replace("/", "//"), {}, scope)  # noqa: S307: our own template


def filled(text, scope):
    return re.sub(r"<([^<>]+)>", lambda found: str(evaluate(found[1], scope)), text)


def parts_of(text, separator=","):
    """Split where no bracket is open."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == separator and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out if text else []


def holds(tag, letter, place):
    """Whether a line with this tag is of the recording at this place."""
    for one in tag.split():
        letters, digits = re.fullmatch(r"([A-Za-z]+)(\d*)", one).groups()
        if letter in letters and (not digits or place in digits):
            return True
    return False


class Expansion:
    def __init__(self, lines, letter, form, environment, counts, every=None):
        self.letter, self.form, self.scope, self.counts, self.every = letter, form, dict(environment), counts, every
        self.sections = {}
        for line in lines:
            if line.startswith("= "):
                section = self.sections.setdefault(line[2:], [])
            else:
                section.append(line)

    def lines(self, section):
        """(line, block) in their order, those of this recording alone."""
        at, lines = 0, self.sections.get(section, [])
        while at < len(lines):
            block, count = [lines[at]], None
            if lines[at].startswith("* n"):
                count = self.counts[int(lines[at][3:])]
                end = lines.index(".", at)
                block, at = lines[at + 1 : end], end
            at += 1
            for i in range(1 if count is None else count):
                if count is not None:
                    self.scope["i"] = i
                for line in block:
                    tag = re.match(r"\{([A-Za-z0-9 ]+)\} ", line)
                    if tag is None or holds(tag[1], self.letter, "" if count is None else place_of(i, count, self.every)):
                        yield line[tag.end() if tag else 0 :], None if count is None else i

    def dim(self, text):
        if text.startswith("["):
            return [evaluate(term, self.scope) for term in parts_of(text[1:-1])]
        if text == "B" or text.startswith("B*"):
            return [0, evaluate(text[2:] or "1", self.scope)]
        return evaluate(text, self.scope)

    def tensor(self, text):
        kind, shape = text.split("[", 1)
        kind = ("float32" if self.form == "float32" else "bfloat16") if kind == "x" else kind
        return [kind, [self.dim(dim) for dim in parts_of(shape[:-1])]]

    def facts(self):
        out = {"parameters": [], "buffers": [], "functions": [line for line, _ in self.lines("functions")]}
        for kind in ("parameters", "buffers"):
            for line, _ in self.lines(kind):
                name, *rest = filled(line, self.scope).split(" ")
                if rest[0] == "=":
                    out[kind].append({"name": name, "same_as": rest[1]})
                    continue
                type_, shape = self.tensor(rest[0])
                out[kind].append({"name": name, "type": type_, "shape": shape, **({"trained": False} if rest[1:] else {})})
        return out

    def program(self, facts):
        values, stored, given, loose, modules, calls, ends = [], [], [], [], [], [], []
        for tensor in [*facts["parameters"], *facts["buffers"]]:
            if "same_as" not in tensor:
                stored.append([tensor["name"], len(values)])
                values.append([tensor["type"], tensor["shape"]])
        for line, _ in self.lines("given"):
            name, tensor = line.split(" ")
            given.append([name, len(values)])
            values.append(self.tensor(tensor))
        for line, _ in self.lines("loose"):
            loose.append(len(values))
            values.append(self.tensor(line))
        self.names = dict([*stored, *given, *((f"?{n}", v) for n, v in enumerate(loose))])
        for line, _ in self.lines("modules"):
            path, of = filled(line, self.scope).split(" ")
            above = [(len(other[0]), n) for n, other in enumerate(modules) if path.startswith(other[0] + ".")]
            modules.append([path, of, max(above)[1] if above else -1])
        numbers = {"-": -1}
        for n, (name, _, _) in enumerate(modules):
            count = sum(other[0] == name for other in modules[:n])
            numbers[name + (f"#{count + 1}" if count else "")] = n
        self.labels = {}
        path = "-"
        for line, i in self.lines("calls"):
            if line.startswith("in "):
                path = line[3:]
                continue
            self.path, self.i = filled(path, self.scope), i
            label, rest = line.split(" ", 1)
            target, rest = rest.split("(", 1)
            inside = parts_of("(" + rest, " ")[0]
            arguments, keywords, precision = re.fullmatch(r"\((.*?)\)(\{.*?\})?(!.*)?", inside).groups()
            rest = rest[len(inside):].split(";")
            whole = target.count(".") == 2 or target.startswith("vramplan.")
            call = [target if whole else "aten." + target + ("" if "." in target else ".default"), numbers[self.path],
                    json.loads("[" + self.arguments(arguments) + "]"), []]
            more = json.loads(self.arguments(keywords)) if keywords else {}
            for word in (precision or "").split("!")[1:] if self.form == "float32" else []:
                key, value = word.split("=")
                more[key] = json.loads(value)
            for r, result in enumerate(rest[0].split()):
                if result == "null":
                    call[3].append(None)
                    continue
                call[3].append(len(values))
                self.labels.setdefault(label + (f".{r}" if r else ""), {})[i or 0] = len(values)
                values.append(self.tensor(result))
            calls.append([*call, more] if more else call)
            if len(rest) > 1:
                ends += [[value, len(calls) - 1] for value in self.values(rest[1])]
        self.path, self.i = "-", None
        for line, _ in self.lines("kept"):
            ends += [[value, -1] for value in self.values(line)]
        returned = [value for line, _ in self.lines("returned") for value in self.values(line)]
        return {"values": values, "stored": stored, "loose": loose, "given": given, "returned": returned, "modules": modules,
                "calls": calls, "ends": ends}

    def arguments(self, text):
        text = re.sub(r"%((?:[^,\[\](){}<>]|<[^>]*>)+)", lambda found: f'"%{self.value(found[1])}"', text)
        return filled(text, self.scope)

    def value(self, text):
        if not text[0].isdigit():
            return self.names[self.path.split("#")[0] + text if text.startswith(".") else filled(text, self.scope)]
        before, quote, now = text.partition("'")
        if quote and self.i:
            return self.labels[before][self.i - 1]
        label = now if quote else text
        made = self.labels[label.removesuffix("@")]
        return made[min(made) if label.endswith("@") else max(made)]

    def values(self, text):
        for word in parts_of(text, " "):
            if not word.startswith("*"):
                yield self.value(word)
                continue
            places, labels = re.fullmatch(r"\*(\d*)\((.*)\)", word).groups()
            labels = labels.split()
            count = 1 + max(i for label in labels for i in self.labels[label])
            for i in range(count):
                if not places or place_of(i, count, self.every) in places:
                    yield from (self.labels[label][i] for label in labels if i in self.labels[label])
