//===- Timing.cpp - Timing of complete calls ---===//
#include "tools/pe/Timing.h"

#include "runtime/device/cpu/Peak.h"
#include "runtime/reference/Entries.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace pe::cli {

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double countPairs(const plan::Plan &plan, const plan::CallSizes &sizes) {
  double pairs = 0;
  int64_t firstKey = sizes.keyStart, lastKey = sizes.keyStart + sizes.keys - 1;
  for (int64_t row = 0; row < sizes.queries; ++row) {
    int64_t position = sizes.queryStart + row;
    if (position < 0)
      continue;
    int64_t low = firstKey, high = lastKey;
    if (plan.window && plan.window->low)
      high = std::min(high, position - *plan.window->low);
    if (plan.window && plan.window->high)
      low = std::max(low, position - *plan.window->high);
    pairs += std::max<int64_t>(0, high - low + 1);
  }
  return pairs;
}

/// Counts the pairs of a call with lengths.
static Expected<std::optional<double>>
countPairsOfEntries(const reference::Program &program, const EntryInfo &entry,
                    const TensorMap &arguments, const Positions &positions, unsigned threads) {
  if (entry.attentions.size() != 1)
    return makeError("--time: expected a function with one attention to time a call with lengths, "
                     "found ",
                     entry.attentions.size());
  auto entries = reference::splitEntries(program, entry.arguments, arguments);
  if (!entries)
    return entries.takeError();
  double sum = 0;
  for (const TensorMap &own : *entries) {
    auto pairs = reference::countPairs(program, own, positions, threads);
    if (!pairs)
      return pairs.takeError();
    sum += *pairs;
  }
  return std::optional(sum);
}

Expected<std::optional<double>> countMaskedPairs(const jit::Description &description,
                                                 const TensorMap &arguments,
                                                 const Positions &positions, unsigned threads) {
  if (description.program.empty()) // a package may come without its source
    return std::optional<double>();
  auto parsed = reference::parseProgram(description.program);
  if (!parsed)
    return parsed.error();
  if (reference::hasLengths(*parsed, arguments))
    return countPairsOfEntries(*parsed, description.entry, arguments, positions, threads);
  int64_t attentions = 0, codes = 0;
  for (const reference::Operation &operation : parsed->operations) {
    attentions += operation.name == "pe.attention";
    const bool isMask =
        operation.results.size() == 1 && parsed->typeOf(operation.results.front()) == "!pe.mask";
    const bool hasNumbers = std::any_of(operation.operands.begin(), operation.operands.end(),
                                        [&](reference::ValueId operand) { // bounds or positions
                                          return parsed->typeOf(operand).ends_with("xi32>");
                                        });
    codes += (operation.name == "pe.attention" && hasNumbers) ||
             (isMask && (hasNumbers || !operation.regions.empty())) ||
             operation.name == "pe.mask_or";
  }
  if (attentions != 1 || codes == 0)
    return std::optional<double>();
  auto pairs = reference::countPairs(*parsed, arguments, positions, threads);
  if (!pairs)
    return pairs.error();
  return std::optional(*pairs);
}

std::string Timing::json(const std::string &structure) const {
  nlohmann::ordered_json line;
  const auto known = [](bool isKnown, double value) {
    return isKnown ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  const bool hasBackward = backwardSeconds > 0;
  line["forward_seconds"] = forwardSeconds;
  line["backward_seconds"] = known(hasBackward, backwardSeconds);
  line["forward_gflops"] = known(countsWork, forwardFlops / forwardSeconds * 1e-9);
  line["backward_gflops"] =
      known(countsWork && hasBackward, backwardFlops / backwardSeconds * 1e-9);
  line["forward_share_of_peak"] = known(countsWork && hasPeak, forwardShare);
  line["backward_share_of_peak"] = known(countsWork && hasPeak && hasBackward, backwardShare);
  if (forwardBytes > 0) {
    line["forward_gbytes_per_second"] = forwardBytes / forwardSeconds * 1e-9;
    line["backward_gbytes_per_second"] = known(hasBackward, backwardBytes / backwardSeconds * 1e-9);
    line["forward_share_of_copy"] = known(hasPeak, forwardCopyShare);
    line["backward_share_of_copy"] = known(hasPeak && hasBackward, backwardCopyShare);
  }
  line["threads"] = threads;
  line["structure"] = structure;
  return line.dump();
}

namespace {

/// Copies as many bytes as an embedding's tokens have, with the threads of the pool.
class Copy {
public:
  explicit Copy(double bytes) : from(static_cast<size_t>(bytes)), to(from.size()) {}
  double seconds(ParallelFor &pool) {
    const auto begin = std::chrono::steady_clock::now();
    pool.run(static_cast<int64_t>((from.size() + kPiece - 1) / kPiece), copyPiece, this);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

private:
  static void copyPiece(void *context, int64_t piece) {
    Copy &copy = *static_cast<Copy *>(context);
    const size_t first = static_cast<size_t>(piece) * kPiece;
    std::memcpy(copy.to.data() + first, copy.from.data() + first,
                std::min(kPiece, copy.from.size() - first));
  }

  static constexpr size_t kPiece = size_t(64) << 10;
  std::vector<char> from, to;
};

/// Returns the bytes of the tokens. The results have as many.
double bytesOfTokens(const plan::Plan &plan, const TensorMap &arguments) {
  double bytes = 0;
  for (const plan::Buffer &buffer : plan.buffers)
    if (buffer.role == plan::Role::Argument)
      if (auto found = arguments.find(buffer.name); found != arguments.end())
        if (buffer.shape == std::vector<std::string>{"b", "r", "model"})
          bytes += static_cast<double>(found->second.byteSize());
  return bytes;
}

/// Medians over repeated calls: seconds, and shares of the ideal time measured before every call.
struct Medians {
  double forward = 0.0, forwardShare = 0.0, backward = 0.0, backwardShare = 0.0;
};

/// Times `call`. Before each call, `ideal` measures the seconds that a forward and a backward call
/// would take at the peak of the machine. The first call is a warm-up.
template <typename Call, typename Ideal>
Expected<Medians> timeAgainst(const Call &call, const Ideal &ideal, int repeats) {
  std::vector<double> forward, backward, forwardShare, backwardShare;
  for (int repeat = -1; repeat < std::max(repeats, 1); ++repeat) {
    const auto [idealForward, idealBackward] = ideal();
    auto times = call();
    if (!times)
      return times.error();
    if (repeat < 0)
      continue;
    forward.push_back(times->forward);
    forwardShare.push_back(idealForward / times->forward);
    backward.push_back(times->backward);
    backwardShare.push_back(idealBackward / times->backward);
  }
  return Medians{medianOf(forward), medianOf(forwardShare), medianOf(backward),
                 medianOf(backwardShare)};
}

} // namespace

Expected<Timing> timeCalls(const api::CompiledFunction &function, const TensorMap &arguments,
                           const TensorMap &cotangents, const Positions &positions,
                           ParallelFor &pool, int repeats, std::optional<double> pairs) {
  const device::Runner &runner = *function.runner;
  const plan::Plan &plan = runner.getPlan();
  auto sizes = runner.bind(arguments, positions);
  if (!sizes)
    return sizes.error();
  Timing timing;
  timing.threads = pool.threads();
  timing.countsWork = pairs || plan.window;
  timing.hasPeak = plan.target == plan::Target::Cpu;
  const bool attends = plan.headDim != 0;
  Expected<Medians> medians = Medians();
  auto call = [&] { return runner.time(arguments, positions, cotangents, pool); };
  if (attends) {
    const double scores =
        pairs ? *pairs : countPairs(plan, *sizes) * sizes->batch * sizes->queryHeads;
    timing.forwardFlops = 2.0 * (plan.headDim + plan.valueDim) * scores;
    timing.backwardFlops = 2.0 * (3 * plan.headDim + 2 * plan.valueDim) * scores;
    const plan::Machine *machine = cpu::machineOf(plan.features);
    medians = timeAgainst(
        call,
        [&] {
          const double peak =
              timing.hasPeak ? cpu::measureProductPeak(pool, machine, plan.products, 1) * 1e9 : 1;
          return std::pair(timing.forwardFlops / peak, timing.backwardFlops / peak);
        },
        repeats);
  } else { // an embedding is compared with copies of its tokens
    const double bytes = bytesOfTokens(plan, arguments);
    timing.forwardBytes = timing.backwardBytes = 2 * bytes;
    Copy copy(bytes);
    copy.seconds(pool);
    medians = timeAgainst(
        call,
        [&] {
          const double seconds = copy.seconds(pool);
          return std::pair(seconds, seconds);
        },
        repeats);
  }
  if (!medians)
    return medians.takeError();
  timing.forwardSeconds = medians->forward;
  (attends ? timing.forwardShare : timing.forwardCopyShare) = medians->forwardShare;
  if (!cotangents.empty()) {
    timing.backwardSeconds = medians->backward;
    (attends ? timing.backwardShare : timing.backwardCopyShare) = medians->backwardShare;
  }
  return timing;
}

} // namespace pe::cli
