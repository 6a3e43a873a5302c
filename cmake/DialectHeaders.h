// The headers of MLIR and of pe's dialects, most of which tablegen generates. They are parsed once
// for all passes, the compiler library and their tests (PEPrecompiled.cmake). A change of a dialect
// recompiles all of them, with or without this header.
#include "cmake/MlirHeaders.h"
#include "dialect/PE/PE.h"
#include "dialect/Tile/Tile.h"
