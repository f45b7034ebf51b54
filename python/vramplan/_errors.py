"""What can go wrong, each with the one line that says what is wrong and what to type."""

from __future__ import annotations


class VramplanError(Exception):
    """The base of all of them. `str(error)` is the line that the command line would print."""

    def __init__(self, subject: str, text: str, hint: str = "") -> None:
        self.subject, self.text, self.hint = subject, text, hint
        super().__init__(f"{subject}: {text}" + (f" (hint: {hint})" if hint else ""))


class ExportError(VramplanError):
    """No exporter takes the model."""


class MissingError(ExportError):
    """No exporter runs here, for a package is missing."""


class InputError(VramplanError):
    """The file, or what it says, cannot be used (exit code 1)."""


class UsageError(VramplanError, ValueError):
    """An option, or an argument's value, is wrong (exit code 2)."""


class StepError(UsageError):
    """PyTorch itself refuses what the model or the loss does with the inputs."""


class NoCardError(VramplanError):
    """No card, or its driver does not answer (exit code 4)."""
