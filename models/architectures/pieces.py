"""Pieces of a line that are no plain text. join: the piece that stands for both, or None."""


class Type:
    """The type of a tensor; x is that of the weights."""

    def __init__(self, form, name):
        weights = "float32" if form == "float32" else "bfloat16"
        self.shown = {name, "x"} if name == weights else {name}

    def join(self, other):
        both = self.shown & other.shown
        if not both:
            return None
        joined = Type("", "")
        joined.shown = both
        return joined

    def __str__(self):
        return min(self.shown, key=lambda s: s == "x")


class Ref:
    """A value: 12 is the newest of label 12, 12@ that of the first block, 12' that of the block before, 12'3 the same and in the first block 3."""

    def __init__(self, label, before=None, first=False):
        self.label, self.before, self.first = label, before, first  # first: of a first block alone, which has none before

    def join(self, other):
        if (self.label, self.before) == (other.label, other.before):
            return Ref(self.label, self.before, self.first and other.first)
        for a, b in ((self, other), (other, self)):
            if a.first and a.before is None and b.before is not None and b.label in (None, a.label):
                return Ref(a.label, b.before)
            if a.before is not None and a.before == b.before and b.label is None:
                return a
            if a.first and a.before is None and b.label == f"{a.label}@":
                return b
        return None

    def __str__(self):
        return (f"{self.before}'" if self.before is not None else "") + (self.label or "")


class Precision:
    """What only mixed precision shows; a program in halves has none."""

    def __init__(self, form, text):
        self.text = text if form == "float32" else None

    def join(self, other):
        if self.text is None or other.text is None:
            return self if other.text is None else other
        return self if self.text == other.text else None

    def __str__(self):
        return self.text or ""


def join(a, b):
    if len(a) != len(b):
        return None
    out = []
    for x, y in zip(a, b):
        both = x if isinstance(x, str) and x == y else x.join(y) if type(x) is type(y) and not isinstance(x, str) else None
        if both is None:
            return None
        out.append(both)
    return out
