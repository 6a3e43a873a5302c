//===- Materialize.cpp - the bias and rotation tables as results ----------===//
#include "passes/ToTile/Materialize.h"

#include "passes/ToTile/Prologue.h"

using namespace mlir;
using namespace mlir::tile;

void mlir::tile::emitBias(PlanContext &context, const Attention &attention) {
  Value bias = context.buffer("pe.bias", Role::Result, {"b", "hq", "r", "c"}, {}, /*zero=*/true);
  TileBuilder t = beginStage(context.plan, attention.name + "_bias", Phase::Forward, {"b", "hq"},
                             attention.pairs);
  Value shift = attention.terms->emitRowShift(t);
  t.stream(Order::Any, {}, {}, [&](TileBuilder &body, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> inputs = {body.index("b"), body.index("hq"), body.index("r"),
                                 body.index("c")};
    if (Value sum = attention.terms->emit(body))
      inputs.push_back(sum);
    if (shift)
      inputs.push_back(shift);
    body.eachPair(inputs, [&](Scalar &s, ValueRange at) {
      Value value = s.number(0.0);
      for (Value term : at.drop_front(4))
        value = s.add(value, term);
      accumulateElement(s, s.mul(value, s.number(1.0 / kLog2E)), bias, at.take_front(4),
                        Reduction::Add, /*own=*/true);
    });
    return {};
  });
}

LogicalResult mlir::tile::emitRotationTables(PlanContext &context, pe::RotationOpInterface rotation,
                                             StringRef name) {
  FailureOr<RotationTables> tables =
      prepareQueryTables(context, rotation, (name + "_rotation").str());
  if (failed(tables))
    return failure();
  std::string pairs = std::to_string(rotation.getRotatedDims(context.headDim) / 2);
  for (auto [result, table] :
       {std::pair{"pe.cosine", tables->cosine}, std::pair{"pe.sine", tables->sine}}) {
    Value written = context.buffer(result, Role::Result, {"r", pairs});
    TileBuilder t = beginStage(context.plan, (name + "_" + StringRef(result).drop_front(3)).str(),
                               Phase::Forward, {});
    t.foreach ({"r", pairs}, [&, table = table](Scalar &s, ValueRange at) {
      // Reads the first head or batch entry if the tables differ between them.
      const int64_t rank = cast<BufferType>(table.getType()).getRank();
      SmallVector<Value> place(rank - 2, s.index(0));
      llvm::append_range(place, at);
      writeElement(s, readElement(s, table, place), written, at);
    });
  }
  return success();
}
