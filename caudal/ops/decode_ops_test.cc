#include "caudal/ops/decode_ops.h"

#include <zlib.h>

#include <cmath>
#include <limits>

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::Samples;
using Strings = std::vector<std::string>;
using namespace std::string_literals;

CAUDAL_OP_SAMPLES(DecodeRaw) {
  for (const DType t : {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, complex64, complex128,
                        boolean, bfloat16}) {
    const std::string bytes = "\0\x01\x02\x3f\x40\x41\x42\x43\x44\x45\x46\x47\x48\x49\x4a\x4b"s;
    samples.add({.inputs = {Tensor(Strings{bytes, bytes + ""})}, .attrs = {{"out_type", t}}, .shape_unknown = true});
    samples.add(
        {.inputs = {Tensor(bytes)}, .attrs = {{"out_type", t}, {"little_endian", false}}, .shape_unknown = true});
  }
  samples.add({.inputs = {Tensor("\x01\0\x02\0"s)},
               .attrs = {{"out_type", int16}},
               .expected = {Tensor::from<std::int16_t>({2}, {1, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor("\x3f\x80\0\0\x40\0\0\0"s)},
               .attrs = {{"out_type", complex64}, {"little_endian", false}},
               .expected = {Tensor::from<std::complex<float>>({1}, {{1, 2}})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(string, {0, 2})},
               .attrs = {{"out_type", int16}},
               .expected = {Tensor(int16, {0, 2, 0})},
               .shape_unknown = true});
  samples.error({Tensor("abc")}, Code::kInvalidArgument, {{"out_type", int16}}, "not a multiple");
  samples.error({Tensor(Strings{"ab", "a"})}, Code::kInvalidArgument, {{"out_type", uint8}}, "same size");
}
CAUDAL_OP_SAMPLES(DecodePaddedRaw) {
  for (const DType t : {float32, float64, int32, uint16, uint8, int16, int8, int64, bfloat16}) {
    samples.add({.inputs = {Tensor(Strings{"abcdefghijkl", "", "xyz"}), Tensor(8)}, .attrs = {{"out_type", t}}});
    samples.add({.inputs = {Tensor("abc"), Tensor(16)}, .attrs = {{"out_type", t}, {"little_endian", false}}});
  }
  samples.add({.inputs = {Tensor(Strings{"ab", "c"}), Tensor(4)},
               .attrs = {{"out_type", uint8}},
               .expected = {Tensor::from<std::uint8_t>({2, 4}, {97, 98, 0, 0, 99, 0, 0, 0})}});
  samples.add({.inputs = {Tensor(string, {0}), Tensor(4)}, .attrs = {{"out_type", int16}}});
  samples.error({Tensor("abc"), Tensor(3)}, Code::kInvalidArgument, {{"out_type", int16}});
  samples.error({Tensor("abc"), Tensor(0)}, Code::kInvalidArgument, {{"out_type", int16}});
  samples.error({Tensor("abc"), ints({4})}, Code::kInvalidArgument, {{"out_type", int16}});
}
CAUDAL_OP_SAMPLES(StringToNumber) {
  const Tensor texts(Strings{"12", " 7\n", "+3", "0"});
  for (const DType t : {float32, float64, int32, int64, uint32, uint64}) {
    samples.add({.inputs = {texts}, .attrs = {{"out_type", t}}});
    for (const std::string& bad : Strings{"", "abc", "1 2", "- 5", "1_0", "1\0"s, "+-3"}) {
      samples.error({Tensor(bad)}, Code::kInvalidArgument, {{"out_type", t}});
    }
  }
  samples.add({.inputs = {Tensor(Strings{"1e3", "-1.5", "0x10", "1e400", "-1e400", "inf", "1e-50", "0x1p3"})},
               .expected = {Tensor(std::vector<float>{1000, -1.5F, 16, HUGE_VALF, -HUGE_VALF, HUGE_VALF, 0, 8})}});
  samples.add({.inputs = {Tensor("-9223372036854775808")},
               .attrs = {{"out_type", int64}},
               .expected = {Tensor(std::numeric_limits<std::int64_t>::min())}});
  samples.add({.inputs = {Tensor(Strings(3000, "7.25"))}});
  samples.error({Tensor("9223372036854775808")}, Code::kInvalidArgument, {{"out_type", int64}});
  samples.error({Tensor("-1")}, Code::kInvalidArgument, {{"out_type", uint32}});
  samples.error({Tensor("1.0")}, Code::kInvalidArgument, {{"out_type", int32}}, "could not correctly convert");
}

std::string deflated(const std::string& text, bool gzip) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

CAUDAL_OP_SAMPLES(DecodeCompressed) {
  const std::string text(100000, 'x');
  samples.add({.inputs = {Tensor(Strings{deflated("hello", false), deflated(text, false), deflated("", false), ""})},
               .attrs = {{"compression_type", "ZLIB"}},
               .expected = {Tensor(Strings{"hello", text, "", ""})}});
  samples.add({.inputs = {Tensor(Strings{deflated("hello", true) + deflated("world", true), deflated(text, true)})},
               .attrs = {{"compression_type", "GZIP"}},
               .expected = {Tensor(Strings{"helloworld", text})}});
  samples.add({.inputs = {Tensor("abc")}, .expected = {Tensor("abc")}});
  // Cut: what there is.
  const std::string whole = deflated("hello", false);
  samples.add({.inputs = {Tensor(whole.substr(0, whole.size() - 4))},
               .attrs = {{"compression_type", "ZLIB"}},
               .expected = {Tensor("hello")}});
  samples.error({Tensor("hello")}, Code::kDataLoss, {{"compression_type", "ZLIB"}});
  samples.error({Tensor("hello")}, Code::kInvalidArgument, {{"compression_type", "LZW"}});
}

}  // namespace
}  // namespace caudal::inline v0
