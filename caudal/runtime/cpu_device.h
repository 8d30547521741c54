// The CPU as a device.
#pragma once

#include <memory>
#include <string>

#include "caudal/base/export.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/device.h"

namespace caudal::inline v0 {

// `threads` 0: the process's pool, shared with other sessions; else a pool of its own. `account` is charged for every
// buffer of the allocator; it may have a limit. So is `common`, if given: what several devices may hold together.
CAUDAL_API std::unique_ptr<Device> make_cpu_device(int threads, std::shared_ptr<MemoryAccount> account,
                                                   std::shared_ptr<MemoryAccount> common = nullptr);

}  // namespace caudal::inline v0
