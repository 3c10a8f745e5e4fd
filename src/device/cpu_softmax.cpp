#include "src/device/cpu_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "src/device/host_isa.hpp"
#include "src/device/softmax_kernels.hpp"
#include "src/device/thread_pool.hpp"
#include "src/device/tile_plan.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kGrain = 1 << 13;  // elements that are worth waking a thread

const SoftmaxLoops& softmax_loops() {
#if defined(__x86_64__)
  if (host_isa() == HostIsa::avx512) return avx512::kSoftmaxLoops;
  if (host_isa() == HostIsa::avx2) return avx2::kSoftmaxLoops;
#endif
  return baseline::kSoftmaxLoops;
}

/// Columns side by side that are worked on together: as many as leave a group for every thread, since short stretches
/// of distant memory are slow to read. Columns do not depend on each other, so neither does the result on their number.
std::int64_t group_width(const AxisCall& call, std::int64_t most) {
  const std::int64_t share = (call.inner * call.outer / num_threads() + 15) / 16 * 16;
  return std::min(call.inner, std::clamp<std::int64_t>(share, 64, most));
}

std::int64_t grain(std::int64_t elements) { return std::max<std::int64_t>(1, kGrain / elements); }

void softmax_f32(const AxisCall& call, SoftmaxKind kind) {
  const float* x = reinterpret_cast<const float*>(call.input.host());
  float* y = reinterpret_cast<float*>(call.output.host());
  const bool is_log = kind == SoftmaxKind::logsoftmax;
  const SoftmaxLoops& loops = softmax_loops();
  if (call.inner == 1) {
    const SoftmaxLoops::Columns columns = is_log ? loops.logsoftmax_columns : loops.softmax_columns;
    parallel_for(call.outer, grain(call.length), [&](std::int64_t begin, std::int64_t end) {
      columns(x + begin * call.length, y + begin * call.length, call.length, end - begin);
    });
    return;
  }
  const SoftmaxLoops::Group group = is_log ? loops.logsoftmax_group : loops.softmax_group;
  const std::int64_t width = group_width(call, SoftmaxLoops::kWidth);
  const std::int64_t groups = (call.inner + width - 1) / width;
  parallel_for(groups * call.outer, grain(call.length * width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t skipped = i % groups * width;
      const std::int64_t first = i / groups * call.inner * call.length + skipped;
      group(x + first, y + first, std::min(width, call.inner - skipped), call.inner, call.length);
    }
  });
}

/// f16 and bf16: converted to f32 a few columns at a time.
void softmax_half(const AxisCall& call, SoftmaxKind kind) {
  const std::size_t code = call.input.dtype.code();
  const TileLoop load = tile_kernels().load[code];
  const TileLoop store = tile_kernels().store[code];
  const auto* x = reinterpret_cast<const std::uint16_t*>(call.input.host());
  auto* y = reinterpret_cast<std::uint16_t*>(call.output.host());
  const bool is_log = kind == SoftmaxKind::logsoftmax;
  const SoftmaxLoops::Group group = is_log ? softmax_loops().logsoftmax_group : softmax_loops().softmax_group;
  const SoftmaxLoops::Columns columns = is_log ? softmax_loops().logsoftmax_columns : softmax_loops().softmax_columns;

  // With an inner size of 1 the scratch holds columns one after the other, else `width` of them side by side.
  const bool is_inner = call.inner > 1;
  const std::int64_t width = is_inner ? group_width(call, 128) : call.length;
  const std::int64_t groups = is_inner ? (call.inner + width - 1) / width : 1;
  const std::int64_t rows =
      is_inner ? call.length : std::min(call.outer, std::max<std::int64_t>(1, 4096 / call.length));
  const std::int64_t units = is_inner ? groups * call.outer : (call.outer + rows - 1) / rows;
  parallel_for(units, grain(width * rows), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> scratch(static_cast<std::size_t>(width * rows));
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t skipped = unit % groups * width;
      const std::int64_t first = is_inner ? unit / groups * call.inner * call.length + skipped : unit * rows * width;
      const std::int64_t stride = is_inner ? call.inner : width;
      const std::int64_t size = is_inner ? std::min(width, call.inner - skipped) : width;
      const std::int64_t count = is_inner ? rows : std::min(rows, call.outer - unit * rows);
      for (std::int64_t i = 0; i < count; ++i) {
        load(scratch.data() + i * width, x + first + i * stride, nullptr, nullptr, static_cast<int>(size));
      }
      if (is_inner) group(scratch.data(), scratch.data(), size, width, count);
      else columns(scratch.data(), scratch.data(), size, count);
      for (std::int64_t i = 0; i < count; ++i) {
        store(y + first + i * stride, scratch.data() + i * width, nullptr, nullptr, static_cast<int>(size));
      }
    }
  });
}

/// One column of doubles, `stride` apart.
void softmax_column(const double* x, double* y, std::int64_t stride, std::int64_t length, SoftmaxKind kind) {
  double maximum = x[0];
  for (std::int64_t i = 0; i < length; ++i) {
    const double v = x[i * stride];
    maximum = maximum > v || std::isnan(maximum) ? maximum : v;
  }
  if (maximum == -std::numeric_limits<double>::infinity()) maximum = std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const double v = x[i * stride];
    const double shifted = v == maximum ? 0 : v - maximum;  // infinite maxima included
    const double exponential = std::exp(shifted);
    y[i * stride] = kind == SoftmaxKind::softmax ? exponential : shifted;
    sum += exponential;
  }
  const double log_sum = std::log(sum);
  for (std::int64_t i = 0; i < length; ++i) {
    double& v = y[i * stride];
    v = kind == SoftmaxKind::softmax ? v / sum : v - log_sum;
  }
}

void softmax_f64(const AxisCall& call, SoftmaxKind kind) {
  const double* x = reinterpret_cast<const double*>(call.input.host());
  double* y = reinterpret_cast<double*>(call.output.host());
  parallel_for(call.inner * call.outer, grain(call.length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i / call.inner * call.inner * call.length + i % call.inner;
      softmax_column(x + first, y + first, call.inner, call.length, kind);
    }
  });
}

}  // namespace

void cpu_softmax(const AxisCall& call, SoftmaxKind kind) {
  if (call.input.dtype == f64) return softmax_f64(call, kind);
  if (call.input.dtype == f32) return softmax_f32(call, kind);
  softmax_half(call, kind);
}

}  // namespace sluice::detail
