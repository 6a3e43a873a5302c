//===- Csv.h - The numbers of a chart as text -------------------*- C++ -*-===//
//
// Comma-separated values with a header line. Numbers are the shortest texts that are read back as
// the same double.
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
  /// As many cells as there are columns.
  void add(const std::vector<Cell> &row);
  const std::string &text() const { return out; }

private:
  std::string out;
};

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_CSV_H
