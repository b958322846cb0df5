// The instruction sets that vector code is compiled for: the baseline, AVX2 and AVX-512 on x86; elsewhere the available ones.
// Included before any header of Highway. Private to this folder.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
