"""`python -m vramplan` and the command `vramplan`: the program itself."""

from __future__ import annotations

import os
import sys

from ._binary import binary
from ._caller import for_command
from ._errors import VramplanError


def main() -> None:
    try:
        program = binary()
    except VramplanError as error:
        print(f"vramplan: {error}", file=sys.stderr)
        raise SystemExit(70) from None
    environment, line = for_command(sys.argv[1:], os.environ)
    if line:
        print(f"vramplan: {line}", file=sys.stderr, flush=True)
    os.execve(program, [program, *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
