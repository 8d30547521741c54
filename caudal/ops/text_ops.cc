#include "caudal/ops/text_ops.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "caudal/base/strings.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/unicode_loader.h"
#include "caudal/ops/utf8.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kGrain = 512;  // strings

// ---- Shape functions

void substr_shape(ShapeContext& c) {
  const PartialShape pos = c.merged(1, 2);
  c.set_output(0, broadcast(c.input(0), pos));
}

// ---- Kernels

// out[i] = make(in[i]) for strings.
template <class Make>
void each_string(RunContext& c, Make&& make) {
  const Tensor& in = c.input(0);
  const std::string* from = in.data<std::string>();
  Tensor& out = c.allocate_output(0, in.shape());
  std::string* to = out.data<std::string>();
  c.pool().parallel_for(in.num_elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = make(from[i]);
  });
}

bool counts_characters(const NodeInfo& node) { return node.attr<std::string>("unit") == "UTF8_CHAR"; }

void run_length(RunContext& c) {
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  const bool characters = counts_characters(c.node());
  std::ranges::transform(in.flat<std::string>(), out.data<std::int32_t>(), [&](const std::string& text) {
    const auto count = characters ? std::ranges::count_if(text, [](char b) { return !is_utf8_continuation(b); })
                                  : static_cast<std::ptrdiff_t>(text.size());
    return static_cast<std::int32_t>(count);
  });
}

// Moves `count` characters on from `at`; false if there are not so many.
bool go_forward(std::string_view text, std::int64_t count, std::size_t* at) {
  for (; count > 0 && *at < text.size(); --count) {
    do ++*at;
    while (*at < text.size() && is_utf8_continuation(text[*at]));
  }
  return count <= 0;
}

bool go_back(std::string_view text, std::int64_t count, std::size_t* at) {
  for (; count > 0 && *at > 0; --count) {
    do --*at;
    while (*at > 0 && is_utf8_continuation(text[*at]));
  }
  return count <= 0;
}

[[noreturn]] void outside(std::int64_t pos, std::string_view text, std::int64_t i) {
  throw invalid_argument("pos ", pos, " out of range for string '", escaped(text), "' at index ", i);
}

std::string_view byte_piece(std::string_view text, std::int64_t pos, std::int64_t len, std::int64_t i) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (pos > size || pos < -size) outside(pos, text, i);
  // As in TensorFlow a negative length takes all that follows.
  return text.substr(static_cast<std::size_t>(pos < 0 ? pos + size : pos), static_cast<std::size_t>(len));
}

std::string_view character_piece(std::string_view text, std::int64_t pos, std::int64_t len, std::int64_t i) {
  std::size_t begin = pos < 0 ? text.size() : 0;
  if (!(pos < 0 ? go_back(text, -pos, &begin) : go_forward(text, pos, &begin))) outside(pos, text, i);
  std::size_t end = begin;
  (void)go_forward(text, len, &end);
  return text.substr(begin, end - begin);
}

// Strides of `from` for a walk over `to`'s elements: 0 where it has one element for many.
std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> strides(to.rank(), 0);
  std::int64_t step = 1;
  for (int d = 1; d <= from.rank(); ++d) {
    if (from[-d] != 1) strides[to.rank() - d] = step;
    step *= from[-d];
  }
  return strides;
}

void run_substr(RunContext& c) {
  const Tensor &in = c.input(0), &pos = c.input(1), &len = c.input(2);
  if (pos.shape() != len.shape()) {
    throw invalid_argument("pos and len should have the same shape, got: ", pos.shape(), " vs. ", len.shape());
  }
  const Shape shape = *broadcast(in.shape(), pos.shape()).to_shape();
  const std::vector<std::int64_t> positions = pos.to_int64s(), lengths = len.to_int64s();
  const auto text_strides = broadcast_strides(in.shape(), shape), pos_strides = broadcast_strides(pos.shape(), shape);
  const auto piece = counts_characters(c.node()) ? character_piece : byte_piece;
  Tensor& out = c.allocate_output(0, shape);
  const std::string* texts = in.data<std::string>();
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    std::int64_t text = 0, at = 0, rest = i;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      const std::int64_t k = rest % shape[d];
      rest /= shape[d];
      text += k * text_strides[d];
      at += k * pos_strides[d];
    }
    out.data<std::string>()[i] = piece(texts[text], positions[at], lengths[at], i);
  }
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void run_strip(RunContext& c) {
  each_string(c, [](std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return std::string(text);
  });
}

template <bool upper>
class CaseKernel final : public Kernel {
 public:
  explicit CaseKernel(PrepareContext& c) {
    const std::string& encoding = c.attr<std::string>("encoding");
    if (!encoding.empty() && encoding != "utf-8") {
      throw invalid_argument("only utf-8 or '' (no encoding) is supported, received ", escaped(encoding));
    }
    if (!encoding.empty()) module_ = &unicode_module();
  }
  void run(RunContext& c) const override {
    if (module_ != nullptr) {
      each_string(c, [&](const std::string& text) { return upper ? module_->upper(text) : module_->lower(text); });
      return;
    }
    each_string(c, [](std::string text) {
      for (char& letter : text) {
        if (upper ? letter >= 'a' && letter <= 'z' : letter >= 'A' && letter <= 'Z') letter ^= 0x20;
      }
      return text;
    });
  }

 private:
  const UnicodeModule* module_ = nullptr;
};

template <bool upper>
std::unique_ptr<Kernel> prepare_case(PrepareContext& c) {
  return std::make_unique<CaseKernel<upper>>(c);
}

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string base64_of(std::string_view bytes, bool pad) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k <= n; ++k) text += kDigits[group >> (18 - 6 * k) & 0x3f];
    if (pad) text.append(3 - n, '=');
  }
  return text;
}

std::string bytes_of_base64(std::string_view text) {
  static constexpr auto kValues = [] {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
    }
    return values;
  }();
  if (text.size() % 4 == 1) throw invalid_argument("Base64 string length cannot be 1 modulo 4.");
  if (text.size() % 4 == 0 && text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char digit : text) {
    const std::int8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0) throw invalid_argument("Invalid character found in base64: '", escaped({&digit, 1}), "'.");
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xff);
  }
  return bytes;
}

void run_encode_base64(RunContext& c) {
  const bool pad = c.node().attr<bool>("pad");
  each_string(c, [&](const std::string& bytes) { return base64_of(bytes, pad); });
}

void run_decode_base64(RunContext& c) { each_string(c, bytes_of_base64); }

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "StringLength",
    .inputs = "input: string",
    .outputs = "output: int32",
    .attrs = "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_length>,
});
CAUDAL_REGISTER_OP({
    .name = "Substr",
    .inputs = "input: string; pos: T; len: T",
    .outputs = "output: string",
    .attrs = "T: {int32, int64}; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
    .shape = substr_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_substr>,
});
CAUDAL_REGISTER_OP({
    .name = "StringLower",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "encoding: string = ''",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = prepare_case<false>,
});
CAUDAL_REGISTER_OP({
    .name = "StringUpper",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "encoding: string = ''",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = prepare_case<true>,
});
CAUDAL_REGISTER_OP({
    .name = "StringStrip",
    .inputs = "input: string",
    .outputs = "output: string",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_strip>,
});
CAUDAL_REGISTER_OP({
    .name = "EncodeBase64",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "pad: bool = false",
    .shape = unchanged_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_encode_base64>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeBase64",
    .inputs = "input: string",
    .outputs = "output: string",
    .shape = unchanged_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_decode_base64>,
});

std::string unit_name(StringUnit unit) { return unit == StringUnit::kByte ? "BYTE" : "UTF8_CHAR"; }

}  // namespace

// ---- Public functions

Output strings::length(const Operand& input, const StringUnitOptions& options) {
  return OpBuilder("StringLength", {.name = options.name, .where = options.where})
      .input(input)
      .attr("unit", unit_name(options.unit))
      .build();
}

Output strings::substr(const Operand& input, const Operand& pos, const Operand& len, const StringUnitOptions& options) {
  const LocationScope where(options.where);
  const DType type = common_dtype({&pos, &len});
  return OpBuilder("Substr", {.name = options.name, .where = options.where})
      .input(input)
      .input(pos, type)
      .input(len, type)
      .attr("unit", unit_name(options.unit))
      .build();
}

Output strings::lower(const Operand& input, const EncodingOptions& options) {
  return OpBuilder("StringLower", {.name = options.name, .where = options.where})
      .input(input)
      .attr("encoding", options.encoding)
      .build();
}

Output strings::upper(const Operand& input, const EncodingOptions& options) {
  return OpBuilder("StringUpper", {.name = options.name, .where = options.where})
      .input(input)
      .attr("encoding", options.encoding)
      .build();
}

Output strings::strip(const Operand& input, const OpOptions& options) {
  return OpBuilder("StringStrip", options).input(input).build();
}

Output io::encode_base64(const Operand& input, const EncodeBase64Options& options) {
  return OpBuilder("EncodeBase64", {.name = options.name, .where = options.where})
      .input(input)
      .attr("pad", options.pad)
      .build();
}

Output io::decode_base64(const Operand& input, const OpOptions& options) {
  return OpBuilder("DecodeBase64", options).input(input).build();
}

}  // namespace caudal::inline v0
