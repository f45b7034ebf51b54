"""Items of every recording and block, lined up: what is the same line in all of them."""
import difflib

from blocks import blocks_of, place_of
from expressions import Unfit
from pieces import join


class Section:
    """Items of every variant, point and block, lined up: what is the same line in all of them."""

    def __init__(self, variants, tags_of, signature_of, counts_of, period):
        self.variants = variants
        self.blocks = {}   # (variant, point) -> blocks_of
        self.rows = []     # of each part (None or a stack): the signatures of its lines
        self.row_of = {}   # (variant, point, item) -> (part, row)
        for v, variant in enumerate(variants):
            for p, point in enumerate(variant.points):
                self.blocks[v, p] = blocks_of(tags_of(point), counts_of(point), period)
        parts = [stack for stack, _ in self.blocks[0, 0]]
        if any([stack for stack, _ in blocks] != parts for blocks in self.blocks.values()):
            raise Unfit(f"stacks in another order: {[[s for s, _ in b] for b in self.blocks.values()]}")
        self.parts = parts
        for part in range(len(parts)):
            sequences = {}
            for (v, p), blocks in self.blocks.items():
                for b, items in enumerate(blocks[part][1]):
                    sequences[v, p, b] = [signature_of(variants[v].points[p], item, parts[part], b) for item in items]
            rows = []
            for sequence in sorted(dict.fromkeys(map(tuple, sequences.values())), key=len, reverse=True):
                rows = merged(rows, list(sequence))
            self.rows.append(rows)
            rows_of = {sequence: rows_in(rows, sequence) for sequence in dict.fromkeys(map(tuple, sequences.values()))}
            for (v, p, b), sequence in sequences.items():
                for item, row in zip(self.blocks[v, p][part][1][b], rows_of[tuple(sequence)]):
                    self.row_of[v, p, item] = (part, row)

    def lines(self, pieces_of):
        """[(part, row, tag, pieces)]; pieces_of(variant, point, items) -> pieces of the same item at each point and block."""
        out = []
        for part, stack in enumerate(self.parts):
            found = [[] for _ in self.rows[part]]  # of each row: (variant, place, pieces)
            for v, variant in enumerate(self.variants):
                by_place = {}
                for p, _ in enumerate(variant.points):
                    blocks = self.blocks[v, p][part][1]
                    for b, items in enumerate(blocks):
                        place = "" if stack is None else place_of(b, len(blocks), variant.points[p].every)
                        for item in items:
                            by_place.setdefault((self.row_of[v, p, item][1], place), []).append((p, b, item))
                for (row, place), items in sorted(by_place.items()):
                    counts = [len(self.blocks[v, p][part][1]) for p, _ in enumerate(variant.points)]
                    expected = sum(place in ("", place_of(b, count, point.every)) for point, count in zip(variant.points, counts) for b in range(count))
                    if len(items) != expected:
                        raise Unfit(f"{self.rows[part][row]} in some of the blocks alone")
                    found[row].append((v, place, pieces_of(v, stack, items)))
            for row, several in enumerate(found):
                groups = []
                for v, place, pieces in several:
                    for group in groups:
                        both = join(group[0], pieces)
                        if both is not None:
                            group[0] = both
                            group[1].append((v, place))
                            break
                    else:
                        groups.append([pieces, [(v, place)]])
                out += [(part, row, self.tag(stack, where), pieces) for pieces, where in groups]
        return out

    def tag(self, stack, where):
        """Which recordings and blocks: "" is all of them, "AB C1" two, and the first block of a third."""
        places = {}
        for v, place in where:
            places.setdefault(self.variants[v].letter, set()).add(place)
        by_places = {}
        for letter, found in sorted(places.items()):
            shown = "" if stack is None or len(found) == 3 else "".join(sorted(found))  # three places either way
            by_places[shown] = by_places.get(shown, "") + letter
        if set(by_places) == {""} and len(by_places[""]) == len(self.variants):
            return ""
        return "{" + " ".join(letters + shown for shown, letters in by_places.items()) + "} "


def merged(rows, sequence):
    out = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, rows, sequence, autojunk=False).get_opcodes():
        out += rows[a:b] + ([] if kind == "equal" else sequence[c:d])
    return out


def rows_in(rows, sequence):
    """The rows of a sequence that was merged into them."""
    out = [None] * len(sequence)
    for a, b, size in difflib.SequenceMatcher(None, rows, sequence, autojunk=False).get_matching_blocks():
        for k in range(size):
            out[b + k] = a + k
    if None in out:
        at = 0  # any way to lay it out will do
        for k, item in enumerate(sequence):
            at = rows.index(item, at)
            out[k] = at
            at += 1
    return out
