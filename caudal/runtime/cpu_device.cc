#include "caudal/runtime/cpu_device.h"

#include <utility>

#include "caudal/base/error.h"
#include "caudal/tensor/charged_buffer.h"

namespace caudal::inline v0 {
namespace {

// A buffer charged to a second account, which it pays back when it goes.
class CommonlyCharged final : public Buffer {
 public:
  // `common` has been charged.
  CommonlyCharged(BufferRef inner, std::shared_ptr<MemoryAccount> common)
      : Buffer(inner->data(), inner->bytes(), MemorySpace{}), inner_(std::move(inner)), common_(std::move(common)) {}

 private:
  ~CommonlyCharged() override { common_->refund(bytes()); }
  BufferRef inner_;
  std::shared_ptr<MemoryAccount> common_;
};

class AccountedAllocator final : public Allocator {
 public:
  AccountedAllocator(std::shared_ptr<MemoryAccount> account, std::shared_ptr<MemoryAccount> common)
      : account_(std::move(account)), common_(std::move(common)) {}
  std::string name() const override { return "cpu"; }
  BufferRef allocate(std::size_t bytes) override {
    if (common_ == nullptr) return allocate_charged(bytes, account_);
    common_->charge(bytes);
    try {
      return BufferRef(new CommonlyCharged(allocate_charged(bytes, account_), common_));
    } catch (...) {
      common_->refund(bytes);
      throw;
    }
  }

 private:
  std::shared_ptr<MemoryAccount> account_;
  std::shared_ptr<MemoryAccount> common_;  // may be null
};

// Work on the CPU is done when the call returns.
class ImmediateStream final : public Stream {
 public:
  void on_finished(std::function<void()> done) override { done(); }
  void synchronize() override {}
};

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, std::shared_ptr<MemoryAccount> account, std::shared_ptr<MemoryAccount> common)
      : allocator_(std::move(account), std::move(common)),
        own_pool_(threads > 0 ? std::make_unique<ThreadPool>(threads) : nullptr) {}

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

std::unique_ptr<Device> make_cpu_device(int threads, std::shared_ptr<MemoryAccount> account,
                                        std::shared_ptr<MemoryAccount> common) {
  return std::make_unique<CpuDevice>(threads, std::move(account), std::move(common));
}

}  // namespace caudal::inline v0
