//===- Repeat.cpp - The operator pe::repeat -------------------------------===//
#include "runtime/torch/Repeat.h"

#include "runtime/torch/Torch.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace pe::torch {
namespace {

Functions pytorch;
decltype(&pe_run) runCall;
decltype(&pe_workspace) workspaceOf;

/// Returns PyTorch's code of an element type, or nothing for types that no argument of a kernel
/// has.
std::optional<int32_t> codeOf(pe_dtype dtype) {
  switch (dtype) {
  case PE_F32:
    return pytorch.float32();
  case PE_BF16:
    return pytorch.bfloat16();
  case PE_F16:
    return pytorch.float16();
  case PE_I32:
    return pytorch.int32();
  default:
    return std::nullopt;
  }
}

/// A tensor of PyTorch. Its shape and strides are borrowed from it.
struct Given {
  int64_t dim = 0;
  int64_t *sizes = nullptr, *strides = nullptr;
  void *data = nullptr;
  int32_t dtype = -1;

  explicit Given(AtenTensor *tensor) {
    pytorch.getDim(tensor, &dim);
    pytorch.getSizes(tensor, &sizes);
    pytorch.getStrides(tensor, &strides);
    pytorch.getDataPtr(tensor, &data);
    pytorch.getDType(tensor, &dtype);
  }
};

/// Owns a tensor.
struct Deleter {
  void operator()(AtenTensor *tensor) const { pytorch.deleteTensor(tensor); }
};
using Owned = std::unique_ptr<AtenTensor, Deleter>;

/// The memory of this thread for workspaces, as large as the largest one so far.
void *reserve(int64_t bytes) {
  thread_local std::unique_ptr<char[]> memory;
  thread_local int64_t size = 0;
  if (bytes > size) {
    memory.reset(new char[size_t(bytes)]); // not cleared: kernels write before they read
    size = bytes;
  }
  return memory.get();
}

/// A call with the memory that it refers to.
class Call {
public:
  explicit Call(const pe_torch_call &given)
      : call(given), views(given.views, given.views + given.count),
        layouts(given.layouts, given.layouts + given.arguments + given.results),
        scalars(given.scalars, given.scalars + given.scalar_count),
        sources(given.sources, given.sources + given.source_count) {
    for (const pe_view &view : std::span(views).subspan(layouts.size()))
      if (view.name == std::string_view("capacity"))
        capacity = view.shape[0];
    for (const pe_view &layout : layouts) {
      const auto code = codeOf(layout.dtype);
      isSupported = isSupported && code;
      codes.push_back(code.value_or(-1));
    }
  }
  bool isSupported = true;

  /// Returns true if both run the same calls.
  bool equals(const Call &other) const {
    const auto isEqual = [](const pe_view &one, const pe_view &two) {
      return one.rank == two.rank && std::equal(one.shape, one.shape + one.rank, two.shape) &&
             std::equal(one.strides, one.strides + one.rank, two.strides);
    };
    return codes == other.codes && call.arguments == other.call.arguments &&
           call.grows == other.call.grows && std::ranges::equal(layouts, other.layouts, isEqual);
  }

  /// Returns true if the tensors have the layouts of the call, and keys and values at least `keys`
  /// rows.
  bool matches(std::span<const Given> tensors, int64_t keys) const {
    if (tensors.size() != size_t(call.arguments))
      return false;
    for (size_t index = 0; index < tensors.size(); ++index)
      if (!matches(index, tensors[index]))
        return false;
    if (!call.grows)
      return keys < 0;
    const int64_t rows = tensors[1].sizes[2];
    return keys < 0 ? rows == tensors[2].sizes[2] : keys <= std::min(rows, tensors[2].sizes[2]);
  }

  /// Returns the results, or none if a tensor is not aligned, if the tables do not hold, or if the
  /// call fails.
  std::vector<Owned> run(std::span<const Given> tensors, int64_t keys) {
    std::vector<Owned> results;
    std::vector<pe_view> given = views;
    for (size_t index = 0; index < tensors.size(); ++index)
      setView(given[index], tensors[index], grows(index));
    if (keys >= 0)
      given[1].shape[2] = given[2].shape[2] = keys;
    for (size_t index = tensors.size(); index < layouts.size(); ++index) {
      const pe_view &layout = layouts[index];
      AtenTensor *made = nullptr;
      if (pytorch.emptyStrided(layout.rank, layout.shape, layout.strides, codes[index],
                               pytorch.cpu(), 0, &made))
        return {};
      results.emplace_back(made);
      pytorch.getDataPtr(made, &given[index].data);
    }
    const auto isAligned = [](const pe_view &view) {
      return view.data && reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
    };
    if (!std::ranges::all_of(std::span(given).first(layouts.size()), isAligned) ||
        !doTablesHold(tensors) || !runOn(given))
      results.clear();
    return results;
  }

private:
  bool grows(size_t index) const { return call.grows && (index == 1 || index == 2); }

  bool matches(size_t index, const Given &tensor) const {
    const pe_view &layout = layouts[index];
    if (tensor.dtype != codes[index] || tensor.dim != layout.rank)
      return false;
    for (int32_t axis = 0; axis < layout.rank; ++axis) {
      const bool sizeVaries = grows(index) && axis == 2;
      const bool strideVaries = grows(index) && axis < 2;
      if ((!sizeVaries && tensor.sizes[axis] != layout.shape[axis]) ||
          (!strideVaries && tensor.strides[axis] != layout.strides[axis]))
        return false;
    }
    return true;
  }

  bool doTablesHold(std::span<const Given> tensors) const {
    return std::ranges::all_of(sources, [&](const pe_torch_source &source) {
      return !std::memcmp(tensors[size_t(source.argument)].data, source.data, size_t(source.bytes));
    });
  }

  static void setView(pe_view &view, const Given &tensor, bool withSizes) {
    view.data = tensor.data;
    if (!withSizes)
      return;
    std::copy_n(tensor.sizes, tensor.dim, view.shape);
    std::copy_n(tensor.strides, tensor.dim, view.strides);
  }

  bool runOn(const std::vector<pe_view> &given) {
    const int64_t bytes = bytesFor(given);
    if (bytes < 0 || bytes > call.most_workspace)
      return false;
    pe_context context = {sizeof(pe_context), reserve(bytes), bytes, nullptr, call.pool, 0};
    return runCall(call.function, call.half, given.data(), call.count, scalars.data(),
                   call.scalar_count, &context) == 0;
  }

  /// Returns the bytes of workspace for the number of keys of a call, rounded up to a block or to
  /// the capacity, and for any lengths, or -1.
  int64_t bytesFor(const std::vector<pe_view> &given) {
    const int64_t block =
        call.grows ? (given[1].shape[2] + call.key_block - 1) / call.key_block : 0;
    std::lock_guard lock(mutex);
    if (const auto found = workspaces.find(block); found != workspaces.end())
      return found->second;
    std::vector<pe_view> largest = given;
    if (call.lengths >= 0)
      largest[size_t(call.lengths)].data = nullptr;
    const auto query = [&] {
      int64_t bytes = 0;
      return workspaceOf(call.function, call.half, largest.data(), call.count, &bytes) ? -1 : bytes;
    };
    const int64_t exact = query();
    if (!call.grows)
      return workspaces[block] = exact;
    largest[1].shape[2] = largest[2].shape[2] = std::min(block * call.key_block, capacity);
    const int64_t rounded = query();
    return exact < 0 || rounded < 0 ? exact : workspaces[block] = std::max(exact, rounded);
  }

  const pe_torch_call call;
  const std::vector<pe_view> views, layouts;
  const std::vector<pe_scalar> scalars;
  const std::vector<pe_torch_source> sources;
  int64_t capacity = std::numeric_limits<int64_t>::max(); // the most keys of prepared tables
  std::vector<int32_t> codes;                             // PyTorch's types of the layouts
  std::mutex mutex;
  std::map<int64_t, int64_t> workspaces; // bytes by blocks of keys
};

using Family = std::vector<std::shared_ptr<Call>>; // the newest call first
constexpr size_t kMostOfFamily = 64;

/// The families by number. Numbers are not used twice. A family that changes is replaced, because
/// operators read it.
class Families {
public:
  int64_t add(int64_t number, std::shared_ptr<Call> call) {
    std::lock_guard lock(mutex);
    if (number == 0)
      number = ++last;
    auto family = std::make_shared<Family>(1, call);
    if (const auto found = families.find(number); found != families.end())
      std::ranges::copy_if(*found->second, std::back_inserter(*family),
                           [&](const auto &other) { return !other->equals(*call); });
    family->resize(std::min(family->size(), kMostOfFamily));
    families[number] = std::move(family);
    return number;
  }
  void remove(int64_t number) {
    std::lock_guard lock(mutex);
    families.erase(number);
  }
  std::shared_ptr<const Family> find(int64_t number) {
    std::lock_guard lock(mutex);
    auto found = families.find(number);
    return found == families.end() ? nullptr : found->second;
  }

private:
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<const Family>> families;
  int64_t last = 0;
};

Families &families() {
  static Families all;
  return all;
}

std::vector<Owned> resultsOf(int64_t number, std::span<const Owned> tensors, int64_t keys) {
  const std::shared_ptr<const Family> family = families().find(number);
  if (!family)
    return {};
  std::vector<Given> given;
  given.reserve(tensors.size());
  for (const Owned &tensor : tensors)
    given.emplace_back(tensor.get());
  const auto call =
      std::ranges::find_if(*family, [&](const auto &each) { return each->matches(given, keys); });
  return call == family->end() ? std::vector<Owned>() : (*call)->run(given, keys);
}

/// The operator. The arguments are the number of a family, a list of tensors, and the number of
/// keys.
void repeat(Value *stack, uint64_t, uint64_t) {
  TensorList *list = nullptr, *results = nullptr;
  std::memcpy(&list, &stack[1], sizeof(list));
  size_t size = 0;
  pytorch.listSize(list, &size);
  std::vector<Owned> tensors;
  tensors.reserve(size);
  for (size_t index = 0; index < size; ++index) {
    Value item = 0;
    pytorch.listItem(list, index, &item);
    tensors.emplace_back(reinterpret_cast<AtenTensor *>(item));
  }
  pytorch.deleteList(list);
  pytorch.newList(2, &results);
  for (Owned &result : resultsOf(int64_t(stack[0]), tensors, int64_t(stack[2])))
    pytorch.listPush(results, reinterpret_cast<Value>(result.release()));
  std::memcpy(&stack[0], &results, sizeof(results));
}

/// The version of the stable interface for which the operator is written, 2.10.
constexpr uint64_t kVersion = (uint64_t(2) << 56) | (uint64_t(10) << 48);

} // namespace
} // namespace pe::torch

using namespace pe::torch;

extern "C" __attribute__((visibility("default"))) const char *
pe_torch_load(const char *path, decltype(&pe_run) run, decltype(&pe_workspace) workspace) {
  static std::string problem;
  static bool isRegistered = false;
  Functions functions;
  problem = lookUp(path, functions);
  if (!problem.empty())
    return problem.c_str();
  if (isRegistered)
    return nullptr;
  pytorch = functions;
  runCall = run;
  workspaceOf = workspace;
  OperatorLibrary *definitions = nullptr, *implementations = nullptr;
  if (functions.newFragment("pe", __FILE__, __LINE__, &definitions) ||
      functions.define(definitions, "repeat(int family, Tensor[] tensors, int keys) -> Tensor[]") ||
      functions.newImplementations("pe", "CPU", __FILE__, __LINE__, &implementations) ||
      functions.implement(implementations, "repeat", repeat, kVersion))
    return "PyTorch does not register the operator pe::repeat";
  isRegistered = true;
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) int64_t pe_torch_add(int64_t family,
                                                                       const pe_torch_call *call) {
  auto added = std::make_shared<Call>(*call);
  return added->isSupported ? families().add(family, std::move(added)) : 0;
}

extern "C" __attribute__((visibility("default"))) void pe_torch_remove(int64_t family) {
  families().remove(family);
}
