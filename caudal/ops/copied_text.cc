#include "caudal/ops/copied_text.h"

#include <string>

#include "caudal/base/error.h"
#include "caudal/tensor/allocation_limit.h"

namespace caudal::inline v0 {

void check_copied_text(const RunContext& context, const Tensor& value, std::int64_t elements) {
  if (value.dtype() != DType::kString || value.num_elements() == 0) return;
  double bytes = 0;  // an estimate may be as large as it likes
  for (const std::string& text : value.flat<std::string>()) bytes += static_cast<double>(text.size());
  bytes *= static_cast<double>(elements) / static_cast<double>(value.num_elements());
  const MemoryAccount* account = context.step().memory;
  const std::size_t limit = account != nullptr && account->limit() > 0 ? account->limit() : most_allocatable_bytes();
  const std::size_t in_use = account != nullptr ? account->in_use() : 0;
  if (bytes + static_cast<double>(in_use) <= static_cast<double>(limit)) return;
  throw resource_exhausted("out of memory: text of ", static_cast<std::int64_t>(bytes / 1e6), " MB wanted, ", in_use,
                           " of ", limit, " bytes in use");
}

}  // namespace caudal::inline v0
