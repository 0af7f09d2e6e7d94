// One run: what it says, as it says it, and how it ended.

import { ask, askJson, follow, path } from "./api.js";
import { display, value } from "./display.js";
import { announce, make, save, say } from "./dom.js";
import { fileList } from "./files.js";
import { recordTable } from "./table.js";
import { Terminal, bytes, duration, moment, nodes, verdictMark, verdictWord, visible } from "./text.js";

// More than this is not kept in the page: it would become slow. The history has all of it.
const MOST_BLOCKS = 1500;
const MOST_TEXT = 2_000_000;
const BLOCK_TEXT = 32_000;

/** A run on the page. */
export class Transcript {
  #events = make("div", { class: "events", tabindex: 0, role: "log", "aria-live": "off", "aria-label": "Events" });
  #end = make("div", { class: "end", hidden: true });
  #mark = make("span");
  #facts = make("span", { class: "hint" });
  #clock = make("span", { class: "hint" });
  #code = make("details", { class: "code", hidden: true });
  #dropped = null;
  #queue = [];
  #frame = null;
  #text = 0;
  #calls = new Map();
  #said = new Set();
  #terminals = { stdout: new Terminal(), stderr: new Terminal() };
  #stop = new AbortController();
  /** Settled when the run has ended, or cannot be followed. */
  over;

  constructor(id, { script, isOpen = false, onEnd = () => {} } = {}) {
    this.id = id;
    this.onEnd = onEnd;
    this.#code.open = isOpen;
    const head = make("div", { class: "head" }, make("h3", { text: id }), this.#mark, this.#clock, this.#facts);
    this.element = make("article", { class: "panel run", "aria-label": `Run ${id}` }, head, this.#code, this.#events, this.#end);
    this.#setVerdict("running");
    if (script !== undefined) this.#setScript(script);
    this.#describe(script === undefined);
    this.over = this.#follow();
  }

  /** Stops to look. The run goes on. */
  close() {
    this.#stop.abort();
    this.element.remove();
  }

  async #describe(needsScript) {
    try {
      const run = await askJson(path("v1/runs", this.id), { signal: this.#stop.signal });
      const step = run.session ? ` · step of …${run.session.slice(-6)}` : "";
      this.#facts.textContent = `${visible(run.sandbox, 60)}${step} · ${moment(run.started_at)}`;
      if (needsScript) this.#setScript(run.script);
    } catch { /* Following it says what is wrong. */ }
  }

  #setScript(script) {
    const count = script.split("\n").length;
    const first = visible(script.trim().split("\n", 1)[0], 60);
    this.#code.replaceChildren(
      make("summary", {}, `Script, ${count === 1 ? "1 line" : `${count} lines`} `, make("code", { class: "guest", text: first })),
      make("pre", {}, ...nodes(script)),
    );
    this.#code.hidden = false;
  }

  #setVerdict(verdict) {
    const mark = verdictMark(verdict);
    this.#mark.replaceWith(mark);
    this.#mark = mark;
  }

  async #follow() {
    const begun = performance.now();
    const tick = setInterval(() => say(this.#clock, duration(Math.floor((performance.now() - begun) / 100) * 100)), 100);
    this.#stop.signal.addEventListener("abort", () => clearInterval(tick));
    const lost = (isLost) => this.#setVerdict(isLost ? "connecting" : "running");
    let isLost = false;
    try {
      const events = follow(this.id, this.#stop.signal, (now) => { if (now !== isLost) lost(isLost = now); });
      for await (const event of events) {
        this.#queue.push(event);
        this.#frame ??= this.#paint();
        // A flood is read as fast as it is shown, and no faster.
        if (this.#queue.length > 300) await this.#frame;
      }
      await this.#frame;
    } catch (error) {
      this.#setVerdict("gone");
      this.#add("error", make("span", { class: "label", text: "cannot be followed" }), make("span", { class: "guest", text: error.message }));
    } finally {
      clearInterval(tick);
      this.#clock.textContent = "";
    }
  }

  #paint() {
    return new Promise((resolve) => {
      const paint = () => {
        this.#frame = null;
        const isAtEnd = this.#events.scrollHeight - this.#events.scrollTop - this.#events.clientHeight < 40;
        for (const event of this.#queue.splice(0)) this.#take(event);
        this.#shorten();
        if (isAtEnd) this.#events.scrollTop = this.#events.scrollHeight;
        resolve();
      };
      if (document.hidden) setTimeout(paint, 50);
      else requestAnimationFrame(paint);
    });
  }

  #add(kind, ...children) {
    const block = make("div", { class: `event ${kind}` }, ...children.filter(Boolean));
    this.#events.append(block);
    return block;
  }

  #shorten() {
    let count = 0;
    const first = () => this.#events.children[this.#dropped ? 1 : 0];
    while (this.#events.children.length > MOST_BLOCKS || (this.#text > MOST_TEXT && this.#events.children.length > 2)) {
      this.#text -= Number(first().dataset.length ?? 0);
      first().remove();
      count += 1;
    }
    if (count === 0) return;
    if (!this.#dropped) {
      this.#dropped = make("div", { class: "event dropped", text: "What came first is no longer on this page. The history has all of it." });
      this.#events.prepend(this.#dropped);
    }
  }

  #take(event) {
    const label = (text) => make("span", { class: "label", text });
    const guest = (text, kind = "guest") => make("span", { class: kind }, ...nodes(String(text)));
    switch (event.type) {
      case "stdout": return this.#print("stdout", event.text);
      case "stderr": return this.#print("stderr", event.text);
      case "log": return this.#add("log", label(`log, ${visible(event.level, 20)}`), guest(event.message));
      case "intermediate": return this.#add("intermediate", label("intermediate"), guest(event.label), make("div", {}, value(event.data)));
      case "final_result": return this.#add("result", label("result"), value(event.data));
      case "display": return this.#add("display", label("display"), display(event.data));
      case "tool_call": return this.#call(event, label, guest);
      case "tool_progress": return this.#progress(event);
      case "tool_result": return this.#called(event);
      case "error":
        this.#said.add(event.message);
        return this.#add("error", label("error"), guest(event.message), event.traceback && make("pre", {}, ...nodes(event.traceback)));
      case "denied": return this.#add("denied", label("denied"), guest(event.target, "guest mono"), ` — ${visible(event.rule)}`);
      case "leftover": return this.#add("leftover", label(`printed between steps, ${visible(event.stream, 20)}`), make("pre", {}, ...nodes(event.text)));
      case "warning":
        this.#said.add(event.message);
        return this.#add("warning", label("warning"), guest(event.message));
      case "ended": return this.#ended(event);
      case "script_done": return undefined;
      default: return this.#add("log", label(visible(event.type, 40)));
    }
  }

  #print(stream, text) {
    let block = this.#events.lastElementChild;
    if (!block?.classList.contains(stream) || Number(block.dataset.length) > BLOCK_TEXT) {
      block = this.#add(stream, stream === "stderr" && make("span", { class: "label", text: "stderr" }), make("pre"));
      block.dataset.length = "0";
    }
    block.lastElementChild.append(...this.#terminals[stream].nodes(text));
    block.dataset.length = String(Number(block.dataset.length) + text.length);
    this.#text += text.length;
  }

  #call(event, label, guest) {
    const outcome = make("span", { class: "hint", text: "under way" });
    const call = guest(`${event.tool}(${shortArgs(event.args)})`, "guest mono");
    this.#calls.set(event.call_id, outcome);
    this.#add("tool", label("tool"), call, " ", outcome);
  }

  #progress({ call_id: call, progress, total, message }) {
    const outcome = this.#calls.get(call);
    const share = total ? `${progress} of ${total}` : `${progress}`;
    if (outcome) outcome.textContent = `${share}${message ? `, ${visible(message)}` : ""}`;
  }

  #called({ call_id: call, success, duration_ms: ms, bytes_in: sent, bytes_out: got, message }) {
    const outcome = this.#calls.get(call);
    const word = success ? "ok" : `failed${message ? `: ${visible(message)}` : ""}`;
    if (outcome) outcome.textContent = `→ ${word} · ${duration(ms)} · ${bytes(sent)} in, ${bytes(got)} out`;
  }

  #ended(result) {
    this.#setVerdict(result.verdict);
    const { usage, error, traceback } = result;
    const facts = make("div", { class: "facts" }, verdictMark(result.verdict));
    const fact = (text) => facts.append(make("span", { text }));
    if (result.exit_code !== undefined) fact(`exit code ${result.exit_code}`);
    if (result.signal !== undefined) fact(`signal ${result.signal}`);
    fact(`${duration(usage.wall_ms)} wall`);
    fact(`${duration(usage.cpu_ms)} processor`);
    fact(`${bytes(usage.peak_memory_bytes)} memory at most`);
    fact(`${bytes(result.output_bytes)} output`);
    if (usage.oom_kills) fact(`${usage.oom_kills} killed for memory`);
    if (usage.forks_refused) fact(`${usage.forks_refused} forks refused`);
    this.#end.replaceChildren(facts);
    if (error && !this.#said.has(error)) this.#end.append(make("p", { class: "reason wrong" }, ...nodes(error)));
    if (traceback && ![...this.#said].length) this.#end.append(make("pre", { class: "reason" }, ...nodes(traceback)));
    for (const warning of result.warnings.filter((text) => !this.#said.has(text))) {
      this.#end.append(make("p", { class: "reason" }, make("span", { class: "label", text: "warning" }), ...nodes(warning)));
    }
    const network = result.network.map(({ host, port, verdict, rule, reason, count, bytes_sent: sent, bytes_received: got }) =>
      ({ host: `${host}:${port}`, verdict, why: rule ?? reason ?? "", times: count, sent: bytes(sent), received: bytes(got) }));
    if (network.length) this.#end.append(make("div", { class: "event" }, make("span", { class: "label", text: "network" }), recordTable(network)));
    const files = result.files.map((file) => ({ path: file.name, size: file.size }));
    const fetched = async (file) => save(await (await ask(path("v1/runs", this.id, "files", file))).blob(), file);
    if (files.length) this.#end.append(fileList(make("ul", { class: "files" }), files, fetched));
    this.#end.hidden = false;
    this.element.classList.add("over");
    announce(`The run ended: ${verdictWord(result.verdict)}, ${duration(usage.wall_ms)}`);
    this.onEnd(result);
  }
}

function shortArgs(args) {
  const text = JSON.stringify(args) ?? "";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
