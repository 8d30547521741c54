#include "caudal/ops/native_function.h"

#include <map>
#include <mutex>
#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

struct Registry {
  std::mutex mutex;
  std::int64_t count = 0;
  std::map<std::string, std::shared_ptr<const NativeFunction>, std::less<>> functions;
};

Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

}  // namespace

NativeRegistration register_native_function(NativeFunction function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto token = std::make_unique<std::string>(internal::concat("caudal:", all.count++));
  all.functions.emplace(*token, std::make_shared<const NativeFunction>(std::move(function)));
  return {token.release(), [](const std::string* known) {
            std::shared_ptr<const NativeFunction> dropped;  // destroyed outside the lock
            Registry& all = registry();
            const std::lock_guard lock(all.mutex);
            dropped = std::move(all.functions.extract(*known).mapped());
            delete known;
          }};
}

std::shared_ptr<const NativeFunction> find_native_function(std::string_view token) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(token);
  return found == all.functions.end() ? nullptr : found->second;
}

}  // namespace caudal::inline v0
