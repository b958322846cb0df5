// To make functions of floats faster, these use instructions that AVX-512 alone has. exp uses one that scales by a power of two.
// tanh and erf use tables, of which one instruction looks up one of 32 numbers for 16 lanes at once. They take half and a third
// of the instructions in lane_math-inl.h, and no division.
//
// Each table cuts the arguments into 32 intervals at most. On each the function is p0 + d (p1 + d (p2 + ...)), d the distance
// from a centre. The centre's image is a float but for 2^-27 of it, so that the last addition alone rounds; near 0 the function
// is d times something, or d plus something. Coefficients are least squares at Chebyshev nodes, computed with 140 bits and
// rounded. Over all floats each result is at most 1 step from the nearest number, and less than 1 unit in the last place from the
// exact value (tests/runtime/functions_test.cpp).
#if defined(ASSAY_RUNTIME_LANE_TABLES) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_RUNTIME_LANE_TABLES
#undef ASSAY_RUNTIME_LANE_TABLES
#else
#define ASSAY_RUNTIME_LANE_TABLES
#endif

#include <hwy/highway.h>
#include "runtime/kernels/lanes.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {

// clang-format off
alignas(64) constexpr float kTanhTable[8][32] = {  // NOLINT
    {  // centre
        0, 0x1.1ff876p-3F, 0x1.6006ap-3F, 0x1.a009b8p-3F, 0x1.e0087ap-3F, 0x1.1ff652p-2F, 0x1.600068p-2F, 0x1.a0044cp-2F, 0x1.dff4c6p-2F,
        0x1.1ffcecp-1F, 0x1.5ffc7cp-1F, 0x1.a004fp-1F, 0x1.dff95ap-1F, 0x1.2008dep+0F, 0x1.60064p+0F, 0x1.9fff1p+0F, 0x1.e00076p+0F,
        0x1.20093ep+1F, 0x1.600afcp+1F, 0x1.9ffd2cp+1F, 0x1.e0081cp+1F, 0x1.2004d2p+2F, 0x1.5fe8bep+2F, 0x1.9fef28p+2F, 0x1.e434ep+2F,
        0x1.0a2b24p+3F, 0x1.0a2b24p+3F, 0x1.0a2b24p+3F, 0x1.0a2b24p+3F, 0x1.0a2b24p+3F, 0x1.0a2b24p+3F, 0x1.0a2b24p+3F},
    {  // value there
        0, 0x1.1e166cp-3F, 0x1.5c9976p-3F, 0x1.9a687p-3F, 0x1.d76e64p-3F, 0x1.189aa6p-2F, 0x1.52c322p-2F, 0x1.8a8b8ap-2F, 0x1.bfa556p-2F,
        0x1.050628p-1F, 0x1.31559cp-1F, 0x1.578bb6p-1F, 0x1.77d528p-1F, 0x1.9e62d4p-1F, 0x1.c27b78p-1F, 0x1.d9c6b6p-1F, 0x1.e878b4p-1F,
        0x1.f4c172p-1F, 0x1.fbd5cp-1F, 0x1.fe7668p-1F, 0x1.ff6f2ap-1F, 0x1.ffdfacp-1F, 0x1.fffb9cp-1F, 0x1.ffff68p-1F, 0x1.ffffeep-1F,
        0x1.fffffcp-1F, 0x1.fffffcp-1F, 0x1.fffffcp-1F, 0x1.fffffcp-1F, 0x1.fffffcp-1F, 0x1.fffffcp-1F, 0x1.fffffcp-1F},
    {  // factors of d, d^2, ..., d^6
        0x1p+0F, 0x1.f6025p-1F, 0x1.f12a74p-1F, 0x1.eb706ap-1F, 0x1.e4dec4p-1F, 0x1.d98daap-1F, 0x1.c7f704p-1F, 0x1.b3fdc6p-1F,
        0x1.9e27a6p-1F, 0x1.7aed3ap-1F, 0x1.49e972p-1F, 0x1.197c2ap-1F, 0x1.d83dd4p-2F, 0x1.613c34p-2F, 0x1.ce9364p-3F, 0x1.266032p-3F,
        0x1.6fce64p-4F, 0x1.63de42p-5F, 0x1.097a74p-6F, 0x1.8900bep-8F, 0x1.21830ep-9F, 0x1.029948p-11F, 0x1.190064p-14F, 0x1.30018ep-17F,
        0x1.20012p-20F, 0x1.fff90ap-23F, 0x1.fff90ap-23F, 0x1.fff90ap-23F, 0x1.fff90ap-23F, 0x1.fff90ap-23F, 0x1.fff90ap-23F,
        0x1.fff90ap-23F},
    {
        -0x1.aeda44p-29F, -0x1.18813ep-3F, -0x1.527fdep-3F, -0x1.89ed4cp-3F, -0x1.be738cp-3F, -0x1.038882p-2F, -0x1.2dafd8p-2F,
        -0x1.4ff91ep-2F, -0x1.6a195ap-2F, -0x1.825cf6p-2F, -0x1.897d76p-2F, -0x1.79befcp-2F, -0x1.5aa5e4p-2F, -0x1.1de3dcp-2F,
        -0x1.96ff18p-3F, -0x1.10661ep-3F, -0x1.5ee76ep-4F, -0x1.5c0d8p-5F, -0x1.075196p-6F, -0x1.87d2acp-8F, -0x1.213122p-9F,
        -0x1.02880ap-11F, -0x1.18fcecp-14F, -0x1.300024p-17F, -0x1.20081p-20F, -0x1.0003a6p-22F, -0x1.0003a6p-22F, -0x1.0003a6p-22F,
        -0x1.0003a6p-22F, -0x1.0003a6p-22F, -0x1.0003a6p-22F, -0x1.0003a6p-22F},
    {
        -0x1.555502p-2F, -0x1.3b14a4p-2F, -0x1.2ea296p-2F, -0x1.2027dap-2F, -0x1.0fdcbcp-2F, -0x1.e92a82p-3F, -0x1.9857f6p-3F,
        -0x1.426c1cp-3F, -0x1.d73d9ep-4F, -0x1.bd29bep-5F, 0x1.d6ff18p-7F, 0x1.073968p-4F, 0x1.842b68p-4F, 0x1.c68f5ep-4F, 0x1.97cf82p-4F,
        0x1.33e0a4p-4F, 0x1.a85aep-5F, 0x1.bb9414p-6F, 0x1.595b1cp-7F, 0x1.03a196p-8F, 0x1.80b69cp-10F, 0x1.582c88p-12F, 0x1.763972p-15F,
        0x1.94e51cp-18F, 0x1.7fb55ep-21F, 0x1.561bc4p-23F, 0x1.561bc4p-23F, 0x1.561bc4p-23F, 0x1.561bc4p-23F, 0x1.561bc4p-23F,
        0x1.561bc4p-23F, 0x1.561bc4p-23F},
    {
        -0x1.5145b6p-14F, 0x1.68c3ap-4F, 0x1.afb786p-4F, 0x1.ef7924p-4F, 0x1.14672p-3F, 0x1.3314eap-3F, 0x1.5025dap-3F, 0x1.5c58bp-3F,
        0x1.585b24p-3F, 0x1.3a48bcp-3F, 0x1.e98d64p-4F, 0x1.471f1p-4F, 0x1.628d8ap-5F, 0x1.a959dep-9F, -0x1.5ded5ep-6F, -0x1.9d2d6cp-6F,
        -0x1.55d39ap-6F, -0x1.939d34p-7F, -0x1.4e0458p-8F, -0x1.007e4cp-9F, -0x1.7f057cp-11F, -0x1.57f918p-13F, -0x1.765a9p-16F,
        -0x1.951114p-19F, -0x1.7dda9ep-22F, -0x1.567732p-24F, -0x1.567732p-24F, -0x1.567732p-24F, -0x1.567732p-24F, -0x1.567732p-24F,
        -0x1.567732p-24F, -0x1.567732p-24F},
    {
        0x1.14c4aep-3F, 0x1.ca4c44p-4F, 0x1.a25b22p-4F, 0x1.745476p-4F, 0x1.41df74p-4F, 0x1.e3eb4ep-5F, 0x1.05c436p-5F, 0x1.83f20cp-8F,
        -0x1.18ec7p-6F, -0x1.64204ap-5F, -0x1.f85a66p-5F, -0x1.00af84p-4F, -0x1.b2b526p-5F, -0x1.065614p-5F, -0x1.378c3cp-7F,
        0x1.6d984p-10F, 0x1.2d8846p-8F, 0x1.048b92p-8F, 0x1.f5ab72p-10F, 0x1.940698p-11F, 0x1.32b6ap-12F, 0x1.1e5296p-14F, 0x1.3841aep-17F,
        0x1.51fd52p-20F, 0x1.3dbec4p-23F, 0x1.fd3b22p-26F, 0x1.fd3b22p-26F, 0x1.fd3b22p-26F, 0x1.fd3b22p-26F, 0x1.fd3b22p-26F,
        0x1.fd3b22p-26F, 0x1.fd3b22p-26F},
    {
        -0x1.10860ap-6F, 0x1.4366cep+0F, -0x1.c7489cp-5F, -0x1.227bc2p+0F, -0x1.6b6f1p+1F, -0x1.370fbap-4F, -0x1.b1bdc8p-5F,
        -0x1.ae0dd6p-4F, -0x1.62d3d8p-5F, -0x1.20b456p-5F, -0x1.87a09ap-7F, 0x1.1e3e1ap-8F, 0x1.0ded18p-6F, 0x1.2f1d5p-6F, 0x1.68be7cp-7F,
        0x1.0f1a36p-8F, 0x1.4a7a88p-11F, -0x1.78dffep-11F, -0x1.1e697ep-11F, -0x1.006ef8p-12F, -0x1.90bcf6p-14F, -0x1.79607ap-16F,
        -0x1.9c2412p-19F, -0x1.beb3d6p-22F, -0x1.de4848p-25F, -0x1.a4a518p-28F, -0x1.a4a518p-28F, -0x1.a4a518p-28F, -0x1.a4a518p-28F,
        -0x1.a4a518p-28F, -0x1.a4a518p-28F, -0x1.a4a518p-28F},
};
alignas(64) constexpr float kErfTable[8][32] = {  // NOLINT
    {  // centre
        0, 0x1.8007ap-3F, 0x1.3ffda6p-2F, 0x1.c00812p-2F, 0x1.20016p-1F, 0x1.5ffcf8p-1F, 0x1.a00a5cp-1F, 0x1.dff86ep-1F, 0x1.1008e6p+0F,
        0x1.300a1p+0F, 0x1.50015ap+0F, 0x1.6ffd48p+0F, 0x1.8ffe1cp+0F, 0x1.b004cap+0F, 0x1.cff6f6p+0F, 0x1.effe54p+0F, 0x1.08050cp+1F,
        0x1.17feecp+1F, 0x1.27ff42p+1F, 0x1.37feb2p+1F, 0x1.4807aap+1F, 0x1.57f852p+1F, 0x1.67f47p+1F, 0x1.77e824p+1F, 0x1.88147ap+1F,
        0x1.97fb3ap+1F, 0x1.a7a2a2p+1F, 0x1.b6b9a2p+1F, 0x1.c5b4eap+1F, 0x1.d8788p+1F, 0x1.ea8f96p+1F, 0x1.f80bb6p+1F},
    {  // value there
        0, 0x1.ac4e32p-3F, 0x1.5da78cp-2F, 0x1.db0fa2p-2F, 0x1.25b9cap-1F, 0x1.569022p-1F, 0x1.7fbfcap-1F, 0x1.a1518ep-1F, 0x1.bbf58ep-1F,
        0x1.d05d96p-1F, 0x1.df8676p-1F, 0x1.ea766ap-1F, 0x1.f21c4p-1F, 0x1.f74b0ep-1F, 0x1.fab01ap-1F, 0x1.fcdab6p-1F, 0x1.fe30d2p-1F,
        0x1.fefcc4p-1F, 0x1.ff7334p-1F, 0x1.ffb5bap-1F, 0x1.ffda04p-1F, 0x1.ffed1p-1F, 0x1.fff6dap-1F, 0x1.fffbb4p-1F, 0x1.fffe1p-1F,
        0x1.ffff24p-1F, 0x1.ffffap-1F, 0x1.ffffd6p-1F, 0x1.ffffeep-1F, 0x1.fffffap-1F, 0x1.fffffep-1F, 0x1p+0F},
    {  // the part of d itself that is added: all of it near 0
        0x1p+0F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {  // factors of d, d^2, ..., d^5
        0x1.06eba8p-3F, 0x1.16e274p+0F, 0x1.05fdap+0F, 0x1.dd1332p-1F, 0x1.a50608p-1F, 0x1.6822ep-1F, 0x1.2a83fep-1F, 0x1.dfd774p-2F,
        0x1.758d82p-2F, 0x1.19f372p-2F, 0x1.9cb006p-3F, 0x1.24b0a8p-3F, 0x1.925054p-4F, 0x1.0be894p-4F, 0x1.5a3536p-5F, 0x1.b121p-6F,
        0x1.06835ep-6F, 0x1.34e33ep-7F, 0x1.5ffbe6p-8F, 0x1.84cd82p-9F, 0x1.9fa496p-10F, 0x1.b053b2p-11F, 0x1.b31732p-12F, 0x1.a910d8p-13F,
        0x1.8e5508p-14F, 0x1.6e7a7ep-15F, 0x1.4b2296p-16F, 0x1.2b4b7cp-17F, 0x1.08aee6p-18F, 0x1.6e8adep-20F, 0x1.fa4828p-22F,
        0x1.dcc42cp-23F},
    {
        0x1.b6022ep-27F, -0x1.a25bdep-3F, -0x1.477a8ap-2F, -0x1.a1783ap-2F, -0x1.d9a8f8p-2F, -0x1.ef2ba2p-2F, -0x1.e5228ap-2F,
        -0x1.c1d2e4p-2F, -0x1.8cf35cp-2F, -0x1.4edc34p-2F, -0x1.0ed4a4p-2F, -0x1.a4bae8p-3F, -0x1.3a4d54p-3F, -0x1.c41d88p-4F,
        -0x1.39ba26p-4F, -0x1.a3969ap-5F, -0x1.0ebca4p-5F, -0x1.51d71ep-6F, -0x1.96fa46p-7F, -0x1.d9d802p-8F, -0x1.0a4b9ep-8F,
        -0x1.22711cp-9F, -0x1.31e0cp-10F, -0x1.3813bep-11F, -0x1.3107b6p-12F, -0x1.240584p-13F, -0x1.11fb7cp-14F, -0x1.007452p-15F,
        -0x1.d516d6p-17F, -0x1.523a9ep-18F, -0x1.e5144cp-20F, -0x1.c632d4p-16F},
    {
        -0x1.81281ep-2F, -0x1.59b244p-2F, -0x1.191914p-2F, -0x1.888f0cp-3F, -0x1.9c39f2p-4F, -0x1.a4a778p-7F, 0x1.fe5ee6p-5F,
        0x1.e4b352p-4F, 0x1.39620cp-3F, 0x1.564bdap-3F, 0x1.5065f4p-3F, 0x1.319fdcp-3F, 0x1.0456ecp-3F, 0x1.a35966p-4F, 0x1.415b58p-4F,
        0x1.d5c5ecp-5F, 0x1.488a02p-5F, 0x1.b93234p-6F, 0x1.1c6078p-6F, 0x1.6097ccp-7F, 0x1.a452f8p-8F, 0x1.e44e8ep-9F, 0x1.0c99fp-9F,
        0x1.1fcb8ap-10F, 0x1.26d986p-11F, 0x1.26fd88p-12F, 0x1.20809cp-13F, 0x1.189f5cp-14F, 0x1.0a3ac4p-15F, 0x1.90ce64p-17F,
        0x1.2b0a14p-18F, -0x1.1f2082p-16F},
    {
        0x1.ecefbep-14F, 0x1.97d326p-4F, 0x1.31a39p-3F, 0x1.6b9e5p-3F, 0x1.7538acp-3F, 0x1.52c2a8p-3F, 0x1.0f60b4p-3F, 0x1.74850ap-4F,
        0x1.89030ep-5F, 0x1.42fdap-7F, -0x1.3fbfbp-6F, -0x1.3cbaaap-5F, -0x1.89b97cp-5F, -0x1.95cd0cp-5F, -0x1.74faeap-5F, -0x1.3b1daap-5F,
        -0x1.f13d8ep-6F, -0x1.723476p-6F, -0x1.052b8ap-6F, -0x1.5f54f2p-7F, -0x1.c28b86p-8F, -0x1.15bc98p-8F, -0x1.4821fep-9F,
        -0x1.73e65cp-10F, -0x1.92866p-11F, -0x1.a737acp-12F, -0x1.b1b53ap-13F, -0x1.b86e42p-14F, -0x1.b1f9b2p-15F, -0x1.584b5cp-16F,
        -0x1.0ae73ap-17F, 0x1.605884p-8F},
    {
        0x1.c97964p-4F, 0x1.7fa126p-4F, 0x1.0475c4p-4F, 0x1.b06e72p-6F, -0x1.61cb74p-7F, -0x1.549d52p-5F, -0x1.f90d9cp-5F, -0x1.1ca3aep-4F,
        -0x1.0f22b8p-4F, -0x1.c08422p-5F, -0x1.3f357ap-5F, -0x1.7074e2p-6F, -0x1.089cd2p-7F, 0x1.639c08p-9F, 0x1.3615b8p-7F, 0x1.9c8706p-7F,
        0x1.a99942p-7F, 0x1.7e609cp-7F, 0x1.381a1ap-7F, 0x1.d88082p-8F, 0x1.4fb072p-8F, 0x1.c2668ap-9F, 0x1.1f6326p-9F, 0x1.5c909ap-10F,
        0x1.94e3a4p-11F, 0x1.c1e8c8p-12F, 0x1.dd1452p-13F, 0x1.eed676p-14F, 0x1.eb2cd6p-15F, 0x1.c9b748p-16F, 0x1.9b6772p-17F,
        0x1.42789ep-8F},
};
// clang-format on

HWY_INLINE __m512 looked_up(const float (&row)[32], __m512i which) {  // NOLINT
  return _mm512_permutex2var_ps(_mm512_load_ps(row), which, _mm512_load_ps(row + 16));
}
HWY_INLINE __m512 with_sign_of(__m512 x, __m512 sign) {
  return _mm512_or_ps(x, _mm512_and_ps(sign, _mm512_set1_ps(-0.0F)));  // of x >= 0, or of NaN
}
// coefficients[last] d^(last - first) + ... + coefficients[first]
template <int kFirst>
HWY_INLINE __m512 polynomial(const float (&table)[8][32], __m512i which, __m512 d) {  // NOLINT
  __m512 sum = looked_up(table[7], which);
  for (int k = 6; k >= kFirst; --k) sum = _mm512_fmadd_ps(sum, d, looked_up(table[k], which));
  return sum;
}

// Four intervals per power of two from 1/8 on; from 9.25 on 1. min gives its second operand where one is NaN.
HWY_INLINE __m512 tanh_by_table(__m512 x) {
  const __m512 size = _mm512_min_ps(_mm512_set1_ps(9.25F), _mm512_abs_ps(x));
  const __m512i quarter = _mm512_srli_epi32(_mm512_castps_si512(size), 21), before_first = _mm512_set1_epi32(4 * 124 - 1);
  const __m512i which = _mm512_max_epi32(_mm512_sub_epi32(quarter, before_first), _mm512_setzero_si512());
  return with_sign_of(polynomial<1>(kTanhTable, which, _mm512_sub_ps(size, looked_up(kTanhTable[0], which))), x);
}

// Intervals of 1/8; erf(4) rounds to 1.
HWY_INLINE __m512 erf_by_table(__m512 x) {
  const __m512 size = _mm512_min_ps(_mm512_set1_ps(0x1.fffffep1F), _mm512_abs_ps(x));
  const __m512i which = _mm512_cvttps_epi32(_mm512_mul_ps(size, _mm512_set1_ps(8)));
  const __m512 d = _mm512_sub_ps(size, looked_up(kErfTable[0], which));
  const __m512 large = _mm512_fmadd_ps(d, looked_up(kErfTable[2], which), looked_up(kErfTable[1], which));
  return with_sign_of(_mm512_fmadd_ps(polynomial<3>(kErfTable, which, d), d, large), x);
}

// The polynomial of reduced_power() in lane_math-inl.h. Beyond the bounds 0 and infinity; min and max give their second operand
// where one is NaN.
HWY_INLINE __m512 exp_by_scaling(__m512 x) {
  const __m512 shift = _mm512_set1_ps(0x1.8p23F), one = _mm512_set1_ps(1);
  const __m512 inside = _mm512_max_ps(_mm512_set1_ps(-104), _mm512_min_ps(_mm512_set1_ps(89), x));
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(inside, _mm512_set1_ps(0x1.715476p0F), shift), shift);
  const __m512 upper = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.63p-1F), inside);
  const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-0x1.bd0106p-13F), upper);
  __m512 p = _mm512_set1_ps(0x1.a04a72p-13F);
  for (const float factor : {0x1.6d7618p-10F, 0x1.11117ap-7F, 0x1.5554acp-5F, 0x1.555554p-3F, 0.5F})
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(factor));
  return _mm512_scalef_ps(_mm512_add_ps(one, _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r)), n);
}

HWY_INLINE __m512 sigmoid_by_scaling(__m512 x) {
  const __m512 one = _mm512_set1_ps(1);
  return _mm512_div_ps(one, _mm512_add_ps(one, exp_by_scaling(_mm512_xor_ps(x, _mm512_set1_ps(-0.0F)))));
}

// x/2 (1 + erf(x / sqrt(2)))
HWY_INLINE __m512 gelu_by_table(__m512 x) {
  const __m512 part = _mm512_add_ps(_mm512_set1_ps(1), erf_by_table(_mm512_mul_ps(x, _mm512_set1_ps(0x1.6a09e6p-1F))));
  return _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(0.5F), x), part);
}

// y[i] = F(x[i]), 16 at a time; the last few in a vector of their own.
template <auto F>
void vector_loop(const Numbers&, const Source* sources, void* result, std::size_t count) {
  const auto* const x = static_cast<const float*>(sources[0].data);
  auto* const y = static_cast<float*>(result);
  const bool single = sources[0].single;
  const std::size_t whole = single ? 0 : count / 16 * 16;
  for (std::size_t i = 0; i < whole; i += 16) _mm512_storeu_ps(y + i, F(_mm512_loadu_ps(x + i)));
  for (std::size_t i = whole; i < count; i += 16) {
    const auto lanes = static_cast<__mmask16>(count - i < 16 ? (1U << (count - i)) - 1 : 0xffffU);
    _mm512_mask_storeu_ps(y + i, lanes, F(single ? _mm512_set1_ps(x[0]) : _mm512_maskz_loadu_ps(lanes, x + i)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();
#endif

#endif
