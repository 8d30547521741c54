#include "caudal/formats/idx.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "caudal/formats/coding.h"
#include "caudal/formats/compression.h"

namespace caudal::inline v0 {
namespace {

struct TypeCode {
  unsigned char code;
  DType dtype;
};
constexpr TypeCode kTypes[] = {{0x08, DType::kUint8}, {0x09, DType::kInt8},  {0x0b, DType::kInt16},
                               {0x0c, DType::kInt32}, {0x0d, DType::kFloat}, {0x0e, DType::kDouble}};

bool is_gzip(Env& env, const std::string& path) {
  char magic[2] = {};
  return env.open_sequential(path)->read(magic, 2) == 2 && magic[0] == '\x1f' && magic[1] == '\x8b';
}

void reverse_each(char* data, size_t bytes, size_t width) {
  for (size_t at = 0; width > 1 && at + width <= bytes; at += width) std::reverse(data + at, data + at + width);
}

struct Header {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
};

Header read_header(SequentialFile* file, const std::string& path) {
  unsigned char start[4];
  if (file->read(reinterpret_cast<char*>(start), 4) != 4 || start[0] != 0 || start[1] != 0)
    throw data_loss(path, ": is no idx file");
  Header header;
  for (const TypeCode& type : kTypes)
    if (type.code == start[2]) header.dtype = type.dtype;
  if (header.dtype == DType::kInvalid) throw data_loss(path, ": has an unknown element type ", int{start[2]});
  for (int i = 0; i < start[3]; ++i) {
    unsigned char size[4];
    if (file->read(reinterpret_cast<char*>(size), 4) != 4) throw data_loss(path, ": ends inside its header");
    header.dims.push_back(int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  if (header.dims.size() > static_cast<size_t>(kMaxRank) || !checked_num_elements(header.dims))
    throw data_loss(path, ": has impossible sizes");
  return header;
}

Tensor read_rows(Env& env, const std::string& path, std::optional<int64_t> rows) {
  const bool gzip = is_gzip(env, path);
  const auto file = inflate_file(env.open_sequential(path), gzip ? Compression::kGzip : Compression::kNone, path);
  Header header = read_header(file.get(), path);
  const Shape full(header.dims);
  const auto element = static_cast<uint64_t>(dtype_size(header.dtype));
  const uint64_t stored = env.file_size(path);
  const uint64_t most = gzip ? stored * kMaxInflation : stored;  // bytes there can be
  if (static_cast<uint64_t>(full.num_elements()) > most / element)
    throw data_loss(path, ": has ", stored, " bytes, too few for ", dtype_name(header.dtype), full.to_string());
  const bool partial = rows && full.rank() > 0 && *rows < full.dim(0);
  if (partial) header.dims[0] = *rows;
  Tensor out(header.dtype, Shape(header.dims));
  const size_t got = file->read(out.raw(), out.byte_size());
  if (got < out.byte_size()) throw data_loss(path, ": ends after ", got, " of ", out.byte_size(), " bytes of data");
  char extra;
  if (!partial && file->read(&extra, 1) != 0) throw data_loss(path, ": goes on after its data");
  reverse_each(out.raw(), out.byte_size(), element);
  return out;
}

}  // namespace

Tensor read_idx(Env& env, const std::string& path) { return read_rows(env, path, std::nullopt); }
Tensor read_idx(Env& env, const std::string& path, int64_t rows) { return read_rows(env, path, rows); }

void write_idx(Env& env, const std::string& path, const Tensor& tensor) {
  std::string bytes(2, '\0');
  for (const TypeCode& type : kTypes)
    if (type.dtype == tensor.dtype()) bytes += static_cast<char>(type.code);
  if (bytes.size() < 3 || tensor.rank() > 255)
    throw invalid_argument("a tensor ", tensor.describe(), " cannot be written as idx");
  bytes += static_cast<char>(tensor.rank());
  for (const int64_t size : tensor.shape().dims()) {
    if (size > UINT32_MAX) throw invalid_argument("a tensor ", tensor.describe(), " cannot be written as idx");
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  const size_t header = bytes.size();
  bytes += tensor.raw_bytes();
  reverse_each(bytes.data() + header, bytes.size() - header, dtype_size(tensor.dtype()));
  write_file_atomically(env, path, bytes);
}

}  // namespace caudal::inline v0
