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
/// The uses of an element type: arithmetic of `pe` on floating-point elements, buffers of compiled
/// plans, and the compute types that round the operands of contractions.
enum DTypeUse : uint8_t { kFloating = 1, kPlanned = 2, kNarrow = 4 };

struct DTypeEntry {
  std::string_view name;
  size_t size;
  std::string_view safetensors; ///< The format's name; empty for a type that files cannot contain.
  uint8_t uses = 0;
};
/// In the order of the enumeration. The only list of element types in C++ other than the constants
/// of pe-c.h; python/pe_attention/_dtypes.py is its counterpart.
inline constexpr DTypeEntry kDTypes[] = {
    {"f32", 4, "F32", kFloating | kPlanned},
    {"f64", 8, "F64", kFloating | kPlanned},
    {"bf16", 2, "BF16", kFloating | kPlanned | kNarrow},
    {"f16", 2, "F16", kFloating | kPlanned | kNarrow},
    {"i64", 8, "I64", kPlanned},
    {"i32", 4, "I32", kPlanned},
    {"i16", 2, "I16"},
    {"i8", 1, "I8"},
    {"u64", 8, "U64"},
    {"u32", 4, "U32"},
    {"u16", 2, "U16"},
    {"u8", 1, "U8"},
    {"bool", 1, "BOOL"},
    {"f8e4m3", 1, "F8_E4M3"},
    {"f8e5m2", 1, "F8_E5M2"},
    {"c64", 8, "C64"},
    {"tf32", 4, "", kNarrow},
};
static_assert(std::size(kDTypes) == static_cast<size_t>(DType::TF32) + 1);

constexpr bool isUsed(DType dtype, DTypeUse use) {
  return kDTypes[static_cast<size_t>(dtype)].uses & use;
}

/// Returns the type whose `field` is `name`; the error lists all names.
inline Expected<DType> findDType(std::string_view DTypeEntry::*field, std::string_view name) {
  std::string known;
  for (size_t i = 0; i < std::size(kDTypes); ++i) {
    const std::string_view entry = kDTypes[i].*field;
    if (entry.empty())
      continue;
    if (entry == name)
      return static_cast<DType>(i);
    known += (known.empty() ? "" : ", ") + std::string(entry);
  }
  return makeError("expected an element type (", known, "), found '", name, "'");
}
} // namespace detail

/// Returns the size of one element in bytes.
constexpr size_t sizeOf(DType dtype) { return detail::kDTypes[static_cast<size_t>(dtype)].size; }

/// Returns pe's name of a type: "f32", "bf16", "i64" ...
constexpr std::string_view nameOf(DType dtype) {
  return detail::kDTypes[static_cast<size_t>(dtype)].name;
}

/// Returns the type that nameOf calls `name`; the error lists all names.
inline Expected<DType> parseDType(std::string_view name) {
  return detail::findDType(&detail::DTypeEntry::name, name);
}

/// Returns true for f32, f64, bf16 and f16.
constexpr bool isFloating(DType dtype) { return detail::isUsed(dtype, detail::kFloating); }

/// Returns true for the element types of buffers of compiled plans: f32, f64, bf16, f16, i64, i32.
constexpr bool isPlanned(DType dtype) { return detail::isUsed(dtype, detail::kPlanned); }

/// Returns true for the compute types that round the operands of contractions: bf16, f16 and tf32.
constexpr bool isNarrow(DType dtype) { return detail::isUsed(dtype, detail::kNarrow); }

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
