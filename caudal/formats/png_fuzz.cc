#include "caudal/base/error.h"
#include "caudal/formats/png.h"

// The first byte chooses channels and depth, the rest is the picture.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    caudal::decode_png({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0] % 5,
                       data[0] >= 128 ? caudal::uint16 : caudal::uint8);
  } catch (const caudal::Error&) {
  }
  return 0;
}
