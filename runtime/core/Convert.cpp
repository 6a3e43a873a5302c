//===- Convert.cpp - Conversions of tensors between element types ---------===//

#include "runtime/core/DType.h"
#include "runtime/core/Tensor.h"

#include <limits>

namespace pe {
namespace {

/// Returns element i of a contiguous floating tensor.
double readFloating(const Tensor &t, int64_t i) {
  switch (t.dtype()) {
  case DType::F32:
    return t.data<float>()[i];
  case DType::F64:
    return t.data<double>()[i];
  case DType::BF16:
    return bf16ToFloat(static_cast<const uint16_t *>(t.rawData())[i]);
  default:
    return f16ToFloat(static_cast<const uint16_t *>(t.rawData())[i]);
  }
}

void writeFloating(Tensor &t, int64_t i, double value) {
  switch (t.dtype()) {
  case DType::F32:
    t.data<float>()[i] = static_cast<float>(value);
    return;
  case DType::F64:
    t.data<double>()[i] = value;
    return;
  case DType::BF16:
    static_cast<uint16_t *>(t.rawData())[i] = floatToBf16(static_cast<float>(value));
    return;
  default:
    static_cast<uint16_t *>(t.rawData())[i] = floatToF16(static_cast<float>(value));
  }
}

using Wide = __int128;

bool isInteger(DType dtype) { return dtype >= DType::I64 && dtype <= DType::Bool; }

template <typename T> Wide readAs(const Tensor &t, int64_t i) {
  return static_cast<const T *>(t.rawData())[i];
}

Wide readInteger(const Tensor &t, int64_t i) {
  switch (t.dtype()) {
  case DType::I64:
    return readAs<int64_t>(t, i);
  case DType::I32:
    return readAs<int32_t>(t, i);
  case DType::I16:
    return readAs<int16_t>(t, i);
  case DType::I8:
    return readAs<int8_t>(t, i);
  case DType::U64:
    return readAs<uint64_t>(t, i);
  case DType::U32:
    return readAs<uint32_t>(t, i);
  case DType::U16:
    return readAs<uint16_t>(t, i);
  default:
    return readAs<uint8_t>(t, i);
  }
}

template <typename T> bool writeAs(Tensor &t, int64_t i, Wide value) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
    return false;
  static_cast<T *>(t.rawData())[i] = static_cast<T>(value);
  return true;
}

bool writeInteger(Tensor &t, int64_t i, Wide value) {
  switch (t.dtype()) {
  case DType::I64:
    return writeAs<int64_t>(t, i, value);
  case DType::I32:
    return writeAs<int32_t>(t, i, value);
  case DType::I16:
    return writeAs<int16_t>(t, i, value);
  case DType::I8:
    return writeAs<int8_t>(t, i, value);
  case DType::U64:
    return writeAs<uint64_t>(t, i, value);
  case DType::U32:
    return writeAs<uint32_t>(t, i, value);
  case DType::U16:
    return writeAs<uint16_t>(t, i, value);
  default:
    return writeAs<uint8_t>(t, i, value);
  }
}

} // namespace

Expected<Tensor> convert(const Tensor &source, DType dtype) {
  if (source.dtype() == dtype)
    return source.contiguous();
  const bool floating = isFloating(source.dtype()) && isFloating(dtype);
  if (!floating && !(isInteger(source.dtype()) && isInteger(dtype)))
    return makeError("cannot convert ", nameOf(source.dtype()), " to ", nameOf(dtype),
                     ": expected two floating or two integer types");
  Expected<Tensor> result = Tensor::allocate(dtype, source.shape());
  if (!result)
    return result;
  const Tensor packed = source.contiguous();
  for (int64_t i = 0, count = packed.numel(); i < count; ++i) {
    if (floating)
      writeFloating(*result, i, readFloating(packed, i));
    else if (!writeInteger(*result, i, readInteger(packed, i)))
      return makeError("expected values that fit in ", nameOf(dtype), ", found ",
                       static_cast<double>(readInteger(packed, i)), " at element ", i);
  }
  return result;
}

Expected<std::vector<double>> toDoubles(const Tensor &source) {
  if (!isFloating(source.dtype()) && !isInteger(source.dtype()))
    return makeError("expected a floating or integer tensor, found ", nameOf(source.dtype()));
  const Tensor packed = source.contiguous();
  std::vector<double> values(static_cast<size_t>(packed.numel()));
  for (int64_t i = 0, count = packed.numel(); i < count; ++i)
    values[static_cast<size_t>(i)] = isFloating(packed.dtype())
                                         ? readFloating(packed, i)
                                         : static_cast<double>(readInteger(packed, i));
  return values;
}

} // namespace pe
