#include "caudal/cli/prediction_sheet.h"

#include <algorithm>
#include <cstdio>

#include "caudal/io/canvas.h"

namespace caudal::inline v0::cli {
namespace {

using io::Canvas;
using io::Color;

constexpr int kColumns = 8;
constexpr int kRightRows = 3;
constexpr int kWrongRows = 4;
constexpr int kMargin = 16;
constexpr int kHeading = 28;
constexpr int kPictureSize = 84;  // pixels that a picture gets at least
constexpr int kCellWidth = 116;
constexpr Color kInk = {30, 30, 30};
constexpr Color kGreen = {20, 125, 60};
constexpr Color kRed = {190, 30, 30};
constexpr Color kGray = {120, 120, 120};

struct Prediction {
  std::int64_t row = 0;
  std::int64_t label = 0;
  std::int64_t guess = 0;
  double chance = 0;
};

std::vector<Prediction> predictions_of(const data::DataSet& rows, const Tensor& probabilities) {
  std::vector<Prediction> all;
  const std::int64_t classes = probabilities.dim(1);
  for (std::int64_t i = 0; i < probabilities.dim(0); ++i) {
    const float* p = probabilities.data<float>() + i * classes;
    const float* best = std::max_element(p, p + classes);
    all.push_back({i, rows.labels().data<std::int64_t>()[i], best - p, *best});
  }
  return all;
}

class Sheet {
 public:
  Sheet(const data::DataSet& rows, const std::vector<std::string>& names)
      : rows_(rows),
        names_(names),
        scale_(std::max<int>(
            1, kPictureSize / static_cast<int>(std::max(rows.features().dim(1), rows.features().dim(2))))),
        cell_height_(static_cast<int>(rows.features().dim(1)) * scale_ + 3 * Canvas::kGlyphHeight + 16),
        canvas_(2 * kMargin + kColumns * kCellWidth,
                2 * kMargin + 2 * kHeading + (kRightRows + kWrongRows) * cell_height_) {}

  Tensor draw(const std::vector<Prediction>& all) {
    std::vector<Prediction> right;
    std::vector<Prediction> wrong;
    for (const Prediction& p : all) (p.guess == p.label ? right : wrong).push_back(p);
    // The mistakes that were made with the greatest confidence are the ones to look at.
    std::ranges::stable_sort(wrong, std::greater<>(), &Prediction::chance);
    int y = kMargin;
    y = section(y, heading("Right", right.size(), all.size()), right, kRightRows, kGreen);
    section(y, heading("Mistakes, most confident first", wrong.size(), all.size()), wrong, kWrongRows, kRed);
    return canvas_.pixels();
  }

 private:
  static std::string heading(const char* what, std::size_t count, std::size_t all) {
    char text[96];
    std::snprintf(text, sizeof text, "%s: %zu of %zu (%.1f%%)", what, count, all,
                  all == 0 ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(all));
    return text;
  }

  int section(int y, const std::string& title, const std::vector<Prediction>& predictions, int lines, Color color) {
    canvas_.text(kMargin, y, title, kInk, 2);
    y += kHeading;
    const std::size_t shown = std::min<std::size_t>(predictions.size(), static_cast<std::size_t>(lines * kColumns));
    for (std::size_t i = 0; i < shown; ++i) {
      const auto column = static_cast<int>(i) % kColumns;
      const auto line = static_cast<int>(i) / kColumns;
      cell(kMargin + column * kCellWidth, y + line * cell_height_, predictions[i], color);
    }
    return y + lines * cell_height_;
  }

  void cell(int x, int y, const Prediction& p, Color color) {
    const Tensor picture = rows_.features().rows(p.row, p.row + 1);
    const Shape& shape = rows_.features().shape();
    canvas_.picture(x, y, picture.reshape(Shape{shape[1], shape[2], shape[3]}), scale_);
    y += static_cast<int>(shape[1]) * scale_ + 4;
    char chance[16];
    std::snprintf(chance, sizeof chance, " %.0f%%", 100 * p.chance);
    canvas_.text(x, y, name(p.guess) + chance, color);
    if (p.guess != p.label) canvas_.text(x, y + Canvas::kGlyphHeight + 2, "is " + name(p.label), kGray);
  }

  std::string name(std::int64_t label) const {
    return label < static_cast<std::int64_t>(names_.size()) ? names_[static_cast<std::size_t>(label)]
                                                            : std::to_string(label);
  }

  const data::DataSet& rows_;
  const std::vector<std::string>& names_;
  int scale_, cell_height_;
  Canvas canvas_;
};

}  // namespace

std::vector<std::string> fashion_names() {
  return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
}

Tensor draw_prediction_sheet(const data::DataSet& rows, const Tensor& probabilities,
                             const std::vector<std::string>& names) {
  return Sheet(rows, names).draw(predictions_of(rows, probabilities));
}

}  // namespace caudal::inline v0::cli
