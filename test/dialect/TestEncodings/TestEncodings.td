//===- TestEncodings.td - Encodings of another dialect ---------*- tablegen -*-===//
//
// A separate dialect with at least one op per interface of pe: coordinates, biases, score
// functions, content terms, factors, sinks, masks, prologues, rotations, embeddings, and a
// piecewise scalar op. No pass refers to it, so these tests show that a new encoding needs no
// changes to passes.
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
  let summary = "Encodings for tests";
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
  let summary = "The complement of another mask";
  let arguments = (ins PE_MaskType:$mask);
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "$mask attr-dict";
}

def TestEncodings_SlowRotationOp : TestEncodings_Op<"slow_rotation",
    [DeclareOpInterfaceMethods<PE_RotationOpInterface>]> {
  let summary = "Rotates every pair of dims by 1/100 per position";
  let results = (outs PE_RotationType:$result);
  let assemblyFormat = "attr-dict";
}

def TestEncodings_QueryShiftOp : TestEncodings_Op<"query_shift",
    [DeclareOpInterfaceMethods<PE_PrologueOpInterface, ["getTensorAxes"]>]> {
  let summary = "Adds a learned vector per head, u[H, D], to queries";
  let arguments = (ins PE_Tensor:$shift);
  let results = (outs PE_PrologueType:$result);
  let assemblyFormat = "$shift `:` type($shift) attr-dict";
}

def TestEncodings_RowScaleOp : TestEncodings_Op<"row_scale",
    [DeclareOpInterfaceMethods<PE_PrologueOpInterface>]> {
  let summary = "Multiplies row p of queries and keys by exp(rate_h * sin(p)), which is not orthogonal";
  let arguments = (ins PE_Tensor:$rate);
  let results = (outs PE_PrologueType:$result);
  let assemblyFormat = "$rate `:` type($rate) attr-dict";
}

def TestEncodings_TurningOp : TestEncodings_Op<"turning",
    [DeclareOpInterfaceMethods<PE_RotationOpInterface>]> {
  let summary = "Rotates pair p of n by 50^(-p / n) per position";
  let results = (outs PE_RotationType:$result);
  let assemblyFormat = "attr-dict";
}

def TestEncodings_DifferenceOfOp : TestEncodings_Op<"difference_of",
    [DeclareOpInterfaceMethods<PE_ScalarOpInterface, ["readsTokens"]>]> {
  let summary = "queries[b, h, i] - keys[b, h, j], with data over tokens";
  let arguments = (ins PE_Tensor:$queries, PE_Tensor:$keys);
  let results = (outs PE_BiasType:$result);
  let assemblyFormat = "$queries `,` $keys attr-dict `:` type($queries) `,` type($keys)";
}

def TestEncodings_HingesOp : TestEncodings_Op<"hinges",
    [DeclareOpInterfaceMethods<PE_ScalarOpInterface>]> {
  let summary = "below_h + sum_k rise_hk * max(0, steep_k * x + corner_k), piecewise linear";
  let arguments = (ins PE_CoordinateType:$x, PE_Tensor:$steep, PE_Tensor:$corner, PE_Tensor:$rise,
                       PE_Tensor:$below);
  let results = (outs PE_BiasType:$result);
  let assemblyFormat = [{
    $x `,` $steep `,` $corner `,` $rise `,` $below attr-dict
    `:` type($steep) `,` type($corner) `,` type($rise) `,` type($below)
  }];
}

def TestEncodings_HingesEvalOp : TestEncodings_Op<"hinges_eval",
    [DeclareOpInterfaceMethods<PE_PiecewiseOpInterface>]> {
  let summary = "The scalar form of `hinges`";
  let arguments = (ins F32:$x, Index:$head, PE_Tensor:$steep, PE_Tensor:$corner, PE_Tensor:$rise,
                       PE_Tensor:$below);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $x `,` $head `,` $steep `,` $corner `,` $rise `,` $below attr-dict
    `:` type($steep) `,` type($corner) `,` type($rise) `,` type($below)
  }];
}

def TestEncodings_CapOp : TestEncodings_Op<"cap",
    [DeclareOpInterfaceMethods<PE_ScoreOpInterface>]> {
  let summary = "limit_h * tanh(s / limit_h)";
  let arguments = (ins PE_Parameter:$limit);
  let results = (outs PE_ScoreType:$result);
  let assemblyFormat = "$limit `:` type($limit) attr-dict";
}

def TestEncodings_FadeOp : TestEncodings_Op<"fade",
    [DeclareOpInterfaceMethods<PE_FactorOpInterface>]> {
  let summary = "exp(-rate_h |i - j|)";
  let arguments = (ins PE_Parameter:$rate);
  let results = (outs PE_FactorType:$result);
  let assemblyFormat = "$rate `:` type($rate) attr-dict";
}

def TestEncodings_ThinnedOp : TestEncodings_Op<"thinned",
    [DeclareOpInterfaceMethods<PE_FactorOpInterface>]> {
  let summary = "gate[b, h, j], with a random quarter of the pairs set to 0";
  let arguments = (ins PE_Data:$gate, TensorRankOf<[I64], [0, 1]>:$seed);
  let results = (outs PE_FactorType:$result);
  let assemblyFormat = "$gate `,` $seed `:` type($gate) `,` type($seed) attr-dict";
}

def TestEncodings_RisingSinkOp : TestEncodings_Op<"rising_sink",
    [DeclareOpInterfaceMethods<PE_SinkOpInterface>]> {
  let summary = "start_h + rise[b, i]";
  let arguments = (ins PE_Parameter:$start, PE_Data:$rise);
  let results = (outs PE_SinkType:$result);
  let assemblyFormat = "$start `,` $rise `:` type($start) `,` type($rise) attr-dict";
}

def TestEncodings_NearVectorsOp : TestEncodings_Op<"near_vectors", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<PE_ContentOpInterface>]> {
  let summary = "A learned vector for each distance from 0 to 8; larger distances are clamped";
  let arguments = (ins PE_Tensor:$table, Optional<2DTensorOf<[F32]>>:$shift,
                       Optional<2DTensorOf<[F32]>>:$projection);
  let results = (outs PE_ContentType:$result);
  let assemblyFormat = [{
    $table `:` type($table) (`shift` `(` $shift^ `:` type($shift) `)`)?
    (`project` `(` $projection^ `:` type($projection) `)`)? attr-dict
  }];
}

def TestEncodings_CrossedOp : TestEncodings_Op<"crossed",
    [DeclareOpInterfaceMethods<PE_ContentOpInterface>]> {
  let summary = "Not a valid content term, because it depends on i";
  let results = (outs PE_ContentType:$result);
  let assemblyFormat = "attr-dict";
}

def TestEncodings_RowsAndWaveOp : TestEncodings_Op<"rows_and_wave",
    [DeclareOpInterfaceMethods<PE_EmbeddingOpInterface, ["getLeastSizes", "getDimsMultiple"]>]> {
  let summary = "table[n - 1 - p, d] + cos(p * rate[d])";
  let arguments = (ins PE_Tensor:$table, PE_Tensor:$rate);
  let results = (outs PE_EmbeddingType:$result);
  let assemblyFormat = "$table `,` $rate attr-dict `:` type($table) `,` type($rate)";
}

def TestEncodings_PackedOp : TestEncodings_Op<"packed", [
    DeclareOpInterfaceMethods<PE_MaskOpInterface, ["getDocumentBoundaries", "restartsPositions"]>]> {
  let summary = "Keys of the query's own document";
  let arguments = (ins PE_Data:$starts, UnitAttr:$restart);
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "$starts `:` type($starts) attr-dict";
}

def TestEncodings_BelowOp : TestEncodings_Op<"below",
    [DeclareOpInterfaceMethods<PE_MaskOpInterface, ["buildKeyInterval"]>]> {
  let summary = "Keys j < end[b], an interval per row from data";
  let arguments = (ins PE_Data:$end);
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "$end `:` type($end) attr-dict";
}

def TestEncodings_OneOfOp : TestEncodings_Op<"one_of",
    [DeclareOpInterfaceMethods<PE_MaskOpInterface>]> {
  let summary = "Pairs that exactly one of two masks allows";
  let arguments = (ins PE_MaskType:$lhs, PE_MaskType:$rhs);
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def TestEncodings_EvenSumOp : TestEncodings_Op<"even_sum",
    [DeclareOpInterfaceMethods<PE_MaskOpInterface>]> {
  let summary = "Pairs of another mask with even i + j, a combination of masks that reads positions";
  let arguments = (ins PE_MaskType:$mask);
  let results = (outs PE_MaskType:$result);
  let assemblyFormat = "$mask attr-dict";
}

#endif // TEST_ENCODINGS_TD
