//===- FakeDriver.h - A CUDA driver that tests observe ----------*- C++ -*-===//
//
// libpe-fake-cuda.so defines the functions of libcuda that pe uses ($PE_CUDA_DRIVER selects it). It
// counts the calls, makes chosen ones fail, and passes the others on to libpe-ptx-cuda.so, which
// executes the kernels on the host (runtime/device/ptx).
//
// $PE_FAKE_CUDA="version=11080,devices=0,capability=75,fail=cuMemAlloc_v2:2" changes its responses.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
#define PE_TEST_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace pe::test {

struct FakeLaunch {
  std::string kernel;
  unsigned grid = 0, threads = 0, sharedBytes = 0;
  int reservedBytes = 0; // by cuFuncSetAttribute
};

struct FakeState {
  std::set<uint64_t> allocations;
  std::vector<FakeLaunch> launches;
  /// The number of calls of each function.
  std::map<std::string, int> calls;
  /// Functions that fail, and their error codes.
  std::map<std::string, int> failures;
  /// The devices whose contexts were retained.
  std::vector<int> retained;
  /// All streams are being captured.
  bool isCapturing = false;
};

} // namespace pe::test

extern "C" pe::test::FakeState *peFakeState();

#endif // PE_TEST_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
