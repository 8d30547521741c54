#include "caudal/base/error.h"
#include "caudal/formats/gif_reader.h"

// The first byte chooses the options, the rest is the picture.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    caudal::decode_gif({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0] % 5);
  } catch (const caudal::Error&) {
  }
  return 0;
}
