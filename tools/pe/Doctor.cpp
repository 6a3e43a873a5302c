//===- Doctor.cpp - pe doctor ---===//
#include "runtime/api/Compiler.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/Device.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"

#include <nlohmann/json.hpp>

namespace pe::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The properties of the machine. `problems` lists the reasons why pe cannot work.
struct Findings {
  Json json;
  std::vector<std::string> problems;
};

void findCpu(Findings &found) {
  const cpu::CpuInfo &host = cpu::hostCpu();
  found.json["cpu"] = {{"name", host.name}, {"kernels", host.level()}};
  if (!host.machine) {
    found.problems.emplace_back("pe needs AVX2 and FMA (x86-64-v3)");
    found.json["cpu"]["problem"] = found.problems.back();
    return;
  }
  cpu::ThreadPool pool;
  found.json["cpu"]["threads"] = pool.threads();
  found.json["cpu"]["peak_gflops"] = cpu::measureProductPeak(pool, host.machine);
}

void findCompiler(Findings &found) {
  if (auto jit = api::Compiler::instance().jitProvider().get()) {
    found.json["compiler"] = {{"library", "libpe-jit"}, {"llvm", (*jit)->llvmVersion()}};
    return;
  } else {
    found.problems.push_back(jit.error().getMessage());
  }
  found.json["compiler"] = {{"problem", found.problems.back()}};
}

void findCache(Findings &found) {
  const api::DiskCache &cache = api::Compiler::instance().diskCache();
  const api::DiskCache::Usage usage = cache.usage();
  found.json["cache"] = {{"folder", cache.getDirectory()},
                         {"entries", usage.entries},
                         {"bytes", usage.bytes},
                         {"writable", usage.writable}};
}

void findGpu(Findings &found) {
  auto device = cuda::Device::open();
  if (!device) {
    found.json["gpu"] = {{"none", device.error().getMessage()}};
    return;
  }
  const int version = (*device)->driver.version;
  found.json["gpu"] = {
      {"name", (*device)->name},
      {"chip", (*device)->chip()},
      {"multiprocessors", (*device)->multiprocessors},
      {"cuda", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)}};
}

void print(const Json &found) {
  const auto text = [](const Json &of, const char *key) { return of[key].get<std::string>(); };
  const Json &cpu = found["cpu"], &compiler = found["compiler"], &cache = found["cache"],
             &gpu = found["gpu"];
  std::printf("cpu        %s, kernels for %s\n", text(cpu, "name").c_str(),
              text(cpu, "kernels").c_str());
  if (cpu.contains("problem"))
    std::printf("           problem: %s\n", text(cpu, "problem").c_str());
  else
    std::printf("threads    %d; measured FMA peak %.0f GFLOP/s (fp32, all of them)\n",
                cpu["threads"].get<int>(), cpu["peak_gflops"].get<double>());
  if (compiler.contains("problem"))
    std::printf("compiler   problem: %s\n", text(compiler, "problem").c_str());
  else
    std::printf("compiler   libpe-jit with LLVM %s\n", text(compiler, "llvm").c_str());
  std::printf("cache      %s: %llu entries, %.1f MB%s\n", text(cache, "folder").c_str(),
              cache["entries"].get<unsigned long long>(), cache["bytes"].get<double>() * 1e-6,
              cache["writable"].get<bool>() ? "" : "; not usable: every start compiles again");
  if (gpu.contains("none"))
    std::printf("gpu        none: %s\n", text(gpu, "none").c_str());
  else
    std::printf("gpu        %s (%s), %d multiprocessors, driver for CUDA %s\n",
                text(gpu, "name").c_str(), text(gpu, "chip").c_str(),
                gpu["multiprocessors"].get<int>(), text(gpu, "cuda").c_str());
  std::printf("%s\n", found["ready"].get<bool>() ? "ready" : "not ready");
}

int runDoctor(bool asJson) {
  Findings found;
  findCpu(found);
  findCompiler(found);
  findCache(found);
  findGpu(found);
  found.json["ready"] = found.problems.empty();
  if (asJson)
    std::printf("%s\n", found.json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  else
    print(found.json);
  return found.problems.empty() ? 0 : 1;
}

} // namespace

Action addDoctor(CLI::App &app) {
  auto json = std::make_shared<bool>(false);
  addSwitch(app, "--json", *json, "Print JSON");
  app.footer("The exit status is 1 if pe is not ready.");
  return [json] { return runDoctor(*json); };
}

} // namespace pe::cli
