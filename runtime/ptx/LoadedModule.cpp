//===- LoadedModule.cpp - Kernels in PTX, executed on the host ------------===//

#include "runtime/ptx/LoadedModule.h"

#include "runtime/ptx/Warp.h"

#include <algorithm>
#include <utility>

namespace pe::ptx {

Schedule Schedule::fromSeed(uint64_t seed) {
  std::mt19937_64 random(seed);
  Schedule schedule;
  schedule.seed = seed;
  schedule.order = Order(random() % 3);
  schedule.ctasInFlight = 1 + unsigned(random() % 64);
  schedule.copiesLandAtOnce = random() % 4 == 0;
  schedule.loadsMayBeStale = random() % 4 != 0;
  schedule.lateReleases = unsigned(random() % 6);
  return schedule;
}

//===----------------------------------------------------------------------===//
// Variables of the module
//===----------------------------------------------------------------------===//

namespace {

/// Places .const variables in constant memory.
void placeConstants(const Module &module, std::vector<std::byte> &constants, Placement &placement) {
  for (const Variable &variable : module.variables) {
    if (variable.space != Space::Const)
      continue;
    const uint64_t align = std::max<uint64_t>(variable.align, 1);
    const uint64_t at = (constants.size() + align - 1) / align * align;
    constants.resize(at + variable.bytes);
    for (size_t i = 0; i < variable.initial.size(); ++i)
      constants[at + i] = std::byte(variable.initial[i]);
    placement.addresses[variable.name] = at;
  }
}

/// Fills in addresses that initial values refer to. Returns false if a symbol has none.
Status link(const Module &module, const Placement &placement, std::vector<std::byte> &constants) {
  for (const Variable &variable : module.variables)
    for (const Variable::Reference &reference : variable.references) {
      auto it = placement.addresses.find(reference.symbol);
      if (it == placement.addresses.end())
        return makeError("expected the name of a variable, found '", reference.symbol, "'")
            .at(module.file + ":" + std::to_string(variable.line));
      const uint64_t address = it->second + uint64_t(reference.addend);
      const uint64_t own = placement.addresses.at(variable.name);
      std::byte *to = variable.space == Space::Const ? constants.data() + own
                                                     : reinterpret_cast<std::byte *>(own);
      std::memcpy(to + reference.at, &address,
                  std::min<uint64_t>(sizeof(address), bytesOf(variable.type)));
    }
  return Status::success();
}

} // namespace

Expected<std::unique_ptr<LoadedModule>>
LoadedModule::load(std::string_view text, const std::string &file, Memory &memory) {
  Expected<Module> module = parse(text, file);
  if (!module)
    return module.takeError();
  auto loaded = std::unique_ptr<LoadedModule>(new LoadedModule(memory));
  loaded->parsed = std::make_unique<Module>(*std::move(module));
  Placement placement;
  loaded->constants.resize(256); // no variable has the address 0
  placeConstants(*loaded->parsed, loaded->constants, placement);
  for (const Variable &variable : loaded->parsed->variables) {
    if (variable.space != Space::Global)
      continue;
    const uint64_t address = memory.allocate(variable.bytes);
    if (!address)
      return makeError("no memory for the variable '", variable.name, "'").of(ErrorKind::Memory);
    loaded->placed.push_back(address);
    // Variables without an initial value are zero.
    std::memset(reinterpret_cast<void *>(address), 0, variable.bytes);
    std::memcpy(reinterpret_cast<void *>(address), variable.initial.data(),
                variable.initial.size());
    placement.addresses[variable.name] = address;
  }
  if (Status s = link(*loaded->parsed, placement, loaded->constants); !s)
    return s.takeError();
  for (const Function &function : loaded->parsed->functions) {
    if (!function.isEntry || !function.isDefined)
      continue;
    Expected<std::unique_ptr<Kernel>> kernel = decode(*loaded->parsed, function.name, placement);
    if (!kernel)
      return kernel.takeError();
    loaded->kernels[function.name] = *std::move(kernel);
  }
  return loaded;
}

LoadedModule::~LoadedModule() {
  for (uint64_t address : placed)
    memory.release(address);
}

const Kernel *LoadedModule::kernel(std::string_view name) const {
  auto it = kernels.find(name);
  return it == kernels.end() ? nullptr : it->second.get();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {

Status checkBlock(const Function &function, const Launch &launch) {
  const std::array<uint32_t, 3> block = {launch.block.x, launch.block.y, launch.block.z};
  auto text = [](auto &extent) {
    return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " +
           std::to_string(extent[2]);
  };
  uint64_t greatest = 1;
  bool isRequired = function.requiredThreads[0] > 0, fits = true;
  for (int i = 0; i < 3; ++i) {
    greatest *= uint64_t(std::max(1, function.greatestThreads[i]));
    fits &= !isRequired || std::max(1, function.requiredThreads[i]) == int(block[i]);
  }
  if (!fits)
    return makeError("kernel '", function.name, "' requires blocks of ",
                     text(function.requiredThreads), " threads, found ", text(block));
  if (function.greatestThreads[0] > 0 && launch.block.count() > greatest)
    return makeError("kernel '", function.name, "' takes at most ", greatest,
                     " threads a block, found ", launch.block.count());
  return Status::success();
}

Status checkLaunch(const Kernel &kernel, const Launch &launch, const Limits &limits) {
  const Function &function = *kernel.function;
  if (launch.grid.count() == 0 || launch.block.count() == 0)
    return makeError("expected a grid and blocks of at least 1 in each dimension, found a grid of ",
                     launch.grid.x, " x ", launch.grid.y, " x ", launch.grid.z, " blocks of ",
                     launch.block.x, " x ", launch.block.y, " x ", launch.block.z);
  if (launch.grid.x > INT32_MAX || launch.grid.y > UINT16_MAX || launch.grid.z > UINT16_MAX)
    return makeError("expected a grid of at most 2147483647 x 65535 x 65535 blocks, found ",
                     launch.grid.x, " x ", launch.grid.y, " x ", launch.grid.z);
  if (std::max({launch.block.x, launch.block.y, launch.block.z}) > limits.threadsPerBlock ||
      launch.block.count() > limits.threadsPerBlock)
    return makeError("expected at most ", limits.threadsPerBlock, " threads a block, found ",
                     launch.block.count());
  if (Status s = checkBlock(function, launch); !s)
    return s;
  const uint64_t shared = uint64_t(kernel.dynamicShared) + launch.dynamicShared;
  if (std::max<uint64_t>(shared, kernel.staticShared) > limits.sharedPerBlock)
    return makeError("kernel '", function.name, "' needs ", shared,
                     " bytes of shared memory a block, and the device has ", limits.sharedPerBlock);
  if (launch.parameters.size() != function.parameters.size())
    return makeError("kernel '", function.name, "' takes ", function.parameters.size(),
                     " arguments, found ", launch.parameters.size());
  for (size_t i = 0; i < function.parameters.size(); ++i)
    if (launch.parameters[i].size() != function.parameters[i].bytes)
      return makeError("argument ", i, " of kernel '", function.name, "' has ",
                       function.parameters[i].bytes, " bytes, found ", launch.parameters[i].size());
  return Status::success();
}

} // namespace

Status LoadedModule::run(std::string_view name, const Launch &launch, const Limits &limits) const {
  const Kernel *found = kernel(name);
  if (!found) {
    std::string known;
    for (const auto &[each, unused] : kernels)
      known += (known.empty() ? "" : ", ") + each;
    return makeError("'", name, "' is not a kernel of ", parsed->file, ", which has ", known);
  }
  if (Status s = checkLaunch(*found, launch, limits); !s)
    return s;
  Status status = Status::success();
  try {
    Run grid(*found, launch, limits, memory, constants);
    try {
      grid.execute();
    } catch (const Fault &fault) {
      const int line = fault.line ? fault.line : found->function->line;
      const std::string source = parsed->sourceOf(line);
      status = makeError(std::string(name), ": ", fault.message,
                         source.empty() ? "" : " (line " + source + " of the source)")
                   .at(parsed->file + ":" + std::to_string(line))
                   .of(ErrorKind::Compile);
    }
    executed += grid.executed;
    for (const auto &[line, counts] : grid.counts) {
      LineCounts &sum = counted[line];
      sum.wavefronts += counts.wavefronts, sum.leastWavefronts += counts.leastWavefronts;
      sum.sectors += counts.sectors, sum.leastSectors += counts.leastSectors;
    }
  } catch (const std::bad_alloc &) {
    status = makeError("no memory to run kernel '", name, "'").of(ErrorKind::Memory);
  }
  return status;
}

std::vector<LineCounts> LoadedModule::takeCounts() const {
  for (const auto &[name, kernel] : kernels)
    for (const auto &code : kernel->codes)
      for (unsigned warp = 0; warp < kWarpsOfCta; ++warp)
        for (size_t i = 0; i < code->steps.size(); ++i)
          if (const uint64_t executions = std::exchange(code->executionsOf(warp)[i], 0)) {
            LineCounts &counts = counted[code->steps[i].line];
            counts.executions += executions;
            counts.warps.resize(std::max<size_t>(counts.warps.size(), warp + 1));
            counts.warps[warp] += executions;
          }
  std::vector<LineCounts> result;
  for (auto &[line, counts] : counted) {
    counts.line = line;
    result.push_back(counts);
  }
  counted.clear();
  return result;
}

} // namespace pe::ptx
