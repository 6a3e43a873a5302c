//===- DType.h - Element types ----------------------------------*- C++ -*-===//
//
// The element types of tensors. Kernels compute with f32, f64, bf16, f16, i32 and i64; the other
// types exist so that files containing them can be read and copied bit for bit. tf32 is a compute
// type only: its tensors are f32, and the operands of contractions are rounded to ten mantissa bits
// (to nearest, ties away from zero).
//
//===----------------------------------------------------------------------===//

#ifndef PE_DTYPE_H
#define PE_DTYPE_H

#include "pe/Error.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace pe {

/// The type of an element.
enum class DType : uint8_t {
  F32,
  F64,
  BF16,
  F16,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool,
  F8E4M3,
  F8E5M2,
  C64,
  TF32,
};

namespace detail {
struct DTypeEntry {
  std::string_view name;
  size_t size;
};
/// In the order of the enumeration.
inline constexpr DTypeEntry kDTypes[] = {
    {"f32", 4},  {"f64", 8},    {"bf16", 2},   {"f16", 2}, {"i64", 8}, {"i32", 4},
    {"i16", 2},  {"i8", 1},     {"u64", 8},    {"u32", 4}, {"u16", 2}, {"u8", 1},
    {"bool", 1}, {"f8e4m3", 1}, {"f8e5m2", 1}, {"c64", 8}, {"tf32", 4}};
} // namespace detail

/// Returns the size of one element in bytes.
constexpr size_t sizeOf(DType dtype) { return detail::kDTypes[static_cast<size_t>(dtype)].size; }

/// Returns pe's name of a type: "f32", "bf16", "i64" ...
constexpr std::string_view nameOf(DType dtype) {
  return detail::kDTypes[static_cast<size_t>(dtype)].name;
}

/// Returns the type that nameOf calls `name`; the error lists all names.
inline Expected<DType> parseDType(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < std::size(detail::kDTypes); ++i) {
    if (detail::kDTypes[i].name == name)
      return static_cast<DType>(i);
    known += (i ? ", " : "") + std::string(detail::kDTypes[i].name);
  }
  return makeError("expected an element type (", known, "), found '", name, "'");
}

/// Returns true for f32, f64, bf16 and f16.
constexpr bool isFloating(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::BF16 || dtype == DType::F16;
}

/// Returns the element type of activation tensors for a compute type.
constexpr DType storageOf(DType computation) {
  return computation == DType::TF32 ? DType::F32 : computation;
}

/// Returns the DType of a C++ element type: dtypeOf<float>() == DType::F32.
template <typename T> constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<float>() { return DType::F32; }
template <> constexpr DType dtypeOf<double>() { return DType::F64; }
template <> constexpr DType dtypeOf<int64_t>() { return DType::I64; }
template <> constexpr DType dtypeOf<int32_t>() { return DType::I32; }
template <> constexpr DType dtypeOf<int16_t>() { return DType::I16; }
template <> constexpr DType dtypeOf<int8_t>() { return DType::I8; }
template <> constexpr DType dtypeOf<uint64_t>() { return DType::U64; }
template <> constexpr DType dtypeOf<uint32_t>() { return DType::U32; }
template <> constexpr DType dtypeOf<uint16_t>() { return DType::U16; }
template <> constexpr DType dtypeOf<uint8_t>() { return DType::U8; }

} // namespace pe

#endif // PE_DTYPE_H
