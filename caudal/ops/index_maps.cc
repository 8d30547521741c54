#include "caudal/ops/index_maps.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void unravel_shape(ShapeContext& c) {
  const PartialShape dims = c.with_rank(1, 1);
  const PartialShape& indices = c.input(0);
  if (!indices.has_rank()) return;
  if (indices.rank() == 0) return c.set_output(0, PartialShape({dims.dim(0)}));
  c.set_output(0, PartialShape({dims.dim(0), c.with_rank(0, 1).dim(0)}));
}

// --- Kernels ---

// Calls fn(T()), T the type of the integers.
template <class Fn>
void with_int_type(DType dtype, const Fn& fn) {
  if (dtype == DType::kInt32) return fn(std::int32_t());
  if (dtype == DType::kInt64) return fn(std::int64_t());
  throw unimplemented("no kernel for ", dtype, " on CPU");
}

template <class T>
void unravel(RunContext& c) {
  const Tensor &indices = c.input(0), &dims = c.input(1);
  if (indices.rank() > 1 || indices.num_elements() == 0) {
    throw invalid_argument("indices must be a scalar or a vector that is not empty, not ", indices.describe());
  }
  if (dims.rank() != 1) throw invalid_argument("dims must be a vector, not ", dims.describe());
  const std::int64_t rank = dims.num_elements(), count = indices.num_elements();
  const T* sizes = dims.data<T>();
  T total = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (sizes[d] <= 0) throw invalid_argument("dims ", dims, " must be above 0");
    if (total > std::numeric_limits<T>::max() / sizes[d])
      throw invalid_argument("dims ", dims, " are too many to count");
    total *= sizes[d];
  }
  Tensor& out = c.allocate_output(0, indices.rank() == 0 ? Shape({rank}) : Shape({rank, count}));
  T* to = out.data<T>();
  for (std::int64_t i = 0; i < count; ++i) {
    T rest = indices.data<T>()[i];
    if (rest < 0 || rest >= total) throw invalid_argument("index ", rest, " is outside dims ", dims);
    for (std::int64_t d = rank; d-- > 0;) {
      to[d * count + i] = rest % sizes[d];
      rest /= sizes[d];
    }
  }
}

void run_unravel(RunContext& c) {
  with_int_type(c.input(0).dtype(), [&](auto zero) { unravel<decltype(zero)>(c); });
}

struct Formats {
  std::string from, to;

  explicit Formats(const NodeInfo& node)
      : from(node.attr<std::string>("src_format")), to(node.attr<std::string>("dst_format")) {
    std::string a = from, b = to;
    std::ranges::sort(a);
    std::ranges::sort(b);
    if (a != b || std::ranges::adjacent_find(a) != a.end() || (a.size() != 4 && a.size() != 5)) {
      throw invalid_argument("src_format ", from, " and dst_format ", to,
                             " must be the same 4 or 5 letters in some order");
    }
  }
};

class DimMapKernel final : public Kernel {
 public:
  explicit DimMapKernel(const NodeInfo& node) {
    const Formats formats(node);
    for (const char letter : formats.from) places_.push_back(static_cast<int>(formats.to.find(letter)));
  }

  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    Tensor& out = c.allocate_output(0, in.shape());
    with_int_type(in.dtype(), [&]<class T>(T) {
      const auto rank = static_cast<T>(places_.size());
      std::transform(in.data<T>(), in.data<T>() + in.num_elements(), out.data<T>(), [&](T d) {
        if (d < -rank || d >= rank) throw invalid_argument("there is no dimension ", d, " of ", rank);
        return static_cast<T>(places_[static_cast<std::size_t>(d < 0 ? d + rank : d)]);
      });
    });
  }

 private:
  std::vector<int> places_;
};

class VecPermuteKernel final : public Kernel {
 public:
  explicit VecPermuteKernel(const NodeInfo& node) : formats_(node) {}

  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const auto all = static_cast<std::int64_t>(formats_.from.size());
    const bool fits = in.rank() == 1 || (in.rank() == 2 && in.dim(1) == 2);
    if (!fits || (in.dim(0) != all && in.dim(0) != all - 2)) {
      throw invalid_argument("x must have ", all - 2, " or ", all, " rows of one or two entries, not ", in.describe());
    }
    std::string from = formats_.from, to = formats_.to;
    if (in.dim(0) != all) {
      for (std::string* format : {&from, &to}) {
        std::erase_if(*format, [&](char d) { return d != 'H' && d != 'W' && (all == 4 || d != 'D'); });
      }
      if (static_cast<std::int64_t>(from.size()) != all - 2) {
        throw invalid_argument("the formats must have ", all == 4 ? "H and W" : "D, H and W", ", not ", formats_.from);
      }
    }
    Tensor& out = c.allocate_output(0, in.shape());
    const std::int64_t width = in.rank() == 1 ? 1 : 2;
    with_int_type(in.dtype(), [&]<class T>(T) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        std::copy_n(in.data<T>() + static_cast<std::int64_t>(i) * width, width,
                    out.data<T>() + static_cast<std::int64_t>(to.find(from[i])) * width);
      }
    });
  }

 private:
  Formats formats_;
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c.node());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "UnravelIndex",
                    .inputs = "indices: Tidx; dims: Tidx",
                    .outputs = "output: Tidx",
                    .attrs = "Tidx: {int32, int64} = DT_INT32",
                    .shape = unravel_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_unravel>});
CAUDAL_REGISTER_OP({.name = "DataFormatDimMap",
                    .inputs = "x: T",
                    .outputs = "y: T",
                    .attrs = "T: {int32, int64} = DT_INT32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<DimMapKernel>});
CAUDAL_REGISTER_OP({.name = "DataFormatVecPermute",
                    .inputs = "x: T",
                    .outputs = "y: T",
                    .attrs = "T: {int32, int64} = DT_INT32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<VecPermuteKernel>});

// --- Public functions ---

Output unravel_index(const Operand& indices, const Operand& dims, const OpOptions& options) {
  const DType dtype = common_dtype({&indices, &dims});
  return OpBuilder("UnravelIndex", options).input(indices, dtype).input(dims, dtype).build();
}

namespace raw_ops {

Output data_format_dim_map(const Operand& x, const std::string& src_format, const std::string& dst_format,
                           const OpOptions& options) {
  return OpBuilder("DataFormatDimMap", options)
      .input(x)
      .attr("src_format", src_format)
      .attr("dst_format", dst_format)
      .build();
}

Output data_format_vec_permute(const Operand& x, const std::string& src_format, const std::string& dst_format,
                               const OpOptions& options) {
  return OpBuilder("DataFormatVecPermute", options)
      .input(x)
      .attr("src_format", src_format)
      .attr("dst_format", dst_format)
      .build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
