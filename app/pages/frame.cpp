// The style of a page, and the script that draws its lists and colours its drawings.
#include "app/pages/frame.h"

namespace assay::pages {

const char* const kStyle = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --quiet: #57606a; --line: #d0d7de; --soft: #f3f5f7; --yes: #0072b2; --no: #b34700; --open: #8a8f98; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a; --quiet: #9aa4af; --line: #3a424b; --soft: #1e2328; --yes: #56b4e9; --no: #e69f00; --open: #7d848d; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; overflow-wrap: anywhere; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
a { color: var(--yes); } a.skip { position: absolute; left: -99rem; } a.skip:focus { position: static; } :focus-visible { outline: 2px solid var(--yes); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: .8rem 0 0; padding: 0; font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; } td.long, .facts td { overflow-wrap: anywhere; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
table.facts th { white-space: nowrap; font-weight: 600; } table.facts td { white-space: pre-wrap; }
caption { text-align: left; color: var(--quiet); } thead th { border-bottom: 1px solid var(--line); } tbody th { font-weight: 400; }
.verdict { font-weight: 600; } .accepted, .passed { color: var(--yes); } .rejected, .declined, .fail, .failed, .undecided { color: var(--no); } .quiet { color: var(--quiet); } code, pre { font-size: .85em; overflow-wrap: anywhere; white-space: pre-wrap; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } .axis { stroke: var(--quiet); fill: none; } svg text.small { font-size: 10.5px; fill: var(--quiet); }
.yes { fill: var(--yes); } .no { fill: var(--no); } .open { fill: var(--open); } .curve { fill: none; stroke: var(--yes); stroke-width: 2; } .key { display: inline-block; width: .8rem; height: .8rem; margin-left: .8rem; vertical-align: -.05rem; } .key.yes { background: var(--yes); } .key.no { background: var(--no); } .key.open { background: var(--open); }
.track { fill: var(--soft); stroke: var(--line); }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; } .cards figure { margin: 0; padding: .6rem; background: var(--soft); break-inside: avoid; } .cards img { width: 96px; height: 96px; object-fit: contain; image-rendering: pixelated; margin-right: .3rem; } .cards img.large { width: 220px; height: 220px; }
figcaption { font-size: .85rem; max-width: 40rem; } button, select, input { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); padding: .1rem .5rem; }
details > summary { cursor: pointer; } details > pre { margin: .3rem 0 .8rem 1rem; }
figure.graph { margin: 0; } figure.graph .canvas { max-height: 44rem; overflow: auto; border: 1px solid var(--line); } figure.graph svg { display: block; margin: 0 auto; } figure.graph.full svg { max-width: none; }
g.node rect { fill: var(--paper); stroke: var(--quiet); } g.node rect.heat { fill: var(--yes); fill-opacity: 0; } g.node.leaf rect { stroke-dasharray: 4 3; } g.node.hit rect { stroke: var(--no); stroke-width: 3; } g.node { cursor: pointer; } g.node text.small { fill: var(--ink); } .edge { fill: none; stroke: var(--open); } marker path { fill: var(--open); }
.swatch { display: inline-block; width: 6rem; height: .8rem; border: 1px solid var(--line); background: linear-gradient(to right, color-mix(in srgb, var(--yes) 6%, var(--paper)), color-mix(in srgb, var(--yes) 50%, var(--paper))); vertical-align: middle; }
.tools { display: none; } .js .tools { display: block; } .js .list > .first { display: none; } .list > .rows { display: none; } .js .list > .rows { display: block; }
.rows { max-height: 26rem; overflow: auto; border: 1px solid var(--line); } .inner { position: relative; min-width: 100%; width: max-content; }
.row { display: grid; grid-template-columns: var(--columns); column-gap: .8rem; align-items: center; height: 28px; padding: 0 .5rem; } .inner .row { position: absolute; left: 0; right: 0; } .row span { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; } .row .n { text-align: right; font-variant-numeric: tabular-nums; }
.row.head { position: sticky; top: 0; z-index: 1; background: var(--soft); border-bottom: 1px solid var(--line); min-width: 100%; width: max-content; } .head button { border: 0; background: none; font-weight: 600; padding: 0; cursor: pointer; max-width: 100%; overflow: hidden; text-overflow: ellipsis; }
.head [aria-sort=ascending] button::after { content: " \2191"; } .head [aria-sort=descending] button::after { content: " \2193"; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav, .tools, .js .tools, .js .list > .rows { display: none; } .js .list > .first { display: block; } h2 { break-after: avoid; } tr, figure { break-inside: avoid; } figure.graph .canvas { max-height: none; overflow: visible; border: 0; } figure.graph svg { max-width: 100%; max-height: 23cm; } td, th { font-size: 8.5pt; padding-right: .5rem; } table.many td, table.many th { font-size: 6pt; padding-right: .3rem; } .wide { overflow: visible; } * { print-color-adjust: exact; } }
)css";

const char* const kScript = R"js(
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent), high = 28, lists = {};
  document.documentElement.classList.add("js");
  const make = (tag, attributes, text) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const short = (value) => value === null ? "" : typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);

  // Rows are drawn where they are seen: a list of a hundred thousand rows scrolls like one of ten.
  for (const section of document.querySelectorAll(".list")) {
    const { columns, rows: all } = data.tables[section.dataset.table], box = section.querySelector(".rows"), inner = section.querySelector(".inner"), head = section.querySelector(".head");
    const word = section.querySelector("input"), every = section.querySelector("button.every");
    let shown = [], sorted = -1, up = true, only = null;
    const is_number = columns.map((_, k) => all.some((row) => typeof row[k] === "number") && all.every((row) => typeof row[k] !== "string" || /^(-?inf|nan)$/.test(row[k])));
    const widths = columns.map((name, k) => all.slice(0, 3000).reduce((most, row) => Math.max(most, short(row[k]).length), name.length + 2));
    box.style.setProperty("--columns", widths.map((most, k) => k + 1 < columns.length ? Math.min(most, 32) + 1 + "ch" : "minmax(" + Math.min(most, 60) + "ch, 1fr)").join(" "));
    const draw = () => {
      inner.style.height = shown.length * high + "px";
      const first = Math.max(0, Math.floor(box.scrollTop / high) - 5), last = Math.min(shown.length, first + Math.ceil(box.clientHeight / high) + 10);
      inner.replaceChildren();
      for (let i = first; i < last; ++i) {
        const row = make("div", { class: "row", role: "row", "aria-rowindex": i + 2 });
        row.style.top = i * high + "px";
        all[shown[i]].forEach((value, k) => row.append(make("span", { role: "cell", class: is_number[k] ? "n" : "", title: value === null ? "" : String(value) }, short(value))));
        inner.append(row);
      }
    };
    const filter = () => {
      const wanted = word.value.toLowerCase();
      shown = (only ?? all.map((_, i) => i)).filter((i) => !wanted || all[i].some((value) => String(value).toLowerCase().includes(wanted)));
      const rank = (value) => value === null ? [2, 0] : typeof value === "number" ? [0, value] : value === "inf" ? [0, Infinity] : value === "-inf" ? [0, -Infinity] : [1, value];
      if (sorted >= 0) shown.sort((a, b) => { const [p, x] = rank(all[a][sorted]), [q, y] = rank(all[b][sorted]); return p - q || (x === y ? a - b : (x < y ? -1 : 1) * (up ? 1 : -1)); });
      section.querySelector(".count").textContent = shown.length + " of " + all.length;
      box.setAttribute("aria-rowcount", shown.length + 1);
      every.hidden = only === null;
      box.scrollTop = 0;
      draw();
    };
    columns.forEach((name, i) => {
      const one = make("span", { role: "columnheader", "aria-sort": "none", class: is_number[i] ? "n" : "" }), button = make("button", { type: "button", title: name }, name);
      button.addEventListener("click", () => {
        up = sorted === i ? !up : true; sorted = i;
        [...head.children].forEach((each, k) => each.setAttribute("aria-sort", k !== i ? "none" : up ? "ascending" : "descending"));
        filter();
      });
      one.append(button); head.append(one);
    });
    box.setAttribute("aria-colcount", columns.length);
    box.addEventListener("scroll", draw);
    window.addEventListener("resize", draw);
    word.addEventListener("input", filter);
    every.addEventListener("click", () => { only = null; filter(); });
    lists[section.dataset.table] = (members) => { only = members; filter(); section.scrollIntoView({ block: "nearest" }); };
    filter();
  }

  // Drawings: a node shows its rows in the list; colours are the numbers of one column.
  for (const figure of document.querySelectorAll("figure.graph")) {
    const drawing = data.drawings[figure.dataset.drawing], { columns, rows } = data.tables[drawing.table], nodes = [...figure.querySelectorAll("g.node")], select = figure.querySelector("select");
    const choose = (k) => { nodes.forEach((node, i) => node.classList.toggle("hit", i === k)); lists[drawing.table]?.(drawing.members[k]); };
    nodes.forEach((node, k) => {
      node.setAttribute("role", "button"); node.setAttribute("tabindex", k === 0 ? "0" : "-1");
      node.addEventListener("click", () => choose(k));
      node.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") choose(k);
        else if (step && nodes[k + step]) { node.setAttribute("tabindex", "-1"); nodes[k + step].setAttribute("tabindex", "0"); nodes[k + step].focus(); }
        else return;
        event.preventDefault();
      });
    });
    const colour = () => {
      const k = columns.indexOf(select.value), sum = drawing.sums.includes(select.value);
      const values = drawing.members.map((members) => members.map((i) => rows[i][k] === "inf" ? Infinity : rows[i][k]).filter((value) => typeof value === "number").reduce((a, b) => a === null ? b : sum ? a + b : Math.max(a, b), null));
      const finite = values.filter((value) => value !== null && Number.isFinite(value)), least = finite.reduce((a, b) => Math.min(a, b), Infinity), most = finite.reduce((a, b) => Math.max(a, b), -Infinity);
      const positive = finite.filter((value) => value > 0).reduce((a, b) => Math.min(a, b), Infinity), wide = least >= 0 && most > 1000 * positive;
      const share = (value) => value === Infinity ? 1 : !(most > least) ? (value > 0 ? 1 : 0) : wide ? (value > 0 ? Math.log(value / positive) / Math.log(most / positive) : 0) : (value - least) / (most - least);
      nodes.forEach((node, i) => { node.querySelector("rect.heat").style.fillOpacity = values[i] === null ? 0 : .06 + .44 * share(values[i]); node.querySelector("title").textContent = node.dataset.words + (k < 0 || values[i] === null ? "" : "; " + select.value + " " + short(values[i])); });
      figure.querySelector(".scale").hidden = k < 0 || finite.length === 0;
      figure.querySelector(".least").textContent = finite.length ? short(least) : ""; figure.querySelector(".most").textContent = finite.length ? short(most) + (wide ? ", logarithmic" : "") : "";
    };
    figure.querySelector("input").addEventListener("change", (event) => figure.classList.toggle("full", event.target.checked));
    select.addEventListener("change", colour);
    colour();
  }
})();
)js";

}  // namespace assay::pages
