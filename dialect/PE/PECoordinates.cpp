//===- PECoordinates.cpp - Values of coordinates --------------------------===//

#include "dialect/PE/PECoordinates.h"

#include "dialect/PE/PEScalarBuilder.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PECoordinates.cpp.inc"

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value DistanceOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                              ValueRange) {
  return ScalarBuilder(builder, loc, point).distance();
}

Value RelativeOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                              ValueRange) {
  return ScalarBuilder(builder, loc, point).relative();
}

Value QueryPositionOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                   ValueRange) {
  return ScalarBuilder(builder, loc, point).toFloat(point.query);
}

Value KeyPositionOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                 ValueRange) {
  return ScalarBuilder(builder, loc, point).toFloat(point.key);
}

//===----------------------------------------------------------------------===//
// Functions of the distance
//===----------------------------------------------------------------------===//

/// Emits log(|c x| + 1).
static Value buildLogOnePlus(ScalarBuilder &f, Value c, Value x) {
  return f.log(f.add(f.abs(f.mul(c, x)), f.number(1.0)));
}

Value LogDistanceOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                 ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value c = f.parameter(operands[0]);
  return buildLogOnePlus(f, c, f.distance());
}

Value ClampedLogOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value zero = f.number(0.0), one = f.number(1.0);
  Value threshold = f.exp(f.parameter(operands[0]));
  Value t = f.div(f.log(f.add(f.distance(), one)), f.log(f.add(threshold, one)));
  // Use select instead of min and max, so that the gradient passes at the bounds.
  Value low = f.select(f.less(t, zero), zero, t);
  return f.select(f.less(one, low), one, low);
}

//===----------------------------------------------------------------------===//
// ProgressiveOp
//===----------------------------------------------------------------------===//

LogicalResult ProgressiveOp::verify() {
  double length = getInitialLength().convertToDouble();
  if (!isFiniteInF32(length) || length <= 0.0)
    return emitOpError("expected initial_length to be a finite number above 0, found ")
           << length << " (progressive-C1)";
  double epsilon = getEpsilon().convertToDouble();
  if (!isFiniteInF32(epsilon) || epsilon < 0.0)
    return emitOpError("expected epsilon to be a finite number of at least 0, found ")
           << epsilon << " (progressive-C2)";
  return success();
}

/// Emits u(d) / U(i). The numerator depends only on the distance and the denominator only on the
/// query, so that structure analysis can split the quotient.
Value ProgressiveOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                 ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value c = getC() ? f.parameter(operands.front()) : Value();
  Value length = f.toFloat(point.query);
  if (getThreshold()) {
    Value multiplier = f.parameter(operands.back());
    Value threshold = f.abs(f.scale(getInitialLength().convertToDouble(), multiplier));
    length = f.maximum(length, threshold);
  }
  Value numerator = f.distance(), denominator = length;
  if (c) {
    numerator = buildLogOnePlus(f, c, numerator);
    denominator = buildLogOnePlus(f, c, length);
  }
  denominator = f.add(denominator, f.number(getEpsilon().convertToDouble()));
  return f.div(numerator, denominator);
}

//===----------------------------------------------------------------------===//
// BucketOp
//===----------------------------------------------------------------------===//

/// Each logarithmic bucket costs one comparison in the scalar form.
static constexpr int64_t kMaxBuckets = 4096;

LogicalResult BucketOp::verify() {
  int64_t buckets = getBuckets(), perSide = getBidirectional() ? buckets / 2 : buckets;
  if (buckets < 2 || perSide < 2) // bucket-C1
    return emitOpError("expected at least ")
           << (getBidirectional() ? 4 : 2) << " buckets, found " << buckets << " (bucket-C1)";
  if (getBidirectional() && buckets % 2 != 0) // bucket-C2
    return emitOpError("expected an even number of buckets, half of them for each side, found ")
           << buckets << " (bucket-C2)";
  if (static_cast<int64_t>(getMaxDistance()) <= perSide / 2) // bucket-C3
    return emitOpError("expected max_distance above the ")
           << perSide / 2 << " exact buckets, found " << getMaxDistance() << " (bucket-C3)";
  if (buckets > kMaxBuckets) // bucket-C4
    return emitOpError("expected at most ")
           << kMaxBuckets << " buckets, found " << buckets << " (bucket-C4)";
  if (static_cast<int64_t>(getMaxDistance()) > std::numeric_limits<int32_t>::max()) // bucket-C5
    return emitOpError("expected max_distance below 2^31, found ")
           << getMaxDistance() << " (bucket-C5)";
  return success();
}

/// Computes the bucket of distance d by the f32 formula. d is at least the number of exact buckets.
static int64_t computeLogBucket(int64_t d, int64_t buckets, int64_t maxDistance) {
  int64_t exact = buckets / 2;
  float range = static_cast<float>(std::log(static_cast<double>(maxDistance) / exact));
  float logarithm = std::log(static_cast<float>(d) / static_cast<float>(exact));
  float step = logarithm / range * static_cast<float>(buckets - exact);
  return std::min(exact + static_cast<int64_t>(step), buckets - 1);
}

/// Computes the smallest distance of each logarithmic bucket after the first. It is computed at
/// compile time, so that the bounds do not depend on the logarithm of a target.
static SmallVector<int64_t> computeBucketStarts(int64_t buckets, int64_t maxDistance) {
  SmallVector<int64_t> starts;
  for (int64_t bucket = buckets / 2 + 1; bucket < buckets; ++bucket) {
    int64_t low = buckets / 2, high = maxDistance;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (computeLogBucket(middle, buckets, maxDistance) >= bucket)
        high = middle;
      else
        low = middle + 1;
    }
    starts.push_back(low);
  }
  return starts;
}

SmallVector<int64_t> mlir::pe::bucketStarts(BucketOp bucket) {
  const int64_t buckets = bucket.getBidirectional() ? bucket.getBuckets() / 2 : bucket.getBuckets();
  SmallVector<int64_t> starts;
  for (int64_t exact = 1; exact <= buckets / 2; ++exact)
    starts.push_back(exact);
  llvm::append_range(starts, computeBucketStarts(buckets, bucket.getMaxDistance()));
  return starts;
}

Value BucketOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point, ValueRange) {
  ScalarBuilder f(builder, loc, point);
  int64_t buckets = getBidirectional() ? getBuckets() / 2 : getBuckets();
  Value zero = f.constantInt(0), difference = f.difference();
  Value x = f.create<arith::MaxSIOp>(difference, zero);
  Value bucket = zero;
  if (getBidirectional()) {
    Value opposite = f.create<arith::SubIOp>(zero, difference);
    x = f.create<arith::MaxSIOp>(difference, opposite);
    Value after = f.create<arith::CmpIOp>(arith::CmpIPredicate::slt, difference, zero);
    bucket = f.select(after, f.constantInt(buckets), zero);
  }
  // The exact buckets are min(x, buckets / 2); each start that x has reached adds one.
  Value exact = f.create<arith::MinSIOp>(x, f.constantInt(buckets / 2));
  bucket = f.create<arith::AddIOp>(bucket, exact);
  for (int64_t start : computeBucketStarts(buckets, getMaxDistance())) {
    Value reached = f.create<arith::CmpIOp>(arith::CmpIPredicate::sge, x, f.constantInt(start));
    Value one = f.create<arith::ExtUIOp>(builder.getI32Type(), reached);
    bucket = f.create<arith::AddIOp>(bucket, one);
  }
  return f.toFloat(bucket);
}
