//===- FolderLock.h - One process at a time in a folder ---------*- C++ -*-===//
//
// Two runs that write their checkpoints into one folder would remove each other's files. A run
// locks the folder; the lock leaves no file behind and ends with the process, however that ends.
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
  /// Locks an existing folder. If another process holds it, the error says that `holder`, such as
  /// "another pe train", writes into it. File systems without locks are used without one.
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
