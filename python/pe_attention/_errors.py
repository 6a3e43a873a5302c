"""The errors of this package. Each message names the argument, the expected value and the value
found."""

from __future__ import annotations


class Error(Exception):
    """The base class of all errors of this package."""


class InputError(Error, ValueError, TypeError):
    """An invalid argument of a call: a shape, a type, a device, a name or a number. It is both a
    ValueError and a TypeError."""


class CompileError(Error, ValueError):
    """An invalid formula, program or package. `file`, `line` and `column` give the location; they
    are "" and 0 if it is unknown."""

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0) -> None:
        self.file, self.line, self.column = file, line, column
        self.message = message
        place = f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""
        super().__init__(message if message.startswith(place) else place + message)

    def __reduce__(self) -> tuple[object, ...]:
        return CompileError, (self.message, self.file, self.line, self.column)


class DeviceError(Error, RuntimeError):
    """An error of a driver, a device or the host."""
