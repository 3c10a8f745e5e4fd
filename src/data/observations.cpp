#include "sluice/observations.hpp"

#include <exception>
#include <typeinfo>

#include "sluice/ops.hpp"
#include "src/core/rethrow.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

bool are_consecutive(Indices indices) {
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] != indices[0] + static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

std::int64_t count_columns(const Tensor& x) {
  require_value(x, "numobs");
  if (x.rank() == 0) {
    throw ShapeError("numobs: a 0-dimensional tensor has no observations; the last dimension counts them");
  }
  return x.shape().back();
}

Tensor pick_columns(const Tensor& x, Indices indices) {
  const std::int64_t count = count_columns(x);
  for (const std::int64_t index : indices) checked_observation(index, static_cast<std::size_t>(count));
  if (are_consecutive(indices)) {
    const std::int64_t first = indices.empty() ? 0 : indices[0];
    return slice(x, x.rank() - 1, first, first + static_cast<std::int64_t>(indices.size()));
  }
  return gather(x, x.device()(from(indices, Shape{indices.size()})));
}

Tensor pick_column(const Tensor& x, std::int64_t index) {
  checked_observation(index, static_cast<std::size_t>(count_columns(x)));
  const int last = x.rank() - 1;
  return reshape(slice(x, last, index, index + 1), x.shape().erased(last));
}

std::size_t checked_observation(std::int64_t index, std::size_t count) {
  if (index >= 0 && static_cast<std::uint64_t>(index) < count) return static_cast<std::size_t>(index);
  throw IndexError("getobs: observation " + std::to_string(index) + " of " + std::to_string(count) +
                   "; numbers are 0 ... n-1");
}

std::int64_t common_count(std::span<const std::int64_t> counts) {
  if (counts.empty()) throw ArgumentError("numobs: no part of these data has observations");
  for (const std::int64_t count : counts) {
    if (count == counts[0]) continue;
    std::string list;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      list += (i == 0 ? "" : i + 1 == counts.size() ? " and " : ", ") + std::to_string(counts[i]);
    }
    throw ShapeError("numobs: the parts have " + list +
                     " observations; all need equally many (the size of the last dimension)");
  }
  return counts[0];
}

void throw_no_observations() { throw ArgumentError("getobs: no indices, and a batch of nothing has no sizes"); }

RandomKey observation_key(RandomKey epoch, std::int64_t index) {
  const std::array<std::uint32_t, 4> words = philox(epoch, static_cast<std::uint64_t>(index));
  return {std::uint64_t{words[1]} << 32 | words[0], std::uint64_t{words[3]} << 32 | words[2]};
}

// Observations have no negative numbers.
RandomKey inner_key(RandomKey epoch) { return observation_key(epoch, -1); }

Tensor collate_tensors(const std::vector<Tensor>& samples) {
  require_value(samples[0], "getobs");
  return stack(samples, samples[0].rank());
}

void rethrow_at(const std::string& where) {
  try {
    throw;
  } catch (const Error&) {
    rethrow_in(where);
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(where + ": " + error.what()));
  } catch (...) {
    std::throw_with_nested(Error(where + ": an exception that is not a std::exception"));
  }
}

}  // namespace sluice::detail
