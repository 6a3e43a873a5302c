//===- SharedShadow.cpp - Who touched shared memory last ------------------===//
#include "runtime/device/emulator/SharedShadow.h"

namespace pe::emulator {

namespace {

bool isOrdered(const Moment &before, const Moment &now) {
  if (before.thread < 0 || before.thread == now.thread || before.barriers < now.barriers)
    return true;
  return before.thread / 32 == now.thread / 32 && before.warpSyncs < now.warpSyncs;
}

std::string describe(const char *what, const Moment &before, const Moment &now) {
  return "race: thread " + std::to_string(now.thread) + " " + what + " thread " +
         std::to_string(before.thread) + " in shared memory without a barrier between them";
}

} // namespace

std::string SharedShadow::access(int64_t offset, int64_t bytes, bool isWrite, const Moment &now) {
  for (int64_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i) {
    Word &word = words[i];
    if (word.isPending)
      return "thread " + std::to_string(now.thread) + (isWrite ? " overwrites" : " reads") +
             " what an asynchronous copy has not delivered yet";
    if (!isOrdered(word.write, now))
      return describe(isWrite ? "overwrites what was written by" : "reads what was written by",
                      word.write, now);
    if (!isWrite) {
      // Of simultaneous readers in different warps the first is kept; the flag says that there are
      // more.
      const bool isSameTime = word.read.thread >= 0 && word.read.barriers == now.barriers;
      word.hasMoreReaders = isSameTime && (word.hasMoreReaders || word.read.thread != now.thread);
      if (!isSameTime || word.read.thread / 32 == now.thread / 32)
        word.read = now;
      continue;
    }
    const bool hasOther = word.hasMoreReaders && word.read.barriers == now.barriers &&
                          word.read.warpSyncs == now.warpSyncs;
    if (!isOrdered(word.read, now) || hasOther)
      return describe("overwrites what was read by", word.read, now);
    word.write = now;
    word.read = Moment();
    word.hasMoreReaders = false;
  }
  return "";
}

void SharedShadow::setPending(int64_t offset, int64_t bytes, bool isPending) {
  for (int64_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i)
    words[i].isPending = isPending;
}

} // namespace pe::emulator
