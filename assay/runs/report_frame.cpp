// The frame of a report: its style, and the script that draws the list of all results.
#include "assay/runs/report.h"

namespace assay::runs {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --quiet: #57606a; --line: #d0d7de; --soft: #f3f5f7; --yes: #0072b2; --no: #d55e00; --open: #8a8f98; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a; --quiet: #9aa4af; --line: #3a424b; --soft: #1e2328; --yes: #56b4e9; --no: #e69f00; --open: #7d848d; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; } th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); } thead th { border-bottom: 1px solid var(--line); }
.verdict { font-weight: 600; } .accepted { color: var(--yes); } .rejected, .declined { color: var(--no); } .quiet { color: var(--quiet); } code { font-size: .85em; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } .axis { stroke: var(--quiet); fill: none; }
.yes { fill: var(--yes); } .no { fill: var(--no); } .open { fill: var(--open); } .curve { fill: none; stroke: var(--yes); stroke-width: 2; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; padding: .6rem; background: var(--soft); break-inside: avoid; } figure img { width: 96px; height: 96px; image-rendering: pixelated; margin-right: .3rem; }
figcaption { font-size: .85rem; } button, select, input { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); padding: .1rem .5rem; }
#rows { height: 26rem; overflow-y: auto; border: 1px solid var(--line); position: relative; } #rows:focus { outline: 2px solid var(--yes); }
.row { display: grid; position: absolute; left: 0; right: 0; height: 1.8rem; grid-template-columns: var(--columns); align-items: center; padding: 0 .5rem; } .row span { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.head { position: static; border: 1px solid var(--line); border-bottom: 0; } .head button { text-align: left; border: 0; background: none; font-weight: 600; padding: 0; }
@media print { body { max-width: none; padding: 0; } #list { display: none; } h2 { break-after: avoid; } }
)css";

// Rows are drawn where they are seen: a page of ten thousand results scrolls like one of ten.
constexpr const char* kScript = R"js(
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent), list = document.getElementById("list");
  if (!list) return;
  const columns = data.columns, all = data.rows, high = 28.8, box = document.getElementById("rows"), inner = document.getElementById("inner");
  let shown = all.map((_, i) => i), sorted = -1, up = true;
  document.documentElement.style.setProperty("--columns", columns.map((c) => c.width).join(" "));
  const cell = (text, role) => { const one = document.createElement("span"); one.setAttribute("role", role); one.textContent = text; one.title = text; return one; };
  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / high) - 5), last = Math.min(shown.length, first + Math.ceil(box.clientHeight / high) + 10);
    inner.style.height = shown.length * high + "px";
    inner.replaceChildren();
    for (let i = first; i < last; ++i) {
      const row = document.createElement("div");
      row.className = "row"; row.style.top = i * high + "px";
      row.setAttribute("role", "row"); row.setAttribute("aria-rowindex", i + 2);
      for (const value of all[shown[i]]) row.append(cell(value === null ? "" : String(value), "cell"));
      inner.append(row);
    }
  };
  const filter = () => {
    const word = document.getElementById("word").value.toLowerCase();
    shown = all.map((_, i) => i).filter((i) => !word || all[i].some((value) => String(value).toLowerCase().includes(word)));
    if (sorted >= 0) shown.sort((a, b) => { const x = all[a][sorted], y = all[b][sorted]; return (x === y ? a - b : x === null ? 1 : y === null ? -1 : x < y ? -1 : 1) * (up ? 1 : -1); });
    document.getElementById("count").textContent = shown.length + " of " + all.length;
    list.querySelector("[role=table]").setAttribute("aria-rowcount", shown.length + 1);
    box.scrollTop = 0;
    draw();
  };
  const head = document.getElementById("head");
  columns.forEach((column, i) => {
    const one = document.createElement("span"), button = document.createElement("button");
    one.setAttribute("role", "columnheader"); button.type = "button"; button.textContent = column.name;
    button.addEventListener("click", () => {
      up = sorted === i ? !up : true; sorted = i;
      [...head.children].forEach((each, k) => each.setAttribute("aria-sort", k !== i ? "none" : up ? "ascending" : "descending"));
      filter();
    });
    one.append(button); head.append(one);
  });
  box.addEventListener("scroll", draw);
  window.addEventListener("resize", draw);
  document.getElementById("word").addEventListener("input", filter);
  filter();
})();
)js";

}  // namespace

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

std::string whole_page(const std::string& title, const std::string& content, const std::string& data) {
  std::string safe;  // no tag may begin inside the data
  for (const char c : data) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
         "initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src "
         "'unsafe-inline'; img-src data:\">\n<title>" +
         html_text(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n" + content +
         "\n<script type=\"application/json\" id=\"data\">" + safe + "</script>\n<script>" + kScript + "</script>\n</body>\n</html>\n";
}

}  // namespace assay::runs
