//===- ScalarWriter.h - Random scalar code ----------------------*- C++ -*-===//
//
// Writes the trees of regions and formulas. What is written is well-typed and, by the domains of
// the rows in ScalarOperations, mostly defined; the caller checks the whole with conditionOf.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_SCALARWRITER_H
#define PE_TEST_FUZZ_SCALARWRITER_H

#include "fuzz/GeneratedProgram.h"
#include "runtime/core/Random.h"

namespace pe::fuzz {

Node makeNode(Op op, Type type, std::vector<Node> children = {});
/// A row of ScalarOperations by name.
Node makeScalar(std::string_view name, Type type, std::vector<Node> children);
Node makeWhole(Type type, int64_t value);
/// The value is rounded to f32.
Node makeReal(Type type, double value);

/// A new parameter of the program, drawn from [low, high); its index.
int addParameter(Program &program, std::vector<int64_t> dims, double low, double high);
/// The same of whole numbers.
int addWholeParameter(Program &program, std::vector<int64_t> dims, int64_t low, int64_t high);
/// A read of a parameter at these indices.
Node makeRead(Type type, int parameter, std::vector<Node> indices);

/// What scalar code is a function of.
enum class Scope : uint8_t { Pair, Score, Factor, Mask, Token };

class ScalarWriter {
public:
  /// A formula has indices, f32 and the operations that have a spelling; a region has all.
  ScalarWriter(Random &random, Program &program, bool isFormula, Scope scope = Scope::Pair)
      : random(random), program(program), isFormula(isFormula), scope(scope) {}

  /// An f32 number that is more than a constant.
  Node write(int depth);
  /// An i1 number, of data of the call too.
  Node writeTruth(int depth);

private:
  Node real(Type type, int depth);
  Node realLeaf(Type type);
  Node realUnary(Type type, int depth);
  Node realOther(Type type, int depth);
  Node sum(int depth);
  Node captured();
  Node read(int depth);
  Node readData(int depth);
  Node readOfToken(int depth);
  Node readWhole(int depth);
  Node nearPlace(Op place);
  Node readAt(Type type, int parameter, int depth);
  std::vector<int64_t> drawAxes();
  Node lessAbsent(Node read);
  Node guard(Domain domain, Node value);
  /// An integer as a real number of moderate size.
  Node realOfWhole(Type type, int depth);
  /// Exact in f32: a multiple of 1/8.
  Node exactReal(Type type, int depth);
  Node toReal(Node whole, Type type);

  Node whole(Type type, int depth);
  Node wholeLeaf(Type type);
  Node placeLeaf();
  Node placeOfToken();
  Node wholeConstant(Type type);
  Node wholeOperation(Type type, int depth);
  Node wholeOfOther(Type type, int depth);
  Node truth(int depth);

  /// A row of one of the forms that this mode may use.
  const ScalarOperation &pickRow(std::initializer_list<Form> forms);
  Type pickWholeType();
  uint64_t below(uint64_t bound) { return random.below(bound); }
  bool chance(double probability) { return random.uniform() < probability; }

  Random &random;
  Program &program;
  bool isFormula;
  Scope scope;
  std::vector<int64_t> sumNames; ///< of the indices of the sums around
  int64_t names = 0;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_SCALARWRITER_H
