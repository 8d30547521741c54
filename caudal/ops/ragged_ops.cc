#include "caudal/ops/ragged_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/segment_ops.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/sparse_input.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using Index = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

constexpr const char* kFirstDim = "FIRST_DIM_SIZE";
constexpr const char* kRowIds = "VALUE_ROWIDS";
constexpr const char* kRowSplits = "ROW_SPLITS";

// How many of the result's dimensions the partitions describe.
int partitioned_dims(const Strings& types) {
  const bool sized = !types.empty() && types[0] == kFirstDim;
  return static_cast<int>(types.size()) + (sized ? 0 : 1);
}

// What the values' inner dimensions and the shape that is asked for say together. `outer`: partitioned dimensions.
PartialShape combined_shape(const PartialShape& wanted, const PartialShape& values, int outer) {
  if (!values.has_rank()) return wanted;
  const int rank = outer + values.rank() - 1;
  Index dims(static_cast<std::size_t>(rank), -1);
  for (int d = 1; d < values.rank(); ++d) dims[outer + d - 1] = values[d];
  if (!wanted.has_rank()) return PartialShape(std::move(dims));
  if (wanted.rank() != rank) {
    throw invalid_argument("rt_input.shape and shape=", wanted, " are incompatible: rt_input.rank = ", rank,
                           " but shape.rank = ", wanted.rank());
  }
  for (int d = 0; d < rank; ++d) {
    if (dims[d] >= 0 && wanted[d] >= 0 && dims[d] != wanted[d]) {
      throw invalid_argument("rt_input.shape and shape=", wanted, " are incompatible: rt_input.shape[", d,
                             "] = ", dims[d], " but shape[", d, "] = ", wanted[d]);
    }
    if (wanted[d] >= 0) dims[d] = wanted[d];
  }
  return PartialShape(std::move(dims));
}

// ---- Shape functions

void to_tensor_shape(ShapeContext& c) {
  const Tensor* wanted = c.constant_input(0);
  PartialShape shape = c.input(0).rank() == 1 ? c.input_as_shape(0) : PartialShape::unknown();
  if (wanted != nullptr && wanted->rank() == 0) shape = PartialShape::unknown();
  c.set_output(0, combined_shape(shape, c.input(1), partitioned_dims(c.attr<Strings>("row_partition_types"))));
}

void to_sparse_shape(ShapeContext& c) {
  const auto splits = static_cast<std::int64_t>(c.num_inputs() - 1);
  const PartialShape& values = c.input(c.num_inputs() - 1);
  const std::int64_t rank = values.has_rank() ? splits + values.rank() : -1;
  const std::int64_t count = values.num_elements();
  c.set_output(0, PartialShape{count, rank});
  c.set_output(1, PartialShape{count});
  c.set_output(2, PartialShape{rank});
}

void range_shape(ShapeContext& c) {
  std::int64_t rows = -1;
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& input = c.input(i);
    known &= input.has_rank();
    if (input.rank() > 1) throw invalid_argument(c.input_name(i), " must be a scalar or vector, not ", input);
    if (input.rank() == 1) rows = ShapeContext::merge_dim(rows, input[0], "rows of starts, limits and deltas");
  }
  if (known && rows < 0 && c.input(0).rank() == 0 && c.input(1).rank() == 0 && c.input(2).rank() == 0) rows = 1;
  c.set_output(0, PartialShape{rows < 0 ? -1 : rows + 1});
  c.set_output(1, PartialShape{-1});
}

// ---- Kernels: to a dense tensor

// One partition: in which row, and where in it, each value stands.
struct Partition {
  Index row, column;
  std::int64_t widest = 0;

  void add(std::int64_t at_row, std::int64_t at_column) {
    row.push_back(at_row);
    column.push_back(at_column);
    widest = std::max(widest, at_column + 1);
  }
};

// `rows`: of the level above, -1 if the splits tell.
Partition partition_of(const Tensor& tensor, const std::string& type, std::int64_t rows) {
  Partition partition;
  const Index numbers = tensor.to_int64s();
  if (type == kRowSplits) {
    if (numbers.empty() || numbers[0] != 0) throw invalid_argument("Invalid row split size.");
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] < numbers[i - 1]) throw invalid_argument("Invalid row split size.");
      constexpr std::int64_t kMostValues = std::int64_t{1} << 31;
      if (numbers[i] > kMostValues) throw resource_exhausted("row splits end at ", kMostValues, ", not ", numbers[i]);
      for (std::int64_t k = numbers[i - 1]; k < numbers[i]; ++k) {
        partition.add(static_cast<std::int64_t>(i) - 1, k - numbers[i - 1]);
      }
    }
    return partition;
  }
  if (type != kRowIds) throw invalid_argument("Cannot handle partition type ", type);
  std::int64_t column = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= rows) {
      throw invalid_argument("Got next_value_rowid=", numbers[i], " which is not less than ", rows);
    }
    if (i > 0 && numbers[i] < numbers[i - 1]) throw invalid_argument("value_rowids must not fall: ", numbers[i]);
    column = i > 0 && numbers[i] == numbers[i - 1] ? column + 1 : 0;
    partition.add(numbers[i], column);
  }
  return partition;
}

struct Partitions {
  std::int64_t rows;  // first size as the partitions say it
  std::vector<Partition> levels;
};

Partitions partitions_of(RunContext& c, const Strings& types) {
  const int first = c.num_inputs() - static_cast<int>(types.size());
  Partitions all{};
  std::size_t next = 0;
  const Tensor& head = c.input(first);
  if (head.num_elements() == 0) {
    throw invalid_argument("Invalid first partition input. Tensor requires at least one element.");
  }
  if (types[0] == kFirstDim) {
    all.rows = head.to_int64s()[0];
    if (all.rows < 0) throw invalid_argument("the first size is ", all.rows);
    next = 1;
  } else {
    all.rows = head.num_elements() - 1;
  }
  std::int64_t rows = all.rows;
  for (; next < types.size(); ++next) {
    all.levels.push_back(partition_of(c.input(first + static_cast<int>(next)), types[next], rows));
    rows = static_cast<std::int64_t>(all.levels.back().row.size());
  }
  return all;
}

PartialShape wanted_shape(const Tensor& shape) {
  const Index dims = shape.to_int64s();
  for (const std::int64_t size : dims) {
    if (size < -1) throw invalid_argument("Dimension ", size, " must be >= -1");
  }
  if (shape.rank() == 1) return PartialShape(dims);
  if (shape.rank() == 0 && dims[0] == -1) return PartialShape::unknown();
  throw invalid_argument("shape must be a vector, or the scalar -1 if the rank is unknown, not ", shape.describe());
}

// Throws unless the default's shape broadcasts to that of the elements.
void check_default(const Tensor& filling, const Tensor& values) {
  const int inner = values.rank() - 1;
  bool fits = filling.rank() <= inner;
  for (int d = 1; d <= filling.rank() && fits; ++d)
    fits = filling.shape()[-d] == 1 || filling.shape()[-d] == values.shape()[-d];
  if (fits) return;
  throw invalid_argument("default_value.shape=", filling.shape(), " and rt_input.flat_values.shape=", values.shape(),
                         " are incompatible: the default must broadcast to the inner dimensions");
}

// The default for one element, every size written out.
Tensor whole_default(RunContext& c, const Tensor& filling, const Shape& element) {
  Tensor whole(filling.dtype(), element);
  Index from(element.rank(), 0);
  const Index to = element.strides();
  std::int64_t step = 1;
  for (int d = 1; d <= filling.rank(); ++d) {
    if (filling.shape()[-d] != 1) from[element.rank() - d] = step;
    step *= filling.shape()[-d];
  }
  strided_copy(c.pool(), filling.dtype(), element.dims(), filling.raw(), from, whole.raw(), to);
  return whole;
}

class ToTensorKernel final : public Kernel {
 public:
  explicit ToTensorKernel(PrepareContext& c) : types_(c.attr<Strings>("row_partition_types")) {
    const auto partitions = static_cast<std::size_t>(c.attr<std::int64_t>("num_row_partition_tensors"));
    if (types_.size() != partitions) {
      throw invalid_argument("there are ", types_.size(), " row_partition_types for ", partitions, " tensors");
    }
    for (const std::string& type : types_) {
      if (type != kFirstDim && type != kRowIds && type != kRowSplits) {
        throw invalid_argument("Unknown string for partition info type: ", type);
      }
    }
    if (types_[0] == kRowIds) throw invalid_argument("Cannot handle VALUE_ROWIDS in first dimension.");
    if (types_[0] == kFirstDim && types_.size() == 1) throw invalid_argument("FIRST_DIM_SIZE alone is no partition");
  }

  void run(RunContext& c) const override {
    const Tensor &values = c.input(1), &filling = c.input(2);
    if (values.rank() < 1) throw invalid_argument("values must have a row per element, not ", values.describe());
    check_default(filling, values);
    const Partitions all = partitions_of(c, types_);
    const int outer = partitioned_dims(types_);
    const PartialShape wanted = combined_shape(wanted_shape(c.input(0)), values.shape(), outer);
    Index dims = wanted.dims();
    if (dims[0] < 0) dims[0] = all.rows;
    for (int d = 1; d < outer; ++d) {
      if (dims[d] < 0) dims[d] = all.levels[d - 1].widest;
    }
    const Shape shape(dims);
    Tensor& out = c.allocate_output(0, shape);
    const Shape element(std::span(values.shape().dims()).subspan(1));
    const std::int64_t size = element.num_elements(), bytes = size * static_cast<std::int64_t>(dtype_size(out.dtype()));
    if (out.num_elements() == 0) return;
    const Tensor whole = whole_default(c, filling, element);
    for (std::int64_t i = 0; i < out.num_elements() / size; ++i) {
      copy_elements(out.dtype(), whole.raw(), out.raw() + i * bytes, size);
    }
    const Index places = places_of(all, dims, outer);
    const std::int64_t count = std::min<std::int64_t>(values.dim(0), static_cast<std::int64_t>(places.size()));
    for (std::int64_t i = 0; i < count; ++i) {
      if (places[i] >= 0) copy_elements(out.dtype(), values.raw() + i * bytes, out.raw() + places[i] * bytes, size);
    }
  }

 private:
  // The element of the result for each value; -1 for those that are cut off.
  static Index places_of(const Partitions& all, const Index& dims, int outer) {
    Index places;
    for (std::int64_t row = 0; row < all.rows; ++row) places.push_back(row < dims[0] ? row : -1);
    for (int level = 0; level + 1 < outer; ++level) {
      const Partition& partition = all.levels[level];
      Index next;
      for (std::size_t i = 0; i < partition.row.size(); ++i) {
        const std::int64_t row = partition.row[i], column = partition.column[i];
        const std::int64_t parent = row < static_cast<std::int64_t>(places.size()) ? places[row] : -1;
        next.push_back(parent >= 0 && column < dims[level + 1] ? parent * dims[level + 1] + column : -1);
      }
      places = std::move(next);
    }
    return places;
  }

  Strings types_;
};

std::unique_ptr<Kernel> prepare_to_tensor(PrepareContext& c) { return std::make_unique<ToTensorKernel>(c); }

// ---- Kernels: others

void check_splits(const Index& splits, std::int64_t values) {
  if (splits.empty()) throw invalid_argument("ragged splits may not be empty.");
  if (splits[0] != 0) throw invalid_argument("First value of ragged splits must be 0.");
  for (std::size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] >= splits[i - 1]) continue;
    throw invalid_argument("Ragged splits should be non decreasing, but we got ", splits[i - 1], " followed by ",
                           splits[i]);
  }
  if (splits.back() == values) return;
  throw invalid_argument("Final value of ragged splits must match the length the corresponding ragged values.");
}

void run_to_sparse(RunContext& c) {
  const int levels = c.num_inputs() - 1;
  const Tensor& values = c.input(levels);
  if (values.rank() < 1) throw invalid_argument("rt_dense_values must have a row per value, not ", values.describe());
  std::vector<Index> splits;
  for (int i = 0; i < levels; ++i) splits.push_back(c.input(i).to_int64s());
  for (int i = 0; i < levels; ++i) {
    if (splits[i].empty()) throw invalid_argument("ragged splits may not be empty.");
    check_splits(splits[i], i + 1 < levels ? static_cast<std::int64_t>(splits[i + 1].size()) - 1 : values.dim(0));
  }
  const std::int64_t rank = levels + values.rank(), count = values.num_elements();
  Index dims{static_cast<std::int64_t>(splits[0].size()) - 1};
  for (const Index& level : splits) {
    std::int64_t longest = 0;
    for (std::size_t i = 1; i < level.size(); ++i) longest = std::max(longest, level[i] - level[i - 1]);
    dims.push_back(longest);
  }
  for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
  std::int64_t* to = c.allocate_output(0, {count, rank}).data<std::int64_t>();
  const std::int64_t size = values.dim(0) == 0 ? 0 : count / values.dim(0);
  for (std::int64_t i = 0; i < values.dim(0); ++i) {
    Index outer(static_cast<std::size_t>(levels) + 1);
    std::int64_t at = i;
    for (int level = levels - 1; level >= 0; --level) {
      // The row that holds `at`: the last that does not begin after it.
      const auto row = std::ranges::upper_bound(splits[level], at) - splits[level].begin() - 1;
      outer[level + 1] = at - splits[level][row];
      at = row;
    }
    outer[0] = at;
    for (std::int64_t k = 0; k < size; ++k) {
      to = std::ranges::copy(outer, to).out;
      std::int64_t rest = k;
      for (int d = values.rank() - 1; d > 0; --d) {
        to[d - 1] = rest % values.dim(d);
        rest /= values.dim(d);
      }
      to += values.rank() - 1;
    }
  }
  Tensor& out = c.allocate_output(1, {count});
  copy_elements(c.pool(), values.dtype(), values.raw(), out.raw(), count);
  std::ranges::copy(dims, c.allocate_output(2, {rank}).data<std::int64_t>());
}

// Elements of a range.
template <class T>
std::int64_t range_size(T start, T limit, T delta) {
  if (delta == T{0}) throw invalid_argument("Requires delta != 0");
  if ((delta > 0 && limit < start) || (delta < 0 && start < limit)) return 0;
  if constexpr (std::is_integral_v<T>) {
    const auto distance =
        static_cast<std::uint64_t>(delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                                             : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit));
    const auto step = delta > 0 ? static_cast<std::uint64_t>(delta) : ~static_cast<std::uint64_t>(delta) + 1;
    const std::uint64_t size = distance / step + (distance % step != 0 ? 1 : 0);
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw resource_exhausted("a range of more than 2^63 numbers");
    }
    return static_cast<std::int64_t>(size);
  } else {
    const auto size =
        std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
    constexpr double kMost = 9e18;
    if (!(size <= kMost)) throw invalid_argument("a range from ", start, " to ", limit, " by ", delta, " has no end");
    return static_cast<std::int64_t>(size);
  }
}

void run_range(RunContext& c) {
  std::int64_t rows = -1;
  for (int i = 0; i < 3; ++i) {
    const Tensor& input = c.input(i);
    if (input.rank() > 1) throw invalid_argument(c.node().op->def.inputs[i].name, " must be a scalar or vector");
    if (input.rank() == 0) continue;
    if (rows >= 0 && rows != input.dim(0))
      throw invalid_argument("starts, limits, and deltas must have the same shape");
    rows = input.dim(0);
  }
  if (rows < 0) rows = 1;
  using Types = kernels::TypeList<float, double, std::int32_t, std::int64_t>;
  kernels::dispatch(Types{}, c.input(0).dtype(), "RaggedRange", [&]<class T>() {
    const auto at = [&](int i, std::int64_t row) { return c.input(i).data<T>()[c.input(i).rank() == 0 ? 0 : row]; };
    Index splits{0};
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t end;
      if (__builtin_add_overflow(splits.back(), range_size(at(0, row), at(1, row), at(2, row)), &end)) {
        throw resource_exhausted("ranges of more than 2^63 numbers");
      }
      splits.push_back(end);
    }
    Tensor& out_splits = c.allocate_output(0, {rows + 1});
    if (out_splits.dtype() == int64) {
      std::ranges::copy(splits, out_splits.data<std::int64_t>());
    } else {
      if (splits.back() > std::numeric_limits<std::int32_t>::max()) {
        throw invalid_argument("Requires ((limit - start) / delta) <= 2^31 - 1 for Tsplits int32");
      }
      std::ranges::transform(splits, out_splits.data<std::int32_t>(),
                             [](std::int64_t v) { return static_cast<std::int32_t>(v); });
    }
    T* to = c.allocate_output(1, {splits.back()}).template data<T>();
    for (std::int64_t row = 0; row < rows; ++row) {
      T value = at(0, row);
      for (std::int64_t k = splits[row]; k < splits[row + 1]; ++k) {
        *to++ = value;
        value = kernels::wrap_add(value, at(2, row));
      }
    }
  });
}

// ---- Gradients

void to_tensor_gradient(GradientContext& c) {
  const auto& types = c.attr<Strings>("row_partition_types");
  const int outer = partitioned_dims(types);
  const Output &values = c.input(1), &filling = c.input(2), grad = c.grad(0);
  const Output grad_shape = shape_of(grad, int64), value_shape = shape_of(values, int64);
  const Output outer_shape = slice(grad_shape, {0}, {outer});
  // The result's places filled with the numbers of the values that went there, -1 where the default is.
  const Output count = squeeze(slice(value_shape, {0}, {1}));
  std::vector<Output> partitions;
  for (int i = 3; i < c.num_inputs(); ++i) partitions.push_back(c.input(i));
  const Output numbers = OpBuilder("RaggedTensorToTensor", {})
                             .input(outer_shape)
                             .input(range(Tensor(std::int64_t{0}), count, Tensor(std::int64_t{1})))
                             .input(Tensor(std::int64_t{-1}))
                             .inputs(partitions)
                             .attr("row_partition_types", types)
                             .build();
  const Output flat = reshape(numbers, {-1});
  const Output element_shape = slice(value_shape, {1}, {-1});
  const Output rows = reshape(grad, concat({shape_of(flat, int64), element_shape}, 0));
  c.set_input_grad(1, math::unsorted_segment_sum(rows, flat, count));
  // What is left over goes to the default: everything into one segment, the values' places left out.
  const Output defaults =
      where(less(flat, Tensor(std::int64_t{0})), zeros_like(flat), fill(shape_of(flat), Tensor(std::int64_t{-1})));
  const Output left = reshape(math::unsorted_segment_sum(rows, defaults, Tensor(std::int64_t{1})), element_shape);
  c.set_input_grad(2, sum_to_shape_of(left, filling, left));
}

void to_sparse_gradient(GradientContext& c) {
  const int last = c.num_inputs() - 1;
  c.set_input_grad(last, reshape(c.grad(1), shape_of(c.input(last))));
}

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "RaggedTensorToTensor",
                    .inputs = "shape: Tshape; values: T; default_value: T; "
                              "row_partition_tensors: num_row_partition_tensors * Tindex",
                    .outputs = "result: T",
                    .attrs = "T: type; Tindex: {int64, int32}; Tshape: {int64, int32}; "
                             "num_row_partition_tensors: int >= 1; row_partition_types: list(string)",
                    .shape = to_tensor_shape,
                    .gradient = to_tensor_gradient,
                    .cpu = prepare_to_tensor});
CAUDAL_REGISTER_OP({.name = "RaggedTensorToSparse",
                    .inputs = "rt_nested_splits: RAGGED_RANK * Tsplits; rt_dense_values: T",
                    .outputs = "sparse_indices: int64; sparse_values: T; sparse_dense_shape: int64",
                    .attrs = "RAGGED_RANK: int >= 1; T: type; Tsplits: {int32, int64} = DT_INT64",
                    .shape = to_sparse_shape,
                    .gradient = to_sparse_gradient,
                    .cpu = kernel_of<run_to_sparse>});
CAUDAL_REGISTER_OP({.name = "RaggedRange",
                    .inputs = "starts: T; limits: T; deltas: T",
                    .outputs = "rt_nested_splits: Tsplits; rt_dense_values: T",
                    .attrs = "T: {bfloat16, float, double, int32, int64} = DT_INT32; "
                             "Tsplits: {int32, int64} = DT_INT64",
                    .shape = range_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_range>});

std::vector<Output> all_splits(const RaggedTensor& input) {
  std::vector<Output> splits = input.outer_splits;
  splits.push_back(input.row_splits);
  return splits;
}

}  // namespace

// ---- Public functions

Output ragged::to_tensor(const RaggedTensor& input, const ToTensorOptions& options) {
  const LocationScope where(options.where);
  const Tensor* given = options.shape.value();
  const bool open = given != nullptr && !given->valid();
  const std::vector<Output> splits = all_splits(input);
  const DType type = input.values.dtype();
  const bool empty_text = type == string && options.default_value.fixed_dtype() == DType::kInvalid;
  return OpBuilder("RaggedTensorToTensor", {.name = options.name, .where = options.where})
      .input(open ? Operand(Tensor(std::int64_t{-1})) : options.shape, int64)
      .input(input.values)
      .input(empty_text ? Operand("") : options.default_value, type)
      .inputs(splits)
      .attr("row_partition_types", Strings(splits.size(), kRowSplits))
      .build();
}

SparseTensor ragged::to_sparse(const RaggedTensor& input, const OpOptions& options) {
  Node& node = OpBuilder("RaggedTensorToSparse", options).inputs(all_splits(input)).input(input.values).build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

RaggedTensor ragged::range(const Operand& starts, const Operand& limits, const Operand& deltas,
                           const OpOptions& options) {
  const DType type = common_dtype({&starts, &limits, &deltas});
  Node& node =
      OpBuilder("RaggedRange", options).input(starts, type).input(limits, type).input(deltas, type).build_node();
  return {.values = node.output(1), .row_splits = node.output(0)};
}

}  // namespace caudal::inline v0
