//===- ScalarOps.h - The operations of scalar code ------------------------===//
//
// One row per operation of arith and math that scalar code may contain, with its derivative and its
// lowering on a GPU. The verifier of pe.bias_fn rejects operations without a row. All users of the
// table handle every row: derivatives (passes/Transforms/ScalarVjp.cpp), loops, vectors, GPU
// kernels, and the float64 reference, which a test compares with this table row by row
// (test/passes/Scalar).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_SCALAROPS_H
#define PE_DIALECT_MATH_SCALAROPS_H

#include <string_view>

namespace pe::math {

/// The derivative of a result with respect to a floating operand.
enum class Derivative {
  None, ///< the result or every operand is an integer
  Zero, ///< zero wherever it exists, as for floor
  Rule, ///< a rule of ScalarVjp
};

/// The lowering on a GPU: an instruction, or a function of the device library
/// (runtime/device/library).
enum class Device { Instruction, Library };

struct ScalarOp {
  std::string_view name;
  Derivative derivative = Derivative::None;
  Device device = Device::Instruction;
};

inline constexpr ScalarOp kScalarOps[] = {
    {"arith.constant"},
    // Integers.
    {"arith.addi"},
    {"arith.subi"},
    {"arith.muli"},
    {"arith.divsi"},
    {"arith.divui"},
    {"arith.floordivsi"},
    {"arith.ceildivsi"},
    {"arith.ceildivui"},
    {"arith.remsi"},
    {"arith.remui"},
    {"arith.maxsi"},
    {"arith.maxui"},
    {"arith.minsi"},
    {"arith.minui"},
    {"arith.andi"},
    {"arith.ori"},
    {"arith.xori"},
    {"arith.shli"},
    {"arith.shrsi"},
    {"arith.shrui"},
    {"arith.cmpi"},
    {"math.absi"},
    {"math.ctlz"},
    {"math.ctpop"},
    {"math.cttz"},
    // Conversions.
    {"arith.index_cast"},
    {"arith.index_castui"},
    {"arith.extsi"},
    {"arith.extui"},
    {"arith.trunci"},
    {"arith.sitofp"},
    {"arith.uitofp"},
    {"arith.fptosi"},
    {"arith.fptoui"},
    // Floats.
    {"arith.addf", Derivative::Rule},
    {"arith.subf", Derivative::Rule},
    {"arith.mulf", Derivative::Rule},
    {"arith.divf", Derivative::Rule},
    {"arith.remf", Derivative::Rule, Device::Library},
    {"arith.negf", Derivative::Rule},
    {"arith.maximumf", Derivative::Rule},
    {"arith.maxnumf", Derivative::Rule},
    {"arith.minimumf", Derivative::Rule},
    {"arith.minnumf", Derivative::Rule},
    {"arith.extf", Derivative::Rule},
    {"arith.truncf", Derivative::Rule},
    {"arith.select", Derivative::Rule},
    {"arith.cmpf"},
    {"math.isfinite"},
    {"math.isinf"},
    {"math.isnan"},
    {"math.absf", Derivative::Rule},
    {"math.copysign", Derivative::Rule},
    {"math.clampf", Derivative::Rule},
    {"math.fma", Derivative::Rule},
    {"math.ceil", Derivative::Zero},
    {"math.floor", Derivative::Zero},
    {"math.round", Derivative::Zero},
    {"math.roundeven", Derivative::Zero},
    {"math.trunc", Derivative::Zero},
    {"math.sqrt", Derivative::Rule},
    {"math.rsqrt", Derivative::Rule},
    {"math.cbrt", Derivative::Rule, Device::Library},
    {"math.powf", Derivative::Rule, Device::Library},
    {"math.fpowi", Derivative::Rule, Device::Library},
    {"math.exp", Derivative::Rule, Device::Library},
    {"math.exp2", Derivative::Rule, Device::Library},
    {"math.expm1", Derivative::Rule, Device::Library},
    {"math.log", Derivative::Rule, Device::Library},
    {"math.log2", Derivative::Rule, Device::Library},
    {"math.log10", Derivative::Rule, Device::Library},
    {"math.log1p", Derivative::Rule, Device::Library},
    {"math.sin", Derivative::Rule, Device::Library},
    {"math.cos", Derivative::Rule, Device::Library},
    {"math.tan", Derivative::Rule, Device::Library},
    {"math.asin", Derivative::Rule, Device::Library},
    {"math.acos", Derivative::Rule, Device::Library},
    {"math.atan", Derivative::Rule, Device::Library},
    {"math.atan2", Derivative::Rule, Device::Library},
    {"math.sinh", Derivative::Rule, Device::Library},
    {"math.cosh", Derivative::Rule, Device::Library},
    {"math.tanh", Derivative::Rule, Device::Library},
    {"math.erf", Derivative::Rule, Device::Library},
    {"math.erfc", Derivative::Rule, Device::Library},
};

/// Returns the row of an operation such as "math.exp", or null.
constexpr const ScalarOp *findScalarOp(std::string_view name) {
  for (const ScalarOp &op : kScalarOps)
    if (op.name == name)
      return &op;
  return nullptr;
}

} // namespace pe::math

#endif // PE_DIALECT_MATH_SCALAROPS_H
