#include "caudal/ops/control_flow_checks.h"

#include "caudal/base/error.h"

namespace caudal::inline v0::internal {

void check_same_results(const Outputs& first, const Outputs& other, std::string_view first_name,
                        std::string_view other_name) {
  if (first.size() != other.size()) {
    throw invalid_argument(first_name, " returns ", first.size(), " tensors, ", other_name, " ", other.size())
        .hint("All branches must return the same tensors, one by one.");
  }
  if (first.empty()) throw invalid_argument(first_name, " returns nothing");
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].dtype() == other[i].dtype()) continue;
    throw invalid_argument("result ", i, " is ", first[i].dtype(), " by ", first_name, " and ", other[i].dtype(),
                           " by ", other_name)
        .hint("Cast one of them: the result has one type.");
  }
}

bool is_as_known(const PartialShape& actual, const PartialShape& wanted) {
  if (!wanted.has_rank()) return true;
  if (!actual.has_rank() || actual.rank() != wanted.rank()) return false;
  for (int d = 0; d < wanted.rank(); ++d) {
    if (wanted.dim(d) != PartialShape::kUnknown && wanted.dim(d) != actual.dim(d)) return false;
  }
  return true;
}

void check_loop_variable(const Output& initial, const PartialShape& shape, const Output& next) {
  if (next.dtype() != initial.dtype()) {
    throw invalid_argument("the loop variable '", initial.name(), "' is ", initial.dtype(),
                           " and, after an iteration, ", next.dtype())
        .hint("The body must return every loop variable with the type that it has.");
  }
  if (!is_as_known(next.shape(), shape)) {
    throw invalid_argument("the loop variable '", initial.name(), "' enters with shape ", initial.shape(),
                           " and has shape ", next.shape(), " after an iteration")
        .hint("Say in shape_invariants which sizes may change (-1), or set_shape() in the body what is known to stay.");
  }
}

}  // namespace caudal::inline v0::internal
