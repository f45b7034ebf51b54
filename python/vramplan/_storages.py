"""Numbers for the storages of a run, and after which call each of them died.

    y = x[1:]     the storage of x, number 0          del x; z = y + 1; del y      0 died after call 1, the addition
"""

from __future__ import annotations

import weakref
from typing import Any, Sequence

import torch


class Storages:
    def __init__(self, calls: Sequence[Any]) -> None:
        self._calls = calls  # of the run, which grow
        self._numbers: dict[int, int] = {}  # by the address of a storage that lives
        self._count = 0
        self._running = True
        self.deaths: list[tuple[int, int]] = []  # storage, and the call after which it died: -1 before the first

    def number(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._numbers:
            self._numbers[key] = self._count
            weakref.finalize(storage, self._died, key, self._count).atexit = False
            self._count += 1
        return self._numbers[key]

    def stop(self) -> None:
        """What dies from now on was alive when the run ended."""
        self._running = False

    def _died(self, key: int, number: int) -> None:
        if self._numbers.get(key) == number:
            del self._numbers[key]
        if self._running:
            self.deaths.append((number, len(self._calls) - 1))
