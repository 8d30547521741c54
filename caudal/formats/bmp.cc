#include "caudal/formats/bmp.h"

#include <algorithm>
#include <cstdint>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {
namespace {

constexpr std::size_t kHeader = 32;  // as far as the fields that are read
constexpr std::int64_t kMaxPixels = INT32_MAX / 8;

struct Header {
  std::int64_t pixels_at, width, height, channels, line_size;
  bool top_down;
};

std::int64_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::int32_t>(get_fixed<std::uint32_t>(bytes.data() + at));
}

Header header_of(std::string_view bytes) {
  if (bytes.size() < kHeader) throw data_loss("BMP picture: ", bytes.size(), " bytes do not hold a header");
  Header header{};
  header.pixels_at = number_at(bytes, 10);
  header.width = number_at(bytes, 18);
  header.height = number_at(bytes, 22);
  header.channels = get_fixed<std::uint16_t>(bytes.data() + 28) / 8;
  header.top_down = header.height < 0;
  header.height = std::abs(header.height);
  if (header.channels != 1 && header.channels != 3 && header.channels != 4) {
    throw data_loss("BMP picture: pixels of ", header.channels, " bytes; 1, 3 or 4 are known");
  }
  if (header.width <= 0 || header.height == 0 || header.pixels_at < 0) {
    throw data_loss("BMP picture: ", header.width, " x ", header.height, " pixels at byte ", header.pixels_at);
  }
  if (header.width * header.height >= kMaxPixels) {
    throw resource_exhausted("BMP picture: ", header.width, " x ", header.height, " pixels are too many");
  }
  header.line_size = (header.channels * header.width + 3) / 4 * 4;
  if (header.pixels_at + header.line_size * header.height != static_cast<std::int64_t>(bytes.size())) {
    throw data_loss("BMP picture: ", bytes.size(), " bytes are not ", header.pixels_at, " and ", header.height,
                    " lines of ", header.line_size);
  }
  return header;
}

}  // namespace

bool is_bmp(std::string_view bytes) { return bytes.starts_with("BM"); }

Tensor decode_bmp(std::string_view bytes, int channels) {
  if (channels != 0 && channels != 3 && channels != 4) {
    throw invalid_argument("BMP pictures have 3 or 4 channels, not ", channels);
  }
  if (!is_bmp(bytes)) throw data_loss("these bytes are no BMP picture");
  const Header header = header_of(bytes);
  const std::int64_t in_channels = header.channels, out_channels = channels != 0 ? channels : in_channels;
  Tensor picture(uint8, {header.height, header.width, out_channels});
  auto* out = picture.data<std::uint8_t>();
  for (std::int64_t y = 0; y < header.height; ++y) {
    const std::int64_t line = header.top_down ? y : header.height - 1 - y;
    const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data()) + header.pixels_at + line * header.line_size;
    for (std::int64_t x = 0; x < header.width; ++x, in += in_channels, out += out_channels) {
      // Colours stand as blue, green, red.
      for (std::int64_t k = 0; k < std::min<std::int64_t>(out_channels, 3); ++k)
        out[k] = in_channels == 1 ? in[0] : in[2 - k];
      if (out_channels == 4) out[3] = in_channels == 4 ? in[3] : 255;
    }
  }
  return picture;
}

}  // namespace caudal::inline v0
