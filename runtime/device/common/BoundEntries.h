//===- BoundEntries.h - A call with lengths per batch entry -----*- C++ -*-===//
//
// A call of attention may state the number of keys of each batch entry, with a tensor `kv_len` (i32
// [b]), so that a batch of caches with different lengths is one call. It is a group of calls with
// one batch entry each:
//
//   kv_len = [3, 5],  k [2, h, 8, d]   ->   call 0: k [1, h, 3, d],   call 1: k [1, h, 5, d]
//
// Each has its own frame (b = 1, c = kv_len[b]), views of the caller's tensors and part of the
// workspace, so that its results cannot depend on the other entries. The tensors of the group are:
//
//   sliced      tensors with a batch axis: the entry, and of the axes of keys the first kv_len[b]
//   shared      arguments without a batch axis, of the axes of keys the first kv_len[b]
//   instances   prepared tensors, and saved tensors without a batch axis: each entry has its own,
//               along a leading axis of the caller's tensor
//   summed      gradients of shared arguments: each entry writes its own to the workspace, and
//               their sum in the order of the entries is the caller's
//
// Devices run the entries (Runner.h) and then complete the gradients: zeros beyond the lengths, and
// the sums. `kv_len` is read on the host, on every target, because frames depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_BOUNDENTRIES_H
#define PE_RUNTIME_DEVICE_COMMON_BOUNDENTRIES_H

#include "runtime/device/common/BoundCall.h"

#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace pe::device {

/// The name of the tensor with the lengths.
inline constexpr const char *kLengths = "kv_len";

/// Returns true if a tensor of this name gives the lengths of batch entries: it is not a tensor of
/// the function itself.
bool isLengths(const BoundPlan &plan, std::string_view name);
bool hasLengths(const BoundPlan &plan, std::span<const View> views);

/// Returns the shape in a call with lengths of buffer or group `index` (BoundPlan::find), whose
/// shape is `shape` in a call without them. `sizes` are those of the entire call.
Status shapeWithLengths(const BoundPlan &plan, size_t index, const SizeTable &sizes,
                        Extents &shape);

class BoundEntries {
public:
  /// `views` include the lengths. The plan and the views must outlive this object.
  BoundEntries(const BoundPlan &plan, Halves halves, std::span<const View> views);

  /// Performs every check that does not access memory other than the lengths.
  Status bind(const plan::Scalars &scalars);
  /// Computes the workspace size. Without data of `kv_len`, it is large enough for any lengths.
  Status measure();
  /// Checks addresses, overlapping memory and the workspace, and assigns the workspace.
  Status place(void *workspace, int64_t bytes);

  const BoundPlan &getPlan() const { return plan; }
  /// The call of the entire tensors, which defines sizes and is never run.
  const BoundCall &getWhole() const { return *whole; }
  size_t size() const { return calls.size(); }
  const BoundCall &operator[](size_t entry) const { return calls[entry]; }
  /// Returns the first byte of the workspace of an entry, after `place`.
  char *firstByte(size_t entry) const { return first + offsets[entry]; }
  int64_t workspaceBytes() const { return total ? total + kAlignment - 1 : 0; }
  /// Estimates the multiply-adds of all entries (BoundCall::work).
  double work() const;

  /// Returns "batch entry 2 of length 7", for errors.
  std::string describe(size_t entry) const;

  /// A gradient that is the sum of those of the entries.
  struct Sum {
    const View *result = nullptr;
    /// The contiguous gradient of every entry. An entry with fewer keys has a smaller one.
    std::vector<const View *> parts;
  };
  std::vector<Sum> sums() const;
  /// Calls `function` with the parts of gradients that belong to keys beyond the length of an
  /// entry, until it returns an error.
  Status forEachTail(size_t entry, const std::function<Status(const View &)> &function) const;

private:
  enum class Kind : uint8_t { Sliced, Shared, Instance, Summed };
  /// The properties of a view that all entries share.
  struct Layout {
    Kind kind = Kind::Shared;
    /// Index of the buffer, or of the group after all buffers.
    size_t index = 0;
    int batchAxis = -1;
    /// Bit k is set if axis k depends on the number of keys.
    unsigned keyAxes = 0;
  };

  Status start(const plan::Scalars &scalars);
  Status addTables();
  Status checkProgram() const;
  Status checkInstances() const;
  Status describeView(const View &view);
  Status removeInstances(View &view, const Layout &layout) const;
  Status readLengths();
  void reserve(size_t count);
  Status addEntry(int64_t entry, int64_t length, const plan::Scalars *scalars);
  Status cut(size_t view, int64_t entry, const SizeTable &sizes, View &part) const;
  Status addToWorkspace(size_t entry);
  View *viewsOf(size_t entry) { return parts.data() + entry * layouts.size(); }
  const View *viewsOf(size_t entry) const { return parts.data() + entry * layouts.size(); }
  int64_t batch() const { return whole->getSizes().batch; }

  const BoundPlan &plan;
  const Halves halves;
  View lengthsView = {};
  /// The number of tensors called kLengths.
  int found = 0;
  /// The caller's views without the lengths, and the same without the leading axis of instances.
  std::vector<View> given, single;
  std::vector<Layout> layouts;
  std::optional<BoundCall> whole;
  std::vector<int64_t> lengths;
  /// The views of all entries.
  std::vector<View> parts;
  std::deque<BoundCall> calls;
  /// The offsets in the workspace of entries, and of the parts of sums by view and entry.
  std::vector<int64_t> offsets, partOffsets;
  /// Tables over distances that all entries share. The first entry computes those with a nonzero
  /// byte in `writtenTables`; tables that the caller does not pass are at the beginning of the
  /// workspace: the position of the view and the offset of each.
  std::vector<uint8_t> writtenTables, noTables;
  std::vector<std::pair<size_t, int64_t>> tableOffsets;
  int64_t tableBytes = 0;
  int64_t total = 0;
  char *first = nullptr;
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_BOUNDENTRIES_H
