//===- FolderLock.cpp - Exclusive use of a directory by one process -------===//
#include "runtime/train/trainer/FolderLock.h"

#include "runtime/core/Error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace pe::train {

Expected<FolderLock> FolderLock::take(const std::string &folder, const std::string &holder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(folder, "cannot open the directory");
  FolderLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return makeError(holder, " writes into '", folder,
                     "'; wait until it ends, or use another directory");
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor >= 0)
    ::close(descriptor);
}

} // namespace pe::train
