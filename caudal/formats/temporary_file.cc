#include "caudal/formats/temporary_file.h"

#include <unistd.h>

#include <atomic>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

std::string temporary_name(std::string_view path) {
  static std::atomic<uint64_t> counter = 0;
  return internal::concat(path, ".tempstate", getpid(), '-', counter++);
}

void remove_quietly(Env& env, const std::string& path) {
  try {
    env.remove(path);
  } catch (const Error&) {
    // It does no harm; the failure that led here tells more.
  }
}

}  // namespace caudal::inline v0
