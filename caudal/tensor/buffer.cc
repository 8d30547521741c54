#include "caudal/tensor/buffer.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "caudal/base/error.h"
#include "caudal/tensor/allocation_limit.h"

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

// Header and bytes in one block: an allocation is one call to the heap.
class HostBuffer final : public Buffer {
 public:
  static BufferRef make(std::size_t bytes) {
    constexpr std::size_t kHeader = Allocator::kAlignment;
    static_assert(sizeof(HostBuffer) <= kHeader);
    void* block = nullptr;
    if (bytes <= most_allocatable_bytes()) {
      const std::size_t padded = (bytes + kHeader - 1) / kHeader * kHeader;
      block = std::aligned_alloc(Allocator::kAlignment, kHeader + padded);
    }
    if (block == nullptr) {
      throw resource_exhausted("out of memory: ", bytes, " bytes could not be allocated on the host");
    }
    return BufferRef(new (block) HostBuffer(static_cast<char*>(block) + kHeader, bytes));
  }

 private:
  HostBuffer(void* data, std::size_t bytes) : Buffer(data, bytes, MemorySpace{}) {}
  void dispose() override {
    this->~HostBuffer();
    std::free(this);
  }
};

class HostAllocator final : public Allocator {
 public:
  std::string name() const override { return "host"; }
  BufferRef allocate(std::size_t bytes) override { return HostBuffer::make(bytes); }
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

Allocator& host_allocator() {
  static HostAllocator allocator;
  return allocator;
}

}  // namespace caudal::inline v0
