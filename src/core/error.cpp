#include "sluice/error.hpp"

namespace sluice::inline v0 {

Error::Error(const std::string& message) : std::runtime_error(message) {}

// Defined here so that every module of a program sees one type of each.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
TypeError::~TypeError() = default;
IndexError::~IndexError() = default;
ArgumentError::~ArgumentError() = default;
FileError::~FileError() = default;
DeviceError::~DeviceError() = default;
OutOfMemory::~OutOfMemory() = default;
DeviceLost::~DeviceLost() = default;
Unsupported::~Unsupported() = default;

}  // namespace sluice::inline v0
