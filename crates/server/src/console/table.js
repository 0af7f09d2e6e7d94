// Tables, made anew from the text of their cells: of records, or of a page that a guest wrote.

import { make } from "./dom.js";
import { nodes, written } from "./text.js";

const MOST_ROWS = 500;
const MOST_COLUMNS = 60;

/** How far a cell reaches, from one cell to another. */
export function span(from, to) {
  for (const name of ["colspan", "rowspan"]) {
    const count = Number.parseInt(from.getAttribute(name) ?? "1", 10);
    if (count > 1 && count <= 1000) to.setAttribute(name, count);
  }
}

/** Whether data is a list of objects, which makes a table. */
export const isRecords = (data) =>
  Array.isArray(data) && data.length > 0 && data.every((row) => row && typeof row === "object" && !Array.isArray(row) && !JSON.isRawJSON?.(row) && Object.keys(row).length > 0);

export function recordTable(records) {
  const shown = records.slice(0, MOST_ROWS);
  const columns = [...new Set(shown.flatMap(Object.keys))];
  const some = columns.slice(0, MOST_COLUMNS);
  const head = make("tr", {}, ...some.map((name) => make("th", { scope: "col" }, ...nodes(name))));
  const rows = shown.map((row) => make("tr", {}, ...some.map((name) => {
    const cell = Object.hasOwn(row, name) ? row[name] : undefined;
    const isNumber = typeof cell === "number" || JSON.isRawJSON?.(cell);
    const text = cell === undefined || cell === null ? "" : typeof cell === "string" ? cell : written(cell);
    return make("td", { class: isNumber ? "number" : undefined }, ...nodes(text));
  })));
  return table([head], rows, records.length - shown.length, columns.length - some.length);
}

/** The table of a page, made anew from the text of its cells. */
export function htmlTable(found) {
  const all = [...found.rows];
  const row = (from) => make("tr", {}, ...[...from.cells].slice(0, MOST_COLUMNS).map((cell) => {
    const text = cell.textContent.trim();
    const isNumber = cell.localName === "td" && /^[-+]?[\d.,]+([eE][-+]?\d+)?%?$/.test(text);
    const made = make(cell.localName, { class: isNumber ? "number" : undefined }, ...nodes(text));
    span(cell, made);
    return made;
  }));
  const isHead = (from) => from.parentElement?.localName === "thead";
  const [head, body] = [all.filter(isHead), all.filter((from) => !isHead(from))];
  const columns = all.reduce((most, from) => Math.max(most, from.cells.length), 0);
  return table(head.slice(0, 10).map(row), body.slice(0, MOST_ROWS).map(row), body.length - MOST_ROWS, columns - MOST_COLUMNS);
}

/** Numbers stand on the right, the name of their column too, and what is missing among them. */
function align(head, rows) {
  const all = [...head, ...rows];
  const count = all[0]?.cells.length ?? 0;
  // With cells that reach over others, nobody knows which column is which.
  if (rows.length === 0 || all.some((row) => row.cells.length !== count)) return;
  const isMissing = (cell) => ["", "NaN", "NaT", "<NA>", "None"].includes(cell.textContent);
  for (let index = 0; index < count; index += 1) {
    const cells = rows.map((row) => row.cells[index]);
    const isNumeric = cells.some((cell) => cell.className) && cells.every((cell) => cell.className || isMissing(cell));
    if (isNumeric) for (const row of all) row.cells[index].className = "number";
  }
}

function table(head, rows, moreRows, moreColumns) {
  align(head, rows);
  const missing = [moreRows > 0 && `${moreRows} more rows`, moreColumns > 0 && `${moreColumns} more columns`].filter(Boolean);
  const body = make("table", {}, head.length ? make("thead", {}, ...head) : null, make("tbody", {}, ...rows));
  const scroll = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "A table" }, body);
  return missing.length ? make("div", {}, scroll, make("p", { class: "hint", text: missing.join(", ") })) : scroll;
}
