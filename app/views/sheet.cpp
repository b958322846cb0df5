#include "app/views/sheet.h"

namespace assay::views {

void add_tables(pages::Page& page, const Sheet& sheet) {
  constexpr std::size_t kMostInText = 30;  // rows of a table that is no list
  for (std::size_t k = 0; k < sheet.tables.size(); ++k) {
    const pages::Table& table = sheet.tables[k];
    page.section("table_" + table.name, table.title);
    const bool is_drawn = k == 0 && sheet.drawing;
    if (is_drawn) page.drawing(*sheet.drawing, table, sheet.heats, sheet.sums);
    if (is_drawn || table.rows.size() > kMostInText)
      page.list(table);
    else
      page.table(table);
  }
}

pages::Page page_of(const Sheet& sheet, const std::string& schema) {
  std::string kind;
  for (const auto& [name, value] : sheet.facts)
    if (name == "kind") kind = value;
  pages::Page page(schema, kind, sheet.title);
  page.section("facts", "Facts");
  page.facts(sheet.facts);
  if (!sheet.charts.empty()) page.section("charts", "Charts");
  for (const std::string& markup : sheet.charts) page.add(markup);
  add_tables(page, sheet);
  return page;
}

}  // namespace assay::views
