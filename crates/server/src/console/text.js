// How text, sizes and times are shown.
//
// A guest's text may have characters that turn the line around, that show nothing, or that end the
// line before its end. Each is shown as what it is, so that a line says what it seems to say.

import { make } from "./dom.js";

// Controls, marks of direction, what has no width, private and unassigned characters. A tab and a
// line break do what they do. Joiners stay: emoji and some languages are written with them.
const ODD = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b-\u180f]/u;
const ODD_OR_NOT = new RegExp(`(${ODD.source})`, "u");
const isPlain = (character) => character === "\n" || character === "\t" || character === "\u200d" || character === "\u200c";

function spelled(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `\\u{${code.toString(16)}}`;
}

/** A guest's text as one line of plain text, for places where elements cannot be. */
export function visible(text, most = 200) {
  const short = [...String(text)].slice(0, most + 1);
  const cut = short.length > most ? "…" : "";
  return short.slice(0, most).map((character) => (ODD.test(character) ? spelled(character) : character)).join("") + cut;
}

/** A guest's text as plain text, of as many lines as it has. */
export const plain = (text) =>
  text.replace(new RegExp(ODD.source, "gu"), (character) => (isPlain(character) ? character : spelled(character)));

/** A guest's text as nodes: odd characters are spelled out, and look as if they were. */
export function nodes(text) {
  if (!ODD.test(text.replace(/[\n\t]/g, ""))) return [document.createTextNode(text)];
  const made = [];
  let plain = "";
  // A carriage return begins a line of its own, so that nothing is overwritten.
  for (const part of text.replace(/\r\n?/g, "\n").split(ODD_OR_NOT)) {
    if (part === "" || part === undefined) continue;
    if (!ODD.test(part) || isPlain(part)) { plain += part; continue; }
    if (plain) made.push(document.createTextNode(plain));
    plain = "";
    made.push(make("span", { class: "odd", text: spelled(part) }));
  }
  if (plain) made.push(document.createTextNode(plain));
  return made;
}

const STYLES = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };

/**
 * What a script prints, with the colours that it asks for as it would ask a terminal. The styles
 * that hold at the end are in `state`, for what comes next. Nothing else that a terminal obeys does
 * anything here.
 */
export class Terminal {
  #styles = new Set();
  #colour = "";

  nodes(text) {
    if (!text.includes("\x1b[")) return this.#styled(text);
    const made = [];
    let from = 0;
    for (const found of text.matchAll(/\x1b\[([0-9;]*)m/g)) {
      made.push(...this.#styled(text.slice(from, found.index)));
      this.#obey(found[1]);
      from = found.index + found[0].length;
    }
    made.push(...this.#styled(text.slice(from)));
    return made;
  }

  #styled(text) {
    if (text === "") return [];
    const names = [...this.#styles, this.#colour].filter(Boolean).join(" ");
    return names ? [make("span", { class: names }, ...nodes(text))] : nodes(text);
  }

  #obey(codes) {
    const numbers = codes.split(";").map(Number);
    for (let index = 0; index < numbers.length; index += 1) {
      const code = numbers[index];
      if (code === 0) { this.#styles.clear(); this.#colour = ""; }
      else if (code in STYLES) this.#styles.add(STYLES[code]);
      else if (code === 22) { this.#styles.delete("bold"); this.#styles.delete("dim"); }
      else if (code === 23 || code === 24) this.#styles.delete(STYLES[code - 20]);
      else if (code >= 30 && code <= 37) this.#colour = `c${code - 30}`;
      else if (code >= 90 && code <= 97) this.#colour = `c${code - 90}`;
      else if (code === 39) this.#colour = "";
      // A colour out of many: its numbers are skipped, and the text keeps the colour it has.
      else if (code === 38 || code === 48) index += numbers[index + 1] === 5 ? 2 : 4;
    }
  }
}

/** Data as JSON. */
export const written = (data, indent) => JSON.stringify(data, null, indent) ?? "null";

/** Bytes, for people. */
export function bytes(count) {
  if (count === null || count === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, unit] = [count, 0];
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Milliseconds, for people. */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** A moment: the time, and the day if it was another. */
export function moment(iso) {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  const clock = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? clock : `${time.toLocaleDateString([], { day: "numeric", month: "short" })} ${clock.slice(0, 5)}`;
}

const KINDS = {
  ok: "ok", running: "running", waiting: "running", cancelled: "quiet",
  timeout_wall: "limit", timeout_cpu: "limit", oom: "limit", pids: "limit", disk: "limit", output: "limit",
};
const WORDS = {
  no_result: "no result", signaled: "killed by a signal", timeout_wall: "out of time", timeout_cpu: "out of processor time",
  oom: "out of memory", pids: "too many processes", disk: "disk full", output: "too much output", infra: "sandbox failed",
};

/** All verdicts, as the server writes them. */
export const VERDICTS = [
  "running", "ok", "exception", "no_result", "exited", "signaled", "timeout_wall", "timeout_cpu", "oom", "pids", "disk",
  "output", "cancelled", "infra",
];

/** The word for a verdict. */
export const verdictWord = (verdict) => WORDS[verdict] ?? visible(verdict, 40);

/** A verdict as an element: a mark, a word and a colour. */
export function verdictMark(verdict) {
  return make("span", { class: `verdict ${KINDS[verdict] ?? "fail"}`, text: verdictWord(verdict) });
}
