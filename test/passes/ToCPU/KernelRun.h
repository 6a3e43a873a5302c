//===- KernelRun.h - A compiled plan with guarded memory --------*- C++ -*-===//
//
// The options of pe-kernel-bench, a compiled plan, and one run of it: random inputs, buffers
// between inaccessible pages, and the calls of its stages.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_PASSES_TOCPU_KERNELRUN_H
#define PE_TEST_PASSES_TOCPU_KERNELRUN_H

#include "Peak.h"

#include "runtime/core/DType.h"
#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/cpu/ObjectLoader.h"

#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace pe::bench {

struct Options {
  std::map<std::string, std::string> text;
  int64_t number(const std::string &name, int64_t otherwise) const {
    auto found = text.find(name);
    return found == text.end() ? otherwise : std::atoll(found->second.c_str());
  }
  std::string get(const std::string &name, const std::string &otherwise) const {
    auto found = text.find(name);
    return found == text.end() ? otherwise : found->second;
  }
};

[[noreturn]] inline void die(const std::string &message) {
  std::fprintf(stderr, "pe-kernel-bench: %s\n", message.c_str());
  std::exit(1);
}

using Stage = void (*)(void *const *, const int64_t *, int64_t);

struct Program {
  plan::Plan plan;
  std::shared_ptr<cpu::LoadedCode> object;
  std::vector<Stage> stages;
  double compileSeconds = 0;
};

/// Memory between two inaccessible pages. It ends at the second page, up to 64 bytes, or begins
/// after the first.
class GuardedMemory {
public:
  GuardedMemory(int64_t bytes, bool atEnd) {
    int64_t inside = (bytes + kPage - 1) / kPage * kPage;
    length = inside + 2 * kPage;
    base = static_cast<char *>(
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED)
      die("cannot allocate memory");
    mprotect(base, kPage, PROT_NONE);
    mprotect(base + kPage + inside, kPage, PROT_NONE);
    data = base + kPage + (atEnd ? inside - (bytes + 63) / 64 * 64 : 0);
  }
  GuardedMemory(GuardedMemory &&other)
      : base(std::exchange(other.base, nullptr)), data(other.data), length(other.length) {}
  ~GuardedMemory() {
    if (base)
      munmap(base, length);
  }
  float *get() const { return reinterpret_cast<float *>(data); }

private:
  static constexpr int64_t kPage = 4096;
  char *base, *data;
  int64_t length;
};

/// Returns an element of a buffer.
inline double elementOf(const void *memory, DType dtype, int64_t i) {
  switch (dtype) {
  case DType::F64:
    return static_cast<const double *>(memory)[i];
  case DType::BF16:
    return bf16ToFloat(static_cast<const uint16_t *>(memory)[i]);
  case DType::F16:
    return f16ToFloat(static_cast<const uint16_t *>(memory)[i]);
  default:
    return static_cast<const float *>(memory)[i];
  }
}

/// Sets an element of an argument, rounded to the buffer's type.
inline void setElement(void *memory, DType dtype, int64_t i, float value) {
  if (dtype == DType::BF16)
    static_cast<uint16_t *>(memory)[i] = floatToBf16(value);
  else if (dtype == DType::F16)
    static_cast<uint16_t *>(memory)[i] = floatToF16(value);
  else
    static_cast<float *>(memory)[i] = value;
}

/// The memory and the calls of one compiled plan.
struct Run {
  const Program &program;
  plan::CallSizes sizes;
  plan::Frame frame;
  std::vector<GuardedMemory> memory;
  std::vector<int64_t> bytes, items;

  Run(const Program &program, const plan::CallSizes &sizes, const Options &options)
      : program(program), sizes(sizes),
        frame(*device::BoundPlan::create(program.plan)->frameOf(sizes)) {
    if (options.get("layout", "bhsd") == "bshd")
      for (size_t i = 0; i < frame.size(); ++i)
        setStride(i);
    int64_t seed = options.number("seed", 1);
    double spread = std::atof(options.get("spread", "1").c_str());
    auto values = sizes.values(program.plan.headDim, program.plan.valueDim);
    for (const plan::Buffer &buffer : program.plan.buffers) {
      int64_t count = 1;
      for (const std::string &extent : buffer.shape)
        count *= *plan::SizeExpression::parse(extent)->evaluate(values);
      bytes.push_back(count * sizeOf(buffer.dtype));
      memory.emplace_back(bytes.back(), options.get("memory", "end") == "end");
      // Reads of uninitialized memory yield NaN.
      std::memset(memory.back().get(), 0xff, bytes.back());
      if (buffer.role != plan::Role::Argument && buffer.role != plan::Role::Cotangent)
        continue;
      std::mt19937 random(seed + std::hash<std::string>()(buffer.name));
      std::normal_distribution<float> normal;
      bool parameter = !buffer.parameter.init.empty();
      // Weights of a network have any sign; parameters of a formula are usually positive.
      bool weight = parameter && (buffer.name[0] == 'w' || buffer.name[0] == 'b');
      for (int64_t i = 0; i < count; ++i)
        setElement(memory.back().get(), buffer.dtype, i,
                   weight      ? 0.5f * normal(random)
                   : parameter ? 0.3f * std::fabs(normal(random)) + 0.05f
                               : normal(random) * (buffer.name == "q" ? spread : 1));
    }
    auto evaluate = [&](const std::string &expression) {
      return *plan::SizeExpression::parse(expression)->evaluate(values);
    };
    for (const plan::Stage &stage : program.plan.stages) {
      const bool runs = stage.when.empty() || evaluate("max(0," + stage.when + ")") > 0;
      items.push_back(runs ? evaluate(stage.items) : 0);
    }
  }

  /// Sets a stride of a [B, H, S, D] view of [B, S, H, D] memory.
  void setStride(size_t index) {
    const plan::FrameWord &word = program.plan.frame[index];
    if (word.kind != plan::FrameWord::Kind::Stride)
      return;
    auto values = sizes.values(program.plan.headDim, program.plan.valueDim);
    const auto &shape = program.plan.buffers[program.plan.findBuffer(word.name)].shape;
    auto size = [&](int axis) {
      return *plan::SizeExpression::parse(shape[axis])->evaluate(values);
    };
    const int64_t strides[] = {size(1) * size(2) * size(3), size(3), size(1) * size(3)};
    frame[index] = strides[word.axis];
  }

  double stage(size_t index) const {
    const plan::Stage &stage = program.plan.stages[index];
    std::vector<void *> buffers;
    for (int buffer : stage.buffers)
      buffers.push_back(memory[buffer].get());
    double begin = now();
    for (int64_t item = 0; item < items[index]; ++item)
      program.stages[index](buffers.data(), frame.data(), item);
    return now() - begin;
  }

  /// `perStage` receives the time of every stage, in the order of the calls.
  double phase(bool backward,
               std::map<std::string, std::vector<double>> *perStage = nullptr) const {
    double begin = now();
    for (size_t i = 0; i < program.plan.buffers.size(); ++i) {
      if (!program.plan.buffers[i].zero)
        continue;
      // Residuals are cleared only before the forward call, other buffers before each call.
      if (program.plan.buffers[i].role != plan::Role::Residual || !backward)
        std::memset(memory[i].get(), 0, bytes[i]);
    }
    for (size_t i = 0; i < program.plan.stages.size(); ++i) {
      plan::Phase phase = program.plan.stages[i].phase;
      bool isBackward = phase == plan::Phase::Backward || phase == plan::Phase::Finish;
      if (isBackward != backward)
        continue;
      double seconds = stage(i);
      if (perStage)
        (*perStage)[program.plan.stages[i].symbol].push_back(seconds);
    }
    return now() - begin;
  }
};

} // namespace pe::bench

#endif // PE_TEST_PASSES_TOCPU_KERNELRUN_H
