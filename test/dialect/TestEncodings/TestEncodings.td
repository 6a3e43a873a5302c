//===- TestEncodings.td - Encodings added from outside ---------*- tablegen -*-===//
//
// A dialect of its own with a coordinate, a bias, a mask and a rotation that implement pe's
// interfaces. No pass knows it: what compiles here shows that a new encoding touches no pass.
//
//===--------------------------------------------------------------------------===//
#ifndef TEST_ENCODINGS_TD
#define TEST_ENCODINGS_TD

include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TestEncodings_Dialect : Dialect {
  let name = "test_encodings";
  let cppNamespace = "::mlir::pe::test";
  let summary = "Encodings that exist for tests only";
  let dependentDialects = ["::mlir::pe::PEDialect"];
}

class TestEncodings_Op<string mnemonic, list<Trait> traits>
    : Op<TestEncodings_Dialect, mnemonic, !listconcat([Pure], traits)>;

def TestEncodings_SquareRootDistanceOp : TestEncodings_Op<"square_root_distance",
    [DeclareOpInterfaceMethods<PE_ScalarOpInterface>]> {
  let summary = "sqrt(|i - j|)";
  let results = (outs PE_CoordinateType:$result);
  let assemblyFormat = "attr-dict";
}

def TestEncodings_BumpOp : TestEncodings_Op<"bump",
    [DeclareOpInterfaceMethods<PE_ScalarOpInterface>]> {
  let summary = "height_h * exp(-x * x)";
  let arguments = (ins PE_CoordinateType:$x, PE_Parameter:$height);
  let results = (outs PE_BiasType:$result);
  let assemblyFormat = "$x `height` `(` $height `:` type($height) `)` attr-dict";
}

def TestEncodings_EvenOp : TestEncodings_Op<"even",
    [DeclareOpInterfaceMethods<PE_MaskOpInterface>]> {
  let summary = "Keys at an even distance, up to the query";
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "attr-dict";
}

def TestEncodings_OppositeOp : TestEncodings_Op<"opposite",
    [DeclareOpInterfaceMethods<PE_MaskOpInterface>]> {
  let summary = "What another mask leaves out";
  let arguments = (ins PE_MaskType:$mask);
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "$mask attr-dict";
}

def TestEncodings_SlowRotationOp : TestEncodings_Op<"slow_rotation",
    [DeclareOpInterfaceMethods<PE_RotationOpInterface>]> {
  let summary = "Every pair of dims turns by 1/100 per position";
  let results = (outs PE_RotationType:$result);
  let assemblyFormat = "attr-dict";
}

def TestEncodings_QueryShiftOp : TestEncodings_Op<"query_shift",
    [DeclareOpInterfaceMethods<PE_PrologueOpInterface>]> {
  let summary = "Adds a learned vector per head, u[H, D], to queries";
  let arguments = (ins PE_Tensor:$shift);
  let results = (outs PE_PrologueType:$result);
  let assemblyFormat = "$shift `:` type($shift) attr-dict";
}

def TestEncodings_RowScaleOp : TestEncodings_Op<"row_scale",
    [DeclareOpInterfaceMethods<PE_PrologueOpInterface>]> {
  let summary = "Multiplies row p of queries and keys by exp(rate_h * sin(p)): not orthogonal";
  let arguments = (ins PE_Tensor:$rate);
  let results = (outs PE_PrologueType:$result);
  let assemblyFormat = "$rate `:` type($rate) attr-dict";
}

#endif // TEST_ENCODINGS_TD
