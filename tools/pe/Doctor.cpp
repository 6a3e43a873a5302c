//===- Doctor.cpp - pe doctor ---===//
#include "runtime/api/Compiler.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "tools/pe/Commands.h"

#include <dlfcn.h>

namespace pe::cli {

static int runDoctor() {
  int problems = 0;
  const cpu::CpuInfo &host = cpu::hostCpu();
  std::printf("cpu        %s, kernels for %s\n", host.name.c_str(), cpu::nameOf(host.level));
  if (host.level == cpu::Level::Unsupported) {
    std::printf("           problem: pe needs AVX2 and FMA (x86-64-v3)\n");
    ++problems;
  } else {
    cpu::ThreadPool pool;
    std::printf("threads    %d; measured FMA peak %.0f GFLOP/s (fp32, all of them)\n",
                pool.threads(), cpu::measureFmaPeak(pool, host.level));
  }
  api::Compiler &compiler = api::Compiler::instance();
  if (auto jit = compiler.jitProvider().get()) {
    std::printf("compiler   libpe-jit with LLVM %s\n", (*jit)->llvmVersion().c_str());
  } else {
    std::printf("compiler   problem: %s\n", jit.error().getMessage().c_str());
    ++problems;
  }
  api::DiskCache::Usage usage = compiler.diskCache().usage();
  std::printf("cache      %s: %llu entries, %.1f MB%s\n", compiler.diskCache().getFolder().c_str(),
              static_cast<unsigned long long>(usage.entries), usage.bytes * 1e-6,
              usage.writable ? "" : "; not writable: every start compiles again");
  void *driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  std::printf("gpu        %s\n", driver ? "an NVIDIA driver is present; pe does not use it yet"
                                        : "no NVIDIA driver; pe runs on the CPU");
  if (driver)
    ::dlclose(driver);
  std::printf("%s\n", problems ? "not ready" : "ready");
  return problems ? 1 : 0;
}

Action addDoctor(CLI::App &) { return runDoctor; }

} // namespace pe::cli
