// Fingerprints: eight bytes for each row, the same everywhere and for ever. Not for secrets.
//
// Errors: INVALID_ARGUMENT for data without rows and other methods. Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// data: numbers or strings [rows, ...]. method: "farmhash64". Gives uint8 [rows, 8]: FarmHash's Fingerprint64 of the
// row's bytes, lowest byte first; of several strings in a row that of their fingerprints.
CAUDAL_API Output fingerprint(const Operand& data, const std::string& method = "farmhash64",
                              const OpOptions& options = {});

}  // namespace caudal::inline v0
