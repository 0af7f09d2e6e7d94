// Elements, made one by one. Text is text: nothing here reads markup.

/** The element with this id. */
export const at = (id) => document.getElementById(id);

/**
 * An element. `options` may have `class`, `text`, `title`, `on` (listeners by name), and otherwise
 * attributes; `children` are nodes or text.
 */
export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Puts text into an element, and leaves it alone if it is there: a reader's selection stays. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows or hides. */
export function show(element, isShown) {
  element.hidden = !isShown;
}

/**
 * Makes the children of `list` those of `items`, in order. Children of items that stay are kept, so
 * that focus and selection are.
 */
export function reconcile(list, items, key, create, update) {
  const kept = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let before = null;
  for (const item of items) {
    const name = key(item);
    let child = kept.get(name);
    kept.delete(name);
    if (!child) {
      child = create(item);
      child.dataset.key = name;
    }
    update(child, item);
    const next = before ? before.nextSibling : list.firstChild;
    if (child !== next) list.insertBefore(child, next);
    before = child;
  }
  for (const child of kept.values()) child.remove();
}

/** Says something to those who listen to the page instead of looking at it. */
export function announce(text) {
  const place = at("announcement");
  place.textContent = "";
  // The same words twice are two announcements.
  requestAnimationFrame(() => { place.textContent = text; });
}

/** Tells the reader what went wrong with the page or the server. No text: it is over. */
export function notice(text = "") {
  say(at("notice"), text);
  show(at("notice"), text !== "");
}

/** Has the reader save bytes under a name that a guest chose. */
export function save(blob, path) {
  const last = path.split("/").pop() ?? "";
  // Neither a character that hides the ending of a name, nor one that a file system acts on.
  const name = last.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|[\\/:*?"<>|]/gu, "_").replace(/^\.+/, "_") || "file";
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
