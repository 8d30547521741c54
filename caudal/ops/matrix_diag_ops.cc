#include "caudal/ops/matrix_diag_ops.h"

#include <algorithm>
#include <complex>
#include <optional>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Which diagonals ---

struct Band {
  std::int64_t lower = 0, upper = 0;
  std::int64_t count() const { return upper - lower + 1; }
};

Band read_band(const Tensor& k) {
  if (k.rank() > 1 || k.num_elements() < 1 || k.num_elements() > 2) {
    throw invalid_argument("k must be one diagonal or the lower and upper ones, not ", k.describe());
  }
  const std::vector<std::int64_t> values = k.to_int64s();
  const Band band{values.front(), values.back()};
  if (band.lower > band.upper) {
    throw invalid_argument("the lower diagonal ", band.lower, " lies above the upper one ", band.upper);
  }
  return band;
}

std::int64_t read_size(const Tensor& size, const char* what) {
  const std::int64_t value = scalar_int(size, what);
  if (value < -1) throw invalid_argument(what, " is ", value, "; -1 stands for as few as needed");
  return value;
}

bool has_band(const std::string& op) { return op.ends_with("V2") || op.ends_with("V3"); }

// Where the elements of packed diagonals lie in a matrix.
struct Layout {
  std::int64_t rows = 0, cols = 0;
  Band band;
  std::int64_t length = 0;  // of a packed row
  bool left_above = true, left_below = true;

  Layout(const NodeInfo& node, std::int64_t rows, std::int64_t cols, const Band& band)
      : rows(rows), cols(cols), band(band) {
    length = std::min(rows + std::min<std::int64_t>(band.upper, 0), cols - std::max<std::int64_t>(band.lower, 0));
    if (!node.type().ends_with("V3")) return;
    const std::string& align = node.attr<std::string>("align");
    left_above = align.starts_with("LEFT");
    left_below = align.ends_with("LEFT");
  }

  // Calls fn(matrix element, packed element, count, step in the matrix) for each diagonal.
  template <class Fn>
  void for_each(Fn&& fn) const {
    for (std::int64_t d = band.upper; d >= band.lower; --d) {
      const std::int64_t above = std::max<std::int64_t>(d, 0), below = std::max<std::int64_t>(-d, 0);
      const std::int64_t size = std::min(rows - below, cols - above);
      const bool left = (d >= 0 && left_above) || (d <= 0 && left_below);
      fn(below * cols + above, (band.upper - d) * length + (left ? 0 : length - size), size, cols + 1);
    }
  }
};

void check_inside(const Band& band, std::int64_t rows, std::int64_t cols) {
  for (const std::int64_t d : {band.lower, band.upper}) {
    if (d != 0 && (d <= -rows || d >= cols)) {
      throw invalid_argument("diagonal ", d, " lies outside a matrix of ", rows, " rows and ", cols, " columns");
    }
  }
}

struct MatrixSize {
  std::int64_t rows, cols;
};

// The size of matrices made of diagonals of `length` elements; -1 among the wishes: as few as needed.
MatrixSize fitted_size(const Band& band, std::int64_t length, MatrixSize wish) {
  const MatrixSize least{length - std::min<std::int64_t>(band.upper, 0),
                         length + std::max<std::int64_t>(band.lower, 0)};
  if (wish.rows != -1 && wish.rows < least.rows) {
    throw invalid_argument("num_rows is ", wish.rows, ", the diagonals need ", least.rows);
  }
  if (wish.cols != -1 && wish.cols < least.cols) {
    throw invalid_argument("num_cols is ", wish.cols, ", the diagonals need ", least.cols);
  }
  if (wish.rows == -1 && wish.cols == -1) {
    wish.rows = wish.cols = std::max(least.rows, least.cols);
  } else {
    if (wish.rows == -1) wish.rows = least.rows;
    if (wish.cols == -1) wish.cols = least.cols;
  }
  if (wish.rows != least.rows && wish.cols != least.cols) {
    throw invalid_argument("a matrix of ", wish.rows, " rows and ", wish.cols,
                           " columns has longer diagonals than the given ones of ", length, " elements");
  }
  return wish;
}

void check_count(const Band& band, std::int64_t given) {
  if (given != band.count()) {
    throw invalid_argument("k names ", band.count(), " diagonals, the input has ", given);
  }
}

// --- Shapes ---

std::vector<std::int64_t> batch_of(const PartialShape& shape, int trailing) {
  return {shape.dims().begin(), shape.dims().end() - trailing};
}

std::optional<Band> known_band(ShapeContext& c, int input) {
  const Tensor* k = c.constant_input(input);
  if (k == nullptr) return std::nullopt;
  return read_band(*k);
}

void check_scalar(ShapeContext& c, int i) { c.with_rank(i, 0); }

void check_band_input(ShapeContext& c, int i) {
  if (c.input(i).has_rank() && c.input(i).rank() > 1) {
    throw invalid_argument("k must be a scalar or a vector, not of shape ", c.input(i));
  }
}

void matrix_diag_shape(ShapeContext& c) {
  const PartialShape diagonal = c.with_rank_at_least(0, 1);
  if (!diagonal.has_rank()) return c.set_output(0, PartialShape::unknown());
  std::vector<std::int64_t> dims = diagonal.dims();
  dims.push_back(dims.back());
  c.set_output(0, PartialShape(std::move(dims)));
}

void matrix_diag_band_shape(ShapeContext& c) {
  const PartialShape diagonal = c.with_rank_at_least(0, 1);
  check_band_input(c, 1);
  for (int i = 2; i < 5; ++i) check_scalar(c, i);
  const auto band = known_band(c, 1);
  if (!band || !diagonal.has_rank()) return c.set_output(0, PartialShape::unknown());
  const int trailing = band->count() == 1 ? 1 : 2;
  if (trailing == 2) {
    c.with_rank_at_least(0, 2);
    if (diagonal[-2] != kUnknown) check_count(*band, diagonal[-2]);
  }
  const Tensor *rows = c.constant_input(2), *cols = c.constant_input(3);
  MatrixSize size{rows != nullptr ? read_size(*rows, "num_rows") : kUnknown,
                  cols != nullptr ? read_size(*cols, "num_cols") : kUnknown};
  if (rows != nullptr && cols != nullptr && diagonal[-1] != kUnknown) size = fitted_size(*band, diagonal[-1], size);
  std::vector<std::int64_t> dims = batch_of(diagonal, trailing);
  dims.push_back(size.rows);
  dims.push_back(size.cols);
  c.set_output(0, PartialShape(std::move(dims)));
}

std::int64_t known_min(std::int64_t a, std::int64_t b) {
  return a == 0 || b == 0 ? 0 : a == kUnknown || b == kUnknown ? kUnknown : std::min(a, b);
}

void matrix_diag_part_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 2);
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  std::vector<std::int64_t> dims = batch_of(input, 2);
  dims.push_back(known_min(input[-2], input[-1]));
  c.set_output(0, PartialShape(std::move(dims)));
}

void matrix_diag_part_band_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 2);
  check_band_input(c, 1);
  check_scalar(c, 2);
  const auto band = known_band(c, 1);
  if (!band || !input.has_rank()) return c.set_output(0, PartialShape::unknown());
  std::vector<std::int64_t> dims = batch_of(input, 2);
  if (band->count() > 1) dims.push_back(band->count());
  if (input[-2] != kUnknown && input[-1] != kUnknown) {
    check_inside(*band, input[-2], input[-1]);
    dims.push_back(Layout(c.node(), input[-2], input[-1], *band).length);
  } else {
    dims.push_back(kUnknown);
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void merge_batch(std::vector<std::int64_t>& dims, const PartialShape& diagonal, int trailing) {
  const std::vector<std::int64_t> batch = batch_of(diagonal, trailing);
  if (batch.size() + 2 != dims.size()) {
    throw invalid_argument("the diagonal ", diagonal, " does not belong to matrices ", PartialShape(dims));
  }
  for (std::size_t i = 0; i < batch.size(); ++i) dims[i] = ShapeContext::merge_dim(dims[i], batch[i], "batch size");
}

void matrix_set_diag_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 2), diagonal = c.with_rank_at_least(1, 1);
  if (!input.has_rank()) {
    if (!diagonal.has_rank()) return c.set_output(0, PartialShape::unknown());
    std::vector<std::int64_t> dims = batch_of(diagonal, 1);
    dims.insert(dims.end(), {kUnknown, kUnknown});
    return c.set_output(0, PartialShape(std::move(dims)));
  }
  std::vector<std::int64_t> dims = input.dims();
  if (diagonal.has_rank()) {
    merge_batch(dims, diagonal, 1);
    ShapeContext::merge_dim(known_min(input[-2], input[-1]), diagonal[-1], "length of the diagonal");
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void matrix_set_diag_band_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 2), diagonal = c.with_rank_at_least(1, 1);
  check_band_input(c, 2);
  const auto band = known_band(c, 2);
  if (!input.has_rank() || !band || !diagonal.has_rank()) return c.set_output(0, input);
  const int trailing = band->count() == 1 ? 1 : 2;
  if (trailing == 2) {
    c.with_rank_at_least(1, 2);
    if (diagonal[-2] != kUnknown) check_count(*band, diagonal[-2]);
  }
  std::vector<std::int64_t> dims = input.dims();
  merge_batch(dims, diagonal, trailing);
  if (input[-2] != kUnknown && input[-1] != kUnknown) {
    check_inside(*band, input[-2], input[-1]);
    ShapeContext::merge_dim(Layout(c.node(), input[-2], input[-1], *band).length, diagonal[-1],
                            "length of the diagonals");
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void band_part_shape(ShapeContext& c) {
  check_scalar(c, 1);
  check_scalar(c, 2);
  c.set_output(0, c.with_rank_at_least(0, 2));
}

// --- Kernels ---

// Calls fn.operator()<T>() with a type of the size of `dtype`.
template <class Fn>
void with_element_size(DType dtype, Fn&& fn) {
  switch (dtype_size(dtype)) {
    case 1:
      return fn.template operator()<std::uint8_t>();
    case 2:
      return fn.template operator()<std::uint16_t>();
    case 4:
      return fn.template operator()<std::uint32_t>();
    case 8:
      return fn.template operator()<std::uint64_t>();
    default:
      return fn.template operator()<std::complex<double>>();
  }
}

void check_type(PrepareContext& c) {
  const DType dtype = c.input_type(0);
  if (!is_differentiable(dtype) && !is_integer(dtype) && dtype != DType::kBool) {
    throw unimplemented("no kernel for ", dtype, " on CPU");
  }
}

template <class T>
T element_of(const Tensor& t) {
  return *reinterpret_cast<const T*>(t.raw());
}

void check_rank(const Tensor& t, int least, const char* what) {
  if (t.rank() < least) throw invalid_argument(what, ' ', t.describe(), " must have at least ", least, " dimensions");
}

Shape batch_of(const Tensor& t, int trailing) {
  return Shape(t.shape().dims().first(static_cast<std::size_t>(t.rank() - trailing)));
}

// The matrices' grid of `batch` items, each of `cost` elements.
template <class Fn>
void for_batch(RunContext& c, std::int64_t batch, std::int64_t cost, Fn&& fn) {
  c.pool().parallel_for(batch, 1 + 16384 / std::max<std::int64_t>(cost, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) fn(b);
  });
}

template <class T>
void scatter(const Layout& layout, const T* packed, T* matrix) {
  layout.for_each([&](std::int64_t at, std::int64_t from, std::int64_t count, std::int64_t step) {
    for (std::int64_t i = 0; i < count; ++i) matrix[at + i * step] = packed[from + i];
  });
}

Band band_input(RunContext& c, int i) { return has_band(c.node().type()) ? read_band(c.input(i)) : Band{}; }

const Tensor& scalar_input(RunContext& c, int i, const char* what) {
  if (c.input(i).rank() != 0) throw invalid_argument(what, " must be a scalar, not ", c.input(i).describe());
  return c.input(i);
}

void run_matrix_diag(RunContext& c) {
  const Tensor& diagonal = c.input(0);
  check_rank(diagonal, 1, "the diagonal");
  const bool banded = has_band(c.node().type());
  const Band band = band_input(c, 1);
  const int trailing = band.count() == 1 ? 1 : 2;
  if (trailing == 2) {
    check_rank(diagonal, 2, "a band of diagonals");
    check_count(band, diagonal.shape()[-2]);
  }
  MatrixSize wish{-1, -1};
  if (banded) {
    wish = {read_size(scalar_input(c, 2, "num_rows"), "num_rows"),
            read_size(scalar_input(c, 3, "num_cols"), "num_cols")};
    scalar_input(c, 4, "padding_value");
  }
  const MatrixSize size = fitted_size(band, diagonal.shape()[-1], wish);
  const Shape batch = batch_of(diagonal, trailing);
  Tensor& output = c.allocate_output(0, batch.append(size.rows).append(size.cols));
  const Layout layout(c.node(), size.rows, size.cols, band);
  const std::int64_t matrix = size.rows * size.cols, packed = band.count() * diagonal.shape()[-1];
  with_element_size(diagonal.dtype(), [&]<class T>() {
    const T padding = banded ? element_of<T>(c.input(4)) : T{};
    const T* in = reinterpret_cast<const T*>(diagonal.raw());
    T* out = reinterpret_cast<T*>(output.raw());
    for_batch(c, batch.num_elements(), matrix, [&](std::int64_t b) {
      std::fill_n(out + b * matrix, matrix, padding);
      scatter(layout, in + b * packed, out + b * matrix);
    });
  });
}

void run_matrix_diag_part(RunContext& c) {
  const Tensor& input = c.input(0);
  check_rank(input, 2, "the input");
  const Band band = band_input(c, 1);
  const std::int64_t rows = input.shape()[-2], cols = input.shape()[-1];
  check_inside(band, rows, cols);
  const Layout layout(c.node(), rows, cols, band);
  const Shape batch = batch_of(input, 2);
  const Shape shape = band.count() == 1 ? batch : batch.append(band.count());
  const bool banded = has_band(c.node().type());
  if (banded) scalar_input(c, 2, "padding_value");
  Tensor& output = c.allocate_output(0, shape.append(layout.length));
  const std::int64_t packed = band.count() * layout.length;
  with_element_size(input.dtype(), [&]<class T>() {
    const T padding = banded ? element_of<T>(c.input(2)) : T{};
    const T* in = reinterpret_cast<const T*>(input.raw());
    T* out = reinterpret_cast<T*>(output.raw());
    for_batch(c, batch.num_elements(), packed, [&](std::int64_t b) {
      if (band.count() > 1) std::fill_n(out + b * packed, packed, padding);
      layout.for_each([&](std::int64_t at, std::int64_t to, std::int64_t count, std::int64_t step) {
        for (std::int64_t i = 0; i < count; ++i) out[b * packed + to + i] = in[b * rows * cols + at + i * step];
      });
    });
  });
}

void run_matrix_set_diag(RunContext& c) {
  const Tensor &input = c.input(0), &diagonal = c.input(1);
  check_rank(input, 2, "the input");
  check_rank(diagonal, 1, "the diagonal");
  const Band band = band_input(c, 2);
  const std::int64_t rows = input.shape()[-2], cols = input.shape()[-1];
  check_inside(band, rows, cols);
  const Layout layout(c.node(), rows, cols, band);
  const Shape batch = batch_of(input, 2);
  const Shape expected = (band.count() == 1 ? batch : batch.append(band.count())).append(layout.length);
  if (!(diagonal.shape() == expected)) {
    throw invalid_argument("the diagonal must have shape ", expected, " for the input ", input.describe(), ", it is ",
                           diagonal.describe());
  }
  const char* in = input.raw();
  Tensor& output = c.allocate_output(0, input.shape());
  if (output.raw() != in) std::copy_n(in, output.byte_size(), output.raw());
  with_element_size(input.dtype(), [&]<class T>() {
    const T* values = reinterpret_cast<const T*>(diagonal.raw());
    T* out = reinterpret_cast<T*>(output.raw());
    const std::int64_t packed = band.count() * layout.length;
    for_batch(c, batch.num_elements(), packed,
              [&](std::int64_t b) { scatter(layout, values + b * packed, out + b * rows * cols); });
  });
}

void run_band_part(RunContext& c) {
  const Tensor& input = c.input(0);
  check_rank(input, 2, "the input");
  const std::int64_t rows = input.shape()[-2], cols = input.shape()[-1];
  const std::int64_t lower = scalar_int(scalar_input(c, 1, "num_lower"), "num_lower");
  const std::int64_t upper = scalar_int(scalar_input(c, 2, "num_upper"), "num_upper");
  if (lower > rows) throw invalid_argument("num_lower is ", lower, ", the matrices have ", rows, " rows");
  if (upper > cols) throw invalid_argument("num_upper is ", upper, ", the matrices have ", cols, " columns");
  const char* raw = input.raw();
  Tensor& output = c.allocate_output(0, input.shape());
  if (rows == 0 || cols == 0) return;
  with_element_size(input.dtype(), [&]<class T>() {
    const T* in = reinterpret_cast<const T*>(raw);
    T* out = reinterpret_cast<T*>(output.raw());
    for_batch(c, output.num_elements() / cols, cols, [&](std::int64_t r) {
      const std::int64_t row = r % rows;
      const std::int64_t begin = lower < 0 ? 0 : std::clamp<std::int64_t>(row - lower, 0, cols);
      const std::int64_t end = upper < 0 ? cols : std::clamp<std::int64_t>(row + upper + 1, begin, cols);
      std::fill_n(out + r * cols, begin, T{});
      if (out != in) std::copy(in + r * cols + begin, in + r * cols + end, out + r * cols + begin);
      std::fill(out + r * cols + end, out + (r + 1) * cols, T{});
    });
  });
}

template <void (*run_fn)(RunContext&), bool in_place>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  check_type(c);
  if (in_place) c.allow_in_place(0, 0);
  return kernel_of<run_fn>(c);
}

// --- Gradients ---

std::string align_of(GradientContext& c) {
  return c.node().type().ends_with("V3") ? c.attr<std::string>("align") : "LEFT_LEFT";
}
Operand band_of(GradientContext& c, int i) { return has_band(c.node().type()) ? Operand(c.input(i)) : Operand(0); }

void matrix_diag_gradient(GradientContext& c) {
  c.set_input_grad(0, linalg::diag_part(c.grad(0), {.k = band_of(c, 1), .align = align_of(c)}));
}

void matrix_diag_part_gradient(GradientContext& c) {
  const PartialShape& shape = c.input(0).shape();
  const Operand k = band_of(c, 1);
  if (shape.has_rank() && shape[-2] != kUnknown && shape[-1] != kUnknown) {
    c.set_input_grad(0, linalg::diag(c.grad(0), {.k = k,
                                                 .num_rows = static_cast<int>(shape[-2]),
                                                 .num_cols = static_cast<int>(shape[-1]),
                                                 .align = align_of(c)}));
    return;
  }
  const Output zeros = OpBuilder("ZerosLike", {}).input(c.input(0)).build();
  c.set_input_grad(0, linalg::set_diag(zeros, c.grad(0), {.k = k, .align = align_of(c)}));
}

void matrix_set_diag_gradient(GradientContext& c) {
  const Operand k = band_of(c, 2);
  const Output zeros = OpBuilder("ZerosLike", {}).input(c.input(1)).build();
  c.set_input_grad(0, linalg::set_diag(c.grad(0), zeros, {.k = k, .align = align_of(c)}));
  c.set_input_grad(1, linalg::diag_part(c.grad(0), {.k = k, .align = align_of(c)}));
}

void band_part_gradient(GradientContext& c) {
  c.set_input_grad(0, linalg::band_part(c.grad(0), c.input(1), c.input(2)));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_ALIGN "T: type; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"
#define CAUDAL_MATRIX_DIAG(op, in, attributes, since, shape_function, gradient_function) \
  CAUDAL_REGISTER_OP({.name = op,                                                        \
                      .inputs = in,                                                      \
                      .outputs = "output: T",                                            \
                      .attrs = attributes,                                               \
                      .deprecated_version = since,                                       \
                      .shape = shape_function,                                           \
                      .gradient = gradient_function,                                     \
                      .cpu = prepare<run_matrix_diag, false>})
#define CAUDAL_MATRIX_DIAG_PART(op, in, attributes, since, shape_function, gradient_function) \
  CAUDAL_REGISTER_OP({.name = op,                                                             \
                      .inputs = in,                                                           \
                      .outputs = "diagonal: T",                                               \
                      .attrs = attributes,                                                    \
                      .deprecated_version = since,                                            \
                      .shape = shape_function,                                                \
                      .gradient = gradient_function,                                          \
                      .cpu = prepare<run_matrix_diag_part, false>})
#define CAUDAL_MATRIX_SET_DIAG(op, in, attributes, since, shape_function, gradient_function) \
  CAUDAL_REGISTER_OP({.name = op,                                                            \
                      .inputs = in,                                                          \
                      .outputs = "output: T",                                                \
                      .attrs = attributes,                                                   \
                      .deprecated_version = since,                                           \
                      .shape = shape_function,                                               \
                      .gradient = gradient_function,                                         \
                      .cpu = prepare<run_matrix_set_diag, true>})
#define CAUDAL_BAND_INPUTS "diagonal: T; k: int32; num_rows: int32; num_cols: int32; padding_value: T"

CAUDAL_MATRIX_DIAG("MatrixDiag", "diagonal: T", "T: type", 0, matrix_diag_shape, matrix_diag_gradient);
CAUDAL_MATRIX_DIAG("BatchMatrixDiag", "diagonal: T", "T: type", 14, matrix_diag_shape, no_gradient);
CAUDAL_MATRIX_DIAG("MatrixDiagV2", CAUDAL_BAND_INPUTS, "T: type", 0, matrix_diag_band_shape, matrix_diag_gradient);
CAUDAL_MATRIX_DIAG("MatrixDiagV3", CAUDAL_BAND_INPUTS, CAUDAL_ALIGN, 0, matrix_diag_band_shape, matrix_diag_gradient);

CAUDAL_MATRIX_DIAG_PART("MatrixDiagPart", "input: T", "T: type", 0, matrix_diag_part_shape, matrix_diag_part_gradient);
CAUDAL_MATRIX_DIAG_PART("BatchMatrixDiagPart", "input: T", "T: type", 14, matrix_diag_part_shape, no_gradient);
CAUDAL_MATRIX_DIAG_PART("MatrixDiagPartV2", "input: T; k: int32; padding_value: T", "T: type", 0,
                        matrix_diag_part_band_shape, matrix_diag_part_gradient);
CAUDAL_MATRIX_DIAG_PART("MatrixDiagPartV3", "input: T; k: int32; padding_value: T", CAUDAL_ALIGN, 0,
                        matrix_diag_part_band_shape, matrix_diag_part_gradient);

CAUDAL_MATRIX_SET_DIAG("MatrixSetDiag", "input: T; diagonal: T", "T: type", 0, matrix_set_diag_shape,
                       matrix_set_diag_gradient);
CAUDAL_MATRIX_SET_DIAG("BatchMatrixSetDiag", "input: T; diagonal: T", "T: type", 14, matrix_set_diag_shape,
                       no_gradient);
CAUDAL_MATRIX_SET_DIAG("MatrixSetDiagV2", "input: T; diagonal: T; k: int32", "T: type", 0, matrix_set_diag_band_shape,
                       matrix_set_diag_gradient);
CAUDAL_MATRIX_SET_DIAG("MatrixSetDiagV3", "input: T; diagonal: T; k: int32", CAUDAL_ALIGN, 0,
                       matrix_set_diag_band_shape, matrix_set_diag_gradient);

CAUDAL_REGISTER_OP({.name = "MatrixBandPart",
                    .inputs = "input: T; num_lower: Tindex; num_upper: Tindex",
                    .outputs = "band: T",
                    .attrs = "T: type; Tindex: {int32, int64} = DT_INT64",
                    .shape = band_part_shape,
                    .gradient = band_part_gradient,
                    .cpu = prepare<run_band_part, true>});
CAUDAL_REGISTER_OP({.name = "BatchMatrixBandPart",
                    .inputs = "input: T; num_lower: int64; num_upper: int64",
                    .outputs = "band: T",
                    .attrs = "T: type",
                    .deprecated_version = 14,
                    .shape = band_part_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<run_band_part, true>});

// --- Functions ---

namespace linalg {

Output diag(const Operand& diagonal, const DiagOptions& options) {
  const Output x = diagonal.to_output();
  return OpBuilder("MatrixDiagV3", {.name = options.name, .where = options.where})
      .input(x)
      .input(options.k, DType::kInt32)
      .input(options.num_rows, DType::kInt32)
      .input(options.num_cols, DType::kInt32)
      .input(options.padding_value, x.dtype())
      .attr("align", options.align)
      .build();
}

Output diag_part(const Operand& input, const DiagPartOptions& options) {
  const Output x = input.to_output();
  return OpBuilder("MatrixDiagPartV3", {.name = options.name, .where = options.where})
      .input(x)
      .input(options.k, DType::kInt32)
      .input(options.padding_value, x.dtype())
      .attr("align", options.align)
      .build();
}

Output set_diag(const Operand& input, const Operand& diagonal, const SetDiagOptions& options) {
  const DType dtype = common_dtype({&input, &diagonal});
  return OpBuilder("MatrixSetDiagV3", {.name = options.name, .where = options.where})
      .input(input, dtype)
      .input(diagonal, dtype)
      .input(options.k, DType::kInt32)
      .attr("align", options.align)
      .build();
}

Output band_part(const Operand& input, const Operand& num_lower, const Operand& num_upper, const OpOptions& options) {
  const DType known = num_lower.is_output() ? num_lower.fixed_dtype() : num_upper.fixed_dtype();
  const DType index =
      known == DType::kInt32 && (num_lower.is_output() || num_upper.is_output()) ? known : DType::kInt64;
  return OpBuilder("MatrixBandPart", options).input(input).input(num_lower, index).input(num_upper, index).build();
}

Output trace(const Operand& x, const OpOptions& options) {
  const LocationScope location(options.where);
  return reduce_sum(diag_part(x, {.where = options.where}),
                    {.axis = -1, .name = options.name.empty() ? "Trace" : options.name, .where = options.where});
}

}  // namespace linalg
}  // namespace caudal::inline v0
