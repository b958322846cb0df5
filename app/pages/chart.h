// Charts as SVG of a fixed size: they read without scripts, and print. Texts are escaped, markup is not.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay::pages {

// Where a chart's numbers are drawn, in pixels: from (kChartLeft, kChartTop), y downward.
inline constexpr double kChartWide = 640, kChartHigh = 240, kChartLeft = 46, kChartTop = 22;

// Axes around the markup of what is drawn.
[[nodiscard]] std::string chart(const std::string& description, const std::string& inside, const std::string& x_name,
                                const std::string& y_name);
// A word below the axis, at this share of its length.
[[nodiscard]] std::string tick(double share, const std::string& text);
// A paragraph that says in words what the styles mean.
[[nodiscard]] std::string legend(const std::vector<std::pair<std::string, std::string>>& words_of_styles);
// A rectangle of that style ("yes", "no", "open") with words.
[[nodiscard]] std::string bar(const std::string& style, double x, double y, double wide, double high, const std::string& words);

struct Point {
  double x = 0, y = 0;
};
// Points that are not finite are left out. Where y is positive and spans three decades the scale is logarithmic, and the axis says so.
[[nodiscard]] std::string line_chart(const std::string& description, std::vector<Point> points, const std::string& x_name,
                                     const std::string& y_name);

// One bar per name, from the left, all on the scale from 0 to `most`.
struct NamedNumber {
  std::string name;
  double value = 0;
  std::string style = "yes";
};
[[nodiscard]] std::string bar_chart(const std::string& description, const std::vector<NamedNumber>& rows, double most);

// A rectangle between two shares of the width, at a depth. Together they draw a tree in which children lie below their parents.
struct Icicle {
  double from = 0, to = 1;
  std::size_t depth = 0;
  std::string style, words;
};
[[nodiscard]] std::string icicle_chart(const std::string& description, const std::vector<Icicle>& parts);

}  // namespace assay::pages
