"""PyTorch's history of allocations, as lines of a recording (pretend/recording/recording.h)."""

import os

_ACTIONS = {"alloc": "a", "free_completed": "f", "segment_alloc": "s", "segment_map": "s", "segment_free": "u",
            "segment_unmap": "u", "oom": "o"}


_COUNTED = ("alloc", "free_requested")


def lines(entries, modules, details, text, own_folder, events=None):
    """`modules` and `details`: (when, name) and (when, words), in their order; `text` makes a line of words. When is in
    microseconds; before torch 2.2, whose entries have no time, in allocations and frees: so many `events` in the end."""
    frames, stacks = {}, {}
    before = None if events is None else events - sum(entry["action"] in _COUNTED for entry in entries)
    next_module, next_detail, module = 0, 0, ""
    for entry in entries:
        action = _ACTIONS.get(entry["action"])
        when = entry.get("time_us", 0) if before is None else before
        if before is not None and entry["action"] in _COUNTED:
            before += 1
        if action is None:
            continue
        while next_detail < len(details) and details[next_detail][0] <= when:
            yield text(details[next_detail][1])
            next_detail += 1
        if action != "a":
            yield "%s\t%d\t%d" % (action, entry.get("addr", 0), entry["size"])
            continue
        while next_module < len(modules) and modules[next_module][0] <= when:
            module = modules[next_module][1]
            next_module += 1
        # Frames are shared objects within one snapshot.
        key = tuple(map(id, entry.get("frames", ())))
        stack = stacks.get(key)
        if stack is None:
            numbers = []
            for frame in _without_ours(entry.get("frames", ()), own_folder):
                place = (frame["filename"], frame["line"], frame["name"])
                number = frames.get(place)
                if number is None:
                    number = frames[place] = len(frames)
                    yield text(("frame", number, place[1], place[2], place[0]))
                numbers.append(str(number))
            stack = stacks[key] = len(stacks)
            yield text(("stack", stack, ",".join(numbers)))
        yield "a\t%d\t%d\t%d\t%s" % (entry["addr"], entry["size"], stack, module.replace("\t", " "))
    for _, words in details[next_detail:]:
        yield text(words)


def _without_ours(frames, own_folder):
    """Functions of the script may run inside of ours, such as a closure that step() calls: theirs stay."""
    return [frame for frame in frames if os.path.dirname(frame["filename"]) != own_folder]
