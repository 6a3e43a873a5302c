//===- File.h - Whole files, in and out -------------------------*- C++ -*-===//
//
// Reading reports the system's error. Writing is atomic: the bytes go to a temporary file beside
// the target, which is renamed only when it is complete, so that an error leaves an existing target
// unchanged and other processes never see half a file.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_FILE_H
#define PE_RUNTIME_CORE_FILE_H

#include "runtime/core/Error.h"

#include <functional>
#include <string>
#include <string_view>

namespace pe {

/// The bytes of a regular file (or of a pipe, up to its end).
Expected<std::string> readFile(const std::string &path);

/// Accepts the next bytes of the file; false after a failure, which AtomicWrite reports.
using ByteSink = std::function<bool(std::string_view)>;

enum class Durability {
  /// Survives the death of the process; for files that can be regenerated.
  Process,
  /// On the disk, under its final name, before the call returns.
  Disk,
};

/// Creates or replaces `path` with what `produce` writes to its sink. A target that is not a
/// regular file (a pipe, /dev/null) is written in place.
Status writeFileAtomically(const std::string &path, Durability durability,
                           const std::function<void(const ByteSink &)> &produce);
Status writeFileAtomically(const std::string &path, std::string_view bytes,
                           Durability durability = Durability::Process);

/// A file that is being written beside its target, for writers that can fail half-way or that
/// replace several files together: commit() renames it to the target; without it nothing remains.
class PendingFile {
public:
  static Expected<PendingFile> create(const std::string &path);
  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile();

  Status write(std::string_view bytes);
  /// Brings what was written to the disk. Afterwards commit() can hardly fail.
  Status finish();
  /// Replaces the target.
  Status commit();

private:
  PendingFile(std::string path, std::string target, std::string temporary, int fd)
      : path(std::move(path)), target(std::move(target)), temporary(std::move(temporary)), fd(fd) {}

  /// As the user named it; behind symbolic links; where the bytes are until the end.
  std::string path, target, temporary;
  int fd;
};

/// Whether the end of a file's name is the suffix of writeFileAtomically's temporary files
/// (".tmp.417.0"), which a killed process leaves behind.
bool isTemporaryEnding(std::string_view ending);

/// Syncs a folder's entries to the disk: files that were created, renamed or removed.
Status syncFolder(const std::string &path);

} // namespace pe

#endif // PE_RUNTIME_CORE_FILE_H
