#include "caudal/core/op_registry.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/core/kernel.h"
#include "caudal/core/node_info.h"

namespace caudal::inline v0 {
namespace {

// Heads of the lists that registrars form before main; constant-initialised, so that order does not matter.
constinit const internal::OpRegistrar* op_list = nullptr;
constinit const internal::KernelRegistrar* kernel_list = nullptr;

struct Entry {
  const OpSpec* spec = nullptr;
  std::once_flag parsed;
  std::unique_ptr<Op> op;
};

std::unordered_map<std::string_view, Entry>& entries() {
  static auto* table = [] {
    auto* made = new std::unordered_map<std::string_view, Entry>;
    for (const auto* r = op_list; r != nullptr; r = r->next) (*made)[r->spec.name].spec = &r->spec;
    return made;
  }();
  return *table;
}

std::unique_ptr<Op> parse(const OpSpec& spec) {
  auto op = std::make_unique<Op>(Op{&spec, parse_op_def(spec.name, spec.inputs, spec.outputs, spec.attrs)});
  op->def.stateful = spec.stateful;
  op->def.commutative = spec.commutative;
  op->def.aggregate = spec.aggregate;
  op->def.allows_uninitialized_input = spec.allows_uninitialized_input;
  op->def.deprecated_version = spec.deprecated_version;
  return op;
}

}  // namespace

namespace internal {
OpRegistrar::OpRegistrar(const OpSpec& op_spec) : spec(op_spec), next(op_list) { op_list = this; }
KernelRegistrar::KernelRegistrar(std::string_view op_name, std::string_view type, PrepareFn prepare_fn)
    : op(op_name), device_type(type), prepare(prepare_fn), next(kernel_list) {
  kernel_list = this;
}
}  // namespace internal

// Their addresses are the meaning: autodiff compares, it does not call them.
void not_differentiable(GradientContext&) {}
void no_gradient(GradientContext&) { throw not_found("no gradient is defined for this operation"); }

std::unique_ptr<Kernel> no_kernel(PrepareContext& context) {
  const NodeInfo& node = context.node();
  const AttrValue* shape = find_attr(node.attrs, "shape");
  throw invalid_argument("You must feed a value for placeholder '", node.name, "' with dtype ", node.output_types[0],
                         " and shape ", shape == nullptr ? AttrValue(PartialShape::unknown()) : *shape)
      .hint("Give run() {{\"" + node.name + "\", value}} as well.")
      .at_node(node.type(), node.name, node.made_at);
}

std::unique_ptr<Kernel> control_flow_kernel(PrepareContext& context) {
  throw internal_error(context.node().type(), " is the executor's to carry out; it has no kernel");
}

const std::string& NodeInfo::type() const { return op->name(); }

const Op* find_op(std::string_view name) {
  const auto found = entries().find(name);
  if (found == entries().end()) return nullptr;
  Entry& entry = found->second;
  std::call_once(entry.parsed, [&] { entry.op = parse(*entry.spec); });
  return entry.op.get();
}

const Op& lookup_op(std::string_view name) {
  if (const Op* op = find_op(name)) return *op;
  const auto names = registered_ops();
  throw not_found("op type '", name, "' is not registered")
      .hint(did_you_mean(name, std::vector<std::string>(names.begin(), names.end())));
}

std::vector<std::string_view> registered_ops() {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entries()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

PrepareFn find_kernel(const Op& op, std::string_view device_type) {
  if (device_type == "CPU") return op.spec->cpu;
  for (const auto* r = kernel_list; r != nullptr; r = r->next) {
    if (r->op == op.name() && r->device_type == device_type) return r->prepare;
  }
  return nullptr;
}

}  // namespace caudal::inline v0
