#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "caudal/kernels/elementwise_tables.h"
#include "caudal/kernels/numeric.h"

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2")

namespace caudal::inline v0::kernels {
namespace {
constexpr int kLanes = 8;
}
}  // namespace caudal::inline v0::kernels

#include "caudal/kernels/elementwise_vector.h"

namespace caudal::inline v0::kernels {

UnaryLoop::Fn unary_avx512(UnaryOp op) { return vector_unary(op); }
BinaryLoop::Fn binary_avx512(BinaryOp op) { return vector_binary(op); }

}  // namespace caudal::inline v0::kernels
