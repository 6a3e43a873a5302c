//===- Rotations.h - Rotary embedding of queries and keys -------*- C++ -*-===//
//
// For a row at position p, each pair (x_a, x_b) of coordinates is rotated by the angle p *
// frequency and multiplied by a factor, or multiplied by the matrix (c, -s; s, c) of given numbers.
// The transposed matrix maps gradients back.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ROTATIONS_H
#define PE_RUNTIME_REFERENCE_ROTATIONS_H

#include "runtime/reference/GraphBuilder.h"

#include <vector>

namespace pe::reference {

struct Rotation {
  struct Pair {
    int64_t first;
    int64_t second;
  };
  std::vector<Pair> pairs;
  double magnitude = 1.0;
  /// Per head (one for all if there is only one) and pair.
  std::vector<double> frequencies;
  int64_t heads = 1;
  /// An element of a tensor that frequencies of a head depend on, its place in the pack of
  /// parameters, and the derivatives of the frequencies that are not 0.
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
  std::vector<std::vector<Learned>> learned; ///< per head, as the frequencies
  /// [positions, pairs] or [batch, positions, pairs]; null where there are frequencies. With their
  /// places in the pack.
  const Array *cosines = nullptr, *sines = nullptr;
  int64_t cosinesAt = -1, sinesAt = -1;

  bool isLearned() const { return cosinesAt >= 0 || !learned.empty(); }

  /// A row of queries or keys.
  struct Place {
    int64_t batch, head, position;
  };
  /// Rotates one row of head-dim elements by its angles, in place.
  void apply(double *row, const Place &place) const;
  /// Rotates it back.
  void applyTransposed(double *row, const Place &place) const;

  /// A query and a key: their elements before and after the rotation, and their positions.
  struct Row {
    const double *raw, *turned;
    int64_t position;
  };
  /// Adds `factor` times the derivatives of <turned q, turned k> with respect to the tensors.
  void reverse(const Row &q, const Row &k, int64_t batch, int64_t head, double factor, double noise,
               ParameterGradients &gradients) const;
  /// Adds what rounding `d`, the gradient of a turned row, to `roundoff` does to the derivatives.
  /// Positions count from `origin`, which the sum over all rows does not depend on.
  void addRounding(const Row &row, const double *d, int64_t origin, int64_t batch, int64_t head,
                   double roundoff, ParameterGradients &gradients) const;

private:
  void turn(double *row, const Place &place, double direction) const;
  /// Cosine and sine of a pair.
  void coefficients(size_t pair, const Place &place, double &c, double &s) const;
  /// The element of the tables' first pair at a position.
  int64_t rowOfTables(int64_t batch, int64_t position) const;
  const std::vector<Learned> &learnedOf(int64_t head) const {
    return learned[heads > 1 ? head : 0];
  }
};

/// The rotation made by the value's operation, for rows of `headDim` elements in a call of these
/// sizes. No tensor has a place in a pack yet.
Expected<Rotation> buildRotation(const Program &program, const Definitions &definitions,
                                 ValueId value, int64_t headDim, const TensorValues &tensors = {},
                                 const plan::CallSizes &sizes = {});

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROTATIONS_H
