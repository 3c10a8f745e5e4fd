#include "src/device/plugin_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "src/core/warn.hpp"
#include "src/device/component_verdicts.hpp"
#include "src/device/components.hpp"
#include "src/device/environment.hpp"
#include "src/device/kernel_call.hpp"
#include "src/device/plugin_device.hpp"
#include "src/device/plugin_file.hpp"
#include "src/device/plugin_product.hpp"
#include "src/device/registry.hpp"

namespace sluice::detail {
namespace {

using State = GemmChoice::State;
using End = ProbeVerdict::End;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTrialSize = 1024;
// Less work than this is quicker done than tried.
constexpr std::int64_t kWorthATrial = std::int64_t{512} * 512 * 512;

/// The place of a type among the choices; SLUICE_DTYPE_... numbers them.
struct GemmType {
  std::size_t place;
  std::uint32_t number;
};
std::optional<GemmType> gemm_type(DType dtype) {
  if (dtype == f16) return GemmType{0, SLUICE_DTYPE_F16};
  if (dtype == bf16) return GemmType{1, SLUICE_DTYPE_BF16};
  if (dtype == f32) return GemmType{2, SLUICE_DTYPE_F32};
  if (dtype == f64) return GemmType{3, SLUICE_DTYPE_F64};
  return std::nullopt;
}

sluice_gemm gemm_of(const ProductCall& call, std::uint32_t dtype) {
  const auto memory = [](const Operand& operand) { return reinterpret_cast<sluice_memory>(operand.storage->data); };
  const auto bytes = [](const Operand& operand) {
    return static_cast<std::uint64_t>(operand.offset) * operand.dtype.size();
  };
  sluice_gemm gemm{};
  gemm.size = sizeof gemm;
  gemm.dtype = dtype;
  gemm.transpose_a = call.transpose_a ? 1 : 0;
  gemm.transpose_b = call.transpose_b ? 1 : 0;
  gemm.m = call.m, gemm.n = call.n, gemm.k = call.k, gemm.batch = call.batch;
  gemm.lda = call.transpose_a ? call.k : call.m;
  gemm.ldb = call.transpose_b ? call.n : call.k;
  gemm.ldc = call.m;
  gemm.stride_a = call.batch_stride_a, gemm.stride_b = call.batch_stride_b, gemm.stride_c = call.m * call.n;
  gemm.a = memory(call.a), gemm.b = memory(call.b), gemm.c = memory(call.c);
  gemm.offset_a = bytes(call.a), gemm.offset_b = bytes(call.b), gemm.offset_c = bytes(call.c);
  gemm.alpha = 1;
  gemm.flags = may_use_tf32() ? SLUICE_GEMM_TF32 : 0;
  return gemm;
}

// ---- The trial.

/// Two square matrices and their product on a device.
class Trial {
 public:
  Trial(PluginDevice& device, DType dtype, std::uint32_t number)
      : device_(device),
        number_(number),
        bytes_(kTrialSize * kTrialSize * dtype.size()),
        a_(device, bytes_),
        b_(device, bytes_),
        c_(device, bytes_) {
    // Their product is the size in every element, exactly in every type.
    std::vector<std::byte> ones(bytes_);
    for (std::size_t i = 0; i < bytes_; i += dtype.size()) set_one(ones.data() + i, dtype);
    device.write(*a_, 0, ones.data(), bytes_);
    device.write(*b_, 0, ones.data(), bytes_);
    const auto operand = [&](const DeviceScratch& block) { return Operand{&*block, 0, dtype, {}}; };
    call_.emplace(
        ProductCall{operand(a_), operand(b_), operand(c_), false, false, kTrialSize, kTrialSize, kTrialSize, 1, 0, 0});
  }

  /// The quicker of two runs after a first one, in seconds; negative if the library cannot do it.
  double time_vendor() {
    return time([&] { return device_.gemm(gemm_of(*call_, number_)); });
  }
  double time_own() {
    return time([&] {
      plugin_own_product(device_, *call_);
      return true;
    });
  }
  /// The bytes of the last product.
  std::vector<std::byte> result() {
    std::vector<std::byte> bytes(bytes_);
    device_.read(*c_, 0, bytes.data(), bytes_);
    return bytes;
  }

 private:
  static void set_one(std::byte* to, DType dtype) {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    if (dtype == f64) put(1.0);
    else if (dtype == f32) put(1.0F);
    else put(static_cast<std::uint16_t>(dtype == f16 ? 0x3C00 : 0x3F80));
  }
  template <class Run>
  double time(const Run& run) {
    double best = -1;
    for (int round = 0; round < 3; ++round) {
      const Clock::time_point start = Clock::now();
      if (!run()) return -1;
      std::byte last{};
      device_.read(*c_, bytes_ - 1, &last, 1);
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (round > 0) best = best < 0 ? seconds : std::min(best, seconds);
    }
    return best;
  }

  PluginDevice& device_;
  const std::uint32_t number_;
  const std::size_t bytes_;
  const DeviceScratch a_, b_, c_;
  std::optional<ProductCall> call_;
};

ProbeVerdict run_trial(PluginDevice& device, DType dtype, std::uint32_t number) {
  Trial trial(device, dtype, number);
  const double own = trial.time_own();
  const std::vector<std::byte> expected = trial.result();
  const double vendor = trial.time_vendor();
  if (vendor < 0) return {End::failed, 0, "the library does not have it"};
  if (trial.result() != expected) return {End::failed, 0, "the library gave wrong numbers"};
  // It must be worth the library's own memory and compilations.
  const bool is_quicker = vendor < 0.9 * own;
  return {is_quicker ? End::works : End::failed, 0,
          fmt::format("{} x {}: the library took {:.2f} ms, Sluice's own kernel {:.2f} ms", kTrialSize, kTrialSize,
                      vendor * 1e3, own * 1e3)};
}

std::string key_of(const PluginDevice& device, const BackendRecord& backend, DType dtype) {
  std::string key = fmt::format("sluice gemm 1, ABI {}", SLUICE_BACKEND_ABI);
  const std::vector<ComponentFacts> all = components(backend);
  const DeviceFacts& facts = device.facts();
  for (const auto& [what, value] :
       {std::pair("backend", backend.name), std::pair("plug-in", file_state(backend.file)),
        std::pair("own kernels", file_state(file_of(reinterpret_cast<const void*>(&plugin_gemm)))),
        std::pair("driver", facts.driver), std::pair("device", facts.name),
        std::pair("architecture", facts.architecture), std::pair("type", std::string(dtype.name())),
        std::pair("library", all.empty() ? std::string() : file_state(all[0].file))}) {
    key += fmt::format("\n{} {}", what, printable(value));
  }
  return key;
}

/// Whether the library may be used: it was tried in a process of its own and switched on.
BackendRecord* enabled_backend(Registry& registry, const PluginDevice& device, std::string* why_not = nullptr) {
  BackendRecord* const backend = registry.find(device.backend());
  if (backend == nullptr || backend->table == nullptr) return nullptr;
  const bool is_listed = std::any_of(backend->devices.begin(), backend->devices.end(),
                                     [&](const DeviceRecord& record) { return record.device == &device; });
  const std::vector<ComponentFacts> all = components(*backend);
  if (!is_listed || all.empty()) return nullptr;
  const std::string problem = component_problem(registry, *backend, all[0].name);
  if (why_not != nullptr) *why_not = problem;
  else if (!problem.empty()) debug_once("gemm " + problem, problem);
  return problem.empty() ? backend : nullptr;
}

State decide(PluginDevice& device, DType dtype, std::uint32_t number) {
  std::string key;
  {
    Registry registry(Registry::Find::no);
    const BackendRecord* const backend = enabled_backend(registry, device);
    if (backend == nullptr) return State::own;
    key = key_of(device, *backend, dtype);
  }
  const std::string file = verdict_file(key);
  std::optional<ProbeVerdict> verdict = load_verdict(file, key);
  if (!verdict) {
    verdict = run_trial(device, dtype, number);
    keep_verdict(file, key, *verdict);
  }
  debug_once(
      key, fmt::format("Products of {} on {} device {} are made by {}: {}", dtype.name(), device.backend(), device.id(),
                       verdict->end == End::works ? "the vendor's library" : "Sluice's own kernel", verdict->text));
  return verdict->end == End::works ? State::vendor : State::own;
}

/// What $SLUICE_PRODUCTS asks for: "own" or "vendor", or a trial where it says nothing.
State wished() {
  static const State wish = [] {
    const std::string text = environment("SLUICE_PRODUCTS").value_or("");
    if (text == "own") return State::own;
    if (text == "vendor") return State::vendor;
    if (!text.empty()) {
      warn(fmt::format("$SLUICE_PRODUCTS is \"{}\"; it may be \"own\" or \"vendor\", and is ignored", printable(text)));
    }
    return State::undecided;
  }();
  return wish;
}

/// The vendor's library without a trial, or a warning that says why not.
State vendor_if_it_works(const PluginDevice& device) {
  Registry registry(Registry::Find::no);
  std::string problem;
  if (enabled_backend(registry, device, &problem) != nullptr) return State::vendor;
  const std::string where = fmt::format("{} device {}", device.backend(), device.id());
  warn_once("products " + where, fmt::format("$SLUICE_PRODUCTS asks for the vendor's library, but {}: {}; Sluice's own "
                                             "kernel makes the products",
                                             where, problem.empty() ? "it has none" : problem));
  return State::own;
}

State choice_for(PluginDevice& device, const ProductCall& call, const GemmType& type) {
  std::atomic<State>& state = device.gemm_choice().states[type.place];
  if (state != State::undecided) return state;
  const State wish = wished();
  const bool is_small = call.m * call.n * call.k * call.batch < kWorthATrial;
  if (wish == State::undecided && is_small) return State::own;
  // One trial at a time: two would measure each other.
  static auto* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  if (state != State::undecided) return state;
  // Memory may be out; the product itself may still fit.
  try {
    state = wish == State::own      ? State::own
            : wish == State::vendor ? vendor_if_it_works(device)
                                    : decide(device, call.c.dtype, type.number);
  } catch (const OutOfMemory&) {
    return State::own;
  }
  return state;
}

}  // namespace

std::atomic<bool>& may_use_tf32() {
  static std::atomic<bool> may{false};
  return may;
}

bool plugin_gemm(PluginDevice& device, const ProductCall& call) {
  const std::optional<GemmType> type = gemm_type(call.c.dtype);
  if (!type || call.k == 0 || !device.has_gemm()) return false;
  if (choice_for(device, call, *type) != State::vendor) return false;
  if (!device.gemm(gemm_of(call, type->number))) return false;
  ++device.gemm_choice().products;
  return true;
}

}  // namespace sluice::detail
