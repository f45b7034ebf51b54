"""Lengths as expressions of settings: what several recordings have in common."""
import fractions
import itertools


class Unfit(Exception):
    """What the recordings have in common is no template."""


class Names:
    """Finds an expression of the settings for the values that a length has in the recordings."""

    def __init__(self, environments):
        self.known = {}
        names = [n for n in environments[0] if all(isinstance(e[n], int) for e in environments)]
        names = [n for n in names if len({e[n] for e in environments}) > 1]
        above_below = []
        for degree in (1, 2, 3):
            above_below += [(m, ()) for m in itertools.combinations_with_replacement(names, degree)]
        above_below += [(m, (d,)) for degree in (1, 2) for m in itertools.combinations_with_replacement(names, degree)
                        for d in names if d not in m]
        monomials = []
        for above, below in above_below:
            values = []
            for e in environments:
                value = fractions.Fraction(1)
                for n in above:
                    value *= e[n]
                for n in below:
                    value /= e[n]
                values.append(value)
            monomials.append(("*".join(above) + "".join("/" + n for n in below), values, len(above) + 2 * len(below)))
        scaled = []
        for factor, cost in ((1, 0), (2, 1), (3, 1), (4, 1), (fractions.Fraction(1, 2), 1), (6, 2), (8, 2), (5, 2), (7, 2), (-1, 2), (-2, 3),
                             (fractions.Fraction(1, 4), 2)):
            for text, values, degree in monomials:
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
        self.simple = [(shown, values) for shown, values, cost in scaled if cost <= 3]
        self.simple_of = {}
        for shown, values in self.simple:
            self.simple_of.setdefault(tuple(values), shown)

    def add(self, text, values):
        if all(v.denominator == 1 for v in values):
            self.known.setdefault(tuple(int(v) for v in values), text)

    def length(self, values):
        if len(set(values)) == 1:
            return str(values[0])
        values = tuple(values)
        if values not in self.known:
            self.known[values] = self.sum(values)
        return self.known[values]

    def sum(self, values):
        for shown, first in self.simple:
            other = self.simple_of.get(tuple(v - f for v, f in zip(values, first)))
            if other is not None:
                return f"{shown}{'' if other.startswith('-') else '+'}{other}"
        raise Unfit(f"no expression for {list(values)}")
