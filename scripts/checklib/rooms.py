"""The rooms of the source tree and which of them each may use: the one statement of the order

    plan <- core <- device, reference, train        plan <- dialect <- passes <- jit <- tools

that check-includes holds the #include lines to and check-links the link lists. A room is the
longest path here that a file lies below. Nothing is inherited: what is not listed is refused.
"""

# Room: (rooms it may use besides itself, may it use LLVM and MLIR).
ROOMS = {
    # Pictures of numbers: standard library only.
    "runtime/chart": ((), False),
    # The installed C++ API: standard library only.
    "runtime/include": ((), False),
    "runtime/plan": (("runtime/include",), False),
    "runtime/core": (("runtime/include", "runtime/plan"), False),
    "runtime/device": (("runtime/include", "runtime/plan", "runtime/core"), False),
    "runtime/reference": (("runtime/include", "runtime/plan", "runtime/core"), False),
    "runtime/api": (
        ("runtime/include", "runtime/plan", "runtime/core", "runtime/device", "runtime/reference",
         "runtime/train/reinit", "runtime/jit/JitInterface.h"), False),
    # The BLAS, and the projection of weights on it, which the API offers too.
    "runtime/train/blas": (("runtime/include", "runtime/core"), False),
    "runtime/train/reinit": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                              "runtime/train/blas"), False),
    # Training calls kernels as any user does: through the API.
    "runtime/train": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                       "runtime/chart", "runtime/train/blas", "runtime/train/reinit"), False),
    # What compiles for training, and training's installed API.
    "runtime/train/api": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                           "runtime/api", "runtime/train"), False),
    "dialect/Math": ((), False),
    "dialect/PE": (("dialect/Math", "runtime/plan"), True),
    "dialect/Tile": (("dialect/Math", "runtime/plan"), True),
    "passes/Analysis": (("dialect",), True),
    "passes/Transforms": (("dialect", "passes/Analysis"), True),
    "passes/ToTile": (("dialect", "passes/Analysis", "passes/Transforms", "passes/Scalar"), True),
    "passes/Schedule": (("dialect",), True),
    "passes/Scalar": (("dialect",), True),
    "passes/ToLoops": (("dialect", "passes/Scalar"), True),
    # Scalar stages, and stages that it cannot fuse, use the loops of the definition.
    "passes/ToCPU": (("dialect", "passes/Schedule", "passes/Scalar", "passes/ToLoops"), True),
    "passes/ToGPU": (("dialect", "passes/Schedule", "passes/Scalar", "passes/ToLoops"), True),
    # Works on kernels, not tiles.
    "passes/ToEmulator": ((), True),
    "passes/Pipelines": (("dialect", "passes", "runtime/plan", "runtime/include"), True),
    "runtime/jit": (
        ("dialect", "passes", "runtime/plan", "runtime/core", "runtime/include",
         "runtime/jit/JitInterface.h"), True),
    # The interface that the runtime and the compiler library share is plain data.
    "runtime/jit/JitInterface.h": (("runtime/include", "runtime/plan"), False),
    # `pe` links only the LLVM-free runtime and loads the compiler library on demand.
    "tools/pe": (("runtime/include", "runtime/plan", "runtime/core", "runtime/device",
                  "runtime/reference", "runtime/api", "runtime/train", "runtime/chart",
                  "runtime/jit/JitInterface.h"), False),
    "tools/pe-opt": (("dialect", "passes"), True),
    "tools/pe-lsp-server": (("dialect", "passes"), True),
    # Examples include the installed headers only and link libpe.
    "examples": (("runtime/include", "runtime/api"), False),
    "test": (("dialect", "passes", "runtime", "tools/pe-opt"), True),
}


def room_of(path):
    """The room a path relative to the root lies in, or None."""
    parts = str(path).split("/")
    for length in range(len(parts), 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in ROOMS:
            return prefix
    return None


def may_use(room, other):
    """May code of `room` use code of the room `other`?"""
    allowed, _ = ROOMS[room]
    return other == room or any(other == name or other.startswith(name + "/") for name in allowed)


def may_use_llvm(room):
    return ROOMS[room][1]
