// Robustness of the items of a data set as statements: a model, read once, with a box around each item, and its label.
//
// The box of radius eps around item x is max(x - eps, clip_lo) .. min(x + eps, clip_hi), coordinate by coordinate in units of the
// scaled data, then (. - mean) / std; all exact fractions. VNN-LIB has decimals only: an end with more than 40 digits is moved
// outward to 30 digits behind the point, so that a certificate covers the ball; a witness counts only where it lies in the ball
// itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/runs/store.h"
#include "formats/datasets/dataset.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::runs {

struct BallSetting {
  std::string model, data, labels;     // files, as formats::DatasetRequest takes the last two
  std::string scale;                   // of the data's numbers; empty: 1/255 for uint8, 1/65535 for uint16, else 1
  std::vector<std::string> mean, std;  // one number, or one per channel
  std::string clip_lo, clip_hi;        // empty: no clipping
  std::string norm = "linf";           // or l2, l1
  std::string semantics;               // in words, for the manifest
  onnx::Edits edits = {};              // of the model; those of the load options are not read
};

// itemN-RADIUS, without what a path takes otherwise.
[[nodiscard]] std::string undecided_name(std::size_t item, std::string radius);

// The claim of a run's manifest, and back.
[[nodiscard]] Json to_json(const BallSetting& setting);
[[nodiscard]] BallSetting setting_of(const Json& claim);

struct Instance {
  std::shared_ptr<const logic::Problem> problem;
  std::vector<Rational> lo, hi, mid;  // the ball's own box, exactly; the item itself
  // Of l2: sum of (scale (x - centre))^2 <= radius^2; of l1: sum of |scale (x - centre)| <= radius.
  std::string norm;
  std::vector<Rational> centre, scale;
  Rational radius;
  [[nodiscard]] bool contains(std::span<const Rational> point) const;
};

class Balls {
 public:
  // The kernel opens the model once, as `options` say: what it refuses, each instance is refused for.
  // `model` and `data` of the setting may be elsewhere than the claim says; digests() identifies them.
  [[nodiscard]] static Outcome<Balls> load(const BallSetting& setting, const check::LoadOptions& options);

  [[nodiscard]] std::size_t size() const { return data_.items.count(); }
  [[nodiscard]] bool has_labels() const { return !data_.labels.empty(); }
  [[nodiscard]] std::int64_t label(std::size_t item) const { return data_.labels[item]; }
  [[nodiscard]] const formats::Dataset& data() const { return data_; }
  [[nodiscard]] const Json& digests() const { return digests_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }    // that the network is expected to need
  [[nodiscard]] std::uint64_t stored() const { return stored_; }  // of the model on disk, and of a property
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] const std::vector<std::int64_t>& input_shape() const { return input_shape_; }

  // The predicted class is the one whose score encloses the largest. The margin is its lead over the next class, or for a label
  // the lead of that. Both are taken at the item itself.
  struct Scores {
    std::int64_t predicted = -1;  // -1: two classes may be equal
    double margin = 0;            // of the label over the best other class; of `predicted` where there are no labels
  };
  [[nodiscard]] Outcome<Scores> scores(std::size_t item) const;
  [[nodiscard]] Outcome<Instance> instance(std::size_t item, std::int64_t label, const Rational& eps) const;
  // Rejected if the ball holds no point: about such a ball, a certificate would say nothing.
  [[nodiscard]] Outcome<Done> has_points(std::size_t item, std::int64_t label, const Rational& eps) const;
  // Whether the item itself lies in the range of --clip, and so in each of its balls.
  [[nodiscard]] bool is_in_clip(std::size_t item) const;
  // The statement of an instance, as VNN-LIB text.
  [[nodiscard]] std::string property(const Instance& instance, std::int64_t label) const;
  // Writes that statement to FOLDER/NAME.vnnlib. A statement of l1, for which VNN-LIB has no words, goes to NAME.statement.
  // Returns messages on files that could not be written.
  [[nodiscard]] std::vector<std::string> write_property(const Instance& instance, std::int64_t label, const std::string& folder,
                                                        const std::string& name) const;
  // The same of an item that is undecided, by undecided_name.
  [[nodiscard]] std::vector<std::string> write_undecided(std::size_t item, std::int64_t label, const Rational& eps,
                                                         const std::string& radius, const std::string& folder) const;
  // The numbers that the network reads of an item, in the order of its input.
  [[nodiscard]] std::vector<Rational> input(std::size_t item) const;

 private:
  [[nodiscard]] Outcome<Done> fit();
  [[nodiscard]] Outcome<Done> read_numbers(const BallSetting& setting);
  [[nodiscard]] Rational pixel(std::size_t item, std::size_t coordinate) const;
  // By how much the coordinate lies outside of the range of --clip; 0 inside.
  [[nodiscard]] Rational outside_clip(const Rational& pixel) const;
  [[nodiscard]] Outcome<Done> meets_clip(std::size_t item, const Rational& eps) const;
  [[nodiscard]] Rational normalised(const Rational& pixel, std::size_t coordinate) const;

  [[nodiscard]] static std::string ball_text(const Instance& instance);
  [[nodiscard]] static Outcome<Done> add_ball(const Instance& instance, Graph& graph, statement::Property& property);
  [[nodiscard]] statement::Property box_property(const Instance& instance, std::int64_t label) const;

  Graph graph_;
  std::optional<Outcome<std::shared_ptr<const logic::Network>>> network_;  // of the graph
  logic::KernelOptions kernel_options_;
  std::string norm_;
  std::vector<statement::Source> sources_;
  ExecutionModel semantics_;
  formats::Dataset data_;
  Json digests_;
  std::vector<std::string> notes_;
  std::uint64_t bytes_ = 0, stored_ = 0;
  MemoryRule memory_;
  std::vector<std::int64_t> input_shape_;
  std::vector<std::size_t> order_;  // by coordinate of the input: the element of the item
  std::size_t classes_ = 0, inside_ = 1, channels_ = 1;
  Rational scale_ = 1;
  std::vector<Rational> mean_, std_;
  std::optional<Rational> clip_lo_, clip_hi_;
};

}  // namespace assay::runs
