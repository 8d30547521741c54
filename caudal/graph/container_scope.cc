#include "caudal/graph/container_scope.h"

#include <utility>

namespace caudal::inline v0 {
namespace {

std::string& container() {
  thread_local std::string name;
  return name;
}

}  // namespace

ContainerScope::ContainerScope(std::string_view name) : previous_(std::exchange(container(), std::string(name))) {}

ContainerScope::~ContainerScope() { container() = std::move(previous_); }

const std::string& current_container() { return container(); }

}  // namespace caudal::inline v0
