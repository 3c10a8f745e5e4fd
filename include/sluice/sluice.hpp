// Everything: #include <sluice/sluice.hpp>, using namespace sluice.
#pragma once

#include "sluice/backends.hpp"
#include "sluice/checkpoint.hpp"
#include "sluice/data.hpp"
#include "sluice/dlpack.hpp"
#include "sluice/gradient.hpp"
#include "sluice/interop.hpp"
#include "sluice/layers.hpp"
#include "sluice/log.hpp"
#include "sluice/losses.hpp"
#include "sluice/memory.hpp"
#include "sluice/npy.hpp"
#include "sluice/optimisers.hpp"
#include "sluice/state.hpp"
#include "sluice/train.hpp"
