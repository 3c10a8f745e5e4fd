#include "src/device/kernel_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "src/core/sha256.hpp"
#include "src/core/warn.hpp"
#include "src/device/environment.hpp"
#include "src/device/private_file.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SluiceK1";
constexpr std::string_view kSuffix = ".kernel";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kHead = 8 + 2 * sizeof(std::uint64_t);
constexpr std::size_t kMostFileBytes = std::size_t{32} << 20;
constexpr std::time_t kHour = 3600;

// ---- The form of a file: magic, sizes of key and binary, key, binary, checksum of all before it.

std::string packed(const KernelKey& key, std::string_view binary) {
  const std::uint64_t sizes[] = {key.text().size(), binary.size()};
  std::string text(kMagic);
  text.append(reinterpret_cast<const char*>(sizes), sizeof sizes).append(key.text()).append(binary);
  const Sha256Digest sum = sha256(text);
  return text.append(sum.begin(), sum.end());
}

/// The binary in the text of a file, if all of it is right.
std::optional<std::string> unpacked(std::string_view text, const KernelKey& key) {
  std::uint64_t sizes[2];
  if (text.size() < kHead + sizeof(Sha256Digest) || !text.starts_with(kMagic)) return std::nullopt;
  std::memcpy(sizes, text.data() + kMagic.size(), sizeof sizes);
  const std::size_t content = text.size() - kHead - sizeof(Sha256Digest);
  if (sizes[0] != key.text().size() || sizes[0] > content || sizes[1] != content - sizes[0]) return std::nullopt;
  if (text.substr(kHead, sizes[0]) != key.text()) return std::nullopt;
  const Sha256Digest sum = sha256(text.substr(0, kHead + content));
  if (std::memcmp(sum.data(), text.data() + kHead + content, sum.size()) != 0) return std::nullopt;
  return std::string(text.substr(kHead + sizes[0], sizes[1]));
}

// ---- The folder.

struct KernelFile {
  std::string path;
  std::uint64_t bytes;
  std::time_t used;
  bool is_temporary;
};

/// The files in a folder that are named like ours.
std::vector<KernelFile> kernel_files(const std::string& folder) {
  std::vector<KernelFile> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.size() < kDigits || name.find_first_not_of("0123456789abcdef") != kDigits) continue;
    const std::string_view rest = std::string_view(name).substr(kDigits);
    if (!rest.starts_with(kSuffix)) continue;
    struct stat status {};
    if (lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    files.push_back({at->path().string(), static_cast<std::uint64_t>(status.st_size), status.st_mtime,
                     rest.size() > kSuffix.size()});
  }
  return files;
}

/// The time of the last use, which is the file's time of change, need not be exact.
void mark_as_used(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime < kHour) return;
  utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void note(const std::string& folder, const std::string& problem) {
  debug_once("kernel cache " + folder,
             fmt::format("Compiled kernels are not kept{}: {}", folder.empty() ? "" : " in " + folder, problem));
}

/// Where to keep or look, empty if nowhere.
std::string usable_folder() {
  std::string problem;
  std::string folder = kernel_folder(problem);
  if (folder.empty()) note(folder, problem);
  return folder;
}

}  // namespace

KernelKey::KernelKey() : text_("sluice kernel 1\n") {}

void KernelKey::add(std::string_view name, std::string_view value) {
  text_ += fmt::format("{} {} ", name, value.size());
  text_.append(value).append("\n");
}

std::string kernel_folder(std::string& problem) {
  problem.clear();
  if (const std::optional<std::string> wish = environment("SLUICE_KERNEL_CACHE"); wish && !wish->empty()) {
    if (wish->starts_with('/')) return *wish;
    problem = *wish == "off" ? "$SLUICE_KERNEL_CACHE is off"
                             : fmt::format("$SLUICE_KERNEL_CACHE is {}; give an absolute path, or off", *wish);
    return {};
  }
  const std::string cache = user_cache_folder();
  if (cache.empty()) {
    problem = "neither $XDG_CACHE_HOME nor $HOME has an absolute path";
    return {};
  }
  return cache + "/sluice/kernels";
}

bool has_kernel_folder() {
  const std::string folder = usable_folder();
  if (folder.empty()) return false;
  const std::string problem = make_private_folder(folder);
  if (!problem.empty()) note(folder, problem);
  return problem.empty();
}

std::string kernel_file_path(const std::string& folder, const KernelKey& key) {
  return fmt::format("{}/{}{}", folder, to_hexadecimal(sha256(key.text())), kSuffix);
}

std::optional<std::string> load_kernel(const KernelKey& key) {
  const std::string folder = usable_folder();
  if (folder.empty() || !private_folder_problem(folder).empty()) return std::nullopt;
  const std::string path = kernel_file_path(folder, key);
  const std::optional<std::string> text = read_private_file(path, kMostFileBytes);
  if (!text) return std::nullopt;
  std::optional<std::string> binary = unpacked(*text, key);
  if (binary) mark_as_used(path);
  return binary;
}

void keep_kernel(const KernelKey& key, std::string_view binary) {
  const std::string folder = usable_folder();
  if (folder.empty() || !private_folder_problem(folder).empty()) return;
  const std::string text = packed(key, binary);
  if (text.size() > kMostFileBytes) return;
  if (const std::string problem = write_private_file(kernel_file_path(folder, key), text); !problem.empty()) {
    return note(folder, problem);
  }
  // A process that compiles nothing looks at no other file; one that compiles much looks now and then.
  constexpr unsigned kBetween = 64;
  static constinit std::atomic<unsigned> kept{0};
  if (kept++ % kBetween == 0) trim_kernels(folder, kMostKernelBytes);
}

void trim_kernels(const std::string& folder, std::uint64_t most) {
  std::vector<KernelFile> files = kernel_files(folder);
  std::sort(files.begin(), files.end(), [](const KernelFile& a, const KernelFile& b) { return a.used < b.used; });
  std::uint64_t bytes = 0;
  for (const KernelFile& file : files) bytes += file.bytes;
  // Some room at once, so that the next kernel does not begin it again.
  const std::uint64_t wanted = bytes > most ? most / 8 * 7 : most;
  const std::time_t now = std::time(nullptr);
  for (const KernelFile& file : files) {
    const bool is_abandoned = file.is_temporary && now - file.used > kHour;
    if (!is_abandoned && (bytes <= wanted || file.is_temporary)) continue;
    if (unlink(file.path.c_str()) == 0) bytes -= file.bytes;
  }
}

KernelStoreUse kernel_store_use(const std::string& folder) {
  KernelStoreUse use;
  for (const KernelFile& file : kernel_files(folder)) {
    if (file.is_temporary) continue;
    ++use.files;
    use.bytes += file.bytes;
  }
  return use;
}

}  // namespace sluice::detail
