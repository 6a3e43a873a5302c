//===- ReportJson.h - A reinit report as JSON -------------------*- C++ -*-===//
//
// The format of docs/contract.md, shared by the report file of `pe reinit` and the log of training.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_REPORTJSON_H
#define PE_RUNTIME_TRAIN_REINIT_REPORTJSON_H

#include "runtime/train/reinit/Reinit.h"

#include <nlohmann/json.hpp>

namespace pe::reinit {

inline nlohmann::ordered_json toJson(const MatrixReport &report) {
  return {{"name", report.name},  {"shape", report.shape},           {"chosen", report.chosen},
          {"why", report.why},    {"dfi_before", report.dfiBefore},  {"dfi_after", report.dfiAfter},
          {"sfe", report.sfe},    {"iterations", report.iterations}, {"rank", report.rank},
          {"scale", report.scale}};
}

/// For a tensor that was not examined, all values are null.
inline nlohmann::ordered_json toJson(const std::string &name, const std::vector<int64_t> &shape,
                                     const std::string &why) {
  nlohmann::ordered_json result = {
      {"name", name}, {"shape", shape}, {"chosen", false}, {"why", why}};
  for (const char *number : {"dfi_before", "dfi_after", "sfe", "iterations", "rank", "scale"})
    result[number] = nullptr;
  return result;
}

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_REPORTJSON_H
