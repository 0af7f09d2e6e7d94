// Frames for what a guest wrote as markup: an SVG, a page. A frame may do nothing: no scripts, no
// addresses, nothing in common with this page.

import { make } from "./dom.js";
import { span } from "./table.js";
import { plain, visible } from "./text.js";

// The only place of the page that hands markup to the browser. The page's policy (trusted-types)
// refuses it everywhere else. What comes out is read as data, or is framed.
const framed = globalThis.trustedTypes?.createPolicy("belljar-frame", { createHTML: (markup) => markup });
const markup = (text) => (framed ? framed.createHTML(text) : text);
/** A document that nobody shows: it has no scripts and loads nothing. */
export const inert = (text) => new DOMParser().parseFromString(markup(text), "text/html");

/** An SVG, drawn as a picture inside of a frame: as a picture it has no scripts and loads nothing. */
export function drawing(svg, description) {
  // Its first tag alone says how large it is.
  const root = inert(/<svg\b[^>]*>/i.exec(svg)?.[0] ?? "").querySelector("svg");
  const length = (name) => { const text = root?.getAttribute(name) ?? ""; return /^[\d.]+(px|pt)?$/.test(text) ? parseFloat(text) : 0; };
  const box = (root?.getAttribute("viewBox") ?? "").trim().split(/[\s,]+/).map(Number);
  const [boxWidth, boxHeight] = box.length === 4 && box[2] > 0 && box[3] > 0 ? [box[2], box[3]] : [640, 400];
  const width = Math.min(length("width") || boxWidth, 2000);
  const height = Math.min(length("height") || (width * boxHeight) / boxWidth, 4000);
  const utf8 = new TextEncoder().encode(svg);
  let binary = "";
  for (let place = 0; place < utf8.length; place += 8192) binary += String.fromCharCode(...utf8.subarray(place, place + 8192));
  const image = `<img width="100%" alt="" src="data:image/svg+xml;base64,${btoa(binary)}">`;
  return frame(image, visible(description || "a drawing that the script made"), { width, ratio: width / height });
}

/** A document in a frame that may do nothing. Its policy is narrower than the page's, which holds too. */
export function frame(body, title, { width, ratio, height }) {
  const isDark = !ratio && matchMedia("(prefers-color-scheme: dark)").matches;
  const colours = isDark ? 'bgcolor="#1a1d20" text="#e3e6e8"' : 'bgcolor="#ffffff" text="#1c1f21"';
  const margin = ratio ? 0 : 8;
  const element = make("iframe", { sandbox: "", title, referrerpolicy: "no-referrer", scrolling: ratio ? "no" : "auto" });
  element.srcdoc = markup(
    `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:">` +
    `<body ${colours} topmargin="${margin}" leftmargin="${margin}" marginheight="${margin}" marginwidth="${margin}">` +
    `<font face="system-ui, sans-serif" size="2">${body}</font></body>`,
  );
  if (ratio) { element.style.width = `${width}px`; element.style.aspectRatio = String(ratio); }
  else { element.style.height = `${height}px`; element.className = "page"; }
  return element;
}

const KEPT = new Set(
  ("p div span br hr h1 h2 h3 h4 h5 h6 b i u s em strong small sub sup code kbd samp var pre blockquote q ul ol li dl dt dd " +
    "table caption colgroup col thead tbody tfoot tr th td section article header footer main figure figcaption " +
    "details summary mark del ins abbr cite time center").split(" "),
);
const DROPPED = new Set("script style template noscript title textarea select option svg math iframe object embed".split(" "));

/**
 * The plain elements of a page and their text, without anything that acts, loads or hides. The frame's
 * policy would stop those too, but not all at once: a browser connects to where a link, a form or a
 * frame leads before it asks the policy.
 */
export function copy(source) {
  const target = document.implementation.createHTMLDocument("");
  let [left, lines] = [20_000, 0];
  const walk = (from, into, depth) => {
    for (const node of from.childNodes) {
      if ((left -= 1) < 0 || depth > 100) return;
      if (node.nodeType === Node.TEXT_NODE) {
        into.append(plain(node.data));
        continue;
      }
      const name = node.localName;
      if (node.nodeType !== Node.ELEMENT_NODE || DROPPED.has(name)) continue;
      const isKept = KEPT.has(name);
      const made = isKept ? target.createElement(name) : into;
      if (name === "td" || name === "th") span(node, made);
      if (name === "table") for (const [key, amount] of [["border", 1], ["cellspacing", 0], ["cellpadding", 4]]) made.setAttribute(key, amount);
      if (/^(p|div|br|h\d|li|tr|pre|dt|dd|hr)$/.test(name)) lines += 1;
      if (isKept) into.append(made);
      walk(node, made, depth + 1);
    }
  };
  walk(source, target.body, 0);
  if (target.body.textContent.trim() === "") return null;
  return { markup: [...target.body.childNodes].map((node) => node.outerHTML ?? escaped(node.data)).join(""), height: Math.min(Math.max(40 + 24 * lines, 64), 420) };
}

const escaped = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
