// The box to run code: in a fresh cell, or as a step of a session.

import { ask, askJson, begin, path, repeat } from "./api.js";
import { announce, at, make, say, show } from "./dom.js";
import { visible } from "./text.js";

const KEPT = "belljar-script";

export class Compose {
  #sandboxes = [];
  #sessions = [];
  /** The run that Stop is for. */
  #current = null;
  #sessionsNow;

  /**
   * `started` is told of a run that was begun here, and gives its transcript. `placed` is told the
   * session that is chosen, or null.
   */
  constructor({ started, placed }, signal) {
    [this.started, this.placed] = [started, placed];
    const on = (id, event, act) => at(id).addEventListener(event, act, { signal });
    at("script").value = sessionStorage.getItem(KEPT) ?? "";
    on("script", "input", () => sessionStorage.setItem(KEPT, at("script").value));
    on("script", "keydown", indent);
    on("compose", "keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.#run(); }
    });
    on("compose", "submit", (event) => { event.preventDefault(); this.#run(); });
    on("stop", "click", () => this.#try(() => this.#stop()));
    on("place", "change", () => this.#placed());
    on("session-open", "click", () => this.#try(() => this.#open()));
    on("session-close", "click", () => this.#try(() => this.#close()));
    this.#sessionsNow = repeat(() => this.#loadSessions(), () => 3000, signal);
    this.#placed();
  }

  /** These are the sandboxes that there are. */
  setSandboxes(names) {
    this.#sandboxes = names;
    this.#drawPlaces();
    const chosen = at("runs-sandbox").value;
    const options = names.map((name) => make("option", { value: name, text: visible(name, 40) }));
    at("runs-sandbox").replaceChildren(make("option", { value: "", text: "any sandbox" }), ...options);
    if (names.includes(chosen)) at("runs-sandbox").value = chosen;
  }

  #place() {
    const [kind, name] = split(at("place").value);
    return kind === "session" ? { session: name } : { sandbox: name || undefined };
  }

  #drawPlaces(wanted = at("place").value) {
    // Sessions may be known before sandboxes are. None of them was chosen by anybody.
    if (this.#sandboxes.length === 0) return;
    const option = (kind, name, text) => make("option", { value: `${kind}:${name}`, text });
    const fresh = this.#sandboxes.map((name) => option("sandbox", name, `a fresh cell, ${visible(name, 40)}`));
    const kept = this.#sessions.map(({ id, sandbox }) => option("session", id, `session …${id.slice(-6)}, ${visible(sandbox, 40)}`));
    const groups = [make("optgroup", { label: "Once" }, ...fresh)];
    if (kept.length) groups.push(make("optgroup", { label: "With what was before" }, ...kept));
    const values = [...fresh, ...kept].map((it) => it.value);
    const isSame = values.join("\n") === [...at("place").options].map((it) => it.value).join("\n");
    if (!isSame) at("place").replaceChildren(...groups);
    const usual = values.includes("sandbox:default") ? "sandbox:default" : values[0];
    const next = values.includes(wanted) ? wanted : usual;
    if (at("place").value !== next) at("place").value = next ?? "";
    if (next !== wanted || !isSame) this.#placed();
  }

  #placed() {
    const { session = null } = this.#place();
    show(at("session-close"), session !== null);
    say(at("stop"), session ? "Interrupt" : "Stop");
    if (session === this.lastPlaced) return;
    this.lastPlaced = session;
    this.placed(session);
  }

  async #loadSessions() {
    try {
      const { sessions } = await askJson("v1/sessions");
      this.#sessions = sessions.sort((one, other) => (one.id < other.id ? 1 : -1));
      this.#drawPlaces();
    } catch { /* The gauges say that the server is gone. */ }
  }

  async #open() {
    const { sandbox } = this.#place();
    const session = await askJson("v1/sessions", { method: "POST", json: sandbox ? { sandbox } : {} });
    this.#sessions = [session, ...this.#sessions];
    this.#drawPlaces(`session:${session.id}`);
    announce("A session is open. Steps share their variables.");
    at("script").focus();
  }

  async #close() {
    const { session } = this.#place();
    await ask(path("v1/sessions", session), { method: "DELETE" });
    this.#sessions = this.#sessions.filter(({ id }) => id !== session);
    this.#drawPlaces();
    announce("The session is closed.");
    at("script").focus();
  }

  async #stop() {
    const current = this.#current;
    if (!current) return;
    const address = current.session ? path("v1/sessions", current.session, "interrupt") : path("v1/runs", current.id, "cancel");
    await ask(address, { method: "POST" });
  }

  async #run() {
    if (this.#current) return;
    await this.#try(async () => {
      const request = read();
      const { session, sandbox } = this.#place();
      if (session) delete request.mode;
      else if (sandbox) request.sandbox = sandbox;
      this.#setCurrent({ session, id: null });
      const id = await begin(session ? path("v1/sessions", session, "steps") : "v1/runs", request);
      this.#setCurrent({ session, id });
      await this.started({ id, session, script: request.script }).over;
    });
    this.#setCurrent(null);
    this.#sessionsNow();
  }

  #setCurrent(current) {
    // Who pressed Stop should not lose the place on the page when it goes.
    const hadFocus = document.activeElement === at("stop");
    this.#current = current;
    at("run").disabled = current !== null;
    at("stop").disabled = current === null || current.id === null;
    if (hadFocus && at("stop").disabled) at("script").focus();
  }

  /** Does something, and says what is wrong with it. */
  async #try(act) {
    say(at("compose-error"), "");
    try { await act(); } catch (error) {
      say(at("compose-error"), error.field ? `${error.field}: ${error.message}` : error.message);
    }
  }
}

/** What the boxes ask for. */
function read() {
  const text = (id) => at(id).value;
  const request = { script: text("script"), mode: text("mode") };
  if (request.script.trim() === "") throw new Error("There is nothing to run yet.");
  if (text("timeout")) request.timeout = Number(text("timeout"));
  if (text("args")) request.args = text("args").replace(/\n$/, "").split("\n");
  if (text("stdin")) request.stdin = text("stdin");
  if (text("collect").trim()) request.collect = text("collect").split(/[,\s]+/).filter(Boolean);
  return request;
}

function split(text) {
  const place = text.indexOf(":");
  return [text.slice(0, place), text.slice(place + 1)];
}

/** A new line begins where the line before did, and further in after a colon. */
function indent(event) {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.isComposing) return;
  const box = event.target;
  const line = box.value.slice(0, box.selectionStart).split("\n").pop();
  const [spaces] = /^[ \t]*/.exec(line);
  const more = /:\s*(#.*)?$/.test(line) ? "    " : "";
  if (spaces + more === "") return;
  event.preventDefault();
  // The only way that leaves the way back (Ctrl+Z) as it is.
  document.execCommand("insertText", false, `\n${spaces}${more}`);
}
