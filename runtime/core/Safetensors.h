//===- Safetensors.h - Tensors in files -------------------------*- C++ -*-===//
//
// The safetensors format: 8 bytes little-endian header length, a JSON header
//   {"__metadata__": {"key": "text"}, "NAME": {"dtype": "F32", "shape": [2, 3],
//    "data_offsets": [begin, end]}, ...}
// and the tensors' bytes, which cover the rest of the file without holes or overlaps.
//
// A file is not trusted: nothing is allocated or read before its length, names, types, shapes and
// offsets have been checked against the file's true size, and every error names the
// file, the tensor, what was expected and what was found.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_SAFETENSORS_H
#define PE_RUNTIME_CORE_SAFETENSORS_H

#include "runtime/core/Tensor.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pe {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct Safetensors {
  /// In the order of their bytes in the file. Each owns its storage.
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor called `name`, or null.
  const Tensor *find(std::string_view name) const;
};

Expected<Safetensors> readSafetensors(const std::string &path);

/// The same from memory; `file` is the name used in errors.
Expected<Safetensors> parseSafetensors(std::string_view bytes, const std::string &file);

/// Writes the tensors in the given order, atomically. Names must differ.
Status writeSafetensors(const std::string &path, const Safetensors &content);

} // namespace pe

#endif // PE_RUNTIME_CORE_SAFETENSORS_H
