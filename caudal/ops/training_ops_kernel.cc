#include "caudal/ops/training_ops_kernel.h"

#include <algorithm>
#include <array>
#include <complex>

#include "caudal/core/variable_storage.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

// The arguments of an update: first the variables (var and its slots), then scalars, the gradient and perhaps indices.
struct Arguments {
  explicit Arguments(const NodeInfo& node) {
    const auto& inputs = node.op->def.inputs;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (inputs[i].is_ref || inputs[i].type == resource) {
        variables = i + 1;
      } else if (inputs[i].name == "grad" || inputs[i].name == "delta") {
        grad = i;
      } else if (inputs[i].name == "indices") {
        indices = i;
      } else {
        scalars.push_back(i);
      }
    }
  }
  int variables = 0, grad = -1, indices = -1;
  std::vector<int> scalars;  // in the order of the definition
};

PartialShape variable_shape_of(const ShapeContext& c, int i) {
  if (c.node().input_refs[i]) return c.input(i);
  return c.input_handle(i).empty() ? PartialShape() : c.input_handle(i)[0].shape;
}

}  // namespace

void training_shape(ShapeContext& c) {
  const Arguments arguments(c.node());
  PartialShape shape = variable_shape_of(c, 0);
  const auto merge = [&](const PartialShape& other, int i) {
    const auto merged = shape.merge(other);
    if (!merged) {
      throw invalid_argument("shapes differ: ", c.input_name(0), ' ', shape, ", ", c.input_name(i), ' ', c.input(i));
    }
    shape = *merged;
  };
  for (int i = 1; i < arguments.variables; ++i) merge(variable_shape_of(c, i), i);
  for (const int i : arguments.scalars) c.with_rank(i, 0);
  const PartialShape& grad = c.input(arguments.grad);
  if (arguments.indices < 0) {
    merge(grad, arguments.grad);
  } else {
    c.with_rank(arguments.indices, 1);
    if (grad.rank() > 0) merge(grad.with_dim(0, PartialShape::kUnknown), arguments.grad);
  }
  if (c.num_outputs() > 0) c.set_output(0, shape);
}

namespace {

class TrainingKernel final : public Kernel {
 public:
  static constexpr int kMostVariables = 4;
  static constexpr int kMostScalars = 6;  // as many as the longest formula has

  TrainingKernel(PrepareContext& c, TrainingStep step, unsigned traits)
      : arguments_(c.node()), step_(step), traits_(traits) {
    for (const char* name : {"use_nesterov", "update_slots", "multiply_linear_by_lr"}) {
      if (const AttrValue* attr = find_attr(c.node().attrs, name)) flag_ = *attr->get_if<bool>();
    }
  }

  void run(RunContext& c) const override {
    std::array<kernels::StepScalar, kMostScalars> scalars{};
    for (std::size_t i = 0; i < arguments_.scalars.size(); ++i) scalars[i] = scalar(c, arguments_.scalars[i]);
    if ((traits_ & kChecksSigns) != 0) check_signs(c.node(), scalars);
    std::array<std::shared_ptr<VariableStorage>, kMostVariables> variables;
    for (int i = 0; i < kMostVariables; ++i) variables[i] = c.variable_ptr(i < arguments_.variables ? i : 0);
    {
      const VariableStorage::Lock lock(
          {variables[0].get(), variables[1].get(), variables[2].get(), variables[3].get()});
      update(c, variables, scalars);
    }
    if (c.num_outputs() > 0) c.set_output_ref(0, variables[0]);
  }

 private:
  using Variables = std::array<std::shared_ptr<VariableStorage>, kMostVariables>;

  static kernels::StepScalar scalar(RunContext& c, int i) {
    const Tensor& value = c.input(i);
    if (value.rank() != 0) {
      throw invalid_argument(c.node().op->def.inputs[i].name, " must be a scalar, not ", value.describe());
    }
    if (value.dtype() == complex64) return kernels::StepScalar(value.item<std::complex<float>>());
    if (value.dtype() == complex128) return value.item<std::complex<double>>();
    return value.to_double();
  }

  // NaN passes none of them.
  void check_signs(const NodeInfo& node, const std::array<kernels::StepScalar, kMostScalars>& scalars) const {
    for (std::size_t i = 0; i < arguments_.scalars.size(); ++i) {
      const std::string& name = node.op->def.inputs[arguments_.scalars[i]].name;
      const double value = scalars[i].real();
      const bool positive = name == "lr" && !(flag_ && find_attr(node.attrs, "multiply_linear_by_lr") != nullptr);
      const bool fits = positive ? value > 0 : name == "lr_power" ? value <= 0 : value >= 0;
      if (fits) continue;
      throw invalid_argument(name, " is ", value, "; it must ",
                             positive             ? "be positive"
                             : name == "lr_power" ? "not be positive"
                                                  : "not be negative");
    }
  }

  void update(RunContext& c, const Variables& variables,
              const std::array<kernels::StepScalar, kMostScalars>& scalars) const {
    const Tensor& grad = c.input(arguments_.grad);
    std::array<char*, kMostVariables> memory{};
    Shape shape;
    // All are there and fit before the first is changed.
    for (int i = 0; i < arguments_.variables; ++i) {
      Tensor& value = variables[i]->mutable_value_locked();
      if (i == 0) shape = value.shape();
      if (value.dtype() != grad.dtype() || value.shape() != shape) {
        throw invalid_argument("variable '", variables[0]->name(), "' has shape ", shape, ", its slot '",
                               variables[i]->name(), "' is ", value.describe(), ", the gradient ", grad.describe());
      }
      memory[i] = value.raw();
    }
    if (arguments_.indices >= 0) {
      update_rows(c, variables[0]->name(), shape, memory, grad, scalars);
      return;
    }
    if (grad.shape() != shape) {
      throw invalid_argument("variable '", variables[0]->name(), "' has shape ", shape, ", the gradient ",
                             grad.shape());
    }
    step_(c.pool(), grad.dtype(), shape.num_elements(), memory.data(), grad.raw(), scalars.data(), flag_);
  }

  void update_rows(RunContext& c, const std::string& name, const Shape& shape,
                   const std::array<char*, kMostVariables>& memory, const Tensor& grad,
                   const std::array<kernels::StepScalar, kMostScalars>& scalars) const {
    const Tensor& indices = c.input(arguments_.indices);
    if (indices.rank() != 1 || shape.rank() == 0 || grad.rank() != shape.rank() || grad.dim(0) != indices.dim(0) ||
        !std::ranges::equal(grad.shape().dims().subspan(1), shape.dims().subspan(1))) {
      throw invalid_argument("variable '", name, "' has shape ", shape, ", the gradient's rows ", grad.shape(),
                             ", their indices ", indices.shape());
    }
    const auto rows = indices.to_int64s();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] < 0 || rows[k] >= shape[0]) {
        throw invalid_argument("indices[", k, "] is ", rows[k], "; variable '", name, "' has ", shape[0], " rows");
      }
    }
    if (rows.empty()) return;
    if (shape.num_elements() == 0) {
      if ((traits_ & kNeedsColumns) == 0) return;
      throw invalid_argument("the rows of variable '", name, "' have no elements: ", shape);
    }
    const std::int64_t n = shape.num_elements() / shape[0];
    const auto row_bytes = static_cast<std::int64_t>(n * dtype_size(grad.dtype()));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::array<char*, kMostVariables> row{};
      for (int i = 0; i < arguments_.variables; ++i) row[i] = memory[i] + rows[k] * row_bytes;
      step_(c.pool(), grad.dtype(), n, row.data(), grad.raw() + static_cast<std::int64_t>(k) * row_bytes,
            scalars.data(), flag_);
    }
  }

  Arguments arguments_;
  TrainingStep step_;
  unsigned traits_;
  bool flag_ = false;
};

}  // namespace

std::unique_ptr<Kernel> make_training_kernel(PrepareContext& c, TrainingStep step, unsigned traits) {
  const DType dtype = c.attr<DType>("T");
  if (!is_floating(dtype) && !((traits & kComplexToo) != 0 && is_complex(dtype))) {
    throw unimplemented("no update of ", dtype, " variables");
  }
  return std::make_unique<TrainingKernel>(c, step, traits);
}

OpBuilder update_of(const std::string& op, const std::vector<const Variable*>& variables,
                    const std::vector<const Operand*>& operands, const OpOptions& options) {
  const Variable& var = *variables[0];
  OpBuilder builder(var.is_resource() ? "Resource" + op : op, options);
  for (const Variable* variable : variables) builder.input(variable->handle());
  for (const Operand* operand : operands) builder.input(*operand, var.dtype());
  internal::colocate(builder, var.handle());
  return builder;
}

}  // namespace caudal::inline v0
