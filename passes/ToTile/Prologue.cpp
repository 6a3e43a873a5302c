//===- Prologue.cpp - row maps of queries and keys before the kernel ------===//
#include "passes/ToTile/Prologue.h"

using namespace mlir;
using namespace mlir::tile;

//===- Scalar code of an op ---------------------------------------------------===//

OpCode::OpCode(Operation *op, TypeRange leading, Build build)
    : op(op), region(std::make_unique<Region>()) {
  Block &block = region->emplaceBlock();
  for (Type type : leading)
    block.addArgument(type, op->getLoc());
  for (Type type : op->getOperandTypes())
    block.addArgument(type, op->getLoc());
  OpBuilder builder(op->getContext()); // the region has no parent that provides a context
  builder.setInsertionPointToEnd(&block);
  ValueRange arguments = block.getArguments();
  root = build(builder, arguments.take_front(leading.size()), arguments.drop_front(leading.size()));
}

LogicalResult OpCode::differentiate(unsigned inputs) {
  SmallVector<Value> independent(block().getArguments().take_front(inputs));
  FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(root, independent);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  return success();
}

IRMapping OpCode::mapLeading(ValueRange values) {
  IRMapping mapping;
  mapping.map(block().getArguments().take_front(values.size()), values);
  return mapping;
}

//===- Prologues of elements --------------------------------------------------===//

namespace {

/// A prologue that maps every element separately.
class Elementwise : public Prologue {
public:
  Elementwise(PlanContext &context, pe::PrologueOpInterface op, std::string name)
      : Prologue(context, std::move(name)), op(op),
        code(op, leadingTypes(op), [&](OpBuilder &builder, ValueRange at, ValueRange tensors) {
          pe::RowPoint point{at[1], at[2], at[3], at[4]};
          return op.buildElement(builder, op->getLoc(), point, at[0], tensors);
        }) {}

  bool changes(Side side) const override {
    auto interface = op;
    return side.isQueries ? interface.changesQueries() : interface.changesKeys();
  }
  LogicalResult prepare() override { return code.differentiate(/*inputs=*/1); }

  void emit(Side side, Value from, Value to) override {
    eachElement(side, "_" + side.word(), Phase::Prepare, [&](Scalar &s, ValueRange at) {
      TileParameters params = code.parameters(context);
      IRMapping mapping = mapElement(s, side, from, at);
      Value element = code.derivative().emitPrimal(s, mapping, params);
      writeElement(s, s.round(element, elementOf(to)), to, at);
    });
  }

  void emitBack(Side side, Value rows, Value from, Value to) override {
    eachElement(side, "_back_" + side.word(), Phase::Finish, [&](Scalar &s, ValueRange at) {
      TileParameters params = code.parameters(context);
      params.addsNothing = true;
      Value element = emitAdjoint(s, side, rows, from, at, params);
      writeElement(s, s.round(element, elementOf(to)), to, at);
    });
    if (op->getNumOperands() == 0)
      return;
    TileBuilder t =
        beginStage(context.plan, (name + "_sums_" + side.word()).str(), Phase::Finish, {});
    t.foreach ({"b", side.heads(), side.rows(), "d"}, [&](Scalar &s, ValueRange at) {
      TileParameters params = code.parameters(context);
      emitAdjoint(s, side, rows, from, at, params);
    });
  }
  void finish() override {}

private:
  static SmallVector<Type> leadingTypes(pe::PrologueOpInterface op) {
    Builder b(op->getContext());
    SmallVector<Type> types = {b.getF32Type()};
    types.append(4, b.getIndexType());
    return types;
  }
  void eachElement(Side side, const Twine &suffix, Phase phase,
                   llvm::function_ref<void(Scalar &, ValueRange)> body) {
    TileBuilder t = beginStage(context.plan, (name + suffix).str(), phase, {"b", side.heads()});
    t.foreach ({side.rows(), "d"}, body);
  }
  /// `at` is batch, head, row and dim.
  IRMapping mapElement(Scalar &s, Side side, Value rows, ValueRange at) {
    Value head = at[1];
    if (!side.isQueries)
      head = s.mul(head, s.size("ceildiv(hq,hkv)"));
    Value position = s.add(at[2], s.size(side.start()));
    Value element = s.widen(readElement(s, rows, at));
    return code.mapLeading({element, at[0], head, position, at[3]});
  }
  /// Returns the adjoint of the old element, and adds the adjoints of tensors through `params`.
  Value emitAdjoint(Scalar &s, Side side, Value rows, Value from, ValueRange at,
                    TileParameters &params) {
    IRMapping mapping = mapElement(s, side, rows, at);
    code.derivative().emitPrimal(s, mapping, params);
    Value cotangent = s.widen(readElement(s, from, at));
    return code.derivative().emitAdjoint(s, mapping, cotangent, params).front();
  }

  pe::PrologueOpInterface op;
  OpCode code;
};

} // namespace

std::unique_ptr<Prologue>
mlir::tile::createElementwise(PlanContext &context, pe::PrologueOpInterface op, std::string name) {
  return std::make_unique<Elementwise>(context, op, std::move(name));
}

//===- All prologues of an attention ------------------------------------------===//

FailureOr<Prologues> Prologues::create(PlanContext &context, pe::AttentionOp op,
                                       const std::string &name) {
  Prologues result;
  result.context = &context;
  result.name = name;
  for (auto [number, value] : llvm::enumerate(op.getPrologues()))
    result.all.push_back(createElementwise(context,
                                           cast<pe::PrologueOpInterface>(value.getDefiningOp()),
                                           name + "_prologue" + std::to_string(number)));
  if (Value rotation = op.getRotation()) {
    auto rotates = cast<pe::RotationOpInterface>(rotation.getDefiningOp());
    if (failed(rotates.verifyHeadDim(context.headDim, [&] { return op.emitError(); })))
      return failure();
    result.keepsKeys = op.getRotatedKeys();
    const bool isLearned = llvm::any_of(rotates->getOperandTypes(), [](Type type) {
      return isa<FloatType>(getElementTypeOrSelf(type));
    });
    if (result.keepsKeys && context.grad && isLearned) // rotated_keys-C3
      return op.emitError("expected a rotation without tensors for gradients with rotated_keys, "
                          "found one; the keys' part of their gradient needs the keys as they were "
                          "(rotated_keys-C3)");
    result.all.push_back(createRotation(context, rotates, name, {context.headDim, "d"},
                                        {op.getQueryPositions(), op.getKeyPositions()}));
  }
  return result;
}

void Prologues::addFactor(pe::ScoreFnOp function) {
  all.push_back(createScoreFactor(*context, function, name + "_score_factor"));
}

Prologues::Chain Prologues::createChain(Side side, Value &rows, Value &gradient, Type activation) {
  Chain chain{side, {}, {rows}, {gradient}};
  for (auto &prologue : all)
    if (prologue->changes(side) && (side.isQueries || !keepsKeys))
      chain.prologues.push_back(prologue.get());
  const SmallVector<StringRef> extents = {"b", side.heads(), side.rows(), "d"};
  for (size_t n = 1; n <= chain.prologues.size(); ++n) {
    const bool isLast = n == chain.prologues.size();
    std::string text = name + "_" + side.word().str() + (isLast ? "" : "_" + std::to_string(n));
    chain.rows.push_back(context->kept(text, extents, isLast ? activation : Type()));
    // f32, so that gradients are rounded only once, after the first prologue.
    chain.gradients.push_back(gradient ? context->temporary("d_" + text, extents) : Value());
  }
  rows = chain.rows.back();
  gradient = chain.gradients.back();
  return chain;
}

FailureOr<KernelRows> Prologues::prepare(const ProductRows &rows, Type activation) {
  KernelRows last;
  static_cast<Rows &>(last) = rows;
  chains.push_back(createChain(kQueries, last.q, last.dQ, activation));
  chains.push_back(createChain(kKeys, last.k, last.dK, activation));
  for (auto &prologue : all)
    if (failed(prologue->prepare()))
      return failure();
  for (Chain &chain : chains)
    for (auto [n, prologue] : llvm::enumerate(chain.prologues))
      prologue->emit(chain.side, chain.rows[n], chain.rows[n + 1]);
  return last;
}

void Prologues::finish() {
  for (Chain &chain : chains)
    for (size_t n = chain.prologues.size(); n-- > 0 && chain.gradients[n];)
      chain.prologues[n]->emitBack(chain.side, chain.rows[n], chain.gradients[n + 1],
                                   chain.gradients[n]);
  for (auto &prologue : all)
    prologue->finish();
}
