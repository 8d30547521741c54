#include "caudal/ops/lrn.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/convert.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sliding_window.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void lrn_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 4)); }

void lrn_grad_shape(ShapeContext& c) {
  PartialShape shape = c.with_rank(0, 4);
  for (int i = 1; i < 3; ++i) shape = merge_shapes(shape, c.with_rank(i, 4));
  c.set_output(0, shape);
}

// --- Kernels ---

struct Settings {
  std::int64_t radius;
  float bias, alpha, beta;

  static Settings of(const NodeInfo& node) {
    return {node.attr<std::int64_t>("depth_radius"), node.attr<float>("bias"), node.attr<float>("alpha"),
            node.attr<float>("beta")};
  }
  std::int64_t first(std::int64_t d) const { return std::max<std::int64_t>(0, d - std::min(d, radius)); }
  std::int64_t last(std::int64_t d, std::int64_t depth) const { return d + 1 + std::min(depth - 1 - d, radius); }

  // bias + alpha * sum of squares around channel d of a pixel.
  float norm(const float* pixel, std::int64_t d, std::int64_t depth) const {
    float sum = 0;
    for (std::int64_t e = first(d); e < last(d, depth); ++e) sum += pixel[e] * pixel[e];
    return bias + alpha * sum;
  }
  // norm ^ -beta.
  float power(float norm) const {
    if (beta == 1) return 1 / norm;
    if (beta == 0.5F) return 1 / std::sqrt(norm);
    return std::exp(-beta * std::log(norm));
  }
};

void forward_pixel(const Settings& s, std::int64_t depth, const float* x, float* y) {
  for (std::int64_t d = 0; d < depth; ++d) y[d] = x[d] * s.power(s.norm(x, d, depth));
}

// dy[d] / dx[e] = (e == d) * norm^-beta - 2 * alpha * beta * x[e] * y[d] / norm.
void backward_pixel(const Settings& s, std::int64_t depth, const float* grad, const float* x, const float* y,
                    float* x_grad) {
  std::fill_n(x_grad, depth, 0.0F);
  for (std::int64_t d = 0; d < depth; ++d) {
    if (grad[d] == 0) continue;
    const float norm = s.norm(x, d, depth);
    const float factor = -2 * s.alpha * s.beta * y[d] / norm * grad[d];
    for (std::int64_t e = s.first(d); e < s.last(d, depth); ++e) x_grad[e] += x[e] * factor;
    x_grad[d] += s.power(norm) * grad[d];
  }
}

// The elements as floats: the tensor's own, or a copy kept in `copy`.
const float* as_floats(ThreadPool& pool, const Tensor& tensor, std::vector<float>& copy) {
  if (tensor.dtype() == DType::kFloat) return tensor.data<float>();
  copy.resize(static_cast<std::size_t>(tensor.num_elements()));
  kernels::widen(pool, tensor.dtype(), tensor.raw(), copy.data(), tensor.num_elements());
  return copy.data();
}

// Runs fn(offset of the pixel, result) for each pixel of inputs all shaped as the result.
template <class Fn>
void for_each_pixel(RunContext& c, const Settings& settings, const Fn& fn) {
  const Tensor& in = c.input(0);
  if (in.rank() != 4) throw invalid_argument("images must be [batch, rows, columns, channels], not ", in.describe());
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!(c.input(i).shape() == in.shape())) {
      throw invalid_argument("all inputs must have one shape, not ", in.describe(), " and ", c.input(i).describe());
    }
  }
  if (settings.radius < 0) throw invalid_argument("depth_radius is ", settings.radius, "; it must not be negative");
  Tensor& out = c.allocate_output(0, in.shape());
  if (in.num_elements() == 0) return;
  const bool narrow = in.dtype() != DType::kFloat;
  std::vector<float> wide(narrow ? static_cast<std::size_t>(in.num_elements()) : 0);
  float* result = narrow ? wide.data() : out.data<float>();
  const std::int64_t depth = in.dim(3), work = depth * (1 + std::min(depth, 2 * settings.radius));
  c.pool().parallel_for(in.num_elements() / depth, std::max<std::int64_t>(1, (1 << 15) / work),
                        [&](std::int64_t begin, std::int64_t end) {
                          for (std::int64_t i = begin; i < end; ++i) fn(i * depth, depth, result + i * depth);
                        });
  if (narrow) kernels::narrow(c.pool(), out.dtype(), result, out.raw(), out.num_elements());
}

void run_lrn(RunContext& c) {
  const Settings settings = Settings::of(c.node());
  std::vector<float> copy;
  const float* x = as_floats(c.pool(), c.input(0), copy);
  for_each_pixel(c, settings, [&](std::int64_t offset, std::int64_t depth, float* y) {
    forward_pixel(settings, depth, x + offset, y);
  });
}

void run_lrn_grad(RunContext& c) {
  const Settings settings = Settings::of(c.node());
  std::vector<float> copies[3];
  const float* grad = as_floats(c.pool(), c.input(0), copies[0]);
  const float* x = as_floats(c.pool(), c.input(1), copies[1]);
  const float* y = as_floats(c.pool(), c.input(2), copies[2]);
  for_each_pixel(c, settings, [&](std::int64_t offset, std::int64_t depth, float* x_grad) {
    backward_pixel(settings, depth, grad + offset, x + offset, y + offset, x_grad);
  });
}

// --- Gradient ---

void lrn_gradient(GradientContext& c) {
  OpBuilder builder("LRNGrad", {});
  copy_attrs(c.node().info(), {"depth_radius", "bias", "alpha", "beta"}, builder);
  c.set_input_grad(0, builder.input(c.grad(0)).input(c.input(0)).input(c.output(0)).build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "LRN",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; "
                             "T: {half, bfloat16, float} = DT_FLOAT",
                    .shape = lrn_shape,
                    .gradient = lrn_gradient,
                    .cpu = kernel_of<run_lrn>});
CAUDAL_REGISTER_OP({.name = "LRNGrad",
                    .inputs = "input_grads: T; input_image: T; output_image: T",
                    .outputs = "output: T",
                    .attrs = "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; "
                             "T: {half, bfloat16, float} = DT_FLOAT",
                    .shape = lrn_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_lrn_grad>});

// --- Public functions ---

namespace nn {

Output local_response_normalization(const Operand& input, const LrnOptions& options) {
  return OpBuilder("LRN", {.name = options.name, .where = options.where})
      .input(input, DType::kFloat)
      .attr("depth_radius", options.depth_radius)
      .attr("bias", options.bias)
      .attr("alpha", options.alpha)
      .attr("beta", options.beta)
      .build();
}

Output lrn(const Operand& input, const LrnOptions& options) { return local_response_normalization(input, options); }

}  // namespace nn
}  // namespace caudal::inline v0
