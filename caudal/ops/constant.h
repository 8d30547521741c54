// Constants, placeholders and ops that hand a tensor on as it is.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"
#include "caudal/ops/literal.h"

namespace caudal::inline v0 {

struct ConstantOptions {
  DType dtype = DType::kInvalid;                 // default: the value's own
  PartialShape shape = PartialShape::unknown();  // default: the value's own
  std::string name = "Const";
  std::source_location where = std::source_location::current();
};

// A tensor that never changes: a number, string, Tensor or nested list. With a shape, the value must have as many
// elements or fewer; the last one is repeated then. Throws INVALID_ARGUMENT for a value with too many elements, or one
// that does not convert to the type.
CAUDAL_API Output constant(const Literal& value, const ConstantOptions& options = {});

// A tensor to be fed. The shape may lack sizes (-1) or be unknown altogether; a feed must fit it.
CAUDAL_API Output placeholder(DType dtype, const PartialShape& shape = PartialShape::unknown(),
                              const OpOptions& options = {});
// `input` unless something is fed. Throws INVALID_ARGUMENT if the input cannot have the shape.
CAUDAL_API Output placeholder_with_default(const Operand& input, const PartialShape& shape,
                                           const OpOptions& options = {});

// The same value under another name. Of a variable's reference: its value when this runs.
CAUDAL_API Output identity(const Operand& input, const OpOptions& options = {});
// All values; none is there before all are.
CAUDAL_API std::vector<Output> identity_n(const std::vector<Output>& input, const OpOptions& options = {});

// Does nothing; carries control dependencies.
CAUDAL_API Operation no_op(const OpOptions& options = {});
// An operation that is done when all of `operations` are. Default name: "group_deps".
CAUDAL_API Operation group(const std::vector<Operation>& operations, const OpOptions& options = {});

// `input`, taken as a constant by gradients.
CAUDAL_API Output stop_gradient(const Operand& input, const OpOptions& options = {});

// A tensor of zeros or ones. The shape is an integer vector (a list, or a tensor known at run time).
CAUDAL_API Output zeros(const Operand& shape, DType dtype = DType::kFloat, const OpOptions& options = {});
CAUDAL_API Output ones(const Operand& shape, DType dtype = DType::kFloat, const OpOptions& options = {});
// Of the shape and type of `x`; zeros of strings are empty strings.
CAUDAL_API Output zeros_like(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output ones_like(const Operand& x, const OpOptions& options = {});
// A tensor of shape `dims` (int32 or int64 vector) full of the scalar `value`.
// Run time error: INVALID_ARGUMENT for a negative size.
CAUDAL_API Output fill(const Operand& dims, const Operand& value, const OpOptions& options = {});

struct EmptyOptions {
  bool init = false;  // zeros instead of arbitrary values
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// `tensor`, a floating type. Run time error: INVALID_ARGUMENT, beginning with `message` and telling how many there
// are, if an element is NaN or infinite.
namespace debugging {
CAUDAL_API Output check_numerics(const Operand& tensor, const std::string& message, const OpOptions& options = {});
}  // namespace debugging

namespace raw_ops {
CAUDAL_API Output prevent_gradient(const Operand& input, const std::string& message, const OpOptions& options = {});
CAUDAL_API Output snapshot(const Operand& input, const OpOptions& options = {});
// A tensor with arbitrary values of shape `shape` (int32 vector).
CAUDAL_API Output empty(const Operand& shape, DType dtype, const EmptyOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
