//===- EntryParts.h - The parts of tensors that entries own -----*- C++ -*-===//
//
// A call has batch entries, and an entry has a number of keys. These functions cut and spoil the
// tensors of a call along the axes that its signature names: "b", "r" and "c".
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_ENTRYPARTS_H
#define PE_TEST_CONFORMANCE_ENTRYPARTS_H

#include "pe/Signature.h"
#include "runtime/core/Tensor.h"
#include "runtime/jit/JitInterface.h"

namespace pe::conformance {

/// Returns the source of examples/encodings/`name`.mlir.
jit::Source readExample(const std::string &name);

/// Returns the sizes of the axes of an argument; {"b"} for results and their cotangents.
std::vector<std::string> sizesOf(const EntryInfo &entry, const std::string &name);

/// Returns the axis of this size, or -1.
int64_t axisOf(const std::vector<std::string> &sizes, const std::string &size);

/// Returns the part of a tensor that belongs to an entry with `length` keys, in the same memory.
Tensor partOf(const Tensor &tensor, const std::vector<std::string> &sizes, int64_t entry,
              int64_t length);

/// Sets all elements to NaN, or integers to a large number.
void spoilAll(Tensor &tensor);

/// Sets every key beyond the length of its entry to NaN, or integers to a large number.
void spoil(Tensor &tensor, const std::vector<std::string> &sizes,
           const std::vector<int32_t> &lengths);

/// A test failure if a shape or a bit differs.
void expectSameBits(const Tensor &found, const Tensor &expected, const std::string &what);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_ENTRYPARTS_H
