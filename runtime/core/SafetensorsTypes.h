//===- SafetensorsTypes.h - Element types of safetensors --------*- C++ -*-===//
//
// Maps the type names of the format to DType, for the reader and the writer.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_SAFETENSORSTYPES_H
#define PE_RUNTIME_CORE_SAFETENSORSTYPES_H

#include "pe/DType.h"

#include <string>
#include <string_view>

namespace pe {

struct SafetensorsType {
  std::string_view name;
  DType dtype;
};

inline constexpr SafetensorsType kSafetensorsTypes[] = {
    {"F32", DType::F32},   {"F64", DType::F64},        {"BF16", DType::BF16},
    {"F16", DType::F16},   {"I64", DType::I64},        {"I32", DType::I32},
    {"I16", DType::I16},   {"I8", DType::I8},          {"U64", DType::U64},
    {"U32", DType::U32},   {"U16", DType::U16},        {"U8", DType::U8},
    {"BOOL", DType::Bool}, {"F8_E4M3", DType::F8E4M3}, {"F8_E5M2", DType::F8E5M2},
    {"C64", DType::C64}};

inline const SafetensorsType *findSafetensorsType(std::string_view name) {
  for (const SafetensorsType &type : kSafetensorsTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

inline std::string safetensorsTypeNames() {
  std::string names;
  for (const SafetensorsType &type : kSafetensorsTypes)
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

inline std::string_view safetensorsName(DType dtype) {
  for (const SafetensorsType &type : kSafetensorsTypes)
    if (type.dtype == dtype)
      return type.name;
  return {};
}

} // namespace pe

#endif // PE_RUNTIME_CORE_SAFETENSORSTYPES_H
