// What is shown of a certificate beside its records: numbers, and by a walk through the proof boxes and refused steps.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "certificates/edit/walk.h"
#include "certificates/format/reader.h"
#include "certificates/format/record.h"
#include "kernel/logic/api.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::views {

struct StepsRequest {
  std::string file;               // the certificate
  std::string network, property;  // files; may be empty
  check::Limits limits;
  std::uint64_t step = 0;  // whose branch is shown; 0: none
  bool numbers = false;    // those of each record
};

// The splits around a record, by the records before it.
struct Splits : certificate::StepsAlike<Splits> {
  std::vector<logic::Literal> around;
  void begin_group(const certificate::Record&) { around.clear(); }
  void end_group(const certificate::Record&) { around.clear(); }
  void split(const certificate::Record& record) { around.push_back(record.at_most()); }
  void next(const certificate::Record&) {
    if (!around.empty()) around.back().at_least = true;
  }
  void done(const certificate::Record&) {
    if (!around.empty()) around.pop_back();
  }
  static void witness(const certificate::Record&) {}
  static void step(const certificate::Record&) {}
};

class CertificateSteps {
 public:
  explicit CertificateSteps(StepsRequest request) : request_(std::move(request)) {}

  // Reads the model, and the property if there is one.
  [[nodiscard]] Outcome<Done> load(const certificate::Header& header);
  [[nodiscard]] const Graph* graph() const { return graph_.get(); }
  // Whether the certificate proves another statement than these files make.
  [[nodiscard]] bool is_foreign() const { return is_foreign_; }
  [[nodiscard]] bool has_more() const { return request_.numbers || walk_; }
  // One object per record that was shown.
  [[nodiscard]] nlohmann::ordered_json& steps() { return steps_; }

  // The lines below the line of a record. Takes the record.
  std::vector<std::string> below(const certificate::Record& record);

 private:
  void add_branch(std::vector<std::string>& lines, nlohmann::ordered_json& json) const;

  StepsRequest request_;
  bool is_foreign_ = false;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const logic::Problem> problem_;
  std::optional<certificate::Walk> walk_;
  Splits splits_;
  nlohmann::ordered_json steps_ = nlohmann::ordered_json::array();
};

}  // namespace assay::views
