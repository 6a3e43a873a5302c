//===- SafetensorsReader.cpp - Reading of untrusted safetensors files -----===//

#include "runtime/core/File.h"
#include "runtime/core/Safetensors.h"
#include "runtime/plan/JsonText.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <tuple>

namespace pe {

using Json = nlohmann::json;

namespace {

constexpr uint64_t kLengthBytes = 8;
/// The limit of the reference implementation of the format.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxRank = 64;

/// A source of the file's bytes: memory, or a file that is read in pieces.
struct ByteSource {
  std::string file;
  uint64_t size;
  /// Copies `count` bytes at `offset`, which must be within `size`.
  std::function<Status(uint64_t offset, void *to, size_t count)> read;
};

using Entry = SafetensorsFile::Entry;

/// The content of the header. Offsets count from the beginning of the data.
struct Index {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t dataStart = 0;
};

Error inTensor(const ByteSource &source, const std::string &name, const std::string &message) {
  return makeError("file '", source.file, "': tensor '", name, "': ", message);
}

Expected<Json> parseHeader(const ByteSource &source, const std::string &text) {
  using Kind = plan::JsonProblem::Kind;
  constexpr size_t kMaxDepth = 3;
  const std::optional<plan::JsonProblem> problem = plan::findJsonProblem(text, kMaxDepth);
  if (problem && problem->kind == Kind::Depth)
    return makeError("file '", source.file, "': expected a header of at most ", kMaxDepth,
                     " levels, found deeper nesting");
  if (problem && problem->kind == Kind::Duplicate)
    return makeError("file '", source.file, "': expected unique names, found '", problem->found,
                     "' twice in the header");
  if (problem)
    return makeError("file '", source.file, "': expected the header to be JSON, found at byte ",
                     problem->byte, ": ", problem->found);
  Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return makeError("file '", source.file,
                     "': expected the header to be a JSON object, found other JSON");
  return header;
}

/// Returns the name of another format whose files begin with these bytes, or "".
std::string_view otherFormat(std::string_view begin) {
  static constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
      {"PK\x03\x04", "a zip archive (.npz, .pt)"},
      {"\x93NUMPY", "a NumPy array (.npy)"},
      {"\x80\x02", "a pickle (.pt, .pkl)"},
      {"\x89HDF\r\n", "an HDF5 file"},
      {"GGUF", "a GGUF file"}};
  for (const auto &[magic, name] : kFormats)
    if (begin.starts_with(magic))
      return name;
  return {};
}

Expected<std::string> readHeaderText(const ByteSource &source) {
  if (source.size < kLengthBytes)
    return makeError("file '", source.file, "': expected at least 8 bytes, found ", source.size,
                     "; this is not a safetensors file");
  unsigned char raw[kLengthBytes];
  if (Status s = source.read(0, raw, sizeof(raw)); !s)
    return s.takeError();
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | raw[i];
  const std::string_view other = otherFormat({reinterpret_cast<const char *>(raw), sizeof(raw)});
  if (length > kMaxHeaderBytes && !other.empty())
    return makeError("file '", source.file, "': expected a safetensors file, found ", other,
                     "; write safetensors (in Python: safetensors.torch.save_file, "
                     "safetensors.numpy.save_file)");
  if (length > kMaxHeaderBytes)
    return makeError("file '", source.file, "': expected a header of at most ", kMaxHeaderBytes,
                     " bytes, found ", length, "; this is not a safetensors file");
  if (length > source.size - kLengthBytes)
    return makeError("file '", source.file, "': expected a header of ", length,
                     " bytes, found only ", source.size - kLengthBytes,
                     " bytes; the file is truncated");
  std::string text(length, '\0');
  if (Status s = source.read(kLengthBytes, text.data(), text.size()); !s)
    return s.takeError();
  return text;
}

Expected<Shape> readShape(const ByteSource &source, const std::string &name, const Json &entry) {
  const auto found = entry.find("shape");
  if (found == entry.end() || !found->is_array())
    return inTensor(source, name, "expected 'shape' to be a list of integers");
  if (found->size() > kMaxRank)
    return inTensor(source, name,
                    "expected at most " + std::to_string(kMaxRank) + " dimensions, found " +
                        std::to_string(found->size()));
  Shape shape;
  for (const Json &dim : *found) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      return inTensor(source, name,
                      "expected 'shape' to hold integers of at least 0, found " + dim.dump());
    shape.push_back(dim.get<int64_t>());
  }
  return shape;
}

Status readOffsets(const ByteSource &source, const std::string &name, const Json &json,
                   Entry &entry) {
  const auto found = json.find("data_offsets");
  if (found == json.end() || !found->is_array() || found->size() != 2 ||
      !(*found)[0].is_number_unsigned() || !(*found)[1].is_number_unsigned())
    return inTensor(source, name, "expected 'data_offsets' to be two integers of at least 0");
  entry.begin = (*found)[0].get<uint64_t>();
  entry.end = (*found)[1].get<uint64_t>();
  return Status::success();
}

/// Reads and checks the entry of one tensor: its type, its shape, and offsets that match both and
/// are within the file.
Expected<Entry> readEntry(const ByteSource &source, const std::string &name, const Json &json,
                          uint64_t dataBytes) {
  if (!json.is_object())
    return inTensor(source, name, "expected an object with dtype, shape and data_offsets");
  const auto dtype = json.find("dtype");
  if (dtype == json.end() || !dtype->is_string())
    return inTensor(source, name, "expected 'dtype' to be a string");
  const std::string &spelling = dtype->get_ref<const std::string &>();
  Expected<DType> type = detail::findDType(&detail::DTypeEntry::safetensors, spelling);
  if (!type)
    return inTensor(source, name, type.error().getMessage());
  Expected<Shape> shape = readShape(source, name, json);
  if (!shape)
    return shape.takeError();
  Entry entry{name, *type, std::move(*shape), 0, 0};
  if (Status s = readOffsets(source, name, json, entry); !s)
    return s.takeError();
  Expected<int64_t> count = elementCount(entry.shape);
  if (!count)
    return inTensor(source, name, count.error().getMessage());
  uint64_t bytes;
  if (__builtin_mul_overflow(static_cast<uint64_t>(*count), sizeOf(entry.dtype), &bytes))
    return inTensor(source, name, "expected a size in bytes below 2^64");
  if (entry.end < entry.begin || entry.end - entry.begin != bytes)
    return inTensor(source, name,
                    "expected data_offsets that span the " + std::to_string(bytes) +
                        " bytes of shape " + toString(entry.shape) + " of " + spelling +
                        ", found [" + std::to_string(entry.begin) + ", " +
                        std::to_string(entry.end) + "]");
  if (entry.end > dataBytes)
    return inTensor(source, name,
                    "expected data_offsets within the " + std::to_string(dataBytes) +
                        " data bytes of the file, found end " + std::to_string(entry.end));
  return entry;
}

Status readMetadata(const ByteSource &source, const Json &json, Index &out) {
  if (!json.is_object())
    return makeError("file '", source.file,
                     "': expected '__metadata__' to be an object of strings");
  for (const auto &item : json.items()) {
    if (!item.value().is_string())
      return makeError("file '", source.file, "': metadata '", item.key(),
                       "': expected a string, found ", item.value().type_name());
    out.metadata.emplace(item.key(), item.value().get<std::string>());
  }
  return Status::success();
}

/// Checks that the tensors cover the data bytes without holes or overlaps.
Status checkCoverage(const ByteSource &source, const std::vector<Entry> &entries,
                     uint64_t dataBytes) {
  uint64_t covered = 0;
  for (const Entry &entry : entries) {
    if (entry.begin < covered)
      return inTensor(source, entry.name,
                      "expected data_offsets to begin at " + std::to_string(covered) + ", found " +
                          std::to_string(entry.begin) + "; they overlap the preceding tensor");
    if (entry.begin > covered)
      return inTensor(source, entry.name,
                      "expected data_offsets to begin at " + std::to_string(covered) + ", found " +
                          std::to_string(entry.begin) + "; the bytes between belong to no tensor");
    covered = entry.end;
  }
  if (covered != dataBytes)
    return makeError("file '", source.file, "': expected ", covered,
                     " data bytes for its tensors, found ", dataBytes);
  return Status::success();
}

Expected<Index> readIndex(const ByteSource &source) {
  Expected<std::string> text = readHeaderText(source);
  if (!text)
    return text.takeError();
  Expected<Json> header = parseHeader(source, *text);
  if (!header)
    return header.takeError();
  Index index;
  index.dataStart = kLengthBytes + text->size();
  const uint64_t dataBytes = source.size - index.dataStart;
  for (const auto &item : header->items()) {
    if (item.key() == "__metadata__") {
      if (Status s = readMetadata(source, item.value(), index); !s)
        return s.takeError();
      continue;
    }
    Expected<Entry> entry = readEntry(source, item.key(), item.value(), dataBytes);
    if (!entry)
      return entry.takeError();
    index.entries.push_back(*std::move(entry));
  }
  std::sort(index.entries.begin(), index.entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  if (Status s = checkCoverage(source, index.entries, dataBytes); !s)
    return s.takeError();
  return index;
}

Expected<Safetensors> read(const ByteSource &source) {
  Expected<Index> index = readIndex(source);
  if (!index)
    return index.takeError();
  Safetensors result;
  result.metadata = std::move(index->metadata);
  for (Entry &entry : index->entries) {
    Expected<Tensor> tensor = Tensor::allocate(entry.dtype, entry.shape);
    if (!tensor)
      return inTensor(source, entry.name, tensor.error().getMessage());
    if (Status s =
            source.read(index->dataStart + entry.begin, tensor->rawData(), tensor->byteSize());
        !s)
      return s.takeError();
    result.tensors.push_back({std::move(entry.name), *std::move(tensor)});
  }
  return result;
}

/// Opens a file; its bytes stay readable if it is replaced.
Expected<ByteSource> openSource(const std::string &path) {
  std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rbe"),
                                  [](std::FILE *open) { return open ? std::fclose(open) : 0; });
  if (!file)
    return systemError(path, "cannot open");
  struct stat info;
  if (::fstat(::fileno(file.get()), &info) != 0)
    return systemError(path, "cannot read");
  if (!S_ISREG(info.st_mode))
    return makeError("file '", path, "': expected a regular file");
  return ByteSource{path, static_cast<uint64_t>(info.st_size),
                    [path, file](uint64_t offset, void *to, size_t count) -> Status {
                      if (::fseeko(file.get(), static_cast<off_t>(offset), SEEK_SET) != 0)
                        return systemError(path, "cannot read");
                      if (std::fread(to, 1, count, file.get()) == count)
                        return Status::success();
                      if (std::ferror(file.get()))
                        return systemError(path, "cannot read");
                      return makeError("file '", path, "': expected ", count, " bytes at offset ",
                                       offset,
                                       ", found the end of the file; it was changed while it was "
                                       "read");
                    }};
}

} // namespace

const Tensor *Safetensors::find(std::string_view name) const {
  for (const NamedTensor &entry : tensors)
    if (entry.name == name)
      return &entry.tensor;
  return nullptr;
}

Expected<Safetensors> parseSafetensors(std::string_view bytes, const std::string &file) {
  return read({file, bytes.size(), [bytes](uint64_t offset, void *to, size_t count) {
                 if (count)
                   std::memcpy(to, bytes.data() + offset, count);
                 return Status::success();
               }});
}

Expected<Safetensors> readSafetensors(const std::string &path) {
  Expected<ByteSource> source = openSource(path);
  if (!source)
    return source.takeError();
  return read(*source);
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<ByteSource> source = openSource(path);
  if (!source)
    return source.takeError();
  Expected<Index> index = readIndex(*source);
  if (!index)
    return index.takeError();
  SafetensorsFile file;
  file.name = path;
  file.list = std::move(index->entries);
  for (Entry &entry : file.list) {
    entry.begin += index->dataStart;
    entry.end += index->dataStart;
  }
  file.start = index->dataStart;
  file.length = source->size;
  file.source = std::move(source->read);
  return file;
}

const SafetensorsFile::Entry *SafetensorsFile::find(std::string_view wanted) const {
  for (const Entry &entry : list)
    if (entry.name == wanted)
      return &entry;
  return nullptr;
}

} // namespace pe
