#include "caudal/ops/fft_ops.h"

#include <cstring>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/copy.h"
#include "caudal/kernels/fft.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/complex_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

DType real_of(DType complex) { return complex == DType::kComplex128 ? DType::kDouble : DType::kFloat; }
DType complex_of(DType real) { return real == DType::kDouble ? DType::kComplex128 : DType::kComplex64; }

// --- Shapes ---

template <int rank>
void fft_shape(ShapeContext& c) {
  c.set_output(0, c.with_rank_at_least(0, rank));
}

std::int64_t half_of(std::int64_t length) { return length <= 0 ? length : length / 2 + 1; }

void check_length(const Tensor& length, int rank) {
  if (length.rank() != 1 || length.dim(0) != rank) {
    throw invalid_argument("fft_length must be a vector of ", rank, " lengths, not ", length.describe());
  }
  for (const std::int64_t n : length.to_int64s()) {
    if (n < 0) throw invalid_argument("fft_length holds ", n, ", which is no length");
  }
}

template <int rank, bool inverse>
void real_fft_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, rank), length = c.with_rank(1, 1);
  if (length[0] != kUnknown && length[0] != rank) {
    throw invalid_argument("fft_length must hold ", rank, " lengths, it has shape ", length);
  }
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  std::vector<std::int64_t> dims = input.dims();
  const Tensor* lengths = c.constant_input(1);
  if (lengths != nullptr) check_length(*lengths, rank);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t n = lengths != nullptr ? lengths->to_int64s()[static_cast<std::size_t>(i)] : kUnknown;
    dims[dims.size() - rank + static_cast<std::size_t>(i)] = !inverse && i == rank - 1 ? half_of(n) : n;
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

// --- Kernels ---

void check_rank(const Tensor& input, int rank) {
  if (input.rank() < rank) {
    throw invalid_argument("the input ", input.describe(), " must have at least ", rank, " dimensions");
  }
}

// Transforms dimensions rank - count .. rank - 1 - skip of `data`, in place.
template <class T>
void transform_dims(RunContext& c, bool inverse, Tensor& data, int count, int skip) {
  const Shape& shape = data.shape();
  if (data.num_elements() == 0) return;
  std::int64_t inner = 1;
  for (int d = shape.rank() - 1; d >= shape.rank() - count; --d) {
    const std::int64_t n = shape.dim(d);
    if (d < shape.rank() - skip) {
      kernels::fft(c.pool(), inverse, data.data<std::complex<T>>(), data.num_elements() / (n * inner), n, inner);
    }
    inner *= n;
  }
}

template <class T, int rank, bool inverse>
void run_fft(RunContext& c) {
  const Tensor& input = c.input(0);
  check_rank(input, rank);
  const char* in = input.raw();
  Tensor& output = c.allocate_output(0, input.shape());
  if (output.num_elements() == 0) return;
  if (output.raw() != in) std::memcpy(output.raw(), in, output.byte_size());
  transform_dims<T>(c, inverse, output, rank, 0);
}

// The lengths of the transform, checked against the input.
template <int rank, bool inverse>
std::vector<std::int64_t> lengths_of(RunContext& c) {
  const Tensor& input = c.input(0);
  check_rank(input, rank);
  check_length(c.input(1), rank);
  std::vector<std::int64_t> lengths = c.input(1).to_int64s();
  for (int i = 0; i < rank; ++i) {
    const std::int64_t n = lengths[static_cast<std::size_t>(i)];
    const std::int64_t needed = inverse && i == rank - 1 ? n / 2 + 1 : n, size = input.shape()[i - rank];
    if (size != 0 && size < needed) {
      throw invalid_argument("dimension ", input.rank() - rank + i, " of the input ", input.describe(), " has ", size,
                             " elements, the transform needs ", needed)
          .hint("Pad the input with zeros, as signal::rfft() does.");
    }
  }
  return lengths;
}

// The first `sizes` elements of the last dimensions.
Tensor cropped(RunContext& c, const Tensor& input, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> dims = input.shape().to_vector();
  std::copy(sizes.begin(), sizes.end(), dims.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  Tensor result = c.allocate_temporary(input.dtype(), Shape(dims));
  kernels::copy_strided(c.pool(), static_cast<std::int64_t>(dtype_size(input.dtype())), dims, input.raw(),
                        input.shape().strides(), result.raw(), kernels::dense_strides(dims));
  return result;
}

Shape with_last(const Shape& shape, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> dims = shape.to_vector();
  std::copy(sizes.begin(), sizes.end(), dims.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  return Shape(dims);
}

template <class T, int rank>
void run_real_fft(RunContext& c) {
  std::vector<std::int64_t> sizes = lengths_of<rank, false>(c);
  const std::int64_t n = sizes.back();
  const Tensor& input = c.input(0);
  const bool crop = rank > 1 && !(with_last(input.shape(), sizes) == with_last(input.shape(), {n}));
  std::vector<std::int64_t> halves = sizes;
  halves.back() = half_of(n);
  Tensor& output = c.allocate_output(0, with_last(input.shape(), halves));
  if (output.num_elements() == 0) return;
  if (input.num_elements() == 0) {
    std::memset(output.raw(), 0, output.byte_size());
    return;
  }
  const Tensor used = crop ? cropped(c, input, sizes) : input;
  kernels::real_fft(c.pool(), used.data<T>(), used.shape()[-1], output.data<std::complex<T>>(),
                    used.num_elements() / used.shape()[-1], n);
  transform_dims<T>(c, false, output, rank, 1);
}

template <class T, int rank>
void run_real_inverse_fft(RunContext& c) {
  const std::vector<std::int64_t> sizes = lengths_of<rank, true>(c);
  const std::int64_t n = sizes.back();
  const Tensor& input = c.input(0);
  Tensor& output = c.allocate_output(0, with_last(input.shape(), sizes));
  if (output.num_elements() == 0) return;
  if (input.num_elements() == 0) {
    std::memset(output.raw(), 0, output.byte_size());
    return;
  }
  std::vector<std::int64_t> used = sizes;
  used.back() = n / 2 + 1;
  Tensor spectrum = cropped(c, input, used);
  transform_dims<T>(c, true, spectrum, rank, 1);
  kernels::real_inverse_fft(c.pool(), spectrum.data<std::complex<T>>(), output.data<T>(), output.num_elements() / n, n);
}

template <int rank, bool inverse>
std::unique_ptr<Kernel> prepare_fft(PrepareContext& c) {
  c.allow_in_place(0, 0);
  if (c.input_type(0) == DType::kComplex128) return kernel_of<run_fft<double, rank, inverse>>(c);
  return kernel_of<run_fft<float, rank, inverse>>(c);
}

template <int rank, bool inverse>
std::unique_ptr<Kernel> prepare_real_fft(PrepareContext& c) {
  const DType real = c.attr<DType>("Treal"), complex = c.attr<DType>("Tcomplex");
  if (complex_of(real) != complex) throw unimplemented("no kernel for ", real, " and ", complex, " on CPU");
  if (real == DType::kDouble) {
    return inverse ? kernel_of<run_real_inverse_fft<double, rank>>(c) : kernel_of<run_real_fft<double, rank>>(c);
  }
  return inverse ? kernel_of<run_real_inverse_fft<float, rank>>(c) : kernel_of<run_real_fft<float, rank>>(c);
}

// --- Gradients ---

Output fft_node(std::string_view op, const Output& x, const OpOptions& options = {}) {
  return OpBuilder(op, options).input(x).build();
}

std::string op_name(bool real, bool inverse, int rank) {
  return std::string(inverse ? "I" : "") + (real ? "R" : "") + "FFT" + (rank == 1 ? "" : std::to_string(rank) + "D");
}

// The sizes of the last dimensions of x, an int32 vector.
Output last_sizes(const Output& x, int rank) { return index(shape_of(x), {Slice{-rank}}); }

// Their product, as a number of a real type.
Output transform_size(const Output& x, int rank, DType real) { return cast(reduce_prod(last_sizes(x, rank)), real); }

Output as_complex(const Output& real) { return complex(real, OpBuilder("ZerosLike", {}).input(real).build()); }

template <int rank, bool inverse>
void fft_gradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const Output size = as_complex(transform_size(grad, rank, real_of(grad.dtype())));
  const Output back = fft_node(op_name(false, !inverse, rank), grad);
  c.set_input_grad(0, inverse ? back * reciprocal(size) : back * size);
}

// `x` with zeros after its last `rank` dimensions up to `sizes`.
Output padded_to(const Output& x, const Output& sizes, int rank) {
  const Output missing = maximum(sizes - last_sizes(x, rank), 0);
  const Output zeros_before = zeros_like(missing);
  const Output last = stack({zeros_before, missing}, 1);  // [rank, 2]
  const int outer = x.shape().rank() - rank;
  const Output none = x.shape().has_rank() ? zeros({outer, 2}, DType::kInt32)
                                           : zeros(stack({caudal::rank(x) - rank, 2}), DType::kInt32);
  return pad(x, concat({none, last}, 0));
}

// The same, without nodes where the static shapes tell that nothing is missing.
Output padded_like(const Output& x, const Output& like, int rank) {
  const PartialShape &a = x.shape(), &b = like.shape();
  bool equal = a.has_rank() && b.has_rank();
  for (int i = 1; equal && i <= rank; ++i) equal = a[-i] != kUnknown && a[-i] == b[-i];
  return equal ? x : padded_to(x, last_sizes(like, rank), rank);
}

// With G the gradient: the real part of sum over k of G[k] exp(+2 pi i jk / n), for k up to n / 2 only.
template <int rank>
void real_fft_gradient(GradientContext& c) {
  const Output grad = c.grad(0), lengths = c.input(1);
  const Output full = padded_to(grad, lengths, rank);
  const Output back = math::real(fft_node(op_name(false, true, rank), full));
  const Output size = cast(reduce_prod(lengths), back.dtype());
  c.set_input_grad(0, padded_like(back * size, c.input(0), rank));
}

// The transform of the gradient over n; coefficients that stand for two count twice.
template <int rank>
void real_inverse_fft_gradient(GradientContext& c) {
  const Output grad = c.grad(0), lengths = c.input(1);
  const Output spectrum = OpBuilder(op_name(true, false, rank), {})
                              .input(grad)
                              .input(lengths)
                              .attr("Tcomplex", complex_of(grad.dtype()))
                              .build();
  const Output length = index(lengths, {-1});
  const Output is_odd = length % 2;
  const Output twice = fill(stack({floordiv(length, 2) - 1 + is_odd}), convert_number(Tensor(2.0F), grad.dtype()));
  const Output once = fill(stack({1 - is_odd}), convert_number(Tensor(1.0F), grad.dtype()));
  const Output first = constant(convert_number(Tensor(std::vector<float>{1}), grad.dtype()));
  const Output mask = concat({first, twice, once}, 0);
  const Output scale = reciprocal(transform_size(grad, rank, grad.dtype()));
  c.set_input_grad(0, padded_like(spectrum * as_complex(scale * mask), c.input(0), rank));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_FFT(op, rank, inverse)                                              \
  CAUDAL_REGISTER_OP({.name = op,                                                  \
                      .inputs = "input: Tcomplex",                                 \
                      .outputs = "output: Tcomplex",                               \
                      .attrs = "Tcomplex: {complex64, complex128} = DT_COMPLEX64", \
                      .shape = fft_shape<rank>,                                    \
                      .gradient = fft_gradient<rank, inverse>,                     \
                      .cpu = prepare_fft<rank, inverse>})
#define CAUDAL_REAL_FFT(op, rank, gradient_function)                               \
  CAUDAL_REGISTER_OP({.name = op,                                                  \
                      .inputs = "input: Treal; fft_length: int32",                 \
                      .outputs = "output: Tcomplex",                               \
                      .attrs = "Treal: {float, double} = DT_FLOAT; "               \
                               "Tcomplex: {complex64, complex128} = DT_COMPLEX64", \
                      .shape = real_fft_shape<rank, false>,                        \
                      .gradient = gradient_function,                               \
                      .cpu = prepare_real_fft<rank, false>})
#define CAUDAL_REAL_INVERSE_FFT(op, rank, gradient_function)                       \
  CAUDAL_REGISTER_OP({.name = op,                                                  \
                      .inputs = "input: Tcomplex; fft_length: int32",              \
                      .outputs = "output: Treal",                                  \
                      .attrs = "Treal: {float, double} = DT_FLOAT; "               \
                               "Tcomplex: {complex64, complex128} = DT_COMPLEX64", \
                      .shape = real_fft_shape<rank, true>,                         \
                      .gradient = gradient_function,                               \
                      .cpu = prepare_real_fft<rank, true>})
CAUDAL_FFT("FFT", 1, false);
CAUDAL_FFT("IFFT", 1, true);
CAUDAL_FFT("FFT2D", 2, false);
CAUDAL_FFT("IFFT2D", 2, true);
CAUDAL_FFT("FFT3D", 3, false);
CAUDAL_FFT("IFFT3D", 3, true);
CAUDAL_REAL_FFT("RFFT", 1, real_fft_gradient<1>);
CAUDAL_REAL_FFT("RFFT2D", 2, real_fft_gradient<2>);
CAUDAL_REAL_FFT("RFFT3D", 3, no_gradient);
CAUDAL_REAL_INVERSE_FFT("IRFFT", 1, real_inverse_fft_gradient<1>);
CAUDAL_REAL_INVERSE_FFT("IRFFT2D", 2, real_inverse_fft_gradient<2>);
CAUDAL_REAL_INVERSE_FFT("IRFFT3D", 3, no_gradient);

// --- Functions ---

namespace signal {
namespace {

Output real_transform(const Operand& input, int rank, bool inverse, const RealFftOptions& options) {
  const LocationScope location(options.where);
  Output x = input.to_output();
  Output lengths;
  if (options.fft_length) {
    lengths = options.fft_length->to_output(DType::kInt32);
    // The op cuts what is too long; what is too short is padded here.
    Output needed = lengths;
    if (inverse) {
      needed = concat({index(lengths, {Slice{0, -1}}), floordiv(index(lengths, {Slice{-1}}), 2) + 1}, 0);
    }
    x = padded_to(x, needed, rank);
  } else {
    lengths = last_sizes(x, rank);
    if (inverse)
      lengths = concat({index(lengths, {Slice{0, -1}}), maximum(2 * (index(lengths, {Slice{-1}}) - 1), 0)}, 0);
  }
  OpBuilder builder(op_name(true, inverse, rank), {.name = options.name, .where = options.where});
  builder.input(x).input(lengths);
  if (inverse) {
    builder.attr("Treal", real_of(x.dtype()));
  } else {
    builder.attr("Tcomplex", complex_of(x.dtype()));
  }
  return builder.build();
}

}  // namespace

Output fft(const Operand& input, const OpOptions& options) { return fft_node("FFT", input.to_output(), options); }
Output ifft(const Operand& input, const OpOptions& options) { return fft_node("IFFT", input.to_output(), options); }
Output fft2d(const Operand& input, const OpOptions& options) { return fft_node("FFT2D", input.to_output(), options); }
Output ifft2d(const Operand& input, const OpOptions& options) { return fft_node("IFFT2D", input.to_output(), options); }
Output fft3d(const Operand& input, const OpOptions& options) { return fft_node("FFT3D", input.to_output(), options); }
Output ifft3d(const Operand& input, const OpOptions& options) { return fft_node("IFFT3D", input.to_output(), options); }

Output rfft(const Operand& input, const RealFftOptions& options) { return real_transform(input, 1, false, options); }
Output rfft2d(const Operand& input, const RealFftOptions& options) { return real_transform(input, 2, false, options); }
Output rfft3d(const Operand& input, const RealFftOptions& options) { return real_transform(input, 3, false, options); }
Output irfft(const Operand& input, const RealFftOptions& options) { return real_transform(input, 1, true, options); }
Output irfft2d(const Operand& input, const RealFftOptions& options) { return real_transform(input, 2, true, options); }
Output irfft3d(const Operand& input, const RealFftOptions& options) { return real_transform(input, 3, true, options); }

}  // namespace signal
}  // namespace caudal::inline v0
