// Errors: what the library throws, and the macro that marks what it exports.
//
// Every message carries the operation, the argument, the shapes or devices it met and the fix. An operation checks
// its arguments before it does any work, so a caught error leaves every tensor as it was.
#pragma once

#include <stdexcept>
#include <string>

#if defined(_WIN32)
#define SLUICE_API
#else
#define SLUICE_API __attribute__((visibility("default")))
#endif

namespace sluice::inline v0 {

/// Base of everything the library throws.
class SLUICE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message);
  ~Error() override;
};

/// Sizes that do not fit together: "matmul: inner sizes differ, (64, 128) x (100, 10)".
class SLUICE_API ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

/// An element type that an operation does not take, or that a value does not fit.
class SLUICE_API TypeError : public Error {
 public:
  using Error::Error;
  ~TypeError() override;
};

/// An index or dimension out of range; the message names the index and the bound.
class SLUICE_API IndexError : public Error {
 public:
  using Error::Error;
  ~IndexError() override;
};

/// Any other argument that makes no sense.
class SLUICE_API ArgumentError : public Error {
 public:
  using Error::Error;
  ~ArgumentError() override;
};

/// A file that cannot be read or written, or whose content is not what it should be; names the file and the position.
class SLUICE_API FileError : public Error {
 public:
  using Error::Error;
  ~FileError() override;
};

/// A device that is missing, mixed up with another one, or failing.
class SLUICE_API DeviceError : public Error {
 public:
  using Error::Error;
  ~DeviceError() override;
};

/// Memory of a device is exhausted, or its limit reached; the next smaller step works.
class SLUICE_API OutOfMemory : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~OutOfMemory() override;
};

/// The device has failed for good; its tensors are gone.
class SLUICE_API DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~DeviceLost() override;
};

/// The device cannot do this, for example Float64 on a device without it.
class SLUICE_API Unsupported : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~Unsupported() override;
};

}  // namespace sluice::inline v0
