#include "caudal/core/variable_storage.h"

#include <algorithm>
#include <utility>

namespace caudal::inline v0 {

VariableStorage::VariableStorage(std::string name, DType dtype, PartialShape shape)
    : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

Error VariableStorage::uninitialized() const {
  return failed_precondition("Attempting to use uninitialized value ", name_, ", a variable ", dtype_, shape_)
      .hint("Run global_variables_initializer() or restore a checkpoint first.");
}

bool VariableStorage::is_initialized() const {
  std::lock_guard lock(mutex_);
  return value_.valid();
}

Tensor VariableStorage::read() const {
  Tensor value = read_if_initialized();
  if (!value.valid()) throw uninitialized();
  return value;
}

Tensor VariableStorage::read_if_initialized() const {
  std::lock_guard lock(mutex_);
  return value_;
}

std::uint64_t VariableStorage::version() const {
  std::lock_guard lock(mutex_);
  return version_;
}

void VariableStorage::assign(Tensor value, bool validate_shape) {
  if (value.dtype() != dtype_) {
    throw invalid_argument("variable '", name_, "' is ", dtype_, "; a value ", value.describe(), " was assigned");
  }
  if (validate_shape && !shape_.compatible(value.shape())) {
    throw invalid_argument("Assign requires shapes of both tensors to match. Variable '", name_, "' has shape ", shape_,
                           "; a value ", value.describe(), " was assigned")
        .hint("Assign a value of the declared shape, or with validate_shape = false to change it.");
  }
  Tensor old;  // freed outside the lock
  std::lock_guard lock(mutex_);
  old = std::exchange(value_, std::move(value));
  ++version_;
}

Tensor& VariableStorage::mutable_value_locked() {
  if (!value_.valid()) throw uninitialized();
  if (!value_.is_sole_owner()) value_ = value_.clone();
  ++version_;
  return value_;
}

void VariableStorage::update(const std::function<void(Tensor&)>& write) {
  std::lock_guard lock(mutex_);
  write(mutable_value_locked());
}

std::string VariableStorage::describe() const { return internal::concat("variable '", name_, "': ", dtype_, shape_); }

VariableStorage::Lock::Lock(std::initializer_list<VariableStorage*> variables) : variables_(variables) {
  std::ranges::sort(variables_);
  const auto repeated = std::ranges::unique(variables_);
  variables_.erase(repeated.begin(), repeated.end());
  for (VariableStorage* variable : variables_) variable->mutex_.lock();
}

VariableStorage::Lock::~Lock() {
  for (VariableStorage* variable : variables_) variable->mutex_.unlock();
}

}  // namespace caudal::inline v0
