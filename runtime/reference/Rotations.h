//===- Rotations.h - Rotary embedding of rows -------------------*- C++ -*-===//
//
// For a row at position p (one position per axis, if a rotation has several), each pair (x_a, x_b)
// of coordinates is rotated by the angle p * frequency and multiplied by a factor, or multiplied by
// the matrix (c, -s; s, c) of tabulated values. The transposed matrix maps gradients back.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ROTATIONS_H
#define PE_RUNTIME_REFERENCE_ROTATIONS_H

#include "runtime/reference/GraphBuilder.h"

#include <vector>

namespace pe::reference {

/// The rotation of the rows of one attention: of queries and keys, or of outputs and values.
struct Rotation {
  struct Pair {
    int64_t first;
    int64_t second;
  };
  std::vector<Pair> pairs;
  double magnitude = 1.0;
  /// Per head (or one list for all heads) and pair.
  std::vector<double> frequencies;
  int64_t heads = 1;
  /// An element of a tensor that the frequencies of a head depend on: its offset in the pack of
  /// parameters, and the nonzero derivatives of the frequencies.
  struct Learned {
    ValueId tensor;
    int64_t element;
    int64_t place = -1;
    struct Slope {
      int64_t pair;
      double value;
    };
    std::vector<Slope> slopes;
  };
  std::vector<std::vector<Learned>> learned; ///< per head, like the frequencies
  /// Tables [positions, pairs] or [batch, positions, pairs], and their offsets in the pack; null if
  /// there are frequencies.
  const Array *cosines = nullptr, *sines = nullptr;
  int64_t cosinesAt = -1, sinesAt = -1;
  /// The axis of each pair, and the positions [axes, batch, rows] of queries and of keys; empty and
  /// null if every pair is rotated by the position of the row.
  std::vector<int64_t> axes;
  const Array *queryPositions = nullptr, *keyPositions = nullptr;

  bool isLearned() const { return cosinesAt >= 0 || !learned.empty(); }

  /// A row of queries or keys.
  struct Place {
    int64_t batch, head, position;
    bool isQuery;
    int64_t row;
  };
  /// Rotates one row of headDim elements in place.
  void apply(double *row, const Place &place) const;
  /// Applies the transposed matrix.
  void applyTransposed(double *row, const Place &place) const;

  /// A query or a key: its elements before and after the rotation, and its position.
  struct Row {
    const double *raw, *turned;
    int64_t position;
  };
  /// Adds `factor` times the derivatives of <rotated q, rotated k> with respect to the tensors.
  void reverse(const Row &q, const Row &k, int64_t batch, int64_t head, double factor, double noise,
               ParameterGradients &gradients) const;
  /// Adds the effect on the derivatives of rounding `d`, the gradient of a rotated row, to
  /// `roundoff`. Positions count from `origin`; the sum over all rows does not depend on it.
  void addRounding(const Row &row, const double *d, int64_t origin, int64_t batch, int64_t head,
                   double roundoff, ParameterGradients &gradients) const;

private:
  void turn(double *row, const Place &place, double direction) const;
  /// Returns the position by which a pair is rotated.
  double positionOf(size_t pair, const Place &place) const;
  /// Computes the cosine and sine of a pair.
  void coefficients(size_t pair, const Place &place, double &c, double &s) const;
  /// Returns the index of the tables' first pair at a position.
  int64_t rowOfTables(int64_t batch, int64_t position) const;
  const std::vector<Learned> &learnedOf(int64_t head) const {
    return learned[heads > 1 ? head : 0];
  }
};

/// Builds the rotation that defines `value`, for rows of `headDim` elements in a call of these
/// sizes. Offsets in the pack are not set yet.
Expected<Rotation> buildRotation(const Program &program, const Definitions &definitions,
                                 ValueId value, int64_t headDim, const TensorValues &tensors = {},
                                 const plan::CallSizes &sizes = {});

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROTATIONS_H
