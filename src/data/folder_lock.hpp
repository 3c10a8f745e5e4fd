// A lock on a folder, so that those who write several files in it take turns. It ends with the process at the latest
// and leaves nothing behind.
#pragma once

#include <string>

namespace sluice::detail {

class FolderLock {
 public:
  /// Waits for its turn. Where there is no such folder, or its file system has no locks, nothing is locked.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace sluice::detail
