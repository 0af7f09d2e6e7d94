// What a script shows: pictures, tables, and documents in a frame of their own.
//
// A guest made all of it. So a picture is drawn from its bytes, and only if it is PNG or JPEG of a
// bearable size. A table is made anew from the text of its cells (table.js). An SVG or a page is put
// into a frame that may do nothing (frame.js).

import { make, save } from "./dom.js";
import { copy, drawing, frame, inert } from "./frame.js";
import { htmlTable, isRecords, recordTable } from "./table.js";
import { nodes, visible, written } from "./text.js";

const MOST_PIXELS = 50e6;

/** A display as an element: its best form, and a choice of the others. */
export function display(data) {
  return choice(formsOf(data));
}

/** Data of a script as an element: a table if it is one, and always as JSON. */
export function value(data) {
  if (data === null || typeof data !== "object" || JSON.isRawJSON?.(data)) {
    return make("span", { class: "guest mono" }, ...nodes(written(data)));
  }
  return choice(formsOf({ "application/json": data }));
}

function choice(forms) {
  if (forms.length === 0) return make("span", { class: "hint", text: "nothing that can be shown here" });
  const place = make("div");
  const choose = (form, chosen) => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
    place.replaceChildren(form.make());
  };
  const buttons = forms.map((form) => {
    const button = make("button", { type: "button", text: form.name });
    button.addEventListener("click", () => choose(form, button));
    return button;
  });
  choose(forms[0], buttons[0]);
  if (forms.length === 1) return place;
  return make("div", { class: "choice" }, make("span", { class: "forms", role: "group", "aria-label": "Shown as" }, ...buttons), place);
}

/** The forms of a display that can be shown, the best first. */
function formsOf(data) {
  const forms = [];
  const add = (name, of) => forms.push({ name, make: of });
  const text = (kind) => (typeof data[kind] === "string" ? data[kind] : null);
  const [svg, html, json] = [text("image/svg+xml"), text("text/html"), data["application/json"]];
  for (const kind of ["image/png", "image/jpeg"]) {
    if (text(kind)) add("picture", () => picture(kind, text(kind), text("text/plain")));
  }
  if (svg) add("drawing", () => drawing(svg, text("text/plain")));
  if (isRecords(json)) add("table", () => recordTable(json));
  if (html) {
    const page = inert(html);
    const found = page.querySelector("table");
    if (found) add("table", () => htmlTable(found));
    const copied = copy(page.body);
    if (copied) add("page", () => frame(copied.markup, "a page that the script made", { height: copied.height }));
  }
  if (json !== undefined) add("json", () => make("pre", { class: "json" }, ...nodes(written(json, 2))));
  for (const [kind, content] of Object.entries(data)) {
    if (["text/plain", "text/html", "application/json", "image/png", "image/jpeg"].includes(kind)) continue;
    if (typeof content !== "string") add(visible(kind, 40), () => make("pre", { class: "json" }, ...nodes(written(content, 2))));
    else if (isText(kind)) add(kind === "image/svg+xml" ? "source" : visible(kind, 40), () => make("pre", {}, ...nodes(content)));
    else add(visible(kind, 40), () => download(kind, content));
  }
  if (text("text/plain") !== null) add("text", () => make("pre", {}, ...nodes(text("text/plain"))));
  return forms;
}

/** Whether the data of a type is text, and not base64. */
const isText = (kind) => kind.startsWith("text/") || /[+/](xml|json|javascript)$/.test(kind);

function download(kind, base64) {
  const button = make("button", { type: "button", text: `Save ${visible(kind, 40)}` });
  button.addEventListener("click", () => save(unpacked(base64), `display.${kind.split("/").pop()}`));
  return button;
}

function unpacked(base64) {
  try { return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)); } catch { return new Uint8Array(); }
}

function picture(kind, base64, description) {
  const size = kind === "image/png" ? pngSize(unpacked(base64.slice(0, 64))) : jpegSize(unpacked(base64));
  const refused = (reason) => make("span", { class: "hint", text: `a picture, but ${reason}` });
  if (!size) return refused("not one that can be drawn");
  if (size.width * size.height > MOST_PIXELS) return refused(`of ${size.width} × ${size.height} points, which is too large`);
  const image = make("img", { alt: visible(description || "a picture that the script made"), src: `data:${kind};base64,${base64}` });
  image.addEventListener("error", () => image.replaceWith(refused("it is broken")));
  // Room is kept for it, so that what follows does not jump.
  [image.width, image.height] = [size.width, size.height];
  return image;
}

function pngSize(bytes) {
  if (bytes.length < 24 || ![0x89, 0x50, 0x4e, 0x47].every((byte, index) => bytes[index] === byte)) return null;
  const view = new DataView(bytes.buffer);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

function jpegSize(bytes) {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return null;
  const number = (place) => bytes[place] * 256 + bytes[place + 1];
  for (let place = 2; place + 9 < bytes.length; ) {
    const mark = bytes[place + 1];
    if (bytes[place] !== 0xff) return null;
    // The marks that begin a frame, which has the size.
    if (mark >= 0xc0 && mark <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(mark)) {
      return { height: number(place + 5), width: number(place + 7) };
    }
    place += mark === 0xff ? 1 : 2 + number(place + 2);
  }
  return null;
}
