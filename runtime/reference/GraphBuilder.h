//===- GraphBuilder.h - From pe operations to scalar nodes ------*- C++ -*-===//
//
// Turns the !pe.coordinate and !pe.bias values that one attention uses into a ScalarGraph, and the
// tensors they read into a ParameterPack. Coordinates.cpp and Biases.cpp hold one function per pe
// operation, Regions.cpp the arith and math operations of pe.bias_fn.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_GRAPHBUILDER_H
#define PE_RUNTIME_REFERENCE_GRAPHBUILDER_H

#include "runtime/plan/CallSizes.h"
#include "runtime/reference/Array.h"
#include "runtime/reference/Program.h"
#include "runtime/reference/ScalarGraph.h"

#include <map>
#include <optional>
#include <vector>

namespace pe::reference {

/// The operation that defines each value of a function's body; null for arguments.
using Definitions = std::vector<const Operation *>;
Definitions findDefinitions(const Program &program);

/// The tensors computed so far, by ValueId.
using TensorValues = std::map<ValueId, Array>;

class GraphBuilder {
public:
  GraphBuilder(const Program &program, const Definitions &definitions, const TensorValues &tensors,
               const plan::CallSizes &sizes);

  /// The node of a coordinate, a bias or a function of the score; the same node each time.
  Expected<NodeId> nodeOf(ValueId value);

  struct Parameter {
    ValueId value;
    int64_t offset;
  };

  /// The place of a tensor in the pack, appended on first use.
  Expected<int64_t> offsetOf(const Operation &operation, ValueId tensor) {
    auto found = packed(operation, tensor);
    return found ? Expected<int64_t>(found->offset) : Expected<int64_t>(found.takeError());
  }

  /// A tensor by its value; null if it is none.
  const Array *find(ValueId value) const {
    auto found = tensors.find(value);
    return found == tensors.end() ? nullptr : &found->second;
  }

  /// The node of a draw of chance: of a probability, and a seed or one per batch entry.
  Expected<NodeId> drawOf(const Operation &operation, double probability, ValueId seed);
  /// The node of a logit per query head.
  Expected<NodeId> sinkOf(const Operation &operation, ValueId logits);

  /// Seeds by their values, exactly. Set before anything is built.
  const std::map<ValueId, std::vector<int64_t>> *seeds = nullptr;
  /// Set before anything is built: positions are not the places of the tokens, where data is read.
  bool havePlaces = false;
  ScalarGraph graph;
  ParameterPack pack;
  /// The tensors read, with their place in the pack.
  std::vector<Parameter> parameters;

private:
  using Handler = Expected<NodeId> (GraphBuilder::*)(const Operation &);
  static const std::map<std::string_view, Handler> &coordinateHandlers();
  static const std::map<std::string_view, Handler> &biasHandlers();

  // Coordinates.cpp
  Expected<NodeId> buildDistance(const Operation &operation);
  Expected<NodeId> buildRelative(const Operation &operation);
  Expected<NodeId> buildQueryPosition(const Operation &operation);
  Expected<NodeId> buildKeyPosition(const Operation &operation);
  Expected<NodeId> buildLogDistance(const Operation &operation);
  Expected<NodeId> buildProgressive(const Operation &operation);
  Expected<NodeId> buildBucket(const Operation &operation);
  Expected<NodeId> buildClampedLog(const Operation &operation);

  // Biases.cpp
  Expected<NodeId> buildLinear(const Operation &operation);
  Expected<NodeId> buildTable(const Operation &operation);
  Expected<NodeId> buildPower(const Operation &operation);
  Expected<NodeId> buildMlp(const Operation &operation);
  Expected<NodeId> buildCosineSum(const Operation &operation);
  Expected<NodeId> buildCosineSumEval(const Operation &operation);
  NodeId cosineSum(int64_t terms, double base, NodeId x);
  Expected<NodeId> buildAdd(const Operation &operation);
  Expected<NodeId> buildScale(const Operation &operation);
  Expected<NodeId> buildBiasFunction(const Operation &operation);
  Expected<NodeId> buildScoreFunction(const Operation &operation);
  Expected<NodeId> buildFactorFunction(const Operation &operation);
  Expected<NodeId> buildSinkFunction(const Operation &operation);
  Expected<NodeId> buildEmbeddingFunction(const Operation &operation);
  Expected<NodeId> buildContentFunction(const Operation &operation);
  Expected<NodeId> buildRotationFunction(const Operation &operation);
  Expected<NodeId> buildRegion(const Operation &operation, const std::vector<Position> &leading);
  Expected<NodeId> buildFunction(const Operation &operation, const std::vector<Position> &leading);
  Expected<NodeId> slopeNode(const Operation &operation, const std::vector<ValueId> &slope);
  Expected<MlpSpec> readMlp(const Operation &operation, const std::vector<ValueId> &tensors);
  Expected<MlpLayer> readMlpLayer(const Operation &operation, ValueId weights, ValueId bias,
                                  int64_t inputs, bool isLast);

  // Regions.cpp
  Status buildRegionOperation(const Operation &operation);
  void setNode(ValueId value, NodeId position, NodeId place);
  Expected<NodeId> regionNode(const Operation &operation);
  Expected<NodeId> buildConstant(const Operation &operation);
  Expected<NodeId> buildFloatComparison(const Operation &operation, NodeId a, NodeId b);
  Expected<NodeId> buildIntegerComparison(const Operation &operation, NodeId a, NodeId b);
  Expected<NodeId> buildConversion(const Operation &operation);
  Expected<int64_t> countOf(const Operation &operation);
  Expected<NodeId> buildSum(const Operation &operation);
  Expected<NodeId> buildRead(const Operation &operation);
  Expected<NodeId> buildDraw(const Operation &operation);
  Expected<NodeId> buildAxisSize(const Operation &operation);
  Expected<NodeId> buildGlobalHead(const Operation &operation);
  /// The node of a scalar operand inside a region.
  Expected<NodeId> scalar(const Operation &operation, size_t operand) const;

  NodeId relative();
  NodeId distance();
  /// log(|c * x| + 1).
  NodeId logOfScaled(NodeId c, NodeId x);

  /// The place of a tensor in the pack, appended on first use.
  struct PackedTensor {
    int64_t offset;
    const Shape *shape;
    ValueId value;
  };
  Expected<PackedTensor> packed(const Operation &operation, ValueId tensor);
  /// What each axis of an argument counts; null if unspecified.
  const std::vector<std::string> *axesOf(ValueId tensor) const;
  /// Where `index` on axis `axis` of a tensor lies in this call: queries and keys are read at their
  /// global positions, key heads by a query head.
  NodeId placeOf(const PackedTensor &tensor, size_t axis, NodeId index);
  /// Whether the axis counts queries or keys.
  bool isOfTokens(const PackedTensor &tensor, size_t axis) const;
  /// The element of a parameter that is a scalar or has one element per head.
  Expected<NodeId> headParameter(const Operation &operation, ValueId tensor, std::string_view what);

  const Program &program;
  const Definitions &definitions;
  const TensorValues &tensors;
  plan::CallSizes sizes;
  NodeId headNode;
  /// By ValueId; -1 where no node exists yet. `placeNodes` has the same values of regions with the
  /// places of tokens for their positions; both are exchanged while these are built.
  std::vector<NodeId> nodes, placeNodes;
  bool isAtPlaces = false;
  /// Maps tensor arguments of regions to the captured tensors.
  std::map<ValueId, ValueId> captured;
  std::map<ValueId, int64_t> offsets;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_GRAPHBUILDER_H
