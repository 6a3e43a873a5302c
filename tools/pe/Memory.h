//===- Memory.h - what the process does with freed memory ---*- C++ -*-===//
#ifndef PE_TOOLS_PE_MEMORY_H
#define PE_TOOLS_PE_MEMORY_H

namespace pe::cli {

/// For commands that work on one matrix after the other: freed blocks of a matrix's size are kept
/// for the next one, whose pages would have to be cleared again.
void keepFreedMemory();

} // namespace pe::cli

#endif // PE_TOOLS_PE_MEMORY_H
