//===- StepPrograms.cpp - the step program of a stage for GPUs ------------===//
#include "passes/Schedule/StepPrograms.h"

#include "dialect/Math/StepFaults.h"
#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Owner.h"
#include "passes/Schedule/Layouts.h"
#include "runtime/plan/Machine.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using ::pe::math::Action;

namespace {

/// The panels that the same phases read, and that have the same number of slots.
struct Group {
  SmallVector<Value> panels;
  int slots;
  int first, last; // the first and the last phase that reads them
};

/// Returns true for piecewise functions, and for scans that keep a factor of every key. They leave
/// no registers for the addresses of copies.
bool holdsManyRegisters(Operation &op) {
  auto scan = dyn_cast<ScanOp>(op);
  return isa<SegmentsOp>(op) || (scan && scan.getKind() != ScanKind::Odds);
}

/// Derives the program of a stage.
class Deriver {
public:
  Deriver(StageOp stage, const GpuSchedule &schedule)
      : stage(stage), stream(stage.getStream()), schedule(schedule),
        inner(getOwner(stage) == Owner::Rows ? "c" : "r"),
        copiesLater(inner == "c" && llvm::none_of(stream.getBody().front(), holdsManyRegisters)),
        isDivided(copiesLater || schedule.ahead > 0 || schedule.slots == 1 ||
                  schedule.slots != schedule.lateSlots) {}

  StageProgram derive();

private:
  bool isInnerPanel(Value value) const;
  bool isScore(Operation *op);
  bool isOutput(Operation *op) const;
  void findPhases();
  void findPanels();
  void findReads(Operation *op, int phase);
  void findUses(Operation *op, int phase);
  void groupPanels();
  int aheadOf(int phase) const { return phase == kScores ? schedule.ahead : 0; }
  /// Return the block, relative to n, that trip n takes from a ring, and that it fills.
  int takenBy(const Group &group) const { return aheadOf(group.first); }
  int filledBy(const Group &group) const { return aheadOf(group.last) + group.slots - 1; }
  bool isLate(const Group &group) const { return filledBy(group) == takenBy(group); }
  void buildTrip();
  void buildBefore();

  static constexpr int kScores = 0, kWeights = 1, kOutputs = 2; // if the stream is divided

  StageOp stage;
  StreamOp stream;
  const GpuSchedule &schedule;
  StringRef inner;
  /// The next blocks are copied after the scores, whose first operands would otherwise wait for the
  /// copies of all warps.
  const bool copiesLater;
  const bool isDivided;
  StageProgram result;
  llvm::MapVector<Value, std::pair<int, int>> readers; // the first and last phase, by panel
  SmallVector<Group> groups;                           // by ring
};

} // namespace

//===- Phases -------------------------------------------------------------------===//

bool mlir::tile::isRoundingInPlace(MapOp map) {
  if (map.getInputs().size() != 1 || map.getNumResults() != 1)
    return false;
  auto load = map.getInputs()[0].getDefiningOp<LoadOp>();
  auto type = cast<ValType>(map.getResult(0).getType());
  return load && load->hasOneUse() && hasDepth(type.getSpaces()) && type.getElementType().isTF32();
}

bool mlir::tile::isCopiedVector(LoadOp load) {
  auto type = cast<ValType>(load.getValue().getType());
  auto stage = load->getParentOfType<StageOp>();
  const bool isAfter =
      load->getParentOp() == stage && stage.getStream()->isBeforeInBlock(load.getOperation());
  return !isAfter && type.getSpaces() == SpaceSet{getOwner(stage) == Owner::Rows ? "c" : "r"} &&
         type.getElementType().getIntOrFloatBitWidth() == 32;
}

/// Returns the load of a panel, which may be rounded in place, or null.
static LoadOp loadOf(Value value) {
  if (auto map = value.getDefiningOp<MapOp>(); map && isRoundingInPlace(map))
    value = map.getInputs()[0];
  return value.getDefiningOp<LoadOp>();
}

bool Deriver::isInnerPanel(Value value) const {
  auto load = value.getDefiningOp<LoadOp>();
  const SpaceSet &spaces = spacesOf(value);
  return load && (hasDepth(spaces) || isPair(spaces)) && spaces.has(inner);
}

/// Returns true if a contraction reads only panels that are in shared memory once they have been
/// copied: those of the inner side are loaded, those of the owners are computed before the loop.
bool Deriver::isScore(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  auto isReady = [&](Value panel) {
    return loadOf(panel) ||
           (!spacesOf(panel).has(inner) && panel.getParentBlock() != &stream.getBody().front());
  };
  return dot && !dot.getInit() && isPair(spacesOf(dot.getOutput())) && isReady(dot.getLhs()) &&
         isReady(dot.getRhs());
}

bool Deriver::isOutput(Operation *op) const {
  auto dot = dyn_cast<DotOp>(op);
  return dot && !isPair(spacesOf(dot.getOutput()));
}

void Deriver::findPhases() {
  auto &phases = result.program.phases;
  if (!isDivided)
    phases = {{"step", 0, {}, {}}};
  else
    phases = {{"scores", 0, {}, {}}, {"weights", 0, {}, {}}, {"outputs", 0, {}, {}}};
  bool hasOutputs = false;
  for (Operation &op : stream.getBody().front().without_terminator()) {
    hasOutputs |= isOutput(&op);
    result.phases[&op] = !isDivided ? 0 : isScore(&op) ? kScores : hasOutputs ? kOutputs : kWeights;
  }
  // Ops keep their order if no phase runs ahead. LLVM may then fuse the same products with sums.
  if (schedule.ahead > 0)
    return;
  bool isBefore = false;
  for (Operation &op : llvm::reverse(stream.getBody().front().without_terminator()))
    if (int &phase = result.phases[&op]; isBefore |= phase == kScores, isBefore)
      phase = kScores;
}

//===- Panels -------------------------------------------------------------------===//

void Deriver::findPanels() {
  // Ops before the stream on the inner side run once per step, with its first phase.
  const int before = isDivided && schedule.ahead > 0 ? kWeights : 0;
  for (Operation &op : stage.getBody().front()) {
    if (isa<StreamOp>(op))
      break;
    findReads(&op, before);
  }
  for (Operation &op : stream.getBody().front().without_terminator())
    findReads(&op, result.phases.at(&op));
  for (Block *block : {&stage.getBody().front(), &stream.getBody().front()})
    for (LoadOp load : block->getOps<LoadOp>())
      if (isInnerPanel(load.getValue()))
        readers.try_emplace(load.getValue(), before, before);
      else if (isCopiedVector(load)) { // the load itself reads it
        auto phase = result.phases.find(load);
        const int at = phase == result.phases.end() ? before : phase->second;
        readers.try_emplace(load.getValue(), at, at);
      }
}

void Deriver::findReads(Operation *op, int phase) {
  auto read = [&](Value panel) {
    auto [found, isNew] = readers.try_emplace(panel, phase, phase);
    found->second.first = std::min(found->second.first, phase);
    found->second.second = std::max(found->second.second, phase);
  };
  if (isa<WindowOp, SegmentsOp, SegmentsGradOp, WindowDotOp, WindowSumOp>(op)) {
    Value table = isa<WindowOp>(op)         ? Value(cast<WindowOp>(op).getTable())
                  : isa<SegmentsOp>(op)     ? Value(cast<SegmentsOp>(op).getU())
                  : isa<SegmentsGradOp>(op) ? Value(cast<SegmentsGradOp>(op).getU())
                  : isa<WindowDotOp>(op)    ? Value(cast<WindowDotOp>(op).getTable())
                                            : Value(cast<WindowSumOp>(op).getTable());
    read(table);
  }
  if (auto map = dyn_cast<MapOp>(op); map && isRoundingInPlace(map))
    return; // before the panel is read
  for (Value operand : op->getOperands())
    if (LoadOp load = isa<ValType>(operand.getType()) ? loadOf(operand) : LoadOp();
        load && isInnerPanel(load.getValue()))
      read(load.getValue());
}

/// Notes the phases whose results an op uses, in this block or through a carry.
void Deriver::findUses(Operation *op, int phase) {
  auto &after = result.program.phases[phase].after;
  auto use = [&](Value value, int distance) {
    Operation *source = value.getDefiningOp();
    if (!source || !result.phases.contains(source) || loadOf(value))
      return;
    const int other = result.phases.at(source);
    if (other == phase && distance == 0)
      return;
    if (aheadOf(other) > aheadOf(phase) && !llvm::is_contained(result.passed, value))
      result.passed.push_back(value);
    if (llvm::none_of(after, [&](auto &x) { return x.phase == other && x.distance == distance; }))
      after.push_back({other, distance});
  };
  for (Value operand : op->getOperands()) {
    use(operand, 0);
    if (auto carry = dyn_cast<BlockArgument>(operand);
        carry && carry.getOwner() == &stream.getBody().front())
      use(stream.getYielded(carry.getArgNumber()), 1);
  }
}

/// Panels share a ring if one schedule of copies serves them all.
void Deriver::groupPanels() {
  for (auto &[panel, phases] : readers) {
    auto [first, last] = phases;
    const bool isFirst = !isDivided || first == kScores;
    Group group{
        {panel}, static_cast<int>(isFirst ? schedule.slots : schedule.lateSlots), first, last};
    auto *same = llvm::find_if(groups, [&](const Group &other) {
      return other.slots == group.slots && takenBy(other) == takenBy(group) &&
             filledBy(other) == filledBy(group) && (!isLate(group) || other.first == group.first);
    });
    if (same == groups.end())
      groups.push_back(std::move(group));
    else
      same->panels.push_back(panel);
  }
  for (auto [ring, group] : llvm::enumerate(groups)) {
    llvm::SetVector<StringRef> names;
    for (Value panel : group.panels) {
      result.rings[panel] = ring;
      LoadOp load = panel.getDefiningOp<LoadOp>();
      auto buffer = (load ? load.getBuffer() : panel).getDefiningOp<BufferOp>();
      names.insert(buffer.getName());
      for (int phase = readers.lookup(panel).first; phase <= readers.lookup(panel).second; ++phase)
        if (auto &reads = result.program.phases[phase].reads;
            reads.empty() || reads.back().ring != static_cast<int>(ring))
          reads.push_back({static_cast<int>(ring), 0});
    }
    result.program.rings.push_back({llvm::join(names, "+"), group.slots, 0, 0, -1});
  }
}

//===- Actions ------------------------------------------------------------------===//

void Deriver::buildTrip() {
  std::vector<Action> &trip = result.program.roles[0].trip;
  auto add = [&](Action::Kind kind, int subject, int ahead) {
    trip.push_back({kind, subject, ahead});
  };
  for (auto [ring, group] : llvm::enumerate(groups))
    if (!isLate(group))
      add(Action::Take, ring, takenBy(group));
  for (size_t i = 0; i + 1 < trip.size(); ++i)
    trip[i].isJoined = true;
  if (trip.empty())
    add(Action::Sync, -1, 0);
  auto fillAll = [&](bool late) {
    for (auto [ring, group] : llvm::enumerate(groups))
      if (isLate(group) == late)
        add(Action::Fill, ring, filledBy(group));
  };
  fillAll(/*late=*/true);
  if (!copiesLater)
    fillAll(/*late=*/false);
  for (size_t phase = 0; phase < result.program.phases.size(); ++phase) {
    for (auto [ring, group] : llvm::enumerate(groups))
      if (isLate(group) && group.first == static_cast<int>(phase))
        add(Action::Take, ring, takenBy(group));
    add(Action::Run, phase, isDivided ? aheadOf(phase) : 0);
    if (phase == kScores && copiesLater)
      fillAll(/*late=*/false);
  }
}

/// The blocks that trips before the first would have filled.
void Deriver::buildBefore() {
  auto &role = result.program.roles[0];
  for (auto [ring, group] : llvm::enumerate(groups))
    for (int block = 0; block < role.first + filledBy(group); ++block)
      role.before.push_back({Action::Fill, static_cast<int>(ring), block});
}

StageProgram Deriver::derive() {
  result.program.roles = {{"math", 1, isDivided ? -static_cast<int>(schedule.ahead) : 0, {}, {}}};
  findPhases();
  findPanels();
  groupPanels();
  for (Operation &op : stream.getBody().front().without_terminator())
    findUses(&op, result.phases.at(&op));
  buildTrip();
  buildBefore();
  setWaits(result.program);
  return std::move(result);
}

int StageProgram::aheadOf(int phase) const {
  for (const Action &action : program.roles[0].trip)
    if (action.kind == Action::Run && action.subject == phase)
      return action.ahead;
  return 0;
}

StageProgram mlir::tile::programOf(StageOp stage, const GpuSchedule &schedule) {
  return Deriver(stage, schedule).derive();
}

/// Returns the registers of a thread that live from trip to trip if phases run ahead, and those of
/// the scores that the trip computes meanwhile.
static int64_t countRegisters(StageOp stage, const GpuSchedule &schedule,
                              const StageProgram &program) {
  auto plan = stage->getParentOfType<PlanOp>();
  const ::pe::math::FragmentLayout layout{schedule.ownerTiles, schedule.innerBlock, schedule.warps};
  auto registersOf = [&](Value value) {
    const SpaceSet &s = spacesOf(value);
    return layout.registersOf(kindOf(s, getOwner(stage)),
                              sizeOfDepth(depthOf(s), plan.getHeadDim(), plan.getValueDim()));
  };
  int64_t count = 0;
  for (Value value : program.passed)
    count += 2 * registersOf(value);
  for (Value value : stage.getStream().getResults())
    count += registersOf(value);
  return count;
}

LogicalResult mlir::tile::checkProgram(StageOp stage, const GpuSchedule &schedule,
                                       const StageProgram &program) {
  for (auto [ring, data] : llvm::enumerate(program.program.rings)) {
    int first = INT_MAX, last = INT_MIN; // the blocks of the ring that a trip reads
    for (auto [number, phase] : llvm::enumerate(program.program.phases))
      for (const ::pe::math::RingRead &read : phase.reads)
        if (read.ring == static_cast<int>(ring)) {
          first = std::min(first, program.aheadOf(number));
          last = std::max(last, program.aheadOf(number));
        }
    if (last - first >= data.slots) // step-C4
      return stage.emitOpError("expected slots of at least ")
             << last - first + 1 << " with ahead = " << schedule.ahead << ", because a step reads "
             << last - first + 1 << " blocks of " << data.name << ", found " << data.slots
             << " (step-C4)";
  }
  if (std::optional<std::string> fault = findFault(program.program)) // step-C4
    return stage.emitOpError("expected a step program without faults, found: ")
           << *fault << " (step-C4)";
  const int64_t most = ::pe::plan::findMachine("sm_80")->registers; // the same on every chip
  const int64_t count = countRegisters(stage, schedule, program);
  if (!program.passed.empty() && count > most) // step-C5
    return stage.emitOpError("expected at most ")
           << most << " registers of a thread for sums and scores with ahead = " << schedule.ahead
           << ", found " << count << "; choose a smaller owner_tiles or inner_block (step-C5)";
  return success();
}

FailureOr<std::string> mlir::tile::describeSteps(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  WalkResult walked = module.walk([&](StageOp stage) -> WalkResult {
    if (!stage.getScheduleAttr())
      return WalkResult::advance();
    stream << stage.getSymName() << ": " << stage.getScheduleAttr() << "\n";
    const GpuSchedule *schedule = step::scheduleOf<step::GpuAttr>(stage);
    if (!schedule || !stage.getStream())
      return WalkResult::advance();
    const StageProgram steps = programOf(stage, *schedule);
    if (failed(checkProgram(stage, *schedule, steps)))
      return failure();
    const std::string program = toString(steps.program);
    for (StringRef line : llvm::split(StringRef(program).trim(), '\n'))
      stream << "  " << line << "\n";
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  return text;
}
