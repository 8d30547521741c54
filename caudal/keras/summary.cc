// Model::summary(): the table of keras/src/utils/summary_utils.py, drawn as its library (rich) draws it. And to_dot().
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "caudal/base/strings.h"
#include "caudal/keras/model_core.h"
#include "caudal/keras/training.h"

namespace caudal::inline v0::keras {
namespace {

enum class Align { kLeft, kRight, kCenter };

// --- Text ---

// Characters, each byte sequence of UTF-8 one column wide.
std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80 && !out.empty()) {
      out.back() += c;
    } else {
      out.emplace_back(1, c);
    }
  }
  return out;
}

std::size_t width_of(const std::string& text) { return characters(text).size(); }

std::string repeat(const std::string& piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

std::string without_end_spaces(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Cut to the width, the last column an ellipsis.
std::string shortened(const std::string& text, std::size_t width) {
  const std::vector<std::string> all = characters(text);
  if (all.size() <= width) return text;
  std::string out;
  for (std::size_t i = 0; i + 1 < width; ++i) out += all[i];
  return out + "…";
}

// Words with the spaces around them: "  a b" is "  a ", "b".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t start = i;
    while (i < text.size() && text[i] == ' ') ++i;
    while (i < text.size() && text[i] != ' ') ++i;
    while (i < text.size() && text[i] == ' ') ++i;
    words.push_back(text.substr(start, i - start));
  }
  return words;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines = {""};
  std::size_t used = 0;
  for (const std::string& word : words_of(text)) {
    const std::size_t length = width_of(without_end_spaces(word));
    if (length > width - std::min(used, width) && !lines.back().empty()) {
      lines.emplace_back();
      used = 0;
    }
    lines.back() += word;
    used += width_of(word);
  }
  for (std::string& line : lines) line = shortened(without_end_spaces(line), width);
  return lines;
}

std::string aligned(const std::string& text, std::size_t width, Align align) {
  const std::size_t room = width - std::min(width, width_of(text));
  if (align == Align::kRight) return std::string(room, ' ') + text;
  if (align == Align::kLeft) return text + std::string(room, ' ');
  return std::string(room / 2, ' ') + text + std::string(room - room / 2, ' ');
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::int64_t i = static_cast<std::int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

std::string memory_text(std::int64_t bytes) {
  auto size = static_cast<double>(bytes);
  std::string unit;
  for (const char* name : {"B", "KB", "MB", "GB", "TB", "PB"}) {
    unit = name;
    if (size / 1024 < 1) break;
    size /= 1024;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.2f %s", size, unit.c_str());
  return text;
}

// --- The table ---

class Table {
 public:
  // Columns end at those shares of `length`.
  Table(int length, const std::vector<double>& ends, std::vector<std::string> header, std::vector<Align> aligns)
      : aligns_(std::move(aligns)) {
    int before = 0;
    for (const double end : ends) {
      const int width = static_cast<int>(end * length) - before;
      widths_.push_back(width + 2);
      before += width;
    }
    // rich takes what is too much from each column in turn.
    int excess = -(length - static_cast<int>(ends.size()) - 1);
    for (const int width : widths_) excess += width;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      const int share =
          static_cast<int>(std::nearbyint(static_cast<double>(excess) / static_cast<double>(widths_.size() - i)));
      widths_[i] = std::max(3, widths_[i] - share);
      excess -= share;
    }
    header_ = std::move(header);
  }

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string str() const {
    std::string out = rule("┏", "━", "┳", "┓") + cells(header_, "┃") + rule("┡", "━", "╇", "┩");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i > 0) out += rule("├", "─", "┼", "┤");
      out += cells(rows_[i], "│");
    }
    return out + rule("└", "─", "┴", "┘");
  }

 private:
  std::string rule(const char* left, const char* line, const char* cross, const char* right) const {
    std::string out = left;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) out += cross;
      out += repeat(line, static_cast<std::size_t>(widths_[i]));
    }
    return out + right + "\n";
  }

  std::string cells(const std::vector<std::string>& texts, const char* bar) const {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      lines.push_back(wrapped(texts[i], static_cast<std::size_t>(widths_[i] - 2)));
      height = std::max(height, lines.back().size());
    }
    std::string out;
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t i = 0; i < widths_.size(); ++i) {
        const std::string text = y < lines[i].size() ? lines[i][y] : "";
        out += std::string(bar) + " " + aligned(text, static_cast<std::size_t>(widths_[i] - 2), aligns_[i]) + " ";
      }
      out += std::string(bar) + "\n";
    }
    return out;
  }

  std::vector<int> widths_;  // with a space on both sides
  std::vector<std::string> header_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

// --- Models ---

std::string shape_text(const PartialShape& shape) {
  if (!shape.has_rank()) return "?";
  std::vector<std::string> dims;
  for (const std::int64_t dim : shape.dims()) dims.push_back(dim < 0 ? "None" : std::to_string(dim));
  return "(" + join(dims, ", ") + (dims.size() == 1 ? ",)" : ")");
}

std::string output_text(const Layer& layer) {
  const auto nodes = layer.nodes();
  const ModelCore* model = dynamic_cast<const ModelCore*>(&layer);
  std::vector<std::string> shapes;
  if (!nodes.empty()) {
    for (const Output& output : nodes.back()->outputs) shapes.push_back(shape_text(output.shape()));
  } else if (model != nullptr) {
    for (const KerasTensor& output : model->outputs()) shapes.push_back(shape_text(output.shape()));
  }
  if (shapes.empty()) return "?";
  return shapes.size() == 1 ? shapes[0] : "[" + join(shapes, ", ") + "]";
}

std::int64_t count_of(const std::vector<WeightRef>& weights) {
  std::int64_t count = 0;
  for (const WeightRef& weight : weights) count += weight->shape().num_elements();
  return count;
}

std::int64_t bytes_of(const std::vector<WeightRef>& weights) {
  std::int64_t bytes = 0;
  for (const WeightRef& weight : weights) {
    bytes += weight->shape().num_elements() * static_cast<std::int64_t>(dtype_size(weight->dtype()));
  }
  return bytes;
}

// Whether each layer just follows the one before, so that no "Connected to" is needed.
bool is_chain(const ModelCore& core) {
  if (core.kind() != ModelCore::Kind::kFunctional) return true;
  std::set<const Layer*> seen;
  for (const auto& [depth, nodes] : core.nodes_by_depth()) {
    if (nodes.size() > 1 || nodes[0]->inputs.size() > 1) return false;
    if (!seen.insert(&*nodes[0]->layer).second) return false;
  }
  return true;
}

int terminal_columns() {
  if (const char* given = std::getenv("COLUMNS"); given != nullptr) {
    if (const int columns = std::atoi(given); columns > 0) return columns;
  }
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

class Summary {
 public:
  Summary(ModelCore& core, const SummaryOptions& options) : core_(core), options_(options), chain_(is_chain(core)) {
    for (const auto& node : core.nodes_in_order()) relevant_.insert(node.get());
  }

  std::string str() {
    Table table = make_table();
    const std::vector<LayerRef> layers =
        core_.kind() == ModelCore::Kind::kFunctional ? core_.all_layers() : core_.layers();
    for (const LayerRef& layer : layers) add(table, layer, 0);
    return "Model: \"" + core_.name() + "\"\n" + table.str() + totals();
  }

 private:
  Table make_table() const {
    std::vector<std::string> header = {"Layer (type)", "Output Shape", "Param #"};
    std::vector<Align> aligns = {Align::kLeft, Align::kLeft, Align::kRight};
    std::vector<double> ends = {0.45, 0.80, 1.0};
    int length = 88;
    if (!chain_) {
      header.emplace_back("Connected to");
      aligns.push_back(Align::kLeft);
      ends = {0.3, 0.56, 0.74, 1.0};
      length = 108;
    }
    if (options_.show_trainable) {
      length += 12;
      for (double& end : ends) end *= 0.90;
      ends.push_back(1.0);
      header.emplace_back("Trainable");
      aligns.push_back(Align::kCenter);
    }
    length = options_.line_length > 0 ? options_.line_length : std::min(length, terminal_columns() - 4);
    return Table(std::max(length, 30), ends, std::move(header), std::move(aligns));
  }

  std::string connections(const Layer& layer) const {
    std::vector<std::string> texts;
    for (const auto& node : layer.nodes()) {
      if (!relevant_.contains(node.get())) continue;
      for (const KerasTensor& input : node->inputs) {
        texts.push_back(input.node()->layer->name() + "[" + std::to_string(input.node()->index) + "][" +
                        std::to_string(input.index()) + "]");
      }
    }
    return texts.empty() ? "-" : join(texts, ", ");
  }

  void add(Table& table, const LayerRef& layer, int level) const {
    const auto* model = dynamic_cast<const ModelCore*>(&*layer);
    const bool built =
        layer->built() || (model != nullptr && model->has_graph()) || layer->class_name() == "InputLayer";
    const std::string prefix = level == 0 ? "" : repeat("   ", static_cast<std::size_t>(level)) + "└ ";
    std::vector<std::string> row = {prefix + layer->name() + " (" + layer->class_name() + ")", output_text(*layer),
                                    built ? grouped(layer->count_params()) : "0 (unbuilt)"};
    if (!chain_) row.push_back(connections(*layer));
    if (options_.show_trainable) row.emplace_back(layer->weights().empty() ? "-" : layer->trainable() ? "Y" : "N");
    table.row(std::move(row));
    if (!options_.expand_nested) return;
    for (const LayerRef& inner : layer->layers()) add(table, inner, level + 1);
  }

  std::string totals() const {
    const auto line = [](const char* what, std::int64_t count, std::int64_t bytes) {
      return std::string(" ") + what + " params: " + grouped(count) + " (" + memory_text(bytes) + ")\n";
    };
    const auto trained = core_.trainable_weights(), frozen = core_.non_trainable_weights();
    std::vector<WeightRef> optimizer;
    const bool has_optimizer =
        core_.training() && core_.training()->compiled() && core_.training()->optimizer().built();
    if (has_optimizer) optimizer = core_.training()->optimizer().variables();
    std::string out = line("Total", count_of(trained) + count_of(frozen) + count_of(optimizer),
                           bytes_of(trained) + bytes_of(frozen) + bytes_of(optimizer)) +
                      line("Trainable", count_of(trained), bytes_of(trained)) +
                      line("Non-trainable", count_of(frozen), bytes_of(frozen));
    if (has_optimizer) out += line("Optimizer", count_of(optimizer), bytes_of(optimizer));
    return out;
  }

  ModelCore& core_;
  SummaryOptions options_;
  bool chain_;
  std::set<const KerasTensor::Node*> relevant_;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string Model::summary(const SummaryOptions& options) const { return Summary(core(), options).str(); }

std::string Model::to_dot(bool show_shapes) const {
  std::string out = "digraph " + quoted(name()) + " {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\"];\n";
  const std::vector<LayerRef> all = core().has_graph() ? core().all_layers() : layers();
  for (const LayerRef& layer : all) {
    std::string label = layer->name() + " (" + layer->class_name() + ")";
    if (show_shapes) label += "\\n" + output_text(*layer);
    out += "  " + quoted(layer->name()) + " [label=\"" + label + "\"];\n";
  }
  for (const auto& node : core().nodes_in_order()) {
    for (const KerasTensor& input : node->inputs) {
      out += "  " + quoted(input.node()->layer->name()) + " -> " + quoted(node->layer->name()) + ";\n";
    }
  }
  return out + "}\n";
}

}  // namespace caudal::inline v0::keras
