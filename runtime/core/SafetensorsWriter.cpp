//===- SafetensorsWriter.cpp - Writing of safetensors files ---------------===//

#include "runtime/core/File.h"
#include "runtime/core/Safetensors.h"

#include <nlohmann/json.hpp>
#include <set>

namespace pe {

using Json = nlohmann::json;

static Expected<std::string> makeHeader(const std::string &path, const Safetensors &content) {
  Json header = Json::object();
  if (!content.metadata.empty())
    header["__metadata__"] = content.metadata;
  std::set<std::string> names;
  size_t offset = 0;
  for (const NamedTensor &entry : content.tensors) {
    if (entry.name == "__metadata__" || !names.insert(entry.name).second)
      return makeError("file '", path, "': expected unique tensor names, found '", entry.name,
                       "' twice or reserved");
    const size_t end = offset + entry.tensor.byteSize();
    const auto type = static_cast<size_t>(entry.tensor.dtype());
    header[entry.name] = {{"dtype", detail::kDTypes[type].safetensors},
                          {"shape", entry.tensor.shape()},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Pads the header with spaces to a multiple of 8 bytes, as the format recommends.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

Status writeSafetensors(const std::string &path, const Safetensors &content) {
  Expected<std::string> header = makeHeader(path, content);
  if (!header)
    return header.takeError();
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(static_cast<uint64_t>(header->size()) >> (8 * i));
  return writeFileAtomically(path, Durability::Disk, [&](const ByteSink &sink) {
    if (!sink(length) || !sink(*header))
      return;
    for (const NamedTensor &entry : content.tensors) {
      const Tensor packed = entry.tensor.contiguous();
      if (!sink({static_cast<const char *>(packed.rawData()), packed.byteSize()}))
        return;
    }
  });
}

} // namespace pe
