"""Settings that are lists: their items by name, as graph/architectures reads a config.json."""
from __future__ import annotations

import re
from typing import Any


def listed(settings: dict[str, Any]) -> dict[str, Any]:
    """block_out_channels_0, block_out_channels_1 ... become the list that the class takes."""
    out: dict[str, Any] = {}
    items: dict[str, dict[int, Any]] = {}
    for key, value in settings.items():
        of = re.fullmatch(r"(.*)_(\d+)", key)
        if of is None:
            out[key] = value
        else:
            items.setdefault(of[1], {})[int(of[2])] = value
    out.update({key: [value for _, value in sorted(several.items())] for key, several in items.items()})
    for key in [key for key in out if key.endswith("_count")]:
        if out.pop(key) == 0:
            out[key.removesuffix("_count")] = ()
    return out


def spread(key: str, value: Any) -> dict[str, Any]:
    """The way back, as graph/architectures reads a config.json: of a list each item and its length."""
    if not isinstance(value, (list, tuple)):
        return {key: value}
    return {**{f"{key}_{n}": item for n, item in enumerate(value)}, f"{key}_count": len(value)}
