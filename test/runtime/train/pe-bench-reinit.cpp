//===- pe-bench-reinit.cpp - Compares a projection with LAPACK's SVD ------===//
//
//   pe-bench-reinit [--shapes=768x768,3072x768] [--rounds=9] [--threads=1] [--clock=wall|cpu]
//
// The alternative to `pe reinit` is a singular value decomposition, W = U S V^T, whose U V^T is the
// polar factor. Every round runs pe's projection of a random float32 matrix, with its report, and
// dgesdd of the LAPACK in the same library, on the same number of threads. The table lists the
// medians and quartiles of the times and of the ratios per round. Only the SVD is timed, in double
// and in the orientation that dgesdd prefers, without the product U V^T, its rounding, or a report.
// The results are checked: if the factors differ by more than 1e-6 per square root of the smaller
// side, the exit status is 1.
//
// --clock=cpu is for a machine with other users: it does not count their time. With several threads
// it counts the time of all threads, including waiting.
//
//===----------------------------------------------------------------------===//

#include "pe/View.h"
#include "pe/reinit.h"
#include "runtime/core/Random.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/blas/Blas.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <dlfcn.h>
#include <malloc.h>

namespace {

using namespace pe;

struct Options {
  std::vector<std::string> shapes = {"768x768", "3072x768"};
  int rounds = 9, threads = 1;
  std::string clock = "wall";
};

/// LAPACK and thread control of the OpenBLAS library that pe has already opened.
struct Lapack {
  void (*dgesdd)(const char *, const int *, const int *, double *, const int *, double *, double *,
                 const int *, double *, const int *, double *, const int *, int *, int *) = nullptr;
  void (*setThreads)(int) = nullptr;

  bool open() {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (!library)
      return false;
    dgesdd = reinterpret_cast<decltype(dgesdd)>(dlsym(library, "dgesdd_"));
    setThreads = reinterpret_cast<decltype(setThreads)>(dlsym(library, "openblas_set_num_threads"));
    return dgesdd && setThreads;
  }
};

double seconds(const std::string &clock) {
  timespec time;
  clock_gettime(clock == "cpu" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The decomposition of a column-major matrix [m, n], m >= n.
class Decomposition {
public:
  Decomposition(const Lapack &lapack, int m, int n)
      : lapack(lapack), m(m), n(n), u(int64_t(m) * n), vt(int64_t(n) * n), values(n),
        integers(8 * int64_t(n)), work(1) {
    std::vector<double> none(int64_t(m) * n);
    int query = -1;
    call(none.data(), query);
    work.resize(static_cast<size_t>(work[0]));
  }

  bool run(std::vector<double> &a) { return call(a.data(), static_cast<int>(work.size())) == 0; }

  /// Returns |U V^T - factor|_F / sqrt(n) for a row-major factor[rows, cols].
  double distance(const float *factor, bool transposed) const {
    std::vector<double> product(int64_t(m) * n);
    blas::gemm(n, m, n, blas::Operand<double>{vt.data(), n}, blas::Operand<double>{u.data(), m},
               0.0, product.data(), m);
    double sum = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double difference =
            product[j * m + i] - double(transposed ? factor[j * m + i] : factor[i * n + j]);
        sum += difference * difference;
      }
    return std::sqrt(sum / n);
  }

private:
  int call(double *a, int size) {
    int info = 0;
    lapack.dgesdd("S", &m, &n, a, &m, values.data(), u.data(), &m, vt.data(), &n, work.data(),
                  &size, integers.data(), &info);
    return info;
  }

  const Lapack &lapack;
  int m, n;
  std::vector<double> u, vt, values;
  std::vector<int> integers;
  std::vector<double> work;
};

std::string quartiles(std::vector<double> values, double unit, int digits) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const size_t below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return unit * (values[below] + (place - double(below)) * (values[above] - values[below]));
  };
  char text[96];
  std::snprintf(text, sizeof text, "%.*f (%.*f..%.*f)", digits, at(0.5), digits, at(0.25), digits,
                at(0.75));
  return text;
}

View view(std::vector<float> &weights, int64_t rows, int64_t cols) {
  View view = {};
  view.data = weights.data();
  view.dtype = PE_F32;
  view.rank = 2;
  view.shape[0] = rows;
  view.shape[1] = view.strides[0] = cols;
  view.strides[1] = 1;
  return view;
}

bool bench(int rows, int cols, const Options &options, const Lapack &lapack, ParallelFor &pool) {
  std::vector<float> start(int64_t(rows) * cols), weights;
  Random random(1, "bench-reinit");
  for (float &value : start)
    value = static_cast<float>(0.02 * random.normal());
  const bool wide = rows < cols;
  const int m = std::max(rows, cols), n = std::min(rows, cols);
  // The SVD needs column-major [m, n]; the rows of a wide matrix are already its columns.
  std::vector<double> columns(start.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      columns[wide ? i * cols + j : j * rows + i] = start[i * cols + j];
  Decomposition svd(lapack, m, n);
  std::vector<double> ours, theirs, ratios;
  reinit::Settings settings;
  settings.scale = reinit::Scale::None;
  double difference = 0;
  int steps = 0;
  for (int round = 0; round <= options.rounds; ++round) { // round 0 warms up
    weights = start;
    std::vector<double> a = columns;
    const double begin = seconds(options.clock);
    auto report = reinit::project(view(weights, rows, cols), settings, &pool);
    const double middle = seconds(options.clock);
    if (!report) {
      std::fprintf(stderr, "pe-bench-reinit: %s\n", report.error().getMessage().c_str());
      return false;
    }
    lapack.setThreads(options.threads);
    const double next = seconds(options.clock);
    const bool found = svd.run(a);
    const double end = seconds(options.clock);
    lapack.setThreads(1);
    steps = report->front().iterations;
    difference = found ? svd.distance(weights.data(), wide) : INFINITY;
    if (round == 0)
      continue;
    ours.push_back(middle - begin);
    theirs.push_back(end - next);
    ratios.push_back((middle - begin) / (end - next));
  }
  std::printf("| %dx%d | %d | %s | %s | %s | %.1e |\n", rows, cols, steps,
              quartiles(ours, 1e3, 1).c_str(), quartiles(theirs, 1e3, 1).c_str(),
              quartiles(ratios, 1, 2).c_str(), difference);
  std::fflush(stdout);
  return difference <= 1e-6;
}

} // namespace

int main(int argc, char **argv) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // as `pe reinit` does
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  Options options;
  CLI::App app("Compares a projection with LAPACK's SVD");
  app.add_option("--shapes", options.shapes, "ROWSxCOLUMNS,...")->delimiter(',');
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000));
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 1024));
  app.add_option("--clock", options.clock)->check(CLI::IsMember({"wall", "cpu"}));
  CLI11_PARSE(app, argc, argv);
  Lapack lapack;
  if (Status loaded = blas::load(); !loaded || !lapack.open()) {
    std::fprintf(stderr, "pe-bench-reinit: expected OpenBLAS with LAPACK's dgesdd, found none; "
                         "install the package libopenblas0-pthread\n");
    return 1;
  }
  cpu::ThreadPool pool({.threads = options.threads});
  double load = 0;
  const bool known = getloadavg(&load, 1) == 1;
  std::printf("%s, OpenBLAS %s, threads %d, %s time, medians of %d rounds with quartiles",
              cpu::hostCpu().name.c_str(), blas::coreName().c_str(), options.threads,
              options.clock.c_str(), options.rounds);
  std::printf(known ? ", load before %.1f\n\n" : "\n\n", load);
  std::printf("| matrix | steps | pe with report, ms | dgesdd, ms | pe / dgesdd | difference |\n"
              "|---|---|---|---|---|---|\n");
  bool same = true;
  for (const std::string &shape : options.shapes) {
    int rows = 0, cols = 0;
    if (std::sscanf(shape.c_str(), "%dx%d", &rows, &cols) != 2 || rows < 1 || cols < 1) {
      std::fprintf(stderr, "pe-bench-reinit: expected --shapes like 768x768,3072x768, found '%s'\n",
                   shape.c_str());
      return 1;
    }
    same = bench(rows, cols, options, lapack, pool) && same;
  }
  return same ? 0 : 1;
}
