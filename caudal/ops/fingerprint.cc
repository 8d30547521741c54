#include "caudal/ops/fingerprint.h"

#include <cstdint>
#include <string_view>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/string_hash.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kSize = sizeof(std::uint64_t);

void check_method(const Tensor& method) {
  if (method.rank() != 0) throw invalid_argument("method must be a scalar, not ", method.describe());
  const std::string& name = method.data<std::string>()[0];
  if (name != "farmhash64") throw invalid_argument("there is no fingerprint method ", name, "; there is farmhash64");
}

// --- Shape function ---

void fingerprint_shape(ShapeContext& c) {
  const PartialShape data = c.with_rank_at_least(0, 1);
  c.with_rank(1, 0);
  const Tensor* method = c.constant_input(1);
  if (method != nullptr) check_method(*method);
  c.set_output(0, PartialShape({data.has_rank() ? data.dim(0) : PartialShape::kUnknown, kSize}));
}

// --- Kernel ---

void put(std::string_view bytes, std::uint8_t* to) {
  const std::uint64_t value = farm_fingerprint(bytes);
  for (std::int64_t i = 0; i < kSize; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::string_view as_text(const std::uint8_t* bytes, std::int64_t count) {
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count)};
}

void run_fingerprint(RunContext& c) {
  const Tensor& data = c.input(0);
  check_method(c.input(1));
  if (data.rank() == 0) throw invalid_argument("data must have rows, not ", data.describe());
  if (data.dtype() != DType::kString && !is_plain(data.dtype())) {
    throw unimplemented("no kernel for ", data.dtype(), " on CPU");
  }
  const std::int64_t rows = data.dim(0), width = rows == 0 ? 0 : data.num_elements() / rows;
  Tensor& out = c.allocate_output(0, {rows, kSize});
  auto* to = out.data<std::uint8_t>();
  if (data.dtype() != DType::kString) {
    const std::int64_t bytes = width * static_cast<std::int64_t>(dtype_size(data.dtype()));
    const auto* from = reinterpret_cast<const std::uint8_t*>(data.raw());
    for (std::int64_t r = 0; r < rows; ++r) put(as_text(from + r * bytes, bytes), to + r * kSize);
    return;
  }
  const auto* from = data.data<std::string>();
  std::vector<std::uint8_t> parts(static_cast<std::size_t>(width * kSize));
  for (std::int64_t r = 0; r < rows; ++r) {
    if (width == 1) {
      put(from[r], to + r * kSize);
      continue;
    }
    for (std::int64_t i = 0; i < width; ++i) put(from[r * width + i], parts.data() + i * kSize);
    put(as_text(parts.data(), width * kSize), to + r * kSize);
  }
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Fingerprint",
                    .inputs = "data: T; method: string",
                    .outputs = "fingerprint: uint8",
                    .attrs = "T: type",
                    .shape = fingerprint_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_fingerprint>});

Output fingerprint(const Operand& data, const std::string& method, const OpOptions& options) {
  return OpBuilder("Fingerprint", options).input(data).input(method).build();
}

}  // namespace caudal::inline v0
