//===- Memory.h - Reuse of freed memory ---------------------*- C++ -*-===//
#ifndef PE_TOOLS_PE_MEMORY_H
#define PE_TOOLS_PE_MEMORY_H

namespace pe::cli {

/// Keeps freed blocks of the size of a matrix for reuse. Commands that process many matrices call
/// it, because the kernel would have to clear the pages of each new block.
void keepFreedMemory();

} // namespace pe::cli

#endif // PE_TOOLS_PE_MEMORY_H
