"""Which stack and layer an item of a recording is of, and the recording as blocks that repeat."""
import re

from expressions import Unfit

FIRST, MIDDLE, LAST, NTH = "1234"


def place_of(block, count, every):
    """Of a block of a stack. every: (n, offset) where each n-th layer is of another kind, and then the last is none of its own."""
    if block == 0:
        return FIRST
    if every:
        return NTH if (block + every[1]) % every[0] == 0 else MIDDLE
    return LAST if block == count - 1 else MIDDLE


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
    last_of = {tag[0]: at for at, tag in enumerate(own) if tag}
    for at, tag in enumerate(own):
        if tag:
            open_at = tag
        elif open_at and last_of[open_at[0]] > at:
            tags[at] = open_at
        else:
            open_at = None
    # Behind the last layer of a stack: as many as behind the one before, where they are the same calls.
    for number in range(len(stacks)):
        of_stack = [tag[1] for tag in tags if tag and tag[0] == number]
        if len(set(of_stack)) < 3:
            continue
        last = max(of_stack)
        before = [at for at, tag in enumerate(tags) if tag == (number, last - 1)]
        inside = [at for at in before if own[at]]
        expected = [at for at in before if at > inside[-1]]
        end = max(at for at, tag in enumerate(own) if tag == (number, last))
        follows = list(range(end + 1, end + 1 + len(expected)))
        if follows and follows[-1] < len(own) and all(
            program["calls"][a][0] == program["calls"][b][0] and own[b] is None for a, b in zip(expected, follows)
        ):
            for at in follows:
                tags[at] = (number, last)
    return tags


def blocks_of(tags, counts, period):
    """[(None, [numbers]), (stack, [numbers of a block, ...]), (None, ...), ...]: items by where they stand, in their order."""
    out = [(None, [[]])]
    for at, tag in enumerate(tags):
        stack, block = (tag[0], tag[1] // period) if tag else (None, 0)
        if out[-1][0] == stack:
            if stack is not None and block == len(out[-1][1]):
                out[-1][1].append([])
            elif block != len(out[-1][1]) - 1:
                raise Unfit(f"layer {tag} behind block {len(out[-1][1]) - 1}")
            out[-1][1][-1].append(at)
            continue
        if stack is not None and out[-1][0] is not None:
            out.append((None, [[]]))
        out.append((stack, [[] for _ in range(block)] + [[at]]))  # what its first layers lack
    if out[-1][0] is not None:
        out.append((None, [[]]))
    for stack, blocks in out:
        if stack is not None and len(blocks) != counts[stack]:
            raise Unfit(f"{len(blocks)} blocks of {counts[stack]}")
    return out


def generic(path, stacks, stack, block, period):
    """`path` with <i> for the layer of this block."""
    tag = stack_of(path, stacks) if stack is not None else None
    if tag is None or tag[0] != stack or tag[1] // period != block:
        return path
    prefix = stacks[stack][0]
    shown = "i" if period == 1 else f"{period}*i" + (f"+{tag[1] % period}" if tag[1] % period else "")
    return f"{prefix}.<{shown}>{path[len(prefix) + 1 + len(str(tag[1])):]}"


def module_of(program, call):
    """Its path; of one that the forward enters again, with a count."""
    if call[1] < 0:
        return "-"
    path = program["modules"][call[1]][0]
    count = sum(other[0] == path for other in program["modules"][: call[1]])
    return path + (f"#{count + 1}" if count else "")


def check_order(point):
    """Numbers of values follow: parameters, buffers, what is given, what is loose, and what calls make."""
    program, values = point.program, point.program["values"]
    stored = [p for p in [*point.facts["parameters"], *point.facts["buffers"]] if "same_as" not in p]
    if [name for name, _ in program["stored"]] != [p["name"] for p in stored]:
        raise Unfit("what is stored is not what the model has")
    for (_, value), tensor in zip(program["stored"], stored):
        if list(values[value]) != [tensor["type"], tensor["shape"]]:
            raise Unfit(f"{tensor['name']} is {values[value]} in the program")
    order = [v for _, v in program["stored"]] + [v for _, v in program["given"]] + list(program["loose"])
    for call in program["calls"]:
        order += [v for v in call[3] if v is not None]
    if order != list(range(len(values))):
        raise Unfit("values in another order")
    ends = [call if call >= 0 else len(values) for _, call in program["ends"]]
    if ends != sorted(ends):
        raise Unfit("deaths in another order")
    for number, module in enumerate(program["modules"]):
        above = [(len(path), n) for n, (path, _, _) in enumerate(program["modules"][:number]) if module[0].startswith(path + ".")]
        if module[2] != (max(above)[1] if above else -1):
            raise Unfit(f"{module[0]} is not of {module[2]}")
