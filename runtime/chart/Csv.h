//===- Csv.h - Comma-separated values ---------------------------*- C++ -*-===//
//
// Writes comma-separated values with a header line. Numbers are written with the fewest digits that
// parse to the same double.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_CSV_H
#define PE_RUNTIME_CHART_CSV_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace pe::chart {

class Csv {
public:
  using Cell = std::variant<std::string, int64_t, double>;

  explicit Csv(const std::vector<std::string> &columns);
  /// Adds a row, with one cell per column.
  void add(const std::vector<Cell> &row);
  const std::string &text() const { return out; }

private:
  std::string out;
};

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_CSV_H
