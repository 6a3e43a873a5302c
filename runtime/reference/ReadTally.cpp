//===- ReadTally.cpp - Counts of out-of-range reads -----------------------===//

#include "runtime/reference/ReadTally.h"

#include "pe/Error.h"

#include <algorithm>

namespace pe::reference {

std::string OutsideRead::message() const {
  const auto first = static_cast<int64_t>(least), last = static_cast<int64_t>(most);
  const std::string range =
      first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
  const std::string end = std::to_string(size - 1);
  const std::string form = first >= 0 ? "min(..., " + end + ")"
                           : last < 0 ? "max(..., 0)"
                                      : "clamp(..., 0, " + end + ")";
  return makeError("'", tensor, "' is read outside its ", size, " entries along axis ", axis,
                   " at ", count, " of ", evaluations, " ", unit, " (index ", range,
                   "; the nearest entry was used); write ", form, " if that is intended")
      .getMessage();
}

void ReadTally::addOutside(int root, int read, size_t axis, double index) {
  Entry &entry = outside.try_emplace({read, axis}, Entry{root, 0, index, index}).first->second;
  ++entry.count;
  entry.least = std::min(entry.least, index);
  entry.most = std::max(entry.most, index);
}

void ReadTally::accumulate(const ReadTally &other) {
  for (const auto &[root, count] : other.evaluations)
    evaluations[root] += count;
  for (const auto &[place, found] : other.outside) {
    Entry &entry =
        outside.try_emplace(place, Entry{found.root, 0, found.least, found.most}).first->second;
    entry.count += found.count;
    entry.least = std::min(entry.least, found.least);
    entry.most = std::max(entry.most, found.most);
  }
}

} // namespace pe::reference
