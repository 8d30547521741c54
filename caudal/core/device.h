// A device: its name, memory and the threads that its kernels use.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/buffer.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class ThreadPool;

// Work on one stream runs in order, apart from the host. The CPU device has one stream on which everything is done when
// the call returns.
class CAUDAL_API Stream {
 public:
  virtual ~Stream();
  // Calls `done` when everything enqueued so far is finished.
  virtual void on_finished(std::function<void()> done) = 0;
  virtual void synchronize() = 0;
};

// Thread-safe; lives as long as the session that made it.
class CAUDAL_API Device {
 public:
  virtual ~Device();
  // "/job:localhost/replica:0/task:0/device:CPU:0"
  virtual const std::string& name() const = 0;
  // "CPU", "GPU": the key of kernels.
  virtual std::string_view type() const = 0;
  virtual Allocator& allocator() = 0;
  // Threads for the work inside one kernel.
  virtual ThreadPool& pool() = 0;
  virtual Stream& stream() = 0;
  // Copies between this device's memory and the host's; `done` may be called before this returns.
  virtual void copy_to_host(const Tensor& from, std::function<void(Tensor)> done) = 0;
  virtual void copy_from_host(const Tensor& from, std::function<void(Tensor)> done) = 0;
};

}  // namespace caudal::inline v0
