//===- TokenFile.cpp - A file of tokens written by another program --------===//
//
// Maps the file, reads its header, and checks every token.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/TokenFile.h"
#include "runtime/core/Error.h"
#include "runtime/train/data/Task.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pe::train {
namespace {

/// The header of llm.c: 256 int32 values, the first of which are magic, version and number of
/// tokens.
constexpr int64_t kHeaderBytes = 1024;
struct Header {
  int32_t magic, version, tokens;
};
constexpr int32_t kMagic16 = 20240520, kMagic32 = 20240801;
constexpr int32_t kVersion16 = 1, kVersion32 = 7;

} // namespace

std::string TokenFile::pathOf(std::string_view data) {
  return std::string(data.substr(0, data.find('?')));
}

bool TokenFile::isName(std::string_view data) { return pathOf(data).ends_with(".bin"); }

TokenFile::~TokenFile() {
  if (mapped)
    ::munmap(const_cast<void *>(mapped), length);
}

Status TokenFile::map(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError(path, "cannot open");
  struct stat about{};
  Status status = Status::success();
  if (::fstat(file, &about) != 0)
    status = systemError(path, "cannot read the size of");
  else if (!S_ISREG(about.st_mode))
    status = makeError("file '", path, "': expected a regular file of tokens, found another kind");
  else if (about.st_size == 0)
    status = makeError("file '", path, "': expected tokens, found an empty file");
  if (status) {
    length = static_cast<size_t>(about.st_size);
    void *found = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (found == MAP_FAILED)
      status = systemError(path, "cannot map");
    else
      mapped = found;
  }
  ::close(file);
  return status;
}

Status TokenFile::findTokens(const std::string &path, bool wide) {
  Header header{};
  if (length >= kHeaderBytes)
    std::memcpy(&header, mapped, sizeof header);
  const bool hasHeader = header.magic == kMagic16 || header.magic == kMagic32;
  const int32_t known = header.magic == kMagic32 ? kVersion32 : kVersion16;
  if (hasHeader && header.version != known)
    return makeError("file '", path, "': expected version ", known,
                     " in the header of llm.c, found ", header.version);
  isWide = hasHeader ? header.magic == kMagic32 : wide;
  const int64_t begin = hasHeader ? kHeaderBytes : 0, size = isWide ? 4 : 2;
  const int64_t bytes = static_cast<int64_t>(length) - begin;
  if (bytes % size)
    return makeError("file '", path, "': expected a multiple of the token size ", size, ", found ",
                     bytes, " bytes");
  tokens = static_cast<const char *>(mapped) + begin;
  count = bytes / size;
  if (hasHeader && count != header.tokens)
    return makeError("file '", path, "': expected ", header.tokens,
                     " tokens, as its header says, found ", count);
  return Status::success();
}

Expected<std::shared_ptr<const TokenFile>> TokenFile::open(std::string_view data,
                                                           int64_t vocabulary) {
  auto name = parseDataName(data);
  if (!name)
    return name.takeError();
  bool wide = false;
  for (const auto &[key, value] : name->options) {
    if (key != "type" || (value != "uint16" && value != "uint32"))
      return makeError("file '", name->name, "': expected the option type=uint16 or type=uint32, ",
                       "found '", key, "=", value, "'");
    wide = value == "uint32";
  }
  std::shared_ptr<TokenFile> file(new TokenFile);
  if (Status status = file->map(name->name); !status)
    return status.takeError();
  if (Status status = file->findTokens(name->name, wide); !status)
    return status.takeError();
  for (int64_t i = 0; i < file->size(); ++i)
    if (const auto token = static_cast<uint32_t>((*file)[i]); token >= vocabulary)
      return makeError("file '", name->name, "': expected tokens below ", vocabulary,
                       " (--vocab), found ", token, " at index ", i);
  return std::shared_ptr<const TokenFile>(std::move(file));
}

} // namespace pe::train
