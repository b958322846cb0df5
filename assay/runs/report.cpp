#include "assay/runs/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "assay/runs/balls.h"
#include "assay/runs/batch.h"
#include "assay/runs/robust.h"
#include "formats/datasets/dataset.h"

namespace assay::runs {
namespace {

std::string shown(double value, const char* format = "%.4g") {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string cells(std::initializer_list<std::string> texts, bool numbers = true) {
  std::string row = "<tr>";
  bool first = true;
  for (const std::string& text : texts) {
    row += (first ? "<th scope=\"row\">" : numbers ? "<td class=\"n\">" : "<td>") + html_text(text) + (first ? "</th>" : "</td>");
    first = false;
  }
  return row + "</tr>\n";
}

std::string heads(std::initializer_list<std::string> texts) {
  std::string row = "<thead><tr>";
  bool first = true;
  for (const std::string& text : texts) {
    row += (first ? "<th scope=\"col\">" : "<th scope=\"col\" class=\"n\">") + html_text(text) + "</th>";
    first = false;
  }
  return row + "</tr></thead>\n";
}

std::string base64(const std::string& bytes) {
  static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kLetters[word >> (18 - 6 * k) & 63];
  }
  return text;
}

constexpr double kWide = 640, kHigh = 240, kLeft = 46, kBottom = 30, kTop = 8;

std::string frame(const std::string& label, const std::string& inside, const std::string& x_name, const std::string& y_name) {
  return "<svg viewBox=\"0 0 700 290\" width=\"700\" height=\"290\" role=\"img\" aria-label=\"" + html_text(label) + "\">\n" + inside +
         "<path class=\"axis\" d=\"M" + shown(kLeft) + " " + shown(kTop) + "V" + shown(kTop + kHigh) + "H" + shown(kLeft + kWide) +
         "\"/>\n<text x=\"" + shown(kLeft + kWide) + "\" y=\"" + shown(kTop + kHigh + kBottom) + "\" text-anchor=\"end\">" +
         html_text(x_name) + "</text><text x=\"" + shown(kLeft + 4) + "\" y=\"" + shown(kTop + 12) + "\">" + html_text(y_name) +
         "</text>\n</svg>\n";
}

std::string tick(double x, const std::string& text) {
  return "<text x=\"" + shown(kLeft + x * kWide) + "\" y=\"" + shown(kTop + kHigh + 14) + "\" text-anchor=\"middle\">" + html_text(text) +
         "</text>\n";
}

// Bands from below: certified, undecided, falsified; each radius is one bar, at its place among the radii.
std::string curve(const std::vector<CheckedCount>& counts) {
  std::string inside;
  const double step = 1 / static_cast<double>(std::max<std::size_t>(1, counts.size()));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const CheckedCount& one = counts[i];
    const auto all = static_cast<double>(std::max<std::size_t>(1, one.proved + one.refuted + one.undecided));
    double below = 0;
    for (const auto& [part, style] : {std::pair(one.proved, "yes"), std::pair(one.undecided, "open"), std::pair(one.refuted, "no")}) {
      const double high = static_cast<double>(part) / all * kHigh;
      inside += "<rect class=\"" + std::string(style) + "\" x=\"" + shown(kLeft + static_cast<double>(i) * step * kWide + 1) + "\" y=\"" +
                shown(kTop + kHigh - below - high) + "\" width=\"" + shown(std::max(1.0, step * kWide - 2)) + "\" height=\"" + shown(high) +
                "\"><title>" + html_text(one.name) + ": " + style + " " + std::to_string(part) + "</title></rect>\n";
      below += high;
    }
    if (counts.size() <= 20 || i % (counts.size() / 10) == 0) inside += tick((static_cast<double>(i) + 0.5) * step, one.name);
  }
  return frame("Share of items that are certified (below), undecided and falsified (above), by radius", inside, "radius", "100 %");
}

// Solved instances against the seconds of each, on a logarithmic scale.
std::string cactus(const std::vector<BatchCount>& counts) {
  std::vector<double> solved;
  for (const BatchCount& one : counts) solved.insert(solved.end(), one.solved.begin(), one.solved.end());
  if (solved.empty()) return "";
  std::ranges::sort(solved);
  constexpr double kLeast = 1e-3;
  const double decades = std::max(1.0, std::ceil(std::log10(std::max(solved.back(), 2 * kLeast) / kLeast)));
  std::string path, inside;
  for (std::size_t i = 0; i < solved.size(); ++i) {
    const double x = static_cast<double>(i + 1) / static_cast<double>(solved.size());
    const double y = std::log10(std::max(solved[i], kLeast) / kLeast) / decades;
    path += (i == 0 ? "M" : "L") + shown(kLeft + x * kWide, "%.1f") + " " + shown(kTop + kHigh * (1 - y), "%.1f");
  }
  for (int k = 0; k <= static_cast<int>(decades); ++k)
    inside += "<text x=\"2\" y=\"" + shown(kTop + kHigh * (1 - k / decades) + 4) + "\">" + shown(kLeast * std::pow(10, k)) + " s</text>\n";
  return frame("Seconds of the solved instances, in ascending order", inside + "<path class=\"curve\" d=\"" + path + "\"/>\n" + tick(1, ""),
               std::to_string(solved.size()) + " solved instances", "");
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
    const double high = static_cast<double>(bins[i]) / tallest * kHigh, step = kWide / kBins;
    const double from = least + static_cast<double>(i) * width;
    inside += "<rect class=\"" + std::string(from < 0 ? "no" : "yes") + "\" x=\"" + shown(kLeft + static_cast<double>(i) * step) +
              "\" y=\"" + shown(kTop + kHigh - high) + "\" width=\"" + shown(step - 1) + "\" height=\"" + shown(high) + "\"><title>" +
              shown(from) + " to " + shown(from + width) + ": " + std::to_string(bins[i]) + "</title></rect>\n";
  }
  inside += tick(0, shown(least)) + tick(1, shown(most));
  return frame("How many items have which margin", inside, "", std::to_string(static_cast<std::size_t>(tallest)) + " items");
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
        const double share = hi > lo ? (values[c * inside + i] - lo) / (hi - lo) : 0;
        pixels[i * channels + c] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
      }
    }
    return "<img alt=\"" + html_text(words) + "\" src=\"data:image/png;base64," +
           base64(formats::png_bytes(width, height, channels, pixels)) + "\">";
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

struct Row {
  Json result;
  bool accepted = false;
  std::vector<double> witness;
};

class Writer {
 public:
  Writer(const std::string& folder, const PageRequest& request, RunCheck check, std::vector<Row> rows, Json manifest)
      : folder_(folder), request_(request), check_(std::move(check)), rows_(std::move(rows)), manifest_(std::move(manifest)) {}

  [[nodiscard]] std::string page(const Balls* balls) const {
    std::string content = "<main>\n<h1>" + html_text(title()) + "</h1>\n" + summary();
    content += check_.kind == "robust" ? robust_part(balls) : batch_part();
    content += slowest() + list() + basis() + "</main>";
    return whole_page(title(), content, data().dump(-1, ' ', false, Json::error_handler_t::replace));
  }

 private:
  [[nodiscard]] std::string title() const {
    return check_.kind == "robust" ? "Robustness of " + text_of(check_.claim, "model") + " on " + text_of(check_.claim, "data")
                                   : "Properties of " + std::to_string(check_.items) + " instances";
  }

  [[nodiscard]] std::string summary() const {
    const auto has = [this](RunFault fault) {
      return std::ranges::any_of(check_.findings, [fault](const auto& one) { return one.fault == fault; });
    };
    const std::string verdict = has(RunFault::rejected)                       ? "rejected"
                                : check_.findings.empty() && check_.open == 0 ? "accepted"
                                                                              : "declined";
    std::string text = "<p><span class=\"verdict " + verdict + "\">" + verdict + "</span>: the kernel has accepted the certificates of " +
                       std::to_string(check_.accepted) + " of " + std::to_string(check_.results) + " results when this page was made; " +
                       std::to_string(check_.follow) + " follow from those, " + std::to_string(check_.undecided) + " are undecided, " +
                       std::to_string(check_.open) + " are not there.</p>\n";
    if (!check_.findings.empty()) text += "<ul>\n";
    constexpr std::size_t kMost = 100;
    for (std::size_t i = 0; i < std::min(kMost, check_.findings.size()); ++i)
      text += "<li><strong>" + std::string(word(check_.findings[i].fault)) + "</strong> " +
              html_text(check_.findings[i].place + ": " + check_.findings[i].why) + "</li>\n";
    return text + (check_.findings.empty() ? "" : "</ul>\n");
  }

  [[nodiscard]] std::string robust_part(const Balls* balls) const {
    std::string text = "<h2 id=\"radii\">By radius</h2>\n" + curve(check_.counts) +
                       "<table>\n<caption>What the kernel has accepted</caption>\n" +
                       heads({"radius", "certified", "falsified", "not shown", "certified share"}) + "<tbody>\n";
    for (const CheckedCount& one : check_.counts) {
      const std::size_t all = one.proved + one.refuted + one.undecided;
      text += cells({one.name, std::to_string(one.proved), std::to_string(one.refuted), std::to_string(one.undecided),
                     shown(100.0 * static_cast<double>(one.proved) / static_cast<double>(std::max<std::size_t>(1, all)), "%.1f %%")});
    }
    std::map<std::size_t, double> by_item;
    for (const Row& row : rows_) by_item[count_of(row.result, "item")] = number_of(row.result, "margin");
    return text + "</tbody></table>\n" + pictures(balls) + "<h2 id=\"margins\">Margins of the items themselves</h2>\n<p class=\"quiet\">" +
           "By how much the score of the label leads the best other one; below 0 the item is classified otherwise. The page repeats what "
           "the run says.</p>\n" +
           margins(by_item);
  }

  [[nodiscard]] std::string pictures(const Balls* balls) const {
    if (balls == nullptr) return "";
    const Canvas canvas(balls->input_shape());
    std::string text = "<h2 id=\"witnesses\">Items with their witnesses</h2>\n<div class=\"cards\">\n";
    std::size_t count = 0;
    for (const Row& row : rows_) {
      if (row.witness.empty() || !canvas.is_picture() || count >= request_.images) continue;
      std::vector<double> item;
      for (const Rational& value : balls->input(count_of(row.result, "item"))) item.push_back(value.double_down());
      if (item.size() != row.witness.size()) continue;
      ++count;
      text += picture(canvas, item, row.witness,
                      "item " + std::to_string(count_of(row.result, "item")) + ", label " + std::to_string(whole_of(row.result, "label")) +
                          ", radius " + text_of(row.result, "eps"));
    }
    return text + "</div>\n" +
           (count == 0 ? "<p>None to show.</p>\n"
                       : "<p class=\"quiet\">From left to right: the item as the model reads it, an input of the ball that is classified "
                         "otherwise, and the difference.</p>\n");
  }

  [[nodiscard]] std::string batch_part() const {
    BatchTotals totals;
    for (const Row& row : rows_) totals.add(row.result);
    std::string text = "<h2 id=\"categories\">By category</h2>\n<table>\n" +
                       heads({"category", "unsat", "sat", "unknown", "timed out", "error", "seconds"}) + "<tbody>\n";
    for (const BatchCount& one : totals.counts())
      text += cells({one.category, std::to_string(one.unsat), std::to_string(one.sat), std::to_string(one.unknown),
                     std::to_string(one.timed_out), std::to_string(one.error), shown(one.seconds, "%.1f")});
    return text + "</tbody></table>\n<h2 id=\"cactus\">Times</h2>\n" + cactus(totals.counts());
  }

  [[nodiscard]] std::string name_of_row(const Row& row) const {
    return check_.kind == "robust" ? "item " + std::to_string(count_of(row.result, "item")) + ", radius " + text_of(row.result, "eps")
                                   : text_of(row.result, "model") + " " + text_of(row.result, "property");
  }

  [[nodiscard]] std::string slowest() const {
    std::vector<const Row*> order;
    for (const Row& row : rows_) order.push_back(&row);
    constexpr std::size_t kMost = 15;
    const auto slower = [](const Row* a, const Row* b) { return number_of(a->result, "seconds") > number_of(b->result, "seconds"); };
    const std::size_t count = std::min(kMost, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), slower);
    std::string text =
        "<h2 id=\"slowest\">Slowest</h2>\n<table>\n" + heads({"instance", "answer", "seconds", "branches", "certificate"}) + "<tbody>\n";
    for (std::size_t i = 0; i < count; ++i) {
      const Json& result = order[i]->result;
      text += cells({name_of_row(*order[i]), text_of(result, "answer"), shown(number_of(result, "seconds"), "%.3f"),
                     std::to_string(count_of(result, "nodes")), std::to_string(count_of(result, "bytes")) + " bytes"});
    }
    return text + "</tbody></table>\n";
  }

  [[nodiscard]] static std::string list() {
    return "<section id=\"list\">\n<h2>All results</h2>\n<noscript><p>The list needs scripts; all results are in "
           "results.jsonl.</p></noscript>\n<p><label>Show "
           "those with <input id=\"word\" type=\"search\"></label> <span id=\"count\" aria-live=\"polite\"></span></p>\n<div "
           "role=\"table\" aria-label=\"All "
           "results\">\n<div id=\"head\" class=\"row head\" role=\"row\"></div>\n<div id=\"rows\" tabindex=\"0\"><div "
           "id=\"inner\"></div></div>\n</div>\n</section>\n";
  }

  [[nodiscard]] std::string basis() const {
    std::string text = "<h2 id=\"basis\">What this rests on</h2>\n<ul>\n";
    for (const std::string& one : check_.assumptions) text += "<li>" + html_text(one) + "</li>\n";
    text += "</ul>\n<table>\n<tbody>\n" + cells({"run", folder_}, false);
    for (const auto& [key, value] : check_.claim.items())
      text += cells({key, value.is_string() ? value.get<std::string>() : value.dump()}, false);
    for (const std::string& note : check_.notes) text += cells({"note", note}, false);
    text += cells({"found by", text_of(manifest_, "version")}, false) + cells({"checked by", request_.version}, false);
    text += cells({"certificates", std::to_string(check_.certificates) + ", " + std::to_string(check_.certificate_bytes) +
                                       " bytes, checked in " + shown(check_.cpu_seconds, "%.3f") + " s of processor time"},
                  false);
    return text + "</tbody></table>\n<p class=\"quiet\">Check it again with <code>assay check " + html_text(folder_) +
           "</code>. Predictions, margins and times are what the run says; answers are what the kernel has accepted.</p>\n";
  }

  [[nodiscard]] Json data() const {
    const bool robust = check_.kind == "robust";
    Json columns = Json::array(), rows = Json::array();
    const auto add = [&columns](const char* name, const char* width) { columns.push_back({{"name", name}, {"width", width}}); };
    if (robust) {
      add("item", "5rem");
      add("radius", "6rem");
      add("label", "4rem");
      add("predicted", "6rem");
      add("margin", "7rem");
    } else {
      add("category", "8rem");
      add("model", "1fr");
      add("property", "1fr");
    }
    add("answer", "7rem");
    add("accepted", "6rem");
    add("seconds", "6rem");
    add("evidence", robust ? "1fr" : "10rem");
    for (const Row& row : rows_) {
      const Json& one = row.result;
      Json cells = robust ? Json{count_of(one, "item"), text_of(one, "eps"), whole_of(one, "label"), whole_of(one, "predicted"),
                                 number_of(one, "margin")}
                          : Json{text_of(one, "category"), text_of(one, "model"), text_of(one, "property")};
      cells.push_back(text_of(one, "answer"));
      cells.push_back(row.accepted ? "yes" : "no");
      cells.push_back(one.contains("seconds") ? Json(number_of(one, "seconds")) : Json());
      const std::string follows = text_of(one, "follows_from");
      cells.push_back(!follows.empty()              ? "follows from " + follows
                      : one.contains("certificate") ? text_of(one, "certificate")
                                                    : text_of(one, "reason"));
      rows.push_back(std::move(cells));
    }
    return {{"schema", "assay.report/1"}, {"kind", check_.kind}, {"columns", columns}, {"rows", rows}};
  }

  const std::string& folder_;
  const PageRequest& request_;
  RunCheck check_;
  std::vector<Row> rows_;
  Json manifest_;
};

}  // namespace

Outcome<Page> report_page(const std::string& folder, PageRequest request, const std::stop_token& stop) {
  auto manifest = read_manifest(folder);
  if (!manifest) return manifest.rejection();
  std::vector<Row> rows;
  std::vector<std::size_t> row_of_line(1, 0);
  auto read = for_each_result(folder, [&](std::size_t, const Json& result) {
    row_of_line.push_back(rows.size());
    if (!result.is_null()) rows.push_back({result, false, {}});
  });
  if (!read) return read.rejection();
  std::size_t witnesses = 0;
  request.check.on_accepted = [&](const AcceptedResult& one) {
    if (one.line >= row_of_line.size()) return;
    Row& row = rows[row_of_line[one.line]];
    row.accepted = true;
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
