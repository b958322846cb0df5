#include "app/pages/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "app/pages/frame.h"
#include "formats/datasets/dataset.h"
#include "semantics/printable.h"

namespace assay::pages {
namespace {

constexpr std::size_t kFirstRows = 50;  // of a list, as printed

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

bool is_number(const Json& cell) { return cell.is_number() || cell.is_null(); }

// <table> of the first rows, with columns of numbers to the right. Where that is not all of a table, long cells are cut.
std::string rows_markup(const Table& table, std::size_t most, const std::string& caption) {
  std::vector<bool> numbers(table.columns.size(), !table.rows.empty());
  for (const auto& row : table.rows)
    for (std::size_t k = 0; k < row.size(); ++k) numbers[k] = numbers[k] && is_number(row[k]);
  const auto style_of = [&](std::size_t k) { return std::string(numbers[k] ? " class=\"n\"" : ""); };
  constexpr std::size_t kMany = 9, kLong = 24, kMostShown = 90;  // columns; letters of a cell
  std::string text = std::string(table.columns.size() > kMany ? "<table class=\"many\">\n" : "<table>\n") +
                     (caption.empty() ? "" : "<caption>" + html_text(caption) + "</caption>\n") + "<thead><tr>";
  for (std::size_t k = 0; k < table.columns.size(); ++k)
    text += "<th scope=\"col\"" + style_of(k) + ">" + html_text(table.columns[k]) + "</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < std::min(most, table.rows.size()); ++r) {
    text += "<tr>";
    for (std::size_t k = 0; k < table.rows[r].size(); ++k) {
      const std::string cell = cell_text(table.rows[r][k]), style = cell.size() > kLong ? " class=\"long\"" : style_of(k);
      const std::string cut = cell.size() <= kMostShown || most == SIZE_MAX ? cell : cell.substr(0, kMostShown) + " ...";
      text += (k == 0 ? "<th scope=\"row\"" : "<td") + style + ">" + html_text(cut) + (k == 0 ? "</th>" : "</td>");
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

}  // namespace

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string shown(double value, const char* format) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  return cell.is_number_float() ? shown(cell.get<double>(), "%.6g") : cell.dump();
}

std::string table_text(const Table& table) {
  std::vector<std::vector<std::string>> lines{table.columns};
  for (const auto& row : table.rows) {
    lines.emplace_back();
    for (const Json& cell : row) lines.back().push_back(printable(cell_text(cell), SIZE_MAX));
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (const auto& line : lines)
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].size());
  std::string text;
  for (auto& line : lines) {
    for (std::size_t k = 0; k < line.size(); ++k) {
      if (line[k].empty()) line[k] = "-";
      if (k + 1 < line.size()) line[k].resize(widths[k] + 2, ' ');
      text += line[k];
    }
    text += "\n";
  }
  return text;
}

std::string html_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string image(std::uint32_t width, std::uint32_t height, unsigned samples, std::span<const std::uint8_t> pixels,
                  const std::string& alternative) {
  constexpr std::uint32_t kLarge = 33;  // pixels from which on a picture is shown large
  return "<img" + std::string(std::max(width, height) >= kLarge ? " class=\"large\"" : "") + " alt=\"" + html_text(alternative) +
         "\" src=\"data:image/png;base64," + base64(formats::png_bytes(width, height, samples, pixels)) + "\">";
}

Page::Page(std::string schema, std::string kind, std::string title) : title_(std::move(title)) {
  data_["schema"] = std::move(schema);
  data_["kind"] = std::move(kind);
  data_["tables"] = Json::object();
  data_["drawings"] = Json::array();
}

void Page::paragraph(const std::string& text, bool quiet) {
  content_ += std::string(quiet ? "<p class=\"quiet\">" : "<p>") + html_text(text) + "</p>\n";
}

void Page::section(const std::string& id, const std::string& heading) {
  if (is_open_) content_ += "</section>\n";
  is_open_ = true;
  contents_ += "<li><a href=\"#" + id + "\">" + html_text(heading) + "</a></li>";
  content_ += "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + html_text(heading) + "</h2>\n";
}

void Page::facts(const Facts& facts) {
  content_ += "<div class=\"wide\"><table class=\"facts\">\n<tbody>\n";
  for (std::size_t k = 0; k < facts.size(); ++k) {
    const auto& [name, value] = facts[k];
    const bool is_more = k > 0 && facts[k - 1].first == name;  // of the same: below it
    content_ += (is_more ? "\n" : "<tr><th scope=\"row\">" + html_text(name) + "</th><td>") + html_text(value);
    if (k + 1 == facts.size() || facts[k + 1].first != name) content_ += "</td></tr>\n";
    Json& member = data_["facts"][name];  // a list where a name stands more than once
    if (member.is_null())
      member = value;
    else if (member.is_array())
      member.push_back(value);
    else
      member = Json::array({member, value});
  }
  content_ += "</tbody></table></div>\n";
}

void Page::add_data(const Table& table) { data_["tables"][table.name] = {{"columns", table.columns}, {"rows", table.rows}}; }

void Page::table(const Table& table) {
  add_data(table);
  if (!table.note.empty()) paragraph(table.note, true);
  content_ += "<div class=\"wide\">" + rows_markup(table, SIZE_MAX, "") + "</div>\n";
}

void Page::list(const Table& table) {
  add_data(table);
  if (!table.note.empty()) paragraph(table.note, true);
  const std::size_t count = table.rows.size();
  const std::string caption =
      count <= kFirstRows ? "" : "The first " + std::to_string(kFirstRows) + " of " + std::to_string(count) + " rows";
  content_ +=
      "<div class=\"list\" data-table=\"" + table.name +
      "\">\n<p class=\"tools\"><label>Show those with <input type=\"search\"></label> <span class=\"count\" aria-live=\"polite\"></span> "
      "<button type=\"button\" class=\"every\" hidden>show all</button></p>\n<div class=\"rows\" role=\"table\" tabindex=\"0\" "
      "aria-label=\"" +
      html_text(table.title) +
      "\"><div role=\"rowgroup\"><div class=\"row head\" role=\"row\"></div></div><div class=\"inner\" "
      "role=\"rowgroup\"></div></div>\n<div class=\"first wide\">" +
      rows_markup(table, kFirstRows, caption) + "</div>\n</div>\n";
}

void Page::drawing(const Drawing& drawing, const Table& table, const std::vector<std::string>& heats,
                   const std::vector<std::string>& sums) {
  const Drawing drawn = in_blocks(drawing);
  Json members = Json::array();
  for (const Drawing::Node& node : drawn.nodes) members.push_back(node.members);
  content_ += "<figure class=\"graph\" data-drawing=\"" + std::to_string(data_["drawings"].size()) +
              "\">\n<p class=\"tools\"><label>Colour by <select><option>nothing</option>";
  for (std::size_t k = 0; k < heats.size(); ++k)
    content_ += "<option" + std::string(k == 0 ? " selected" : "") + ">" + html_text(heats[k]) + "</option>";
  content_ +=
      "</select></label> <label><input type=\"checkbox\"> full size</label> <span class=\"scale\"><span class=\"least\"></span> <span "
      "class=\"swatch\"></span> <span "
      "class=\"most\"></span></span></p>\n<div class=\"canvas\">" +
      svg_of(drawn, "Graph of " + std::to_string(drawn.nodes.size()) + " nodes") + "</div>\n<figcaption class=\"quiet\">" +
      (drawn.nodes.size() < drawing.nodes.size()
           ? std::to_string(drawing.nodes.size()) + " nodes, drawn as " + std::to_string(drawn.nodes.size()) + " blocks of neighbours. "
           : std::string()) +
      "A click or Enter on a node shows its rows in the list below; arrow keys go from node to node.</figcaption>\n</figure>\n";
  data_["drawings"].push_back({{"table", table.name}, {"members", std::move(members)}, {"sums", sums}});
}

std::string Page::html() const {
  std::string safe;  // no tag may begin inside the data
  for (const char c : data_.dump(-1, ' ', false, Json::error_handler_t::replace)) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
         "initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'; img-src data:\">\n<title>" +
         html_text(title_) + "</title>\n<style>" + kStyle +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n<h1>" + html_text(title_) +
         "</h1>\n<nav aria-label=\"Contents\"><ul>" + contents_ + "</ul></nav>\n</header>\n<main id=\"main\">\n" + content_ +
         (is_open_ ? "</section>\n" : "") + "</main>\n<script type=\"application/json\" id=\"data\">" + safe + "</script>\n<script>" +
         kScript + "</script>\n</body>\n</html>\n";
}

}  // namespace assay::pages
