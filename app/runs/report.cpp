#include "app/runs/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "app/pages/chart.h"
#include "app/pages/page.h"
#include "app/runs/balls.h"
#include "app/runs/batch.h"
#include "app/runs/robust.h"
#include "formats/datasets/dataset.h"

namespace assay::runs {
namespace {

using pages::html_text;
using pages::kChartHigh;
using pages::kChartLeft;
using pages::kChartTop;
using pages::kChartWide;
using pages::shown;
using pages::Table;

// Bands from below: certified, undecided, falsified; each radius is one bar, at its place among the radii.
std::string curve(const std::vector<CheckedCount>& counts) {
  std::string inside;
  const double step = 1 / static_cast<double>(std::max<std::size_t>(1, counts.size()));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const CheckedCount& one = counts[i];
    const auto all = static_cast<double>(std::max<std::size_t>(1, one.proved + one.refuted + one.undecided));
    double below = 0;
    for (const auto& [part, style, words] : {std::tuple(one.proved, "yes", "certified"), std::tuple(one.undecided, "open", "undecided"),
                                             std::tuple(one.refuted, "no", "falsified")}) {
      const double high = static_cast<double>(part) / all * kChartHigh;
      inside += pages::bar(style, kChartLeft + static_cast<double>(i) * step * kChartWide + 1, kChartTop + kChartHigh - below - high,
                           std::max(1.0, step * kChartWide - 2), high, one.name + ": " + words + " " + std::to_string(part));
      below += high;
    }
    if (counts.size() <= 20 || i % (counts.size() / 10) == 0) inside += pages::tick((static_cast<double>(i) + 0.5) * step, one.name);
  }
  return pages::chart("Share of items that are certified (below), undecided and falsified (above), by radius", inside, "radius", "100 %") +
         pages::legend({{"yes", "certified"}, {"open", "undecided"}, {"no", "falsified"}});
}

// Solved instances against the seconds of each.
std::string cactus(const std::vector<BatchCount>& counts) {
  std::vector<double> solved;
  for (const BatchCount& one : counts) solved.insert(solved.end(), one.solved.begin(), one.solved.end());
  if (solved.empty()) return "";
  std::ranges::sort(solved);
  std::vector<pages::Point> points;
  for (std::size_t i = 0; i < solved.size(); ++i) points.push_back({static_cast<double>(i + 1), solved[i]});
  return pages::line_chart("Seconds of the solved instances, in ascending order", std::move(points), "solved instances", "seconds");
}

std::string margins(const std::map<std::size_t, double>& by_item) {
  if (by_item.empty()) return "";
  double least = 0, most = 0;
  for (const auto& [item, margin] : by_item) {
    least = std::min(least, margin);
    most = std::max(most, margin);
  }
  constexpr std::size_t kBins = 40;
  std::array<std::size_t, kBins> bins{};
  const double width = std::max(1e-300, (most - least) / kBins);
  for (const auto& [item, margin] : by_item) ++bins[std::min(kBins - 1, static_cast<std::size_t>((margin - least) / width))];
  const auto tallest = static_cast<double>(*std::ranges::max_element(bins));
  std::string inside;
  for (std::size_t i = 0; i < kBins; ++i) {
    const double high = static_cast<double>(bins[i]) / tallest * kChartHigh, step = kChartWide / kBins;
    const double from = least + static_cast<double>(i) * width;
    inside += pages::bar(from < 0 ? "no" : "yes", kChartLeft + static_cast<double>(i) * step, kChartTop + kChartHigh - high, step - 1, high,
                         shown(from) + " to " + shown(from + width) + ": " + std::to_string(bins[i]));
  }
  inside += pages::tick(0, shown(least)) + pages::tick(1, shown(most));
  return pages::chart("How many items have which margin", inside, "", std::to_string(static_cast<std::size_t>(tallest)) + " items");
}

// Numbers of a picture: grey or colours, by channel, row and column; empty where the input is no picture.
struct Canvas {
  std::uint32_t channels = 0, height = 0, width = 0;
  explicit Canvas(std::vector<std::int64_t> shape) {
    if (shape.size() == 4 && shape[0] == 1) shape.erase(shape.begin());
    if (shape.size() == 2 && shape[0] == 1) shape.erase(shape.begin());
    constexpr std::int64_t kMostExtent = 1024;
    if (shape.size() == 1) {
      const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(shape[0]))));
      if (side * side != shape[0]) return;
      shape = {1, side, side};
    }
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    if (shape.size() != 3 || (shape[0] != 1 && shape[0] != 3) || shape[1] > kMostExtent || shape[2] > kMostExtent) return;
    channels = static_cast<std::uint32_t>(shape[0]);
    height = static_cast<std::uint32_t>(shape[1]);
    width = static_cast<std::uint32_t>(shape[2]);
  }
  [[nodiscard]] bool is_picture() const { return channels > 0; }
  [[nodiscard]] std::string image(const std::vector<double>& values, double lo, double hi, const std::string& words) const {
    const std::size_t inside = std::size_t{height} * width;
    std::vector<std::uint8_t> pixels(inside * channels);
    for (std::size_t i = 0; i < inside; ++i) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double share = hi > lo ? (values[c * inside + i] - lo) / (hi - lo) : 0.5;
        pixels[i * channels + c] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
      }
    }
    return pages::image(width, height, channels, pixels, words);
  }
};

std::string picture(const Canvas& canvas, const std::vector<double>& item, const std::vector<double>& witness, const std::string& caption) {
  const auto [least, most] = std::ranges::minmax(item);
  std::vector<double> difference;
  double widest = 0;
  for (std::size_t i = 0; i < item.size(); ++i) {
    difference.push_back(witness[i] - item[i]);
    widest = std::max(widest, std::fabs(difference.back()));
  }
  return "<figure>" + canvas.image(item, least, most, "the item") + canvas.image(witness, least, most, "its witness") +
         canvas.image(difference, -widest, widest, "the difference, grey where there is none") + "<figcaption>" + html_text(caption) +
         ", largest change " + shown(widest) + "</figcaption></figure>\n";
}

// The elements that change most, for an item that is no picture.
std::string changes(const std::vector<double>& item, const std::vector<double>& witness, const std::string& caption) {
  constexpr std::size_t kMost = 8;
  std::vector<std::size_t> order(item.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto change = [&](std::size_t i) { return std::fabs(witness[i] - item[i]); };
  std::ranges::stable_sort(order, std::ranges::greater{}, change);
  std::string text = "<p>" + html_text(caption) + ":";
  for (std::size_t k = 0; k < std::min(kMost, order.size()); ++k)
    text += (k == 0 ? " X_" : ", X_") + std::to_string(order[k]) + " from " + shown(item[order[k]]) + " to " + shown(witness[order[k]]);
  return text + (order.size() > kMost ? " and " + std::to_string(order.size() - kMost) + " that change less" : "") + "</p>\n";
}

struct Row {
  Json result;
  bool accepted = false, answers = false;  // the question
  std::vector<double> witness;
};

std::string name_of_result(const std::string& kind, const Json& result) {
  return kind == "robust" ? "item " + std::to_string(count_of(result, "item")) + ", radius " + text_of(result, "eps")
                          : text_of(result, "model") + " " + text_of(result, "property");
}

class Writer {
 public:
  Writer(const std::string& folder, const PageRequest& request, RunCheck check, std::vector<Row> rows, Json manifest)
      : folder_(folder), request_(request), check_(std::move(check)), rows_(std::move(rows)), manifest_(std::move(manifest)) {}

  [[nodiscard]] std::string page(const Balls* balls) const {
    pages::Page page("assay.report/1", check_.kind, title());
    page.add(summary());
    if (check_.kind == "robust")
      add_robust(page, balls);
    else
      add_batch(page);
    page.section("the_slowest", "Slowest");
    page.table(slowest());
    page.section("all_results", "All results");
    page.list(results());
    add_basis(page);
    return page.html();
  }

 private:
  [[nodiscard]] std::string title() const {
    return check_.kind == "robust" ? "Robustness of " + text_of(check_.claim, "model") + " on " + text_of(check_.claim, "data")
                                   : "Properties of " + std::to_string(check_.items) + " instances";
  }

  [[nodiscard]] std::string summary() const {
    const std::string verdict = word(verdict_of(check_));
    std::string text = (check_.question.empty() ? "" : "<p>Question: " + html_text(check_.question) + "</p>\n") +
                       "<p><span class=\"verdict " + verdict + "\">" + verdict + "</span>: the kernel has accepted the certificates of " +
                       std::to_string(check_.accepted) + " of " + std::to_string(check_.results) + " results when this page was made; " +
                       std::to_string(check_.follow) + " follow from those; undecided: " + std::to_string(check_.undecided) +
                       "; without a result: " + std::to_string(check_.open) + "." +
                       (check_.items == check_.of_items
                            ? ""
                            : " Only " + std::to_string(check_.items) + " of " + std::to_string(check_.of_items) + " are asked about.") +
                       "</p>\n";
    constexpr std::size_t kMost = 100;
    for (std::size_t i = 0; i < std::min(kMost, check_.without.size()); ++i)
      text += (i == 0 ? "<p>Without a result: " : "; ") + html_text(check_.without[i]);
    if (check_.open > kMost) text += " and " + std::to_string(check_.open - kMost) + " more";
    if (check_.open > 0) text += ".</p>\n";
    if (!check_.findings.empty()) text += "<ul>\n";
    for (std::size_t i = 0; i < std::min(kMost, check_.findings.size()); ++i)
      text += "<li><strong>" + std::string(word(check_.findings[i].fault)) + "</strong> " +
              html_text(check_.findings[i].place + ": " + check_.findings[i].why) + "</li>\n";
    return text + (check_.findings.empty() ? "" : "</ul>\n");
  }

  void add_robust(pages::Page& page, const Balls* balls) const {
    page.section("by_radius", "By radius");
    page.add(curve(check_.counts));
    Table radii{"radii",
                "What the kernel has accepted",
                {"radius", "certified", "falsified", "of them misclassified", "undecided", "certified %"},
                {}};
    for (const CheckedCount& one : check_.counts) {
      const std::size_t all = one.proved + one.refuted + one.undecided;
      radii.rows.push_back({one.name, one.proved, one.refuted, one.misclassified, one.undecided,
                            100.0 * static_cast<double>(one.proved) / static_cast<double>(std::max<std::size_t>(1, all))});
    }
    page.table(radii);
    if (!check_.largest.empty()) {
      Table largest{"largest", "The largest radius of each item that the kernel has accepted", {"item", "radius"}, {}};
      for (const LargestRadius& one : check_.largest) largest.rows.push_back({one.item, one.eps});
      page.table(largest);
    }
    if (balls != nullptr) {
      page.section("witnesses", "Items with their witnesses");
      page.add(pictures(*balls));
    }
    std::map<std::size_t, double> by_item;
    for (const Row& row : rows_) {
      if (row.answers) by_item[count_of(row.result, "item")] = number_of(row.result, "margin");
    }
    page.section("margins", "Margins of the items themselves");
    page.paragraph(
        "By how much the score of the label leads the best other one; below 0 the item is classified otherwise. The page repeats what the "
        "run says.",
        true);
    page.add(margins(by_item));
  }

  [[nodiscard]] std::string pictures(const Balls& balls) const {
    const Canvas canvas(balls.input_shape());
    std::string text;
    std::size_t count = 0;
    for (const Row& row : rows_) {
      if (row.witness.empty() || count >= request_.images) continue;
      std::vector<double> item;
      for (const Rational& value : balls.input(count_of(row.result, "item"))) item.push_back(value.double_down());
      if (item.size() != row.witness.size()) continue;
      ++count;
      const std::string caption = "item " + std::to_string(count_of(row.result, "item")) + ", label " +
                                  std::to_string(whole_of(row.result, "label")) + ", radius " + text_of(row.result, "eps");
      text += canvas.is_picture() ? picture(canvas, item, row.witness, caption) : changes(item, row.witness, caption);
    }
    if (count == 0) return "<p>No item is falsified with a witness of its own.</p>\n";
    if (!canvas.is_picture()) return text + "<p class=\"quiet\">An input of the ball that is classified otherwise, beside the item.</p>\n";
    return "<div class=\"cards\">\n" + text +
           "</div>\n<p class=\"quiet\">From left to right: the item as the model reads it, an input of the ball that is classified "
           "otherwise, and the difference.</p>\n";
  }

  void add_batch(pages::Page& page) const {
    BatchTotals totals;  // of what was accepted
    for (const Row& row : rows_) {
      if (row.accepted) totals.add(row.result);
    }
    Table table{"categories", "What the kernel has accepted, by category", {"category", "unsat", "sat", "undecided"}, {}};
    for (const CheckedCount& one : check_.counts) table.rows.push_back({one.name, one.proved, one.refuted, one.undecided});
    page.section("by_category", "By category");
    page.table(table);
    page.section("times", "Times");
    page.add(cactus(totals.counts()));
  }

  [[nodiscard]] Table slowest() const {
    std::vector<const Row*> order;
    for (const Row& row : rows_) order.push_back(&row);
    constexpr std::size_t kMost = 15;
    const auto slower = [](const Row* a, const Row* b) { return number_of(a->result, "seconds") > number_of(b->result, "seconds"); };
    const std::size_t count = std::min(kMost, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), slower);
    Table table{"slowest", "The slowest results", {"instance", "answer", "seconds", "branches", "bytes of the certificate"}, {}};
    for (std::size_t i = 0; i < count; ++i) {
      const Json& result = order[i]->result;
      table.rows.push_back({name_of_result(check_.kind, result), text_of(result, "answer"), number_of(result, "seconds"),
                            count_of(result, "nodes"), count_of(result, "bytes")});
    }
    return table;
  }

  void add_basis(pages::Page& page) const {
    page.section("basis", "What this rests on");
    std::string text = "<ul>\n";
    for (const std::string& one : check_.assumptions) text += "<li>" + html_text(one) + "</li>\n";
    page.add(text + "</ul>\n");
    pages::Facts facts{{"run", folder_}};
    for (const auto& [key, value] : check_.claim.items())
      facts.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    for (const std::string& note : check_.notes) facts.emplace_back("note", note);
    facts.emplace_back("found by", text_of(manifest_, "version"));
    facts.emplace_back("checked by", request_.version);
    facts.emplace_back("certificates", std::to_string(check_.certificates) + ", " + std::to_string(check_.certificate_bytes) +
                                           " bytes, checked in " + shown(check_.cpu_seconds, "%.3f") + " s of processor time");
    page.facts(facts);
    page.add("<p class=\"quiet\">Check it again with <code>assay check " + html_text(folder_) +
             "</code>. Margins and times are what the run says; classes were computed for this page, and answers are what the kernel has "
             "accepted.</p>\n");
  }

  [[nodiscard]] Table results() const {
    const bool robust = check_.kind == "robust";
    Table table{"results",
                "All results",
                robust ? std::vector<std::string>{"item", "radius", "label", "predicted", "margin"}
                       : std::vector<std::string>{"category", "model", "property"},
                {}};
    for (const char* more : {"answer", "accepted", "seconds", "evidence"}) table.columns.emplace_back(more);
    for (const Row& row : rows_) {
      const Json& one = row.result;
      std::vector<Json> line = robust ? std::vector<Json>{count_of(one, "item"), text_of(one, "eps"), whole_of(one, "label"),
                                                          whole_of(one, "predicted"), number_of(one, "margin")}
                                      : std::vector<Json>{text_of(one, "category"), text_of(one, "model"), text_of(one, "property")};
      line.emplace_back(text_of(one, "answer"));
      line.emplace_back(row.accepted ? "yes" : "no");
      line.push_back(one.contains("seconds") ? Json(number_of(one, "seconds")) : Json());
      const std::string follows = text_of(one, "follows_from");
      line.emplace_back(!follows.empty()              ? "follows from " + follows
                        : one.contains("certificate") ? text_of(one, "certificate")
                                                      : text_of(one, "reason"));
      table.rows.push_back(std::move(line));
    }
    return table;
  }

  const std::string& folder_;
  const PageRequest& request_;
  RunCheck check_;
  std::vector<Row> rows_;
  Json manifest_;
};

}  // namespace

std::vector<pages::Slice> time_slices(const std::string& folder) {
  const auto manifest = read_manifest(folder);
  if (!manifest) return {};
  constexpr std::size_t kMostTracks = 1024;
  std::vector<double> free(std::clamp<std::size_t>(count_of(member_of(manifest.value(), "options"), "jobs"), 1, kMostTracks), 0.0);
  std::vector<pages::Slice> slices;
  const auto read = for_each_result(folder, [&](std::size_t, const Json& result) {
    if (result.is_null() || !result.contains("seconds")) return;
    const auto track = std::ranges::min_element(free);
    const double seconds = number_of(result, "seconds");
    const std::string name = name_of_result(text_of(manifest.value(), "kind"), result);
    slices.push_back({"job " + std::to_string(track - free.begin() + 1), name, *track, seconds, {{"answer", text_of(result, "answer")}}});
    *track += seconds;
  });
  return read ? slices : std::vector<pages::Slice>();
}

Outcome<Page> report_page(const std::string& folder, PageRequest request, const std::stop_token& stop) {
  auto manifest = read_manifest(folder);
  if (!manifest) return manifest.rejection();
  std::vector<Row> rows;
  std::vector<std::size_t> row_of_line(1, 0);
  auto read = for_each_result(folder, [&](std::size_t, const Json& result) {
    row_of_line.push_back(rows.size());
    if (!result.is_null()) rows.push_back({result, false, false, {}});
  });
  if (!read) return read.rejection();
  std::size_t witnesses = 0;
  request.check.on_checked = [&](const CheckedResult& one) {
    if (one.line >= row_of_line.size()) return;
    Row& row = rows[row_of_line[one.line]];
    row.answers = true;
    row.accepted = one.accepted;
    if (!one.category.empty()) row.result["category"] = one.category;
    if (!one.witness.empty() && witnesses++ < request.images) row.witness = one.witness;
  };
  auto checked = check_run(folder, request.check, stop, nullptr);
  if (!checked) return checked.rejection();
  std::optional<Balls> balls;
  if (checked.value().kind == "robust") {
    BallSetting setting = setting_of(checked.value().claim);
    setting.model = located(request.check.model, setting.model, folder);
    setting.data = located(request.check.data, setting.data, folder);
    if (!setting.labels.empty()) setting.labels = located(request.check.labels, setting.labels, folder);
    auto loaded = Balls::load(setting, request.check.load);
    if (!loaded) return loaded.rejection();
    balls = std::move(loaded).value();
  }
  Page page;
  page.check = checked.value();
  page.html = Writer(folder, request, std::move(checked).value(), std::move(rows), manifest.value()).page(balls ? &*balls : nullptr);
  return page;
}

}  // namespace assay::runs
