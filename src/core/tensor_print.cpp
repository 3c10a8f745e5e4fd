// Tensors as text, laid out as Julia shows arrays: a heading, then rows whose columns are aligned on the decimal point,
// cut in the middle when they are many. Only the elements shown are read from their device, 1 kB at most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>

#include "src/core/number_text.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/visit_dtype.hpp"

namespace sluice::inline v0 {
namespace {

constexpr std::size_t kMaxBytesRead = 1024;
constexpr std::int64_t kMaxRows = 20;
constexpr std::int64_t kMaxColumns = 10;
constexpr std::int64_t kMaxSlices = 4;
constexpr std::size_t kEllipsisEvery = 5;  // rows with an ellipsis, and columns with dots below
constexpr std::string_view kColumnGap = "  ";

// Which of 0 ... size - 1 are shown: the first and the last few, or all.
struct Cut {
  Cut(std::int64_t size_, std::int64_t limit)
      : size(size_), head(size <= limit ? size : (limit + 1) / 2), tail(size <= limit ? 0 : limit / 2) {}
  std::int64_t shown() const { return head + tail; }
  bool is_cut() const { return shown() < size; }
  std::int64_t operator[](std::int64_t i) const { return i < head ? i : size - shown() + i; }
  std::int64_t size, head, tail;
};

struct Layout {
  Cut rows, columns, slices;
};

Layout layout_of(const Shape& shape, DType dtype) {
  const std::int64_t slices = shape.numel() / (shape[0] * shape[1]);
  std::int64_t limits[] = {kMaxRows, kMaxColumns, kMaxSlices};
  for (int step = 0;; ++step) {
    const Layout layout{Cut(shape[0], limits[0]), Cut(shape[1], limits[1]), Cut(slices, limits[2])};
    const std::int64_t shown = layout.rows.shown() * layout.columns.shown() * layout.slices.shown();
    if (static_cast<std::size_t>(shown) * dtype.size() <= kMaxBytesRead) return layout;
    std::int64_t& limit = limits[step % 2 == 0 ? 2 : 0];
    limit = std::max<std::int64_t>(limit / 2, 2);
  }
}

// Reads `count` elements that lie side by side and gives each as text.
void append_texts(const Tensor& x, std::int64_t first, std::int64_t count, std::vector<std::string>& texts) {
  const detail::TensorRep& rep = *x.rep();
  if (count == 0) return;
  std::array<std::byte, kMaxRows * sizeof(double)> bytes;
  const std::size_t size = static_cast<std::size_t>(count) * rep.dtype.size();
  const std::size_t offset = static_cast<std::size_t>(rep.offset + first) * rep.dtype.size();
  rep.storage->device->read(*rep.storage, offset, bytes.data(), size);
  detail::visit_dtype(rep.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < size; i += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes.data() + i, sizeof value);
      texts.push_back(detail::number_text(value));
    }
  });
}

// A column of texts and the widths of the parts before and from the decimal point.
struct Column {
  explicit Column(std::vector<std::string> texts_) : texts(std::move(texts_)) {
    for (const std::string& text : texts) {
      left = std::max(left, point(text));
      right = std::max(right, text.size() - point(text));
    }
  }
  static std::size_t point(const std::string& text) { return std::min(text.find_first_of(".ef"), text.size()); }

  std::vector<std::string> texts;
  std::size_t left = 1;
  std::size_t right = 0;
};

// One row of one column; `pad` fills it up on the right.
std::string cell(const Column& column, std::size_t row, bool pad) {
  const std::string& text = column.texts[row];
  const std::size_t point = Column::point(text);
  std::string line = std::string(column.left - point, ' ') + text;
  if (pad) line.append(column.right - (text.size() - point), ' ');
  return line;
}

std::string dots_cell(const Column& column, std::size_t index, bool pad) {
  const bool has_dots = index % kEllipsisEvery == 0;
  std::string line(column.left - 1, ' ');
  line += has_dots ? "⋮" : pad ? " " : "";
  if (pad) line.append(column.right, ' ');
  return line;
}

// The rows of a matrix, one line each, where `cell_of(column number, pad)` gives the cells.
template <class F>
std::string join_cells(const Cut& columns, std::string_view ellipsis, F cell_of) {
  std::string line = " ";
  for (std::int64_t c = 0; c < columns.shown(); ++c) {
    if (c > 0) line += columns.is_cut() && c == columns.head ? ellipsis : kColumnGap;
    line += cell_of(static_cast<std::size_t>(c), c + 1 < columns.shown());
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<Column> read_columns(const Tensor& x, const Layout& layout, std::int64_t slice) {
  std::vector<Column> columns;
  for (std::int64_t c = 0; c < layout.columns.shown(); ++c) {
    const Cut& rows = layout.rows;
    const std::int64_t first = (slice * layout.columns.size + layout.columns[c]) * rows.size;
    std::vector<std::string> texts;
    append_texts(x, first, rows.head, texts);
    append_texts(x, first + rows.size - rows.tail, rows.tail, texts);
    columns.emplace_back(std::move(texts));
  }
  return columns;
}

void print_matrix(std::ostream& out, const Tensor& x, const Layout& layout, std::int64_t slice) {
  const std::vector<Column> columns = read_columns(x, layout, slice);
  for (std::int64_t r = 0; r < layout.rows.shown(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    if (layout.rows.is_cut() && r == layout.rows.head) {
      out << '\n'
          << join_cells(layout.columns, "  ⋱  ",
                        [&](std::size_t c, bool pad) { return dots_cell(columns[c], c, pad); });
    }
    const bool has_ellipsis = static_cast<std::size_t>(layout.rows[r]) % kEllipsisEvery == 0;
    out << '\n'
        << join_cells(layout.columns, has_ellipsis ? "  …  " : "     ",
                      [&](std::size_t c, bool pad) { return cell(columns[c], row, pad); });
  }
}

// "[:, :, 0, 3] =" for the number of a slice among all.
std::string slice_heading(const Shape& shape, std::int64_t slice) {
  std::string text = "[:, :";
  for (int d = 2; d < shape.rank(); ++d) {
    text += fmt::format(", {}", slice % shape[d]);
    slice /= shape[d];
  }
  return text + "] =";
}

void print_slices(std::ostream& out, const Tensor& x, const Layout& layout) {
  for (std::int64_t s = 0; s < layout.slices.shown(); ++s) {
    if (s > 0) out << '\n';
    if (layout.slices.is_cut() && s == layout.slices.head) out << "\n⋮\n";
    out << '\n' << slice_heading(x.shape(), layout.slices[s]);
    print_matrix(out, x, layout, layout.slices[s]);
  }
}

// "3×2 Tensor f32 on CUDA device 0".
std::string heading(const Tensor& x) {
  const Shape& shape = x.shape();
  std::string text;
  if (shape.rank() == 0) text = "0-dimensional";
  if (shape.rank() == 1) text = fmt::format("{}-element", shape[0]);
  if (shape.rank() >= 2) {
    for (const std::int64_t size : shape) text += (text.empty() ? "" : "×") + std::to_string(size);
  }
  text += fmt::format(" Tensor {}", x.dtype().name());
  const detail::DeviceImpl& device = *detail::device_of_rep(x);
  return device.backend() == "CPU" ? text : text + " on " + detail::short_name(device);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor) return out << "empty Tensor";
  out << heading(tensor);
  const Shape& shape = tensor.shape();
  if (shape.numel() == 0) return out;
  out << ':';
  if (shape.rank() == 0) {
    std::vector<std::string> texts;
    append_texts(tensor, 0, 1, texts);
    return out << '\n' << texts.front();
  }
  const Layout layout = layout_of(shape, tensor.dtype());
  if (shape.rank() <= 2) print_matrix(out, tensor, layout, 0);
  else print_slices(out, tensor, layout);
  return out;
}

}  // namespace sluice::inline v0
