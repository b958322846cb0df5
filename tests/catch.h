// The one place that depends on the major version of Catch2.
#pragma once

#ifdef ASSAY_CATCH2_V3
#include <catch2/catch_all.hpp>
using Catch::Approx;  // version 2 puts it into the global namespace itself
#else
#include <catch2/catch.hpp>
#endif
