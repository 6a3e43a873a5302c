//===- ScalarWriter.h - Generates random scalar code ------------*- C++ -*-===//
//
// Generates the trees of regions and formulas. They are well-typed and, by the domains of
// ScalarOperations, mostly defined; the caller checks the result with conditionOf.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_SCALARWRITER_H
#define PE_TEST_FUZZ_SCALARWRITER_H

#include "fuzz/GeneratedProgram.h"
#include "runtime/core/Random.h"

namespace pe::fuzz {

/// The kind of scalar code, which determines its variables.
enum class Scope : uint8_t { Pair, Score, Factor, Mask, Token };

class ScalarWriter {
public:
  /// A formula uses only indices, f32 and operations with a spelling in formulas; a region uses
  /// all.
  ScalarWriter(Random &random, Program &program, bool isFormula, Scope scope)
      : random(random), program(program), isFormula(isFormula), scope(scope) {}

  /// Generates an f32 value that is not a constant.
  Node write(int depth);
  /// Generates an i1 value, which may read data of the call.
  Node writeTruth(int depth);

private:
  // ScalarWriter.cpp: real numbers.
  Node real(Type type, int depth);
  Node realLeaf(Type type);
  Node realUnary(Type type, int depth);
  Node realOther(Type type, int depth);
  Node sum(int depth);
  Node captured();
  Node guard(Domain domain, Node value);
  /// Converts an integer to a moderate real value.
  Node realOfWhole(Type type, int depth);
  /// Generates a multiple of 1/8, which is exact in f32.
  Node exactReal(Type type, int depth);
  Node toReal(Node whole, Type type);

  // ScalarWriter.cpp: integers and booleans.
  Node whole(Type type, int depth);
  Node wholeLeaf(Type type);
  Node placeLeaf();
  Node placeOfToken();
  Node wholeConstant(Type type);
  Node wholeOperation(Type type, int depth);
  Node wholeOfOther(Type type, int depth);
  Node truth(int depth);

  // ScalarWriterReads.cpp: reads of parameters and data.
  Node read(int depth);
  Node readData(int depth);
  Node readOfToken(int depth);
  Node readWhole(int depth);
  Node nearPlace(Op place);
  Node indexOf(int64_t dim, bool isOfCall, Op place, int depth);
  Node readAt(Type type, int parameter, int depth);
  std::vector<int64_t> drawAxes();
  Node lessAbsent(Node read);

  /// Picks a row of one of the forms that this mode may use.
  const ScalarOperation &pickRow(std::initializer_list<Form> forms);
  Type pickWholeType();
  uint64_t below(uint64_t bound) { return random.below(bound); }
  bool chance(double probability) { return random.uniform() < probability; }

  Random &random;
  Program &program;
  bool isFormula;
  Scope scope;
  std::vector<int64_t> sumNames; ///< of the indices of enclosing sums
  int64_t names = 0;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_SCALARWRITER_H
