#include "caudal/ops/einsum_kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "caudal/kernels/copy.h"
#include "caudal/kernels/gemm.h"
#include "caudal/kernels/reduce.h"
#include "caudal/ops/einsum_equation.h"

namespace caudal::inline v0 {
namespace {

using Labels =
    std::vector<int>;  // one per dimension: a letter, or kBroadcast + position within the ellipsis' dimensions
using Sizes = std::vector<std::int64_t>;

constexpr int kBroadcast = 256;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
bool is_broadcast(int label) { return label >= kBroadcast; }

// A tensor seen through distinct labels: a label that occurs twice runs along the diagonal.
struct View {
  Tensor tensor;
  Labels labels;
  Sizes sizes, strides;

  std::int64_t size(int label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? 1 : sizes[static_cast<std::size_t>(at - labels.begin())];
  }
  std::int64_t product(const Labels& of) const {
    std::int64_t n = 1;
    for (const int label : of) n *= size(label);
    return n;
  }
};

// The number of dimensions that the ellipsis of `subscript` stands for in a tensor of this rank.
int ellipsis_rank(const std::string& subscript, const Tensor& t) {
  const int named = static_cast<int>(subscript.size()) - (has_ellipsis(subscript) ? 1 : 0);
  if (has_ellipsis(subscript) ? t.rank() < named : t.rank() != named) {
    throw invalid_argument("the equation gives an input ", named, has_ellipsis(subscript) ? " or more" : "",
                           " dimensions, it is ", t.describe());
  }
  return t.rank() - named;
}

Labels expand(const std::string& subscript, int own_rank, int broadcast_rank) {
  Labels labels;
  for (const char label : subscript) {
    if (label != kEllipsisLabel) {
      labels.push_back(label);
      continue;
    }
    for (int i = broadcast_rank - own_rank; i < broadcast_rank; ++i) labels.push_back(kBroadcast + i);
  }
  return labels;
}

View make_view(const Tensor& t, const Labels& labels) {
  View view{t, {}, {}, {}};
  const std::vector<std::int64_t> strides = t.shape().strides();
  for (int d = 0; d < t.rank(); ++d) {
    const int label = labels[static_cast<std::size_t>(d)];
    const auto at = std::find(view.labels.begin(), view.labels.end(), label);
    if (at == view.labels.end()) {
      view.labels.push_back(label);
      view.sizes.push_back(t.dim(d));
      view.strides.push_back(strides[static_cast<std::size_t>(d)]);
      continue;
    }
    const auto i = static_cast<std::size_t>(at - view.labels.begin());
    if (view.sizes[i] != t.dim(d)) {
      throw invalid_argument("label '", static_cast<char>(label), "' has the sizes ", view.sizes[i], " and ", t.dim(d),
                             " in ", t.describe());
    }
    view.strides[i] += strides[static_cast<std::size_t>(d)];
  }
  return view;
}

// Those labels of `order` that the view has.
Labels present(const View& view, const Labels& order) {
  Labels labels;
  std::copy_if(order.begin(), order.end(), std::back_inserter(labels), [&](int l) { return contains(view.labels, l); });
  return labels;
}

// True if the elements already lie in row-major order of `order`.
bool is_dense(const View& view, const Labels& order) {
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto at =
        static_cast<std::size_t>(std::find(view.labels.begin(), view.labels.end(), order[i]) - view.labels.begin());
    if (view.sizes[at] != 1 && view.strides[at] != stride) return false;
    stride *= view.sizes[at];
  }
  return true;
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

class EinsumKernel final : public Kernel {
 public:
  EinsumKernel(EinsumEquation equation, DType dtype)
      : equation_(std::move(equation)), dtype_(dtype), element_(static_cast<std::int64_t>(dtype_size(dtype))) {}

  void run(RunContext& c) const override {
    const int n = c.num_inputs();
    int broadcast_rank = 0;
    std::vector<int> own_ranks;
    for (int i = 0; i < n; ++i) {
      own_ranks.push_back(ellipsis_rank(equation_.inputs[static_cast<std::size_t>(i)], c.input(i)));
      broadcast_rank = std::max(broadcast_rank, own_ranks.back());
    }
    if (broadcast_rank > 0 && !has_ellipsis(equation_.output)) {
      throw invalid_argument("the ellipsis of '", equation_.to_string(),
                             "' stands for dimensions: the result needs one");
    }
    const Labels output = expand(equation_.output, broadcast_rank, broadcast_rank);
    std::vector<View> views;
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      views.push_back(make_view(c.input(i), expand(equation_.inputs[k], own_ranks[k], broadcast_rank)));
    }
    if (n == 1) {
      finish(c, reduced(c, views[0], output), output);
    } else {
      const View a = reduced(c, views[0], joined({&output, &views[1].labels}));
      const View b = reduced(c, views[1], joined({&output, &views[0].labels}));
      multiply(c, a, b, output);
    }
  }

 private:
  // `view` copied so that it lies densely in `order`, which has all its labels. Its own memory if it does already.
  View arranged(RunContext& c, const View& view, const Labels& order) const {
    View dense{view.tensor, order, {}, {}};
    Sizes strides;
    for (const int label : order) {
      const auto at =
          static_cast<std::size_t>(std::find(view.labels.begin(), view.labels.end(), label) - view.labels.begin());
      dense.sizes.push_back(view.sizes[at]);
      strides.push_back(view.strides[at]);
    }
    dense.strides = kernels::dense_strides(dense.sizes);
    if (is_dense(view, order)) return dense;
    dense.tensor = c.allocate_temporary(dtype_, Shape(dense.sizes));
    kernels::copy_strided(c.pool(), element_, dense.sizes, view.tensor.raw(), strides, dense.tensor.raw(),
                          dense.strides);
    return dense;
  }

  // Summed over all labels that are not in `needed`.
  View reduced(RunContext& c, const View& view, const Labels& needed) const {
    Labels kept, gone;
    for (const int label : view.labels) (contains(needed, label) ? kept : gone).push_back(label);
    if (gone.empty()) return view;
    const View dense = arranged(c, view, joined({&kept, &gone}));
    View sum{{}, kept, Sizes(dense.sizes.begin(), dense.sizes.begin() + static_cast<std::ptrdiff_t>(kept.size())), {}};
    sum.strides = kernels::dense_strides(sum.sizes);
    sum.tensor = c.allocate_temporary(dtype_, Shape(sum.sizes));
    std::vector<std::int64_t> axes(gone.size());
    std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(kept.size()));
    kernels::reduce(c.pool(), kernels::ReduceOp::kSum, dtype_, dense.tensor.raw(), dense.sizes, axes, sum.tensor.raw());
    return sum;
  }

  // Puts a view that has exactly the result's labels into the result; off the diagonals of repeated labels it is 0.
  void finish(RunContext& c, const View& view, const Labels& output) const {
    Sizes sizes;
    for (const int label : output) sizes.push_back(view.size(label));
    const Shape shape(sizes);
    Tensor& result = c.allocate_output(0, shape);
    if (result.num_elements() == 0) return;
    const Sizes strides = kernels::dense_strides(sizes);
    Sizes out_strides(view.labels.size(), 0);
    for (std::size_t d = 0; d < output.size(); ++d) {
      const auto at = std::find(view.labels.begin(), view.labels.end(), output[d]);
      out_strides[static_cast<std::size_t>(at - view.labels.begin())] += strides[d];
    }
    if (output.size() != view.labels.size()) std::memset(result.raw(), 0, result.byte_size());
    kernels::copy_strided(c.pool(), element_, view.sizes, view.tensor.raw(), view.strides, result.raw(), out_strides);
  }

  struct Groups {
    Labels broadcast, batch, m, n, k;
  };

  static Groups classify(const View& a, const View& b, const Labels& output) {
    Groups g;
    for (const int label : output) {
      if (is_broadcast(label)) g.broadcast.push_back(label);
    }
    for (const int label : a.labels) {
      if (is_broadcast(label)) continue;
      const bool in_b = contains(b.labels, label);
      if (in_b && a.size(label) != b.size(label)) {
        throw invalid_argument("label '", static_cast<char>(label), "' has size ", a.size(label),
                               " in the first input and ", b.size(label), " in the second");
      }
      (!in_b ? g.m : contains(output, label) ? g.batch : g.k).push_back(label);
    }
    for (const int label : b.labels) {
      if (!is_broadcast(label) && !contains(a.labels, label)) g.n.push_back(label);
    }
    return g;
  }

  void multiply(RunContext& c, const View& a, const View& b, const Labels& output) const {
    const Groups g = classify(a, b, output);
    const Labels head = joined({&g.broadcast, &g.batch});
    const auto arrange = [&](const View& view, const Labels& outer, const Labels& inner, bool& transposed) {
      const Labels own = present(view, head);
      const Labels straight = joined({&own, &outer, &inner}), flipped = joined({&own, &inner, &outer});
      transposed = !is_dense(view, straight) && is_dense(view, flipped);
      return arranged(c, view, transposed ? flipped : straight);
    };
    kernels::GemmShape shape;
    const View left = arrange(a, g.m, g.k, shape.transpose_a), right = arrange(b, g.k, g.n, shape.transpose_b);
    shape.m = a.product(g.m);
    shape.n = b.product(g.n);
    shape.k = a.product(g.k);

    View product{{}, joined({&head, &g.m, &g.n}), {}, {}};
    for (const int label : product.labels) {
      const std::int64_t x = a.size(label), y = b.size(label);
      if (is_broadcast(label) && x != y && x != 1 && y != 1) {
        throw invalid_argument("the dimensions of the ellipsis do not broadcast: sizes ", x, " and ", y);
      }
      product.sizes.push_back(x == 1 ? y : x);
    }
    product.strides = kernels::dense_strides(product.sizes);
    if (product.labels == output) {
      product.tensor = c.allocate_output(0, Shape(product.sizes));
      multiply_batches(c, g, shape, left, right, product);
      return;
    }
    product.tensor = c.allocate_temporary(dtype_, Shape(product.sizes));
    multiply_batches(c, g, shape, left, right, product);
    finish(c, product, output);
  }

  // All batches at once where nothing is repeated, else one call for each index of the ellipsis.
  void multiply_batches(RunContext& c, const Groups& g, const kernels::GemmShape& shape, const View& a, const View& b,
                        View& product) const {
    if (product.tensor.num_elements() == 0) return;
    kernels::GemmBatch batch{product.product(g.batch), shape.m * shape.k, shape.k * shape.n, shape.m * shape.n};
    const std::int64_t outer = product.product(g.broadcast);
    const auto call = [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_c) {
      kernels::batch_gemm(c.pool(), dtype_, batch, shape, a.tensor.raw() + at_a * element_,
                          b.tensor.raw() + at_b * element_, product.tensor.raw() + at_c * element_);
    };
    if (a.product(g.broadcast) == outer && b.product(g.broadcast) == outer) {
      batch.count *= outer;
      return call(0, 0, 0);
    }
    for (std::int64_t i = 0; i < outer; ++i) {
      std::int64_t rest = i, at_a = 0, at_b = 0, step_a = batch.count * batch.stride_a,
                   step_b = batch.count * batch.stride_b;
      for (std::size_t d = g.broadcast.size(); d-- > 0;) {
        const int label = g.broadcast[d];
        const std::int64_t index = rest % product.size(label);
        rest /= product.size(label);
        if (a.size(label) != 1) at_a += index * step_a;
        if (b.size(label) != 1) at_b += index * step_b;
        step_a *= a.size(label);
        step_b *= b.size(label);
      }
      call(at_a, at_b, i * batch.count * batch.stride_c);
    }
  }

  EinsumEquation equation_;
  DType dtype_;
  std::int64_t element_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_einsum(PrepareContext& c) {
  const DType dtype = c.input_type(0);
  if (!is_differentiable(dtype) && dtype != DType::kInt32 && dtype != DType::kInt64) {
    throw unimplemented("no kernel for ", dtype, " on CPU");
  }
  return std::make_unique<EinsumKernel>(EinsumEquation::parse(c.attr<std::string>("equation")), dtype);
}

}  // namespace caudal::inline v0
