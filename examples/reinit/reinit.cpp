//===- reinit.cpp - Project weights in another program --------------------===//
//
// Projects a matrix onto the nearest isometry times sqrt(out / in) with the C++ API, and a stack of
// two matrices with the C API, and prints the changes.
//
//===----------------------------------------------------------------------===//

#include "pe/reinit.h"

#include <cmath>
#include <cstdio>

/// Returns a matrix that is not an isometry.
static pe::Tensor weightsOf(pe::Shape shape) {
  pe::Tensor weights = pe::Tensor::zeros(pe::DType::F32, std::move(shape));
  int64_t i = 0;
  for (float &value : weights.values<float>()) {
    value = std::sin(static_cast<float>(i * i % 1009));
    ++i;
  }
  return weights;
}

int main() {
  pe::Tensor weights = weightsOf({96, 64});
  auto reports = pe::reinit::project(pe::viewOf("mlp.up", weights), {});
  if (!reports) {
    std::fprintf(stderr, "%s\n", reports.error().render("reinit").c_str());
    return 1;
  }
  std::puts(pe::reinit::describe(reports->front()).c_str());

  pe::Tensor experts = weightsOf({2, 32, 48});
  const pe_view view = pe::viewOf("experts", experts);
  pe_reinit_options options = {};
  options.size = sizeof options;
  options.engine = "cubic"; // the published operator, whose five steps do not reach an isometry
  options.iterations = 5;
  pe_reinit_report expert[2];
  if (pe_reinit(&view, &options, expert, 2)) {
    std::fprintf(stderr, "%s\n", pe_last_error());
    return 1;
  }
  for (const pe_reinit_report &report : expert)
    std::printf("expert: DfI per dimension %.3f -> %.3f, %d steps\n", report.dfi_before,
                report.dfi_after, report.iterations);
  return 0;
}
