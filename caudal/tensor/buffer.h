// Reference-counted memory with a memory space, and the allocators that make it.
//
// Ownership: BufferRef shares a Buffer; the last one frees it. Counting is atomic; the bytes themselves are not
// guarded: whoever is the sole owner (Buffer::is_unique) may write, nobody else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Where bytes live. Only host memory may be dereferenced by the CPU.
struct MemorySpace {
  enum class Kind : std::uint8_t { kHost, kDevice };
  Kind kind = Kind::kHost;
  std::int16_t device = 0;  // index among the devices of its kind
  friend bool operator==(MemorySpace, MemorySpace) = default;
};

class CAUDAL_API Buffer {
 public:
  Buffer(void* data, std::size_t bytes, MemorySpace space) : data_(data), bytes_(bytes), space_(space) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  MemorySpace space() const { return space_; }
  // True if the memory is lent for a step (an arena) and so must not be kept beyond it.
  bool is_lent() const { return lent_; }
  bool is_unique() const { return references_.load(std::memory_order_acquire) == 1; }

 protected:
  virtual ~Buffer();
  // Called when the last reference goes; deletes or recycles the object.
  virtual void dispose() { delete this; }
  void set_lent() { lent_ = true; }

 private:
  friend class BufferRef;
  std::atomic<std::int64_t> references_{0};
  void* data_;
  std::size_t bytes_;
  MemorySpace space_;
  bool lent_ = false;
};

// Intrusive shared pointer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* buffer) : buffer_(buffer) { retain(); }
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) { retain(); }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() { release(); }

  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  void retain() {
    if (buffer_ != nullptr) buffer_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (buffer_ != nullptr && buffer_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) buffer_->dispose();
  }
  Buffer* buffer_ = nullptr;
};

// Makes buffers. Thread-safe. Memory is aligned to kAlignment and not cleared.
class CAUDAL_API Allocator {
 public:
  static constexpr std::size_t kAlignment = 64;
  virtual ~Allocator();
  virtual std::string name() const = 0;
  virtual MemorySpace space() const { return {}; }
  // Throws RESOURCE_EXHAUSTED, never aborts, if the memory cannot be had.
  virtual BufferRef allocate(std::size_t bytes) = 0;
};

// Counts bytes in use against a limit. Thread-safe; must outlive the buffers charged to it (shared ownership).
class CAUDAL_API MemoryAccount {
 public:
  // limit 0 = none.
  explicit MemoryAccount(std::size_t limit = 0) : limit_(limit) {}
  std::size_t limit() const { return limit_; }
  std::size_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }
  // Throws RESOURCE_EXHAUSTED if `bytes` more would pass the limit; charges nothing then.
  void charge(std::size_t bytes);
  void refund(std::size_t bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  std::size_t limit_;
  std::atomic<std::size_t> in_use_{0};
  std::atomic<std::size_t> peak_{0};
};

// The process's plain heap.
CAUDAL_API Allocator& host_allocator();

}  // namespace caudal::inline v0
