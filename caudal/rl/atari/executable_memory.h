// Memory for machine code that is written while the program runs.
//
// The same pages are mapped twice, once to be written and once to be executed, so that no page is ever both.
// Thread safety: constant but for the bytes, whose writer sees to order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caudal::inline v0::rl::atari {

class ExecutableMemory {
 public:
  // Not valid() where the system does not allow it.
  explicit ExecutableMemory(std::size_t size);
  ~ExecutableMemory();
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

  bool valid() const { return executable_ != nullptr; }
  std::size_t size() const { return size_; }
  std::uint8_t* writable() const { return writable_; }
  // Where the byte at writable() + offset is executed.
  const std::uint8_t* executable() const { return executable_; }

 private:
  std::size_t size_;
  std::uint8_t* writable_ = nullptr;
  std::uint8_t* executable_ = nullptr;
};

}  // namespace caudal::inline v0::rl::atari
