// Diagonals and bands of batches of matrices, tf.linalg's.
//
// A matrix of r rows and c columns has the diagonals -(r-1) .. c-1: 0 is the main one, negative ones lie below it. A
// band k = [lower, upper] of several diagonals is packed as one row per diagonal, the upper one first, each as long as
// the longest; `align` says which end the shorter ones are moved to: "RIGHT_LEFT" moves those above the main diagonal
// to the right and those below to the left ("LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT" accordingly).
// Any plain type but quantised ones. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

struct DiagOptions {
  Operand k = 0;              // one diagonal, or [lower, upper]: int32
  Operand num_rows = -1;      // -1: as few as the diagonals need
  Operand num_cols = -1;      // the same
  Operand padding_value = 0;  // of all other elements; has the diagonal's type
  std::string align = "RIGHT_LEFT";
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Matrices [..., rows, cols] with the given diagonals: [..., length] of one, [..., diagonals, length] of a band.
// INVALID_ARGUMENT if the sizes do not fit the diagonals.
CAUDAL_API Output diag(const Operand& diagonal, const DiagOptions& options = {});

struct DiagPartOptions {
  Operand k = 0;
  Operand padding_value = 0;  // where a diagonal of a band is shorter than the longest
  std::string align = "RIGHT_LEFT";
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The diagonals of matrices: the inverse of diag(). INVALID_ARGUMENT for a diagonal outside the matrix.
CAUDAL_API Output diag_part(const Operand& input, const DiagPartOptions& options = {});

struct SetDiagOptions {
  Operand k = 0;
  std::string align = "RIGHT_LEFT";
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `input` with its diagonals replaced.
CAUDAL_API Output set_diag(const Operand& input, const Operand& diagonal, const SetDiagOptions& options = {});

// `input` with everything but a central band set to zero: num_lower diagonals below and num_upper above the main one
// stay, all where the number is negative. INVALID_ARGUMENT for more than there are rows or columns.
CAUDAL_API Output band_part(const Operand& input, const Operand& num_lower, const Operand& num_upper,
                            const OpOptions& options = {});

// The sum of the main diagonal of each matrix.
CAUDAL_API Output trace(const Operand& x, const OpOptions& options = {});

}  // namespace caudal::inline v0::linalg
