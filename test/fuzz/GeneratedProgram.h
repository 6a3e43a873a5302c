//===- GeneratedProgram.h - A generated program as data ---------*- C++ -*-===//
//
// What the generator writes and the minimiser reduces: a tree per bias, rotation and mask, the
// parameters they read, and one call (sizes and positions). One kind of node serves scalars of
// regions and formulas, coordinates, biases, masks and rotations, so that "put a child in place of
// its parent" or "put a leaf here" mean something everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_GENERATEDPROGRAM_H
#define PE_TEST_FUZZ_GENERATEDPROGRAM_H

#include "fuzz/ScalarOperations.h"
#include "pe/Positions.h"

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
  GlobalHead, ///< of a child
  Dim,        ///< d, of content terms and embeddings
  Width,      ///< dim
  Token,      ///< p, of embeddings
  End,        ///< n, of embeddings
  AxisSize,   ///< of parameters[0]; integers[0]: the axis
  Read,       ///< parameters[0], one child per axis
  Score,      ///< s, in functions of the score
  Select,     ///< condition, one, other
  ToReal,     ///< an index as f32, through i64
  ToIndex,    ///< an f32 toward 0 as an index, through i32
  Sum,        ///< of the child over an index; integers: count, name of the index
  SumIndex,   ///< integers[1]: name
  Square,     ///< of the child; integers[1]: name of the let in a formula
  Captured,   ///< a coordinate
  Waves,      ///< of an angle, for elements of vectors: sine and cosine by turns; name as of Square
  // Coordinates.
  Distance,
  Relative,
  QueryPosition,
  KeyPosition,
  LogDistance, ///< c
  Progressive, ///< c or none, threshold or none; initial length, epsilon
  Bucket,      ///< buckets, maximal distance; flag: bidirectional
  ClampedLog,  ///< threshold
  // Biases of a coordinate.
  Linear,    ///< slope or none (a rule: integers[0]), intercept or none; factor
  Table,     ///< table
  Power,     ///< exponent, slope; factor
  Mlp,       ///< layers; integers: activation, final activation
  CosineSum, ///< amplitude or none; integers[0] terms; base
  // Biases of biases, and of scalars.
  Add,
  Scale,   ///< factor
  Region,  ///< of one f32
  Formula, ///< of one f32, printed as text
  // Functions of the score, of one f32.
  ScoreRegion,
  ScoreFormula,
  // Factors on weights, of one f32.
  FactorRegion,
  FactorFormula,
  // Masks.
  Causal,
  StrictCausal,
  Window, ///< integers: left, right; 0: open
  MaskFn, ///< integers: which condition, its number
  MaskRegion,
  MaskFormula, ///< of one i1
  Documents,   ///< parameters: boundaries; flag: positions restart
  MaskAnd,
  MaskOr,
  // Rotations.
  /// integers: dims or 0, scaling; reals: base, factor; flag: interleaved; parameters: the learned
  /// base, if any.
  Rotary,
  RotationTable, ///< integers[0] dims or 0; flag: interleaved; parameters: cosines, sines
  /// integers: dims or 0, number of a formula; reals: factor on cosine and sine; flag: interleaved;
  /// parameters: a base per head or for all, a factor per pair.
  RotationFn,
  // Vectors, of one f32 each. Parameters of a content term: shift and projection, or none.
  ContentRegion,
  ContentFormula,
  EmbeddingRegion,
  EmbeddingFormula,
};

/// Whether the node is scalar code with arguments of its own; what it captures is below its child.
bool isRegion(Op op);

/// The conditions of MaskFn; the first ones compare with a position.
constexpr int64_t kMaskConditions = 10, kPositionConditions = 6;

struct Node {
  Op op = Op::Constant;
  Type type = Type::F32;
  const ScalarOperation *scalar = nullptr;
  std::vector<Node> children;
  /// Indices into Program::parameters, or kNoParameter.
  std::vector<int> parameters;
  std::array<int64_t, 2> integers = {};
  std::array<double, 2> reals = {};
  bool flag = false;

  bool operator==(const Node &) const = default;
};

/// The words of the attributes that Linear::integers and Mlp::integers count.
constexpr std::array<const char *, 3> kSlopeRules = {"", "geometric", "interleaved"};
constexpr std::array<const char *, 7> kActivations = {"identity", "relu", "gelu", "tanh",
                                                      "silu",     "cos",  "step"};

/// The kinds of scaling that Rotary::integers counts, and the numbers of each besides its factor.
constexpr std::array<const char *, 6> kScalings = {"",     "linear", "ntk", "dynamic_ntk",
                                                   "yarn", "llama3"};
constexpr int64_t kOriginalLength = 40;
constexpr double kFast = 6.0, kSlow = 0.5;

/// The formulas of frequencies that RotationFn::integers counts, with B for the base and F for the
/// factor of the pair.
constexpr std::array<const char *, 3> kFrequencies = {
    "B ^ (-p / n) / F", "select(p < n // 2, B ^ (-p / n), 0) * F",
    "exp(-p / n * log(B)) * (1 - sigmoid(F - 2) / 2)"};

constexpr int kNoParameter = -1;

/// Drawn uniformly from [low, high).
struct Parameter {
  std::string name;
  /// Sizes, or axes of the call. One that is not kHeads makes it data, with `pe.axes`.
  std::vector<int64_t> dims;
  double low = -1.0, high = 1.0;
  bool isWhole = false; ///< i32
  /// With `pe.absent`: the parameter that is read where the call leaves this one out.
  int absent = kNoParameter;
  bool isLeftOut = false;

  bool operator==(const Parameter &) const = default;
};
constexpr int64_t kHeads = -1, kBatch = -2, kKeyHeads = -3, kQueries = -4, kKeys = -5, kRows = -6,
                  kBoundaries = -7, kDepth = -8, kModel = -9;
/// The words of `pe.axes` for these, kHeads first. Two are names of the generator's own.
constexpr std::array<const char *, 9> kAxisWords = {"head", "batch",      "kv_head", "query", "key",
                                                    "rows", "boundaries", "depth",   "model"};
/// Whether the parameter needs `pe.axes`.
bool isData(const Parameter &parameter);

struct Sizes {
  int64_t batch = 1, queryHeads = 1, keyHeads = 1, queries = 1, keys = 1, headDim = 16,
          valueDim = 16;
  int64_t rows = 1, boundaries = 2, width = 16; ///< axes of names, and of tokens to embed

  /// Of an element of Parameter::dims.
  int64_t extentOf(int64_t dim) const {
    const int64_t axes[] = {queryHeads, batch,      keyHeads, queries, keys,
                            rows,       boundaries, headDim,  width};
    return dim < 0 ? axes[-dim - 1] : dim;
  }
  bool operator==(const Sizes &) const = default;
};

/// What the function of a program computes.
enum class Entry : uint8_t { Attention, Merge, Embed };

struct Program {
  uint64_t seed = 0;
  Entry entry = Entry::Attention;
  std::vector<Parameter> parameters;
  std::vector<Node> biases;
  std::optional<Node> score, factor;
  /// A Read of a parameter over heads: logits that join the denominator.
  std::optional<Node> sink;
  /// Probability; 0: none.
  double dropout = 0;
  bool hasSeedPerBatch = false;
  std::optional<Node> rotation;
  std::vector<Node> contents;
  /// A Read of a parameter over heads and dims: what is added to the queries.
  std::optional<Node> queryShift;
  /// Reads of the positions of queries and of keys, or nothing.
  std::vector<Node> given;
  std::optional<Node> mask;
  bool isStickBreaking = false, attendsCurrent = false, keepsRemainder = false,
       hasBothSides = false;
  std::optional<Node> embedding;
  std::optional<double> scale;
  bool hasLse = false;
  Sizes sizes;
  Positions positions;

  /// Of query row 0, by default such that the last query aligns with the last key.
  int64_t queryStart() const;
  int64_t headsTotal() const { return positions.headsTotal.value_or(sizes.queryHeads); }
};

/// Calls `visit` on every node below and including `node`.
template <typename NodeType, typename Visit> void walk(NodeType &node, const Visit &visit) {
  visit(node);
  for (auto &child : node.children)
    walk(child, visit);
}

/// Whether positions are other numbers than the places of rows and columns.
bool isPlacedByData(const Program &program);

/// Whether nothing depends on where queries and keys are: no query is then at a negative position.
bool isUnplaced(const Program &program);

/// The parameters that the tree reads, each once, in ascending order.
std::vector<int> parametersOf(const Node &node);

/// Removes parameters that nothing reads and renumbers the others; their names stay.
void dropUnusedParameters(Program &program);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_GENERATEDPROGRAM_H
