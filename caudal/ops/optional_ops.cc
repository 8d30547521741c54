#include "caudal/ops/optional_ops.h"

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variant_registry.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kTypeName = "tensorflow::data::Optional";

class Optional final : public VariantValue {
 public:
  Optional() = default;
  explicit Optional(std::vector<Tensor> values) : values_(std::move(values)), has_value_(true) {}
  std::string_view type_name() const override { return kTypeName; }
  bool has_value() const { return has_value_; }
  const std::vector<Tensor>& values() const { return values_; }

 private:
  std::vector<Tensor> values_;
  bool has_value_ = false;
};

class OptionalOps final : public VariantOps {
 public:
  std::string_view type_name() const override { return kTypeName; }

  Variant zeros_like(const Variant& value) const override {
    const auto& optional = *value.as<Optional>();
    if (!optional.has_value()) return value;
    std::vector<Tensor> zeros;
    for (const Tensor& component : optional.values()) {
      if (component.dtype() == DType::kVariant) {
        Tensor inner = Tensor(DType::kVariant, component.shape());
        for (std::int64_t i = 0; i < component.num_elements(); ++i) {
          const Variant& element = component.data<Variant>()[i];
          if (element.empty()) continue;
          inner.data<Variant>()[i] = variant_ops(element.get()->type_name()).zeros_like(element);
        }
        zeros.push_back(std::move(inner));
      } else {
        zeros.push_back(Tensor::zeros_like(component));
      }
    }
    return Variant(std::make_shared<Optional>(std::move(zeros)));
  }

  Variant add(const Variant&, const Variant&) const override { throw unimplemented("optional values are not added"); }
  Variant copy_to(const Variant& value, MemorySpace) const override { return value; }
  std::string encode(const Variant&) const override { throw unimplemented("optional values are not written to files"); }
  Variant decode(std::string_view) const override { throw unimplemented("optional values are not read from files"); }
};

[[maybe_unused]] const bool registered = [] {
  register_variant(std::make_unique<OptionalOps>());
  return true;
}();

// ---- Shape functions

void components_shape(ShapeContext& c) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes.size() != static_cast<std::size_t>(c.num_outputs())) {
    throw invalid_argument("output_shapes has ", shapes.size(), " entries for ", c.num_outputs(), " components");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<std::size_t>(i)]);
}

// ---- Kernels

Tensor tensor_of(Optional value) { return Tensor::scalar(Variant(std::make_shared<Optional>(std::move(value)))); }

const Optional& optional_input(const RunContext& c) {
  const Tensor& input = c.input(0);
  if (input.rank() != 0) throw invalid_argument("the optional must be a scalar, not ", input.describe());
  const auto* optional = input.data<Variant>()[0].as<Optional>();
  if (optional == nullptr) throw invalid_argument("the variant holds no optional value");
  return *optional;
}

void run_from_value(RunContext& c) {
  std::vector<Tensor> values;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(c.take_input(i));
  c.set_output(0, optional_value(std::move(values)));
}

void run_none(RunContext& c) { c.set_output(0, optional_nothing()); }

void run_has_value(RunContext& c) { c.set_output(0, Tensor(optional_input(c).has_value())); }

void run_get_value(RunContext& c) {
  const Optional& optional = optional_input(c);
  if (!optional.has_value()) throw invalid_argument("the optional has no value");
  const auto& values = optional.values();
  if (values.size() != static_cast<std::size_t>(c.num_outputs())) {
    throw invalid_argument("the optional has ", values.size(), " components, not ", c.num_outputs());
  }
  const auto& shapes = c.node().attr<std::vector<PartialShape>>("output_shapes");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].dtype() != c.node().output_types[i] || !shapes[i].compatible(values[i].shape())) {
      throw invalid_argument("component ", i, " is ", values[i].describe(), "; ", c.node().output_types[i], shapes[i],
                             " is wanted");
    }
    c.set_output(static_cast<int>(i), values[i]);
  }
}

// ---- Gradients

void from_value_gradient(GradientContext& c) {
  std::vector<PartialShape> shapes;
  for (const Output& component : c.node().inputs()) shapes.push_back(component.shape());
  const auto grads = raw_ops::optional_get_value(c.grad(0), c.attr<std::vector<DType>>("Toutput_types"), shapes);
  for (std::size_t i = 0; i < grads.size(); ++i) c.set_input_grad(static_cast<int>(i), grads[i]);
}

void get_value_gradient(GradientContext& c) {
  std::vector<Output> grads;
  for (int i = 0; i < c.num_outputs(); ++i) grads.push_back(c.grad(i));
  c.set_input_grad(0, raw_ops::optional_from_value(grads));
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "OptionalFromValue",
                    .inputs = "components: Toutput_types",
                    .outputs = "optional: variant",
                    .attrs = "Toutput_types: list(type) >= 1",
                    .shape = scalar_shape,
                    .gradient = from_value_gradient,
                    .cpu = kernel_of<run_from_value>});
CAUDAL_REGISTER_OP({.name = "OptionalNone",
                    .outputs = "optional: variant",
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_none>});
CAUDAL_REGISTER_OP({.name = "OptionalHasValue",
                    .inputs = "optional: variant",
                    .outputs = "has_value: bool",
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_has_value>});
CAUDAL_REGISTER_OP({.name = "OptionalGetValue",
                    .inputs = "optional: variant",
                    .outputs = "components: output_types",
                    .attrs = "output_types: list(type) >= 1; output_shapes: list(shape) >= 1",
                    .shape = components_shape,
                    .gradient = get_value_gradient,
                    .cpu = kernel_of<run_get_value>});

// ---- Public functions

Tensor optional_value(std::vector<Tensor> components) { return tensor_of(Optional(std::move(components))); }
Tensor optional_nothing() { return tensor_of(Optional()); }

namespace raw_ops {

Output optional_from_value(const std::vector<Output>& components, const OpOptions& options) {
  return OpBuilder("OptionalFromValue", options).inputs(components).build();
}
Output optional_none(const OpOptions& options) { return OpBuilder("OptionalNone", options).build(); }
Output optional_has_value(const Output& optional, const OpOptions& options) {
  return OpBuilder("OptionalHasValue", options).input(optional).build();
}
std::vector<Output> optional_get_value(const Output& optional, const std::vector<DType>& types,
                                       const std::vector<PartialShape>& shapes, const OpOptions& options) {
  Node& node = OpBuilder("OptionalGetValue", options)
                   .input(optional)
                   .attr("output_types", types)
                   .attr("output_shapes", shapes)
                   .build_node();
  std::vector<Output> components;
  for (int i = 0; i < node.num_outputs(); ++i) components.push_back(node.output(i));
  return components;
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
