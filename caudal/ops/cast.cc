#include "caudal/ops/cast.h"

#include <algorithm>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/cast.h"
#include "caudal/ops/elementwise.h"

namespace caudal::inline v0 {
namespace {

// --- Shapes ---

// Shape of `shape` of elements of `from` bytes read as elements of `to` bytes.
PartialShape bitcast_result(const PartialShape& shape, std::int64_t from, std::int64_t to) {
  if (from == to || !shape.has_rank()) return from == to ? shape : PartialShape::unknown();
  std::vector<std::int64_t> dims = shape.dims();
  if (from > to) {
    dims.push_back(from / to);
  } else {
    const std::int64_t last = dims.empty() ? 0 : dims.back();
    if (last != to / from && last != PartialShape::kUnknown) {
      throw invalid_argument("input has shape ", shape, "; its last dimension must be ", to / from,
                             " to be read as elements of ", to, " bytes");
    }
    dims.pop_back();
  }
  return PartialShape(std::move(dims));
}

void bitcast_shape(ShapeContext& c) {
  c.set_output(0, bitcast_result(c.input(0), static_cast<std::int64_t>(dtype_size(c.attr<DType>("T"))),
                                 static_cast<std::int64_t>(dtype_size(c.attr<DType>("type")))));
}

// --- Kernels ---

class SameTypeKernel final : public Kernel {
  void run(RunContext& c) const override { c.set_output(0, c.input(0)); }
};

// Bits of the mantissa; 0 for types that have none.
int mantissa_bits(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
    case DType::kComplex128:
      return 52;
    case DType::kFloat:
    case DType::kComplex64:
      return 23;
    case DType::kHalf:
      return 10;
    case DType::kBFloat16:
      return 7;
    default:
      return 0;
  }
}

template <class Bits>
void clear_low_bits(const Tensor& from, Tensor& to, int count) {
  const auto* in = reinterpret_cast<const Bits*>(from.raw());
  auto* out = reinterpret_cast<Bits*>(to.raw());
  const Bits mask = ~((Bits{1} << count) - 1);
  const std::size_t n = from.byte_size() / sizeof(Bits);
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i] & mask;
}

class CastKernel final : public Kernel {
 public:
  // `dropped`: how many low bits of the mantissa are cleared first, so that the conversion truncates.
  explicit CastKernel(int dropped) : dropped_(dropped) {}
  void run(RunContext& c) const override {
    const Tensor& x = c.input(0);
    const void* from = x.raw();
    Tensor cleared;
    if (dropped_ > 0) {
      cleared = c.allocate_temporary(x.dtype(), x.shape());
      const bool wide = mantissa_bits(x.dtype()) == 52;
      wide ? clear_low_bits<std::uint64_t>(x, cleared, dropped_) : clear_low_bits<std::uint32_t>(x, cleared, dropped_);
      from = cleared.raw();
    }
    Tensor& y = c.allocate_output(0, x.shape());
    kernels::cast(c.pool(), plain_integer(x.dtype()), from, plain_integer(y.dtype()), y.raw(), y.num_elements());
  }

 private:
  int dropped_;
};

std::unique_ptr<Kernel> prepare_cast(PrepareContext& c) {
  const DType from = c.input_type(0), to = c.output_type(0);
  if (from == to) {
    c.alias(0, 0);
    return std::make_unique<SameTypeKernel>();
  }
  if (!kernels::can_cast(plain_integer(from), plain_integer(to))) {
    throw unimplemented(from, " does not convert to ", to);
  }
  c.allow_in_place(0, 0);
  // From half or bfloat16 nothing is left to drop but exponents.
  const bool drops = c.attr<bool>("Truncate") && mantissa_bits(from) >= 23 && mantissa_bits(to) > 0;
  return std::make_unique<CastKernel>(drops ? std::max(0, mantissa_bits(from) - mantissa_bits(to)) : 0);
}

class BitcastKernel final : public Kernel {
  void run(RunContext& c) const override {
    const Tensor& x = c.input(0);
    const DType to = c.node().output_types[0];
    const auto shape = bitcast_result(x.shape(), static_cast<std::int64_t>(dtype_size(x.dtype())),
                                      static_cast<std::int64_t>(dtype_size(to)));
    c.set_output(0, Tensor(to, *shape.to_shape(), x.buffer(), x.byte_offset()));
  }
};

std::unique_ptr<Kernel> prepare_bitcast(PrepareContext& c) {
  c.alias(0, 0);
  return std::make_unique<BitcastKernel>();
}

// --- Gradients ---

void cast_gradient(GradientContext& c) {
  const DType from = c.attr<DType>("SrcT");
  if (is_differentiable(from) && is_differentiable(c.attr<DType>("DstT"))) c.set_input_grad(0, cast(c.grad(0), from));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Cast",
                    .inputs = "x: SrcT",
                    .outputs = "y: DstT",
                    .attrs = "SrcT: type; DstT: type; Truncate: bool = false",
                    .shape = unchanged_shape,
                    .gradient = cast_gradient,
                    .cpu = prepare_cast});
#define CAUDAL_PLAIN_TYPES                                                                                            \
  "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, " \
  "qint8, quint8, qint16, quint16, qint32}"
CAUDAL_REGISTER_OP({.name = "Bitcast",
                    .inputs = "input: T",
                    .outputs = "output: type",
                    .attrs = "T: " CAUDAL_PLAIN_TYPES "; type: " CAUDAL_PLAIN_TYPES,
                    .shape = bitcast_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_bitcast});

// --- Functions ---

Output cast(const Operand& x, DType dtype, const OpOptions& options) {
  const Output value = x.to_output();
  if (value.dtype() == dtype) return value;
  return OpBuilder("Cast", options).input(value).attr("DstT", dtype).build();
}

Output to_float(const Operand& x, const OpOptions& options) { return cast(x, DType::kFloat, options); }
Output to_double(const Operand& x, const OpOptions& options) { return cast(x, DType::kDouble, options); }
Output to_int32(const Operand& x, const OpOptions& options) { return cast(x, DType::kInt32, options); }
Output to_int64(const Operand& x, const OpOptions& options) { return cast(x, DType::kInt64, options); }

Output bitcast(const Operand& input, DType dtype, const OpOptions& options) {
  return OpBuilder("Bitcast", options).input(input).attr("type", dtype).build();
}

}  // namespace caudal::inline v0
