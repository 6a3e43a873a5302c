//===- TestKernels.h - Short kernels for tests of the PTX machine ---*- C++ -*-===//

#ifndef PE_TEST_RUNTIME_PTX_TESTKERNELS_H
#define PE_TEST_RUNTIME_PTX_TESTKERNELS_H

#include "runtime/ptx/LoadedModule.h"

#include <cstring>
#include <gtest/gtest.h>

namespace pe::ptx::test {

/// A kernel `k` of two pointers, p and q. Its body begins on line 2 of the text. On entry, %t is
/// the thread, %p and %q are the pointers, %pt and %qt those to the word of the thread; %r, %f, %d,
/// %a, %h and %c are registers of type .b32, .f32, .f64, .b64, .b16 and .pred.
inline std::string kernelOf(const std::string &body, const std::string &before = "") {
  return ".version 8.0 .target sm_90a .address_size 64 " + before +
         " .visible .entry k(.param .u64 pp, .param .u64 qq) { .reg .b32 %t; .reg .b64 %p, %q, "
         "%pt, %qt; .reg .b32 %r<64>; .reg .f32 %f<64>; .reg .f64 %d<64>; .reg .b64 %a<64>; "
         ".reg .b16 %h<16>; .reg .pred %c<16>; mov.u32 %t, %tid.x; ld.param.u64 %p, [pp]; "
         "ld.param.u64 %q, [qq]; mad.wide.u32 %pt, %t, 4, %p; mad.wide.u32 %qt, %t, 4, %q;\n" +
         body + "\nret;\n}\n";
}

inline Launch blockOf(uint32_t threads, uint32_t grid = 1) {
  Launch launch;
  launch.grid = {grid, 1, 1};
  launch.block = {threads, 1, 1};
  return launch;
}

struct Result {
  std::string error; // "k.ptx:3: message", or empty
  std::vector<uint32_t> words;
};

inline std::string textOf(const Error &error) {
  return error.getLocation() + ": " + error.getMessage();
}

/// Runs the kernel `k` of `text`. p has `count` words, filled with 0xFF, and q the words `in`.
inline Result runText(const std::string &text, Launch launch, size_t count,
                      std::vector<uint32_t> in = {0}) {
  Memory memory;
  const uint64_t out = memory.allocate(count * 4);
  memory.adopt(reinterpret_cast<uint64_t>(in.data()), in.size() * 4);
  auto loaded = LoadedModule::load(text, "k.ptx", memory);
  if (!loaded)
    return {textOf(loaded.error()), {}};
  if (launch.parameters.empty()) {
    launch.setParameter(0, out);
    launch.setParameter(1, in.data());
  }
  Result result;
  if (Status status = (*loaded)->run("k", launch); !status)
    result.error = textOf(status.error());
  result.words.resize(count);
  std::memcpy(result.words.data(), reinterpret_cast<const void *>(out), count * 4);
  return result;
}

inline Result run(const std::string &body, Launch launch = blockOf(32), size_t count = 32,
                  std::vector<uint32_t> in = {0}) {
  return runText(kernelOf(body), std::move(launch), count, std::move(in));
}

/// Runs a body, expects that it succeeds and returns p.
inline std::vector<uint32_t> words(const std::string &body, Launch launch = blockOf(32),
                                   size_t count = 32, std::vector<uint32_t> in = {0}) {
  Result result = run(body, std::move(launch), count, std::move(in));
  EXPECT_EQ(result.error, "") << body;
  result.words.resize(count);
  return result.words;
}

/// Returns the message of a body that is refused or fails.
inline std::string failure(const std::string &body, Launch launch = blockOf(32)) {
  return run(body, std::move(launch), 4096).error;
}

/// Ends bodies that leave their result in %r1.
inline const std::string store = "\nst.global.b32 [%pt], %r1;";

/// Expects %r1 to be expected(thread).
template <typename Function>
void expectThreads(const std::string &body, Function expected, uint32_t threads = 32) {
  const std::vector<uint32_t> found = words(body + store, blockOf(threads), threads);
  for (uint32_t i = 0; i < threads; ++i)
    EXPECT_EQ(found[i], uint32_t(expected(i))) << body << " thread " << i;
}

/// Thread i reads what thread i ^ 32 has written.
inline const std::string exchange =
    ".shared .align 4 .b8 s[1024]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; xor.b32 %r4, %t, "
    "32; mad.lo.u32 %r4, %r4, 4, %r2;\nst.shared.b32 [%r3], %t;\n";

} // namespace pe::ptx::test

#define EXPECT_CONTAINS(text, part)                                                                \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "found: " << (text)

#endif // PE_TEST_RUNTIME_PTX_TESTKERNELS_H
