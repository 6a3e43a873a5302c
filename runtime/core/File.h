//===- File.h - Whole files, in and out -------------------------*- C++ -*-===//
//
// Reading reports what the system said. Writing is atomic: the bytes go to a file beside the
// target, which takes its name only when they are complete, so that an error leaves an existing
// target as it was and other processes never see half a file.
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

/// Takes the next bytes of the file; false after a failure, which AtomicWrite reports.
using ByteSink = std::function<bool(std::string_view)>;

enum class Durability {
  /// Survives the death of the process; for files that can be made again.
  Process,
  /// On the disk before the call returns, under its name.
  Disk,
};

/// Creates or replaces `path` with what `produce` writes to its sink. A target that is no regular
/// file (a pipe, /dev/null) is written in place.
Status writeFileAtomically(const std::string &path, Durability durability,
                           const std::function<void(const ByteSink &)> &produce);
Status writeFileAtomically(const std::string &path, std::string_view bytes,
                           Durability durability = Durability::Process);

/// Whether the end of a file's name is what writeFileAtomically adds while it writes
/// (".tmp.417.0"): what a process that was killed leaves behind.
bool isTemporaryEnding(std::string_view ending);

/// Puts the names in a folder on the disk: files that were made, renamed or removed.
Status syncFolder(const std::string &path);

} // namespace pe

#endif // PE_RUNTIME_CORE_FILE_H
