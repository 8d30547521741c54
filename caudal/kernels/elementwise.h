// Loops over elements, one function pointer per (operation, type), and the driver that broadcasts two operands.
//
//   if (BinaryLoop add = find_binary(BinaryOp::kAdd, DType::kFloat)) broadcast_binary(pool, add, ...);
//
// Semantics are TensorFlow's: NaN passes through Relu, Maximum and Minimum; integers wrap; Round is half to even;
// integer division by zero and integer powers below zero are faults, reported by the loop's result. half and bfloat16
// are computed in float and rounded once. Every element's bits depend on its operands only, not on its place, the
// chunking or the instruction set.
//
// Thread safety: all functions. The output may be one of the inputs, if element sizes agree, but must not overlap it
// otherwise.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/dims.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

enum class UnaryOp : uint8_t {
  kNeg,
  kAbs,
  kSign,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kLgamma,
  kFloor,
  kCeil,
  kRound,
  kSigmoid,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kElu,
  kSelu,
  kSoftplus,
  kSoftsign,
  kIsNan,
  kIsInf,
  kIsFinite,
  kLogicalNot,
  kInvert,
  kConj,
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRealDiv,
  kDivNoNan,
  kMulNoNan,
  kFloorDiv,
  kFloorMod,
  kTruncateDiv,
  kTruncateMod,
  kMod,
  kPow,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kXdivy,
  kXlogy,
  kXlog1py,
  kAtan2,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kLogicalAnd,
  kLogicalOr,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kLeftShift,
  kRightShift,
  // Gradients, with TensorFlow's order of operands. (gradients, features):
  kReluGrad,
  kRelu6Grad,
  kLeakyReluGrad,
  kSoftplusGrad,
  kSoftsignGrad,
  // (gradients, outputs):
  kEluGrad,
  kSeluGrad,
  // (y, dy):
  kTanhGrad,
  kSigmoidGrad,
  kSqrtGrad,
  kRsqrtGrad,
  kReciprocalGrad,
};

// out[i] = op(in[i]).
class UnaryLoop {
 public:
  using Fn = void (*)(const void* in, void* out, int64_t n, double parameter);

  UnaryLoop() = default;
  explicit operator bool() const { return fn_ != nullptr; }
  void operator()(const void* in, void* out, int64_t n) const;

 private:
  friend UnaryLoop find_unary(UnaryOp op, DType dtype, double parameter);
  friend UnaryLoop find_unary_reference(UnaryOp op, DType dtype, double parameter);
  Fn fn_ = nullptr;
  double parameter_ = 0;
  // kHalf or kBFloat16 where fn_ is the loop of float.
  DType narrow_in_ = DType::kInvalid, narrow_out_ = DType::kInvalid;
};

// out[i] = op(a[i * stride_a], b[i * stride_b]); strides count elements and are 0 (one value for all) or 1.
// Returns false if some element was a fault (its result is then 0).
class BinaryLoop {
 public:
  using Fn = bool (*)(const void* a, int64_t stride_a, const void* b, int64_t stride_b, void* out, int64_t n,
                      double parameter);

  BinaryLoop() = default;
  explicit operator bool() const { return fn_ != nullptr; }
  bool operator()(const void* a, int64_t stride_a, const void* b, int64_t stride_b, void* out, int64_t n) const;
  // Bytes of an element of the operands and of the result.
  int64_t input_size() const { return input_size_; }
  int64_t output_size() const { return output_size_; }

 private:
  friend BinaryLoop find_binary(BinaryOp op, DType dtype, double parameter);
  friend BinaryLoop find_binary_reference(BinaryOp op, DType dtype, double parameter);
  Fn fn_ = nullptr;
  double parameter_ = 0;
  DType narrow_in_ = DType::kInvalid, narrow_out_ = DType::kInvalid;
  int32_t input_size_ = 0, output_size_ = 0;
};

// Type of the result: bool for predicates and comparisons, else `dtype`.
DType unary_result(UnaryOp op, DType dtype);
DType binary_result(BinaryOp op, DType dtype);

// The fastest loop for this machine; empty if the operation is not defined for the type. `parameter` is the slope of
// LeakyRelu and its gradient.
UnaryLoop find_unary(UnaryOp op, DType dtype, double parameter = 0.2);
BinaryLoop find_binary(BinaryOp op, DType dtype, double parameter = 0.2);

// The plain loop, which calls the standard library for each element.
UnaryLoop find_unary_reference(UnaryOp op, DType dtype, double parameter = 0.2);
BinaryLoop find_binary_reference(BinaryOp op, DType dtype, double parameter = 0.2);

// The loop over n elements, in parallel. Sizes are in bytes.
void run_unary(ThreadPool& pool, const UnaryLoop& loop, const void* in, int64_t in_size, void* out, int64_t out_size,
               int64_t n);

// out = op(a, b) where both operands are broadcast to `out_dims` by TensorFlow's (numpy's) rule. Returns false if some
// element was a fault. REQUIRES: the shapes are compatible and out_dims is their broadcast.
[[nodiscard]] bool broadcast_binary(ThreadPool& pool, const BinaryLoop& loop, const void* a, Dims a_dims, const void* b,
                                    Dims b_dims, void* out, Dims out_dims);

}  // namespace caudal::inline v0::kernels
