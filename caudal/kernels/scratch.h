// Working memory of one thread that is kept between calls, so that a steady step allocates nothing.
#pragma once

#include <cstddef>
#include <new>

namespace caudal::inline v0::kernels {

// Each user inside one call chain has its own slot.
enum class ScratchSlot { kPackedB, kSlab, kProduct, kPartial, kConvert, kCount };

// At least `bytes` bytes, aligned to 64, of the calling thread; the content is unspecified. Valid until the same thread
// asks for the same slot again. REQUIRES: the caller starts no parallel loop whose chunks use the slot while it holds
// the memory. Throws RESOURCE_EXHAUSTED if the system has no memory.
void* thread_scratch(ScratchSlot slot, std::size_t bytes);

// The same as elements of a plain type.
template <class T>
T* thread_scratch_of(ScratchSlot slot, std::size_t count) {
  return static_cast<T*>(thread_scratch(slot, count * sizeof(T)));
}

}  // namespace caudal::inline v0::kernels
