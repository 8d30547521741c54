#include "caudal/rl/atari/executable_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace caudal::inline v0::rl::atari {

ExecutableMemory::ExecutableMemory(std::size_t size) : size_(size) {
  const int file = memfd_create("caudal-translated", MFD_CLOEXEC);
  if (file < 0) return;
  void* writable = MAP_FAILED;
  void* executable = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(size)) == 0) {
    writable = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    executable = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  }
  close(file);
  if (writable != MAP_FAILED) writable_ = static_cast<std::uint8_t*>(writable);
  if (executable != MAP_FAILED && writable_ != nullptr) executable_ = static_cast<std::uint8_t*>(executable);
}

ExecutableMemory::~ExecutableMemory() {
  if (writable_ != nullptr) munmap(writable_, size_);
  if (executable_ != nullptr) munmap(executable_, size_);
}

}  // namespace caudal::inline v0::rl::atari
