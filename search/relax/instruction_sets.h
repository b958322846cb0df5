// ASSAY_SEARCH_CLONES: compiles a function once for each of several instruction sets.
//
// Source: the compiler's function multiversioning (`target_clones` of GCC). The loader picks the widest version that
// the machine can run, so one build serves all machines. Sums are split into eight lanes by hand, since a compiler may
// not reorder additions.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define ASSAY_SEARCH_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define ASSAY_SEARCH_INLINE inline __attribute__((always_inline))
#else
#define ASSAY_SEARCH_CLONES
#define ASSAY_SEARCH_INLINE inline
#endif
