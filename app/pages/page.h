// Pages of HTML that need nothing else: one file with its style, its script and its data. `assay report` and `assay inspect` write them.
//
// A page reads without scripts and prints; scripts add lists of any length that are drawn as they are scrolled, and colours on drawings.
// Everything that is handed over as text is escaped; text that is named markup is not.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/pages/drawing.h"

namespace assay::pages {

using Json = nlohmann::ordered_json;
using Facts = std::vector<std::pair<std::string, std::string>>;  // names and texts, in order

struct Table {
  std::string name;   // in the data and in ids: small letters and underlines
  std::string title;  // its name
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;  // texts, numbers or null; one per column
  std::string note = {};                // notes for a reader of the table
};

// A number, or a word where JSON has none: "inf", "-inf", "nan".
[[nodiscard]] Json number(double value);
// "%.4g", or as said.
[[nodiscard]] std::string shown(double value, const char* format = "%.4g");
// A cell as people read it: numbers with six digits.
[[nodiscard]] std::string cell_text(const Json& cell);
// The rows in columns as wide as their texts, headed by the columns' names; one line each.
[[nodiscard]] std::string table_text(const Table& table);

[[nodiscard]] std::string html_text(const std::string& text);
// <img> of 8-bit samples, one per pixel (grey) or three.
[[nodiscard]] std::string image(std::uint32_t width, std::uint32_t height, unsigned samples, std::span<const std::uint8_t> pixels,
                                const std::string& alternative);

class Page {
 public:
  // `kind` says in the data what the page is about.
  Page(std::string schema, std::string kind, std::string title);

  void add(const std::string& markup) { content_ += markup; }
  void paragraph(const std::string& text, bool quiet = false);
  // A new section under a heading, to which the contents lead.
  void section(const std::string& id, const std::string& heading);
  void facts(const Facts& facts);
  // The table in full: for few rows.
  void table(const Table& table);
  // A list of any length: it can be sorted and searched, and prints its first rows.
  void list(const Table& table);
  // The drawing, whose nodes' members are rows of the list `table`, which follows it on the page. Its nodes can be coloured by the columns
  // named in `heats`; of a node with several members the greatest number counts, or their sum where the column is in `sums`.
  void drawing(const Drawing& drawing, const Table& table, const std::vector<std::string>& heats, const std::vector<std::string>& sums);
  [[nodiscard]] std::string html() const;

 private:
  void add_data(const Table& table);
  std::string title_, content_, contents_;
  bool is_open_ = false;  // a section
  Json data_;
};

}  // namespace assay::pages
