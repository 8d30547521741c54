#include "caudal/graph/function.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

constinit const OpSpec* call_spec = nullptr;

bool same_args(const std::vector<ArgDef>& a, const std::vector<ArgDef>& b) {
  return std::ranges::equal(a, b, [](const ArgDef& x, const ArgDef& y) {
    return x.name == y.name && x.type == y.type && x.type_attr == y.type_attr && x.number_attr == y.number_attr &&
           x.type_list_attr == y.type_list_attr && x.is_ref == y.is_ref;
  });
}

// Nodes compare by name: a file may hold them in another order.
bool same_nodes(const Function& a, const Function& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  const auto sorted = [](const Function& function) {
    std::vector<const NodeRecord*> nodes;
    for (const NodeRecord& node : function.nodes) nodes.push_back(&node);
    std::ranges::sort(nodes, {}, [](const NodeRecord* node) -> const std::string& { return node->name; });
    return nodes;
  };
  return std::ranges::equal(sorted(a), sorted(b), [](const NodeRecord* x, const NodeRecord* y) { return *x == *y; });
}

bool same_function(const Function& a, const Function& b) {
  return same_args(a.signature.inputs, b.signature.inputs) && same_args(a.signature.outputs, b.signature.outputs) &&
         a.returns == b.returns && a.control_returns == b.control_returns && same_nodes(a, b);
}

}  // namespace

FunctionCallRegistrar::FunctionCallRegistrar(const OpSpec& spec) { call_spec = &spec; }

std::shared_ptr<const Function> FunctionLibrary::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

void FunctionLibrary::add(std::shared_ptr<const Function> function) {
  const std::string& name = function->signature.name;
  if (name.empty()) throw invalid_argument("a function has no name");
  if (caudal::find_op(name) != nullptr) {
    throw invalid_argument("function '", name, "' cannot be added: an op is called so")
        .hint("Give the function another name.");
  }
  std::lock_guard lock(mutex_);
  const auto [found, inserted] = functions_.emplace(name, function);
  if (inserted || found->second == function || same_function(*found->second, *function)) return;
  throw invalid_argument("function '", name, "' cannot be added: a different function of this name is in the library");
}

std::string FunctionLibrary::unique_name(std::string_view base) {
  std::lock_guard lock(mutex_);
  const auto [count, first] = name_counts_.emplace(base, 0);
  std::string name(base);
  // A name that was given and is in no function yet is used all the same.
  const auto given = [&](const std::string& wanted) {
    return wanted == base ? !first : name_counts_.find(wanted) != name_counts_.end();
  };
  while (given(name) || functions_.contains(name) || caudal::find_op(name) != nullptr) {
    name = internal::concat(base, '_', ++count->second);
  }
  name_counts_.emplace(name, 0);
  return name;
}

std::map<std::string, std::shared_ptr<const Function>> FunctionLibrary::all() const {
  std::lock_guard lock(mutex_);
  return {functions_.begin(), functions_.end()};
}

std::string FunctionLibrary::gradient_of(std::string_view function) const {
  std::lock_guard lock(mutex_);
  const auto found = gradients_.find(function);
  return found == gradients_.end() ? std::string() : found->second;
}

void FunctionLibrary::set_gradient(std::string_view function, std::string_view gradient) {
  std::lock_guard lock(mutex_);
  const auto [found, inserted] = gradients_.emplace(function, gradient);
  if (!inserted && found->second != gradient) {
    throw invalid_argument("function '", function, "' has the gradient '", found->second, "' already; '", gradient,
                           "' cannot take its place");
  }
}

std::map<std::string, std::string> FunctionLibrary::gradients() const {
  std::lock_guard lock(mutex_);
  return {gradients_.begin(), gradients_.end()};
}

const Op* FunctionLibrary::call_op(std::string_view name) const {
  std::lock_guard lock(mutex_);
  if (const auto known = call_ops_.find(name); known != call_ops_.end()) return known->second.get();
  const auto function = functions_.find(name);
  if (function == functions_.end() || call_spec == nullptr) return nullptr;
  auto op = std::make_unique<Op>(Op{call_spec, function->second->signature});
  return call_ops_.emplace(name, std::move(op)).first->second.get();
}

}  // namespace caudal::inline v0
