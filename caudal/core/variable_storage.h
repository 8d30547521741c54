// Variables: one plain row-major tensor and a version, shared by reference edges (VariableV2) and resource handles
// (VarHandleOp).
//
// A read holds a reference to the memory and is old or new, never torn. A write happens in place if nobody else holds
// the memory, else on a copy. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API VariableStorage final : public Resource {
 public:
  VariableStorage(std::string name, DType dtype, PartialShape shape);

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  // The declared shape; a value must fit unless assigned with validate_shape = false.
  const PartialShape& shape() const { return shape_; }

  bool is_initialized() const;
  // Throws FAILED_PRECONDITION, telling how to initialise, if there is no value yet.
  Tensor read() const;
  // The value or an invalid tensor.
  Tensor read_if_initialized() const;
  std::uint64_t version() const;

  // Takes `value` (kept as it is: pass Tensor::keep() of step memory). Throws INVALID_ARGUMENT for another type, and
  // for a shape that does not fit the declared one if `validate_shape`.
  void assign(Tensor value, bool validate_shape = true);
  // Calls `write` under the lock with a tensor that may be overwritten, the current value in it, and counts a version.
  // Throws FAILED_PRECONDITION without a value.
  void update(const std::function<void(Tensor&)>& write);

  std::string describe() const override;

  // Several variables at once, in address order so that two updates cannot deadlock (ApplyMomentum holds var and
  // accum).
  class CAUDAL_API Lock {
   public:
    explicit Lock(std::initializer_list<VariableStorage*> variables);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::vector<VariableStorage*> variables_;
  };
  // The value for writing, in own memory. REQUIRES: a Lock holds this variable. Counts a version.
  Tensor& mutable_value_locked();

 private:
  Error uninitialized() const;

  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
  mutable std::mutex mutex_;
  Tensor value_;
  std::uint64_t version_ = 0;
};

}  // namespace caudal::inline v0
