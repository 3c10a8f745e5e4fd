// Data on its way to a model: reading files, splitting, batching, one-hot labels.
#pragma once

#include "sluice/loader.hpp"
#include "sluice/observations.hpp"
#include "sluice/onehot.hpp"
#include "sluice/readers.hpp"
#include "sluice/splits.hpp"
