// Geometry of ops that slide a window over images: convolution and pooling.
//
// Sizes here are in the order batch, rows, columns, channels whatever the op's data_format. Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/node_info.h"
#include "caudal/graph/builder.h"
#include "caudal/kernels/window.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

namespace nn {

// How much is added around an image: "SAME" (output as large as input / stride, zeros around; the odd one comes last),
// "VALID" (nothing), or the numbers themselves, before and after for each dimension in the order of data_format:
// {0, 0, top, bottom, left, right, 0, 0}.
class CAUDAL_API Padding {
 public:
  Padding(const char* name) : name_(name) {}                                                       // NOLINT
  Padding(std::string name) : name_(std::move(name)) {}                                            // NOLINT
  Padding(std::vector<std::int64_t> amounts) : name_("EXPLICIT"), amounts_(std::move(amounts)) {}  // NOLINT
  Padding(std::initializer_list<std::int64_t> amounts) : name_("EXPLICIT"), amounts_(amounts) {}   // NOLINT
  const std::string& name() const { return name_; }
  const std::vector<std::int64_t>& amounts() const { return amounts_; }

 private:
  std::string name_;
  std::vector<std::int64_t> amounts_;
};

}  // namespace nn

// One number per dimension of data_format from one (both image dimensions), two (rows, columns) or four.
// Throws INVALID_ARGUMENT, naming them `what`, for another count.
std::vector<std::int64_t> per_dimension(const std::vector<std::int64_t>& values, std::string_view data_format,
                                        std::string_view what);

struct SlidingWindow {
  enum class Mode { kSame, kValid, kExplicit };
  using Sizes = std::array<std::int64_t, 4>;

  // From attributes strides, padding, data_format and, where the op has them, ksize, dilations, explicit_paddings.
  // Throws INVALID_ARGUMENT for sizes that no window has.
  static SlidingWindow of(const NodeInfo& node);

  // Four positive numbers in the order of data_format. Throws INVALID_ARGUMENT, naming them `what`.
  Sizes sizes(const std::vector<std::int64_t>& values, std::string_view what) const;

  // From and to the order of data_format.
  PartialShape to_nhwc(const PartialShape& shape) const;
  PartialShape from_nhwc(const PartialShape& shape) const;

  // Output size and padding along rows (1) or columns (2) of `n` pixels. Throws INVALID_ARGUMENT if the window is
  // larger than the padded image.
  kernels::PaddedAxis axis(int dimension, std::int64_t n, std::int64_t window) const;
  // The output size alone; -1 where a size is.
  std::int64_t output_size(int dimension, std::int64_t n, std::int64_t window) const;

  // Throws UNIMPLEMENTED where no CPU kernel can follow: NCHW, and strides or dilations over the batch or (unless
  // `depth`) the channels.
  void check_cpu(bool depth = false) const;

  // For an NHWC input and a window of rows x columns.
  kernels::Window2d over(const Shape& input, std::int64_t rows, std::int64_t columns) const;

  bool channels_first = false;
  bool vector_channels = false;  // NCHW_VECT_C
  Mode mode = Mode::kValid;
  Sizes size = {1, 1, 1, 1}, stride = {1, 1, 1, 1}, dilation = {1, 1, 1, 1};
  Sizes before = {}, after = {};  // padding of kExplicit
};

// Copies the named attributes of `node` that it has.
void copy_attrs(const NodeInfo& node, std::initializer_list<std::string_view> names, OpBuilder& builder);

// Input channels of a convolution that the filter's input channels cut into groups; 1 where a size is unknown. `place`
// says which size of the filter they are ("third"). Throws INVALID_ARGUMENT if they do not divide.
std::int64_t group_count(std::int64_t channels, std::int64_t filter_channels, std::int64_t out_channels,
                         std::string_view place);

}  // namespace caudal::inline v0
