//===- Printer.h - The state that prints one program ------------*- C++ -*-===//
//
// Post order: the children of a node are printed before it, each as a separate value. Formulas
// are printed as text, by the templates of ScalarOperations.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_PRINTER_H
#define PE_TEST_FUZZ_PRINTER_H

#include "fuzz/Formulas.h"

#include <sstream>

namespace pe::fuzz {

/// Returns `text` in double quotes.
std::string quote(const std::string &text);
/// Returns the tensor type of a parameter.
std::string typeOf(const Parameter &parameter);

class Printer {
public:
  explicit Printer(const Program &program) : program(program) {}

  std::string print();

private:
  // Print.cpp: the function and its attention, merge or embed.
  std::string printArguments() const;
  std::string printAttention(const std::vector<std::string> &biases, const std::string &rotation,
                             const std::string &valueRotation,
                             const std::vector<std::string> &contents, const std::string &score,
                             const std::string &factor, const std::string &mask);
  std::string printMerge() const;
  /// Prints the tree of the node; returns the name of its value.
  std::string printNode(const Node &node);

  // PrintCode.cpp: scalar code and its regions.
  std::string printContentClauses(const Node &node);
  std::string printRegion(const Node &node);
  std::string printSum(const Node &node);
  std::map<std::string, std::string> inputsOf(const Node &sum) const;
  /// Prints scalar code; returns "" for other nodes.
  std::string printNumber(const Node &node, const std::vector<std::string> &in);
  std::string printScalar(const Node &node, const std::vector<std::string> &in);
  std::string printRead(const Node &node, const std::vector<std::string> &in);

  // PrintOperations.cpp: the ops of the pe dialect outside regions. The first three return "" for
  // other nodes.
  std::string printCoordinate(const Node &node);
  std::string printBias(const Node &node, const std::vector<std::string> &in);
  std::string printMaskOrRotation(const Node &node, const std::vector<std::string> &in);
  std::string printMlp(const Node &node, const std::vector<std::string> &in);
  std::string printRotation(const Node &node);
  std::string printFrequencies(const Node &node);

  std::string define(const std::string &operation) {
    std::string name = "%x" + std::to_string(++count);
    out << indent << name << " = " << operation << "\n";
    return name;
  }
  /// Returns " c(%a0 : tensor<?xf32>)", or "" if there is no parameter.
  std::string printOperand(const std::string &word, int parameter) const;
  /// Returns "%a0, %a1", or their types.
  std::string listParameters(const std::vector<int> &parameters, bool types) const;
  /// Returns "%a0, %a1 : tensor<?xf32>, tensor<f32>".
  std::string listTyped(const std::vector<int> &parameters) const {
    return listParameters(parameters, false) + " : " + listParameters(parameters, true);
  }

  const Program &program;
  std::ostringstream out;
  std::string indent = "  ";
  std::string inside; ///< one letter per enclosing sum
  int count = 0;
  CoordinateNames coordinates;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_PRINTER_H
