#include "sluice/random.hpp"

#include <mutex>

#include "src/device/fork_safe.hpp"
#include "src/device/philox.hpp"

namespace sluice::inline v0 {
namespace {

struct ProcessGenerator {
  std::mutex mutex;
  Generator generator;
};

ProcessGenerator& process_generator() {
  // Leaked: objects of static lifetime may draw numbers until the end.
  static ProcessGenerator* const shared = [] {
    auto* const made = new ProcessGenerator;
    detail::hold_during_fork(made->mutex);
    return made;
  }();
  return *shared;
}
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const ProcessGenerator& kMadeAtLoad = process_generator();

}  // namespace

std::array<std::uint32_t, 4> philox(RandomKey key, std::uint64_t block) {
  std::uint32_t word[4][1];
  detail::philox_blocks(word, key.seed, key.call, block);
  return {word[0][0], word[1][0], word[2][0], word[3][0]};
}

void seed(std::uint64_t value) { set_random_state(Generator(value)); }

Generator random_state() {
  ProcessGenerator& shared = process_generator();
  const std::lock_guard lock(shared.mutex);
  return shared.generator;
}

void set_random_state(const Generator& generator) {
  ProcessGenerator& shared = process_generator();
  const std::lock_guard lock(shared.mutex);
  shared.generator = generator;
}

RandomKey next_random_key() {
  ProcessGenerator& shared = process_generator();
  const std::lock_guard lock(shared.mutex);
  return shared.generator.next();
}

}  // namespace sluice::inline v0
