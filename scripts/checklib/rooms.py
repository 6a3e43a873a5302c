"""The rooms of the source tree and the rooms that each may use:

    plan <- core <- device, reference, train        plan <- dialect <- passes <- jit <- tools
    Python: text <- trace <- core <- nn, distributed, plasticity <- api <- integrations

check-includes and check-links enforce these rules. The room of a file is the longest path listed
here that contains it. Rooms do not inherit rules, and a dependency that is not listed is an error.
"""

# Room: (other rooms that it may use, True if it may use LLVM and MLIR).
ROOMS = {
    # Charts: standard library only.
    "runtime/chart": ((), False),
    # The installed C++ API: standard library only.
    "runtime/include": ((), False),
    "runtime/plan": (("runtime/include",), False),
    "runtime/core": (("runtime/include", "runtime/plan"), False),
    # A machine that executes PTX: errors, and conversions of types.
    "runtime/ptx": (("runtime/include", "runtime/core"), False),
    # Freestanding functions that GPU kernels call. The passes that emit the calls use their
    # arguments and sizes.
    "runtime/plan/Activations.h": ((), False),
    "runtime/device/library": (("runtime/plan/Activations.h",), False),
    "runtime/device": (("runtime/include", "runtime/plan", "runtime/core", "runtime/ptx",
                        "runtime/device/library"), False),
    # The dialect and the reference read the kinds of RoPE scaling from one table.
    "runtime/reference/RopeKinds.h": ((), False),
    "runtime/reference": (("runtime/include", "runtime/plan", "runtime/core",
                           "runtime/reference/RopeKinds.h"), False),
    "runtime/api": (
        ("runtime/include", "runtime/plan", "runtime/core", "runtime/device", "runtime/reference",
         "runtime/train/reinit", "runtime/jit/JitInterface.h"), False),
    # The operator of PyTorch in the Python wheel, which takes functions of libpe at run time.
    "runtime/torch": (("runtime/include",), False),
    # The BLAS, and the projection of weights built on it, which the API also offers.
    "runtime/train/blas": (("runtime/include", "runtime/core"), False),
    "runtime/train/reinit": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                              "runtime/train/blas"), False),
    # Training calls kernels only through the API.
    "runtime/train": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                       "runtime/chart", "runtime/train/blas", "runtime/train/reinit"), False),
    # Compilation for training, and the installed API of training.
    "runtime/train/api": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                           "runtime/api", "runtime/train"), False),
    "dialect/Math": ((), False),
    # The builder of float arithmetic, from which those of the rooms derive.
    "dialect/FloatBuilder.h": ((), True),
    "dialect/PE": (("dialect/Math", "dialect/FloatBuilder.h", "runtime/plan",
                    "runtime/reference/RopeKinds.h"), True),
    "dialect/Tile": (("dialect/Math", "runtime/plan"), True),
    "dialect/Step": (("dialect/Tile",), True),
    "passes/Analysis": (("dialect",), True),
    "passes/Transforms": (("dialect", "passes/Analysis"), True),
    "passes/ToTile": (("dialect", "passes/Analysis", "passes/Transforms", "passes/Scalar"), True),
    # Schedules choose by the machine, but never by the number of cores of a product.
    "runtime/plan/Machine.h": (("runtime/include",), False),
    "passes/Schedule": (("dialect", "runtime/plan/Machine.h"), True),
    "passes/Scalar": (("dialect",), True),
    "passes/ToLoops": (("dialect", "passes/Scalar", "runtime/device/library"), True),
    # Scalar stages, and stages that cannot be fused, use the loops that define the tile ops.
    "passes/ToCPU": (("dialect", "passes/Schedule", "passes/Scalar", "passes/ToLoops"), True),
    "passes/ToGPU": (("dialect", "passes/Schedule", "passes/Scalar", "passes/ToLoops",
                      "runtime/device/library"), True),
    "passes/Pipelines": (("dialect", "passes", "runtime/plan", "runtime/include"), True),
    "runtime/jit": (
        ("dialect", "passes", "runtime/plan", "runtime/core", "runtime/include",
         "runtime/jit/JitInterface.h"), True),
    # The interface of runtime and compiler library does not use LLVM.
    "runtime/jit/JitInterface.h": (("runtime/include", "runtime/plan"), False),
    # `pe` links only the LLVM-free runtime and loads the compiler library on demand.
    "tools/pe": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                  "runtime/ptx", "runtime/reference", "runtime/api", "runtime/train",
                  "runtime/chart",
                  "runtime/jit/JitInterface.h"), False),
    "tools/pe-opt": (("dialect", "passes"), True),
    "tools/pe-lsp-server": (("dialect", "passes"), True),
    # Examples include only installed headers and link libpe.
    "examples": (("runtime/include", "runtime/api"), False),
    "test": (("dialect", "passes", "runtime", "tools/pe-opt"), True),
}

PACKAGE = "python/pe_attention"

# The Python package, by room: (its directories and modules below PACKAGE, the rooms that it may
# import). A module at the top that is not listed belongs to "core".
PYTHON_ROOMS = {
    # Errors, the version, programs as text, and the table of activations.
    "text": (("_errors", "_version", "_program", "_assemble", "_activations"), ()),
    "trace": (("_trace",), ("text",)),
    # Encodings, masks, and calls of compiled functions.
    "core": (("",), ("text", "trace")),
    "nn": (("nn",), ("text", "core")),
    "distributed": (("distributed",), ("text", "core")),
    "plasticity": (("plasticity",), ("text", "core")),
    # Public functions that use several rooms.
    "api": (("__init__", "_attention", "_cache", "_check", "_encoding", "_mlir", "_reinit", "plot"),
            ("text", "core", "nn", "distributed", "plasticity")),
    "integrations": (("integrations",), ("text", "core", "nn", "api")),
}


def room_of(path):
    """Returns the room of a path relative to the root, or None."""
    parts = str(path).split("/")
    for length in range(len(parts), 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in ROOMS:
            return prefix
    return None


def may_use(room, other):
    """Returns true if `room` may use `other`."""
    allowed, _ = ROOMS[room]
    return other == room or any(other == name or other.startswith(name + "/") for name in allowed)


def may_use_llvm(room):
    return ROOMS[room][1]
