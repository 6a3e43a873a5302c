//===- Blas.cpp - OpenBLAS, loaded on demand and single-threaded ----------===//
//
// The table of functions from libopenblas.so.0, and the conversion of row-major calls. cblas_*
// functions accept row-major matrices. The LAPACK routines are Fortran and column-major, so our
// upper triangle is their lower triangle.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/blas/Blas.h"

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace pe::blas {
namespace {

constexpr const char *kLibrary = "libopenblas.so.0";
constexpr const char *kPackage = "libopenblas0-pthread";

// Values of the CBLAS enumerations.
constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;
constexpr int kUpper = 121, kNonUnit = 131, kLeft = 141;

struct Functions {
  void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                float *, int);
  void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int,
                double, double *, int);
  void (*ssyrk)(int, int, int, int, int, float, const float *, int, float, float *, int);
  void (*dsyrk)(int, int, int, int, int, double, const double *, int, double, double *, int);
  void (*dtrsm)(int, int, int, int, int, int, int, double, const double *, int, double *, int);
  void (*dpotrf)(const char *, const int *, double *, const int *, int *);
  void (*dpstrf)(const char *, const int *, double *, const int *, int *, int *, const double *,
                 double *, int *);
  void (*dsyev)(const char *, const char *, const int *, double *, const int *, double *, double *,
                const int *, int *);
  void (*setThreads)(int);
  char *(*coreName)();
};

Functions functions;

/// Returns true if OpenBLAS may select slower kernels than this machine supports.
bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

template <typename Function>
bool find(void *library, const char *name, Function &function, std::string &missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    missing = name;
  return function != nullptr;
}

Status loadOnce() {
  if (hasAvx512())
    setenv("OPENBLAS_CORETYPE", "SkylakeX", /*overwrite=*/0);
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("expected the library ", kLibrary, ", found none (", dlerror(),
                     "); install the package ", kPackage);
  std::string missing;
  bool complete = find(library, "cblas_sgemm", functions.sgemm, missing) &&
                  find(library, "cblas_dgemm", functions.dgemm, missing) &&
                  find(library, "cblas_ssyrk", functions.ssyrk, missing) &&
                  find(library, "cblas_dsyrk", functions.dsyrk, missing) &&
                  find(library, "cblas_dtrsm", functions.dtrsm, missing) &&
                  find(library, "dpotrf_", functions.dpotrf, missing) &&
                  find(library, "dpstrf_", functions.dpstrf, missing) &&
                  find(library, "dsyev_", functions.dsyev, missing) &&
                  find(library, "openblas_set_num_threads", functions.setThreads, missing) &&
                  find(library, "openblas_get_corename", functions.coreName, missing);
  if (!complete)
    return makeError("expected function ", missing, " in ", kLibrary,
                     ", found none; install the package ", kPackage);
  functions.setThreads(1);
  return Status::success();
}

int cblas(Transpose transpose) { return transpose == Transpose::Yes ? kTranspose : kNoTranspose; }

/// Converts a size to the 32 bits that Fortran and CBLAS expect; pe's matrices are much smaller.
int narrow(int64_t size) { return static_cast<int>(size); }

} // namespace

Status load() {
  static const Status status = loadOnce();
  return status;
}

std::string coreName() { return functions.coreName(); }

void gemm(int64_t m, int64_t n, int64_t k, Operand<float> a, Operand<float> b, float beta, float *c,
          int64_t pitchC, float alpha) {
  functions.sgemm(kRowMajor, cblas(a.transpose), cblas(b.transpose), narrow(m), narrow(n),
                  narrow(k), alpha, a.data, narrow(a.pitch), b.data, narrow(b.pitch), beta, c,
                  narrow(pitchC));
}

void gemm(int64_t m, int64_t n, int64_t k, Operand<double> a, Operand<double> b, double beta,
          double *c, int64_t pitchC, double alpha) {
  functions.dgemm(kRowMajor, cblas(a.transpose), cblas(b.transpose), narrow(m), narrow(n),
                  narrow(k), alpha, a.data, narrow(a.pitch), b.data, narrow(b.pitch), beta, c,
                  narrow(pitchC));
}

void gramUpper(int64_t m, int64_t n, const float *x, int64_t pitchX, float *gram,
               int64_t pitchGram) {
  functions.ssyrk(kRowMajor, kUpper, kTranspose, narrow(n), narrow(m), 1.0f, x, narrow(pitchX),
                  0.0f, gram, narrow(pitchGram));
}

void gramUpper(int64_t m, int64_t n, const double *x, int64_t pitchX, double *gram,
               int64_t pitchGram) {
  functions.dsyrk(kRowMajor, kUpper, kTranspose, narrow(n), narrow(m), 1.0, x, narrow(pitchX), 0.0,
                  gram, narrow(pitchGram));
}

bool choleskyUpper(int64_t n, double *a, int64_t pitch) {
  int size = narrow(n), stride = narrow(pitch), info = 0;
  functions.dpotrf("L", &size, a, &stride, &info);
  return info == 0;
}

void solveLeft(int64_t m, int64_t n, const double *r, int64_t pitchR, Transpose transpose,
               double *x, int64_t pitchX) {
  functions.dtrsm(kRowMajor, kLeft, kUpper, cblas(transpose), kNonUnit, narrow(m), narrow(n), 1.0,
                  r, narrow(pitchR), x, narrow(pitchX));
}

std::vector<double> symmetricEigenvalues(int64_t n, double *a) {
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = row; column < n; ++column)
      if (!std::isfinite(a[row * n + column]))
        return {};
  const auto size = static_cast<int>(n);
  std::vector<double> values(n);
  double room = 0;
  int info = 0, query = -1;
  functions.dsyev("N", "L", &size, a, &size, values.data(), &room, &query, &info);
  std::vector<double> work(static_cast<size_t>(room) + 1);
  const auto count = static_cast<int>(work.size());
  functions.dsyev("N", "L", &size, a, &size, values.data(), work.data(), &count, &info);
  return info == 0 ? values : std::vector<double>();
}

int64_t rankOfGram(int64_t n, double *a) {
  int size = narrow(n), info = 0, rank = 0;
  std::vector<int> pivots(n);
  std::vector<double> work(2 * n);
  double defaultTolerance = -1.0;
  functions.dpstrf("L", &size, a, &size, pivots.data(), &rank, &defaultTolerance, work.data(),
                   &info);
  return rank;
}

} // namespace pe::blas
