#include "backends/opencl/clblast.hpp"

#include <string>

#include "backends/common/driver_library.hpp"
#include "backends/common/failure.hpp"
#include "backends/common/text.hpp"
#include "backends/opencl/cl_error.hpp"

namespace sluice::opencl {
namespace {

using plugin::Failure;

constexpr const char* kSgemm = "CLBlastSgemm";
constexpr int kColumnMajor = 102;
constexpr int kNotTransposed = 111;

using Sgemm = int (*)(int layout, int transpose_a, int transpose_b, std::size_t m, std::size_t n, std::size_t k,
                      float alpha, cl_mem a, std::size_t offset_a, std::size_t lda, cl_mem b, std::size_t offset_b,
                      std::size_t ldb, float beta, cl_mem c, std::size_t offset_c, std::size_t ldc,
                      cl_command_queue* queue, cl_event* event);

const plugin::DriverLibrary& library() {
  static const auto* const instance = new plugin::DriverLibrary({"libclblast.so.1", "libclblast.so"});
  return *instance;
}

std::string problem() {
  if (!library().is_open()) return library().reason();
  return library().find(kSgemm) == nullptr ? "it has no CLBlastSgemm" : "";
}

/// A block that goes with the scope.
class Scratch {
 public:
  Scratch(Device& device, std::uint64_t bytes) : device_(device), range_{device.alloc(bytes), 0, bytes} {}
  ~Scratch() {
    try {
      device_.free(range_.memory);
    } catch (...) {  // nothing can be done about a block that does not go
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const Range& operator*() const { return range_; }
  cl_mem buffer() const { return device_.buffer_of(range_.memory); }

 private:
  Device& device_;
  Range range_;
};

}  // namespace

void describe_clblast(sluice_component& component) {
  const std::string why = problem();
  component.state = why.empty() ? SLUICE_COMPONENT_FOUND : SLUICE_COMPONENT_MISSING;
  plugin::copy_text(component.name, "CLBlast");
  plugin::copy_text(component.file, library().file_of(kSgemm));
  plugin::copy_text(component.version, "");
  plugin::copy_text(component.reason, why);
}

void probe_clblast(Device& device) {
  if (const std::string why = problem(); !why.empty()) throw Failure(SLUICE_UNSUPPORTED, "CLBlast: " + why);
  const auto sgemm = reinterpret_cast<Sgemm>(library().find(kSgemm));
  // Columns: (1 3; 2 4) (5 7; 6 8) = (23 31; 34 46).
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, expected[] = {23, 34, 31, 46};
  float c[] = {0, 0, 0, 0};
  const Scratch on_a(device, sizeof a), on_b(device, sizeof b), on_c(device, sizeof c);
  device.write(*on_a, a);
  device.write(*on_b, b);
  device.write(*on_c, c);
  cl_command_queue queue = device.queue();
  const int code = sgemm(kColumnMajor, kNotTransposed, kNotTransposed, 2, 2, 2, 1.0F, on_a.buffer(), 0, 2,
                         on_b.buffer(), 0, 2, 0.0F, on_c.buffer(), 0, 2, &queue, nullptr);
  if (code != 0) throw Failure(SLUICE_ERROR, "CLBlastSgemm: status " + std::to_string(code));
  device.read(*on_c, c);
  for (std::size_t i = 0; i < 4; ++i) {
    if (c[i] != expected[i]) throw Failure(SLUICE_ERROR, "CLBlastSgemm gave a wrong product");
  }
}

}  // namespace sluice::opencl
