// Files of sessions and workspaces: a list, to save and to upload.

import { Refused, ask, askJson, path } from "./api.js";
import { at, make, save, say, show } from "./dom.js";
import { bytes, visible } from "./text.js";

const MOST_FILES = 500;

/** Fills a list with files. `fetched` saves the one with a path. */
export function fileList(list, files, fetched) {
  const isFile = (file) => !file.is_directory && (file.kind ?? "file") === "file";
  const all = files.filter(isFile);
  const items = all.slice(0, MOST_FILES).map((file) => {
    const shown = visible(file.path, 300);
    const button = make("button", { type: "button", class: "quiet", text: "Save", "aria-label": `Save ${shown}` });
    button.addEventListener("click", async () => {
      try { await fetched(file.path); } catch (error) { button.title = error.message; say(button, "Failed"); }
    });
    const size = make("span", { class: "size", text: file.size === undefined ? "" : bytes(file.size) });
    return make("li", {}, make("span", { class: "name", text: shown, title: shown }), size, button);
  });
  list.replaceChildren(...items);
  const more = all.length - items.length;
  if (more > 0) list.append(make("li", { class: "empty", text: `${more} more.` }));
  if (items.length === 0) list.append(make("li", { class: "empty", text: "No files." }));
  return list;
}

/** The files of a session. */
export class SessionFiles {
  #session = null;

  constructor(signal) {
    at("files-refresh").addEventListener("click", () => this.refresh(), { signal });
    at("files-upload").addEventListener("click", () => at("files-choose").click(), { signal });
    at("files-choose").addEventListener("change", () => this.#upload(), { signal });
  }

  /** Shows those of this session, or none. */
  show(session) {
    this.#session = session;
    show(at("files"), session !== null);
    if (session) this.refresh();
  }

  async refresh() {
    const session = this.#session;
    if (!session) return;
    try {
      const { files } = await askJson(path("v1/sessions", session, "files"));
      if (session !== this.#session) return;
      const fetched = async (file) => save(await (await ask(path("v1/sessions", session, "files", file))).blob(), file);
      fileList(at("files-list"), files, fetched);
      say(at("files-error"), "");
    } catch (error) {
      if (session === this.#session) say(at("files-error"), error.message);
    }
  }

  async #upload() {
    const session = this.#session;
    const chosen = [...at("files-choose").files];
    at("files-choose").value = "";
    try {
      for (const file of chosen) await ask(path("v1/sessions", session, "files", file.name), { method: "PUT", body: file });
      await this.refresh();
    } catch (error) {
      say(at("files-error"), error.message);
    }
  }
}

/** The workspaces of the server, if it has any to show. */
export class Workspaces {
  constructor(signal) {
    at("workspace").addEventListener("change", () => this.#list(), { signal });
    at("workspace-refresh").addEventListener("click", () => this.refresh(), { signal });
  }

  async refresh() {
    try {
      const { workspaces } = await askJson("v1/workspaces");
      const select = at("workspace");
      const chosen = select.value;
      select.replaceChildren(...workspaces.map(({ id, name }) => make("option", { value: id, text: visible(name ?? id, 60) })));
      if (workspaces.some(({ id }) => id === chosen)) select.value = chosen;
      show(at("workspaces"), true);
      await this.#list();
    } catch (error) {
      // A server without workspaces has nothing at this path.
      if (error instanceof Refused) show(at("workspaces"), false);
    }
  }

  async #list() {
    const id = at("workspace").value;
    const list = at("workspace-list");
    if (!id) return list.replaceChildren(make("li", { class: "empty", text: "No workspaces." }));
    try {
      const { files } = await askJson(path("v1/workspaces", id, "files"));
      const fetched = async (file) => save(await (await ask(path("v1/workspaces", id, "files", file))).blob(), file);
      fileList(list, files, fetched);
      say(at("workspace-error"), "");
    } catch (error) {
      say(at("workspace-error"), error.message);
    }
  }
}
