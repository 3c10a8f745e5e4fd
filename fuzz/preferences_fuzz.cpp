#include "fuzz/target.hpp"
#include "src/device/preference_file.hpp"

void sluice::fuzz::read_input(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  detail::find_gpu_backend("input", text);
  const std::string changed = detail::with_gpu_backend("input", text, "CUDA");
  detail::without_gpu_backend("input", changed);
}
