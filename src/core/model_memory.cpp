// How much memory a model takes, by layer.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sluice/model.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/readable.hpp"

namespace sluice::detail {
namespace {

struct Line {
  std::string layer;
  std::string device;
  std::size_t arrays = 0, bytes = 0;
};

/// Adds up the tensors of a model, by the struct they are in.
class Adder final : public LeafVisitor {
 public:
  void tensor(Tensor& x) override { add(x); }
  void buffer(Buffer& x) override { add(x.get()); }

  std::vector<Line> lines;  // in the order in which they are met
  std::map<std::string, std::size_t> totals;

 private:
  void add(const Tensor& x) {
    if (!x || !known_.insert(x.rep()).second) return;
    kept_.push_back(x);
    const std::string full = path();
    const std::size_t dot = full.find_last_of('.');
    const std::string layer = dot == std::string::npos ? "" : full.substr(0, dot);
    const std::string device = short_name(*device_of_rep(x));
    const std::size_t bytes = static_cast<std::size_t>(x.numel()) * x.dtype().size();
    auto line =
        std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.layer == layer && l.device == device; });
    if (line == lines.end()) line = lines.insert(lines.end(), {layer, device, 0, 0});
    ++line->arrays;
    line->bytes += bytes;
    totals[device] += bytes;
  }

  std::set<const TensorRep*> known_;
  std::vector<Tensor> kept_;  // a buffer gives its handle away: known_ must not meet its address again
};

}  // namespace

std::string memory_report(ModelRef model) {
  Adder adder;
  model(adder);
  std::size_t width = 5;
  for (const Line& line : adder.lines) width = std::max(width, line.layer.size());
  std::string text;
  for (const Line& line : adder.lines) {
    text += fmt::format("{:{}}  {:>10}  {} array{} on {}\n", line.layer.empty() ? "." : line.layer, width,
                        readable(line.bytes), line.arrays, line.arrays == 1 ? "" : "s", line.device);
  }
  for (const auto& [device, bytes] : adder.totals) {
    text += fmt::format("{:{}}  {:>10}  on {}\n", "total", width, readable(bytes), device);
  }
  return text.empty() ? "no tensors\n" : text;
}

}  // namespace sluice::detail
