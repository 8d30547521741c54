// Containers of what nodes make: variables, queues, tables made in a ContainerScope are in a namespace of their own,
// which can be reset alone.
//
//   {
//     tf::ContainerScope scope("experiment");
//     tf::Variable w(0.0f);                     // attribute container = "experiment"
//   }
//
// Thread safety: the scopes of a thread are its own.
#pragma once

#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Stateful nodes made while it lives get this container, unless they ask for one themselves. Inner scopes replace outer
// ones; "" goes back to the default container.
class CAUDAL_API ContainerScope {
 public:
  explicit ContainerScope(std::string_view name);
  ~ContainerScope();
  ContainerScope(const ContainerScope&) = delete;
  ContainerScope& operator=(const ContainerScope&) = delete;

 private:
  std::string previous_;
};

// The container in force, for builders; "" for the default one.
CAUDAL_API const std::string& current_container();

}  // namespace caudal::inline v0
