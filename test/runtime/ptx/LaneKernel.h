//===- LaneKernel.h - Kernels of a few instructions for tests ---*- C++ -*-===//
//
// Executes instructions on one element of each input per thread:
//
//   std::vector<uint32_t> sums = execute<uint32_t>("add.u32 %d, %a, %b;", left, right);
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_PTX_LANEKERNEL_H
#define PE_TEST_RUNTIME_PTX_LANEKERNEL_H

#include "runtime/ptx/LoadedModule.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace pe::ptx::test {

/// The bytes of %d before the instructions.
inline constexpr uint8_t kUntouched = 0xA5;

inline std::string bits(size_t bytes) { return ".b" + std::to_string(bytes * 8); }

/// Returns a kernel with registers %d and %a, %b, %c, %e of the sizes given, predicates %p<9> and
/// %m, which holds in the lanes of the parameter `mask`, and temporary registers %r<9>, %rd<9>,
/// %h<9>.
inline std::string kernelText(const std::string &body, size_t result,
                              const std::vector<size_t> &inputs) {
  const std::string names = "abce";
  auto reg = [](size_t bytes) { return bits(std::max<size_t>(bytes, 2)); };
  std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 pd, .param .u32 mask";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += std::string(", .param .u64 p") + names[i];
  text += ")\n{\n.reg .pred %p<9>; .reg .pred %m; .reg .b16 %h<9>; .reg .b32 %r<9>;\n"
          ".reg .b64 %rd<9>; .reg .b32 %i, %j; .reg .b64 %at, %off;\n.reg " +
          reg(result) + " %d;\n";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += ".reg " + reg(inputs[i]) + " %" + names[i] + ";\n";
  text += "mov.u32 %i, %ctaid.x; mov.u32 %j, %laneid; shl.b32 %i, %i, 5; add.u32 %i, %i, %j;\n";
  auto address = [](const std::string &parameter, size_t bytes) {
    return "ld.param.u64 %at, [" + parameter + "]; mul.wide.u32 %off, %i, " +
           std::to_string(bytes) + "; add.u64 %at, %at, %off;\n";
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    text += address(std::string("p") + names[i], inputs[i]) + "ld.global" + bits(inputs[i]) + " %" +
            names[i] + ", [%at];\n";
  text += "ld.param.u32 %i, [mask]; shr.u32 %i, %i, %j; and.b32 %i, %i, 1;\n"
          "setp.ne.b32 %m, %i, 0;\nmov.u32 %i, %ctaid.x; shl.b32 %i, %i, 5; add.u32 %i, %i, %j;\n";
  text += address("pd", result) + "ld.global" + bits(result) + " %d, [%at];\n" + body + "\n" +
          "st.global" + bits(result) + " [%at], %d;\nret;\n}\n";
  return text;
}

/// Executes `body` for each index. The instructions may be guarded by @%m, which holds for `mask`.
template <typename D, typename... In>
std::vector<D> executeMasked(Lanes mask, const std::string &body, const std::vector<In> &...in) {
  const size_t count = std::max({in.size()...}), warps = (count + 31) / 32;
  Memory memory;
  auto loaded = LoadedModule::load(kernelText(body, sizeof(D), {sizeof(In)...}), "k.ptx", memory);
  if (!loaded) {
    ADD_FAILURE() << body << ": " << loaded.error().render("");
    return {};
  }
  Launch launch;
  launch.grid = {uint32_t(warps), 1, 1}, launch.block = {32, 1, 1};
  launch.schedule.loadsMayBeStale = false;
  const uint64_t out = memory.allocate(warps * 32 * sizeof(D));
  std::memset(reinterpret_cast<void *>(out), kUntouched, warps * 32 * sizeof(D));
  launch.setParameter(0, out);
  launch.setParameter(1, mask);
  size_t number = 2;
  auto pass = [&](const auto &values) {
    const size_t bytes = values.size() * sizeof(values[0]);
    const uint64_t address = memory.allocate(warps * 32 * sizeof(values[0]));
    std::memcpy(reinterpret_cast<void *>(address), values.data(), bytes);
    launch.setParameter(number++, address);
  };
  (pass(in), ...);
  if (Status status = (*loaded)->run("k", launch); !status)
    ADD_FAILURE() << body << ": " << status.error().render("");
  std::vector<D> results(count);
  std::memcpy(results.data(), reinterpret_cast<void *>(out), count * sizeof(D));
  return results;
}

template <typename D, typename... In>
std::vector<D> execute(const std::string &body, const std::vector<In> &...in) {
  return executeMasked<D>(kAllLanes, body, in...);
}

/// Returns the message with which a kernel is refused, or "".
inline std::string refusal(const std::string &body, std::vector<size_t> inputs = {4, 4, 4}) {
  Memory memory;
  auto loaded = LoadedModule::load(kernelText(body, 4, inputs), "k.ptx", memory);
  return loaded ? "" : loaded.error().getMessage();
}

/// Edge values and random bits of a type.
template <typename T> std::vector<T> samples(size_t random, unsigned seed = 1) {
  using Bits =
      std::conditional_t<sizeof(T) == 8, uint64_t,
                         std::conditional_t<sizeof(T) == 4, uint32_t,
                                            std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  std::vector<Bits> bits;
  const Bits top = Bits(Bits(1) << (sizeof(T) * 8 - 1));
  for (Bits each : {Bits(0), Bits(1), Bits(2), Bits(31), Bits(32), Bits(33), Bits(64)})
    bits.insert(bits.end(), {each, Bits(top | each), Bits(~each), Bits(top - each)});
  if constexpr (std::is_floating_point_v<T>)
    for (T each : {T(1), T(0.5), T(1.5), T(2.5), T(-0.7), T(3e9), T(-1e20), T(65519.99), T(127.5)})
      bits.push_back(std::bit_cast<Bits>(each));
  if constexpr (std::is_floating_point_v<T>)
    for (T each : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
                   std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                   std::numeric_limits<T>::denorm_min(), T(std::numeric_limits<T>::min() / 2)})
      bits.insert(bits.end(), {std::bit_cast<Bits>(each), std::bit_cast<Bits>(-each)});
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < random; ++i)
    bits.push_back(Bits(generator()));
  std::vector<T> result(bits.size());
  std::memcpy(result.data(), bits.data(), bits.size() * sizeof(T));
  return result;
}

/// All pairs of `values`: the first of each pair, or the second.
template <typename T, typename U>
std::pair<std::vector<T>, std::vector<U>> pairs(const std::vector<T> &left,
                                                const std::vector<U> &right) {
  std::pair<std::vector<T>, std::vector<U>> result;
  for (const T &a : left)
    for (const U &b : right) {
      result.first.push_back(a);
      result.second.push_back(b);
    }
  return result;
}

template <typename T> std::string typeName() {
  const std::string letter = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "s" : "u";
  return letter + std::to_string(sizeof(T) * 8);
}

/// Compares an instruction of two sources with a function, for all lanes and with partial masks.
template <typename D, typename A, typename B, typename Function>
void expectBinary(const std::string &instruction, Function function) {
  const auto [a, b] = pairs(samples<A>(20, 1), samples<B>(20, 2));
  const auto d = execute<D>(instruction + " %d, %a, %b;", a, b);
  const Lanes mask = 0x80F0A581;
  const auto masked = executeMasked<D>(mask, "@%m " + instruction + " %d, %a, %b;", a, b);
  D untouched;
  std::memset(&untouched, kUntouched, sizeof(D));
  ASSERT_EQ(d.size(), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const D expected = function(a[i], b[i]);
    ASSERT_EQ(std::memcmp(&d[i], &expected, sizeof(D)), 0)
        << instruction << ' ' << +a[i] << ' ' << +b[i] << " = " << +d[i] << ", not " << +expected;
    const D inMask = mask >> (i % 32) & 1 ? expected : untouched;
    ASSERT_EQ(std::memcmp(&masked[i], &inMask, sizeof(D)), 0) << instruction << " masked " << i;
  }
}

template <typename D, typename A, typename Function>
void expectUnary(const std::string &instruction, Function function) {
  const auto a = samples<A>(500);
  const auto d = execute<D>(instruction + " %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i) {
    const D expected = function(a[i]);
    ASSERT_EQ(std::memcmp(&d[i], &expected, sizeof(D)), 0)
        << instruction << ' ' << +a[i] << " = " << +d[i] << ", not " << +expected;
  }
}

} // namespace pe::ptx::test

#endif // PE_TEST_RUNTIME_PTX_LANEKERNEL_H
