// Ops that run again and again on values of the same types, as a recurrent layer's step does. In an eager session without an
// observer they run as one program, and so do their gradients. The tape has every op either way, and bits are those of the ops
// one by one.
//
//   Repeated cell(session, [](std::span<const Value> v) { return std::vector<Value>{sigmoid(v[0]) * v[1]}; });
//   for (...) state = cell(std::vector<Value>{gates, state})[0];
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/compiled/program.h"
#include "runtime/session.h"

namespace assay::runtime {

// The ops that ran for values of some types, and the programs that give the values of all of them and pass cotangents back.
struct RepeatedOps {
  struct One {
    Op op;
    Attributes attributes;
    std::vector<std::size_t> operands;  // the values that were given, and then the ops, are counted through
  };
  struct Backward {
    std::optional<Program> program;  // none: op by op
    std::vector<std::size_t> reads;  // its inputs: the values given, the ops' values, and the cotangents that there are are counted through
    std::vector<bool> sends;         // by value given that is wanted
  };
  std::vector<std::pair<DType, Shape>> types;
  std::vector<One> ops;
  std::vector<std::size_t> results;                // counted in the same way
  Graph graph;                                     // of the values given; its outputs are the values of all ops
  std::optional<Program> all;                      // of the graph; none: op by op
  std::optional<Program> forward;                  // gives the values that are kept, all at first
  std::vector<bool> kept;                          // by op
  std::map<std::vector<bool>, Backward> backward;  // by what has a cotangent of the ops, and is wanted of the values given

  // From now on results and what backward programs read are kept, and the rest is computed on request.
  void keep_what_is_read();
  void keep_all();
};

class Repeated {
 public:
  using Function = std::function<std::vector<Value>(std::span<const Value>)>;
  // For values of the same types the function does the same ops; as a program where it reads these values alone, and does nothing but ops.
  Repeated(Session& session, Function function) : session_(session), function_(std::move(function)) {}
  std::vector<Value> operator()(std::span<const Value> values);

 private:
  std::shared_ptr<RepeatedOps> recorded(std::span<const Value> values, std::span<const Value> results, Ref first);

  Session& session_;
  Function function_;
  std::vector<std::shared_ptr<RepeatedOps>> known_;
};

}  // namespace assay::runtime
