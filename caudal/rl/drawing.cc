#include "caudal/rl/drawing.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace caudal::inline v0::rl {
namespace {

// Fills the pixels of row `y` whose centres lie between `left` and `right`.
void fill_span(io::Canvas& canvas, int y, double left, double right, io::Color color) {
  const auto first = static_cast<int>(std::ceil(std::max(left - 0.5, -1.0)));
  const auto last = static_cast<int>(std::floor(std::min(right - 0.5, canvas.width() + 1.0)));
  if (last >= first) canvas.fill(first, y, last - first + 1, 1, color);
}

}  // namespace

Point turned(Point p, double angle, Point by) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {p.x * c - p.y * s + by.x, p.x * s + p.y * c + by.y};
}

void fill_polygon(io::Canvas& canvas, std::span<const Point> corners, io::Color color) {
  std::vector<double> crossings;
  for (int row = 0; row < canvas.height(); ++row) {
    const double y = canvas.height() - (row + 0.5);
    crossings.clear();
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point a = corners[i], b = corners[(i + 1) % corners.size()];
      if ((a.y <= y) != (b.y <= y)) crossings.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
    }
    std::ranges::sort(crossings);
    for (std::size_t i = 0; i + 1 < crossings.size(); i += 2)
      fill_span(canvas, row, crossings[i], crossings[i + 1], color);
  }
}

void fill_circle(io::Canvas& canvas, Point centre, double radius, io::Color color) {
  for (int row = 0; row < canvas.height(); ++row) {
    const double dy = canvas.height() - (row + 0.5) - centre.y;
    if (std::abs(dy) > radius) continue;
    const double half = std::sqrt(radius * radius - dy * dy);
    fill_span(canvas, row, centre.x - half, centre.x + half, color);
  }
}

void stroke(io::Canvas& canvas, Point from, Point to, double width, io::Color color) {
  const double angle = std::atan2(to.y - from.y, to.x - from.x);
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  fill_turned_box(canvas, {0, -width / 2}, {length, width / 2}, angle, from, color);
}

void fill_turned_box(io::Canvas& canvas, Point left_bottom, Point right_top, double angle, Point by, io::Color color) {
  const Point corners[] = {
      turned(left_bottom, angle, by),
      turned({left_bottom.x, right_top.y}, angle, by),
      turned(right_top, angle, by),
      turned({right_top.x, left_bottom.y}, angle, by),
  };
  fill_polygon(canvas, corners, color);
}

}  // namespace caudal::inline v0::rl
