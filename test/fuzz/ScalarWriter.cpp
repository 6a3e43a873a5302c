//===- ScalarWriter.cpp - Generates random scalar code --------------------===//

#include "fuzz/ScalarWriter.h"

#include "fuzz/EvaluateProgram.h"

#include <algorithm>
#include <cmath>

namespace pe::fuzz {

const ScalarOperation &ScalarWriter::pickRow(std::initializer_list<Form> forms) {
  std::vector<const ScalarOperation *> rows;
  for (const ScalarOperation &row : scalarOperations())
    if (std::find(forms.begin(), forms.end(), row.form) != forms.end() &&
        (isFormula ? !row.formula.empty() : !row.name.starts_with("formula.")))
      rows.push_back(&row);
  return *rows[below(rows.size())];
}

//===----------------------------------------------------------------------===//
// Real numbers
//===----------------------------------------------------------------------===//

Node ScalarWriter::toReal(Node whole, Type type) {
  if (whole.type == Type::Index && (isFormula || (type == Type::F32 && chance(0.5))))
    return makeNode(Op::ToReal, Type::F32, {std::move(whole)});
  if (whole.type == Type::Index)
    whole = makeScalar("arith.index_cast", chance(0.3) ? Type::I32 : Type::I64, {std::move(whole)});
  return makeScalar(chance(0.7) ? "arith.sitofp" : "arith.uitofp", type, {std::move(whole)});
}

Node ScalarWriter::realOfWhole(Type type, int depth) {
  Node number = toReal(whole(pickWholeType(), depth), type);
  Node region =
      makeNode(Op::Region, Type::Bias,
               {type == Type::F32 ? number : makeScalar("arith.truncf", Type::F32, {number})});
  double magnitude =
      conditionOf(program, region, drawParameters(program, program.seed), 40).magnitude;
  if (magnitude <= 4)
    return number;
  double factor = chance(0.5) ? std::exp2(-std::floor(std::log2(magnitude)) + int(below(3)))
                              : random.uniform(0.5, 3.0) / magnitude;
  return makeScalar("arith.mulf", type, {std::move(number), makeReal(type, factor)});
}

Node ScalarWriter::exactReal(Type type, int depth) {
  Type wholeType = pickWholeType();
  Node number = whole(wholeType, depth);
  int64_t limit = 5 + below(60);
  if (isFormula || chance(0.4))
    number =
        makeScalar("arith.maxsi", wholeType,
                   {makeWhole(wholeType, -limit),
                    makeScalar("arith.minsi", wholeType, {number, makeWhole(wholeType, limit)})});
  else
    number = makeScalar(chance(0.5) ? "arith.remsi" : "arith.remui", wholeType,
                        {number, makeWhole(wholeType, limit)});
  const double eighths = 0.125 * (1 << below(4));
  return makeScalar("arith.mulf", type, {toReal(std::move(number), type), makeReal(type, eighths)});
}

Node ScalarWriter::realLeaf(Type type) {
  if (type == Type::F64)
    return makeScalar("arith.extf", Type::F64, {realLeaf(Type::F32)});
  if (scope == Scope::Score && chance(0.5))
    return makeNode(Op::Score, Type::F32);
  if (chance(0.15))
    return makeReal(type, random.uniform(-2.0, 2.0));
  if (scope == Scope::Pair && chance(0.08))
    return captured();
  return chance(0.5) ? read(1) : realOfWhole(type, 1);
}

Node ScalarWriter::guard(Domain domain, Node value) {
  Type type = value.type;
  switch (domain) {
  case Domain::Positive:
    return makeScalar("arith.addf", type,
                      {makeScalar("math.absf", type, {std::move(value)}), makeReal(type, 0.25)});
  case Domain::Unit:
    return makeScalar("arith.mulf", type,
                      {makeScalar("math.sin", type, {std::move(value)}), makeReal(type, 0.875)});
  case Domain::Small:
    return makeScalar("arith.minimumf", type,
                      {makeScalar("arith.maximumf", type, {std::move(value), makeReal(type, -3)}),
                       makeReal(type, 2.5)});
  default:
    return value;
  }
}

Node ScalarWriter::realUnary(Type type, int depth) {
  const ScalarOperation &row = pickRow({Form::RealUnary});
  Node operand = row.domain == Domain::Exact ? exactReal(type, depth - 1)
                                             : guard(row.domain, real(type, depth - 1));
  return makeScalar(row.name, type, {std::move(operand)});
}

Node ScalarWriter::realOther(Type type, int depth) {
  const ScalarOperation &row =
      pickRow({Form::RealBinary, Form::RealBinary, Form::RealTernary, Form::RealToWholePower});
  if (row.name == "arith.remf" || row.name == "formula.real_remainder")
    return makeScalar(row.name, type,
                      {exactReal(type, depth - 1), makeReal(type, 0.5 * (1 + below(7)))});
  if (row.name == "math.powf")
    return makeScalar(row.name, type,
                      {guard(Domain::Positive, guard(Domain::Small, real(type, depth - 1))),
                       guard(Domain::Small, real(type, depth - 1))});
  if (row.form == Form::RealToWholePower)
    return makeScalar(
        row.name, type,
        {guard(Domain::Small, real(type, depth - 1)), makeWhole(Type::I32, below(5))});
  if (row.name == "math.clampf")
    return makeScalar(row.name, type,
                      {real(type, depth - 1), makeReal(type, random.uniform(-2, 0)),
                       makeReal(type, random.uniform(0.1, 2))});
  Node left = real(type, depth - 1), right = guard(row.domain, real(type, depth - 1));
  if (row.form == Form::RealTernary)
    return makeScalar(row.name, type, {std::move(left), std::move(right), real(type, depth - 1)});
  return makeScalar(row.name, type, {std::move(left), std::move(right)});
}

/// Generates a sum over an index, scaled to about the size of a summand.
Node ScalarWriter::sum(int depth) {
  const int64_t count = below(6), name = names++;
  sumNames.push_back(name);
  Node node = makeNode(Op::Sum, Type::F32, {real(Type::F32, depth - 1)});
  sumNames.pop_back();
  node.integers = {count, name};
  return makeScalar("arith.mulf", Type::F32,
                    {std::move(node), makeReal(Type::F32, count > 2 ? 0.25 : 0.5)});
}

/// Generates a captured coordinate, scaled to a moderate size.
Node ScalarWriter::captured() {
  const Op ops[] = {Op::Distance, Op::Relative, Op::LogDistance};
  Node coordinate = makeNode(ops[below(3)], Type::Coordinate);
  const bool isLog = coordinate.op == Op::LogDistance;
  if (isLog)
    coordinate.parameters = {addParameter(program, {kHeads}, 0.05, 2.0)};
  Node node = makeNode(Op::Captured, Type::F32, {std::move(coordinate)});
  return isLog
             ? node
             : makeScalar("arith.mulf", Type::F32, {std::move(node), makeReal(Type::F32, 0.03125)});
}

Node ScalarWriter::real(Type type, int depth) {
  if (depth <= 0)
    return realLeaf(type);
  if (type == Type::F32 && sumNames.size() < 2 && chance(0.06))
    return sum(depth);
  if (type == Type::F32 && chance(0.04)) {
    Node node = makeNode(Op::Square, Type::F32, {real(type, depth - 1)});
    node.integers[1] = names++;
    return node;
  }
  switch (below(isFormula ? 10 : 12)) {
  case 0:
  case 1:
    return realLeaf(type);
  case 2:
    return realOfWhole(type, depth);
  case 3:
    return makeNode(Op::Select, type,
                    {truth(depth - 1), real(type, depth - 1), real(type, depth - 1)});
  case 4:
  case 5:
  case 6:
    return realUnary(type, depth);
  case 10: // via the other type
    return makeScalar(type == Type::F32 ? "arith.truncf" : "arith.extf", type,
                      {real(type == Type::F32 ? Type::F64 : Type::F32, depth - 1)});
  default:
    return realOther(type, depth);
  }
}

//===----------------------------------------------------------------------===//
// Integers and booleans
//===----------------------------------------------------------------------===//

Type ScalarWriter::pickWholeType() {
  static constexpr Type types[] = {Type::Index, Type::Index, Type::Index, Type::I64, Type::I64,
                                   Type::I32,   Type::I32,   Type::I32,   Type::I16, Type::I8};
  return isFormula ? Type::Index : types[below(std::size(types))];
}

Node ScalarWriter::wholeConstant(Type type) {
  int bits = std::min(bitsOf(type), isFormula ? 49 : 62);
  int64_t value = int64_t(below(17)) - 7;
  if (chance(0.3))
    value = (int64_t(1) << below(bits)) + int64_t(below(3)) - 1;
  if (chance(0.1))
    value = -value;
  return makeWhole(type, value);
}

Node ScalarWriter::wholeLeaf(Type type) {
  if (type != Type::Index) {
    if (chance(0.15))
      return wholeConstant(type);
    bool isUnsigned = chance(0.3);
    return makeScalar(isUnsigned ? "arith.index_castui" : "arith.index_cast", type,
                      {wholeLeaf(Type::Index)});
  }
  if (!sumNames.empty() && chance(0.35)) {
    Node index = makeNode(Op::SumIndex, Type::Index);
    index.integers[1] = sumNames[below(sumNames.size())];
    return index;
  }
  if (scope != Scope::Token && chance(scope == Scope::Mask ? 0.25 : 0.04))
    return readWhole(1);
  for (size_t p = 0; chance(0.03) && p < program.parameters.size(); ++p)
    if (program.parameters[p].dims.size() > 1 && program.parameters[p].absent == kNoParameter &&
        (scope != Scope::Mask || program.parameters[p].isWhole)) {
      Node size = makeNode(Op::AxisSize, Type::Index);
      size.parameters = {static_cast<int>(p)};
      size.integers[0] = below(program.parameters[p].dims.size());
      return size;
    }
  return scope == Scope::Token ? placeOfToken() : placeLeaf();
}

/// Generates an index of an embedding.
Node ScalarWriter::placeOfToken() {
  switch (below(12)) {
  case 0:
    return makeNode(Op::Width, Type::Index);
  case 1:
    return makeNode(Op::End, Type::Index);
  case 2:
  case 3:
    return wholeConstant(Type::Index);
  default:
    return makeNode(chance(0.5) ? Op::Token : Op::Dim, Type::Index);
  }
}

Node ScalarWriter::placeLeaf() {
  switch (below(20)) {
  case 0:
    return makeNode(Op::Batch, Type::Index);
  case 1:
  case 2:
    return makeNode(Op::Head, Type::Index);
  case 3:
    return makeNode(Op::HeadsTotal, Type::Index);
  case 4:
    return makeNode(Op::GlobalHead, Type::Index, {makeNode(Op::Head, Type::Index)});
  case 5:
  case 6:
    return wholeConstant(Type::Index);
  case 7:
  case 8:
  case 9:
    return makeScalar("arith.subi", Type::Index,
                      {makeNode(Op::Query, Type::Index), makeNode(Op::Key, Type::Index)});
  default:
    return makeNode(chance(0.5) ? Op::Query : Op::Key, Type::Index);
  }
}

Node ScalarWriter::wholeOperation(Type type, int depth) {
  const ScalarOperation &row = chance(0.15) ? *findOperation("arith.muli")
                                            : pickRow({Form::IntegerUnary, Form::IntegerBinary});
  Node left = whole(type, depth - 1);
  if (row.form == Form::IntegerUnary)
    return makeScalar(row.name, type, {std::move(left)});
  if (row.domain == Domain::Shift)
    return makeScalar(row.name, type,
                      {std::move(left), makeWhole(type, below(chance(0.7) ? 6 : bitsOf(type)))});
  if (row.domain == Domain::Divisor) {
    Node divisor = wholeConstant(type);
    if (divisor.integers[0] == 0)
      divisor.integers[0] = chance(0.5) ? 7 : -3;
    return makeScalar(row.name, type, {std::move(left), std::move(divisor)});
  }
  return makeScalar(row.name, type, {std::move(left), whole(type, depth - 1)});
}

/// Converts a value of another type, numeric or boolean.
Node ScalarWriter::wholeOfOther(Type type, int depth) {
  if (isFormula)
    return makeNode(Op::ToIndex, type, {exactReal(Type::F32, depth - 1)});
  Type from = chance(0.25) ? Type::I1 : pickWholeType();
  if (from == type)
    return whole(type, depth);
  Node operand = from == Type::I1 ? truth(depth - 1) : whole(from, depth - 1);
  bool isUnsigned = chance(0.5);
  if (type == Type::Index || from == Type::Index)
    return makeScalar(isUnsigned ? "arith.index_castui" : "arith.index_cast", type,
                      {std::move(operand)});
  if (bitsOf(type) < bitsOf(from))
    return makeScalar("arith.trunci", type, {std::move(operand)});
  return makeScalar(isUnsigned ? "arith.extui" : "arith.extsi", type, {std::move(operand)});
}

Node ScalarWriter::whole(Type type, int depth) {
  if (depth <= 0 || chance(0.2))
    return wholeLeaf(type);
  switch (below(8)) {
  case 0:
    return makeNode(Op::Select, type,
                    {truth(depth - 1), whole(type, depth - 1), whole(type, depth - 1)});
  case 1:
    return wholeOfOther(type, depth);
  default:
    return wholeOperation(type, depth);
  }
}

Node ScalarWriter::truth(int depth) {
  if (depth > 0 && chance(0.2))
    return makeScalar(isFormula || chance(0.7) ? (chance(0.5) ? "arith.andi" : "arith.ori")
                                               : "arith.xori",
                      Type::I1, {truth(depth - 1), truth(depth - 1)});
  if (chance(0.75)) {
    Type type = pickWholeType();
    const ScalarOperation &row = pickRow({Form::IntegerCompare});
    return makeScalar(row.name, Type::I1, {whole(type, depth - 1), whole(type, depth - 1)});
  }
  const ScalarOperation &row = pickRow({Form::RealCompare});
  return makeScalar(
      row.name, Type::I1,
      {exactReal(Type::F32, depth - 1), chance(0.5) ? makeReal(Type::F32, 0.25 * int(below(32)) - 4)
                                                    : exactReal(Type::F32, depth - 1)});
}

/// Mostly generates the usual token masks: equality of two values, and keys up to a value.
Node ScalarWriter::writeTruth(int depth) {
  auto key = [] { return makeNode(Op::Key, Type::Index); };
  auto compare = [](const char *name, Node a, Node b) {
    return makeScalar(name, Type::I1, {std::move(a), std::move(b)});
  };
  auto ofEntry = [&] {
    const int64_t start = program.positions.keyStart;
    const int parameter = addWholeParameter(program, {kBatch}, start - 1,
                                            start + std::max<int64_t>(program.sizes.keys, 1) + 1);
    return makeRead(Type::Index, parameter, {makeNode(Op::Batch, Type::Index)});
  };
  switch (below(6)) {
  case 0: {
    Node sides[2];
    for (int n : {0, 1})
      sides[n] = makeRead(
          Type::Index, addWholeParameter(program, {kBatch, n ? kKeys : kQueries}, 0, 3),
          {makeNode(Op::Batch, Type::Index), makeNode(n ? Op::Key : Op::Query, Type::Index)});
    return compare("arith.cmpi eq", std::move(sides[0]), std::move(sides[1]));
  }
  case 1:
    return compare("arith.cmpi slt", key(), ofEntry());
  case 2:
    return makeScalar("arith.ori", Type::I1,
                      {compare("arith.cmpi sle", key(), makeNode(Op::Query, Type::Index)),
                       compare("arith.cmpi slt", key(), ofEntry())});
  case 3:
    return compare("arith.cmpi sge", key(), ofEntry());
  default:
    return truth(depth);
  }
}

Node ScalarWriter::write(int depth) {
  Node value = real(Type::F32, depth);
  if (value.op == Op::Constant)
    value = read(1);
  return value;
}

} // namespace pe::fuzz
