//===- ScalarGraph.cpp - A bias as a flat scalar graph --------------------===//
//
// Builds the list of nodes, and evaluates it forward and in reverse.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/ScalarGraph.h"

#include "runtime/core/Random.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace pe::reference {

int64_t ParameterPack::append(const std::vector<double> &elements) {
  int64_t offset = size();
  data.insert(data.end(), elements.begin(), elements.end());
  return offset;
}

double bucketOf(const BucketSpec &spec, double relative) {
  int64_t buckets = spec.buckets;
  int64_t base = 0;
  int64_t distance = static_cast<int64_t>(relative);
  if (spec.bidirectional) {
    // Each side has half of the buckets; keys after the query use the upper half.
    buckets /= 2;
    base = distance < 0 ? buckets : 0;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(distance, 0);
  }
  int64_t exact = buckets / 2;
  if (distance < exact)
    return static_cast<double>(base + distance);
  // The boundaries depend on the precision: the published formula is evaluated in f32.
  float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact));
  float range = static_cast<float>(
      std::log(static_cast<double>(spec.maxDistance) / static_cast<double>(exact)));
  float steps = ratio / range * static_cast<float>(buckets - exact);
  int64_t bucket = exact + static_cast<int64_t>(std::floor(steps));
  return static_cast<double>(base + std::min(bucket, buckets - 1));
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

NodeId ScalarGraph::add(ScalarNode node) {
  for (NodeId in : node.in)
    if (in >= 0)
      node.level = std::max(node.level, nodes[in].level);
  nodes.push_back(std::move(node));
  locations.push_back(location);
  return static_cast<NodeId>(nodes.size()) - 1;
}

NodeId ScalarGraph::constant(double value) {
  ScalarNode node;
  node.constant = value;
  return add(node);
}

NodeId ScalarGraph::position(Position which) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Position;
  node.position = which;
  node.isInteger = which != Position::Score;
  node.differentiable = which == Position::Score;
  if (which == Position::Query || which == Position::Row)
    node.level = Level::Row;
  if (which == Position::Key || which == Position::Column || which == Position::Score ||
      which == Position::Dim)
    node.level = Level::Pair;
  return add(node);
}

NodeId ScalarGraph::read(ReadSpec spec) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Read;
  node.differentiable = true;
  for (NodeId index : spec.indices)
    node.level = std::max(node.level, nodes[index].level);
  node.spec = static_cast<int>(reads.size());
  reads.push_back(std::move(spec));
  return add(node);
}

NodeId ScalarGraph::unary(const UnaryRule &rule, NodeId x) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Unary;
  node.in = {x, -1, -1};
  node.unary = &rule;
  node.differentiable = rule.derivative && nodes[x].differentiable;
  return add(node);
}

NodeId ScalarGraph::binary(const BinaryRule &rule, NodeId a, NodeId b) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Binary;
  node.in = {a, b, -1};
  node.binary = &rule;
  node.differentiable = rule.derivative && (nodes[a].differentiable || nodes[b].differentiable);
  return add(node);
}

NodeId ScalarGraph::select(NodeId condition, NodeId whenTrue, NodeId whenFalse, bool isInteger) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Select;
  node.in = {condition, whenTrue, whenFalse};
  node.isInteger = isInteger;
  node.differentiable = nodes[whenTrue].differentiable || nodes[whenFalse].differentiable;
  return add(node);
}

NodeId ScalarGraph::clamp(NodeId x, NodeId low, NodeId high) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Clamp;
  node.in = {x, low, high};
  node.differentiable =
      nodes[x].differentiable || nodes[low].differentiable || nodes[high].differentiable;
  return add(node);
}

NodeId ScalarGraph::integerConstant(int64_t value) {
  ScalarNode node;
  node.isInteger = true;
  node.integerConstant = value;
  return add(node);
}

NodeId ScalarGraph::integer(const IntegerRule &rule, NodeId a, NodeId b, unsigned bits,
                            unsigned resultBits) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Integer;
  node.isInteger = true;
  node.in = {a, b, -1};
  node.integer = &rule;
  node.bits = bits;
  node.resultBits = resultBits;
  return add(node);
}

NodeId ScalarGraph::fromReal(NodeId x, unsigned bits, bool isUnsigned) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::FromReal;
  node.isInteger = true;
  node.in = {x, -1, -1};
  node.bits = isUnsigned ? bits : bits - 1; // of the magnitude
  node.resultBits = bits;
  return add(node);
}

NodeId ScalarGraph::fromTruth(NodeId x) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::FromTruth;
  node.isInteger = true;
  node.in = {x, -1, -1};
  return add(node);
}

NodeId ScalarGraph::toRealUnsigned(NodeId x, unsigned bits) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::ToRealUnsigned;
  node.in = {x, -1, -1};
  node.bits = bits;
  return add(node);
}

NodeId ScalarGraph::bucket(BucketSpec spec, NodeId relative) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Bucket;
  node.in = {relative, -1, -1};
  node.spec = static_cast<int>(buckets.size());
  buckets.push_back(spec);
  return add(node);
}

NodeId ScalarGraph::cosineSum(CosineSumSpec spec, NodeId x) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::CosineSum;
  node.in = {x, -1, -1};
  node.differentiable = nodes[x].differentiable;
  node.spec = static_cast<int>(cosineSums.size());
  cosineSums.push_back(std::move(spec));
  return add(node);
}

NodeId ScalarGraph::mlp(MlpSpec spec, NodeId x, NodeId head) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Mlp;
  node.in = {x, head, -1};
  node.differentiable = true;
  node.spec = static_cast<int>(mlps.size());
  mlps.push_back(std::move(spec));
  return add(node);
}

NodeId ScalarGraph::draw(DrawSpec spec) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Draw;
  node.level = Level::Pair;
  node.spec = static_cast<int>(draws.size());
  draws.push_back(std::move(spec));
  return add(node);
}

NodeId ScalarGraph::arith(std::string_view name, NodeId a, NodeId b) {
  const BinaryRule *rule = findBinaryRule("arith." + std::string(name));
  assert(rule && "no such arith operation");
  return binary(*rule, a, b);
}

NodeId ScalarGraph::math(std::string_view name, NodeId x) {
  const UnaryRule *rule = findUnaryRule("math." + std::string(name));
  assert(rule && "no such math operation");
  return unary(*rule, x);
}

void ParameterGradients::accumulateAt(int64_t offset, const ParameterGradients &other) {
  for (size_t e = 0; e < other.sum.size(); ++e) {
    sum[offset + e] += other.sum[e];
    magnitude[offset + e] += other.magnitude[e];
    noiseSquared[offset + e] += other.noiseSquared[e];
    roundingSquared[offset + e] += other.roundingSquared[e];
  }
}

//===----------------------------------------------------------------------===//
// Evaluating
//===----------------------------------------------------------------------===//

ScalarEvaluator::ScalarEvaluator(const ScalarGraph &graph, NodeId root,
                                 const ParameterPack &parameters)
    : graph(graph), root(root), parameters(parameters.values().data()), values(graph.nodes.size()),
      integers(graph.nodes.size()), cotangents(graph.nodes.size()), sizes(graph.nodes.size()),
      readOffsets(graph.reads.size()), isOutside(graph.reads.size()), isVisited(root + 1),
      pairGradient(parameters.size()), pairSizes(parameters.size()) {
  for (const MlpSpec &spec : graph.mlps)
    mlps.emplace_back(spec, parameters.values().data());
  for (NodeId id = 0; id <= root; ++id) {
    lists[static_cast<size_t>(graph.nodes[id].level)].push_back(id);
    if (graph.nodes[id].differentiable)
      reverseList.push_back(id);
  }
  std::reverse(reverseList.begin(), reverseList.end());
}

void ScalarEvaluator::run(const std::vector<NodeId> &list) {
  for (NodeId id : list) {
    const ScalarNode &node = graph.nodes[id];
    if (node.isInteger)
      integers[id] = forwardInteger(node);
    values[id] = node.isInteger ? static_cast<double>(integers[id]) : forward(node);
    if (graph.roundsToSingle) // integer operations read the exact `integers`
      values[id] = static_cast<float>(values[id]);
  }
}

void ScalarEvaluator::startHead(int64_t batch, int64_t head, int64_t globalHead,
                                int64_t headsTotal) {
  auto set = [&](Position which, int64_t value) {
    positions[static_cast<size_t>(which)] = static_cast<double>(value);
  };
  set(Position::Batch, batch);
  set(Position::Head, head);
  set(Position::GlobalHead, globalHead);
  set(Position::HeadsTotal, headsTotal);
  run(lists[static_cast<size_t>(Level::Head)]);
}

void ScalarEvaluator::startSequence(int64_t width, int64_t length) {
  positions[static_cast<size_t>(Position::Width)] = static_cast<double>(width);
  positions[static_cast<size_t>(Position::Length)] = static_cast<double>(length);
  run(lists[static_cast<size_t>(Level::Head)]);
}

double ScalarEvaluator::evaluateDim(int64_t dim) {
  positions[static_cast<size_t>(Position::Dim)] = static_cast<double>(dim);
  run(lists[static_cast<size_t>(Level::Pair)]);
  return values[root];
}

void ScalarEvaluator::startRow(Token query) {
  positions[static_cast<size_t>(Position::Query)] = static_cast<double>(query.position);
  positions[static_cast<size_t>(Position::Row)] = static_cast<double>(query.place);
  run(lists[static_cast<size_t>(Level::Row)]);
}

double ScalarEvaluator::evaluateElement(int64_t key, int64_t dim) {
  positions[static_cast<size_t>(Position::Key)] = static_cast<double>(key);
  positions[static_cast<size_t>(Position::Column)] = static_cast<double>(key);
  return evaluateDim(dim);
}

double ScalarEvaluator::evaluate(Token key, double score) {
  positions[static_cast<size_t>(Position::Score)] = score;
  positions[static_cast<size_t>(Position::Key)] = static_cast<double>(key.position);
  positions[static_cast<size_t>(Position::Column)] = static_cast<double>(key.place);
  run(lists[static_cast<size_t>(Level::Pair)]);
  return values[root];
}

double DrawSpec::at(int64_t batch, int64_t head, int64_t i, int64_t j) const {
  const auto seed = static_cast<uint64_t>(seeds[hasSeedPerBatch ? batch : 0]);
  const int64_t word = (j % 4 + 4) % 4;
  const std::array<uint32_t, 4> counter = {hasSeedPerBatch ? 0 : static_cast<uint32_t>(batch),
                                           static_cast<uint32_t>(head), static_cast<uint32_t>(i),
                                           static_cast<uint32_t>((j - word) / 4)};
  const auto words =
      philox4x32(counter, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return words[word] >= probability * 0x1p32 ? 1.0 / (1.0 - probability) : 0.0;
}

double ScalarEvaluator::forwardDraw(const DrawSpec &spec) const {
  auto number = [&](Position which) {
    return static_cast<int64_t>(positions[static_cast<size_t>(which)]);
  };
  return spec.at(number(Position::Batch), number(Position::GlobalHead), number(Position::Row),
                 number(Position::Column));
}

double ScalarEvaluator::forwardRead(int number) {
  const ReadSpec &spec = graph.reads[number];
  int64_t linear = 0;
  for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
    double last = static_cast<double>(spec.shape[axis] - 1);
    double index = std::fmin(std::fmax(values[spec.indices[axis]], 0.0), last);
    linear = linear * spec.shape[axis] + static_cast<int64_t>(index);
  }
  if (!spec.tensor.empty())
    noteOutside(number);
  readOffsets[number] = spec.offset + linear;
  return parameters[spec.offset + linear];
}

/// Returns x rounded toward zero and clamped to `bits` bits, signed or unsigned.
static int64_t truncated(double x, unsigned bits, bool isUnsigned) {
  if (std::isnan(x))
    return 0;
  double limit = std::ldexp(1.0, static_cast<int>(bits));
  if (x >= limit)
    return static_cast<int64_t>(bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1);
  if (isUnsigned)
    return x <= 0.0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x));
  return static_cast<int64_t>(std::fmax(x, -limit));
}

int64_t ScalarEvaluator::forwardInteger(const ScalarNode &node) {
  auto in = [&](int which) { return integers[node.in[which]]; };
  switch (node.kind) {
  case ScalarNode::Kind::Position:
    return static_cast<int64_t>(forward(node));
  case ScalarNode::Kind::Select:
    return in(in(0) != 0 ? 1 : 2);
  case ScalarNode::Kind::FromReal: {
    bool isUnsigned = node.bits == node.resultBits;
    return signExtend(truncated(values[node.in[0]], node.bits, isUnsigned), node.resultBits);
  }
  case ScalarNode::Kind::FromTruth:
    return values[node.in[0]] != 0.0 ? -1 : 0;
  case ScalarNode::Kind::Integer: {
    int64_t b = node.integer->arity == 2 ? in(1) : 0;
    return signExtend(node.integer->value(in(0), b, node.bits), node.resultBits);
  }
  default:
    return node.integerConstant;
  }
}

double ScalarEvaluator::forward(const ScalarNode &node) {
  auto in = [&](int which) { return values[node.in[which]]; };
  switch (node.kind) {
  case ScalarNode::Kind::Constant:
    return node.constant;
  case ScalarNode::Kind::Position:
    return positions[static_cast<size_t>(node.position)];
  case ScalarNode::Kind::Read:
    return forwardRead(node.spec);
  case ScalarNode::Kind::Unary:
    return node.unary->value(in(0));
  case ScalarNode::Kind::Binary:
    return node.binary->value(in(0), in(1));
  case ScalarNode::Kind::Select:
    return in(0) != 0.0 ? in(1) : in(2);
  case ScalarNode::Kind::Clamp: {
    double raised = findBinaryRule("arith.maximumf")->value(in(0), in(1));
    return findBinaryRule("arith.minimumf")->value(raised, in(2));
  }
  case ScalarNode::Kind::ToRealUnsigned:
    return static_cast<double>(zeroExtend(integers[node.in[0]], node.bits));
  case ScalarNode::Kind::Integer:
  case ScalarNode::Kind::FromReal:
  case ScalarNode::Kind::FromTruth:
    break; // forwardInteger
  case ScalarNode::Kind::Bucket:
    return bucketOf(graph.buckets[node.spec], in(0));
  case ScalarNode::Kind::CosineSum: {
    double sum = 0.0;
    for (double frequency : graph.cosineSums[node.spec].frequencies)
      sum += std::cos(in(0) * frequency);
    return sum;
  }
  case ScalarNode::Kind::Mlp:
    return mlps[node.spec].forward(in(0), static_cast<int64_t>(in(1)));
  case ScalarNode::Kind::Draw:
    return forwardDraw(graph.draws[node.spec]);
  }
  return 0.0;
}

/// `growth` is the magnitude of the cotangent's terms divided by the cotangent.
void ScalarEvaluator::reverseNode(const ScalarNode &node, double value, double cotangent,
                                  double growth) {
  auto in = [&](int which) { return values[node.in[which]]; };
  auto give = [&](int which, double amount) {
    cotangents[node.in[which]] += amount;
    sizes[node.in[which]] += std::fabs(amount) * growth;
  };
  switch (node.kind) {
  case ScalarNode::Kind::Position:
    if (node.position == Position::Score)
      derivativeByScore += cotangent;
    return;
  case ScalarNode::Kind::Constant:
  case ScalarNode::Kind::Bucket:
  case ScalarNode::Kind::Integer:
  case ScalarNode::Kind::FromReal:
  case ScalarNode::Kind::FromTruth:
  case ScalarNode::Kind::ToRealUnsigned:
  case ScalarNode::Kind::Draw:
    return;
  case ScalarNode::Kind::Read:
    pairGradient[readOffsets[node.spec]] += cotangent;
    pairSizes[readOffsets[node.spec]] += std::fabs(cotangent) * growth;
    return touch(readOffsets[node.spec], 1);
  case ScalarNode::Kind::Unary:
    return give(0, cotangent * node.unary->derivative(in(0), value));
  case ScalarNode::Kind::Binary: {
    Partials partials = node.binary->derivative(in(0), in(1), value);
    give(0, cotangent * partials.left);
    return give(1, cotangent * partials.right);
  }
  case ScalarNode::Kind::Select:
    return give(in(0) != 0.0 ? 1 : 2, cotangent);
  case ScalarNode::Kind::Clamp:
    if (std::fmax(in(0), in(1)) > in(2))
      return give(2, cotangent);
    return give(in(0) < in(1) ? 1 : 0, cotangent);
  case ScalarNode::Kind::CosineSum: {
    double slope = 0.0;
    for (double frequency : graph.cosineSums[node.spec].frequencies)
      slope -= frequency * std::sin(in(0) * frequency);
    return give(0, cotangent * slope);
  }
  case ScalarNode::Kind::Mlp:
    give(0, mlps[node.spec].reverse(cotangent, pairGradient.data()));
    return mlps[node.spec].forEachRange(
        [&](int64_t offset, int64_t length) { touch(offset, length); });
  }
}

void ScalarEvaluator::reverse(double cotangent, double magnitude, double noise,
                              ParameterGradients &gradients) {
  derivativeByScore = 0.0;
  if (!graph.nodes[root].differentiable)
    return;
  std::fill(cotangents.begin(), cotangents.end(), 0.0);
  std::fill(sizes.begin(), sizes.end(), 0.0);
  cotangents[root] = sizes[root] = 1.0;
  for (NodeId id : reverseList)
    if (cotangents[id] != 0.0)
      reverseNode(graph.nodes[id], values[id], cotangents[id],
                  sizes[id] / std::fabs(cotangents[id]));
  // A range that occurs twice has the full derivative of the pair the first time, then zeros.
  for (Range range : touched) {
    for (int64_t e = range.offset; e < range.offset + range.length; ++e) {
      double derivative = pairGradient[e];
      gradients.sum[e] += cotangent * derivative;
      gradients.magnitude[e] += magnitude * std::fabs(derivative);
      gradients.noiseSquared[e] += (noise * derivative) * (noise * derivative);
      // Rounding changes each term, and thereby the result of their cancellation.
      const double cancelled = std::max(pairSizes[e] - std::fabs(derivative), 0.0) * cotangent;
      gradients.noiseSquared[e] += cancelled * cancelled;
      pairGradient[e] = pairSizes[e] = 0.0;
    }
  }
  touched.clear();
}

} // namespace pe::reference
