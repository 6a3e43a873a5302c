//===- File.h - Reading and atomic writing of files -------------*- C++ -*-===//
//
// Reading reports the system's error. Writing is atomic: the bytes go to a temporary file in the
// target's directory, which is renamed to the target when it is complete. An error leaves an
// existing target unchanged, and other processes never see a partial file.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_FILE_H
#define PE_RUNTIME_CORE_FILE_H

#include "runtime/core/Error.h"

#include <functional>
#include <string>
#include <string_view>

namespace pe {

/// Returns the bytes of a regular file, or of a pipe up to its end.
Expected<std::string> readFile(const std::string &path);

/// Accepts the next bytes of the file. Returns false after an error, which the writer reports.
using ByteSink = std::function<bool(std::string_view)>;

/// The failures that a written file survives.
enum class Durability {
  /// The end of the process. For files that can be regenerated.
  Process,
  /// A power loss: the file is on the disk under its final name before the call returns.
  Disk,
};

/// Creates or replaces `path` with the bytes that `produce` writes to its sink. A target that is
/// not a regular file (a pipe, /dev/null) is written in place.
Status writeFileAtomically(const std::string &path, Durability durability,
                           const std::function<void(const ByteSink &)> &produce);
Status writeFileAtomically(const std::string &path, std::string_view bytes,
                           Durability durability = Durability::Process);

/// A file that is written next to its target, for writers that can fail midway or that replace
/// several files together. commit() renames it to the target; otherwise the destructor deletes it.
class PendingFile {
public:
  /// Creates the temporary file; a target that is not a regular file is an error.
  static Expected<PendingFile> create(const std::string &path);
  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile();

  /// Appends bytes.
  Status write(std::string_view bytes);
  /// Syncs the written bytes to the disk, so that a later commit() is unlikely to fail.
  Status finish();
  /// Replaces the target.
  Status commit();

private:
  PendingFile(std::string path, std::string target, std::string temporary, int fd)
      : path(std::move(path)), target(std::move(target)), temporary(std::move(temporary)), fd(fd) {}

  /// The path as the user spelled it, the path with symbolic links resolved, and the path of the
  /// temporary file.
  std::string path, target, temporary;
  int fd;
};

/// Returns true if `ending` is the suffix of a temporary file of writeFileAtomically
/// (".tmp.417.0"); a killed process leaves such files.
bool isTemporaryEnding(std::string_view ending);

/// Syncs the entries of a directory to the disk after files were created, renamed or removed.
Status syncFolder(const std::string &path);

} // namespace pe

#endif // PE_RUNTIME_CORE_FILE_H
