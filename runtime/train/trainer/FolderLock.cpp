//===- FolderLock.cpp - One process at a time in a folder -----------------===//
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
    return systemError(folder, "cannot open the folder");
  FolderLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return makeError(holder, " writes into '", folder,
                     "'; wait for its end or give another folder");
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor >= 0)
    ::close(descriptor);
}

} // namespace pe::train
