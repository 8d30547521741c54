#include "caudal/cli/profile_report.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "caudal/base/cpu.h"
#include "caudal/base/error.h"
#include "caudal/cli/json.h"
#include "caudal/cli/text_table.h"

namespace caudal::inline v0::cli {
namespace {

constexpr std::size_t kMostNodes = 12;

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// The share of the arithmetic or of the memory roof, whichever is larger: the other has room.
double share_of_roof(const ProfileRow& row, const kernels::Roof& roof) {
  return std::max(row.gflops() / roof.gflops, row.gbytes() / roof.gbytes);
}

double traced(const Profile& profile) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.microseconds;
  return sum;
}

void add_row(TextTable& table, const ProfileRow& row, const std::string& what, double all, const kernels::Roof& roof) {
  const bool computes = row.cost.multiplications > 0;
  // What stays in caches may be faster than memory; above 100% says no more than that.
  const double share = share_of_roof(row, roof);
  table.row({fixed(row.microseconds, 1), fixed(100 * row.microseconds / all, 1) + "%",
             computes ? fixed(row.gflops(), 1) : "", row.cost.bytes > 0 ? fixed(row.gbytes(), 1) : "",
             row.cost.bytes > 0 ? (share > 1 ? std::string("cache") : fixed(100 * share, 0) + "%") : "", what});
}

TextTable new_table(const char* what) {
  TextTable table(1000);
  for (const std::size_t column : {0, 1, 2, 3, 4}) table.right(column);
  table.row({"us", "share", "GFLOP/s", "GB/s", "of roof", what});
  return table;
}

std::string row_json(const ProfileRow& row) {
  return JsonObject()
      .add("node", row.name)
      .add("op", row.op)
      .add("microseconds", row.microseconds)
      .add("multiplications", row.cost.multiplications)
      .add("bytes", row.cost.bytes)
      .str();
}

}  // namespace

std::string profile_text(const Profile& profile, const kernels::Roof& roof) {
  const double all = traced(profile);
  TextTable ops = new_table("op"), nodes = new_table("node");
  std::size_t shown = 0;
  for (const ProfileRow& row : profile.by_op()) {
    if (row.microseconds >= 0.002 * all) add_row(ops, row, row.op + " x" + std::to_string(row.nodes), all, roof);
  }
  for (const ProfileRow& row : profile.slowest()) {
    if (++shown > kMostNodes) break;
    add_row(nodes, row, row.op + " '" + row.name + "'", all, roof);
  }
  return internal::concat("A step takes ", fixed(profile.step_microseconds, 1), " us; its ", profile.rows.size(),
                          " nodes ", fixed(all, 1), " us of it (medians of ", profile.steps,
                          " steps).\nThe roof: ", fixed(roof.gflops, 0), " GFLOP/s of float, ", fixed(roof.gbytes, 1),
                          " GB/s beyond the caches, ", roof.threads, " threads of ", cpu_name(), ".\n\n", ops.str(),
                          '\n', nodes.str());
}

std::string profile_json(const Profile& profile, const kernels::Roof& roof) {
  std::vector<std::string> rows;
  for (const ProfileRow& row : profile.rows) rows.push_back(row_json(row));
  return JsonObject()
      .add("step_microseconds", profile.step_microseconds)
      .add("steps", profile.steps)
      .add("roof_gflops", roof.gflops)
      .add("roof_gbytes", roof.gbytes)
      .add("threads", std::int64_t{roof.threads})
      .add_json("nodes", json_list(rows))
      .str();
}

}  // namespace caudal::inline v0::cli
