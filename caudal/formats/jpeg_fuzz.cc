#include "caudal/base/error.h"
#include "caudal/formats/jpeg.h"

// The first byte chooses the options, the rest is the picture.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  caudal::JpegDecodeOptions options;
  options.channels = data[0] % 2 == 0 ? 0 : data[0] % 4;
  options.ratio = 1 << (data[0] >> 2) % 4;
  options.fancy_upscaling = (data[0] & 16) != 0;
  options.try_recover_truncated = (data[0] & 32) != 0;
  options.acceptable_fraction = (data[0] & 64) != 0 ? 0.5F : 1.0F;
  if ((data[0] & 128) != 0) options.crop = caudal::JpegCrop{1, 2, 3, 4};
  try {
    caudal::decode_jpeg({reinterpret_cast<const char*>(data) + 1, size - 1}, options);
  } catch (const caudal::Error&) {
  }
  return 0;
}
