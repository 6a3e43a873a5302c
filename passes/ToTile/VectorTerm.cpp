//===- VectorTerm.cpp - functions of only the query or only the key -------===//
//
// The sums over rows and over columns of one head have the same total. The rounding residue of the
// columns' total would be multiplied by functions that are large far from position 0, so it is
// subtracted where the weight is concentrated. Under softmax without a sink, a row of dS sums to
// the cotangent of its log-sum-exp, if there is one, and to 0 otherwise. So a function of only the
// query needs no sum (`RowShift`), and without that cotangent the total is known.
//
// If one parameter is in both parts and the total is not known, rows are summed and the columns'
// total is compared with theirs. Rows of 16-bit outputs are also summed for such a parameter,
// because rounding changes their sums by more than the parameter tolerates: it multiplies
// positions, and only differences of positions matter. The errors then cancel against those of the
// columns.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/LinePart.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A row part, a column part, or the sum of the two.
class VectorTerm : public TermLowering {
public:
  VectorTerm(PlanContext &context, pe::TermOp term, std::string name, const Attention &attention)
      : TermLowering(context, term, std::move(name)) {
    ArrayRef<pe::TermPart> kinds = pe::partsOf(term.getTermClass());
    for (pe::TermPart part : kinds)
      parts.emplace_back(context, term, part,
                         kinds.size() == 1 ? this->name : this->name + "_" + pe::nameOf(part).str(),
                         attention);
    const bool addsUpRows =
        !attention.isShiftInvariant() || attention.dStatistic || roundsOutput(attention);
    if (parts.size() == 2 && addsUpRows && sharesParameter(context)) {
      parts[0].keepSums();
      parts[1].balanceBy(parts[0]);
    }
  }

  LogicalResult prepare() override {
    for (LinePart &part : parts)
      if (failed(part.prepare(/*isExact=*/parts.size() > 1)))
        return failure();
    return success();
  }

  Value emit(TileBuilder &t) override {
    if (parts.size() == 1)
      return t.map({parts.front().load(t)}, {"r", "c"},
                   [](Scalar &, ValueRange in) { return in[0]; });
    SmallVector<Value> inputs;
    for (const LinePart &part : parts)
      inputs.push_back(part.load(t));
    for (const LinePart &part : parts)
      if (Value low = part.loadLow(t))
        inputs.push_back(low);
    return t.map(inputs, {"r", "c"}, [](Scalar &s, ValueRange in) {
      Value sum = s.add(in[0], in[1]); // the high parts cancel first
      if (in.size() > 2)
        sum = s.add(sum, in.size() > 3 ? s.add(in[2], in[3]) : in[2]);
      return s.mul(sum, s.number(kLog2E));
    });
  }

  SmallVector<SpaceSet> gradientFolds() const override {
    SmallVector<SpaceSet> folds;
    for (const LinePart &part : parts)
      llvm::append_range(folds, part.gradientFolds());
    return folds;
  }
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override {
    SmallVector<Value> folds;
    for (LinePart &part : parts)
      llvm::append_range(folds, part.emitGradient(t, cotangent));
    return folds;
  }
  void storeFolds(TileBuilder &t, ValueRange folds) override {
    for (LinePart &part : parts) {
      const size_t count = part.gradientFolds().size();
      part.storeFolds(t, folds.take_front(count));
      folds = folds.drop_front(count);
    }
  }
  void finish() override {
    for (LinePart &part : parts)
      part.finish();
  }

protected:
  static bool roundsOutput(const Attention &attention) {
    if (!attention.o || attention.operands.isF32()) // materialized biases have no output
      return false;
    auto type = cast<BufferType>(attention.o.getType());
    return type.getElementType().getIntOrFloatBitWidth() < 32;
  }
  /// Returns true if both parts read a float tensor without an axis over tokens.
  bool sharesParameter(PlanContext &context) {
    pe::TermOp op = term;
    return llvm::any_of(llvm::enumerate(op.getCaptures()), [&](auto capture) {
      const Parameter &parameter = context.parameters[capture.value()];
      const SmallVector<StringRef> extents = parameter.extents();
      auto isRead = [&](pe::TermPart part) {
        return !op.getPart(part).getArgument(3 + capture.index()).use_empty();
      };
      return parameter.gradientSums && !llvm::is_contained(extents, "r") &&
             !llvm::is_contained(extents, "c") && isRead(pe::TermPart::Row) &&
             isRead(pe::TermPart::Column);
    });
  }

  SmallVector<LinePart, 2> parts;
};

/// A function of only the query under softmax, which changes only row statistics.
class RowShift : public VectorTerm {
public:
  using VectorTerm::VectorTerm;

  bool isRowShift() const override { return true; }
  Value emit(TileBuilder &t) override { return parts.front().load(t); }
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createRowShift(PlanContext &context, pe::TermOp term,
                                                         std::string name,
                                                         const Attention &attention) {
  return std::make_unique<RowShift>(context, term, std::move(name), attention);
}

std::unique_ptr<TermLowering> mlir::tile::createVectorTerm(PlanContext &context, pe::TermOp term,
                                                           std::string name,
                                                           const Attention &attention) {
  return std::make_unique<VectorTerm>(context, term, std::move(name), attention);
}
