//===- Memory.cpp - Reuse of freed memory ---===//
#include "tools/pe/Memory.h"

#include <malloc.h>

namespace pe::cli {

void keepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // the upper bound of mallopt
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

} // namespace pe::cli
