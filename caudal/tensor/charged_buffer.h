// Host memory that is charged to an account until its buffer goes.
#pragma once

#include <cstddef>
#include <memory>

#include "caudal/tensor/buffer.h"

namespace caudal::inline v0 {

// Throws RESOURCE_EXHAUSTED if the account or the host has no `bytes` more; charges nothing then. Thread-safe.
BufferRef allocate_charged(std::size_t bytes, const std::shared_ptr<MemoryAccount>& account);

}  // namespace caudal::inline v0
