#include "caudal/ops/set_operation_ops.h"

#include <algorithm>
#include <map>
#include <set>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/sparse_input.h"

namespace caudal::inline v0 {
namespace {

using Index = std::vector<std::int64_t>;
using SetTypes =
    kernels::TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::string>;

// ---- Shape functions

void result_shape(ShapeContext& c, std::int64_t rank) {
  c.set_output(0, PartialShape{-1, rank});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{rank});
}

std::int64_t set_rank(const PartialShape& dense) {
  if (!dense.has_rank()) return -1;
  if (dense.rank() < 2) throw invalid_argument("a tensor of sets has at least 2 dimensions, not ", dense);
  return dense.rank();
}

std::int64_t sparse_rank(ShapeContext& c, int first) {
  const PartialShape dense = sparse_input_shape(c, first, first + 1, first + 2);
  return set_rank(dense);
}

void dense_to_dense_shape(ShapeContext& c) {
  const PartialShape &a = c.input(0), &b = c.input(1);
  const std::int64_t rank = ShapeContext::merge_dim(set_rank(a), set_rank(b), "ranks");
  if (a.has_rank() && b.has_rank()) {
    for (int d = 0; d + 1 < a.rank(); ++d) ShapeContext::merge_dim(a[d], b[d], "leading sizes");
  }
  result_shape(c, rank);
}

void dense_to_sparse_shape(ShapeContext& c) {
  result_shape(c, ShapeContext::merge_dim(set_rank(c.input(0)), sparse_rank(c, 1), "ranks"));
}

void sparse_to_sparse_shape(ShapeContext& c) {
  result_shape(c, ShapeContext::merge_dim(sparse_rank(c, 0), sparse_rank(c, 3), "ranks"));
}

void size_shape(ShapeContext& c) {
  sparse_rank(c, 0);
  const PartialShape dense = c.input_as_shape(2);
  if (dense.has_rank()) c.set_output(0, PartialShape(Index(dense.dims().begin(), dense.dims().end() - 1)));
}

// ---- Kernels

// The sets that are not empty, by their place.
template <class T>
struct Sets {
  Index dims;  // of the places
  std::map<Index, std::set<T>> members;
};

Index leading(std::span<const std::int64_t> dims) {
  if (dims.size() < 2) throw invalid_argument("Shape ", index_text(dims), " has rank ", dims.size(), " < 2");
  return {dims.begin(), dims.end() - 1};
}

template <class T>
Sets<T> dense_sets(const Tensor& tensor) {
  Sets<T> sets{leading(tensor.shape().dims()), {}};
  const std::int64_t width = tensor.shape()[-1];
  if (tensor.num_elements() == 0) return sets;
  const T* from = tensor.data<T>();
  Index place(sets.dims.size(), 0);
  for (std::int64_t row = 0; row < tensor.num_elements() / width; ++row, from += width) {
    sets.members[place].insert(from, from + width);
    for (std::size_t d = place.size(); d-- > 0 && ++place[d] == sets.dims[d];) place[d] = 0;
  }
  return sets;
}

template <class T>
Sets<T> sparse_sets(RunContext& c, int first) {
  const bool validate = c.node().attr<bool>("validate_indices");
  const SparseView view = sparse_view(c.input(first), c.input(first + 1), c.input(first + 2),
                                      validate ? IndexOrder::kStrict : IndexOrder::kInside, "");
  Sets<T> sets{leading(view.dims), {}};
  for (std::int64_t k = 0; k < view.count; ++k) {
    const auto index = view.index(k);
    sets.members[Index(index.begin(), index.end() - 1)].insert(view.values->data<T>()[k]);
  }
  return sets;
}

sets::SetOperation operation_of(PrepareContext& c) {
  std::string name = c.attr<std::string>("set_operation");
  std::ranges::transform(name, name.begin(), [](char letter) { return static_cast<char>(std::tolower(letter)); });
  if (name == "a-b") return sets::SetOperation::kAMinusB;
  if (name == "b-a") return sets::SetOperation::kBMinusA;
  if (name == "intersection") return sets::SetOperation::kIntersection;
  if (name == "union") return sets::SetOperation::kUnion;
  throw invalid_argument("Invalid set_operation ", name, "; a-b, b-a, intersection and union are there");
}

template <class T>
std::vector<T> combined(const std::set<T>& a, const std::set<T>& b, sets::SetOperation operation) {
  std::vector<T> result;
  const auto out = std::back_inserter(result);
  switch (operation) {
    case sets::SetOperation::kAMinusB:
      std::ranges::set_difference(a, b, out);
      break;
    case sets::SetOperation::kBMinusA:
      std::ranges::set_difference(b, a, out);
      break;
    case sets::SetOperation::kIntersection:
      std::ranges::set_intersection(a, b, out);
      break;
    case sets::SetOperation::kUnion:
      std::ranges::set_union(a, b, out);
      break;
  }
  return result;
}

template <class T>
void put_result(RunContext& c, const Sets<T>& a, const Sets<T>& b, sets::SetOperation operation) {
  if (a.dims != b.dims) throw invalid_argument("Mismatched shapes ", index_text(a.dims), " vs ", index_text(b.dims));
  std::set<Index> places;
  for (const auto& [place, members] : a.members) places.insert(place);
  for (const auto& [place, members] : b.members) places.insert(place);
  Index indices;
  std::vector<T> values;
  std::int64_t longest = 0;
  const auto members_at = [](const Sets<T>& sets, const Index& place) {
    const auto found = sets.members.find(place);
    return found == sets.members.end() ? std::set<T>() : found->second;
  };
  for (const Index& place : places) {
    std::int64_t next = 0;
    for (T& value : combined(members_at(a, place), members_at(b, place), operation)) {
      indices.insert(indices.end(), place.begin(), place.end());
      indices.push_back(next++);
      values.push_back(std::move(value));
    }
    longest = std::max(longest, next);
  }
  const auto count = static_cast<std::int64_t>(values.size()), rank = static_cast<std::int64_t>(a.dims.size()) + 1;
  std::ranges::copy(indices, c.allocate_output(0, {count, rank}).data<std::int64_t>());
  std::ranges::copy(values, c.allocate_output(1, {count}).template data<T>());
  std::int64_t* shape = c.allocate_output(2, {rank}).data<std::int64_t>();
  *std::ranges::copy(a.dims, shape).out = longest;
}

enum class Operands { kDenseDense, kDenseSparse, kSparseSparse };

template <Operands operands>
class SetOperationKernel final : public Kernel {
 public:
  explicit SetOperationKernel(PrepareContext& c) : operation_(operation_of(c)) {}
  void run(RunContext& c) const override {
    kernels::dispatch(SetTypes{}, c.node().output_types[1], "set operation", [&]<class T>() {
      if constexpr (operands == Operands::kDenseDense) {
        put_result(c, dense_sets<T>(c.input(0)), dense_sets<T>(c.input(1)), operation_);
      } else if constexpr (operands == Operands::kDenseSparse) {
        put_result(c, dense_sets<T>(c.input(0)), sparse_sets<T>(c, 1), operation_);
      } else {
        put_result(c, sparse_sets<T>(c, 0), sparse_sets<T>(c, 3), operation_);
      }
    });
  }

 private:
  sets::SetOperation operation_;
};

template <Operands operands>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<SetOperationKernel<operands>>(c);
}

void run_size(RunContext& c) {
  kernels::dispatch(SetTypes{}, c.input(1).dtype(), "SetSize", [&]<class T>() {
    const Sets<T> sets = sparse_sets<T>(c, 0);
    const Shape shape(sets.dims);
    const Index strides = shape.strides();
    Tensor& out = c.allocate_output(0, shape);
    std::fill_n(out.data<std::int32_t>(), out.num_elements(), 0);
    for (const auto& [place, members] : sets.members) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < place.size(); ++d) at += place[d] * strides[d];
      out.data<std::int32_t>()[at] = static_cast<std::int32_t>(members.size());
    }
  });
}

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "DenseToDenseSetOperation",
                    .inputs = "set1: T; set2: T",
                    .outputs = "result_indices: int64; result_values: T; result_shape: int64",
                    .attrs = "set_operation: string; validate_indices: bool = true; "
                             "T: {int8, int16, int32, int64, uint8, uint16, string}",
                    .shape = dense_to_dense_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<Operands::kDenseDense>});
CAUDAL_REGISTER_OP({.name = "DenseToSparseSetOperation",
                    .inputs = "set1: T; set2_indices: int64; set2_values: T; set2_shape: int64",
                    .outputs = "result_indices: int64; result_values: T; result_shape: int64",
                    .attrs = "set_operation: string; validate_indices: bool = true; "
                             "T: {int8, int16, int32, int64, uint8, uint16, string}",
                    .shape = dense_to_sparse_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<Operands::kDenseSparse>});
CAUDAL_REGISTER_OP({.name = "SparseToSparseSetOperation",
                    .inputs = "set1_indices: int64; set1_values: T; set1_shape: int64; set2_indices: int64; "
                              "set2_values: T; set2_shape: int64",
                    .outputs = "result_indices: int64; result_values: T; result_shape: int64",
                    .attrs = "set_operation: string; validate_indices: bool = true; "
                             "T: {int8, int16, int32, int64, uint8, uint16, string}",
                    .shape = sparse_to_sparse_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<Operands::kSparseSparse>});
CAUDAL_REGISTER_OP({.name = "SetSize",
                    .inputs = "set_indices: int64; set_values: T; set_shape: int64",
                    .outputs = "size: int32",
                    .attrs = "validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}",
                    .shape = size_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_size>});

std::string name_of(sets::SetOperation operation) {
  static constexpr const char* kNames[] = {"a-b", "b-a", "intersection", "union"};
  return kNames[static_cast<int>(operation)];
}

SparseTensor built(OpBuilder& builder, sets::SetOperation operation) {
  Node& node = builder.attr("set_operation", name_of(operation)).build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace

// ---- Public functions

SparseTensor sets::set_operation(const Operand& a, const Operand& b, SetOperation operation, const OpOptions& options) {
  const DType type = common_dtype({&a, &b});
  return built(OpBuilder("DenseToDenseSetOperation", options).input(a, type).input(b, type), operation);
}

SparseTensor sets::set_operation(const Operand& a, const SparseTensor& b, SetOperation operation,
                                 const OpOptions& options) {
  return built(OpBuilder("DenseToSparseSetOperation", options)
                   .input(a, b.values.dtype())
                   .input(b.indices)
                   .input(b.values)
                   .input(b.dense_shape),
               operation);
}

SparseTensor sets::set_operation(const SparseTensor& a, const SparseTensor& b, SetOperation operation,
                                 const OpOptions& options) {
  return built(OpBuilder("SparseToSparseSetOperation", options)
                   .input(a.indices)
                   .input(a.values)
                   .input(a.dense_shape)
                   .input(b.indices)
                   .input(b.values)
                   .input(b.dense_shape),
               operation);
}

Output sets::size(const SparseTensor& a, const OpOptions& options) {
  return OpBuilder("SetSize", options).input(a.indices).input(a.values).input(a.dense_shape).build();
}

}  // namespace caudal::inline v0
