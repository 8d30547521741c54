// Slots: variables that belong to another one and lie beside it, "<primary>/<name>".
// Thread safety: as building a graph.
#pragma once

#include <string_view>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::train {

// A global variable that is not trained, of the primary's kind (reference or resource), wherever the caller's scopes
// are. A name that is taken gets a number. The slot of a part of a partitioned variable is saved as the same part of
// one slot. `initial` is called once.
CAUDAL_API Variable create_slot(const Variable& primary, const Variable::InitialValue& initial, std::string_view name);

// `value` everywhere, in the primary's shape and type. A shape that is not known now is that of the primary's value, or
// of its initial value, when the slot is initialised.
CAUDAL_API Variable create_filled_slot(const Variable& primary, float value, std::string_view name);

// The variable's value if it has one, else what it would be initialised with.
CAUDAL_API Output initialized_value(const Variable& variable);

}  // namespace caudal::inline v0::train
