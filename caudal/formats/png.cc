#include "caudal/formats/png.h"

#include <png.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/formats/compression.h"

namespace caudal::inline v0 {
namespace {

constexpr uint64_t kMaxValues = uint64_t{1} << 29;
// ITU-R BT.601; blue has the rest.
constexpr double kRedWeight = 0.299, kGreenWeight = 0.587;

// libpng reports errors by longjmp, over which no destructor may be skipped: the functions that set a jump point below
// hold plain data only, and everything that owns memory lives in the caller.
struct Failure {
  char text[120] = "unknown fault";
};

void on_error(png_structp png, png_const_charp text) {
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::strncpy(failure->text, text, sizeof failure->text - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

struct Source {
  const char* at;
  size_t left;
};

void read_source(png_structp png, png_bytep out, size_t size) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (size > source->left) png_error(png, "the picture is cut off");
  std::memcpy(out, source->at, size);
  source->at += size;
  source->left -= size;
}

void append_to_string(png_structp png, png_bytep data, size_t size) {
  try {
    static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(data), size);
  } catch (...) {
    png_error(png, "no memory");
  }
}
void flush_nothing(png_structp) {}

// libpng's two structures, freed together.
class Reader {
 public:
  explicit Reader(Failure* failure) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, failure, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw resource_exhausted("no memory for libpng");
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  png_structp png() { return png_; }
  png_infop info() { return info_; }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class Writer {
 public:
  explicit Writer(Failure* failure) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, failure, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw resource_exhausted("no memory for libpng");
  }
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  png_structp png() { return png_; }
  png_infop info() { return info_; }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

bool read_header(png_structp png, png_infop info, Source* source) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, source, read_source);
  png_set_user_limits(png, 1 << 26, 1 << 26);
  png_set_chunk_malloc_max(png, 1 << 24);
  png_read_info(png, info);
  return true;
}

// Asks for the conversions; `channels` is from 1 to 4.
bool set_conversions(png_structp png, png_infop info, int channels, bool wide) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const int color = png_get_color_type(png, info);
  const bool transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0, want_alpha = channels % 2 == 0;
  const bool is_gray = (color & PNG_COLOR_MASK_COLOR) == 0, want_gray = channels < 3;
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (is_gray && png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (transparent) png_set_tRNS_to_alpha(png);
  if (!want_alpha) png_set_strip_alpha(png);
  if (want_alpha && !has_alpha && !transparent) png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);  // opaque
  if (!wide) png_set_strip_16(png);
  if (want_gray && !is_gray) png_set_rgb_to_gray(png, 1, kRedWeight, kGreenWeight);
  if (!want_gray && is_gray) png_set_gray_to_rgb(png);
  if (wide) png_set_swap(png);  // samples are big-endian in the file
  png_set_packing(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool read_rows(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

struct Layout {
  uint32_t width, height;
  int color, depth, compression;
};

bool write_rows(png_structp png, png_infop info, const Layout& layout, std::string* out, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, out, append_to_string, flush_nothing);
  png_set_compression_level(png, layout.compression);
  png_set_compression_mem_level(png, 9);
  png_set_IHDR(png, info, layout.width, layout.height, layout.depth, layout.color, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (layout.depth == 16) png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, info);
  return true;
}

std::vector<png_bytep> row_pointers(char* data, int64_t height, size_t row_bytes) {
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = reinterpret_cast<png_bytep>(data) + i * row_bytes;
  return rows;
}

int channels_of_file(png_structp png, png_infop info) {
  const int color = png_get_color_type(png, info);
  if (color == PNG_COLOR_TYPE_PALETTE) return png_get_valid(png, info, PNG_INFO_tRNS) != 0 ? 4 : 3;
  return png_get_channels(png, info);
}

// In place, from the end: 8-bit samples become 16-bit ones.
void widen(Tensor* picture) {
  auto* wide = picture->data<uint16_t>();
  const auto* narrow = reinterpret_cast<const uint8_t*>(wide);
  for (int64_t i = picture->num_elements() - 1; i >= 0; --i) wide[i] = static_cast<uint16_t>(narrow[i] * 257);
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

Tensor decode_png(std::string_view bytes, int channels, DType dtype) {
  if (channels < 0 || channels > 4) throw invalid_argument("PNG pictures have 1 to 4 channels, not ", channels);
  if (dtype != uint8 && dtype != uint16)
    throw invalid_argument("PNG pictures give uint8 or uint16, not ", dtype_name(dtype));
  if (!is_png(bytes)) throw data_loss("these bytes are no PNG picture");
  Failure failure;
  Reader reader(&failure);
  Source source{bytes.data(), bytes.size()};
  if (!read_header(reader.png(), reader.info(), &source)) throw data_loss("PNG picture: ", failure.text);
  const uint64_t width = png_get_image_width(reader.png(), reader.info());
  const uint64_t height = png_get_image_height(reader.png(), reader.info());
  if (png_get_rowbytes(reader.png(), reader.info()) * height / kMaxInflation > bytes.size())
    throw data_loss("PNG picture: ", bytes.size(), " bytes cannot hold ", width, " x ", height, " pixels");
  if (channels == 0) channels = channels_of_file(reader.png(), reader.info());
  if (width * height > kMaxValues / static_cast<uint64_t>(channels))
    throw resource_exhausted("PNG picture: ", width, " x ", height, " pixels are too many");
  const bool wide_file = png_get_bit_depth(reader.png(), reader.info()) == 16, wide = dtype == uint16 && wide_file;
  if (!set_conversions(reader.png(), reader.info(), channels, wide)) throw data_loss("PNG picture: ", failure.text);
  Tensor picture = Tensor::zeros(dtype, {static_cast<int64_t>(height), static_cast<int64_t>(width), channels});
  const size_t row_bytes = png_get_rowbytes(reader.png(), reader.info());
  if (row_bytes != width * static_cast<uint64_t>(channels) * (wide ? 2 : 1))
    throw internal_error("PNG picture: rows of ", row_bytes, " bytes for ", width, " pixels");
  std::vector<png_bytep> rows = row_pointers(picture.raw(), static_cast<int64_t>(height), row_bytes);
  if (!read_rows(reader.png(), rows.data())) throw data_loss("PNG picture: ", failure.text);
  if (dtype == uint16 && !wide_file) widen(&picture);
  return picture;
}

std::string encode_png(const Tensor& picture, int compression) {
  const bool fits = (picture.dtype() == uint8 || picture.dtype() == uint16) && picture.rank() == 3 &&
                    picture.dim(2) >= 1 && picture.dim(2) <= 4 && picture.num_elements() > 0 &&
                    picture.dim(0) < (1 << 26) && picture.dim(1) < (1 << 26);
  if (!fits)
    throw invalid_argument("a PNG picture is uint8 or uint16 [height, width, 1 to 4], not ", picture.describe());
  if (compression < -1 || compression > 9)
    throw invalid_argument("compression ", compression, " of a PNG picture is not from -1 to 9");
  static constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                    PNG_COLOR_TYPE_RGB_ALPHA};
  const Layout layout{static_cast<uint32_t>(picture.dim(1)), static_cast<uint32_t>(picture.dim(0)),
                      kColors[picture.dim(2) - 1], picture.dtype() == uint16 ? 16 : 8, compression};
  Failure failure;
  Writer writer(&failure);
  std::string out;
  const size_t row_bytes = picture.byte_size() / static_cast<size_t>(picture.dim(0));
  // libpng does not write to the rows, but takes them as if.
  std::vector<png_bytep> rows = row_pointers(const_cast<char*>(picture.raw()), picture.dim(0), row_bytes);
  if (!write_rows(writer.png(), writer.info(), layout, &out, rows.data()))
    throw internal_error("writing of a PNG picture: ", failure.text);
  return out;
}

}  // namespace caudal::inline v0
