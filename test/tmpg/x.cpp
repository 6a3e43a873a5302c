#include <gtest/gtest.h>
#include "mlir/Dialect/Vector/IR/VectorOps.h"
TEST(A,b){mlir::MLIRContext c; c.loadDialect<mlir::vector::VectorDialect>(); EXPECT_TRUE(c.getLoadedDialect("vector"));}
