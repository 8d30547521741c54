#include "caudal/ops/tensor_map_ops.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variant_registry.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/tensor_list.h"

namespace caudal::inline v0 {
namespace {

// ---- The value

class TensorMap final : public VariantValue, public std::enable_shared_from_this<TensorMap> {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::TensorMap";
  struct Entry {
    Tensor key, value;
  };

  std::string_view type_name() const override { return kTypeName; }
  bool is_unique() const {
    if (weak_from_this().use_count() != 1) return false;
    std::atomic_thread_fence(std::memory_order_acquire);  // whoever held it before has finished reading
    return true;
  }

  const Entry* find(const Tensor& key) const {
    const auto found = entries_.find(bytes_of(key));
    return found == entries_.end() ? nullptr : &found->second;
  }
  void put(const Tensor& key, const Tensor& value) { entries_[bytes_of(key)] = {key, value}; }
  void erase(const Tensor& key) { entries_.erase(bytes_of(key)); }
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  // Different for any two keys that differ in type, shape or elements.
  static std::string bytes_of(const Tensor& key) {
    if (key.dtype() == DType::kResource || key.dtype() == DType::kVariant) {
      throw invalid_argument("a key of a map cannot be ", key.describe());
    }
    std::string bytes = key.describe() + ":";
    if (key.dtype() != DType::kString) return bytes.append(key.raw_bytes());
    for (const std::string& text : key.flat<std::string>()) bytes += std::to_string(text.size()) + ":" + text;
    return bytes;
  }

  std::map<std::string, Entry> entries_;
};

const TensorMap& map_of(const Variant& value) {
  const auto* map = value.as<TensorMap>();
  if (map == nullptr) {
    throw invalid_argument("Input handle is not a map. Saw: '", value.empty() ? "" : value.get()->to_string(), "'");
  }
  return *map;
}

class TensorMapOps final : public VariantOps {
 public:
  std::string_view type_name() const override { return TensorMap::kTypeName; }
  // No entry: what is not there counts as zero.
  Variant zeros_like(const Variant&) const override { return Variant(std::make_shared<TensorMap>()); }
  Variant add(const Variant& a, const Variant& b) const override {
    auto sum = std::make_shared<TensorMap>(map_of(a));
    for (const auto& [bytes, entry] : map_of(b).entries()) {
      const TensorMap::Entry* there = sum->find(entry.key);
      sum->put(entry.key, there == nullptr ? entry.value : sum_of_tensors(entry.value, there->value));
    }
    return Variant(std::move(sum));
  }
  Variant copy_to(const Variant& value, MemorySpace) const override { return value; }
  std::string encode(const Variant&) const override { return {}; }
  std::vector<Tensor> encode_tensors(const Variant& value) const override {
    std::vector<Tensor> tensors;
    for (const auto& [bytes, entry] : map_of(value).entries()) {
      tensors.push_back(entry.key);
      tensors.push_back(entry.value);
    }
    return tensors;
  }
  Variant decode(std::string_view bytes) const override { return decode_tensors(bytes, {}); }
  Variant decode_tensors(std::string_view, std::vector<Tensor> tensors) const override {
    if (tensors.size() % 2 != 0) throw data_loss("a TensorMap has a key without a value");
    auto map = std::make_shared<TensorMap>();
    for (std::size_t i = 0; i < tensors.size(); i += 2) map->put(tensors[i], tensors[i + 1]);
    return Variant(std::move(map));
  }
};

[[maybe_unused]] const bool registered = (register_variant(std::make_unique<TensorMapOps>()), true);

// ---- Shape functions

void map_shape(ShapeContext& c) { c.set_output(0, PartialShape::scalar()); }

// ---- Kernels

const TensorMap& map_of(const RunContext& c) {
  if (c.input(0).rank() != 0) throw invalid_argument("Input map must be a scalar. Saw: ", c.input(0).shape());
  return map_of(c.input(0).item<Variant>());
}

// The map to change: the one in input 0 if output 0 lies over it and nobody else holds it, else a copy.
TensorMap& writable_output(RunContext& c, const TensorMap& map) {
  Variant& to = c.allocate_output(0, {}).data<Variant>()[0];
  if (to.get() == &map && map.is_unique()) return const_cast<TensorMap&>(map);
  auto copy = std::make_shared<TensorMap>(map);
  TensorMap& result = *copy;
  to = Variant(std::move(copy));
  return result;
}

const TensorMap::Entry& entry_of(const RunContext& c, const TensorMap& map, std::string_view what) {
  const TensorMap::Entry* entry = map.find(c.input(1));
  if (entry == nullptr) {
    throw invalid_argument("Trying to ", what, ". Could not find key \"", c.input(1).to_string(), "\".");
  }
  return *entry;
}

void run_empty(RunContext& c) { c.set_output(0, Tensor::scalar(Variant(std::make_shared<TensorMap>()))); }

void run_size(RunContext& c) {
  const auto size = static_cast<std::int32_t>(map_of(c).entries().size());
  c.allocate_output(0, {}).data<std::int32_t>()[0] = size;
}

void run_lookup(RunContext& c) {
  const Tensor& value = entry_of(c, map_of(c), "lookup non-existent key").value;
  if (value.dtype() != c.node().output_types[0]) {
    throw invalid_argument("the map holds ", value.describe(), " under this key; ", c.node().output_types[0],
                           " is wanted");
  }
  c.set_output(0, value);
}

void run_insert(RunContext& c) {
  const TensorMap& map = map_of(c);
  const Tensor key = c.take_input(1), value = c.take_input(2);
  writable_output(c, map).put(key, value);
}

void run_erase(RunContext& c) {
  const TensorMap& map = map_of(c);
  entry_of(c, map, "erase non-existent item");
  const Tensor key = c.input(1);
  writable_output(c, map).erase(key);
}

template <void (*run)(RunContext&)>
std::unique_ptr<Kernel> in_place(PrepareContext& c) {
  c.allow_in_place(0, 0);
  return kernel_of<run>(c);
}

void run_has_key(RunContext& c) {
  const bool found = map_of(c).find(c.input(1)) != nullptr;
  c.allocate_output(0, {}).data<bool>()[0] = found;
}

void run_stack_keys(RunContext& c) {
  const auto& entries = map_of(c).entries();
  if (entries.empty()) throw invalid_argument("TensorMapStackKeys cannot be called on empty map.");
  const Shape shape = entries.begin()->second.key.shape();
  const DType dtype = c.node().output_types[0];
  for (const auto& [bytes, entry] : entries) {
    if (entry.key.dtype() != dtype) throw invalid_argument("Key does not match requested dtype.");
    if (entry.key.shape() != shape) throw invalid_argument("Keys must all have the same shape.");
  }
  char* to = c.allocate_output(0, shape.insert(0, static_cast<std::int64_t>(entries.size()))).raw();
  for (const auto& [bytes, entry] : entries) {
    copy_elements(dtype, entry.key.raw(), to, shape.num_elements());
    to += entry.key.byte_size();
  }
}

// ---- Gradients

void lookup_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::tensor_map_insert(raw_ops::empty_tensor_map(), c.input(1), c.grad(0)));
}

struct Branches {
  Output no, yes;
};

Branches branch(const Output& value, const Output& pred) {
  Node& node = OpBuilder("Switch", {}).input(value).input(pred).build_node();
  return {node.output(0), node.output(1)};
}

Output merge(const Output& a, const Output& b) { return OpBuilder("Merge", {}).inputs({a, b}).build(); }

// The gradient of a key that nobody looked up is not there: zeros.
void insert_gradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const Output there = raw_ops::tensor_map_has_key(grad, c.input(1));
  const Branches map = branch(grad, there), key = branch(c.input(1), there), value = branch(c.input(2), there);
  const DType dtype = c.input(2).dtype();
  c.set_input_grad(0, merge(map.no, raw_ops::tensor_map_erase(map.yes, key.yes, dtype)));
  c.set_input_grad(2, merge(zeros_like(value.no), raw_ops::tensor_map_lookup(map.yes, key.yes, dtype)));
}

void erase_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0)); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "EmptyTensorMap",
                    .outputs = "handle: variant",
                    .shape = map_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_empty>});

CAUDAL_REGISTER_OP({.name = "TensorMapSize",
                    .inputs = "input_handle: variant",
                    .outputs = "size: int32",
                    .shape = scalar_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_size>});

CAUDAL_REGISTER_OP({.name = "TensorMapLookup",
                    .inputs = "input_handle: variant; key: key_dtype",
                    .outputs = "value: value_dtype",
                    .attrs = "key_dtype: type; value_dtype: type",
                    .shape = unknown_shape,
                    .gradient = lookup_gradient,
                    .cpu = kernel_of<run_lookup>});

CAUDAL_REGISTER_OP({.name = "TensorMapInsert",
                    .inputs = "input_handle: variant; key: key_dtype; value: value_dtype",
                    .outputs = "output_handle: variant",
                    .attrs = "key_dtype: type; value_dtype: type",
                    .shape = map_shape,
                    .gradient = insert_gradient,
                    .cpu = in_place<run_insert>});

CAUDAL_REGISTER_OP({.name = "TensorMapErase",
                    .inputs = "input_handle: variant; key: key_dtype",
                    .outputs = "output_handle: variant",
                    .attrs = "key_dtype: type; value_dtype: type",
                    .shape = map_shape,
                    .gradient = erase_gradient,
                    .cpu = in_place<run_erase>});

CAUDAL_REGISTER_OP({.name = "TensorMapHasKey",
                    .inputs = "input_handle: variant; key: key_dtype",
                    .outputs = "has_key: bool",
                    .attrs = "key_dtype: type",
                    .shape = scalar_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_has_key>});

CAUDAL_REGISTER_OP({.name = "TensorMapStackKeys",
                    .inputs = "input_handle: variant",
                    .outputs = "keys: key_dtype",
                    .attrs = "key_dtype: type",
                    .shape = unknown_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_stack_keys>});

// ---- Public functions

namespace raw_ops {

Output empty_tensor_map(const OpOptions& options) { return OpBuilder("EmptyTensorMap", options).build(); }

Output tensor_map_size(const Output& map, const OpOptions& options) {
  return OpBuilder("TensorMapSize", options).input(map).build();
}

Output tensor_map_lookup(const Output& map, const Operand& key, DType value_dtype, const OpOptions& options) {
  return OpBuilder("TensorMapLookup", options).input(map).input(key).attr("value_dtype", value_dtype).build();
}

Output tensor_map_insert(const Output& map, const Operand& key, const Operand& value, const OpOptions& options) {
  return OpBuilder("TensorMapInsert", options).input(map).input(key).input(value).build();
}

Output tensor_map_erase(const Output& map, const Operand& key, DType value_dtype, const OpOptions& options) {
  return OpBuilder("TensorMapErase", options).input(map).input(key).attr("value_dtype", value_dtype).build();
}

Output tensor_map_has_key(const Output& map, const Operand& key, const OpOptions& options) {
  return OpBuilder("TensorMapHasKey", options).input(map).input(key).build();
}

Output tensor_map_stack_keys(const Output& map, DType key_dtype, const OpOptions& options) {
  return OpBuilder("TensorMapStackKeys", options).input(map).attr("key_dtype", key_dtype).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
