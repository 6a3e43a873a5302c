//===- PtxExecution.cpp - Execution of pe ptx ---===//
//
// Built as libpe-ptx-command.so, which `pe ptx` loads.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/File.h"
#include "runtime/core/Safetensors.h"
#include "runtime/plan/JsonReader.h"
#include "runtime/ptx/LoadedModule.h"
#include "tools/pe/PtxOptions.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace pe::cli {
namespace {

/// An argument of the kernel: a tensor, or the bytes of a scalar.
struct PtxArgument {
  std::string tensor;
  std::vector<std::byte> scalar;
};

/// A tensor in the memory of the machine.
struct Placed {
  Tensor host;
  uint64_t address = 0;
};

template <typename T> std::vector<std::byte> bytesOf(T value) {
  const auto *first = reinterpret_cast<const std::byte *>(&value);
  return {first, first + sizeof(T)};
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Reads {"f32": 0.5} or {"i32": 7}.
Expected<std::vector<std::byte>> readScalar(const plan::Json &json, const std::string &where) {
  const auto problem = [&] {
    return makeError(where, ": expected {\"tensor\": NAME} or a scalar such as {\"i32\": 7}, "
                            "{\"u64\": 7}, {\"f32\": 0.5} or {\"f64\": 0.5}");
  };
  if (json.size() != 1)
    return problem();
  const std::string type = json.begin().key();
  const plan::Json &value = json.begin().value();
  if (!value.is_number())
    return problem();
  if (type == "f32") {
    if (std::abs(value.get<double>()) > std::numeric_limits<float>::max())
      return makeError(where, ": the value does not fit f32");
    return bytesOf(value.get<float>());
  }
  if (type == "f64")
    return bytesOf(value.get<double>());
  if (!value.is_number_integer())
    return makeError(where, ": expected an integer for ", type);
  const bool isUnsigned = value.is_number_unsigned();
  const int64_t number = value.get<int64_t>();
  if (isUnsigned && number < 0 && type != "u64")
    return makeError(where, ": the value does not fit ", type);
  const struct {
    const char *name;
    int64_t least, most;
    size_t bytes;
  } kinds[] = {{"i8", INT8_MIN, INT8_MAX, 1},    {"u8", 0, UINT8_MAX, 1},
               {"i16", INT16_MIN, INT16_MAX, 2}, {"u16", 0, UINT16_MAX, 2},
               {"i32", INT32_MIN, INT32_MAX, 4}, {"u32", 0, UINT32_MAX, 4},
               {"i64", INT64_MIN, INT64_MAX, 8}};
  if (type == "u64" && isUnsigned)
    return bytesOf(value.get<uint64_t>());
  for (const auto &kind : kinds)
    if (type == kind.name) {
      if (number < kind.least || number > kind.most)
        return makeError(where, ": the value does not fit ", type);
      std::vector<std::byte> bytes = bytesOf(number);
      bytes.resize(kind.bytes);
      return bytes;
    }
  return problem();
}

/// Reads {"tensor": "o", "shape": [4, 8], "dtype": "f32"}; without a shape, the tensor is one of
/// --in.
Status readTensor(const plan::Json &json, const std::string &where,
                  std::map<std::string, Placed> &tensors, PtxArgument &argument) {
  plan::JsonReader reader(json, where);
  reader.read("tensor", argument.tensor);
  if (!reader.has("shape")) {
    if (Status s = reader.take(); !s)
      return s;
    return tensors.contains(argument.tensor)
               ? Status::success()
               : makeError(where, ": --in has no tensor '", argument.tensor,
                           "'; a result needs \"shape\" and \"dtype\"");
  }
  Shape shape;
  DType dtype = DType::F32;
  std::vector<int64_t> extents;
  reader.read("shape", extents);
  reader.read("dtype", dtype);
  if (Status s = reader.take(); !s)
    return s;
  shape.assign(extents.begin(), extents.end());
  if (tensors.contains(argument.tensor))
    return makeError(where, ": --in has a tensor '", argument.tensor, "' already; omit its shape");
  Expected<Tensor> made = Tensor::allocate(dtype, shape);
  if (!made)
    return made.takeError().within(where);
  std::memset(made->rawData(), 0xFF, made->byteSize()); // unwritten results show as NaN
  tensors[argument.tensor].host = *std::move(made);
  return Status::success();
}

Expected<std::vector<PtxArgument>> readArguments(const std::string &file,
                                                 std::map<std::string, Placed> &tensors) {
  Expected<std::string> text = readFile(file);
  if (!text)
    return text.takeError();
  Expected<plan::Json> json = plan::parseJson(*text, file);
  if (!json)
    return json.takeError();
  if (!json->is_array())
    return makeError(file, ": expected a list with an entry per parameter of the kernel");
  std::vector<PtxArgument> arguments;
  for (const plan::Json &entry : *json) {
    const std::string where = file + ": argument " + std::to_string(arguments.size());
    PtxArgument &argument = arguments.emplace_back();
    if (entry.is_object() && entry.contains("tensor")) {
      if (Status s = readTensor(entry, where, tensors, argument); !s)
        return s.takeError();
      continue;
    }
    if (!entry.is_object())
      return makeError(where, ": expected an object");
    Expected<std::vector<std::byte>> scalar = readScalar(entry, where);
    if (!scalar)
      return scalar.takeError();
    argument.scalar = *std::move(scalar);
  }
  return arguments;
}

Status readInputs(const std::string &file, std::map<std::string, Placed> &tensors) {
  if (file.empty())
    return Status::success();
  Expected<Safetensors> content = readSafetensors(file);
  if (!content)
    return content.takeError();
  for (NamedTensor &each : content->tensors)
    tensors[each.name].host = std::move(each.tensor);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

Status check(const PtxOptions &options, const ptx::LoadedModule &module) {
  const ptx::Module &parsed = module.module();
  std::printf("%s: PTX %d.%d for %s\n", options.file.c_str(), parsed.major, parsed.minor,
              parsed.chip.c_str());
  for (const ptx::Function &function : parsed.functions) {
    const ptx::Kernel *kernel = module.kernel(function.name);
    if (!kernel)
      continue;
    uint64_t parameters = 0;
    for (const ptx::Variable &parameter : function.parameters)
      parameters = parameter.offset + parameter.bytes;
    std::printf("%s: %zu instructions, %zu parameters (%llu bytes), %u bytes of shared memory",
                function.name.c_str(), function.statements.size(), function.parameters.size(),
                static_cast<unsigned long long>(parameters), kernel->staticShared);
    if (const auto &threads = function.requiredThreads; threads[0] > 0)
      std::printf(", blocks of %d x %d x %d threads", threads[0], std::max(1, threads[1]),
                  std::max(1, threads[2]));
    std::printf("\n");
  }
  return Status::success();
}

Status readExtent(const char *name, const std::vector<uint32_t> &given, ptx::Extent &extent) {
  if (given.empty() || given.size() > 3)
    return makeError("--", name, ": expected X, X,Y or X,Y,Z, found ", given.size(), " numbers");
  uint32_t *fields[] = {&extent.x, &extent.y, &extent.z};
  for (size_t i = 0; i < given.size(); ++i)
    *fields[i] = given[i];
  return Status::success();
}

Status readLaunch(const PtxOptions &options, ptx::Launch &launch) {
  if (options.kernel.empty())
    return makeError("--kernel: expected the name of a kernel; pe ptx check FILE lists them");
  if (Status s = readExtent("grid", options.grid, launch.grid); !s)
    return s;
  if (Status s = readExtent("block", options.block, launch.block); !s)
    return s;
  if (options.ctas == 0)
    return makeError("--ctas: expected at least 1 CTA in flight, found 0");
  launch.dynamicShared = options.shared;
  launch.limit = options.limit;
  launch.countsAccesses = options.counts;
  launch.schedule.seed = options.seed;
  launch.schedule.ctasInFlight = options.ctas;
  using Order = ptx::Schedule::Order;
  launch.schedule.order = options.order == "forward"   ? Order::Forward
                          : options.order == "reverse" ? Order::Reverse
                                                       : Order::Random;
  return Status::success();
}

void printCounts(const std::string &text, const ptx::LoadedModule &module) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::printf("  line  executions  wavefronts   least     sectors   least  instruction\n");
  for (const ptx::LineCounts &counts : module.takeCounts()) {
    std::string source = size_t(counts.line) <= lines.size() ? lines[counts.line - 1] : "";
    source.erase(0, source.find_first_not_of(" \t"));
    std::ranges::replace(source, '\t', ' ');
    const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    const std::string place = module.module().sourceOf(counts.line);
    std::printf("%6d  %10llu  %10llu  %6llu  %10llu  %6llu  %.70s%s%s\n", counts.line,
                number(counts.executions), number(counts.wavefronts),
                number(counts.leastWavefronts), number(counts.sectors), number(counts.leastSectors),
                source.c_str(), place.empty() ? "" : "  // ", place.c_str());
  }
}

/// Copies the tensors to the memory of the machine.
Status place(std::map<std::string, Placed> &tensors, ptx::Memory &memory) {
  for (auto &[name, placed] : tensors) {
    placed.host = placed.host.contiguous();
    placed.address = memory.allocate(placed.host.byteSize());
    if (!placed.address)
      return makeError("no memory for tensor '", name, "'").of(ErrorKind::Memory);
    std::memcpy(reinterpret_cast<void *>(placed.address), placed.host.rawData(),
                placed.host.byteSize());
  }
  return Status::success();
}

Status writeResults(const PtxOptions &options, std::map<std::string, Placed> &tensors) {
  if (options.out.empty())
    return Status::success();
  Safetensors content;
  for (auto &[name, placed] : tensors) {
    std::memcpy(placed.host.rawData(), reinterpret_cast<const void *>(placed.address),
                placed.host.byteSize());
    content.tensors.push_back({name, placed.host});
  }
  return writeSafetensors(options.out, content);
}

Status launch(const PtxOptions &options, const std::string &text, ptx::Memory &memory,
              const ptx::LoadedModule &module) {
  ptx::Launch call;
  if (Status s = readLaunch(options, call); !s)
    return s;
  std::map<std::string, Placed> tensors;
  if (Status s = readInputs(options.in, tensors); !s)
    return s;
  if (!options.arguments.empty()) {
    Expected<std::vector<PtxArgument>> arguments = readArguments(options.arguments, tensors);
    if (!arguments)
      return arguments.takeError();
    if (Status s = place(tensors, memory); !s)
      return s;
    for (const PtxArgument &argument : *arguments)
      call.parameters.push_back(
          argument.tensor.empty() ? argument.scalar : bytesOf(tensors[argument.tensor].address));
  }
  const auto start = std::chrono::steady_clock::now();
  if (Status s = module.run(options.kernel, call); !s)
    return s;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s: %llu warp instructions in %.3f seconds\n", options.kernel.c_str(),
              static_cast<unsigned long long>(module.instructions()), seconds.count());
  if (options.counts)
    printCounts(text, module);
  return writeResults(options, tensors);
}

Status run(const PtxOptions &options) {
  Expected<std::string> text = readFile(options.file);
  if (!text)
    return text.takeError();
  ptx::Memory memory;
  auto module = ptx::LoadedModule::load(*text, options.file, memory);
  if (!module)
    return module.takeError();
  return options.action == "check" ? check(options, **module)
                                   : launch(options, *text, memory, **module);
}

} // namespace
} // namespace pe::cli

void pe_ptx_command(const pe::cli::PtxOptions &options, pe::Status &status) {
  status = pe::cli::run(options);
}
