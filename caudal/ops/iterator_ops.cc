// Iterators over datasets: resources that give one element after another.
#include <atomic>
#include <optional>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variant_registry.h"
#include "caudal/ops/dataset_function.h"
#include "caudal/ops/iterator_resource.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/optional_ops.h"

namespace caudal::inline v0 {
namespace {

using ops::DatasetPtr;
using ops::Element;
using ops::IteratorResource;
using ops::IteratorState;

constexpr char kHandleType[] = "tensorflow::data::IteratorResource";

// A position as the value of a variant: what SerializeIterator gives.
class SavedPosition final : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::IteratorStateVariant";
  explicit SavedPosition(std::string bytes) : bytes(std::move(bytes)) {}
  std::string_view type_name() const override { return kTypeName; }
  const std::string bytes;
};

class SavedPositionOps final : public VariantOps {
 public:
  std::string_view type_name() const override { return SavedPosition::kTypeName; }
  Variant zeros_like(const Variant&) const override { throw unimplemented("there is no position of zeros"); }
  Variant add(const Variant&, const Variant&) const override { throw unimplemented("positions are not added"); }
  Variant copy_to(const Variant& value, MemorySpace) const override { return value; }
  std::string encode(const Variant& value) const override { return value.as<SavedPosition>()->bytes; }
  Variant decode(std::string_view bytes) const override {
    return Variant(std::make_shared<SavedPosition>(std::string(bytes)));
  }
};

[[maybe_unused]] const bool registered = [] {
  register_variant(std::make_unique<SavedPositionOps>());
  return true;
}();

// ---- Shape functions

void make_iterator_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.with_rank(1, 0);
}

void get_next_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  ops::element_shape(c);
}

void scalar_of_scalar_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  scalar_shape(c);
}

void serialize_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.set_output(0, PartialShape::unknown_of_rank(1));
}

void one_handle_shape(ShapeContext& c) { c.with_rank(0, 0); }

// ---- Kernels

std::vector<ResourceHandle::Part> parts_of(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) {
  std::vector<ResourceHandle::Part> parts;
  for (std::size_t i = 0; i < types.size(); ++i) parts.push_back({types[i], shapes[i]});
  return parts;
}

std::shared_ptr<IteratorResource> iterator_input(const RunContext& c, int i) {
  return internal::resource_of<IteratorResource>(c, i);
}

// The handle of a named iterator.
void set_handle(RunContext& c, const internal::ResourceName& id, const IteratorResource& iterator) {
  ResourceHandle handle;
  handle.device = c.step().device->name();
  handle.container = id.container;
  handle.name = id.name;
  handle.type_name = kHandleType;
  handle.parts = parts_of(iterator.types(), iterator.shapes());
  c.set_output(0, Tensor::scalar(std::move(handle)));
}

void run_iterator(RunContext& c) {
  internal::ResourceName id;
  const auto iterator = c.state<IteratorState>().find_or_make(*c.step().resources, c.node(), id);
  set_handle(c, id, *iterator);
}

// An iterator that makes its dataset itself, by a function, when it is first used.
class OneShotKernel final : public Kernel {
 public:
  explicit OneShotKernel(PrepareContext& c)
      : factory_(ops::instantiate_call(c, c.attr<FunctionAttr>("dataset_factory"), {}, {DType::kVariant}).handle) {}

  void run(RunContext& c) const override {
    internal::ResourceName id;
    const auto iterator = c.state<IteratorState>().find_or_make(*c.step().resources, c.node(), id);
    iterator->set_once([&] {
      const std::vector<Tensor> made = c.step().functions->run(factory_, c.step(), {});
      iterator->set_dataset(c.step(), ops::dataset_in(made[0]));
    });
    set_handle(c, id, *iterator);
  }

 private:
  const FunctionRuntime::Handle factory_;
};

// An iterator that its handle owns; the later forms give a deleter as well, which nobody needs.
class AnonymousKernel final : public Kernel {
 public:
  explicit AnonymousKernel(PrepareContext& c) : spec_(ops::dataset_spec(c.node())), device_(c.device().name()) {}

  void run(RunContext& c) const override {
    static std::atomic<std::int64_t> count{0};
    ResourceHandle handle;
    handle.device = device_;
    handle.name = internal::concat("AnonymousIterator", count++);
    handle.type_name = kHandleType;
    handle.parts = parts_of(spec_.types, spec_.shapes);
    handle.owned = std::make_shared<IteratorResource>(handle.name, spec_.types, spec_.shapes);
    c.set_output(0, Tensor::scalar(std::move(handle)));
    if (c.num_outputs() > 1) c.set_output(1, Tensor(DType::kVariant, Shape()));
  }

 private:
  const ops::Dataset::Spec spec_;
  const std::string device_;
};

void run_make_iterator(RunContext& c) { iterator_input(c, 1)->set_dataset(c.step(), ops::dataset_input(c, 0)); }

void set_element(RunContext& c, Element element) {
  ops::check_element(element, c.node().output_types, c.node().attr<std::vector<PartialShape>>("output_shapes"));
  for (std::size_t i = 0; i < element.size(); ++i) c.set_output(static_cast<int>(i), std::move(element[i]));
}

void set_element_or_end(RunContext& c, bool got, Element element) {
  if (!got) throw out_of_range("End of sequence");
  set_element(c, std::move(element));
}

void set_optional_element(RunContext& c, bool got, Element element) {
  if (got) {
    ops::check_element(element, c.node().attr<std::vector<DType>>("output_types"),
                       c.node().attr<std::vector<PartialShape>>("output_shapes"));
    c.set_output(0, optional_value(std::move(element)));
  } else {
    c.set_output(0, optional_nothing());
  }
}

template <void (*set)(RunContext&, bool, Element)>
class GetNextKernel final : public WaitingKernel {
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto iterator = iterator_input(c, 0);
      iterator->next_async(c.step(), [&c, done](const Error* error, bool got, Element element) {
        if (error != nullptr) return done(error);
        std::optional<Error> failure;
        try {
          set(c, got, std::move(element));
        } catch (const Error& thrown) {
          failure = thrown;
        }
        done(failure ? &*failure : nullptr);
      });
    });
  }
};

void run_get_next_sync(RunContext& c) {
  Element element;
  const bool got = iterator_input(c, 0)->next(c.step(), element);
  set_element_or_end(c, got, std::move(element));
}

// A string that stands for a handle: container and name, which IteratorFromStringHandle finds again.
constexpr std::string_view kHandlePrefix = "iterator:";

void run_to_string(RunContext& c) {
  iterator_input(c, 0);
  const auto& handle = c.input(0).item<ResourceHandle>();
  if (handle.owned != nullptr) throw unimplemented("an anonymous iterator has no string handle");
  c.set_output(0, Tensor(internal::concat(kHandlePrefix, handle.container, '\0', handle.name)));
}

void run_from_string(RunContext& c) {
  const std::string text = ops::string_input(c, 0, "string_handle");
  const std::size_t cut = text.find('\0');
  if (!text.starts_with(kHandlePrefix) || cut == std::string::npos) {
    throw invalid_argument("the string is no handle of an iterator: ", escaped(text));
  }
  const internal::ResourceName id{text.substr(kHandlePrefix.size(), cut - kHandlePrefix.size()), text.substr(cut + 1)};
  const auto iterator = c.step().resources->get<IteratorResource>(id.container, id.name);
  const auto& types = c.node().attr<std::vector<DType>>("output_types");
  if (!types.empty()) {
    iterator->check_types(types, c.node().attr<std::vector<PartialShape>>("output_shapes"));
  }
  set_handle(c, id, *iterator);
}

void run_delete(RunContext&) {}  // the handle owns the iterator

void run_serialize(RunContext& c) {
  const auto iterator = iterator_input(c, 0);
  if (!iterator->is_set()) throw failed_precondition("the iterator has not been initialized: it has no position");
  Tensor positions(DType::kVariant, Shape({1}));
  positions.data<Variant>()[0] = Variant(std::make_shared<SavedPosition>(iterator->save()));
  c.set_output(0, std::move(positions));
}

void run_deserialize(RunContext& c) {
  const auto iterator = iterator_input(c, 0);
  const Tensor& saved = c.input(1);
  const auto* position = saved.num_elements() == 1 ? saved.data<Variant>()[0].as<SavedPosition>() : nullptr;
  if (position == nullptr) throw invalid_argument("serialized is no position of an iterator");
  iterator->restore(position->bytes);
}

void run_get_device(RunContext& c) {
  iterator_input(c, 0);
  c.set_output(0, Tensor(c.step().device->name()));
}

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c);
}
template <void (*set)(RunContext&, bool, Element)>
std::unique_ptr<Kernel> prepare_get_next(PrepareContext&) {
  return std::make_unique<GetNextKernel<set>>();
}

std::unique_ptr<NodeState> make_state(const NodeInfo&) { return std::make_unique<IteratorState>(); }

}  // namespace

// ---- Registrations

#define CAUDAL_ITERATOR_OP(op, attributes, kernel, ...) \
  CAUDAL_REGISTER_OP({.name = op,                       \
                      .outputs = "handle: resource",    \
                      .attrs = attributes,              \
                      .stateful = true,                 \
                      .shape = scalar_shape,            \
                      .gradient = not_differentiable,   \
                      .cpu = kernel,                    \
                      __VA_ARGS__})
CAUDAL_ITERATOR_OP("Iterator", "shared_name: string; container: string; " CAUDAL_DATASET_TYPES, kernel_of<run_iterator>,
                   .state = make_state);
CAUDAL_ITERATOR_OP("IteratorV2", "shared_name: string; container: string; " CAUDAL_DATASET_TYPES,
                   kernel_of<run_iterator>, .state = make_state);
CAUDAL_ITERATOR_OP("OneShotIterator",
                   "dataset_factory: func; " CAUDAL_DATASET_TYPES "; container: string = ''; shared_name: string = ''",
                   prepare<OneShotKernel>, .state = make_state);
CAUDAL_ITERATOR_OP("AnonymousIterator", CAUDAL_DATASET_TYPES, prepare<AnonymousKernel>);
CAUDAL_ITERATOR_OP("AnonymousIteratorV3", CAUDAL_DATASET_TYPES, prepare<AnonymousKernel>);
CAUDAL_REGISTER_OP({.name = "AnonymousIteratorV2",
                    .outputs = "handle: resource; deleter: variant",
                    .attrs = CAUDAL_DATASET_TYPES,
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<AnonymousKernel>});
CAUDAL_REGISTER_OP({.name = "MakeIterator",
                    .inputs = "dataset: variant; iterator: resource",
                    .stateful = true,
                    .shape = make_iterator_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_make_iterator>});
CAUDAL_REGISTER_OP({.name = "IteratorGetNext",
                    .inputs = "iterator: resource",
                    .outputs = "components: output_types",
                    .attrs = CAUDAL_DATASET_TYPES,
                    .stateful = true,
                    .shape = get_next_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_get_next<set_element_or_end>});
CAUDAL_REGISTER_OP({.name = "IteratorGetNextSync",
                    .inputs = "iterator: resource",
                    .outputs = "components: output_types",
                    .attrs = CAUDAL_DATASET_TYPES,
                    .stateful = true,
                    .shape = get_next_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_get_next_sync>});
CAUDAL_REGISTER_OP({.name = "IteratorGetNextAsOptional",
                    .inputs = "iterator: resource",
                    .outputs = "optional: variant",
                    .attrs = CAUDAL_DATASET_TYPES,
                    .stateful = true,
                    .shape = scalar_of_scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_get_next<set_optional_element>});
CAUDAL_REGISTER_OP({.name = "IteratorToStringHandle",
                    .inputs = "resource_handle: resource",
                    .outputs = "string_handle: string",
                    .stateful = true,
                    .shape = scalar_of_scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_to_string>});
#define CAUDAL_FROM_STRING_OP(op)                                                                          \
  CAUDAL_REGISTER_OP({.name = op,                                                                          \
                      .inputs = "string_handle: string",                                                   \
                      .outputs = "resource_handle: resource",                                              \
                      .attrs = "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []", \
                      .stateful = true,                                                                    \
                      .shape = scalar_of_scalar_shape,                                                     \
                      .gradient = not_differentiable,                                                      \
                      .cpu = kernel_of<run_from_string>})
CAUDAL_FROM_STRING_OP("IteratorFromStringHandle");
CAUDAL_FROM_STRING_OP("IteratorFromStringHandleV2");
CAUDAL_REGISTER_OP({.name = "DeleteIterator",
                    .inputs = "handle: resource; deleter: variant",
                    .stateful = true,
                    .shape = no_outputs_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_delete>});
CAUDAL_REGISTER_OP({.name = "SerializeIterator",
                    .inputs = "resource_handle: resource",
                    .outputs = "serialized: variant",
                    .attrs = "external_state_policy: int = 0",
                    .stateful = true,
                    .shape = serialize_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_serialize>});
CAUDAL_REGISTER_OP({.name = "DeserializeIterator",
                    .inputs = "resource_handle: resource; serialized: variant",
                    .stateful = true,
                    .shape = one_handle_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_deserialize>});
CAUDAL_REGISTER_OP({.name = "IteratorGetDevice",
                    .inputs = "resource: resource",
                    .outputs = "device: string",
                    .stateful = true,
                    .shape = scalar_of_scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_get_device>});

}  // namespace caudal::inline v0
