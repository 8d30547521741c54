#include "caudal/plan/fold.h"

#include <algorithm>
#include <bit>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

// Appends the value so that two values differ in the key if they differ at all: texts for messages do not tell floats
// that agree in six digits.
struct KeyWriter {
  std::string& key;
  void operator()(float value) const { key += std::to_string(std::bit_cast<std::uint32_t>(value)); }
  void operator()(const std::string& value) const { key += std::to_string(value.size()) + ":" + value; }
  template <class T>
    requires std::is_same_v<T, float> || std::is_same_v<T, std::string>
  void operator()(const std::vector<T>& values) const {
    for (const T& value : values) {
      key += '|';
      (*this)(value);
    }
  }
  template <class T>
  void operator()(const T& value) const {
    key += AttrValue(value).to_string();
  }
  void operator()(std::monostate) const {}
};

bool is_compared(const Node& node) {
  return std::ranges::none_of(node.info().attrs, [](const auto& attr) {
    const AttrValue& value = attr.second;
    return value.template get_if<Tensor>() != nullptr || value.template get_if<FunctionAttr>() != nullptr ||
           value.template get_if<std::vector<Tensor>>() != nullptr ||
           value.template get_if<std::vector<FunctionAttr>>() != nullptr;
  });
}

}  // namespace

bool is_pure(const Node& node) {
  const auto is_ref = [](bool ref) { return ref; };
  return !node.op().def.stateful && node.num_outputs() > 0 && node.op().spec->control == ControlFlow::kNone &&
         std::ranges::none_of(node.info().input_refs, is_ref) && std::ranges::none_of(node.info().output_refs, is_ref);
}

std::optional<std::string> subexpression_key(const Node& node, const std::vector<int>& input_slots) {
  if (!is_compared(node)) return std::nullopt;
  std::string key = node.type();
  for (const int input : input_slots) key += "," + std::to_string(input);
  for (const auto& [name, value] : node.info().attrs) {
    if (name.starts_with('_')) continue;
    key += ";" + name + "=";
    std::visit(KeyWriter{key}, value.value());
  }
  return key;
}

std::optional<std::vector<Tensor>> evaluate(const Node& node, const Kernel& kernel, std::size_t scratch_bytes,
                                            std::vector<Tensor> inputs, Device& device) {
  if (kernel.can_wait()) return std::nullopt;
  std::vector<Value> values(inputs.size());
  std::vector<Value*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[i].tensor = std::move(inputs[i]);
    pointers.push_back(&values[i]);
  }
  std::vector<Value> outputs(node.num_outputs());
  std::vector<std::byte> scratch(scratch_bytes);
  StepContext step;
  step.device = &device;
  try {
    RunContext run(node.info(), {.inputs = pointers, .outputs = outputs, .scratch = scratch}, &step);
    kernel.run(run);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::vector<Tensor> results;
  for (const Value& output : outputs) {
    if (!output.tensor.valid() || output.tensor.byte_size() > kMaxFoldedBytes) return std::nullopt;
    results.push_back(output.tensor.clone());
  }
  return results;
}

}  // namespace caudal::inline v0
