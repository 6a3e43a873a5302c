//===- ProjectedInputs.cpp - Encoding inputs computed from the layer's input ---===//
//
// Projections, gates and prefix sums, forward and backward.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/ProjectedInputs.h"

#include <cmath>

namespace pe::train {
namespace {

using Form = ProjectedInput::Form;

double logSigmoid(double y) { return std::min(y, 0.0) - std::log1p(std::exp(-std::abs(y))); }
/// Returns its derivative, sigmoid(-y).
double sigmoidOfMinus(double y) { return 1 / (1 + std::exp(y)); }

/// Returns the value of one token before the prefix sum.
float valueOf(Form form, float y) {
  return form == Form::Plain ? y : static_cast<float>(logSigmoid(y));
}

void sumAlong(std::span<float> sequence) {
  double total = 0;
  for (float &value : sequence)
    value = static_cast<float>(total += value);
}

/// Returns the index of an element of a piece in the layout by head.
int64_t placeOf(const Piece &piece, int64_t row, int64_t column, int64_t width, int64_t length) {
  return (piece.sequence * width + column) * length + piece.position + row;
}

} // namespace

void applyForm(Form form, std::span<float> sequence) {
  for (float &value : sequence)
    value = valueOf(form, value);
  if (form == Form::LogGates)
    sumAlong(sequence);
}

ProjectedInputs::ProjectedInputs(const std::string &prefix, int64_t dim, int64_t heads,
                                 const std::vector<ProjectedInput> &list, ParameterLayout &layout) {
  for (const ProjectedInput &input : list) {
    const int64_t width = input.perHead ? heads : 1;
    const int64_t weights = layout.add(prefix + ".w_" + input.name, {width, dim}, Role::Gate);
    int64_t bias = -1;
    if (input.form == Form::LogGates) {
      const int64_t index = layout.add(prefix + ".b_" + input.name, {width}, Role::Gate);
      layout[index].decay = false;
      bias = layout[index].offset;
    }
    inputs.push_back(
        {input.form, width, {layout[weights].offset, width, dim}, bias, {}, {}, {}, {}});
  }
}

void ProjectedInputs::reserve(int64_t tokens) {
  for (Input &input : inputs)
    for (Tensor *tensor : {&input.rows, &input.dRows, &input.byHead, &input.dByHead})
      *tensor = Tensor::zeros(DType::F32, {tokens, input.width});
}

void ProjectedInputs::project(const Weights &weights, const Piece &piece, int64_t length,
                              const float *normed) {
  for (Input &input : inputs) {
    float *rows = input.rows.data<float>() + piece.row * input.width;
    input.linear.forward(weights, normed, rows, piece.rows);
    for (int64_t row = 0; row < piece.rows; ++row)
      for (int64_t column = 0; column < input.width; ++column) {
        float &y = rows[row * input.width + column];
        if (input.bias >= 0)
          y += weights.values[input.bias + column];
        input.byHead.data<float>()[placeOf(piece, row, column, input.width, length)] =
            valueOf(input.form, y);
      }
  }
}

void ProjectedInputs::sum(int64_t sequences, int64_t length) {
  for (Input &input : inputs)
    for (int64_t line = 0; line < sequences * input.width && input.form == Form::LogGates; ++line)
      sumAlong({input.byHead.data<float>() + line * length, static_cast<size_t>(length)});
}

std::vector<const float *> ProjectedInputs::values() const {
  std::vector<const float *> result;
  for (const Input &input : inputs)
    result.push_back(input.byHead.data<float>());
  return result;
}

std::vector<float *> ProjectedInputs::gradients() {
  std::vector<float *> result;
  for (Input &input : inputs)
    result.push_back(input.dByHead.data<float>());
  return result;
}

void ProjectedInputs::sumBackward(int64_t sequences, int64_t length) {
  for (Input &input : inputs)
    for (int64_t line = 0; line < sequences * input.width && input.form == Form::LogGates; ++line) {
      float *values = input.dByHead.data<float>() + line * length;
      double total = 0;
      for (int64_t i = length; i-- > 0;)
        values[i] = static_cast<float>(total += values[i]);
    }
}

void ProjectedInputs::projectBackward(const float *parameters, const Piece &piece, int64_t length,
                                      float *dNormed) {
  for (Input &input : inputs) {
    const float *rows = input.rows.data<float>() + piece.row * input.width;
    float *dRows = input.dRows.data<float>() + piece.row * input.width;
    for (int64_t row = 0; row < piece.rows; ++row)
      for (int64_t column = 0; column < input.width; ++column) {
        const int64_t i = row * input.width + column;
        const float dy =
            input.dByHead.data<float>()[placeOf(piece, row, column, input.width, length)];
        dRows[i] =
            input.form == Form::Plain ? dy : static_cast<float>(dy * sigmoidOfMinus(rows[i]));
      }
    input.linear.backwardInput(parameters, dRows, dNormed, piece.rows, /*adds=*/true);
  }
}

std::vector<Linear> ProjectedInputs::linears() const {
  std::vector<Linear> result;
  for (const Input &input : inputs)
    result.push_back(input.linear);
  return result;
}

std::vector<WeightProduct> ProjectedInputs::weightProducts(const float *normed) const {
  std::vector<WeightProduct> products;
  for (const Input &input : inputs)
    products.push_back({input.linear, normed, input.dRows.data<float>()});
  return products;
}

void ProjectedInputs::storeBiases(int64_t tokens, GradientUse use, float *gradients) const {
  for (const Input &input : inputs)
    for (int64_t column = 0; column < input.width && input.bias >= 0; ++column) {
      double total = 0;
      for (int64_t row = 0; row < tokens; ++row)
        total += input.dRows.data<float>()[row * input.width + column];
      float &into = gradients[input.bias + column];
      into = static_cast<float>(use == GradientUse::Add ? into + total : total);
    }
}

} // namespace pe::train
