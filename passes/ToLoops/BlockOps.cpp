//===- BlockOps.cpp - emits each tile op on one block ---------------------===//
#include "passes/ToLoops/BlockEmitter.h"

#include "passes/Scalar/Philox.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

/// The maximum of an empty set.
constexpr double kEmptyMaximum = -1.0e30;

void BlockEmitter::emit(Operation &op) {
  Location outer = builder.getLoc();
  builder.setLoc(op.getLoc());
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](LoadOp load) { defineInBuffer(load.getValue(), load.getBuffer()); })
      .Case([&](StoreOp store) {
        forEachPoint(spacesOf(store.getValue()), [&](const Point &point) {
          writeBuffer(at(store.getValue(), point), store.getBuffer(), point);
        });
      })
      .Case([&](ConstantOp constant) {
        Type type = elementOf(constant.getValue());
        define(constant.getValue(), [this, constant, type](const Point &) mutable {
          return convert(number(constant.getNumber().convertToDouble(), type), type);
        });
      })
      .Case([&](PositionOp position) { emitPosition(position); })
      .Case([&](IndexOp index) { emitIndex(index); })
      .Case([&](MapOp map) { emitMap(map); })
      .Case([&](MaskOp mask) {
        Type type = elementOf(mask.getInput());
        compute(mask.getOutput(), [&](const Point &point) -> Value {
          Value fill = convert(number(mask.getFill().convertToDouble(), type), type);
          return arith::SelectOp::create(builder, insideMask(point), at(mask.getInput(), point),
                                         fill);
        });
      })
      .Case([&](RandomOp random) { emitRandom(random); })
      .Case([&](ReduceOp reduce) { emitReduce(reduce); })
      .Case([&](DotOp dot) { emitDot(dot); })
      .Case([&](RescaleOp rescale) { emitRescale(rescale); })
      .Case([&](ScanOp scan) { emitScan(scan); })
      .Case([&](WindowOp window) { defineInBuffer(window.getValue(), window.getTable()); })
      .Case([&](WindowGradOp grad) {
        forEachPoint({"r", "c"}, [&](const Point &point) {
          ifInsideMask(point,
                       [&] { addToBuffer(at(grad.getValue(), point), grad.getTable(), point); });
        });
      })
      .Case([&](WindowDotOp dot) { emitWindowDot(dot); })
      .Case([&](WindowSumOp sum) { emitWindowSum(sum); })
      .Case([&](WindowOuterOp outer) { emitWindowOuter(outer); })
      .Case([&](NearOp near) { emitNear(near); })
      .Case([&](NearGradOp grad) { emitNearGrad(grad); })
      .Case([&](SegmentsOp segments) { emitSegments(segments); })
      .Case([&](SegmentsGradOp grad) { emitSegmentsGrad(grad); });
  builder.setLoc(outer);
}

//===- Indices -----------------------------------------------------------------===//

void BlockEmitter::emitPosition(PositionOp op) {
  const bool isRow = op.getSpace() == "r";
  define(op.getValue(), [this, isRow](const Point &point) -> Value {
    return arith::AddIOp::create(builder, size(isRow ? "q_start" : "k_start"),
                                 isRow ? callRow(point) : callColumn(point));
  });
}

void BlockEmitter::emitIndex(IndexOp op) {
  StringRef space = op.getSpace();
  define(op.getValue(), [this, space](const Point &point) -> Value {
    return space == "b"    ? position.b
           : space == "hq" ? position.hq
           : space == "r"  ? callRow(point)
                           : callColumn(point);
  });
}

//===- Elementwise -----------------------------------------------------------===//

/// Emits a map: only inside the mask if it adds to a buffer, otherwise everywhere.
void BlockEmitter::emitMap(MapOp op) {
  Block &body = op.getBody().front();
  bool accumulates =
      op.getBody().walk([](AccumulateOp) { return WalkResult::interrupt(); }).wasInterrupted();
  const SpaceSet spaces = op.getIterationSpaces();
  forEachPoint(spaces, [&](const Point &point) {
    auto run = [&] {
      SmallVector<Value> arguments;
      for (Value input : op.getInputs())
        arguments.push_back(at(input, point));
      IRMapping mapping;
      mapping.map(body.getArguments(), arguments);
      SmallVector<Value> results = emitScalarBlock(builder, body, mapping, function);
      for (auto [result, number] : llvm::zip_equal(op.getOutputs(), results))
        writeScratch(number, result, point);
    };
    if (accumulates && hasPairs(spaces))
      ifInsideMask(point, run);
    else
      run();
  });
  for (Value result : op.getOutputs())
    defineInScratch(result);
}

/// Emits the Philox words of the pair's counter and selects the word of the pair.
void BlockEmitter::emitRandom(RandomOp op) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto narrow = [&](Value number) { return arith::IndexCastOp::create(builder, i32, number); };
  auto constant = [&](Type type, int64_t number) {
    return arith::ConstantOp::create(builder, builder.getIntegerAttr(type, number)).getResult();
  };
  const bool perBatch = cast<BufferType>(op.getSeed().getType()).getRank() == 1;
  compute(op.getValue(), [&](const Point &point) -> Value {
    Value seed = readBuffer(op.getSeed(), point);
    Value high = arith::ShRUIOp::create(builder, seed, constant(i64, 32));
    Value head = arith::AddIOp::create(builder, position.hq, size("head_start"));
    Value i = arith::AddIOp::create(builder, callRow(point), size("q_start"));
    Value j = narrow(arith::AddIOp::create(builder, callColumn(point), size("k_start")));
    Value group = arith::ShRSIOp::create(builder, j, constant(i32, 2));
    std::array<Value, 4> words = emitPhilox(
        builder, {perBatch ? constant(i32, 0) : narrow(position.b), narrow(head), narrow(i), group},
        {arith::TruncIOp::create(builder, i32, seed), arith::TruncIOp::create(builder, i32, high)});
    Value number = arith::AndIOp::create(builder, j, constant(i32, 3)), word = words[0];
    for (int64_t n = 1; n < 4; ++n) {
      Value isIt =
          arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, number, constant(i32, n));
      word = arith::SelectOp::create(builder, isIt, words[n], word);
    }
    Value wide = arith::ExtUIOp::create(builder, i64, word);
    Value isKept = arith::CmpIOp::create(builder, arith::CmpIPredicate::uge, wide,
                                         constant(i64, op.getLeast()));
    Type f32 = elementOf(op.getValue());
    return arith::SelectOp::create(builder, isKept,
                                   this->number(op.getFactor().convertToDouble(), f32),
                                   this->number(0.0, f32));
  });
}

//===- Over one space ----------------------------------------------------------===//

Value BlockEmitter::contract(StringRef axis, bool masked, Value initial, const Point &point,
                             llvm::function_ref<Value(Value, const Point &)> combine) {
  return foldRange(extentOf(axis), initial, [&](Value step, Value sum) -> Value {
    Point here = point.with(axis, step);
    Value next = combine(sum, here);
    if (!masked)
      return next;
    return arith::SelectOp::create(builder, insideMask(here), next, sum);
  });
}

void BlockEmitter::emitReduce(ReduceOp op) {
  bool max = op.getKind() == Reduction::Max;
  bool masked = hasPairs(spacesOf(op.getInput()));
  Type type = computationType(elementOf(op.getOutput()));
  compute(op.getOutput(), [&](const Point &point) {
    return contract(op.getAxis(), masked, number(max ? kEmptyMaximum : 0.0, type), point,
                    [&](Value sum, const Point &here) -> Value {
                      Value value = convert(at(op.getInput(), here), type);
                      if (max)
                        return arith::MaximumFOp::create(builder, sum, value);
                      return arith::AddFOp::create(builder, sum, value);
                    });
  });
}

void BlockEmitter::emitDot(DotOp op) {
  bool masked = hasPairs(spacesOf(op.getLhs()).join(spacesOf(op.getRhs())));
  Type type = computationType(elementOf(op.getOutput()));
  compute(op.getOutput(), [&](const Point &point) {
    Value initial = op.getInit() ? convert(at(op.getInit(), point), type) : number(0.0, type);
    return contract(
        op.getAxis(), masked, initial, point, [&](Value sum, const Point &here) -> Value {
          Value product = arith::MulFOp::create(builder, convert(at(op.getLhs(), here), type),
                                                convert(at(op.getRhs(), here), type));
          return arith::AddFOp::create(builder, sum, product);
        });
  });
}

void BlockEmitter::emitRescale(RescaleOp op) {
  Type type = computationType(elementOf(op.getMaximum()));
  auto wide = [&](Value value, const Point &point) { return convert(at(value, point), type); };
  auto constant = [&](double value) { return number(value, type); };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, condition, yes, no);
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpFOp::create(builder, predicate, x, y);
  };
  auto scaled = [&](Value x) -> Value {
    return arith::MulFOp::create(builder, x, constant(op.getUnit().convertToFloat()));
  };
  auto isLarge = [&](Value maximum) -> Value {
    if (!op.mayBeLarge())
      return arith::ConstantOp::create(builder, builder.getBoolAttr(false));
    return compare(arith::CmpFPredicate::UGE, math::AbsFOp::create(builder, scaled(maximum)),
                   constant(RescaleOp::kLarge));
  };
  forEachPoint({"r"}, [&](const Point &row) {
    Value m = wide(op.getMaximum(), row);
    Value largest =
        contract("c", /*masked=*/true, constant(kEmptyMaximum), row,
                 [&](Value sum, const Point &here) -> Value {
                   return arith::MaximumFOp::create(builder, sum, wide(op.getScores(), here));
                 });
    const double slack = op.getSlack().convertToFloat() / op.getUnit().convertToFloat();
    Value limit = arith::AddFOp::create(builder, m, constant(slack));
    Value rises = arith::OrIOp::create(builder, isLarge(m),
                                       compare(arith::CmpFPredicate::UGT, largest, limit));
    Value raised = select(rises, arith::MaxNumFOp::create(builder, m, largest), m);
    writeScratch(raised, op.getRaised(), row);
    Value offset = arith::NegFOp::create(builder, scaled(raised));
    writeScratch(select(isLarge(raised), constant(0.0), offset), op.getOffset(), row);
  });
  defineInScratch(op.getRaised());
  defineInScratch(op.getOffset());
  compute(op.getDifference(), [&](const Point &point) -> Value {
    Value score = wide(op.getScores(), point), raised = wide(op.getRaised(), point);
    return select(isLarge(raised), arith::SubFOp::create(builder, score, raised), score);
  });
  for (auto [sum, result] : llvm::zip_equal(op.getSums(), op.getScaled()))
    compute(result, [&, sum = sum](const Point &point) -> Value {
      Value fall =
          arith::SubFOp::create(builder, wide(op.getMaximum(), point), wide(op.getRaised(), point));
      return arith::MulFOp::create(builder, wide(sum, point),
                                   math::Exp2Op::create(builder, scaled(fall)));
    });
}

void BlockEmitter::emitScan(ScanOp op) {
  Type type = computationType(elementOf(op.getResult()));
  auto wide = [&](Value value, const Point &point) { return convert(at(value, point), type); };
  forEachPoint({"r"}, [&](const Point &row) {
    Value last = foldRange(position.columns, wide(op.getCarryIn(), row), [&](Value step, Value x) {
      Value column = step;
      if (op.getOrder() == Order::Descending) {
        Value end = arith::SubIOp::create(builder, position.columns, index(1));
        column = arith::SubIOp::create(builder, end, step);
      }
      Point point = row.with("c", column);
      Value factor = wide(op.getA(), point);
      if (op.getKind() == ScanKind::Odds) {
        Value one = number(1.0, type);
        factor = arith::DivFOp::create(builder, one, arith::AddFOp::create(builder, factor, one));
      }
      Value after = arith::MulFOp::create(builder, factor, x);
      if (op.getB())
        after = arith::AddFOp::create(builder, after, wide(op.getB(), point));
      after = arith::SelectOp::create(builder, insideMask(point), after, x);
      writeScratch(op.getExclusive() ? x : after, op.getResult(), point);
      return after;
    });
    writeScratch(last, op.getCarryOut(), row);
  });
  defineInScratch(op.getResult());
  defineInScratch(op.getCarryOut());
}

//===- Vectors of the distance ---------------------------------------------------===//

void BlockEmitter::emitWindowDot(WindowDotOp op) {
  Type type = elementOf(op.getValue()), operand = elementOf(op.getRows());
  compute(op.getValue(), [&](const Point &point) {
    return contract(depthOf(spacesOf(op.getRows())), /*masked=*/false, number(0.0, type), point,
                    [&](Value sum, const Point &here) -> Value {
                      Value product = arith::MulFOp::create(
                          builder, convert(at(op.getRows(), here), type),
                          convert(convert(readBuffer(op.getTable(), here), operand), type));
                      return arith::AddFOp::create(builder, sum, product);
                    });
  });
}

void BlockEmitter::emitWindowSum(WindowSumOp op) {
  Type type = elementOf(op.getRows()), operand = elementOf(op.getValue());
  compute(op.getRows(), [&](const Point &point) {
    return contract("c", /*masked=*/true, number(0.0, type), point,
                    [&](Value sum, const Point &here) -> Value {
                      Value product = arith::MulFOp::create(
                          builder, convert(at(op.getValue(), here), type),
                          convert(convert(readBuffer(op.getTable(), here), operand), type));
                      return arith::AddFOp::create(builder, sum, product);
                    });
  });
}

void BlockEmitter::emitWindowOuter(WindowOuterOp op) {
  Type f32 = builder.getF32Type();
  forEachPoint({"r", "c"}, [&](const Point &pair) {
    ifInsideMask(pair, [&] {
      StringRef depth = depthOf(spacesOf(op.getRows()));
      forRange(extentOf(depth), [&](Value dim) {
        const Point point = pair.with(depth, dim);
        Value product = arith::MulFOp::create(builder, convert(at(op.getValue(), pair), f32),
                                              convert(at(op.getRows(), point), f32));
        addToBuffer(product, op.getTable(), point);
      });
    });
  });
}

//===- Near distances ------------------------------------------------------------===//

Value BlockEmitter::distanceFrom(int64_t first, const Point &point) {
  Value i = arith::AddIOp::create(builder, callRow(point), size("q_start"));
  Value j = arith::AddIOp::create(builder, callColumn(point), size("k_start"));
  return arith::SubIOp::create(builder, arith::SubIOp::create(builder, i, j), index(first));
}

void BlockEmitter::emitNear(NearOp op) {
  Value last = index(entriesOfNear(op.getTable()) - 1), zero = index(0);
  compute(op.getValue(), [&](const Point &point) -> Value {
    Value entry = distanceFrom(op.getFirst(), point);
    entry = arith::MinSIOp::create(builder, entry, last);
    entry = arith::MaxSIOp::create(builder, entry, zero);
    return readBuffer(op.getTable(), point, entry);
  });
}

void BlockEmitter::emitNearGrad(NearGradOp op) {
  Value count = index(entriesOfNear(op.getTable()));
  forEachPoint({"r", "c"}, [&](const Point &point) {
    ifInsideMask(point, [&] {
      Value entry = distanceFrom(op.getFirst(), point);
      // As an unsigned integer, a negative entry is larger than `count`.
      Value isEntry = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, entry, count);
      auto branch = scf::IfOp::create(builder, isEntry, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      memref::StoreOp::create(builder, at(op.getValue(), point), function.getView(op.getTable()),
                              bufferIndices(op.getTable(), point, entry));
    });
  });
}

//===- Piecewise polynomials -----------------------------------------------------===//

BlockEmitter::Segment BlockEmitter::findSegment(Value u, Value v, Value knots, Value coefficients,
                                                Value count, const Point &point) {
  Segment segment;
  segment.u = readBuffer(u, point);
  segment.v = readBuffer(v, point);
  segment.x = arith::MulFOp::create(builder, segment.u, segment.v);
  Value segments = readBuffer(count, point, index(0));
  Value kinks = arith::SubIOp::create(
      builder, arith::IndexCastOp::create(builder, builder.getIndexType(), segments), index(1));
  Value one = index(1);
  segment.number = foldRange(kinks, index(0), [&](Value kink, Value below) -> Value {
    Value end = arith::AddIOp::create(builder, kink, one);
    Value isBelow = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT,
                                          readBuffer(knots, point, end), segment.x);
    Value more = arith::IndexCastUIOp::create(builder, builder.getIndexType(), isBelow);
    return arith::AddIOp::create(builder, below, more);
  });
  const int64_t degree = degreeOfSegments(coefficients);
  if (degree > 1) { // the polynomial is in powers of the distance from the center
    Value next = arith::AddIOp::create(builder, segment.number, one);
    Value ends = arith::AddFOp::create(builder, readBuffer(knots, point, segment.number),
                                       readBuffer(knots, point, next));
    Value half = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0.5));
    segment.x =
        arith::SubFOp::create(builder, segment.x, arith::MulFOp::create(builder, ends, half));
  }
  for (int64_t power = 0; power <= degree; ++power)
    segment.coefficients.push_back(readBuffer(coefficients, point, {segment.number, index(power)}));
  return segment;
}

void BlockEmitter::emitSegments(SegmentsOp op) {
  compute(op.getValue(), [&](const Point &point) -> Value {
    Segment segment = findSegment(op.getU(), op.getV(), op.getKnots(), op.getCoefficients(),
                                  op.getCount(), point);
    Value value = segment.coefficients.pop_back_val();
    while (!segment.coefficients.empty()) {
      value = arith::MulFOp::create(builder, value, segment.x);
      value = arith::AddFOp::create(builder, value, segment.coefficients.pop_back_val());
    }
    return value;
  });
}

void BlockEmitter::emitSegmentsGrad(SegmentsGradOp op) {
  forEachPoint({"r", "c"}, [&](const Point &point) {
    ifInsideMask(point, [&] {
      Segment segment = findSegment(op.getU(), op.getV(), op.getKnots(), op.getCoefficients(),
                                    op.getCount(), point);
      auto times = [&](Value a, Value b) -> Value { return arith::MulFOp::create(builder, a, b); };
      Value g = at(op.getValue(), point), power = g;
      for (int64_t m = 0, e = op.getDegree(); m <= e; ++m, power = times(power, segment.x))
        addToBuffer(power, op.getMoments(), point, {segment.number, index(m)});
      if (!op.getVGrad() && !op.getUGrad())
        return;
      Value slope;
      for (int64_t m = op.getDegree(); m > 0; --m) {
        Value factor = arith::ConstantOp::create(builder, builder.getF32FloatAttr(m));
        Value term = times(segment.coefficients[m], factor);
        slope = slope ? arith::AddFOp::create(builder, times(slope, segment.x), term).getResult()
                      : term;
      }
      slope = times(g, slope);
      if (op.getVGrad())
        addToBuffer(times(slope, segment.u), op.getVGrad(), point);
      if (op.getUGrad())
        addToBuffer(times(slope, segment.v), op.getUGrad(), point);
    });
  });
}
