#include "caudal/base/memory_env.h"
#include "caudal/formats/idx.h"

// Any bytes as a file of pictures: a tensor or an Error, and no more memory than the file justifies.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  caudal::MemoryEnv env;
  env.create("x")->append({reinterpret_cast<const char*>(data), size});
  try {
    caudal::read_idx(env, "x");
  } catch (const caudal::Error&) {
  }
  return 0;
}
