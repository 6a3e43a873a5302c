//===- Coordinates.cpp - The coordinates of a pair ------------------------===//
//
// Translates each coordinate to scalar nodes of the global positions i (query) and j (key),
// following docs/encodings.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/GraphBuilder.h"

namespace pe::reference {

const std::map<std::string_view, GraphBuilder::Handler> &GraphBuilder::coordinateHandlers() {
  static const std::map<std::string_view, Handler> handlers = {
      {"pe.distance", &GraphBuilder::buildDistance},
      {"pe.relative", &GraphBuilder::buildRelative},
      {"pe.query_position", &GraphBuilder::buildQueryPosition},
      {"pe.key_position", &GraphBuilder::buildKeyPosition},
      {"pe.log_distance", &GraphBuilder::buildLogDistance},
      {"pe.progressive", &GraphBuilder::buildProgressive},
      {"pe.bucket", &GraphBuilder::buildBucket},
      {"pe.clamped_log", &GraphBuilder::buildClampedLog},
  };
  return handlers;
}

NodeId GraphBuilder::relative() {
  NodeId query = graph.position(Position::Query);
  return graph.arith("subf", query, graph.position(Position::Key));
}

NodeId GraphBuilder::distance() { return graph.math("absf", relative()); }

NodeId GraphBuilder::logOfScaled(NodeId c, NodeId x) {
  NodeId magnitude = graph.math("absf", graph.arith("mulf", c, x));
  return graph.math("log", graph.arith("addf", magnitude, graph.constant(1.0)));
}

/// Builds |i - j|.
Expected<NodeId> GraphBuilder::buildDistance(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  return distance();
}

/// Builds i - j.
Expected<NodeId> GraphBuilder::buildRelative(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  return relative();
}

/// Builds i.
Expected<NodeId> GraphBuilder::buildQueryPosition(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  return graph.position(Position::Query);
}

/// Builds j.
Expected<NodeId> GraphBuilder::buildKeyPosition(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  return graph.position(Position::Key);
}

/// Builds log(|c * |i - j|| + 1).
Expected<NodeId> GraphBuilder::buildLogDistance(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  auto groups = operation.operandGroups(1);
  if (!groups)
    return groups.takeError();
  if ((*groups)[0].size() != 1)
    return operation.fail("expected one operand c");
  auto c = headParameter(operation, (*groups)[0][0], "c");
  if (!c)
    return c.takeError();
  return logOfScaled(*c, distance());
}

/// Builds u(|i - j|) / U_i with u(x) = log(|c x| + 1), U_i = u(n_i) + epsilon, n_i = max(i, L) and
/// L = |L_multiplier * initial_length|. Without c, u(x) = x; without a threshold, n_i = i.
Expected<NodeId> GraphBuilder::buildProgressive(const Operation &operation) {
  if (Status status = operation.expectOnly({"initial_length", "epsilon"}); !status)
    return status.takeError();
  auto initialLength = operation.number("initial_length", 512.0);
  auto epsilon = operation.number("epsilon", 1e-6);
  auto groups = operation.operandGroups(2);
  if (!initialLength || !epsilon)
    return initialLength ? epsilon.takeError() : initialLength.takeError();
  if (!groups)
    return groups.takeError();

  NodeId numerator = distance();
  NodeId normalizer = graph.position(Position::Query);
  if (!(*groups)[1].empty()) {
    auto multiplier = headParameter(operation, (*groups)[1][0], "the threshold");
    if (!multiplier)
      return multiplier.takeError();
    NodeId scaled = graph.arith("mulf", *multiplier, graph.constant(*initialLength));
    normalizer = graph.arith("maximumf", normalizer, graph.math("absf", scaled));
  }
  if (!(*groups)[0].empty()) {
    auto c = headParameter(operation, (*groups)[0][0], "c");
    if (!c)
      return c.takeError();
    numerator = logOfScaled(*c, numerator);
    normalizer = logOfScaled(*c, normalizer);
  }
  NodeId denominator = graph.arith("addf", normalizer, graph.constant(*epsilon));
  return graph.arith("divf", numerator, denominator);
}

/// Builds the logarithmic bucket of i - j.
Expected<NodeId> GraphBuilder::buildBucket(const Operation &operation) {
  if (Status status = operation.expectOnly({"buckets", "max_distance", "bidirectional"}); !status)
    return status.takeError();
  auto buckets = operation.integer("buckets", 32);
  auto maxDistance = operation.integer("max_distance", 128);
  auto bidirectional = operation.boolean("bidirectional", false);
  if (!buckets)
    return buckets.takeError();
  if (!maxDistance)
    return maxDistance.takeError();
  if (!bidirectional)
    return bidirectional.takeError();
  int64_t exact = *buckets / (*bidirectional ? 4 : 2);
  if (exact < 1 || *maxDistance <= exact)
    return operation.fail("expected at least ", *bidirectional ? 4 : 2,
                          " buckets and a maximum distance above the number of exact buckets, "
                          "found ",
                          *buckets, " buckets and maximum distance ", *maxDistance);
  return graph.bucket({*buckets, *maxDistance, *bidirectional}, relative());
}

/// Builds clamp(log(1 + |i - j|) / log(1 + L_h), 0, 1) with L_h = exp(log_threshold_h).
Expected<NodeId> GraphBuilder::buildClampedLog(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  auto groups = operation.operandGroups(1);
  if (!groups)
    return groups.takeError();
  if ((*groups)[0].size() != 1)
    return operation.fail("expected one operand, the logarithm of the threshold");
  auto logThreshold = headParameter(operation, (*groups)[0][0], "the threshold");
  if (!logThreshold)
    return logThreshold.takeError();
  NodeId one = graph.constant(1.0);
  NodeId threshold = graph.math("exp", *logThreshold);
  NodeId numerator = graph.math("log", graph.arith("addf", one, distance()));
  NodeId denominator = graph.math("log", graph.arith("addf", one, threshold));
  return graph.unary(clampToUnitRule, graph.arith("divf", numerator, denominator));
}

} // namespace pe::reference
