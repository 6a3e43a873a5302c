//===- SharedShadow.h - Who touched shared memory last ----------*- C++ -*-===//
//
// Two threads of a CTA that touch the same word, one of them writing, must be ordered: by a barrier
// of the CTA, or by a warp synchronisation when they are in one warp. For every four-byte word this
// keeps the last writer and the last reader, with the numbers of barriers passed at that time.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_EMULATOR_SHAREDSHADOW_H
#define PE_RUNTIME_DEVICE_EMULATOR_SHAREDSHADOW_H

#include <cstdint>
#include <string>
#include <vector>

namespace pe::emulator {

/// A thread and how many barriers its CTA and synchronisations its warp had passed.
struct Moment {
  int32_t thread = -1;
  uint32_t barriers = 0;
  uint32_t warpSyncs = 0;
};

class SharedShadow {
public:
  void reset(int64_t bytes) { words.assign((bytes + 3) / 4, Word()); }
  /// An error text if the access races with an earlier one, else empty.
  std::string access(int64_t offset, int64_t bytes, bool isWrite, const Moment &now);
  /// An asynchronous copy to these bytes is in flight, or has landed.
  void setPending(int64_t offset, int64_t bytes, bool isPending);

private:
  struct Word {
    Moment write, read;
    bool isPending = false;
    /// Several threads read at the time of `read`, which names one of them.
    bool hasMoreReaders = false;
  };
  std::vector<Word> words;
};

} // namespace pe::emulator

#endif // PE_RUNTIME_DEVICE_EMULATOR_SHAREDSHADOW_H
