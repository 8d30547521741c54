#include "caudal/runtime/cpu_device.h"

#include <utility>

#include "caudal/base/error.h"
#include "caudal/tensor/charged_buffer.h"

namespace caudal::inline v0 {
namespace {

class AccountedAllocator final : public Allocator {
 public:
  explicit AccountedAllocator(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
  std::string name() const override { return "cpu"; }
  BufferRef allocate(std::size_t bytes) override { return allocate_charged(bytes, account_); }

 private:
  std::shared_ptr<MemoryAccount> account_;
};

// Work on the CPU is done when the call returns.
class ImmediateStream final : public Stream {
 public:
  void on_finished(std::function<void()> done) override { done(); }
  void synchronize() override {}
};

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, std::shared_ptr<MemoryAccount> account)
      : allocator_(std::move(account)), own_pool_(threads > 0 ? std::make_unique<ThreadPool>(threads) : nullptr) {}

  const std::string& name() const override { return name_; }
  std::string_view type() const override { return "CPU"; }
  Allocator& allocator() override { return allocator_; }
  ThreadPool& pool() override { return own_pool_ ? *own_pool_ : default_pool(); }
  Stream& stream() override { return stream_; }
  void copy_to_host(const Tensor& from, std::function<void(Tensor)> done) override { done(from); }
  void copy_from_host(const Tensor& from, std::function<void(Tensor)> done) override { done(from); }

 private:
  std::string name_ = "/job:localhost/replica:0/task:0/device:CPU:0";
  AccountedAllocator allocator_;
  std::unique_ptr<ThreadPool> own_pool_;
  ImmediateStream stream_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int threads, std::shared_ptr<MemoryAccount> account) {
  return std::make_unique<CpuDevice>(threads, std::move(account));
}

}  // namespace caudal::inline v0
