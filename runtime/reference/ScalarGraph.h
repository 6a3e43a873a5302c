//===- ScalarGraph.h - A bias as a flat scalar graph ------------*- C++ -*-===//
//
// The value that a bias adds to the score of one pair (batch b, head h, query i, key j), as a list
// of scalar nodes in topological order: positions, parameter elements, arithmetic. A
// ScalarEvaluator runs it forward for a pair, and in reverse with the cotangent of the score,
// adding to the gradient of each parameter element that it read.
//
//   -r1[h] * log(|r2[h] * |i - j|| + 1)     is
//   0 query  1 key  2 subf 0 1  3 absf 2  4 head  5 read r2[4]  6 mulf 5 3  7 absf 6 ...
//
// Nodes that do not depend on the key are evaluated once per row, and those that depend on neither
// position once per head; the result is the same as evaluating the formula for each pair.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_SCALARGRAPH_H
#define PE_RUNTIME_REFERENCE_SCALARGRAPH_H

#include "runtime/reference/IntegerRules.h"
#include "runtime/reference/Mlp.h"
#include "runtime/reference/ReadTally.h"
#include "runtime/reference/ScalarRules.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pe::reference {

/// All tensors that a graph reads, concatenated in one array.
class ParameterPack {
public:
  /// Appends a tensor and returns its offset.
  int64_t append(const std::vector<double> &elements);

  const std::vector<double> &values() const { return data; }
  int64_t size() const { return static_cast<int64_t>(data.size()); }

private:
  std::vector<double> data;
};

using NodeId = int;

/// The inputs of a graph. Query and Key are the positions of the tokens, Row and Column their
/// places in the sequence. Score is the scaled score of a pair, for score functions. In an
/// embedding, Query is the token's position, Dim the dimension, Width the number of dimensions, and
/// Length the end of the sequence.
enum class Position : uint8_t {
  Batch,
  Head,
  Query,
  Key,
  GlobalHead,
  HeadsTotal,
  Score,
  Dim,
  Width,
  Length,
  Row,
  Column
};

/// A query or a key: its place in the sequence, and the position that formulas use. They differ if
/// positions are given as data or restart in each document.
struct Token {
  int64_t place, position;
  Token(int64_t place) : place(place), position(place) {}
  Token(int64_t place, int64_t position) : place(place), position(position) {}
};

/// The frequency at which a node's value changes.
enum class Level : uint8_t { Head, Row, Pair };

/// A read of one element of a parameter; indices out of range are clamped.
struct ReadSpec {
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<NodeId> indices;
  /// The tensor and "FILE:LINE:COL" of a read in the user's code, whose out-of-range indices are
  /// counted; empty for reads that clamp by definition.
  std::string tensor = {}, location = {};
};

/// The sum over k = 1..terms of cos(x / base^(k / terms)).
struct CosineSumSpec {
  std::vector<double> frequencies;
};

/// The bucket of relative position x = i - j, with the logarithm in f32 (docs/encodings).
struct BucketSpec {
  int64_t buckets = 32;
  int64_t maxDistance = 128;
  bool bidirectional = false;
};

/// Returns the bucket of a relative position.
double bucketOf(const BucketSpec &spec, double relative);

/// A random factor per pair: 1 / (1 - p) if word j mod 4 of the Philox counter (b, h, i,
/// floor(j / 4)) is at least p 2^32, otherwise 0. Heads are global, i and j are the places of the
/// tokens. With a seed per batch entry the counter has 0 instead of b.
struct DrawSpec {
  double probability = 0.0;
  std::vector<int64_t> seeds;
  bool hasSeedPerBatch = false;

  double at(int64_t batch, int64_t head, int64_t i, int64_t j) const;
};

/// One node of a graph.
struct ScalarNode {
  enum class Kind : uint8_t {
    Constant,
    Position,
    Read,
    Unary,
    Binary,
    Select, ///< in[0] ? in[1] : in[2]
    Clamp,  ///< in[0], at least in[1] and at most in[2]
    Integer,
    FromReal, ///< toward zero, saturating at the limits of the width; NaN gives 0
    FromTruth,
    ToRealUnsigned,
    Bucket,
    CosineSum,
    Mlp, ///< in[0] the coordinate, in[1] the head
    Draw,
  };

  Kind kind = Kind::Constant;
  Level level = Level::Head;
  Position position = Position::Batch;
  /// True if the value is an integer, which integer operations require.
  bool isInteger = false;
  /// Widths of the operands and the result of integer operations.
  unsigned bits = 64, resultBits = 64;
  int64_t integerConstant = 0;
  const IntegerRule *integer = nullptr;
  /// True if a parameter element reaches this node along a path with nonzero derivatives.
  bool differentiable = false;
  std::array<NodeId, 3> in{-1, -1, -1};
  double constant = 0.0;
  const UnaryRule *unary = nullptr;
  const BinaryRule *binary = nullptr;
  /// Index into the list of the specs of this kind.
  int spec = -1;
};

/// A list of nodes, each of which refers to earlier ones only.
class ScalarGraph {
public:
  NodeId constant(double value);
  NodeId position(Position which);
  NodeId read(ReadSpec spec);
  NodeId unary(const UnaryRule &rule, NodeId x);
  NodeId binary(const BinaryRule &rule, NodeId a, NodeId b);
  /// Selects between integers or between real numbers.
  NodeId select(NodeId condition, NodeId whenTrue, NodeId whenFalse, bool isInteger);
  NodeId clamp(NodeId x, NodeId low, NodeId high);
  /// Integer nodes. Rules with one operand ignore `b`.
  NodeId integerConstant(int64_t value);
  NodeId integer(const IntegerRule &rule, NodeId a, NodeId b, unsigned bits, unsigned resultBits);
  /// Converts a real number to an integer of `bits`.
  NodeId fromReal(NodeId x, unsigned bits, bool isUnsigned);
  /// Converts the 1 or 0 of a comparison to a boolean.
  NodeId fromTruth(NodeId x);
  NodeId toRealUnsigned(NodeId x, unsigned bits);
  NodeId bucket(BucketSpec spec, NodeId relative);
  NodeId cosineSum(CosineSumSpec spec, NodeId x);
  NodeId mlp(MlpSpec spec, NodeId x, NodeId head);
  NodeId draw(DrawSpec spec);
  bool drawsChance() const { return !draws.empty(); }

  /// True if evaluators round the value of every node to float32, as a computation in that type
  /// does.
  bool roundsToSingle = false;
  /// "FILE:LINE:COL" of the operation that nodes are added for.
  std::string location;
  const ScalarNode &node(NodeId id) const { return nodes[id]; }
  const std::string &locationOf(NodeId id) const { return locations[id]; }

  /// Returns the out-of-range reads that evaluators of this graph counted; `unitOf` names the
  /// evaluations of a root.
  std::vector<OutsideRead> describe(const ReadTally &tally,
                                    const std::function<std::string(NodeId)> &unitOf) const;

  /// Shorthands for arith and math rules, by their names without the prefix: "addf", "log".
  NodeId arith(std::string_view name, NodeId a, NodeId b);
  NodeId math(std::string_view name, NodeId x);

private:
  friend class ScalarEvaluator;
  NodeId add(ScalarNode node);

  std::vector<ScalarNode> nodes;
  std::vector<std::string> locations; ///< of the nodes
  std::vector<ReadSpec> reads;
  std::vector<BucketSpec> buckets;
  std::vector<CosineSumSpec> cosineSums;
  std::vector<MlpSpec> mlps;
  std::vector<DrawSpec> draws;
};

/// The gradients of parameters. For each element, over all pairs: the sum of dS * db/dtheta; the
/// sum of its absolute values; the sum of squares of noise * db/dtheta, where `noise` is the size
/// of the terms that cancelled in dS, and of dS * (the terms that cancelled in db/dtheta); and the
/// sum of squares of the errors that rounding to a narrow type may add.
struct ParameterGradients {
  std::vector<double> sum;
  std::vector<double> magnitude;
  std::vector<double> noiseSquared;
  std::vector<double> roundingSquared;

  explicit ParameterGradients(int64_t size)
      : sum(size, 0.0), magnitude(size, 0.0), noiseSquared(size, 0.0), roundingSquared(size, 0.0) {}
  void accumulate(const ParameterGradients &other) { accumulateAt(0, other); }
  /// Adds the elements of `other` to the elements from `offset` on.
  void accumulateAt(int64_t offset, const ParameterGradients &other);
};

/// Evaluates one graph. Not thread-safe.
class ScalarEvaluator {
public:
  ScalarEvaluator(const ScalarGraph &graph, NodeId root, const ParameterPack &parameters);

  /// Sets the batch entry and the heads.
  void startHead(int64_t batch, int64_t head, int64_t globalHead, int64_t headsTotal);
  /// Sets the number of dimensions and the end of the sequence of an embedding.
  void startSequence(int64_t width, int64_t length);
  /// Sets the query.
  void startRow(Token query);
  /// Returns the root's value at the key and, for a score function, at the score.
  double evaluate(Token key, double score = 0.0);
  /// Returns the value of a node that the root needs, for the last evaluation.
  double valueOf(NodeId id) const { return values[id]; }
  /// Returns the root's value at a dimension of the token.
  double evaluateDim(int64_t dim);
  /// Returns the root's value at a global key position and an element of the pair's vector.
  double evaluateElement(int64_t key, int64_t dim);
  /// Adds cotangent * d(root)/d(parameters) to `gradients`, for the pair evaluated last.
  void reverse(double cotangent, double noise, ParameterGradients &gradients) {
    reverse(cotangent, std::fabs(cotangent), noise, gradients);
  }
  /// Same, for a cotangent that is a sum of terms of this magnitude.
  void reverse(double cotangent, double magnitude, double noise, ParameterGradients &gradients);
  /// Counts the out-of-range reads of the last evaluation that affected its value.
  void tallyReads(ReadTally &tally);
  /// Returns the derivative with respect to the score, computed by the last `reverse`.
  double scoreDerivative() const { return derivativeByScore; }

private:
  void run(const std::vector<NodeId> &list);
  double forward(const ScalarNode &node);
  int64_t forwardInteger(const ScalarNode &node);
  double forwardRead(int spec);
  void noteOutside(int spec);
  void visitInputs(NodeId id);
  double forwardDraw(const DrawSpec &spec) const;
  void reverseNode(const ScalarNode &node, double value, double cotangent, double growth);
  void touch(int64_t offset, int64_t length) { touched.push_back({offset, length}); }

  struct Range {
    int64_t offset;
    int64_t length;
  };

  const ScalarGraph &graph;
  NodeId root;
  const double *parameters;
  std::array<double, 12> positions{};
  double derivativeByScore = 0.0;
  std::vector<double> values;
  std::vector<int64_t> integers; ///< exact values of integer nodes; `values` has them rounded
  std::vector<double> cotangents;
  std::vector<double> sizes;                ///< the magnitude of the terms of each cotangent
  std::array<std::vector<NodeId>, 3> lists; ///< nodes by level
  std::vector<NodeId> reverseList;
  std::vector<int64_t> readOffsets; ///< the element that each read used
  std::vector<bool> isOutside;      ///< per read: an index was out of range
  int64_t outsideReads = 0;         ///< the number of such reads
  std::vector<NodeId> pending;      ///< nodes that tallyReads has yet to visit
  std::vector<bool> isVisited;      ///< nodes that tallyReads has visited
  std::vector<Mlp> mlps;
  std::vector<double> pairGradient; ///< all zero between pairs
  std::vector<double> pairSizes;    ///< the magnitudes of the terms of pairGradient
  std::vector<Range> touched;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_SCALARGRAPH_H
