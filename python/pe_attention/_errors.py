"""The errors of this package: one message each, of the argument, the expected and the found."""

from __future__ import annotations


class Error(Exception):
    """What all errors of this package are."""


class InputError(Error, ValueError, TypeError):
    """An argument of a call: a shape, a type, a device, a name or a number. It is a ValueError and
    a TypeError, whichever of them a caller expects."""


class CompileError(Error, ValueError):
    """A formula, a source or a package. `file`, `line`, `column` say where; "", 0 if unknown."""

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0) -> None:
        self.file, self.line, self.column = file, line, column
        self.message = message
        place = f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""
        super().__init__(message if message.startswith(place) else place + message)

    def __reduce__(self) -> tuple[object, ...]:
        return CompileError, (self.message, self.file, self.line, self.column)


class DeviceError(Error, RuntimeError):
    """A driver, a device, or the machine."""
