//===- Rotations.cpp - Rotary embedding of queries and keys ---------------===//

#include "runtime/reference/Rotations.h"

#include "runtime/reference/RopeScaling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pe::reference {

int64_t Rotation::rowOfTables(int64_t batch, int64_t position) const {
  const int64_t rows = cosines->dim(cosines->rank() - 2);
  return ((cosines->rank() == 3 ? batch * rows : 0) + position) *
         static_cast<int64_t>(pairs.size());
}

double Rotation::positionOf(size_t pair, const Place &place) const {
  if (axes.empty())
    return static_cast<double>(place.position);
  const Array &positions = place.isQuery ? *queryPositions : *keyPositions;
  return positions
      .data[(axes[pair] * positions.dim(1) + place.batch) * positions.dim(2) + place.row];
}

void Rotation::coefficients(size_t pair, const Place &place, double &c, double &s) const {
  if (cosines) {
    const int64_t last = cosines->dim(cosines->rank() - 2) - 1;
    const int64_t row = std::min(std::max<int64_t>(place.position, 0), last);
    const size_t at = static_cast<size_t>(rowOfTables(place.batch, row)) + pair;
    c = cosines->data[at];
    s = sines->data[at];
    return;
  }
  const size_t first = heads > 1 ? static_cast<size_t>(place.head) * pairs.size() : 0;
  const double angle = positionOf(pair, place) * frequencies[first + pair];
  c = magnitude * std::cos(angle);
  s = magnitude * std::sin(angle);
}

void Rotation::turn(double *row, const Place &place, double direction) const {
  for (size_t n = 0; n < pairs.size(); ++n) {
    double c = 0, s = 0;
    coefficients(n, place, c, s);
    s *= direction;
    const double a = row[pairs[n].first], b = row[pairs[n].second];
    row[pairs[n].first] = a * c - b * s;
    row[pairs[n].second] = b * c + a * s;
  }
}

void Rotation::apply(double *row, const Place &place) const { turn(row, place, 1.0); }

void Rotation::applyTransposed(double *row, const Place &place) const { turn(row, place, -1.0); }

void Rotation::reverse(const Row &q, const Row &k, int64_t batch, int64_t head, double factor,
                       double noise, ParameterGradients &gradients) const {
  const auto add = [&](int64_t place, double derivative) {
    gradients.sum[place] += factor * derivative;
    gradients.magnitude[place] += std::fabs(factor * derivative);
    gradients.noiseSquared[place] += noise * derivative * noise * derivative;
  };
  if (!cosines) {
    for (const Learned &number : learnedOf(head)) {
      double sum = 0;
      for (const auto &[pair, slope] : number.slopes) {
        // The pair's term of the product depends on the difference of the angles of q and k.
        const auto [a, b] = pairs[pair];
        sum += slope * (q.turned[a] * k.turned[b] - q.turned[b] * k.turned[a]);
      }
      add(number.place, static_cast<double>(q.position - k.position) * sum);
    }
    return;
  }
  const int64_t i = rowOfTables(batch, q.position), j = rowOfTables(batch, k.position);
  for (size_t n = 0; n < pairs.size(); ++n) {
    const auto [a, b] = pairs[n];
    const auto byTables = [&](const Row &own, const Row &other, double &byCosine, double &bySine) {
      byCosine = own.raw[a] * other.turned[a] + own.raw[b] * other.turned[b];
      bySine = own.raw[a] * other.turned[b] - own.raw[b] * other.turned[a];
    };
    double qc = 0, qs = 0, kc = 0, ks = 0;
    byTables(q, k, qc, qs);
    byTables(k, q, kc, ks);
    const auto column = static_cast<int64_t>(n);
    if (i == j) {
      add(cosinesAt + i + column, qc + kc);
      add(sinesAt + i + column, qs + ks);
      continue;
    }
    add(cosinesAt + i + column, qc);
    add(sinesAt + i + column, qs);
    add(cosinesAt + j + column, kc);
    add(sinesAt + j + column, ks);
  }
}

void Rotation::addRounding(const Row &row, const double *d, int64_t origin, int64_t batch,
                           int64_t head, double roundoff, ParameterGradients &gradients) const {
  const auto add = [&](int64_t place, double derivative) {
    gradients.roundingSquared[place] += roundoff * derivative * roundoff * derivative;
  };
  if (!cosines) {
    for (const Learned &number : learnedOf(head))
      for (const auto &[pair, slope] : number.slopes) {
        const auto [a, b] = pairs[pair];
        const double arm = static_cast<double>(row.position - origin) * slope;
        add(number.place, arm * row.turned[a] * d[b]);
        add(number.place, arm * row.turned[b] * d[a]);
      }
    return;
  }
  if (row.position < 0 || row.position >= cosines->dim(cosines->rank() - 2))
    return;
  for (size_t n = 0; n < pairs.size(); ++n) {
    const auto [a, b] = pairs[n];
    const int64_t place = rowOfTables(batch, row.position) + static_cast<int64_t>(n);
    add(cosinesAt + place, row.raw[a] * d[a]);
    add(cosinesAt + place, row.raw[b] * d[b]);
    add(sinesAt + place, row.raw[a] * d[b]);
    add(sinesAt + place, row.raw[b] * d[a]);
  }
}

static Expected<const Array *> tensorOf(const Operation &operation, const TensorValues &tensors,
                                        size_t operand) {
  auto found = tensors.find(operation.operands.at(operand));
  if (found == tensors.end())
    return operation.fail("expected its tensors to be arguments of the function");
  return &found->second;
}

static Status readTables(const Operation &operation, const TensorValues &tensors,
                         const plan::CallSizes &sizes, Rotation &rotation) {
  const int64_t end =
      std::max({int64_t(1), sizes.queryStart + sizes.queries, sizes.keyStart + sizes.keys});
  for (size_t n = 0; n < 2; ++n) {
    auto table = tensorOf(operation, tensors, n);
    if (!table)
      return table.takeError();
    const Shape &shape = (*table)->shape;
    const size_t rank = shape.size();
    if ((rank != 2 && rank != 3) || shape[rank - 1] != static_cast<int64_t>(rotation.pairs.size()))
      return operation.fail("expected a tensor of ", rotation.pairs.size(),
                            " columns, found shape ", toString(shape));
    if (rank == 3 && shape[0] != sizes.batch)
      return operation.fail("expected tables of ", sizes.batch, " batch entries, found ", shape[0]);
    if (shape[rank - 2] < end || sizes.keyStart < 0)
      return operation.fail("expected rows for the positions from ", sizes.keyStart, " up to ", end,
                            ", found ", shape[rank - 2]);
    (n == 0 ? rotation.cosines : rotation.sines) = *table;
  }
  if (rotation.cosines->shape != rotation.sines->shape)
    return operation.fail("expected cosines and sines of one shape, found ",
                          toString(rotation.cosines->shape), " and ",
                          toString(rotation.sines->shape));
  return Status::success();
}

/// Returns the axis of pair `pair` of n, and its number among the pairs of that axis.
static std::pair<int64_t, int64_t> axisOf(const std::vector<int64_t> &sections, bool alternating,
                                          int64_t pair, int64_t n) {
  const auto axes = static_cast<int64_t>(sections.size());
  int64_t sum = 0;
  for (int64_t section : sections)
    sum += section;
  if (alternating) {
    const int64_t axis = pair % axes;
    return {axis > 0 && pair * sum < axes * sections[axis] * n ? axis : 0, pair};
  }
  int64_t end = 0, first = 0;
  for (int64_t axis = 0; axis < axes; ++axis) {
    end += sections[axis];
    if (pair * sum < end * n)
      return {axis, pair - first};
    while (first * sum < end * n)
      ++first;
  }
  return {axes - 1, pair - first};
}

/// Reads the positions and the axes of a rotation by several positions per token.
static Status readAxes(const Operation &operation, const std::vector<ValueId> &positions,
                       const TensorValues &tensors, const plan::CallSizes &sizes,
                       Rotation &rotation) {
  const Attribute *attribute = operation.find("sections");
  const auto sections = attribute ? attribute->asIntegers() : std::nullopt;
  auto alternating = operation.boolean("alternating", false);
  auto restart = operation.boolean("restart", false);
  if (!alternating || !restart)
    return alternating ? restart.takeError() : alternating.takeError();
  if (!sections || sections->empty() || positions.size() > 2)
    return operation.fail("expected sections, and positions of queries and keys");
  for (size_t n = 0; n < 2; ++n) {
    auto found = tensors.find(positions[std::min(n, positions.size() - 1)]);
    if (found == tensors.end())
      return operation.fail("expected its positions to be arguments of the function");
    const Shape expected = {static_cast<int64_t>(sections->size()), sizes.batch,
                            n == 0 ? sizes.queries : sizes.keys};
    if (found->second.shape != expected)
      return operation.fail("expected positions of shape ", toString(expected), ", found ",
                            toString(found->second.shape));
    (n == 0 ? rotation.queryPositions : rotation.keyPositions) = &found->second;
  }
  const auto n = static_cast<int64_t>(rotation.pairs.size());
  for (int64_t pair = 0; pair < n; ++pair)
    rotation.axes.push_back(axisOf(*sections, *alternating, pair, n).first);
  if (!*restart)
    return Status::success();
  for (int64_t pair = 0; pair < n; ++pair) {
    const auto count = std::ranges::count(rotation.axes, rotation.axes[pair]);
    const double share =
        static_cast<double>(axisOf(*sections, false, pair, n).second) / static_cast<double>(count);
    auto base = operation.number("base", 10000.0);
    if (!base)
      return base.takeError();
    rotation.frequencies[pair] = std::pow(*base, -share);
  }
  return Status::success();
}

static Status readFrequencies(const Operation &operation, const TensorValues &tensors,
                              const plan::CallSizes &sizes, Rotation &rotation) {
  auto fixed = operation.number("base", 10000.0);
  if (!fixed)
    return fixed.takeError();
  auto scaling = readScaling(operation);
  if (!scaling)
    return scaling.takeError();
  std::vector<double> bases = {*fixed};
  auto groups = operation.operandGroups(2);
  if (!groups)
    return groups.takeError();
  const std::vector<ValueId> &positions = (*groups)[1];
  const bool isLearned = !(*groups)[0].empty();
  if (isLearned) {
    auto learned = tensorOf(operation, tensors, 0);
    if (!learned)
      return learned.takeError();
    bases = (*learned)->data;
    rotation.heads = static_cast<int64_t>(bases.size());
    if ((*learned)->rank() > 0 && (*learned)->dim(0) == sizes.queryHeads &&
        sizes.keyHeads != sizes.queryHeads && bases.size() > 1)
      return operation.fail("expected as many key heads as query heads, found ", sizes.keyHeads,
                            " and ", sizes.queryHeads);
  }
  const auto count = static_cast<int64_t>(rotation.pairs.size());
  for (const auto &[name, list] : scaling->lists)
    if (static_cast<int64_t>(list.size()) != count)
      return operation.fail("expected ", count, " numbers in ", name, ", found ", list.size());
  for (double base : bases) {
    if (isLearned)
      rotation.learned.push_back(
          {{operation.operands[0], static_cast<int64_t>(rotation.learned.size())}});
    for (int64_t pair = 0; pair < count; ++pair) {
      const Dual frequency =
          scaledFrequency(*scaling, {base, 1.0}, pair, 2 * count, sizes.keyStart + sizes.keys);
      rotation.frequencies.push_back(frequency.value);
      if (isLearned)
        rotation.learned.back().front().slopes.push_back({pair, frequency.slope});
    }
  }
  rotation.magnitude = attentionFactor(*scaling);
  return positions.empty() ? Status::success()
                           : readAxes(operation, positions, tensors, sizes, rotation);
}

//===- Frequencies as scalar code ---------------------------------------------===//

namespace {

/// Checks the reads of the captures of a rotation's region: an axis that is indexed by the head or
/// the pair must have an entry for each. Also determines whether frequencies depend on the head.
class ReadCheck {
public:
  ReadCheck(const Operation &operation, const TensorValues &tensors, int64_t heads, int64_t pairs)
      : operation(operation), tensors(tensors), heads(heads), pairs(pairs) {
    const Region &region = operation.regions.at(0);
    head = region.arguments.at(0);
    pair = region.arguments.at(1);
    for (size_t n = 0; n < operation.operands.size(); ++n)
      outside[region.arguments.at(3 + n)] = operation.operands[n];
  }

  Status run() { return visit(operation.regions[0]); }
  bool dependsOnHead = false;

private:
  ValueId outsideOf(ValueId value) const {
    for (auto found = outside.find(value); found != outside.end(); found = outside.find(value))
      value = found->second;
    return value;
  }
  Status visit(const Region &region);
  Status checkRead(const Operation &read);

  const Operation &operation;
  const TensorValues &tensors;
  int64_t heads, pairs;
  ValueId head, pair;
  std::map<ValueId, ValueId> outside; ///< the operand that an argument of a region represents
};

Status ReadCheck::checkRead(const Operation &read) {
  auto found = tensors.find(outsideOf(read.operands.at(0)));
  for (size_t axis = 0; found != tensors.end() && axis + 1 < read.operands.size(); ++axis) {
    const ValueId index = outsideOf(read.operands[axis + 1]);
    const Shape &shape = found->second.shape;
    if (axis >= shape.size() || (index != head && index != pair))
      continue;
    const int64_t expected = index == head ? heads : pairs;
    const bool isShared = index == head && shape[axis] == 1;
    dependsOnHead |= index == head && !isShared;
    if (shape[axis] != expected && !isShared)
      return operation.fail("expected ", expected, " entries on axis ", axis, ", which is read at ",
                            index == head ? "h" : "p", ", found shape ", toString(shape));
  }
  return Status::success();
}

Status ReadCheck::visit(const Region &region) {
  for (const Operation &inner : region.operations) {
    if (inner.name == "pe.read") {
      if (Status status = checkRead(inner); !status)
        return status;
      continue;
    }
    const bool isSum = inner.name == "pe.sum";
    for (size_t n = 0; n < inner.operands.size(); ++n) {
      if (isSum)
        outside[inner.regions.at(0).arguments.at(n + 1)] = inner.operands[n];
      dependsOnHead |= !isSum && outsideOf(inner.operands[n]) == head;
    }
    for (const Region &nested : inner.regions)
      if (Status status = visit(nested); !status)
        return status;
  }
  return Status::success();
}

} // namespace

/// Records the tensor elements that the frequency of a pair depends on, by their offset in the
/// pack.
static void addSlopes(std::map<int64_t, Rotation::Learned> &numbers, int64_t pair,
                      const ParameterGradients &gradients,
                      const std::vector<GraphBuilder::Parameter> &parameters) {
  for (size_t place = 0; place < gradients.sum.size(); ++place) {
    if (gradients.sum[place] == 0.0)
      continue;
    const auto at = static_cast<int64_t>(place);
    GraphBuilder::Parameter tensor{};
    for (const GraphBuilder::Parameter &parameter : parameters) // in the order of their offsets
      if (parameter.offset <= at)
        tensor = parameter;
    Rotation::Learned &number = numbers[at];
    number.tensor = tensor.value;
    number.element = at - tensor.offset;
    number.slopes.push_back({pair, gradients.sum[place]});
  }
}

static Status evaluateFrequencies(const Program &program, const Definitions &definitions,
                                  ValueId value, const TensorValues &tensors,
                                  const plan::CallSizes &sizes, Rotation &rotation) {
  const Operation &operation = *definitions[value];
  const auto count = static_cast<int64_t>(rotation.pairs.size());
  auto magnitude = operation.number("magnitude", 1.0);
  if (!magnitude)
    return magnitude.takeError();
  rotation.magnitude = *magnitude;
  GraphBuilder builder(program, definitions, tensors, sizes);
  auto root = builder.nodeOf(value);
  if (!root)
    return root.takeError();
  ReadCheck reads(operation, tensors, sizes.queryHeads, count);
  if (Status status = reads.run(); !status)
    return status;
  if (reads.dependsOnHead && sizes.keyHeads != sizes.queryHeads)
    return operation.fail("expected as many key heads as query heads, found ", sizes.keyHeads,
                          " and ", sizes.queryHeads);
  rotation.heads = reads.dependsOnHead ? sizes.queryHeads : 1;
  ScalarEvaluator evaluator(builder.graph, *root, builder.pack);
  for (int64_t head = 0; head < rotation.heads; ++head) {
    std::map<int64_t, Rotation::Learned> numbers;
    evaluator.startHead(0, head, sizes.headStart + head, sizes.headsTotal);
    evaluator.startSequence(count, 0);
    for (int64_t pair = 0; pair < count; ++pair) {
      rotation.frequencies.push_back(evaluator.evaluateDim(pair));
      ParameterGradients gradients(builder.pack.size());
      evaluator.reverse(1.0, 0.0, gradients);
      addSlopes(numbers, pair, gradients, builder.parameters);
    }
    if (operation.operands.empty())
      continue;
    rotation.learned.emplace_back();
    for (auto &[place, number] : numbers)
      rotation.learned.back().push_back(std::move(number));
  }
  return Status::success();
}

static Status checkAttributes(const Operation &operation) {
  if (operation.name == "pe.rotation_table")
    return operation.expectOnly({"interleaved", "rotary_dims", "trailing"});
  if (operation.name == "pe.rotation_fn")
    return operation.expectOnly({"interleaved", "rotary_dims", "trailing", "magnitude"});
  if (operation.name == "pe.rotary")
    return operation.expectOnly({"base", "interleaved", "rotary_dims", "trailing", "scaling",
                                 "sections", "sections_of", "alternating", "restart",
                                 "operandSegmentSizes"});
  return operation.fail("is not a rotation that the reference can evaluate");
}

Expected<Rotation> buildRotation(const Program &program, const Definitions &definitions,
                                 ValueId value, int64_t headDim, const TensorValues &tensors,
                                 const plan::CallSizes &sizes) {
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a rotation defined in the function, found an argument");
  if (Status status = checkAttributes(*operation); !status)
    return status.takeError();
  auto interleaved = operation->boolean("interleaved", false);
  auto dims = operation->integer("rotary_dims", headDim);
  auto trailing = operation->boolean("trailing", false);
  if (!interleaved || !dims)
    return interleaved ? dims.takeError() : interleaved.takeError();
  if (!trailing)
    return trailing.takeError();
  if (*dims % 2 || *dims < 0 || *dims > headDim)
    return operation->fail("expected an even number of rotary dims of at most ", headDim,
                           ", found ", *dims);
  Rotation rotation;
  const int64_t first = *trailing ? headDim - *dims : 0;
  for (int64_t i = 0; i < *dims / 2; ++i)
    if (*interleaved)
      rotation.pairs.push_back({first + 2 * i, first + 2 * i + 1});
    else
      rotation.pairs.push_back({first + i, first + i + *dims / 2});
  Status status = operation->name == "pe.rotation_table"
                      ? readTables(*operation, tensors, sizes, rotation)
                  : operation->name == "pe.rotation_fn"
                      ? evaluateFrequencies(program, definitions, value, tensors, sizes, rotation)
                      : readFrequencies(*operation, tensors, sizes, rotation);
  if (!status)
    return status.takeError();
  return rotation;
}

} // namespace pe::reference
