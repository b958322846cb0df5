#include "cli/version.h"

#include <gmp.h>
#include <mpfr.h>
#include <zlib.h>
#ifdef ASSAY_TCMALLOC
#include <gperftools/tcmalloc.h>
#endif

#include <boost/version.hpp>

namespace assay::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

std::string boost_version() {
  return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
         std::to_string(BOOST_VERSION % 100);
}

// The instruction sets of this machine that make a difference to a run.
std::string instruction_sets() {
#if defined(__x86_64__)
  std::string sets = "x86-64";
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) sets += " sse4.2";
  if (__builtin_cpu_supports("avx")) sets += " avx";
  if (__builtin_cpu_supports("avx2")) sets += " avx2";
  if (__builtin_cpu_supports("fma")) sets += " fma";
  if (__builtin_cpu_supports("avx512f")) sets += " avx512f";
  if (__builtin_cpu_supports("avx512bw")) sets += " avx512bw";
  if (__builtin_cpu_supports("avx512dq")) sets += " avx512dq";
  if (__builtin_cpu_supports("avx512vl")) sets += " avx512vl";
  return sets;
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

}  // namespace

std::string version_text(const std::string& program, const Libraries& further) {
  Libraries libraries{{"Boost", boost_version()}, {"MPFR", mpfr_get_version()}, {"GMP", gmp_version}, {"zlib", zlibVersion()}};
#ifdef ASSAY_TCMALLOC
  int major = 0, minor = 0;
  tc_version(&major, &minor, nullptr);
  libraries.emplace_back("gperftools", std::to_string(major) + "." + std::to_string(minor));
#endif
  libraries.insert(libraries.end(), further.begin(), further.end());
  std::string text = program + " " + ASSAY_VERSION + "\ncommit            " + kCommit + "\ncompiler          " + compiler();
  text += "\nlibraries         ";
  for (std::size_t i = 0; i < libraries.size(); ++i) text += (i == 0 ? "" : ", ") + libraries[i].first + " " + libraries[i].second;
  return text + "\ninstruction sets  " + instruction_sets();
}

}  // namespace assay::cli
