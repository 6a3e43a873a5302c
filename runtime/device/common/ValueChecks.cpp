//===- ValueChecks.cpp - Checks of the elements of arguments --------------===//

#include "runtime/device/common/ValueChecks.h"

namespace pe::device {

namespace {

/// The i32 elements of a view in row-major order.
class Elements {
public:
  explicit Elements(const View &view) : view(view) {
    for (int k = 0; k < view.rank; ++k)
      count *= view.shape[k];
  }
  int64_t size() const { return count; }
  int64_t operator[](int64_t index) const {
    int64_t offset = 0;
    for (int k = view.rank; k-- > 0; index /= view.shape[k])
      offset += index % view.shape[k] * view.strides[k];
    return static_cast<const int32_t *>(view.data)[offset];
  }

private:
  const View &view;
  int64_t count = 1;
};

} // namespace

static Status checkWithin(const std::string &tensor, const Elements &elements, int64_t first,
                          int64_t last) {
  for (int64_t n = 0; n < elements.size(); ++n)
    if (elements[n] < first || elements[n] > last)
      return makeError("tensor '", tensor, "': expected values from ", first, " to ", last,
                       first > last ? ", of which there are none" : "", ", found ", elements[n],
                       " at index ", n);
  return Status::success();
}

static Status checkAscending(const std::string &tensor, const Elements &elements, int64_t first,
                             int64_t last) {
  if (elements.size() == 0)
    return makeError("tensor '", tensor, "': expected values from ", first, " to ", last,
                     ", found none");
  if (elements[0] != first)
    return makeError("tensor '", tensor, "': expected it to begin at ", first, ", found ",
                     elements[0]);
  for (int64_t n = 1; n < elements.size(); ++n)
    if (elements[n] < elements[n - 1])
      return makeError("tensor '", tensor, "': expected values in nondecreasing order, found ",
                       elements[n], " after ", elements[n - 1], " at index ", n);
  if (int64_t end = elements[elements.size() - 1]; end != last)
    return makeError("tensor '", tensor, "': expected it to end at ", last,
                     ", where the call ends, found ", end);
  return Status::success();
}

Status checkValues(const BoundCall &call) {
  const plan::Plan &plan = call.getPlan().getPlan();
  for (size_t i = 0; i < plan.valueRequirements.size(); ++i) {
    const plan::ValueRequirement &requirement = plan.valueRequirements[i];
    const Slot &slot = call.slot(static_cast<size_t>(plan.findBuffer(requirement.tensor)));
    if (slot.view < 0)
      continue;
    int64_t first = 0, last = 0;
    if (Status s = call.getPlan().valuesOf(i, call.sizeValues(), first, last); !s)
      return s;
    const Elements elements(call.viewAt(slot.view));
    Status s = requirement.isAscending ? checkAscending(requirement.tensor, elements, first, last)
                                       : checkWithin(requirement.tensor, elements, first, last);
    if (!s)
      return s;
  }
  return Status::success();
}

Status checkValues(const BoundEntries &entries) {
  for (size_t i = 0; i < entries.size(); ++i)
    if (Status s = checkValues(entries[i]); !s)
      return s.takeError().within(entries.describe(i));
  return Status::success();
}

} // namespace pe::device
