//===- TestJit.cpp - Adds the test dialect to the compiler ----------------===//

#include "runtime/jit/Compilation.h"
#include "test/dialect/TestEncodings/TestEncodings.h"

static const bool kIsRegistered = [] {
  pe::jit::addDialects([](mlir::DialectRegistry &registry) {
    registry.insert<mlir::pe::test::TestEncodingsDialect>();
  });
  return true;
}();
