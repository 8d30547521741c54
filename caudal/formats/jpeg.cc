#include "caudal/formats/jpeg.h"

#include <csetjmp>
#include <cstdio>  // jpeglib.h wants it

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kMaxValues = std::int64_t{1} << 29;
// A block of 8 x 8 pixels takes at least one bit.
constexpr std::int64_t kMaxPixelsPerByte = 512;
// What is missing of a cut file may still be asked for; then that much more.
constexpr std::int64_t kRecoveryFactor = 64;
// A progressive picture is refined scan by scan, each over all pixels; files with more of them are attacks.
constexpr int kMaxScans = 500;

// libjpeg reports errors by longjmp, over which no destructor may be skipped: the functions that set a jump point below
// hold plain data only, and everything that owns memory lives in their callers.
struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg hands out its address
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};

ErrorManager& errors_of(j_common_ptr info) { return *reinterpret_cast<ErrorManager*>(info->err); }

[[noreturn]] void on_error(j_common_ptr info) {
  ErrorManager& errors = errors_of(info);
  errors.base.format_message(info, errors.text);
  std::longjmp(errors.jump, 1);
}
void ignore_message(j_common_ptr) {}

void init_errors(ErrorManager* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = on_error;
  errors->base.output_message = ignore_message;
  std::strcpy(errors->text, "unknown fault");
}

// ---- Reading

struct Source {
  jpeg_source_mgr base;
  const JOCTET* data;
  std::size_t size;
  bool recover;
  std::int64_t repeats;
};

const JOCTET kEnd[2] = {0xff, JPEG_EOI};

Source& source_of(j_decompress_ptr info) { return *reinterpret_cast<Source*>(info->src); }

void init_source(j_decompress_ptr info) {
  info->src->next_input_byte = source_of(info).data;
  info->src->bytes_in_buffer = source_of(info).size;
}

// The bytes are at their end. Where libjpeg is in the middle of a block, the count that it left here is not zero: then
// it is told to wait for ever (the rows so far count), or, to recover, sees the last bytes once more: each block of the
// picture may need that some times, but bytes without an end would be asked for again and again.
::boolean fill_source(j_decompress_ptr info) {
  Source& source = source_of(info);
  if (source.base.bytes_in_buffer != 0) {
    const std::int64_t most = 1000 + std::int64_t{info->image_width} * info->image_height / 4;
    if (source.recover && ++source.repeats > most) ERREXIT(info, JERR_INPUT_EOF);
    return source.recover ? TRUE : FALSE;
  }
  if (source.size != 0 && source.recover && source.base.next_input_byte != kEnd) {
    source.base.next_input_byte = kEnd;
    source.base.bytes_in_buffer = 2;
    return TRUE;
  }
  ERREXIT(info, source.size == 0 ? JERR_INPUT_EMPTY : JERR_INPUT_EOF);
  return FALSE;
}

void skip_source(j_decompress_ptr info, long count) {  // NOLINT: libjpeg's signature
  if (count <= 0) return;
  jpeg_source_mgr& source = *info->src;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) {
    source.bytes_in_buffer = 0;
    fill_source(info);
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<std::size_t>(count);
}

void end_source(j_decompress_ptr) {}

void watch_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    ErrorManager& errors = errors_of(info);
    std::strcpy(errors.text, "too many scans");
    std::longjmp(errors.jump, 1);
  }
}

class Decoder {
 public:
  Decoder(std::string_view bytes, bool recover) {
    init_errors(&errors_);
    info_.err = &errors_.base;
    source_ = {};
    source_.base.init_source = init_source;
    source_.base.fill_input_buffer = fill_source;
    source_.base.skip_input_data = skip_source;
    source_.base.resync_to_restart = jpeg_resync_to_restart;
    source_.base.term_source = end_source;
    source_.data = reinterpret_cast<const JOCTET*>(bytes.data());
    source_.size = bytes.size();
    source_.recover = recover;
    progress_.progress_monitor = watch_scans;
    if (!read_header()) {
      jpeg_destroy_decompress(&info_);  // no destructor runs after a constructor that throws
      fail();
    }
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  jpeg_decompress_struct& info() { return info_; }
  [[noreturn]] void fail() const { throw data_loss("JPEG picture: ", errors_.text); }

  bool calculate_size() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_calc_output_dimensions(&info_);
    return true;
  }
  bool start() {
    if (setjmp(errors_.jump) != 0) return false;
    // TRUE is missing only where the bytes end in the header of a scan.
    return jpeg_start_decompress(&info_) != FALSE;
  }
  bool crop(JDIMENSION* x, JDIMENSION* width) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_crop_scanline(&info_, x, width);
    return true;
  }
  bool skip(JDIMENSION lines) {
    if (setjmp(errors_.jump) != 0) return false;
    return lines == 0 || jpeg_skip_scanlines(&info_, lines) == lines;
  }
  // -1 for an error, 0 at the end of the bytes, else 1.
  int read_line(JSAMPROW line) {
    if (setjmp(errors_.jump) != 0) return -1;
    return static_cast<int>(jpeg_read_scanlines(&info_, &line, 1));
  }
  bool finish() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_finish_decompress(&info_);
    return true;
  }

 private:
  bool read_header() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.src = &source_.base;
    info_.progress = &progress_;
    return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK;
  }

  ErrorManager errors_;
  jpeg_decompress_struct info_ = {};
  jpeg_progress_mgr progress_ = {};
  Source source_;
};

void set_colors(jpeg_decompress_struct& info, int channels) {
  if (channels == 1) {
    info.out_color_space = JCS_GRAYSCALE;
  } else if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) {
    info.out_color_space = JCS_CMYK;  // libjpeg cannot make RGB of it
  } else {
    info.out_color_space = JCS_RGB;
  }
}

void check_options(const JpegDecodeOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3) {
    throw invalid_argument("JPEG pictures have 1 or 3 channels, not ", options.channels);
  }
  if (options.ratio != 1 && options.ratio != 2 && options.ratio != 4 && options.ratio != 8) {
    throw invalid_argument("JPEG pictures are made 1, 2, 4 or 8 times smaller, not ", options.ratio);
  }
}

void check_size(const jpeg_decompress_struct& info, std::size_t bytes, bool recover) {
  const std::int64_t pixels = std::int64_t{info.image_width} * info.image_height;
  const auto limit = static_cast<std::int64_t>(bytes) * kMaxPixelsPerByte * (recover ? kRecoveryFactor : 1);
  if (pixels > limit) {
    throw data_loss("JPEG picture: ", bytes, " bytes cannot hold ", info.image_width, " x ", info.image_height,
                    " pixels");
  }
  if (std::int64_t{info.output_width} * info.output_height * info.num_components >= kMaxValues ||
      pixels * info.num_components >= 8 * kMaxValues) {
    throw resource_exhausted("JPEG picture: ", info.image_width, " x ", info.image_height, " pixels are too many");
  }
}

void check_crop(const JpegCrop& crop, const jpeg_decompress_struct& info) {
  const bool inside = crop.x >= 0 && crop.y >= 0 && crop.width > 0 && crop.height > 0 &&
                      crop.width <= info.output_width && crop.height <= info.output_height &&
                      crop.x <= info.output_width - crop.width && crop.y <= info.output_height - crop.height;
  if (!inside) {
    throw invalid_argument("the window of ", crop.height, " x ", crop.width, " at (", crop.y, ", ", crop.x,
                           ") is not within the picture of ", info.output_height, " x ", info.output_width);
  }
}

// Inks to light; Adobe's files hold the inks inverted.
void cmyk_to_rgb(const JSAMPLE* inks, std::int64_t pixels, bool inverted, JSAMPLE* rgb) {
  for (; pixels > 0; --pixels, inks += 4, rgb += 3) {
    for (int k = 0; k < 3; ++k) {
      rgb[k] = static_cast<JSAMPLE>(inverted ? inks[3] * inks[k] / 255 : (255 - inks[3]) * (255 - inks[k]) / 255);
    }
  }
}

// Reads the lines of the window; returns how many there were. Those that are missing are filled as the options say.
std::int64_t read_lines(Decoder& decoder, const JpegDecodeOptions& options, const JpegCrop& window, int channels,
                        JSAMPLE* out) {
  const jpeg_decompress_struct& info = decoder.info();
  const bool inks = info.out_color_space == JCS_CMYK;
  const std::int64_t line_size = window.width * channels;
  // libjpeg widens a crop to the left, up to the border of a block.
  const std::int64_t offset = (std::int64_t{info.output_width} - window.width) * (inks ? 4 : channels);
  std::vector<JSAMPLE> whole(inks || offset != 0 ? std::size_t{info.output_width} * (inks ? 4 : channels) : 0);
  for (std::int64_t y = 0; y < window.height; ++y, out += line_size) {
    const int got = decoder.read_line(whole.empty() ? out : whole.data());
    if (got < 0) decoder.fail();
    if (got == 0) {
      if (!options.try_recover_truncated) {
        std::fill_n(out, (window.height - y) * line_size, JSAMPLE{0});
        return y;
      }
      for (; y < window.height; ++y, out += line_size) {
        if (y == 0) {
          std::fill_n(out, line_size, JSAMPLE{0});
        } else {
          std::copy_n(out - line_size, line_size, out);
        }
      }
      break;
    }
    if (inks) {
      cmyk_to_rgb(whole.data() + offset, window.width, info.saw_Adobe_marker != FALSE, out);
    } else if (!whole.empty()) {
      std::copy_n(whole.data() + offset, line_size, out);
    }
  }
  return window.height;
}

// ---- Writing

struct Destination {
  jpeg_destination_mgr base;
  std::string* out;
  std::array<JOCTET, 1 << 16> buffer;
};

void init_destination(j_compress_ptr info) {
  auto& destination = *reinterpret_cast<Destination*>(info->dest);
  destination.base.next_output_byte = destination.buffer.data();
  destination.base.free_in_buffer = destination.buffer.size();
}

bool append(Destination& destination, std::size_t count) {
  try {
    destination.out->append(reinterpret_cast<const char*>(destination.buffer.data()), count);
    return true;
  } catch (...) {
    return false;
  }
}

::boolean empty_destination(j_compress_ptr info) {
  auto& destination = *reinterpret_cast<Destination*>(info->dest);
  if (!append(destination, destination.buffer.size())) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  init_destination(info);
  return TRUE;
}

void end_destination(j_compress_ptr info) {
  auto& destination = *reinterpret_cast<Destination*>(info->dest);
  if (!append(destination, destination.buffer.size() - destination.base.free_in_buffer)) {
    ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  }
}

constexpr std::string_view kXmpName("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr std::size_t kMaxMarker = 65533;

class Encoder {
 public:
  explicit Encoder(std::string* out) {
    init_errors(&errors_);
    info_.err = &errors_.base;
    destination_->base.init_destination = init_destination;
    destination_->base.empty_output_buffer = empty_destination;
    destination_->base.term_destination = end_destination;
    destination_->out = out;
  }
  ~Encoder() { jpeg_destroy_compress(&info_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  [[noreturn]] void fail() const { throw internal_error("writing of a JPEG picture: ", errors_.text); }

  bool encode(const Tensor& picture, const JpegEncodeOptions& options, std::string_view packet) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_compress(&info_);
    info_.dest = &destination_->base;
    info_.image_height = static_cast<JDIMENSION>(picture.dim(0));
    info_.image_width = static_cast<JDIMENSION>(picture.dim(1));
    info_.input_components = static_cast<int>(picture.dim(2));
    info_.in_color_space = picture.dim(2) == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    if (options.optimize_size) info_.optimize_coding = TRUE;
    info_.density_unit = options.density_in_cm ? 2 : 1;
    info_.X_density = static_cast<UINT16>(options.x_density);
    info_.Y_density = static_cast<UINT16>(options.y_density);
    jpeg_set_quality(&info_, options.quality, TRUE);
    if (options.progressive) jpeg_simple_progression(&info_);
    for (int i = 0; i < info_.num_components && !options.chroma_downsampling; ++i) {
      info_.comp_info[i].h_samp_factor = info_.comp_info[i].v_samp_factor = 1;
    }
    jpeg_start_compress(&info_, TRUE);
    if (!packet.empty()) {
      jpeg_write_marker(&info_, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(packet.data()),
                        static_cast<unsigned>(packet.size()));
    }
    const auto line_size = static_cast<std::size_t>(picture.dim(1) * picture.dim(2));
    while (info_.next_scanline < info_.image_height) {
      // libjpeg does not write to the line, but takes it as if.
      auto* line = reinterpret_cast<JSAMPLE*>(const_cast<char*>(picture.raw())) + info_.next_scanline * line_size;
      jpeg_write_scanlines(&info_, &line, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

 private:
  ErrorManager errors_;
  jpeg_compress_struct info_ = {};
  std::unique_ptr<Destination> destination_ = std::make_unique<Destination>();
};

}  // namespace

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

JpegShape jpeg_shape(std::string_view bytes) {
  Decoder decoder(bytes, false);
  if (!decoder.calculate_size()) decoder.fail();
  const jpeg_decompress_struct& info = decoder.info();
  return {info.output_height, info.output_width, info.output_components};
}

Tensor decode_jpeg(std::string_view bytes, const JpegDecodeOptions& options) {
  check_options(options);
  Decoder decoder(bytes, options.try_recover_truncated);
  jpeg_decompress_struct& info = decoder.info();
  const int channels = options.channels != 0 ? options.channels : std::min(info.num_components, 3);
  if (channels == 2) throw data_loss("JPEG picture: two channels mean no colours");
  set_colors(info, channels);
  info.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(options.ratio);
  info.dct_method = options.accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
  if (!decoder.calculate_size()) decoder.fail();
  check_size(info, bytes.size(), options.try_recover_truncated);
  if (!decoder.start()) decoder.fail();
  JpegCrop window{0, 0, info.output_height, info.output_width};
  if (options.crop) {
    check_crop(*options.crop, info);
    window = *options.crop;
    auto x = static_cast<JDIMENSION>(window.x), width = static_cast<JDIMENSION>(window.width);
    if (!decoder.crop(&x, &width) || !decoder.skip(static_cast<JDIMENSION>(window.y))) decoder.fail();
  }
  Tensor picture(uint8, {window.height, window.width, channels});
  const std::int64_t lines = read_lines(decoder, options, window, channels, reinterpret_cast<JSAMPLE*>(picture.raw()));
  const float share = static_cast<float>(lines) / static_cast<float>(window.height);
  if (share < std::min(1.0F, options.acceptable_fraction)) {
    throw data_loss("JPEG picture: only ", lines, " of ", window.height, " lines are there");
  }
  // A picture that ends early is not asked for its end mark. Of a crop, nobody looks at the rest.
  if (lines == window.height && !options.crop && info.output_scanline == info.output_height && !decoder.finish()) {
    decoder.fail();
  }
  return picture;
}

std::string encode_jpeg(const Tensor& picture, const JpegEncodeOptions& options) {
  const bool fits = picture.dtype() == uint8 && picture.rank() == 3 && (picture.dim(2) == 1 || picture.dim(2) == 3) &&
                    picture.num_elements() > 0 && picture.dim(0) <= JPEG_MAX_DIMENSION &&
                    picture.dim(1) <= JPEG_MAX_DIMENSION;
  if (!fits) {
    throw invalid_argument("a JPEG picture is uint8 [height, width, 1 or 3] with sides of 1 to ", JPEG_MAX_DIMENSION,
                           ", not ", picture.describe());
  }
  if (options.quality < 0 || options.quality > 100) {
    throw invalid_argument("quality ", options.quality, " of a JPEG picture is not from 0 to 100");
  }
  std::string packet;
  if (!options.xmp_metadata.empty()) packet = std::string(kXmpName) + options.xmp_metadata;
  if (packet.size() > kMaxMarker) {
    throw invalid_argument("xmp_metadata of ", options.xmp_metadata.size(), " bytes are too many");
  }
  std::string out;
  Encoder encoder(&out);
  if (!encoder.encode(picture, options, packet)) encoder.fail();
  return out;
}

}  // namespace caudal::inline v0
