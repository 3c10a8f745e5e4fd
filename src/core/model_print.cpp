#include <fmt/format.h>

#include <iostream>
#include <limits>
#include <map>

#include "sluice/model.hpp"
#include "sluice/ops.hpp"
#include "src/core/reduce.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kLineColumn = 20;   // where the count of a model of one line begins
constexpr std::size_t kChildColumn = 39;  // where those of the lines of a larger one do

/// One part of a model, as it is printed.
struct Entry {
  std::string name;  // of the field, where it has one
  std::string type;
  std::string line;  // its own description, for layers and tensors
  bool sequence = false;
  bool array = false;  // a tensor or buffer
  std::vector<Entry> children;
  std::vector<Tensor> parameters, others;  // here and below, each handle once
};

std::string tensor_line(const Tensor& x) {
  if (!x) return "Tensor()";
  std::string line;
  for (const std::int64_t size : x.shape()) line += (line.empty() ? "" : "×") + std::to_string(size);
  if (x.rank() == 1) line += "-element";
  if (x.rank() == 0) line += "0-dimensional";
  return line + " Tensor " + std::string(x.dtype().name());
}

/// Makes the tree of entries.
class Outline final : public LeafVisitor {
 public:
  void tensor(Tensor& x) override { array(x, is_trainable(x)); }
  void buffer(Buffer& x) override { array(x.get(), false); }

  void enter(const Part& part) override {
    Entry entry;
    entry.name = part.name;
    entry.type = part.type;
    if (part.describe != nullptr) entry.line = part.describe(part.object);
    entry.sequence = part.sequence;
    open_.push_back(std::move(entry));
  }

  void leave() override {
    Entry entry = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) root = std::move(entry);
    else open_.back().children.push_back(std::move(entry));
  }

  Entry root;

 private:
  void array(const Tensor& x, bool trainable) {
    open_.back().array = true;
    open_.back().line = tensor_line(x);
    if (!x) return;
    for (Entry& entry : open_) {
      std::vector<Tensor>& list = trainable ? entry.parameters : entry.others;
      bool known = false;
      for (const Tensor& each : list) known = known || each.same_handle(x);
      if (!known) list.push_back(x);
    }
  }

  std::vector<Entry> open_;
};

/// 1607680 as 1_607_680.
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, '_');
  }
  return digits;
}

std::int64_t elements(const std::vector<Tensor>& tensors) {
  std::int64_t count = 0;
  for (const Tensor& each : tensors) count += each.numel();
  return count;
}

std::string byte_text(const std::vector<Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const Tensor& each : tensors) bytes += each.numel() * static_cast<std::int64_t>(each.dtype().size());
  if (bytes == 1) return "1 byte";
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit < 6; ++unit) size /= 1024;
  return fmt::format("{:.3f} {}iB", size, "KKMGTPE"[unit]);
}

/// What is in the tensors of a model that must not be overlooked. Every tensor is looked at once, on its device, and a
/// device is asked once for all of them.
class Marks {
 public:
  explicit Marks(const std::vector<Tensor>& tensors) {
    std::map<DeviceImpl*, std::vector<Tensor>> by_device;
    for (const Tensor& each : tensors) {
      if (each.numel() > 0) by_device[each.device().impl()].push_back(each);
    }
    for (const auto& [device, group] : by_device) look(group);
  }

  /// "  (all zero)", or nothing.
  const char* of(const std::vector<Tensor>& tensors) const {
    int worst = -1;
    for (const Tensor& each : tensors) {
      const auto found = found_.find(each.rep());
      if (found != found_.end()) worst = std::max(worst, found->second);
      else if (each.numel() > 0) return "";
    }
    constexpr const char* kTexts[] = {"", "  (all zero)", "", "  (some Inf)", "  (some NaN)"};
    return kTexts[worst + 1];
  }

 private:
  // A device that cannot compute, or not any more, does not keep its models from being printed.
  void look(const std::vector<Tensor>& tensors) try {
    std::vector<Tensor> worst;
    worst.reserve(tensors.size());
    for (const Tensor& each : tensors) worst.push_back(worst_of(each));
    const std::vector<std::int32_t> values = stack(worst).to_vector<std::int32_t>();
    for (std::size_t i = 0; i < tensors.size(); ++i) found_[tensors[i].rep()] = values[i];
  } catch (const Error&) {
  }

  /// 0 if all elements are 0, 1 if all are finite, 2 if there is an infinity, 3 if there is a NaN.
  static Tensor worst_of(const Tensor& x) {
    static const Function rank = trace<1>([](Expr v) {
      return where(isnan(v), 3, where(abs(v) == std::numeric_limits<double>::infinity(), 2, where(v == 0, 0, 1)));
    });
    const ReducedDims all = reduced_dims(x.shape(), {}, false, "summary");
    const Tensor plain = detach(x);
    return reshape(cast(run_reduce(rank.program(), rank.params(), {&plain, 1}, Combine::max, all), i32), Shape{});
  }

  std::map<const TensorRep*, int> found_;
};

/// Width in characters of UTF-8 text.
std::size_t width(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

bool is_leaf(const Entry& entry) { return entry.array || !entry.line.empty(); }

/// What a block lists: the layers of a Chain stand in it directly.
const std::vector<Entry>& content(const Entry& entry) {
  const bool wraps = entry.children.size() == 1 && entry.children[0].sequence && entry.children[0].name == "layers";
  return wraps ? entry.children[0].children : entry.children;
}

bool fits_line(const Entry& entry) {
  if (is_leaf(entry) || content(entry).empty()) return true;
  for (const Entry& child : content(entry)) {
    if (!child.array) return false;
  }
  return !entry.sequence;
}

/// "Affine(...)", "Chain()", "[]"
std::string short_form(const Entry& entry) {
  if (!entry.line.empty()) return entry.line;
  if (entry.sequence) return "[]";
  return entry.type + (content(entry).empty() ? "()" : "(...)");
}

class Printer {
 public:
  explicit Printer(const Entry& root) : marks_(root.parameters) {}

  std::string text;

  void entry(const Entry& entry, std::size_t indent, bool outermost) {
    if (fits_line(entry)) line(entry, indent, outermost);
    else block(entry, indent, outermost);
  }

 private:
  static std::string label(const Entry& entry) { return entry.name.empty() ? "" : entry.name + " = "; }

  void line(const Entry& entry, std::size_t indent, bool outermost) {
    const std::string own = label(entry) + short_form(entry);
    text += std::string(indent, ' ') + own + (outermost ? "" : ",");
    if (!entry.parameters.empty()) {
      const std::size_t column = outermost ? kLineColumn : kChildColumn, used = indent + width(own);
      text += std::string(column > used + 2 ? column - used : 2, ' ');
      text += "# " + grouped(elements(entry.parameters)) + " parameters";
      const std::int64_t others = elements(entry.others);
      if (others > 0) text += ", plus " + grouped(others) + " non-trainable";
      text += marks_.of(entry.parameters);
    }
    if (!outermost) text += '\n';
  }

  void block(const Entry& entry, std::size_t indent, bool outermost) {
    const bool brackets = entry.sequence;
    text += std::string(indent, ' ') + label(entry) + entry.type + (brackets ? "[\n" : "(\n");
    for (const Entry& child : content(entry)) this->entry(child, indent + 2, false);
    text += std::string(indent, ' ') + (brackets ? "]" : ")");
    if (!outermost) text += ",\n";
    else total(entry);
  }

  void total(const Entry& entry) {
    if (entry.parameters.size() <= 2) return;
    const std::string count = grouped(elements(entry.parameters)), bytes = byte_text(entry.parameters);
    if (entry.others.empty()) {
      text += fmt::format(" {:18}# Total: {} arrays, {} parameters, {}.", "", entry.parameters.size(), count, bytes);
    } else {
      text += fmt::format(" {:8}# Total: {} trainable arrays, {} parameters,\n", "", entry.parameters.size(), count);
      text += fmt::format("{:10}# plus {} non-trainable, {} parameters, summarysize {}.", "", entry.others.size(),
                          grouped(elements(entry.others)), bytes);
    }
  }

  Marks marks_;
};

}  // namespace

std::string summary(ModelRef model) {
  const NoGrad guard;
  Outline outline;
  model(outline);
  Printer printer(outline.root);
  printer.entry(outline.root, 0, true);
  return std::move(printer.text);
}

void print_text(const std::string& text) { std::cout << text << '\n'; }

std::ostream& print_text(std::ostream& out, const std::string& text) { return out << text; }

}  // namespace sluice::detail
