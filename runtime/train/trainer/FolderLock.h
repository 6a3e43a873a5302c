//===- FolderLock.h - Exclusive use of a directory by one process -*- C++ -*-===//
//
// Two runs that write checkpoints into the same directory would remove each other's files. A run
// locks its directory. The lock leaves no file and is released when the process ends, even if it is
// killed.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_FOLDERLOCK_H
#define PE_RUNTIME_TRAIN_TRAINER_FOLDERLOCK_H

#include "pe/Error.h"

#include <string>
#include <utility>

namespace pe::train {

class FolderLock {
public:
  /// Locks an existing directory. If another process holds the lock, the error says that `holder`,
  /// such as "another pe train", writes into it. On file systems without locks, nothing is locked.
  static Expected<FolderLock> take(const std::string &folder, const std::string &holder);

  FolderLock() = default;
  FolderLock(FolderLock &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  FolderLock &operator=(FolderLock &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~FolderLock();

private:
  explicit FolderLock(int descriptor) : descriptor(descriptor) {}
  int descriptor = -1;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_FOLDERLOCK_H
