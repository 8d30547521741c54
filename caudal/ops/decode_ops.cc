#include "caudal/ops/decode_ops.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "caudal/base/strings.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/compression.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

// The input's shape and one size more.
void decoded_shape(ShapeContext& c, std::int64_t length) {
  if (!c.input(0).has_rank()) return;
  std::vector<std::int64_t> dims = c.input(0).dims();
  dims.push_back(length);
  c.set_output(0, PartialShape(std::move(dims)));
}

void decode_raw_shape(ShapeContext& c) { decoded_shape(c, -1); }

void decode_padded_raw_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  std::int64_t length = -1;
  if (const Tensor* value = c.constant_input(1)) {
    const auto size = static_cast<std::int64_t>(dtype_size(c.attr<DType>("out_type")));
    const std::int64_t bytes = scalar_int(*value, "fixed_length");
    if (bytes > 0 && bytes % size == 0) length = bytes / size;
  }
  decoded_shape(c, length);
}

// ---- Kernels

// Bytes per number that is swapped as one: complex numbers are two.
std::int64_t swapped_unit(DType dtype) {
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  return is_complex(dtype) ? size / 2 : size;
}

void swap_bytes(char* bytes, std::int64_t size, std::int64_t unit) {
  for (char* at = bytes; at + unit <= bytes + size; at += unit) std::reverse(at, at + unit);
}

// Row i of `out`: `length` bytes of string i and zeros for those that it lacks.
void copy_rows(const Tensor& strings, std::int64_t length, bool little_endian, Tensor& out) {
  const std::int64_t unit = swapped_unit(out.dtype());
  char* to = out.raw();
  for (const std::string& bytes : strings.flat<std::string>()) {
    const std::int64_t taken = std::min(length, static_cast<std::int64_t>(bytes.size()));
    std::copy_n(bytes.data(), taken, to);
    std::fill_n(to + taken, length - taken, '\0');
    if (!little_endian && unit > 1) swap_bytes(to, length, unit);
    if (out.dtype() == boolean) std::transform(to, to + length, to, [](char c) { return c != 0 ? 1 : 0; });
    to += length;
  }
}

void run_decode_raw(RunContext& c) {
  const Tensor& in = c.input(0);
  const auto texts = in.flat<std::string>();
  const std::size_t length = texts.empty() ? 0 : texts[0].size();
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].size() == length) continue;
    throw invalid_argument("DecodeRaw requires input strings to all be the same size, but element ", i, " has size ",
                           texts[i].size(), " != ", length);
  }
  const DType type = c.node().output_types[0];
  const std::size_t size = dtype_size(type);
  if (length % size != 0) {
    throw invalid_argument("Input to DecodeRaw has length ", length, " that is not a multiple of ", size,
                           ", the size of ", type);
  }
  Tensor& out = c.allocate_output(0, in.shape().append(static_cast<std::int64_t>(length / size)));
  copy_rows(in, static_cast<std::int64_t>(length), c.node().attr<bool>("little_endian"), out);
}

void run_decode_padded_raw(RunContext& c) {
  const Tensor &in = c.input(0), &fixed = c.input(1);
  if (fixed.rank() != 0) throw invalid_argument("fixed_length must be scalar, got shape ", fixed.shape());
  const std::int64_t length = fixed.item<std::int32_t>();
  const auto size = static_cast<std::int64_t>(dtype_size(c.node().output_types[0]));
  if (length <= 0) throw invalid_argument("fixed_length (", length, ") must be greater than zero.");
  if (length % size != 0) {
    throw invalid_argument("fixed_length (", length, ") must be a multiple of the size of out_type (", size, ")");
  }
  Tensor& out = c.allocate_output(0, in.shape().append(length / size));
  copy_rows(in, length, c.node().attr<bool>("little_endian"), out);
}

// C's notation of fractions whatever the program's locale.
locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

template <class T>
bool parse_number(const std::string& text, T* value) {
  std::string_view rest = text;
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  while (!rest.empty() && is_space(rest.back())) rest.remove_suffix(1);
  if (rest.empty()) return false;
  if constexpr (std::is_floating_point_v<T>) {
    char* end = nullptr;
    *value = static_cast<T>(sizeof(T) == 4 ? strtof_l(rest.data(), &end, c_locale())
                                           : strtod_l(rest.data(), &end, c_locale()));
    return end == rest.data() + rest.size();
  } else {
    if (rest.front() == '+') {
      rest.remove_prefix(1);
      if (rest.starts_with('-')) return false;
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *value);
    return error == std::errc() && end == rest.data() + rest.size();
  }
}

using ParsedTypes = kernels::TypeList<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;

void run_string_to_number(RunContext& c) {
  const Tensor& in = c.input(0);
  const std::string* from = in.data<std::string>();
  Tensor& out = c.allocate_output(0, in.shape());
  kernels::dispatch(ParsedTypes{}, out.dtype(), "StringToNumber", [&]<class T>() {
    T* to = out.data<T>();
    c.pool().parallel_for(in.num_elements(), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (parse_number(from[i], &to[i])) continue;
        throw invalid_argument("StringToNumberOp could not correctly convert string: ", escaped(from[i]), " (element ",
                               i, ", to ", out.dtype(), ")");
      }
    });
  });
}

// One zlib or gzip stream, or several of them one after another.
class Inflater {
 public:
  explicit Inflater(Compression compression) {
    // 16 more tell zlib that it is gzip.
    if (inflateInit2(&stream_, compression == Compression::kGzip ? 15 + 16 : 15) != Z_OK) {
      throw internal_error("zlib has no memory");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string inflate_all(const std::string& bytes) {
    constexpr std::size_t kMostBytes = std::size_t{1} << 30;
    std::string out;
    char piece[1 << 14];
    if (bytes.size() > UINT32_MAX) throw resource_exhausted("a compressed string of more than 4 GiB");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    for (int status = Z_OK; stream_.avail_in > 0 || status == Z_OK;) {
      stream_.next_out = reinterpret_cast<Bytef*>(piece);
      stream_.avail_out = sizeof piece;
      status = ::inflate(&stream_, Z_NO_FLUSH);
      const std::size_t made = sizeof piece - stream_.avail_out;
      if (out.size() + made > kMostBytes) throw resource_exhausted("a string inflates to more than 1 GiB");
      out.append(piece, made);
      if (status == Z_STREAM_END) {
        if (stream_.avail_in == 0 || !begins_stream()) break;
        inflateReset(&stream_);
        status = Z_OK;
      } else if (status == Z_BUF_ERROR) {
        break;  // the bytes end here
      } else if (status != Z_OK) {
        throw data_loss("inflate() failed with error ", status, ": ", stream_.msg == nullptr ? "" : stream_.msg);
      }
    }
    inflateReset(&stream_);
    return out;
  }

 private:
  // Whether what follows a stream's end is another gzip member.
  bool begins_stream() const {
    return stream_.avail_in >= 2 && stream_.next_in[0] == 0x1f && stream_.next_in[1] == 0x8b;
  }

  z_stream stream_{};
};

class DecodeCompressedKernel final : public Kernel {
 public:
  explicit DecodeCompressedKernel(PrepareContext& c) {
    const std::string& type = c.attr<std::string>("compression_type");
    if (type == "ZSTD") throw unimplemented("there is no ZSTD here").hint("Use ZLIB or GZIP.");
    if (!type.empty() && type != "ZLIB" && type != "GZIP") {
      throw invalid_argument("compression_type is '", escaped(type), "'; '', 'ZLIB' or 'GZIP' is wanted");
    }
    compression_ = compression_from_name(type);
  }

  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    Tensor& out = c.allocate_output(0, in.shape());
    const auto texts = in.flat<std::string>();
    if (compression_ == Compression::kNone) {
      std::ranges::copy(texts, out.data<std::string>());
      return;
    }
    Inflater inflater(compression_);
    std::ranges::transform(texts, out.data<std::string>(),
                           [&](const std::string& bytes) { return inflater.inflate_all(bytes); });
  }

 private:
  Compression compression_ = Compression::kNone;
};

std::unique_ptr<Kernel> prepare_decode_compressed(PrepareContext& c) {
  return std::make_unique<DecodeCompressedKernel>(c);
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "DecodeRaw",
    .inputs = "bytes: string",
    .outputs = "output: out_type",
    .attrs = "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, "
             "bfloat16}; little_endian: bool = true",
    .shape = decode_raw_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_decode_raw>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodePaddedRaw",
    .inputs = "input_bytes: string; fixed_length: int32",
    .outputs = "output: out_type",
    .attrs = "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}; "
             "little_endian: bool = true",
    .shape = decode_padded_raw_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_decode_padded_raw>,
});
CAUDAL_REGISTER_OP({
    .name = "StringToNumber",
    .inputs = "string_tensor: string",
    .outputs = "output: out_type",
    .attrs = "out_type: {float, double, int32, int64, uint32, uint64} = DT_FLOAT",
    .shape = unchanged_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_string_to_number>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeCompressed",
    .inputs = "bytes: string",
    .outputs = "output: string",
    .attrs = "compression_type: string = ''",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = prepare_decode_compressed,
});

}  // namespace

// ---- Public functions

Output strings::to_number(const Operand& input, const StringToNumberOptions& options) {
  return OpBuilder("StringToNumber", {.name = options.name, .where = options.where})
      .input(input)
      .attr("out_type", options.out_type)
      .build();
}

Output io::decode_raw(const Operand& input_bytes, DType out_type, const DecodeRawOptions& options) {
  const LocationScope where(options.where);
  const OpOptions node{.name = options.name, .where = options.where};
  const Tensor* length = options.fixed_length.value();
  if (length != nullptr && !length->valid()) {
    return OpBuilder("DecodeRaw", node)
        .input(input_bytes)
        .attr("out_type", out_type)
        .attr("little_endian", options.little_endian)
        .build();
  }
  return OpBuilder("DecodePaddedRaw", node)
      .input(input_bytes)
      .input(options.fixed_length, int32)
      .attr("out_type", out_type)
      .attr("little_endian", options.little_endian)
      .build();
}

Output io::decode_compressed(const Operand& bytes, const DecodeCompressedOptions& options) {
  return OpBuilder("DecodeCompressed", {.name = options.name, .where = options.where})
      .input(bytes)
      .attr("compression_type", options.compression_type)
      .build();
}

}  // namespace caudal::inline v0
