"""How long each intermediate of a forward lives, recorded from one forward without values.

The forward runs on fake tensors under a dispatch mode. It sees every operator that PyTorch dispatches, and a finalizer
on each storage says after which of them the storage died: then nothing in the Python code held it any more. The graph
that the exporter made of the same code runs the same way. Both sequences of operators are laid side by side, so that
a death is told in names of the graph:

    code           y = relu(conv(x)); return fc(y)      conv2d  relu  linear      relu's input dies after relu
    graph          %conv2d  %relu  %linear              the same three, with names

Where the two differ nothing is said about what was made or died there; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ._storages import Storages

# Operators that a functional graph writes otherwise than eager code dispatches them (aten/src/ATen/native, 2.10).
_SAME = {
    "native_batch_norm": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "_native_batch_norm_legit": "batch_norm",
    "_native_batch_norm_legit_functional": "batch_norm",
    "_native_batch_norm_legit_no_training": "batch_norm",
    "_batch_norm_with_update": "batch_norm",
    "_batch_norm_with_update_functional": "batch_norm",
    "_batch_norm_no_update": "batch_norm",
    "_unsafe_view": "view",
    "_reshape_alias": "view",
    "reshape": "view",
    "_to_copy": "to",
    "lift_fresh_copy": "lift_fresh",
    "squeeze_copy": "squeeze",
    "rsub": "sub",
    "convert_element_type": "to",
}
# Operators that make no tensor of the model, or only a second Python object for one.
_UNSEEN = {
    "detach", "alias", "lift_fresh", "_local_scalar_dense", "sym_size", "sym_stride", "is_same_size", "_assert_async",
    "empty",
}


@dataclasses.dataclass
class Call:
    """One operator as it was dispatched."""

    op: str  # without overload, and without the underscore of those that write in place
    shape: tuple[int, ...]  # of its first result
    results: list[int | None]  # storages, by result; None: no tensor
    writes: bool  # into the storage of an operand
    reads: list[int]  # the calls that last made something in the storages of its operands
    node: str = ""  # of the graph that ran it


class Recorder(TorchDispatchMode):
    """Every operator, and when each storage died: after which call, in the order of the deaths."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._storages = Storages(self.calls)
        self.deaths = self._storages.deaths
        self.stop = self._storages.stop
        self.node = ""
        self._makers: dict[int, int] = {}  # by storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = func._schema.name.split("::")[-1]
        if name in _UNSEEN:
            return out
        before = {self._storages.number(t) for t in _tensors((args, kwargs))}
        reads = sorted({self._makers[k] for k in before if k in self._makers})
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        made = [o for o in outs if isinstance(o, torch.Tensor)]
        if not made:
            return out
        writes = func._schema.is_mutable and self._storages.number(made[0]) in before
        op = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        self.calls.append(
            Call(
                op=_SAME.get(op, op),
                shape=tuple(int(n) for n in made[0].shape),
                results=[self._storages.number(o) if isinstance(o, torch.Tensor) else None for o in outs],
                writes=writes,
                reads=reads,
                node=self.node,
            )
        )
        for o in made:
            self._makers[self._storages.number(o)] = len(self.calls) - 1
        return out


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    for leaf in _pytree.tree_leaves(tree):
        if isinstance(leaf, torch.Tensor):
            yield leaf


def record(run: Callable[[], Any]) -> Recorder:
    """Runs a forward without gradients and records it. What it returns is alive when it ends."""
    recorder = Recorder()
    with torch.no_grad(), recorder:
        result = run()
        recorder.stop()
    del result
    return recorder


class _NamedRun(torch.fx.Interpreter):
    """Runs a graph and tells the recorder which of its nodes is running."""

    def __init__(self, module: torch.fx.GraphModule, recorder: Recorder) -> None:
        super().__init__(module, garbage_collect_values=True)
        self.recorder = recorder

    def run_node(self, n: torch.fx.Node) -> Any:
        self.recorder.node = n.name if n.op.startswith("call_") else ""
        return super().run_node(n)


def record_graph(module: torch.fx.GraphModule, inputs: list[Any]) -> Recorder:
    """The same of a graph, by its nodes."""
    recorder = Recorder()
    with torch.no_grad(), recorder:
        result = _NamedRun(module, recorder).run(*inputs)
        recorder.stop()
    del result
    return recorder


_LOOK = 4  # calls in a row that must be equal where both sequences meet again
_FAR = 256  # calls that one of them may have more


def _meet(ours: list[Any], theirs: list[Any], i: int, j: int) -> tuple[int, int]:
    """The nearest place behind i and j from which both are equal for a while."""
    for skipped in range(1, _FAR):
        for more in range(skipped + 1):
            a, b = i + more, j + skipped - more
            if a >= len(ours) or b >= len(theirs):
                continue
            look = min(_LOOK, len(ours) - a, len(theirs) - b)
            if ours[a : a + look] == theirs[b : b + look]:
                return a, b
    return len(ours), len(theirs)


def align(code: Recorder, graph: Recorder) -> list[int | None]:
    """By call of the code: the call of the graph that is the same one; None: nobody knows.

    Both run in one order, so the walk goes forward only. Two calls are the same if operator and shape are, and what
    they read was made by calls that are the same."""
    pairs: list[int | None] = [None] * len(code.calls)
    # Numbers, such as a batch norm's count of batches, are left out: they come and go with the mode.
    mine = [i for i, c in enumerate(code.calls) if c.shape]
    other = [j for j, c in enumerate(graph.calls) if c.shape]
    ours = [(code.calls[i].op, code.calls[i].shape) for i in mine]
    theirs = [(graph.calls[j].op, graph.calls[j].shape) for j in other]
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j]:
            pairs[mine[i]] = other[j]
            i, j = i + 1, j + 1
            continue
        a, b = _meet(ours, theirs, i, j)
        # Between two calls that are the same there is one node of the graph: it is what the code did there, if both
        # end with a tensor of one shape.
        if a > i and b > j and len({graph.calls[k].node for k in other[j:b]}) == 1 and ours[a - 1][1] == theirs[b - 1][1]:
            pairs[mine[a - 1]] = other[b - 1]
        i, j = a, b
    for i, j in enumerate(pairs):
        if j is None:
            continue
        made = {pairs[k] for k in code.calls[i].reads if pairs[k] is not None}
        if not made <= set(graph.calls[j].reads):
            pairs[i] = None
    return pairs


def lives(code: Recorder, graph: Recorder, module: torch.fx.GraphModule) -> dict[str, Any]:
    """`calls`: the graph's operators in order. `ends`: [result, call]: the result dies when this call is done, in the
    order of the deaths; a call of -1 is the end of the forward. `writes`: the calls that write into their first operand,
    of those whose results `ends` has."""
    parts: dict[str, dict[int, str]] = {}
    names: list[str] = []
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        if getattr(node.target, "__name__", "") == "getitem" and isinstance(node.args[0], torch.fx.Node):
            parts.setdefault(node.args[0].name, {})[node.args[1]] = node.name
        else:
            names.append(node.name)
    place = {name: i for i, name in enumerate(names)}

    pairs = align(code, graph)
    last: dict[str, int] = {}  # of each node of the graph, its last call
    for j, call in enumerate(graph.calls):
        last[call.node] = j
    made: dict[int, list[str]] = {}  # by storage of the code: the results that lie in it
    writes: list[str] = []
    for i, j in enumerate(pairs):
        if j is None or not graph.calls[j].node or last[graph.calls[j].node] != j:
            continue
        node = graph.calls[j].node
        if code.calls[i].writes:
            writes.append(node)
        results = code.calls[i].results
        for k, storage in enumerate(results):
            if storage is None:
                continue
            if node in parts:
                if k in parts[node]:
                    made.setdefault(storage, []).append(parts[node][k])
            elif k == 0:
                made.setdefault(storage, []).append(node)
    # The node that was running when a call of the code was: known where the call is, and between two calls of one node.
    running: list[str | None] = [graph.calls[j].node if j is not None else None for j in pairs]
    before: str | None = None
    after: list[str | None] = [None] * len(running)
    for i in range(len(running) - 1, -1, -1):
        before = running[i] or before
        after[i] = before
    before = None
    for i, node in enumerate(running):
        if node is None and before is not None and before == after[i]:
            running[i] = before
        before = node or before
    ends: list[list[Any]] = []
    ended: set[int] = set()
    for storage, call in code.deaths:
        ended.add(storage)
        node = running[call] if call >= 0 else None
        if node is None or node not in place:
            continue
        ends.extend([name, place[node]] for name in made.get(storage, []))
    for storage, results in made.items():
        if storage not in ended:
            ends.extend([name, -1] for name in results)
    return {"calls": names, "ends": ends, "writes": writes}
