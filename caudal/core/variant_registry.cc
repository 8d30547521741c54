#include "caudal/core/variant_registry.h"

#include <map>
#include <mutex>

#include "caudal/base/error.h"
#include "caudal/core/function_runtime.h"

namespace caudal::inline v0 {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<VariantOps>, std::less<>> types;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

VariantOps::~VariantOps() = default;

std::vector<Tensor> VariantOps::encode_tensors(const Variant&) const { return {}; }

Variant VariantOps::decode_tensors(std::string_view bytes, std::vector<Tensor> tensors) const {
  if (!tensors.empty()) throw data_loss("a variant of type '", type_name(), "' holds no tensors");
  return decode(bytes);
}

FunctionRuntime::~FunctionRuntime() = default;
FunctionRuntime::User::~User() = default;

void FunctionRuntime::add_user(std::weak_ptr<User> user) {
  const std::lock_guard lock(users_mutex_);
  std::erase_if(users_, [](const std::weak_ptr<User>& known) { return known.expired(); });
  users_.push_back(std::move(user));
}

void FunctionRuntime::end_users() {
  std::vector<std::weak_ptr<User>> users;
  {
    const std::lock_guard lock(users_mutex_);
    users.swap(users_);
  }
  for (const std::weak_ptr<User>& known : users) {
    if (const auto user = known.lock()) user->functions_end();
  }
}

void register_variant(std::unique_ptr<VariantOps> ops) {
  std::lock_guard lock(registry().mutex);
  std::string name(ops->type_name());
  registry().types[std::move(name)] = std::move(ops);
}

const VariantOps& variant_ops(std::string_view type_name) {
  std::lock_guard lock(registry().mutex);
  const auto found = registry().types.find(type_name);
  if (found == registry().types.end()) throw unimplemented("variant type '", type_name, "' is not registered");
  return *found->second;
}

}  // namespace caudal::inline v0
