"""The models of models/architectures/names.jsonl."""
import json
import pathlib

TABLE = pathlib.Path(__file__).resolve().parents[3] / "models/architectures/names.jsonl"


def patched(old, new):
    """Objects are merged; what else is new, None too, stands for what was there."""
    made = dict(old)
    for key, value in new.items():
        made[key] = patched(made.get(key) or {}, value) if isinstance(value, dict) else value
    return made


def rows(table=TABLE):
    """By name. A row that is `as` an earlier one says what differs."""
    made = {}
    for row in map(json.loads, table.read_text().splitlines()):
        made[row["name"]] = patched(made[row["as"]] if "as" in row else {}, row)
    return made
