#include "caudal/kernels/sgd.h"

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/isa.h"
#include "caudal/kernels/sgd_loops.h"

namespace caudal::inline v0::kernels {
namespace {

SgdLoops find_loops(DType dtype) {
  SgdLoops loops{};
  using Types = TypeList<float, double, Half, BFloat16, std::complex<float>, std::complex<double>>;
  dispatch(Types{}, dtype, "optimiser update", [&]<class T>() { loops = make_sgd_loops<T>(); });
  if (dtype == DType::kFloat && kernel_isa() == Isa::kAvx512) return sgd_loops_avx512();
  if (dtype == DType::kFloat && kernel_isa() == Isa::kAvx2) return sgd_loops_avx2();
  return loops;
}

SgdScalar parts(StepScalar s) { return {s.real(), s.imag()}; }

void run(ThreadPool& pool, SgdLoop loop, int64_t n, const SgdArrays& arrays, const SgdScalars& scalars) {
  pool.parallel_for(n, 16384, [&](int64_t begin, int64_t end) { loop(arrays, scalars, begin, end); });
}

}  // namespace

void apply_gradient_descent(ThreadPool& pool, DType dtype, int64_t n, void* var, StepScalar rate, const void* grad) {
  SgdScalars scalars;
  scalars.rate = parts(rate);
  run(pool, find_loops(dtype).descent, n, {var, grad}, scalars);
}

void apply_momentum(ThreadPool& pool, DType dtype, int64_t n, void* var, void* accum, const void* grad,
                    const MomentumStep& step) {
  const SgdLoops loops = find_loops(dtype);
  SgdScalars scalars;
  scalars.rate = parts(step.rate), scalars.momentum = parts(step.momentum);
  run(pool, step.nesterov ? loops.nesterov : loops.momentum, n, {var, grad, accum}, scalars);
}

void apply_adam(ThreadPool& pool, DType dtype, int64_t n, void* var, void* m, void* v, const void* grad,
                const AdamStep& step) {
  const SgdLoops loops = find_loops(dtype);
  SgdScalars scalars;
  scalars.rate = parts(step.rate), scalars.epsilon = parts(step.epsilon);
  scalars.beta1 = parts(step.beta1), scalars.beta2 = parts(step.beta2);
  scalars.beta1_power = parts(step.beta1_power), scalars.beta2_power = parts(step.beta2_power);
  run(pool, step.nesterov ? loops.adam_nesterov : loops.adam, n, {var, grad, m, v}, scalars);
}

namespace {

SgdScalars rmsprop_scalars(const RmsPropStep& step) {
  SgdScalars scalars;
  scalars.rate = parts(step.rate), scalars.beta1 = parts(step.rho), scalars.momentum = parts(step.momentum),
  scalars.epsilon = parts(step.epsilon);
  return scalars;
}

}  // namespace

void apply_rmsprop(ThreadPool& pool, DType dtype, int64_t n, void* var, void* ms, void* mom, const void* grad,
                   const RmsPropStep& step) {
  run(pool, find_loops(dtype).rmsprop, n, {var, grad, ms, mom}, rmsprop_scalars(step));
}

void apply_centered_rmsprop(ThreadPool& pool, DType dtype, int64_t n, void* var, void* mg, void* ms, void* mom,
                            const void* grad, const RmsPropStep& step) {
  run(pool, find_loops(dtype).centered_rmsprop, n, {var, grad, ms, mom, mg}, rmsprop_scalars(step));
}

void apply_adagrad(ThreadPool& pool, DType dtype, int64_t n, void* var, void* accum, const void* grad,
                   const AdagradStep& step) {
  SgdScalars scalars;
  scalars.rate = parts(step.rate), scalars.epsilon = parts(step.epsilon), scalars.update_slots = step.update_slots;
  run(pool, find_loops(dtype).adagrad, n, {var, grad, accum}, scalars);
}

}  // namespace caudal::inline v0::kernels
