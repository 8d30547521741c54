#include "caudal/core/resource_manager.h"

namespace caudal::inline v0 {

ResourceManager::Key ResourceManager::key(std::string_view container, const std::type_info& type,
                                          std::string_view name) {
  return {std::string(container), type.name(), std::string(name)};
}

std::shared_ptr<Resource> ResourceManager::get_or_create_untyped(
    std::string_view container, const std::type_info& type, std::string_view name,
    const std::function<std::shared_ptr<Resource>()>& make) {
  std::lock_guard lock(mutex_);
  const Key wanted = key(container, type, name);
  if (const auto found = resources_.find(wanted); found != resources_.end()) return found->second;
  auto made = make();  // before the insertion: a throwing maker leaves nothing behind
  resources_.emplace(wanted, made);
  return made;
}

std::shared_ptr<Resource> ResourceManager::find_untyped(std::string_view container, const std::type_info& type,
                                                        std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto found = resources_.find(key(container, type, name));
  return found == resources_.end() ? nullptr : found->second;
}

bool ResourceManager::remove_untyped(std::string_view container, const std::type_info& type, std::string_view name) {
  std::lock_guard lock(mutex_);
  return resources_.erase(key(container, type, name)) > 0;
}

void ResourceManager::clear(std::string_view container) {
  std::map<Key, std::shared_ptr<Resource>> dropped;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  for (auto it = resources_.begin(); it != resources_.end();) {
    if (std::get<0>(it->first) == container) {
      dropped.insert(resources_.extract(it++));
    } else {
      ++it;
    }
  }
}

void ResourceManager::clear_all() {
  std::map<Key, std::shared_ptr<Resource>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(resources_);
}

std::vector<std::string> ResourceManager::describe() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [key, resource] : resources_) lines.push_back(resource->describe());
  return lines;
}

}  // namespace caudal::inline v0
