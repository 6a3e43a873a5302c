//===- TestJit.cpp - The compiler's library with encodings from outside ---===//

#include "runtime/jit/Compilation.h"
#include "test/dialect/TestEncodings/TestEncodings.h"

static const bool kIsRegistered = [] {
  pe::jit::addDialects([](mlir::DialectRegistry &registry) {
    registry.insert<mlir::pe::test::TestEncodingsDialect>();
  });
  return true;
}();
