#include "caudal/ops/linalg_lapack.h"

#include "caudal/base/error.h"
#include "caudal/base/module.h"

namespace caudal::inline v0 {

const LinalgModule& lapack() {
  static const LinalgModule* table = module_function<GetLinalgModule>("linalg", kLinalgModule, "liblapacke")();
  return *table;
}

int lapack_size(std::int64_t n) {
  if (n > 32767) throw unimplemented("a matrix with a side of ", n, " is more than LAPACK's 32 bit indices hold");
  return static_cast<int>(n);
}

}  // namespace caudal::inline v0
