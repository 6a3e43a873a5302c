//===- Encodings.h - The encodings of the contract, as programs -*- C++ -*-===//
//
// The encodings of examples/encodings, written independently as neutral programs, and random inputs
// for them. The tests of the reference and the conformance suite share this list.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_REFERENCE_ENCODINGS_H
#define PE_TEST_REFERENCE_ENCODINGS_H

#include "reference/ProgramBuilder.h"
#include "runtime/core/Tensor.h"

namespace pe::test {

struct Encoding {
  std::string name;
  reference::Program program;
  std::vector<ProgramBuilder::Parameter> parameters;
};

/// Returns all encodings. `layerWidth` is the width of hidden layers (32 in the contract).
std::vector<Encoding> allEncodings(int64_t layerWidth = 32);
/// Returns the encoding of this name; ends the process if it does not exist.
Encoding encodingNamed(const std::string &name, int64_t layerWidth = 32);

/// The sizes of one call.
struct CallShape {
  int64_t batch = 1, queryHeads = 2, keyHeads = 2, queries = 5, keys = 5, headDim = 4, valueDim = 4;
};

/// Draws q, k, v from a standard normal, parameters from their ranges, and a cotangent for each
/// result, all of type `dtype`. `logits` scales q and k so that scores have about this size.
TensorMap randomInputs(const Encoding &encoding, const CallShape &shape, uint64_t seed,
                       DType dtype = DType::F64, double logits = 1.0);

} // namespace pe::test

#endif // PE_TEST_REFERENCE_ENCODINGS_H
