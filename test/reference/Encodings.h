//===- Encodings.h - The encodings of the contract, as programs -*- C++ -*-===//
//
// The encodings of examples/encodings, written a second time as neutral programs, and random inputs
// for them. The reference's own tests and the conformance suite
// share this list.
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

/// Every encoding. `layerWidth` is the width of hidden layers (the contract's is 32).
std::vector<Encoding> allEncodings(int64_t layerWidth = 32);
/// The one of that name; ends the process if there is none.
Encoding encodingNamed(const std::string &name, int64_t layerWidth = 32);

/// The sizes of one call.
struct CallShape {
  int64_t batch = 1, queryHeads = 2, keyHeads = 2, queries = 5, keys = 5, headDim = 4, valueDim = 4;
};

/// q, k, v from a standard normal, parameters from their ranges and a cotangent for each result,
/// all of `dtype`. `logits` scales q and k so that scores are about that large.
TensorMap randomInputs(const Encoding &encoding, const CallShape &shape, uint64_t seed,
                       DType dtype = DType::F64, double logits = 1.0);

} // namespace pe::test

#endif // PE_TEST_REFERENCE_ENCODINGS_H
