"""Loads libpe by ctypes and declares its functions and errors.

libpe is found by `$PE_LIBRARY` (a directory or a file), else in `lib/` of this package, else in the
build directory next to the sources. The program `pe` is found in the same way, in `bin/`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path

from ._dtypes import CODES
from ._errors import CompileError, DeviceError, Error, InputError

PACKAGE = Path(__file__).resolve().parent

TARGETS = ("cpu", "cuda", "gpu-emulator", "reference")
MAX_RANK = 8
PREPARE, FORWARD, BACKWARD = 1, 2, 4


class _Options(ctypes.Structure):
    _fields_ = [("size", c_uint64), ("entry", c_char_p), ("target", c_char_p), ("chip", c_char_p),
                ("head_dim", c_int64), ("value_dim", c_int64), ("dtype", c_int32),
                ("grad", c_int32), ("device", c_int32), ("pairs_memory", c_int64)]


class _ErrorInfo(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("message", c_char_p), ("file", c_char_p), ("line", c_int32),
                ("column", c_int32)]


class _Pool(ctypes.Structure):
    _fields_ = [("parallel_for", c_void_p), ("threads", c_void_p)]


# The fields of pe_context: size, workspace, workspace bytes, stream, pool, device.
CONTEXT = struct.Struct("=QQqQQq")
# The number of words of a pe_view: name, data, dtype and rank, shape, strides.
VIEW_WORDS = 3 + 2 * MAX_RANK

# The candidates from `PE_LIBRARY` and the default directories, in order.
def _folders(kind: str) -> list[Path]:
    given = os.environ.get("PE_LIBRARY")
    folders = []
    if given:
        path = Path(given)
        folder = path.parent if path.is_file() else path
        folders.append(folder if kind == "lib" else folder.parent / kind)
        if kind == "bin":
            folders.append(folder)
    else:
        folders += [PACKAGE / kind, PACKAGE.parent.parent / "build" / kind]
    return folders


def _find(kind: str, names: tuple[str, ...]) -> Path:
    folders = _folders(kind)
    for folder in folders:
        for name in names:
            if (folder / name).is_file():
                return folder / name
    looked = ", ".join(str(folder) for folder in folders)
    raise DeviceError(f"expected {names[0]} in {looked}, found none; install the wheel of "
                      f"pe-attention, or set PE_LIBRARY to the directory of libpe.so")


def program() -> Path:
    """Returns the path of the command-line program `pe`."""
    return _find("bin", ("pe",))


def path() -> Path:
    """Returns the path of libpe."""
    given = os.environ.get("PE_LIBRARY")
    if given and Path(given).is_file():
        return Path(given)
    return _find("lib", ("libpe.so", "libpe.so.0"))


def _load() -> ctypes.CDLL:
    file = path()
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise DeviceError(f"{file} cannot be loaded: {error}") from None
    handle, words = c_void_p, c_void_p
    signatures: dict[str, list[object]] = {
        "pe_open": [c_char_p, POINTER(_Options), POINTER(handle)],
        "pe_open_text": [c_char_p, c_char_p, POINTER(_Options), POINTER(handle)],
        "pe_describe": [handle, POINTER(c_char_p)],
        "pe_workspace": [handle, c_int32, words, c_int32, POINTER(c_int64)],
        "pe_run": [handle, c_int32, words, c_int32, words, c_int32, words],
        "pe_check": [handle, words, c_int32, words, c_int32, words, c_int32, POINTER(c_char_p)],
        "pe_close": [handle],
        "pe_last_error_info": [POINTER(_ErrorInfo)],
    }
    for name, arguments in signatures.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int32
    library.pe_close.restype = None
    library.pe_last_error_info.restype = None
    library.pe_version.restype = c_char_p
    library.pe_last_error.restype = c_char_p
    return library


_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """Loads libpe once and returns it."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def version() -> str:
    return str(library().pe_version().decode())


def last_error() -> Error | MemoryError:
    """Returns the exception for this thread's last error."""
    info = _ErrorInfo()
    library().pe_last_error_info(byref(info))
    text = library().pe_last_error().decode(errors="replace").strip()
    message = (info.message or b"").decode(errors="replace") or text
    if info.kind == 1:
        return InputError(message)
    if info.kind == 2:
        file = (info.file or b"").decode(errors="replace")
        return CompileError(message, file, info.line, info.column)
    if info.kind == 3:
        return DeviceError(message)
    if info.kind == 4:
        return MemoryError(message)
    return Error(f"{text}; this is a defect of pe")


def open_function(source: str, is_file: bool, name: str, options: dict[str, object]) -> int:
    """Returns the handle of a compiled function. `options` are the fields entry, target, chip,
    head_dim, value_dim, dtype, grad, device and pairs_memory (0: no memory) of pe_options; None
    selects the default."""
    given = _Options(size=ctypes.sizeof(_Options))
    for key, value in options.items():
        if value is None:
            continue
        if key == "dtype":
            value = CODES[str(value)]
        elif key == "pairs_memory":
            value = value or -1
        elif isinstance(value, str):
            value = value.encode()
        setattr(given, key, value)
    handle = c_void_p()
    lib = library()
    if is_file:
        failed = lib.pe_open(os.fsencode(source), byref(given), byref(handle))
    else:
        failed = lib.pe_open_text(source.encode(), name.encode(), byref(given), byref(handle))
    if failed:
        raise last_error()
    assert handle.value is not None
    return handle.value


def describe(handle: int) -> str:
    text = c_char_p()
    if library().pe_describe(handle, byref(text)):
        raise last_error()
    assert text.value is not None
    return text.value.decode()


# --- Threads -----------------------------------------------------------------

_pool: _Pool | None = None
_forked = False


def torch_pool(torch_folder: Path) -> int:
    """Returns the address of a pe_pool that uses PyTorch's threads, so that `torch.set_num_threads`
    applies. Returns 0, which selects libpe's own pool, if PyTorch (before 2.10) does not provide
    them, or in a forked child: its copy of PyTorch's pool is unusable if the parent used it."""
    global _pool
    if _forked:
        return 0
    if _pool is None:
        pool = _Pool()
        try:
            host = ctypes.CDLL(str(torch_folder / "lib" / "libtorch_cpu.so"))
            pool.parallel_for = ctypes.cast(host.torch_parallel_for, c_void_p)
            pool.threads = ctypes.cast(host.torch_get_num_threads, c_void_p)
        except (OSError, AttributeError):
            pool = _Pool()
        _pool = pool
    return ctypes.addressof(_pool) if _pool.parallel_for else 0


def _after_fork() -> None:
    global _forked, _lock
    _forked = True
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
