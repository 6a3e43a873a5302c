//===- CpuInfo.cpp - Properties of the host processor ---------------------===//

#include "runtime/device/cpu/CpuInfo.h"

#include <algorithm>
#include <cpuid.h>
#include <cstring>
#include <fstream>
#include <sched.h>

namespace pe::cpu {

static std::string brandString() {
  unsigned words[12] = {};
  unsigned highest = __get_cpuid_max(0x80000000u, nullptr);
  if (highest < 0x80000004u)
    return "unknown x86-64 processor";
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                &words[4 * i + 3]);
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  std::string name = text;
  const size_t first = name.find_first_not_of(' ');
  const size_t last = name.find_last_not_of(' ');
  return first == std::string::npos ? "unknown x86-64 processor"
                                    : name.substr(first, last - first + 1);
}

/// Returns family, model and stepping, which distinguish processors with the same brand string.
static std::string signature() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  const unsigned family = ((a >> 8) & 15) + ((a >> 20) & 255);
  const unsigned model = ((a >> 4) & 15) | ((a >> 12) & 0xF0);
  return "family " + std::to_string(family) + " model " + std::to_string(model) + " stepping " +
         std::to_string(a & 15);
}

static CpuInfo detect() {
  CpuInfo info;
  info.name = brandString() + " (" + signature() + ")";
  // The builtin also checks that the operating system saves the wide registers.
  __builtin_cpu_init();
  const bool hasAvx512Bf16 = __builtin_cpu_supports("avx512bf16");
  if (__builtin_cpu_supports("x86-64-v4"))
    info.machine = plan::findMachine(hasAvx512Bf16 ? "x86-64-v4+avx512bf16" : "x86-64-v4");
  else if (__builtin_cpu_supports("x86-64-v3"))
    info.machine = plan::findMachine("x86-64-v3");
  const auto add = [&](bool present, const char *name) {
    if (present)
      info.features.push_back(name);
  };
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512dq"), "avx512dq");
  add(__builtin_cpu_supports("avx512vl"), "avx512vl");
  add(__builtin_cpu_supports("avx512vbmi"), "avx512vbmi");
  add(__builtin_cpu_supports("avx512vnni"), "avx512vnni");
  add(hasAvx512Bf16, "avx512bf16");
  return info;
}

const CpuInfo &hostCpu() {
  static const CpuInfo info = detect();
  return info;
}

std::string CpuInfo::fingerprint() const {
  std::string text = name;
  for (const std::string &feature : features)
    text += " +" + feature;
  return text;
}

std::string CpuInfo::level() const { return machine ? std::string(machine->name) : "x86-64"; }

const plan::Machine *machineOf(const std::string &features) {
  if (features.empty())
    return hostCpu().machine;
  const plan::Machine *machine = plan::findMachine(features);
  return machine && !machine->isGpu ? machine : nullptr;
}

/// Returns the number of cores that the control group quota allows, rounded up, or a large number
/// if there is no quota.
static int quotaCores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0)
    return 1 << 20;
  char *end = nullptr;
  const double limit = std::strtod(quota.c_str(), &end);
  if (end == quota.c_str() || limit <= 0)
    return 1 << 20;
  return std::max(1, static_cast<int>((limit + period - 1) / period));
}

int usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 1;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0)
    cores = std::max(1, CPU_COUNT(&set));
  return std::min(cores, quotaCores());
}

} // namespace pe::cpu
