//===- FakeDriver.h - A fake CUDA driver for tests --------------*- C++ -*-===//
//
// libpe-fake-cuda.so defines the functions of libcuda that pe uses ($PE_CUDA_DRIVER selects it).
// Device memory is host memory. The work of a stream runs, in order, when the stream is
// synchronized, so that code that relies on it earlier fails. Kernels run through the `launcher`
// that a test installs.
//
// $PE_FAKE_CUDA="version=11080,devices=0,capability=75,fail=cuMemAlloc_v2:2" changes its responses.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
#define PE_TEST_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace pe::test {

/// Copies the arguments and returns the work of the launch, to run later.
using FakeLauncher =
    std::function<std::function<void()>(const std::string &kernel, unsigned grid, unsigned threads,
                                        unsigned sharedBytes, void **arguments)>;

struct FakeState {
  FakeLauncher launcher;
  std::map<uint64_t, size_t> allocations;
  /// The number of calls of each function.
  std::map<std::string, int> calls;
  /// Functions that fail, and their error codes.
  std::map<std::string, int> failures;
  std::map<std::string, int> reserved; // shared memory by kernel
};

} // namespace pe::test

extern "C" pe::test::FakeState *peFakeState();

#endif // PE_TEST_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
