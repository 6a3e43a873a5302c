//===- ZstdAbsent.cpp - Stubs that replace libzstd ------------------------===//
//
// LLVM's archives call zstd to compress debug sections, which pe never emits. The libpe-jit.so of
// the wheel, which contains LLVM, links these stubs instead of libzstd. They return no compression
// context, which LLVM reports as an error.
//
//===----------------------------------------------------------------------===//

#include <cstddef>

extern "C" {

void *ZSTD_createCCtx() { return nullptr; }
size_t ZSTD_freeCCtx(void *) { return 0; }
size_t ZSTD_CCtx_setParameter(void *, int, int) { return 0; }
size_t ZSTD_compressBound(size_t size) { return size; }
size_t ZSTD_compress2(void *, void *, size_t, const void *, size_t) { return size_t(-1); }
unsigned ZSTD_isError(size_t code) { return code == size_t(-1); }

} // extern "C"
