//===- GeneratedProgram.h - A generated program as data ---------*- C++ -*-===//
//
// The data structure that the generator writes and the minimizer reduces: a tree per bias, rotation
// and mask, the parameters they read, and one call (sizes and positions). Scalars of regions and
// formulas, coordinates, biases, masks and rotations share one node type, so that reductions such
// as "replace a node by its child" or "replace a node by a leaf" apply everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_GENERATEDPROGRAM_H
#define PE_TEST_FUZZ_GENERATEDPROGRAM_H

#include "fuzz/ScalarOperations.h"
#include "pe/Positions.h"
#include "runtime/plan/Activations.h"
#include "runtime/reference/RopeKinds.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pe::fuzz {

enum class Op : uint8_t {
  // Scalars of regions and formulas.
  Scalar,   ///< a row of ScalarOperations.h
  Constant, ///< integers[0] or reals[0]
  Batch,    ///< b
  Head,     ///< h
  Query,    ///< i
  Key,      ///< j
  HeadsTotal,
  GlobalHead, ///< of the child
  Dim,        ///< d, in content terms and embeddings
  Width,      ///< dim
  Token,      ///< p, in embeddings
  End,        ///< n, in embeddings
  AxisSize,   ///< the size of axis integers[0] of parameters[0]
  Read,       ///< parameters[0], one child per axis
  Score,      ///< s, in score functions
  Select,     ///< condition, one, other
  ToReal,     ///< converts an index to f32, through i64
  ToIndex,    ///< converts an f32 to an index, through i32, rounding toward 0
  Sum,        ///< of the child over an index; integers: count, name of the index
  SumIndex,   ///< integers[1]: name
  Square,     ///< of the child; integers[1]: name of the let in a formula
  Captured,   ///< a coordinate
  Waves,      ///< sine or cosine of an angle for even or odd d; the name is as for Square
  // Coordinates.
  Distance,
  Relative,
  QueryPosition,
  KeyPosition,
  LogDistance, ///< c
  Progressive, ///< optional c and threshold; initial length, epsilon
  Bucket,      ///< buckets, maximal distance; flag: bidirectional
  ClampedLog,  ///< threshold
  // Biases of a coordinate.
  Linear,    ///< optional slope (or a rule: integers[0]) and intercept; factor
  Table,     ///< table
  Power,     ///< exponent, slope; factor
  Mlp,       ///< layers; integers: activation, final activation
  CosineSum, ///< optional amplitude; integers[0] terms; base
  // Biases composed of biases or scalars.
  Add,
  Scale,   ///< factor
  Region,  ///< yields one f32
  Formula, ///< yields one f32, printed as text
  // Score functions; each yields one f32.
  ScoreRegion,
  ScoreFormula,
  // Factors on weights; each yields one f32.
  FactorRegion,
  FactorFormula,
  // Masks.
  Causal,
  StrictCausal,
  Window, ///< integers: left, right; 0 means unbounded
  MaskFn, ///< integers: the condition and its operand
  MaskRegion,
  MaskFormula, ///< yields one i1
  Documents,   ///< parameters: boundaries; flag: positions restart
  MaskAnd,
  MaskOr,
  // Rotations.
  /// integers: dims or 0, scaling, trailing, Axes; reals: base, factor; flag: interleaved;
  /// parameters: the learned base, or the positions of queries and of keys along kSections.
  Rotary,
  /// integers: dims or 0, unused, trailing; flag: interleaved; parameters: cosines, sines.
  RotationTable,
  /// integers: dims or 0, index into kFrequencies, trailing; reals: factor on cosine and sine;
  /// flag: interleaved; parameters: a base, per head or shared, and a factor per pair.
  RotationFn,
  // Vectors; each yields one f32 element. The parameters of a content term are an optional shift,
  // an optional projection and optional queries; integers: the extent or 0; the second child is an
  // optional factor of the query.
  ContentRegion,
  ContentFormula,
  EmbeddingRegion,
  EmbeddingFormula,
};

/// Returns true if the node is scalar code with its own arguments. Its captures are in the tree of
/// its child.
bool isRegion(Op op);

/// The conditions of MaskFn; the first ones compare with a position. `Generator::mask` draws from
/// the first kMaskConditions. The others keep an interval of keys that depends on the head.
constexpr int64_t kMaskConditions = 10, kPositionConditions = 6, kHeadConditions = 2;

struct Node {
  Op op = Op::Constant;
  Type type = Type::F32;
  const ScalarOperation *scalar = nullptr;
  std::vector<Node> children;
  /// Indices into Program::parameters, or kNoParameter.
  std::vector<int> parameters;
  std::array<int64_t, 4> integers = {};
  std::array<double, 2> reals = {};
  bool flag = false;

  bool operator==(const Node &) const = default;
};

/// The attribute values that Linear's and Mlp's `integers` index.
constexpr std::array<const char *, 3> kSlopeRules = {"", "geometric", "interleaved"};
constexpr auto kActivations = std::to_array(plan::kActivationNames);

/// The kinds of scaling that Rotary's `integers` index, after none, and their fixed parameters.
constexpr std::array kScalings = [] {
  std::array<const char *, reference::kRopeKinds.size() + 1> names = {""};
  for (size_t i = 0; i < reference::kRopeKinds.size(); ++i)
    names[i + 1] = reference::kRopeKinds[i].name;
  return names;
}();
/// The axes of the pairs of Rotary: none, in blocks, alternating, or in blocks in which frequencies
/// restart.
enum Axes : int64_t { kNoAxes, kBlocks, kAlternating, kRestarting };
/// The pairs of each axis, of 8.
constexpr std::array<int64_t, 3> kSections = {3, 2, 3};
constexpr int64_t kOriginalLength = 40;
constexpr double kFast = 6.0, kSlow = 0.5;
constexpr double kAttentionFactor = 1.25, kRotatedShare = 0.6;
/// Returns the number of pair `pair` in the list of factors for calls within the original length,
/// or beyond it.
constexpr double pairFactor(int64_t pair, bool isLong) {
  return 1.0 + (isLong ? 0.75 : 0.125) * static_cast<double>(pair);
}

/// The frequency formulas that RotationFn's `integers` index. B is replaced by the base and F by
/// the factor of the pair.
constexpr std::array<const char *, 3> kFrequencies = {
    "B ^ (-p / n) / F", "select(p < n // 2, B ^ (-p / n), 0) * F",
    "exp(-p / n * log(B)) * (1 - sigmoid(F - 2) / 2)"};

constexpr int kNoParameter = -1;

/// A parameter drawn uniformly from [low, high).
struct Parameter {
  std::string name;
  /// Sizes, or axes of the call (negative). An axis other than kHeads makes the parameter data,
  /// with `pe.axes`.
  std::vector<int64_t> dims;
  double low = -1.0, high = 1.0;
  bool isWhole = false; ///< i32
  /// The parameter that is read if the call omits this one (`pe.absent`).
  int absent = kNoParameter;
  bool isLeftOut = false;

  bool operator==(const Parameter &) const = default;
};
constexpr int64_t kHeads = -1, kBatch = -2, kKeyHeads = -3, kQueries = -4, kKeys = -5, kRows = -6,
                  kBoundaries = -7, kDepth = -8, kModel = -9;
/// Their spellings in `pe.axes`, kHeads first. "rows" and "boundaries" are named axes.
constexpr std::array<const char *, 9> kAxisWords = {"head", "batch",      "kv_head", "query", "key",
                                                    "rows", "boundaries", "depth",   "model"};
/// Returns true if the parameter needs `pe.axes`.
bool isData(const Parameter &parameter);

struct Sizes {
  int64_t batch = 1, queryHeads = 1, keyHeads = 1, queries = 1, keys = 1, headDim = 16,
          valueDim = 16;
  int64_t rows = 1, boundaries = 2, width = 16; ///< named axes, and the width of embeddings

  /// Returns the size of an element of Parameter::dims.
  int64_t extentOf(int64_t dim) const {
    const int64_t axes[] = {queryHeads, batch,      keyHeads, queries, keys,
                            rows,       boundaries, headDim,  width};
    return dim < 0 ? axes[-dim - 1] : dim;
  }
  bool operator==(const Sizes &) const = default;
};

/// The kind of function that a program defines.
enum class Entry : uint8_t { Attention, Merge, Embed };

struct Program {
  uint64_t seed = 0;
  Entry entry = Entry::Attention;
  std::vector<Parameter> parameters;
  std::vector<Node> biases;
  std::optional<Node> score, factor;
  /// A Read of a parameter over heads: logits that join the denominator.
  std::optional<Node> sink;
  /// The probability; 0 without dropout.
  double dropout = 0;
  bool hasSeedPerBatch = false;
  std::optional<Node> rotation, valueRotation;
  /// All or none have their own queries, as `query(...)` requires.
  std::vector<Node> contents;
  /// A Read of a parameter over heads and dims, which is added to the queries.
  std::optional<Node> queryShift;
  /// Reads of the positions of queries and of keys; empty without explicit positions.
  std::vector<Node> given;
  std::optional<Node> mask;
  /// The keyword of a normalizer without options, "sigmoid" or "softpick"; empty otherwise.
  std::string plainNormalizer;
  bool isStickBreaking = false, attendsCurrent = false, keepsRemainder = false,
       hasBothSides = false;
  std::optional<Node> embedding;
  std::optional<double> scale;
  bool scalesByDepth = false;
  bool hasLse = false;
  Sizes sizes;
  Positions positions;

  /// Returns the position of query row 0. By default the last query aligns with the last key.
  int64_t queryStart() const;
  int64_t headsTotal() const { return positions.headsTotal.value_or(sizes.queryHeads); }
};

/// Calls `visit` on `node` and all its descendants.
template <typename NodeType, typename Visit> void walk(NodeType &node, const Visit &visit) {
  visit(node);
  for (auto &child : node.children)
    walk(child, visit);
}

/// Returns true if positions differ from the indices of rows and columns.
bool isPlacedByData(const Program &program);

/// Returns true if nothing depends on positions. No query is then at a negative position.
bool isUnplaced(const Program &program);

/// Returns the parameters that the tree reads, each once, in ascending order.
std::vector<int> parametersOf(const Node &node);

/// Removes unread parameters and renumbers the others; their names do not change.
void dropUnusedParameters(Program &program);

/// Returns the number of elements of a content term's vectors.
int64_t depthOf(const Program &program, const Node &content);

/// Creates a node without parameters or numbers.
Node makeNode(Op op, Type type, std::vector<Node> children = {});
/// Creates a node for the row of ScalarOperations of that name.
Node makeScalar(std::string_view name, Type type, std::vector<Node> children);
/// Creates an integer constant, which wraps.
Node makeWhole(Type type, int64_t value);
/// Creates a real constant; the value is rounded to f32.
Node makeReal(Type type, double value);

/// Adds a parameter, drawn from [low, high), to the program and returns its index.
int addParameter(Program &program, std::vector<int64_t> dims, double low, double high);
/// Adds an i32 parameter.
int addWholeParameter(Program &program, std::vector<int64_t> dims, int64_t low, int64_t high);
/// Creates a read of a parameter at these indices.
Node makeRead(Type type, int parameter, std::vector<Node> indices);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_GENERATEDPROGRAM_H
