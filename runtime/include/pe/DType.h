//===- DType.h - Element types ----------------------------------*- C++ -*-===//
//
// The element types a tensor can have. Kernels compute with f32, f64, bf16, f16, i32 and i64; the
// others exist so that files holding them can be read and copied bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef PE_DTYPE_H
#define PE_DTYPE_H

#include "pe/Error.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pe {

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
};

/// Bytes of one element.
size_t sizeOf(DType dtype);
/// pe's spelling: "f32", "bf16", "i64" ...
std::string_view nameOf(DType dtype);
/// The type spelled `name` by nameOf; an error lists the spellings.
Expected<DType> parseDType(std::string_view name);
/// f32, f64, bf16 or f16.
bool isFloating(DType dtype);

/// The DType of a C++ element type: dtypeOf<float>() == DType::F32.
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
