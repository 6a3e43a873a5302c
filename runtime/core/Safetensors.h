//===- Safetensors.h - Reading and writing of safetensors files -*- C++ -*-===//
//
// The safetensors format: 8 bytes little-endian header length, a JSON header
//   {"__metadata__": {"key": "text"}, "NAME": {"dtype": "F32", "shape": [2, 3],
//    "data_offsets": [begin, end]}, ...}
// and the bytes of the tensors, which cover the rest of the file without holes or overlaps.
//
// Files are not trusted: before anything is allocated or read, its length, names, types, shapes and
// offsets are checked against the actual size of the file. Every error names the file, the tensor,
// what was expected and what was found.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_SAFETENSORS_H
#define PE_RUNTIME_CORE_SAFETENSORS_H

#include "runtime/core/Tensor.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pe {

/// A tensor of a file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// The content of a file.
struct Safetensors {
  /// In the order of their bytes in the file. Each tensor has its own storage.
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;

  /// Returns the tensor called `name`, or null.
  const Tensor *find(std::string_view name) const;
};

/// Reads a file.
Expected<Safetensors> readSafetensors(const std::string &path);

/// Same as readSafetensors, for bytes in memory; `file` is the name used in errors.
Expected<Safetensors> parseSafetensors(std::string_view bytes, const std::string &file);

/// An open file whose tensors are read one by one or in parts, for files larger than memory.
class SafetensorsFile {
public:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    /// The offsets of its bytes in the file.
    uint64_t begin, end;
  };

  /// Opens and checks the file as readSafetensors does.
  static Expected<SafetensorsFile> open(const std::string &path);

  /// Returns the tensors in the order of their bytes, which follow the header without holes.
  const std::vector<Entry> &entries() const { return list; }
  const Entry *find(std::string_view name) const;
  const std::string &path() const { return name; }
  /// The offset of the first tensor, after the header, and the size of the file.
  uint64_t dataBegin() const { return start; }
  uint64_t size() const { return length; }
  /// Copies `count` bytes at `offset`, which must be within the file.
  Status read(uint64_t offset, void *to, size_t count) const { return source(offset, to, count); }

private:
  std::string name;
  std::vector<Entry> list;
  uint64_t start = 0, length = 0;
  std::function<Status(uint64_t, void *, size_t)> source;
};

/// Writes the tensors in the given order, atomically. Duplicate names are an error.
Status writeSafetensors(const std::string &path, const Safetensors &content);

} // namespace pe

#endif // PE_RUNTIME_CORE_SAFETENSORS_H
