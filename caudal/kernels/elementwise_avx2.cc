#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "caudal/kernels/elementwise_tables.h"
#include "caudal/kernels/numeric.h"

#pragma GCC target("avx2,f16c")

namespace caudal::inline v0::kernels {
namespace {
constexpr int kLanes = 4;
}
}  // namespace caudal::inline v0::kernels

#include "caudal/kernels/elementwise_vector.h"

namespace caudal::inline v0::kernels {

UnaryLoop::Fn unary_avx2(UnaryOp op) { return vector_unary(op); }
BinaryLoop::Fn binary_avx2(BinaryOp op) { return vector_binary(op); }

}  // namespace caudal::inline v0::kernels
