#include "src/device/cpu_index.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth another thread
constexpr std::int64_t kRows = 256;       // rows summed together, on the stack

const std::int64_t* checked_indices(const IndexCall& call, const char* operation) {
  const auto* indices = reinterpret_cast<const std::int64_t*>(call.indices.host());
  for (std::int64_t j = 0; j < call.count; ++j) {
    if (indices[j] >= 0 && indices[j] < call.bound) continue;
    throw IndexError(std::string(operation) + ": index " + std::to_string(indices[j]) + " at position " +
                     std::to_string(j) + " is out of range for " + std::to_string(call.bound) + " columns");
  }
  return indices;
}

template <class T>
void gather_elements(const IndexCall& call, const std::int64_t* indices) {
  const auto* from = reinterpret_cast<const T*>(call.input.host());
  auto* to = reinterpret_cast<T*>(call.output.host());
  parallel_for(call.count, kGrain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) to[j] = from[indices[j]];
  });
}

void gather_columns(const IndexCall& call, const std::int64_t* indices) {
  const std::byte* from = call.input.host();
  std::byte* to = call.output.host();
  const std::int64_t bytes = call.column * static_cast<std::int64_t>(call.input.dtype.size());
  parallel_for(call.count, kGrain / call.column + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      std::memcpy(to + j * bytes, from + indices[j] * bytes, static_cast<std::size_t>(bytes));
    }
  });
}

// Positions of the indices sorted by their value, equal ones in order: those of value v are
// positions[starts[v]] ... positions[starts[v + 1] - 1].
struct Groups {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> positions;
};

Groups group(const std::int64_t* indices, std::int64_t count, std::int64_t bound) {
  // Counting two places ahead leaves, after the positions are dealt out, every start in its own place.
  Groups groups{std::vector<std::int64_t>(static_cast<std::size_t>(bound) + 2),
                std::vector<std::int64_t>(static_cast<std::size_t>(count))};
  for (std::int64_t j = 0; j < count; ++j) ++groups.starts[static_cast<std::size_t>(indices[j]) + 2];
  for (std::size_t v = 2; v < groups.starts.size(); ++v) groups.starts[v] += groups.starts[v - 1];
  for (std::int64_t j = 0; j < count; ++j) {
    std::int64_t& next = groups.starts[static_cast<std::size_t>(indices[j]) + 1];
    groups.positions[static_cast<std::size_t>(next++)] = j;
  }
  return groups;
}

// out = sum over `positions` of rows [0, rows) of those columns.
template <class T, class Sum>
void add_columns(const T* from, T* out, std::span<const std::int64_t> positions, std::int64_t column,
                 std::int64_t rows) {
  std::array<Sum, kRows> sums;
  std::fill_n(sums.begin(), rows, Sum{});
  for (const std::int64_t position : positions) {
    const T* x = from + position * column;
    for (std::int64_t r = 0; r < rows; ++r) {
      Sum& sum = sums[static_cast<std::size_t>(r)];
      sum = static_cast<Sum>(sum + static_cast<Sum>(x[r]));
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) out[r] = static_cast<T>(sums[static_cast<std::size_t>(r)]);
}

// Each thread owns some of the output, in pieces of a column, so nothing is added to from two sides.
template <class T, class Sum>
void scatter(const IndexCall& call, const std::int64_t* indices) {
  const Groups groups = group(indices, call.count, call.bound);
  const auto* from = reinterpret_cast<const T*>(call.input.host());
  auto* to = reinterpret_cast<T*>(call.output.host());
  const std::int64_t pieces = (call.column - 1) / kRows + 1;
  const std::int64_t work = std::min(call.column, kRows) * (call.count / call.bound + 1);
  parallel_for(call.bound * pieces, kGrain / work + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t job = begin; job < end; ++job) {
      const std::int64_t value = job / pieces;
      const std::int64_t first = job % pieces * kRows;
      const auto v = static_cast<std::size_t>(value);
      const std::int64_t* positions = groups.positions.data();
      add_columns<T, Sum>(from + first, to + value * call.column + first,
                          {positions + groups.starts[v], positions + groups.starts[v + 1]}, call.column,
                          std::min(kRows, call.column - first));
    }
  });
}

}  // namespace

void cpu_gather(const IndexCall& call) {
  const std::int64_t* indices = checked_indices(call, "gather");
  if (call.count == 0 || call.column == 0) return;
  if (call.column > 1) return gather_columns(call, indices);
  switch (call.input.dtype.size()) {
    case 1: return gather_elements<std::uint8_t>(call, indices);
    case 2: return gather_elements<std::uint16_t>(call, indices);
    case 4: return gather_elements<std::uint32_t>(call, indices);
    default: return gather_elements<std::uint64_t>(call, indices);
  }
}

void cpu_scatter_add(const IndexCall& call) {
  const std::int64_t* indices = checked_indices(call, "scatter_add");
  if (call.bound == 0 || call.column == 0) return;
  switch (call.input.dtype.code()) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8: return scatter<std::uint8_t, std::uint8_t>(call, indices);
    case DType::kI16: return scatter<std::uint16_t, std::uint16_t>(call, indices);
    case DType::kI32: return scatter<std::uint32_t, std::uint32_t>(call, indices);
    case DType::kI64: return scatter<std::uint64_t, std::uint64_t>(call, indices);
    case DType::kF16: return scatter<Float16, float>(call, indices);
    case DType::kBF16: return scatter<BFloat16, float>(call, indices);
    case DType::kF32: return scatter<float, float>(call, indices);
    case DType::kF64: return scatter<double, double>(call, indices);
  }
}

}  // namespace sluice::detail
