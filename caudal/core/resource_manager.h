// Containers of named resources: variables, queues, readers, tables.
//
// A container is a namespace that lives until it is reset; "" is the default one. A resource is found by (container,
// type, name) and owned in common by the manager and its users. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/tensor/resource_handle.h"

namespace caudal::inline v0 {

class CAUDAL_API ResourceManager {
 public:
  // The resource, made by `make` if there is none yet. `make` runs under the manager's lock and must not call it.
  template <class T>
  std::shared_ptr<T> get_or_create(std::string_view container, std::string_view name,
                                   const std::function<std::shared_ptr<T>()>& make) {
    return std::static_pointer_cast<T>(
        get_or_create_untyped(container, typeid(T), name, [&]() -> std::shared_ptr<Resource> { return make(); }));
  }
  // Null if there is none.
  template <class T>
  std::shared_ptr<T> find(std::string_view container, std::string_view name) const {
    return std::static_pointer_cast<T>(find_untyped(container, typeid(T), name));
  }
  // Throws NOT_FOUND naming container and resource.
  template <class T>
  std::shared_ptr<T> get(std::string_view container, std::string_view name) const {
    auto found = find<T>(container, name);
    if (found == nullptr) {
      throw not_found("no resource '", name, "' in container '", container.empty() ? "localhost" : container, "'");
    }
    return found;
  }
  template <class T>
  bool remove(std::string_view container, std::string_view name) {
    return remove_untyped(container, typeid(T), name);
  }
  // Forgets everything in a container; users that hold a resource keep it.
  void clear(std::string_view container);
  void clear_all();
  // What there is, described, for messages and tools.
  std::vector<std::string> describe() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // container, type, name
  static Key key(std::string_view container, const std::type_info& type, std::string_view name);
  std::shared_ptr<Resource> get_or_create_untyped(std::string_view container, const std::type_info& type,
                                                  std::string_view name,
                                                  const std::function<std::shared_ptr<Resource>()>& make);
  std::shared_ptr<Resource> find_untyped(std::string_view container, const std::type_info& type,
                                         std::string_view name) const;
  bool remove_untyped(std::string_view container, const std::type_info& type, std::string_view name);

  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Resource>> resources_;
};

}  // namespace caudal::inline v0
