//===- DeviceLibrary.cpp - Embedded bitcode of the device library ---------===//
#include "runtime/jit/Ptx.h"

// Embeds the file verbatim in the read-only data of the library.
asm(".section .rodata\n"
    ".balign 16\n"
    "pe_device_library_begin:\n"
    ".incbin \"" PE_DEVICE_LIBRARY_FILE "\"\n"
    "pe_device_library_end:\n"
    ".byte 0\n" // the terminator of an LLVM memory buffer
    ".previous\n");

extern "C" __attribute__((visibility("hidden"))) const char pe_device_library_begin[],
    pe_device_library_end[];

llvm::StringRef pe::jit::deviceLibraryBitcode() {
  return {pe_device_library_begin,
          static_cast<size_t>(pe_device_library_end - pe_device_library_begin)};
}
