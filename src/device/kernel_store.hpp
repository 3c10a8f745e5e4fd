// Compiled kernels kept between processes: one file each in $XDG_CACHE_HOME/sluice/kernels, else
// ~/.cache/sluice/kernels, or where $SLUICE_KERNEL_CACHE says ("off": nowhere).
//
// A file is named by the SHA-256 of its key, and holds the key, the binary and a checksum of both, so that one that is
// damaged, foreign or of another key is never taken. Nothing stays open and nothing is locked: files appear whole, and
// any number of processes may write the same one. Nothing here throws, and nothing here is needed: what does not work
// is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::detail {

/// A key of named values, unambiguous whatever they hold.
class KernelKey {
 public:
  KernelKey();
  void add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Where kernels are kept; empty, with the reason, if they are not.
std::string kernel_folder(std::string& problem);

/// Whether there is a folder that may be used; makes it where it is missing.
bool has_kernel_folder();

/// The file of a key in a folder.
std::string kernel_file_path(const std::string& folder, const KernelKey& key);

/// The binary that was kept for exactly this key. Marks it as used.
std::optional<std::string> load_kernel(const KernelKey& key);
/// Keeps a binary. Now and then removes those that were not used for longest, see trim_kernels().
void keep_kernel(const KernelKey& key, std::string_view binary);

/// Removes the files that were not used for longest if all together have more than `most` bytes, and what writers that
/// were killed have left. Touches no file but those that are named like a kernel.
void trim_kernels(const std::string& folder, std::uint64_t most);
inline constexpr std::uint64_t kMostKernelBytes = std::uint64_t{256} << 20;

/// What is kept now.
struct KernelStoreUse {
  std::uint64_t files = 0, bytes = 0;
};
KernelStoreUse kernel_store_use(const std::string& folder);

}  // namespace sluice::detail
