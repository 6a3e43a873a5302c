#define DEBUG_TYPE "tmp"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/Support/DebugLog.h"
struct A : mlir::OpConversionPattern<mlir::LLVM::AddOp> { using OpConversionPattern::OpConversionPattern;
 mlir::LogicalResult matchAndRewrite(mlir::LLVM::AddOp op, OpAdaptor a, mlir::ConversionPatternRewriter&r) const override { LDBG() << "x"; r.replaceOp(op, a.getLhs()); return mlir::success(); } };
void f(mlir::RewritePatternSet&s){ s.add<A>(s.getContext()); }
