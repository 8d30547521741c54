// Shapes at fractional places on a canvas, for the pictures of the control tasks.
//
// Coordinates are pixels from the bottom left, y points up. Thread safety: as io::Canvas.
#pragma once

#include <span>

#include "caudal/io/canvas.h"

namespace caudal::inline v0::rl {

struct Point {
  double x = 0, y = 0;
};

// `p` turned by `angle` (radians, anticlockwise) around the origin, then moved by `by`.
Point turned(Point p, double angle, Point by = {});

void fill_polygon(io::Canvas& canvas, std::span<const Point> corners, io::Color color);
void fill_circle(io::Canvas& canvas, Point centre, double radius, io::Color color);
// A stroke `width` pixels wide.
void stroke(io::Canvas& canvas, Point from, Point to, double width, io::Color color);
// The rectangle from (left, bottom) to (right, top), turned around the origin and moved.
void fill_turned_box(io::Canvas& canvas, Point left_bottom, Point right_top, double angle, Point by, io::Color color);

}  // namespace caudal::inline v0::rl
