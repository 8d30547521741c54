#include "caudal/tensor/buffer.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/tensor/allocation_limit.h"
#include "caudal/tensor/charged_buffer.h"

namespace caudal::inline v0 {

std::size_t most_allocatable_bytes() {
  static const std::size_t most = [] {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGE_SIZE);
    const std::size_t fallback = SIZE_MAX / 4;
    return pages > 0 && page > 0 ? 2 * static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : fallback;
  }();
  return most;
}

namespace {

constexpr std::size_t kHeader = Allocator::kAlignment;

// Small blocks that were freed, kept by the thread that freed them: the values of scalars and short vectors come and go
// a million times a second. Sanitizers see every block given back.
class SmallBlocks {
 public:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::size_t kMostBytes = 0;
#else
  static constexpr std::size_t kMostBytes = 512;  // without the header
#endif
  ~SmallBlocks() {
    for (Free* list : free_) {
      while (list != nullptr) std::free(std::exchange(list, list->next));
    }
    gone_ = true;
  }

  static void* take(std::size_t padded) {
    if (padded > kMostBytes || gone_) return nullptr;
    Free*& list = here_.free_[padded / kHeader];
    if (list == nullptr) return nullptr;
    --here_.count_[padded / kHeader];
    return std::exchange(list, list->next);
  }
  // False if the block is not kept.
  static bool keep(void* block, std::size_t padded) {
    if (padded > kMostBytes || gone_ || here_.count_[padded / kHeader] >= kMostKept) return false;
    ++here_.count_[padded / kHeader];
    Free*& list = here_.free_[padded / kHeader];
    list = new (block) Free{list};
    return true;
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr int kMostKept = 256;
  static thread_local SmallBlocks here_;
  static thread_local bool gone_;  // the thread is ending; buffers may outlive its cache
  std::array<Free*, kMostBytes / kHeader + 1> free_{};
  std::array<int, kMostBytes / kHeader + 1> count_{};
};

thread_local SmallBlocks SmallBlocks::here_;
thread_local bool SmallBlocks::gone_ = false;

// Header and bytes in one block: an allocation is one call to the heap.
class HostBuffer final : public Buffer {
 public:
  static BufferRef make(std::size_t bytes, std::shared_ptr<MemoryAccount> account) {
    static_assert(sizeof(HostBuffer) <= kHeader);
    void* block = nullptr;
    if (bytes <= most_allocatable_bytes()) {
      const std::size_t padded = padded_size(bytes);
      block = SmallBlocks::take(padded);
      if (block == nullptr) block = std::aligned_alloc(Allocator::kAlignment, kHeader + padded);
    }
    if (block == nullptr) {
      throw resource_exhausted("out of memory: ", bytes, " bytes could not be allocated on the host");
    }
    return BufferRef(new (block) HostBuffer(static_cast<char*>(block) + kHeader, bytes, std::move(account)));
  }

 private:
  HostBuffer(void* data, std::size_t bytes, std::shared_ptr<MemoryAccount> account)
      : Buffer(data, bytes, MemorySpace{}), account_(std::move(account)) {}
  static std::size_t padded_size(std::size_t bytes) { return (bytes + kHeader - 1) / kHeader * kHeader; }
  void dispose() override {
    const std::size_t padded = padded_size(bytes());
    if (account_ != nullptr) account_->refund(bytes());
    this->~HostBuffer();
    if (!SmallBlocks::keep(this, padded)) std::free(this);
  }

  std::shared_ptr<MemoryAccount> account_;  // null: nobody counts
};

class HostAllocator final : public Allocator {
 public:
  std::string name() const override { return "host"; }
  BufferRef allocate(std::size_t bytes) override { return HostBuffer::make(bytes, nullptr); }
};

}  // namespace

Buffer::~Buffer() = default;
Allocator::~Allocator() = default;

void MemoryAccount::charge(std::size_t bytes) {
  const std::size_t before = in_use_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_ != 0 && (bytes > limit_ || before > limit_ - bytes)) {
    refund(bytes);
    throw resource_exhausted("out of memory: ", bytes, " bytes wanted, ", before, " of ", limit_, " in use");
  }
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (before + bytes > peak && !peak_.compare_exchange_weak(peak, before + bytes, std::memory_order_relaxed)) {
  }
}

BufferRef allocate_charged(std::size_t bytes, const std::shared_ptr<MemoryAccount>& account) {
  account->charge(bytes);
  try {
    return HostBuffer::make(bytes, account);
  } catch (...) {
    account->refund(bytes);
    throw;
  }
}

Allocator& host_allocator() {
  static HostAllocator allocator;
  return allocator;
}

}  // namespace caudal::inline v0
