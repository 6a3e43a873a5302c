// The headers of test programs without MLIR, parsed once for all of them (PEPrecompiled.cmake).
#include "cmake/RuntimeHeaders.h"

#include <gtest/gtest.h>
