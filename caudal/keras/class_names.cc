#include "caudal/keras/class_names.h"

#include <cctype>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0::keras {

std::string snake_case(std::string_view class_name) {
  const auto is = [&](std::size_t i, int (*test)(int)) {
    return i < class_name.size() && test(static_cast<unsigned char>(class_name[i])) != 0;
  };
  std::string out;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const bool upper = is(i, std::isupper);
    const bool begins =
        upper && i > 0 && class_name[i - 1] != '_' && (is(i + 1, std::islower) || is(i - 1, std::islower));
    if (begins) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(class_name[i])));
  }
  return out;
}

void throw_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& known) {
  std::string advice = did_you_mean(name, known);
  if (advice.empty()) advice = "Known are " + join(known, ", ") + ".";
  throw invalid_argument("unknown ", kind, " '", escaped(name), "'").hint(advice);
}

}  // namespace caudal::inline v0::keras
