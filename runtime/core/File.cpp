//===- File.cpp - Reading and atomic writing of files ---------------------===//

#include "runtime/core/File.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pe {
namespace {

/// A file descriptor that is closed on destruction.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int get() const { return fd; }
  bool close() {
    const int result = ::close(fd);
    fd = -1;
    return result == 0;
  }

private:
  int fd;
};

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

/// Returns the target of a symbolic link, so that the link itself is not replaced.
std::string resolve(const std::string &path) {
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

bool isSpecialFile(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

constexpr std::string_view kTemporary = ".tmp.";

std::string temporaryName(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  return path + std::string(kTemporary) + std::to_string(::getpid()) + "." +
         std::to_string(counter++);
}

/// Writes everything that `produce` emits into `file` and closes it.
Status fill(Descriptor &file, const std::string &path, Durability durability,
            const std::function<void(const ByteSink &)> &produce) {
  bool good = true;
  int code = 0;
  produce([&](std::string_view bytes) {
    if (good && !writeAll(file.get(), bytes)) {
      good = false;
      code = errno;
    }
    return good;
  });
  if (good && durability == Durability::Disk && ::fsync(file.get()) != 0 && errno != EINVAL) {
    good = false;
    code = errno;
  }
  if (good && !file.close()) {
    good = false;
    code = errno;
  }
  if (good)
    return Status::success();
  errno = code;
  return systemError(path, "cannot write");
}

} // namespace

Expected<std::string> readFile(const std::string &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    return systemError(path, "cannot open");
  struct stat info;
  if (::fstat(file.get(), &info) != 0)
    return systemError(path, "cannot read");
  if (S_ISDIR(info.st_mode))
    return makeError("file '", path, "': expected a file, found a directory");
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) // some are infinite
    return makeError("file '", path, "': expected a file, found a device");
  std::string bytes;
  size_t used = 0;
  // Reading one byte more than the size detects the end without another call.
  bytes.resize(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) + 1 : 1 << 16);
  while (true) {
    if (used == bytes.size())
      bytes.resize(bytes.size() * 2);
    const ssize_t count = ::read(file.get(), bytes.data() + used, bytes.size() - used);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(path, "cannot read");
    if (count == 0)
      break;
    used += static_cast<size_t>(count);
  }
  bytes.resize(used);
  return bytes;
}

Status writeFileAtomically(const std::string &path, Durability durability,
                           const std::function<void(const ByteSink &)> &produce) {
  const std::string target = resolve(path);
  if (isSpecialFile(target)) {
    Descriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0)
      return systemError(path, "cannot open for writing");
    return fill(file, path, durability, produce);
  }
  const std::string temporary = temporaryName(target);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0)
    return systemError(path, "cannot create");
  Status status = fill(file, path, durability, produce);
  if (status && ::rename(temporary.c_str(), target.c_str()) != 0)
    status = systemError(path, "cannot replace");
  if (!status)
    ::unlink(temporary.c_str());
  if (!status || durability != Durability::Disk)
    return status;
  const size_t slash = target.rfind('/');
  return syncFolder(slash == std::string::npos ? "." : target.substr(0, slash + 1));
}

Expected<PendingFile> PendingFile::create(const std::string &path) {
  const std::string target = resolve(path);
  if (isSpecialFile(target))
    return makeError("file '", path, "': expected a regular file or none, found something else");
  const std::string temporary = temporaryName(target);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return systemError(path, "cannot create");
  return PendingFile(path, target, temporary, fd);
}

PendingFile::PendingFile(PendingFile &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::exchange(other.temporary, "")), fd(std::exchange(other.fd, -1)) {}

PendingFile::~PendingFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status PendingFile::write(std::string_view bytes) {
  if (!writeAll(fd, bytes))
    return systemError(path, "cannot write");
  return Status::success();
}

Status PendingFile::finish() {
  const bool synced = ::fsync(fd) == 0 || errno == EINVAL;
  if (!synced)
    return systemError(path, "cannot write");
  if (::close(std::exchange(fd, -1)) != 0)
    return systemError(path, "cannot write");
  return Status::success();
}

Status PendingFile::commit() {
  if (fd >= 0)
    if (Status finished = finish(); !finished)
      return finished;
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return systemError(path, "cannot replace");
  temporary.clear();
  const size_t slash = target.rfind('/');
  return syncFolder(slash == std::string::npos ? "." : target.substr(0, slash + 1));
}

bool isTemporaryEnding(std::string_view ending) {
  if (!ending.starts_with(kTemporary))
    return false;
  ending.remove_prefix(kTemporary.size());
  const auto isNumber = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const size_t dot = ending.find('.');
  return dot != std::string_view::npos && isNumber(ending.substr(0, dot)) &&
         isNumber(ending.substr(dot + 1));
}

Status syncFolder(const std::string &path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a directory and return EINVAL.
  if (directory.get() < 0 || (::fsync(directory.get()) != 0 && errno != EINVAL))
    return systemError(path, "cannot sync the directory");
  return Status::success();
}

Status writeFileAtomically(const std::string &path, std::string_view bytes, Durability durability) {
  return writeFileAtomically(path, durability, [&](const ByteSink &sink) { sink(bytes); });
}

} // namespace pe
