#include "caudal/base/error.h"
#include "caudal/formats/npy.h"

// Any bytes as .npy and as .npz. What can be read is written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    caudal::parse_npz(bytes);
  } catch (const caudal::Error&) {
  }
  try {
    const caudal::Tensor tensor = caudal::parse_npy(bytes);
    if (!caudal::identical(caudal::parse_npy(caudal::npy_bytes(tensor)), tensor)) __builtin_trap();
  } catch (const caudal::Error&) {
  }
  return 0;
}
