#include "caudal/ops/position_text.h"

namespace caudal::inline v0 {

std::string position_text(std::int64_t position, const Shape& shape) {
  std::string text;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    text = std::to_string(position % shape[i]) + (text.empty() ? "" : ",") + text;
    position /= shape[i];
  }
  return text.empty() ? text : "[" + text + "]";
}

}  // namespace caudal::inline v0
