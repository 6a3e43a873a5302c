//===- FedData.cpp - The data that training feeds to an encoding ----------===//
#include "runtime/train/api/FedData.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

struct KnownData {
  std::string_view name;
  DType dtype;
  size_t rank;
  FedData kind;
};
constexpr KnownData kKnownData[] = {
    {"q_doc", DType::I32, 2, FedData::Documents},
    {"k_doc", DType::I32, 2, FedData::Documents},
    {"cu_seqlens", DType::I32, 1, FedData::Boundaries},
    {"kv_len", DType::I32, 1, FedData::Lengths},
    {"prefix", DType::I32, 1, FedData::Prefixes},
    {"q_pos", DType::I32, 2, FedData::Positions},
    {"k_pos", DType::I32, 2, FedData::Positions},
    {"cos", DType::F32, 2, FedData::Cosines},
    {"sin", DType::F32, 2, FedData::Sines},
    {"seed", DType::I64, 0, FedData::Seed},
    {"f", DType::F32, 3, FedData::Projected},
    {"key_bias", DType::F32, 2, FedData::Projected},
};

} // namespace

std::optional<FedData> findFedData(const ValueInfo &argument) {
  if (!argument.parameter.init.empty() && argument.dtype == DType::F32)
    return std::nullopt;
  for (const KnownData &known : kKnownData)
    if (known.name == argument.name && known.dtype == argument.dtype &&
        known.rank == argument.dims.size())
      return known.kind;
  return std::nullopt;
}

std::vector<std::string> namesOfFedData() {
  std::vector<std::string> names;
  for (const KnownData &known : kKnownData)
    names.emplace_back(known.name);
  return names;
}

ProjectedInput projectedInputOf(const ValueInfo &argument) {
  using Form = ProjectedInput::Form;
  return {argument.name, argument.name == "f" ? Form::LogGates : Form::Plain,
          argument.dims.size() == 3};
}

Tensor makeFedData(FedData kind, const AttentionInputs &in) {
  const int64_t tokens = in.batch * in.length;
  switch (kind) {
  case FedData::Documents:
    return Tensor::borrow(const_cast<int32_t *>(in.documents), DType::I32, {in.batch, in.length});
  case FedData::Prefixes:
    return Tensor::borrow(const_cast<int32_t *>(in.prefixes), DType::I32, {in.batch});
  case FedData::Boundaries: {
    std::vector<int32_t> starts = {0};
    for (int64_t i = 1; i < in.length; ++i)
      if (in.documents[i] != in.documents[i - 1])
        starts.push_back(static_cast<int32_t>(i));
    starts.push_back(static_cast<int32_t>(in.length));
    Tensor result = Tensor::empty(DType::I32, {static_cast<int64_t>(starts.size())});
    std::copy(starts.begin(), starts.end(), result.data<int32_t>());
    return result;
  }
  case FedData::Lengths: {
    Tensor result = Tensor::empty(DType::I32, {in.batch});
    std::fill_n(result.data<int32_t>(), in.batch, static_cast<int32_t>(in.length));
    return result;
  }
  case FedData::Positions: {
    Tensor result = Tensor::empty(DType::I32, {in.batch, in.length});
    for (int64_t i = 0; i < tokens; ++i)
      result.data<int32_t>()[i] = static_cast<int32_t>(i % in.length);
    return result;
  }
  case FedData::Cosines:
  case FedData::Sines: {
    const int64_t pairs = in.headDim / 2;
    Tensor result = Tensor::empty(DType::F32, {in.length, pairs});
    for (int64_t i = 0; i < in.length * pairs; ++i) {
      const double exponent = -2.0 * static_cast<double>(i % pairs) / in.headDim;
      const double angle = static_cast<double>(i / pairs) * std::pow(10000.0, exponent);
      result.data<float>()[i] =
          static_cast<float>(kind == FedData::Cosines ? std::cos(angle) : std::sin(angle));
    }
    return result;
  }
  case FedData::Seed: {
    Tensor result = Tensor::empty(DType::I64, {});
    *result.data<int64_t>() = static_cast<int64_t>(in.seed);
    return result;
  }
  case FedData::Projected:
    break;
  }
  return {};
}

} // namespace pe::train
