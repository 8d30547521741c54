#include "caudal/formats/npy.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <optional>

#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/zip.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 20;
constexpr size_t kMaxFile = size_t{1} << 40;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parser of the header, a Python dict literal with three known keys.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!trim(rest_).empty() || !descr || !order || !shape) fail();
    return header;
  }

 private:
  [[noreturn]] static void fail() { throw data_loss("malformed npy header"); }
  bool accept(char c) {
    rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \n\t"), rest_.size()));
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"' && !accept('"')) {
      if (accept('[')) throw unimplemented("npy arrays with named fields");
      fail();
    }
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail();
    const std::string out(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return out;
  }
  bool boolean() {
    accept(' ');
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fail();
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> out;
    expect('(');
    while (!accept(')')) {
      const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      int64_t size;
      if (!parse_int64(rest_.substr(0, end), &size)) fail();
      out.push_back(size);
      rest_.remove_prefix(end);
      accept('L');  // written by Python 2
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string_view rest_;
};

struct Element {
  DType dtype = DType::kInvalid;
  size_t size = 0;  // bytes in the file
  size_t swap = 1;  // bytes to reverse together, 1 for none
  bool utf32 = false;
};

Element element_of(const std::string& descr) {
  Element out;
  if (descr.size() < 3) throw data_loss("malformed npy type '", escaped(descr), "'");
  const char order = descr[0], kind = descr[1];
  int64_t size;
  if (!parse_int64(std::string_view(descr).substr(2), &size) || size < 0 || size > (1 << 30))
    throw data_loss("malformed npy type '", escaped(descr), "'");
  if (kind == 'O')
    throw invalid_argument("the npy file holds pickled Python objects, which are not read: they could run any code")
        .hint("Save an array of numbers or strings instead.");
  out.size = static_cast<size_t>(size);
  if (kind == 'S' || kind == 'U') {
    out.dtype = DType::kString;
    out.utf32 = kind == 'U';
    if (out.utf32) out.size *= 4;
    if (out.utf32 && order == '>') out.swap = 4;
    return out;
  }
  static constexpr struct {
    char kind;
    int size;
    DType dtype;
  } kTypes[] = {{'b', 1, DType::kBool},      {'i', 1, DType::kInt8},       {'i', 2, DType::kInt16},
                {'i', 4, DType::kInt32},     {'i', 8, DType::kInt64},      {'u', 1, DType::kUint8},
                {'u', 2, DType::kUint16},    {'u', 4, DType::kUint32},     {'u', 8, DType::kUint64},
                {'f', 2, DType::kHalf},      {'f', 4, DType::kFloat},      {'f', 8, DType::kDouble},
                {'c', 8, DType::kComplex64}, {'c', 16, DType::kComplex128}};
  for (const auto& type : kTypes)
    if (type.kind == kind && type.size == size) out.dtype = type.dtype;
  if (out.dtype == DType::kInvalid) throw unimplemented("npy type '", escaped(descr), "'");
  if (order == '>') out.swap = kind == 'c' ? out.size / 2 : out.size;
  return out;
}

std::string descr_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kInt8:
      return "|i1";
    case DType::kUint8:
      return "|u1";
    case DType::kInt16:
      return "<i2";
    case DType::kUint16:
      return "<u2";
    case DType::kInt32:
      return "<i4";
    case DType::kUint32:
      return "<u4";
    case DType::kInt64:
      return "<i8";
    case DType::kUint64:
      return "<u8";
    case DType::kHalf:
      return "<f2";
    case DType::kFloat:
    case DType::kBFloat16:
      return "<f4";
    case DType::kDouble:
      return "<f8";
    case DType::kComplex64:
      return "<c8";
    case DType::kComplex128:
      return "<c16";
    default:
      throw unimplemented("npy files of ", dtype_name(dtype));
  }
}

void append_utf8(uint32_t point, std::string* out) {
  if (point < 0x80) {
    *out += static_cast<char>(point);
  } else if (point < 0x800) {
    *out += static_cast<char>(0xc0 | (point >> 6));
    *out += static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    *out += static_cast<char>(0xe0 | (point >> 12));
    *out += static_cast<char>(0x80 | ((point >> 6) & 0x3f));
    *out += static_cast<char>(0x80 | (point & 0x3f));
  } else {
    *out += static_cast<char>(0xf0 | (point >> 18));
    *out += static_cast<char>(0x80 | ((point >> 12) & 0x3f));
    *out += static_cast<char>(0x80 | ((point >> 6) & 0x3f));
    *out += static_cast<char>(0x80 | (point & 0x3f));
  }
}

// One fixed-width string without its padding of zeros.
std::string text_of(const Element& element, std::string_view bytes) {
  if (!element.utf32) return std::string(bytes.substr(0, bytes.find_last_not_of('\0') + 1));
  std::string out;
  size_t end = bytes.size();
  while (end >= 4 && get_fixed<uint32_t>(bytes.data() + end - 4) == 0) end -= 4;
  for (size_t at = 0; at + 4 <= end; at += 4) {
    const auto point = get_fixed<uint32_t>(bytes.data() + at);
    if (point > 0x10ffff) throw data_loss("a text in an npy file is no Unicode");
    append_utf8(point, &out);
  }
  return out;
}

void swap_bytes(std::string* data, size_t width) {
  if (width < 2) return;
  for (size_t at = 0; at + width <= data->size(); at += width)
    std::reverse(data->begin() + static_cast<ptrdiff_t>(at), data->begin() + static_cast<ptrdiff_t>(at + width));
}

// Elements of `data`, first index fastest, brought into row-major order.
std::string to_row_major(const std::string& data, const std::vector<int64_t>& shape, size_t element) {
  std::string out(data.size(), '\0');
  const auto rank = static_cast<int>(shape.size());
  std::vector<int64_t> index(shape.size(), 0), strides(shape.size());
  int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  int64_t from = 0;
  for (size_t to = 0; to + element <= out.size() && element > 0; to += element) {
    std::memcpy(out.data() + to, data.data() + static_cast<size_t>(from) * element, element);
    for (int i = rank - 1; i >= 0; --i) {
      from += strides[i];
      if (++index[i] < shape[i]) break;
      from -= strides[i] * index[i];
      index[i] = 0;
    }
  }
  return out;
}

Tensor tensor_of(const Element& element, const std::vector<int64_t>& shape, std::string_view data) {
  Tensor out(element.dtype, Shape(shape));
  if (element.dtype == DType::kString) {
    std::string* value = out.data<std::string>();
    for (int64_t i = 0; i < out.num_elements(); ++i)
      value[i] = text_of(element, data.substr(static_cast<size_t>(i) * element.size, element.size));
    return out;
  }
  if (!data.empty()) std::memcpy(out.raw(), data.data(), data.size());
  if (element.dtype == DType::kBool)
    for (int64_t i = 0; i < out.num_elements(); ++i) out.raw()[i] = out.raw()[i] != 0 ? 1 : 0;
  return out;
}

// Number of strings that an array of zero-width strings may have: they take no bytes in the file.
constexpr int64_t kMaxEmptyStrings = 1 << 20;

// The data of strings, padded to the width of the longest.
std::string padded_strings(const Tensor& tensor, size_t width) {
  std::string out;
  for (const std::string& value : tensor.flat<std::string>()) {
    out += value;
    out.append(width - value.size(), '\0');
  }
  return out;
}

std::string npy_header(const std::string& descr, const Shape& shape) {
  std::string dims;
  for (int i = 0; i < shape.rank(); ++i) dims += (i > 0 ? ", " : "") + std::to_string(shape.dim(i));
  if (shape.rank() == 1) dims += ',';
  std::string header = internal::concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", dims, "), }");
  // NumPy leaves room to grow the first size in place (21 digits) and ends the header on a multiple of 64 bytes.
  if (shape.rank() > 0) header.append(21 - std::min<size_t>(21, std::to_string(shape.dim(0)).size()), ' ');
  const size_t before = kMagic.size() + 4;
  header.append(64 - (before + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  put_fixed(&out, static_cast<uint16_t>(header.size()));  // 254 dimensions take 6 KiB
  return out += header;
}

}  // namespace

Tensor parse_npy(std::string_view bytes) {
  ByteReader reader(bytes);
  std::string_view magic, text;
  uint8_t major, minor;
  if (!reader.bytes(kMagic.size(), &magic) || magic != kMagic || !reader.fixed(&major) || !reader.fixed(&minor))
    throw data_loss("is no npy file");
  if (major < 1 || major > 3) throw unimplemented("npy version ", int{major});
  uint32_t size = 0;
  uint16_t short_size = 0;
  const bool sized = major == 1 ? reader.fixed(&short_size) : reader.fixed(&size);
  if (major == 1) size = short_size;
  if (!sized || size > kMaxHeader || !reader.bytes(size, &text)) throw data_loss("npy header is cut off");
  const Header header = HeaderParser(text).parse();
  const Element element = element_of(header.descr);
  const std::optional<int64_t> count = checked_num_elements(header.shape);
  if (!count || header.shape.size() > kMaxRank) throw data_loss("malformed npy shape");
  const auto elements = static_cast<uint64_t>(*count);
  if (element.size > 0 && elements > reader.size() / element.size)
    throw data_loss("npy data are cut off: ", reader.size(), " bytes instead of ", elements, " elements of ",
                    element.size);
  if (element.size == 0 && *count > kMaxEmptyStrings) throw resource_exhausted(*count, " empty strings in an npy file");
  std::string_view data;
  reader.bytes(elements * element.size, &data);
  if (element.swap < 2 && !header.fortran_order) return tensor_of(element, header.shape, data);
  std::string changed(data);
  swap_bytes(&changed, element.swap);
  if (header.fortran_order) changed = to_row_major(changed, header.shape, element.size);
  return tensor_of(element, header.shape, changed);
}

Tensor read_npy(Env& env, const std::string& path) {
  const std::string bytes = read_file(env, path, kMaxFile);
  try {
    return parse_npy(bytes);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

std::string npy_bytes(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    size_t width = 1;  // NumPy has no strings of width 0
    for (const std::string& value : tensor.flat<std::string>()) width = std::max(width, value.size());
    return npy_header("|S" + std::to_string(width), tensor.shape()) + padded_strings(tensor, width);
  }
  std::string out = npy_header(descr_of(tensor.dtype()), tensor.shape());
  if (tensor.dtype() != DType::kBFloat16) return out += tensor.raw_bytes();
  for (const BFloat16 value : tensor.flat<BFloat16>()) put_fixed(&out, static_cast<float>(value));
  return out;
}

void write_npy(Env& env, const std::string& path, const Tensor& tensor) {
  write_file_atomically(env, path, npy_bytes(tensor));
}

NamedTensors parse_npz(std::string_view bytes) {
  NamedTensors out;
  for (const ZipMember& member : zip_members(bytes)) {
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      out[name] = parse_npy(zip_extract(bytes, member));
    } catch (const Error& error) {
      throw error.in(internal::concat("member '", escaped(member.name), "'"));
    }
  }
  return out;
}

NamedTensors read_npz(Env& env, const std::string& path) {
  const std::string bytes = read_file(env, path, kMaxFile);
  try {
    return parse_npz(bytes);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

void write_npz(Env& env, const std::string& path, const NamedTensors& tensors) {
  ZipBuilder zip;
  for (const auto& [name, tensor] : tensors) zip.add(name + ".npy", npy_bytes(tensor));
  write_file_atomically(env, path, std::move(zip).finish());
}

}  // namespace caudal::inline v0
