#include "caudal/ops/dataset.h"

#include <algorithm>
#include <utility>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/device.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variant_registry.h"
#include "caudal/ops/values_dataset.h"

namespace caudal::inline v0::ops {
namespace {

constexpr std::string_view kTypeName = "tensorflow::data::DatasetVariantWrapper";

class DatasetVariants final : public VariantOps {
 public:
  std::string_view type_name() const override { return kTypeName; }
  Variant zeros_like(const Variant&) const override { throw unimplemented("there is no dataset of zeros"); }
  Variant add(const Variant&, const Variant&) const override { throw unimplemented("datasets are not added"); }
  Variant copy_to(const Variant& value, MemorySpace) const override { return value; }
  std::string encode(const Variant& value) const override {
    if (const auto* values = value.as<ValuesDataset>()) return values->encode();
    throw unimplemented("a ", value.get()->to_string(), " is not written as bytes");
  }
  Variant decode(std::string_view bytes) const override { return Variant(ValuesDataset::decode(bytes)); }
};

[[maybe_unused]] const bool registered = [] {
  register_variant(std::make_unique<DatasetVariants>());
  return true;
}();

const Tensor& scalar_input(const RunContext& c, int i, std::string_view name) {
  const Tensor& value = c.input(i);
  if (value.rank() != 0) throw invalid_argument(name, " must be a scalar, not ", value.describe());
  return value;
}

}  // namespace

IteratorHost::IteratorHost(const StepContext& step) : step_(step) {
  step_.cancellation = &token_;
  step_.deadline_micros.reset();
  step_.step_resources = &step_resources_;
  step_.rendezvous = &rendezvous_;
  step_.queue = nullptr;
  step_.tracer = nullptr;
}

void Iteration::check() const {
  if (step->cancellation != nullptr) step->cancellation->check();
  if (step->deadline_micros && step->env->now_micros() >= *step->deadline_micros) {
    throw deadline_exceeded("the run's time is over");
  }
}

std::size_t ElementCharge::cost(const Element& element) {
  constexpr std::size_t kPerComponent = 256;  // the tensor, its buffer, what allocators add
  std::size_t bytes = element.size() * kPerComponent;
  for (const Tensor& component : element) {
    if (component.dtype() != DType::kString) continue;
    for (const std::string& text : component.flat<std::string>()) bytes += text.size();
  }
  return bytes;
}

void ElementCharge::add(const Element& element) {
  if (account_ == nullptr) return;
  const std::size_t bytes = cost(element);
  account_->charge(bytes);
  bytes_ += bytes;
}

void ElementCharge::remove(const Element& element) {
  if (account_ == nullptr) return;
  const std::size_t bytes = std::min(bytes_, cost(element));
  account_->refund(bytes);
  bytes_ -= bytes;
}

void ElementCharge::clear() {
  if (account_ != nullptr) account_->refund(std::exchange(bytes_, 0));
}

DatasetIterator::~DatasetIterator() = default;
std::string_view Dataset::type_name() const { return kTypeName; }

void transfer_iterator(const Iteration& c, StateArchive& archive, const Dataset& dataset,
                       std::unique_ptr<DatasetIterator>& iterator) {
  bool there = iterator != nullptr;
  archive.flag(there);
  if (!archive.saving()) iterator = there ? dataset.make_iterator(c) : nullptr;
  if (there) iterator->transfer(c, archive);
}

Dataset::Spec dataset_spec(const NodeInfo& node) {
  const AttrValue* types = find_attr(node.attrs, "output_types");
  if (types == nullptr) types = find_attr(node.attrs, "Toutput_types");
  Dataset::Spec spec{*types->get_if<std::vector<DType>>(), node.attr<std::vector<PartialShape>>("output_shapes"),
                     node.type()};
  if (spec.types.size() != spec.shapes.size()) {
    throw invalid_argument("output_shapes has ", spec.shapes.size(), " entries for ", spec.types.size(), " components");
  }
  return spec;
}

DatasetPtr dataset_in(const Tensor& tensor) {
  if (tensor.dtype() != DType::kVariant || tensor.rank() != 0) {
    throw invalid_argument("a dataset is a scalar variant, not ", tensor.describe());
  }
  const auto* dataset = tensor.item<Variant>().as<Dataset>();
  if (dataset == nullptr) throw invalid_argument("the variant holds no dataset");
  return dataset->shared_from_this();
}

Tensor dataset_tensor(DatasetPtr dataset) { return Tensor::scalar(Variant(std::move(dataset))); }

std::int64_t int_input(const RunContext& c, int i, std::string_view name) {
  const Tensor& value = scalar_input(c, i, name);
  return value.dtype() == DType::kInt32 ? value.item<std::int32_t>() : value.item<std::int64_t>();
}

bool bool_input(const RunContext& c, int i, std::string_view name) { return scalar_input(c, i, name).item<bool>(); }

std::string string_input(const RunContext& c, int i, std::string_view name) {
  return scalar_input(c, i, name).item<std::string>();
}

std::vector<std::string> strings_input(const RunContext& c, int i, std::string_view name) {
  if (c.input(i).rank() > 1) throw invalid_argument("`", name, "` must be a scalar or a vector.");
  return c.input(i).to_vector<std::string>();
}

void check_element(const Element& element, const std::vector<DType>& types, const std::vector<PartialShape>& shapes) {
  if (element.size() != types.size()) {
    throw invalid_argument("Number of components does not match: expected ", types.size(), " types but got ",
                           element.size(), ".");
  }
  for (std::size_t i = 0; i < element.size(); ++i) {
    if (element[i].dtype() != types[i]) {
      throw invalid_argument("Data type mismatch at component ", i, ": expected ", types[i], " but got ",
                             element[i].dtype(), ".");
    }
    if (!shapes[i].compatible(element[i].shape())) {
      throw invalid_argument("Incompatible shapes at component ", i, ": expected ", shapes[i], " but got ",
                             element[i].shape(), ".");
    }
  }
}

void check_dataset(const Dataset& dataset, const std::vector<DType>& types, const std::vector<PartialShape>& shapes) {
  if (dataset.types().size() != types.size()) {
    throw invalid_argument("Number of components does not match: expected ", types.size(), " types but got ",
                           dataset.types().size(), ".");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (dataset.types()[i] != types[i]) {
      throw invalid_argument("Data type mismatch at component ", i, ": expected ", types[i], " but got ",
                             dataset.types()[i], ".");
    }
    if (!dataset.shapes()[i].compatible(shapes[i])) {
      throw invalid_argument("Incompatible shapes at component ", i, ": expected ", shapes[i], " but got ",
                             dataset.shapes()[i], ".");
    }
  }
}

void dataset_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.node().input_types[i] == DType::kVariant && c.input_name(i).find("dataset") != std::string::npos) {
      c.with_rank(i, 0);
    }
  }
  scalar_shape(c);
}

void element_shape(ShapeContext& c) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes.size() != static_cast<std::size_t>(c.num_outputs())) {
    throw invalid_argument("`output_shapes` must be the same length as `output_types` (", shapes.size(), " vs. ",
                           c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<std::size_t>(i)]);
}

}  // namespace caudal::inline v0::ops
