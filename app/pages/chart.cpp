#include "app/pages/chart.h"

#include <algorithm>
#include <cmath>

#include "app/pages/page.h"

namespace assay::pages {
namespace {

constexpr double kBottom = 30;

std::string open_svg(double wide, double high, const std::string& description) {
  return "<svg viewBox=\"0 0 " + shown(wide) + " " + shown(high) + "\" width=\"" + shown(wide) + "\" height=\"" + shown(high) +
         "\" role=\"img\" aria-label=\"" + html_text(description) + "\">\n";
}

std::string label(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + shown(x) + "\" y=\"" + shown(y) + "\" text-anchor=\"" + anchor + "\">" + html_text(text) + "</text>\n";
}

}  // namespace

std::string chart(const std::string& description, const std::string& inside, const std::string& x_name, const std::string& y_name) {
  return open_svg(700, 304, description) + inside + "<path class=\"axis\" d=\"M" + shown(kChartLeft) + " " + shown(kChartTop) + "V" +
         shown(kChartTop + kChartHigh) + "H" + shown(kChartLeft + kChartWide) + "\"/>\n" +
         label(kChartLeft + kChartWide, kChartTop + kChartHigh + kBottom, "end", x_name) + label(2, kChartTop - 9, "start", y_name) +
         "</svg>\n";
}

std::string tick(double share, const std::string& text) {
  return label(kChartLeft + share * kChartWide, kChartTop + kChartHigh + 14, share <= 0 ? "start" : share >= 1 ? "end" : "middle", text);
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& words_of_styles) {
  std::string text = "<p class=\"quiet\">";
  for (const auto& [style, words] : words_of_styles) text += "<span class=\"key " + style + "\"></span> " + html_text(words) + " ";
  return text + "</p>\n";
}

std::string bar(const std::string& style, double x, double y, double wide, double high, const std::string& words) {
  return "<rect class=\"" + style + "\" x=\"" + shown(x, "%.5g") + "\" y=\"" + shown(y, "%.5g") + "\" width=\"" + shown(wide, "%.5g") +
         "\" height=\"" + shown(high, "%.5g") + "\"><title>" + html_text(words) + "</title></rect>\n";
}

std::string line_chart(const std::string& description, std::vector<Point> points, const std::string& x_name, const std::string& y_name) {
  std::erase_if(points, [](const Point& point) { return !std::isfinite(point.x) || !std::isfinite(point.y); });
  if (points.empty()) return "";
  const auto [left, right] = std::ranges::minmax(points, {}, &Point::x);
  const auto [low, high] = std::ranges::minmax(points, {}, &Point::y);
  const bool is_wide = low.y > 0 && high.y > 1000 * low.y;
  const auto scaled = [is_wide](double y) { return is_wide ? std::log10(y) : y; };
  const auto share = [](double value, double least, double most) { return most > least ? (value - least) / (most - least) : 0.5; };
  std::string path;
  for (const Point& point : points)
    path += (path.empty() ? "M" : "L") + shown(kChartLeft + kChartWide * share(point.x, left.x, right.x), "%.1f") + " " +
            shown(kChartTop + kChartHigh * (1 - share(scaled(point.y), scaled(low.y), scaled(high.y))), "%.1f");
  return chart(description,
               "<path class=\"curve\" d=\"" + path + "\"/>\n" + tick(0, shown(left.x)) + tick(1, shown(right.x)) +
                   label(kChartLeft - 4, kChartTop + kChartHigh, "end", shown(low.y, "%.3g")) +
                   label(kChartLeft - 4, kChartTop + 10, "end", shown(high.y, "%.3g")),
               x_name, y_name + (is_wide ? ", logarithmic" : ""));
}

std::string bar_chart(const std::string& description, const std::vector<NamedNumber>& rows, double most) {
  constexpr double kLine = 22, kNames = 220, kLength = 380;
  std::string text = open_svg(700, kLine * static_cast<double>(rows.size()) + 4, description);
  double y = 2;
  for (const NamedNumber& row : rows) {
    const double length = most > 0 && !std::isnan(row.value) ? kLength * std::clamp(row.value / most, 0.0, 1.0) : 0;
    const std::string words = row.name + ": " + shown(row.value);
    const std::string name = row.name.size() <= 34 ? row.name : row.name.substr(0, 31) + "...";
    text += label(kNames - 6, y + 15, "end", name) + bar("track", kNames, y + 2, kLength, kLine - 5, words) +
            bar(row.style, kNames, y + 2, std::max(1.0, length), kLine - 5, words) +
            label(kNames + kLength + 8, y + 15, "start", shown(row.value));
    y += kLine;
  }
  return text + "</svg>\n";
}

std::string icicle_chart(const std::string& description, const std::vector<Icicle>& parts) {
  constexpr double kWidth = 1000, kLine = 14;
  std::size_t deepest = 0;
  for (const Icicle& part : parts) deepest = std::max(deepest, part.depth);
  std::string text = open_svg(kWidth, kLine * static_cast<double>(deepest + 1), description);
  for (const Icicle& part : parts)
    text += bar(part.style, kWidth * part.from, kLine * static_cast<double>(part.depth),
                std::max(0.4, kWidth * (part.to - part.from) - 0.6), kLine - 1, part.words);
  return text + "</svg>\n";
}

}  // namespace assay::pages
