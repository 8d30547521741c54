#include "caudal/ops/unicode_ops.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "caudal/base/strings.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/unicode_loader.h"
#include "caudal/ops/utf8.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void unicode_decode_shape(ShapeContext& c) {
  const std::int64_t count = c.input(0).num_elements();
  c.set_output(0, PartialShape{count < 0 ? -1 : count + 1});
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, PartialShape{-1});
}

void unicode_encode_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  const PartialShape splits = c.with_rank(1, 1);
  c.set_output(0, PartialShape{splits.has_rank() && splits[0] > 0 ? splits[0] - 1 : -1});
}

// ---- Kernels

// UTF-8 without the module.
class Utf8Decoder final : public UnicodeDecoder {
 public:
  void start(std::string_view bytes) override { rest_ = bytes; }
  bool next(Character* character) override {
    if (rest_.empty()) return false;
    const Utf8Character first = first_utf8_character(rest_);
    rest_.remove_prefix(first.bytes);
    *character = {first.code, first.malformed, first.bytes};
    return true;
  }

 private:
  std::string_view rest_;
};

std::unique_ptr<UnicodeDecoder> decoder_for(const std::string& encoding) {
  if (encoding == "UTF-8") return std::make_unique<Utf8Decoder>();
  auto decoder = unicode_module().decoder(encoding);
  if (!decoder) throw invalid_argument("Could not create converter for input encoding: ", escaped(encoding));
  return decoder;
}

struct ErrorPolicy {
  explicit ErrorPolicy(PrepareContext& c, bool controls = true) {
    const std::string& name = c.attr<std::string>("errors");
    kind = name == "strict"   ? UnicodeErrors::kStrict
           : name == "ignore" ? UnicodeErrors::kIgnore
                              : UnicodeErrors::kReplace;
    const std::int64_t code = c.attr<std::int64_t>("replacement_char");
    if (code < 0 || code > 0x10ffff) {
      throw invalid_argument("replacement_char out of unicode codepoint range: ", code);
    }
    replacement = static_cast<std::int32_t>(code);
    replace_controls = controls && c.attr<bool>("replace_control_characters");
  }
  // The code point that stands for a malformed character, none if it is left out.
  std::optional<std::int32_t> malformed() const {
    if (kind == UnicodeErrors::kStrict) throw invalid_argument("Invalid formatting on input string");
    return stand_in();
  }
  std::optional<std::int32_t> of(const UnicodeDecoder::Character& character) const {
    if (character.malformed) return malformed();
    if (replace_controls && character.code <= 0x1f) return stand_in();
    return character.code;
  }

  UnicodeErrors kind;
  std::int32_t replacement;
  bool replace_controls;

 private:
  std::optional<std::int32_t> stand_in() const {
    return kind == UnicodeErrors::kIgnore ? std::nullopt : std::optional(replacement);
  }
};

// Puts integers into an int32 or int64 vector.
void put_splits(RunContext& c, int i, const std::vector<std::int64_t>& splits) {
  Tensor& out = c.allocate_output(i, {static_cast<std::int64_t>(splits.size())});
  if (out.dtype() == int64) {
    std::ranges::copy(splits, out.data<std::int64_t>());
  } else {
    std::ranges::transform(splits, out.data<std::int32_t>(),
                           [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  }
}

class DecodeKernel final : public Kernel {
 public:
  explicit DecodeKernel(PrepareContext& c) : policy_(c), encoding_(c.attr<std::string>("input_encoding")) {
    (void)decoder_for(encoding_);
  }

  void run(RunContext& c) const override {
    const auto decoder = decoder_for(encoding_);
    std::vector<std::int64_t> splits{0}, offsets;
    std::vector<std::int32_t> codes;
    for (const std::string& text : c.input(0).flat<std::string>()) {
      decoder->start(text);
      std::int64_t offset = 0;
      for (UnicodeDecoder::Character character; decoder->next(&character);) {
        if (const auto code = policy_.of(character)) {
          codes.push_back(*code);
          offsets.push_back(offset);
        }
        offset += static_cast<std::int64_t>(character.bytes);
      }
      splits.push_back(static_cast<std::int64_t>(codes.size()));
    }
    put_splits(c, 0, splits);
    std::ranges::copy(codes, c.allocate_output(1, {static_cast<std::int64_t>(codes.size())}).data<std::int32_t>());
    if (c.num_outputs() > 2) put_splits(c, 2, offsets);
  }

 private:
  ErrorPolicy policy_;
  std::string encoding_;
};

enum class OutputEncoding { kUtf8, kUtf16, kUtf32 };

OutputEncoding output_encoding(PrepareContext& c) {
  const std::string& name = c.attr<std::string>("output_encoding");
  return name == "UTF-8"       ? OutputEncoding::kUtf8
         : name == "UTF-16-BE" ? OutputEncoding::kUtf16
                               : OutputEncoding::kUtf32;
}

void append_big_endian(std::uint32_t value, int bytes, std::string* out) {
  for (int i = bytes - 1; i >= 0; --i) *out += static_cast<char>(value >> (8 * i) & 0xff);
}

// A surrogate, which only a replacement can be, becomes U+FFFD.
void append(std::int32_t code, OutputEncoding encoding, std::string* out) {
  if (!is_code_point(code)) code = 0xfffd;
  const auto value = static_cast<std::uint32_t>(code);
  if (encoding == OutputEncoding::kUtf8) {
    append_utf8(code, out);
  } else if (encoding == OutputEncoding::kUtf32) {
    append_big_endian(value, 4, out);
  } else if (value < 0x10000) {
    append_big_endian(value, 2, out);
  } else {
    append_big_endian(0xd800 + ((value - 0x10000) >> 10), 2, out);
    append_big_endian(0xdc00 + (value & 0x3ff), 2, out);
  }
}

class EncodeKernel final : public Kernel {
 public:
  explicit EncodeKernel(PrepareContext& c) : policy_(c, /*controls=*/false), encoding_(output_encoding(c)) {}

  void run(RunContext& c) const override {
    const Tensor& values = c.input(0);
    if (values.rank() != 1 || c.input(1).rank() != 1) {
      throw invalid_argument("Both the input_tensor and input_splits should be of rank 1, not ", values.describe(),
                             " and ", c.input(1).describe());
    }
    const std::vector<std::int64_t> splits = c.input(1).to_int64s();
    check_splits(splits, values.dim(0));
    const std::int32_t* codes = values.data<std::int32_t>();
    Tensor& out = c.allocate_output(0, {static_cast<std::int64_t>(splits.size()) - 1});
    for (std::size_t row = 0; row + 1 < splits.size(); ++row) {
      std::string& text = out.data<std::string>()[row];
      text.clear();
      for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        if (is_code_point(codes[i])) {
          append(codes[i], encoding_, &text);
        } else if (policy_.kind == UnicodeErrors::kStrict) {
          throw invalid_argument("Code point is out of range for Unicode, or is a surrogate: ", codes[i], " at ", i);
        } else if (const auto code = policy_.malformed()) {
          append(*code, encoding_, &text);
        }
      }
    }
  }

 private:
  static void check_splits(const std::vector<std::int64_t>& splits, std::int64_t count) {
    if (splits.empty()) {
      throw invalid_argument("Input_splits should contain elements, but given input_values has 0 elements");
    }
    if (splits.front() != 0) throw invalid_argument("First value in input_splits must be zero, not ", splits.front());
    if (!std::ranges::is_sorted(splits)) {
      throw invalid_argument("Values in input_splits must be equal or in ascending order.");
    }
    if (splits.back() != count) {
      throw invalid_argument("Last value in input_splits must be equal to length of input_tensor, ", count, ", not ",
                             splits.back());
    }
  }

  ErrorPolicy policy_;
  OutputEncoding encoding_;
};

class TranscodeKernel final : public Kernel {
 public:
  explicit TranscodeKernel(PrepareContext& c)
      : policy_(c), from_(c.attr<std::string>("input_encoding")), to_(output_encoding(c)) {
    (void)decoder_for(from_);
  }

  void run(RunContext& c) const override {
    const auto decoder = decoder_for(from_);
    const Tensor& in = c.input(0);
    Tensor& out = c.allocate_output(0, in.shape());
    std::ranges::transform(in.flat<std::string>(), out.data<std::string>(), [&](const std::string& text) {
      std::string result;
      decoder->start(text);
      for (UnicodeDecoder::Character character; decoder->next(&character);) {
        // Here, and only here, TensorFlow counts a control character as an error.
        character.malformed |= policy_.replace_controls && character.code <= 0x1f;
        if (const auto code = policy_.of(character)) append(*code, to_, &result);
      }
      return result;
    });
  }

 private:
  ErrorPolicy policy_;
  std::string from_;
  OutputEncoding to_;
};

void run_script(RunContext& c) {
  const UnicodeModule& module = unicode_module();
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  std::ranges::transform(in.flat<std::int32_t>(), out.data<std::int32_t>(),
                         [&](std::int32_t code) { return module.script(code); });
}

template <class T>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<T>(c);
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "UnicodeDecode",
    .inputs = "input: string",
    .outputs = "row_splits: Tsplits; char_values: int32",
    .attrs = "input_encoding: string; errors: {'strict', 'replace', 'ignore'} = 'replace'; "
             "replacement_char: int = 65533; replace_control_characters: bool = false; "
             "Tsplits: {int32, int64} = DT_INT64",
    .shape = unicode_decode_shape,
    .gradient = no_gradient,
    .cpu = prepare<DecodeKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "UnicodeDecodeWithOffsets",
    .inputs = "input: string",
    .outputs = "row_splits: Tsplits; char_values: int32; char_to_byte_starts: int64",
    .attrs = "input_encoding: string; errors: {'strict', 'replace', 'ignore'} = 'replace'; "
             "replacement_char: int = 65533; replace_control_characters: bool = false; "
             "Tsplits: {int32, int64} = DT_INT64",
    .shape = unicode_decode_shape,
    .gradient = no_gradient,
    .cpu = prepare<DecodeKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "UnicodeEncode",
    .inputs = "input_values: int32; input_splits: Tsplits",
    .outputs = "output: string",
    .attrs = "errors: {'ignore', 'replace', 'strict'} = 'replace'; "
             "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; replacement_char: int = 65533; "
             "Tsplits: {int32, int64} = DT_INT64",
    .shape = unicode_encode_shape,
    .gradient = no_gradient,
    .cpu = prepare<EncodeKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "UnicodeTranscode",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "input_encoding: string; output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; "
             "errors: {'strict', 'replace', 'ignore'} = 'replace'; replacement_char: int = 65533; "
             "replace_control_characters: bool = false",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = prepare<TranscodeKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "UnicodeScript",
    .inputs = "input: int32",
    .outputs = "output: int32",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_script>,
});

std::string errors_name(UnicodeErrors errors) {
  return errors == UnicodeErrors::kStrict ? "strict" : errors == UnicodeErrors::kIgnore ? "ignore" : "replace";
}

Node& decode(std::string_view op, const Operand& input, const std::string& encoding, const UnicodeOptions& options) {
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(input)
      .attr("input_encoding", encoding)
      .attr("errors", errors_name(options.errors))
      .attr("replacement_char", static_cast<std::int64_t>(options.replacement_char))
      .attr("replace_control_characters", options.replace_control_characters)
      .build_node();
}

}  // namespace

// ---- Public functions

RaggedTensor strings::unicode_decode(const Operand& input, const std::string& input_encoding,
                                     const UnicodeOptions& options) {
  Node& node = decode("UnicodeDecode", input, input_encoding, options);
  return {.values = node.output(1), .row_splits = node.output(0)};
}

strings::DecodedWithOffsets strings::unicode_decode_with_offsets(const Operand& input,
                                                                 const std::string& input_encoding,
                                                                 const UnicodeOptions& options) {
  Node& node = decode("UnicodeDecodeWithOffsets", input, input_encoding, options);
  return {{.values = node.output(1), .row_splits = node.output(0)}, node.output(2)};
}

Output strings::unicode_encode(const RaggedTensor& input, const std::string& output_encoding,
                               const UnicodeOptions& options) {
  return OpBuilder("UnicodeEncode", {.name = options.name, .where = options.where})
      .input(input.values)
      .input(input.row_splits)
      .attr("errors", errors_name(options.errors))
      .attr("output_encoding", output_encoding)
      .attr("replacement_char", static_cast<std::int64_t>(options.replacement_char))
      .build();
}

Output strings::unicode_transcode(const Operand& input, const std::string& input_encoding,
                                  const std::string& output_encoding, const UnicodeOptions& options) {
  return OpBuilder("UnicodeTranscode", {.name = options.name, .where = options.where})
      .input(input)
      .attr("input_encoding", input_encoding)
      .attr("output_encoding", output_encoding)
      .attr("errors", errors_name(options.errors))
      .attr("replacement_char", static_cast<std::int64_t>(options.replacement_char))
      .attr("replace_control_characters", options.replace_control_characters)
      .build();
}

Output strings::unicode_script(const Operand& input, const OpOptions& options) {
  return OpBuilder("UnicodeScript", options).input(input).build();
}

}  // namespace caudal::inline v0
