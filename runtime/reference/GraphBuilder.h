//===- GraphBuilder.h - Translation of pe operations to nodes ---*- C++ -*-===//
//
// Translates the !pe.coordinate and !pe.bias values that one attention uses to a ScalarGraph, and
// the tensors they read to a ParameterPack. Coordinates.cpp and Biases.cpp have one function per pe
// operation, Regions.cpp has the arith and math operations of pe.bias_fn.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_GRAPHBUILDER_H
#define PE_RUNTIME_REFERENCE_GRAPHBUILDER_H

#include "runtime/plan/CallSizes.h"
#include "runtime/reference/Array.h"
#include "runtime/reference/ExportedProgram.h"
#include "runtime/reference/ScalarGraph.h"

#include <map>
#include <optional>
#include <vector>

namespace pe::reference {

/// The operation that defines each value of a function's body, or null for arguments.
using Definitions = std::vector<const Operation *>;
/// Returns the definitions of all values.
Definitions findDefinitions(const Program &program);

/// The tensors computed so far, by ValueId.
using TensorValues = std::map<ValueId, Array>;

/// Builds the graph of one attention or embedding.
class GraphBuilder {
public:
  GraphBuilder(const Program &program, const Definitions &definitions, const TensorValues &tensors,
               const plan::CallSizes &sizes);

  /// Returns the node of a coordinate, a bias or a score function, building it on first use.
  Expected<NodeId> nodeOf(ValueId value);

  struct Parameter {
    ValueId value;
    int64_t offset;
  };

  /// Returns the offset of a tensor in the pack, appending it on first use.
  Expected<int64_t> offsetOf(const Operation &operation, ValueId tensor) {
    auto found = packed(operation, tensor);
    return found ? Expected<int64_t>(found->offset) : Expected<int64_t>(found.takeError());
  }

  /// Returns the tensor of a value, or null if the value is not a tensor.
  const Array *find(ValueId value) const {
    auto found = tensors.find(value);
    return found == tensors.end() ? nullptr : &found->second;
  }

  /// Returns the node of a random factor, given a probability and a seed or a seed per batch entry.
  Expected<NodeId> drawOf(const Operation &operation, double probability, ValueId seed);
  /// Returns the node of a sink given as one logit per query head.
  Expected<NodeId> sinkOf(const Operation &operation, ValueId logits);

  /// The exact values of seeds. Must be set before anything is built.
  const std::map<ValueId, std::vector<int64_t>> *seeds = nullptr;
  /// True if positions differ from the places of the tokens, at which data is read. Must be set
  /// before anything is built.
  bool havePlaces = false;
  ScalarGraph graph;
  ParameterPack pack;
  /// The tensors that are read, with their offsets in the pack.
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
  /// Returns the node of a scalar operand inside a region.
  Expected<NodeId> scalar(const Operation &operation, size_t operand) const;

  NodeId relative();
  NodeId distance();
  /// Returns log(|c * x| + 1).
  NodeId logOfScaled(NodeId c, NodeId x);

  /// A tensor in the pack.
  struct PackedTensor {
    int64_t offset;
    const Shape *shape;
    ValueId value;
  };
  Expected<PackedTensor> packed(const Operation &operation, ValueId tensor);
  /// Returns the meaning of each axis of an argument, or null if it is unspecified.
  const std::vector<std::string> *axesOf(ValueId tensor) const;
  /// Converts `index` on axis `axis` to an index into the tensor of this call: queries and keys are
  /// indexed by their global positions, key heads by a query head.
  NodeId placeOf(const PackedTensor &tensor, size_t axis, NodeId index);
  /// Returns true if the axis counts queries or keys.
  bool isOfTokens(const PackedTensor &tensor, size_t axis) const;
  /// Returns the element of a parameter that is a scalar or has one element per head.
  Expected<NodeId> headParameter(const Operation &operation, ValueId tensor, std::string_view what);

  const Program &program;
  const Definitions &definitions;
  const TensorValues &tensors;
  plan::CallSizes sizes;
  NodeId headNode;
  /// Indexed by ValueId; -1 if there is no node yet. `placeNodes` has the nodes of values in
  /// regions with the places of tokens instead of their positions; the two are swapped while these
  /// are built.
  std::vector<NodeId> nodes, placeNodes;
  bool isAtPlaces = false;
  /// Maps tensor arguments of regions to the captured tensors.
  std::map<ValueId, ValueId> captured;
  std::map<ValueId, int64_t> offsets;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_GRAPHBUILDER_H
