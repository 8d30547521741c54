// _Send and _Recv: the two ends of an edge that leaves a step's graph, towards a client or another task.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// "SENDER;INCARNATION;RECEIVER;TENSOR;FRAME:ITERATION", the incarnation as 16 hexadecimal digits.
CAUDAL_API std::string rendezvous_key(std::string_view sender, std::uint64_t incarnation, std::string_view receiver,
                                      std::string_view tensor, std::uint64_t frame, std::int64_t iteration);

}  // namespace caudal::inline v0
