// The list of runs: the newest first, kept up to date.

import { askJson, repeat } from "./api.js";
import { at, make, reconcile, say, show } from "./dom.js";
import { VERDICTS, bytes, duration, moment, verdictMark, verdictWord, visible } from "./text.js";

const PAGE = 50;

export class RunList {
  #older = [];
  #newest = [];
  #next = null;
  #chosen = null;
  #now;

  /** `choose` is told the id of a run that the reader wants to see. */
  constructor(choose, signal) {
    this.choose = choose;
    const verdicts = VERDICTS.map((verdict) => make("option", { value: verdict, text: verdictWord(verdict) }));
    at("runs-verdict").replaceChildren(make("option", { value: "", text: "any verdict" }), ...verdicts);
    for (const id of ["runs-verdict", "runs-sandbox"]) at(id).addEventListener("change", () => this.#restart(), { signal });
    at("runs-more").addEventListener("click", () => this.#more(), { signal });
    at("runs").addEventListener("keydown", (event) => this.#walk(event), { signal });
    this.#now = repeat(() => this.#load(), () => (this.#newest.some(isRunning) ? 1000 : 2500), signal);
  }

  /** Looks at once. */
  refresh() {
    this.#now();
  }

  /** Marks the run that is shown. */
  mark(id) {
    this.#chosen = id;
    this.#draw();
  }

  #restart() {
    [this.#older, this.#newest] = [[], []];
    this.#now();
  }

  #query(before) {
    const query = new URLSearchParams({ limit: PAGE });
    for (const [name, id] of [["verdict", "runs-verdict"], ["sandbox", "runs-sandbox"]]) {
      if (at(id).value) query.set(name, at(id).value);
    }
    if (before) query.set("before", before);
    return `v1/runs?${query}`;
  }

  async #load() {
    try {
      const { runs, next } = await askJson(this.#query());
      this.#newest = runs;
      const known = new Set(runs.map((run) => run.id));
      // What has moved out of the first page is kept, unless nobody asked for more than that page.
      this.#older = this.#older.filter((run) => !known.has(run.id));
      if (this.#older.length === 0) this.#next = next;
      this.#draw();
    } catch { /* The gauges say that the server is gone. */ }
  }

  async #more() {
    try {
      const { runs, next } = await askJson(this.#query(this.#next));
      this.#older.push(...runs);
      this.#next = next;
      this.#draw();
    } catch { /* As above. */ }
  }

  #draw() {
    const all = [...this.#newest, ...this.#older];
    reconcile(at("runs"), all, (run) => run.id, (run) => this.#item(run), (item, run) => this.#update(item, run));
    show(at("runs-empty"), all.length === 0);
    show(at("runs-more"), Boolean(this.#next));
  }

  #item(run) {
    const button = make("button", { type: "button", on: { click: () => this.choose(run.id) } },
      make("span", { class: "mark" }), make("time", { datetime: run.started_at, title: run.started_at, text: moment(run.started_at) }),
      make("span", { class: "where" }), make("span", { class: "used" }));
    return make("li", {}, button);
  }

  #update(item, run) {
    const [button] = item.children;
    const [mark, , where, used] = button.children;
    const verdict = isRunning(run) ? "running" : run.verdict;
    if (item.dataset.verdict !== verdict) {
      item.dataset.verdict = verdict;
      mark.replaceChildren(verdictMark(verdict));
    }
    say(where, run.session ? `${visible(run.sandbox, 40)} · step` : visible(run.sandbox, 40));
    const { wall_ms: wall, peak_memory_bytes: memory } = run.usage;
    say(used, isRunning(run) ? `${run.events} ${run.events === 1 ? "event" : "events"}` : [wall !== null && duration(wall), memory && bytes(memory)].filter(Boolean).join(" · "));
    if (run.error) where.title = visible(run.error);
    if (run.id === this.#chosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }

  /** Up and down go from run to run. */
  #walk(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    const item = document.activeElement?.closest("#runs li");
    if (!item || !(event.key in steps)) return;
    const next = steps[event.key] > 0 ? item.nextElementSibling : item.previousElementSibling;
    next?.querySelector("button").focus();
    event.preventDefault();
  }
}

const isRunning = (run) => run.status === "running";
