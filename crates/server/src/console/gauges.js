// How busy the server is: runs, sessions, and the cells of each sandbox.

import { Unreachable, askJson, repeat } from "./api.js";
import { at, make, notice, reconcile, say, show } from "./dom.js";
import { bytes, visible } from "./text.js";

export class Gauges {
  #seen;
  #names = "";

  /** `seen` is told the sandboxes whenever there are others. */
  constructor(seen, signal) {
    this.#seen = seen;
    this.refresh = repeat(() => this.#load(), () => 2000, signal);
  }

  async #load() {
    try {
      const [status, { sandboxes }] = await Promise.all([askJson("v1/status"), askJson("v1/sandboxes")]);
      this.#draw(status, sandboxes);
      notice(status.is_draining ? "The server is about to end: it takes no more runs." : "");
    } catch (error) {
      if (error instanceof Unreachable) notice("The server cannot be reached. Trying again.");
    }
  }

  #draw(status, sandboxes) {
    const gauges = [
      { name: "running", value: status.runs.running, most: status.runs.most },
      { name: "waiting", value: status.runs.waiting },
      { name: "sessions", value: status.sessions.open, most: status.sessions.most },
    ];
    reconcile(at("gauges"), gauges, (gauge) => gauge.name, createGauge, updateGauge);
    show(at("gauges"), true);
    say(at("server"), `${visible(status.version, 40)} · ${visible(status.engine, 40)}`);
    show(at("server"), true);
    reconcile(at("sandboxes"), sandboxes, (sandbox) => sandbox.name, createSandbox, updateSandbox);
    drawProtections(status.protections);
    const names = sandboxes.map((sandbox) => sandbox.name);
    if (names.join("\n") !== this.#names) {
      this.#names = names.join("\n");
      this.#seen(names);
    }
  }
}

function createGauge({ name, most }) {
  const track = most && make("span", { class: "track", "aria-hidden": "true" }, make("span", { class: "fill" }));
  const number = make("dd", {}, make("span", { class: "value" }), make("span", { class: "of" }));
  return make("div", {}, make("dt", { text: name }), number, track);
}

function updateGauge(element, { value, most }) {
  say(element.querySelector(".value"), String(value));
  if (!most) return;
  say(element.querySelector(".of"), ` / ${most}`);
  element.querySelector(".fill").style.width = `${Math.min(100, (100 * value) / most)}%`;
}

function createSandbox(sandbox) {
  const top = make("div", { class: "top" }, make("span", { class: "name", text: visible(sandbox.name, 60) }), make("span", { class: "python" }));
  const track = make("div", { class: "squares", "aria-hidden": "true" });
  const details = make("details", {}, make("summary", { text: "Limits and tools" }), make("dl"));
  return make("li", {}, top, track, make("span", { class: "cells" }), details);
}

function updateSandbox(element, sandbox) {
  const { cells, limits } = sandbox;
  say(element.querySelector(".python"), sandbox.python ? `Python ${visible(sandbox.python, 20)}` : "not used yet");
  const used = cells ? `${cells.in_use} in use, ${cells.idle} ready, ${cells.capacity} at most` : "cells are made when it is first used";
  say(element.querySelector(".cells"), used);
  drawCells(element.querySelector(".squares"), cells?.in_use ?? 0, cells?.idle ?? 0);
  const facts = [
    ["time", `${limits.execution_timeout_sec} s`],
    ["memory", bytes(limits.memory_mb * 1024 * 1024)],
    ["processors", String(limits.cpu_quota)],
    ["output", bytes(limits.max_output_bytes)],
    ["hosts", sandbox.allowed_hosts.length ? sandbox.allowed_hosts.map(shortName).join(", ") : "none"],
    ["packages", sandbox.dependencies.length ? sandbox.dependencies.map(shortName).join(", ") : "none"],
    ["tools", sandbox.tools?.length ? sandbox.tools.map(shortName).join(", ") : "none"],
  ];
  const list = element.querySelector("dl");
  reconcile(list, facts.flatMap(([name, text]) => [{ tag: "dt", name, text: name }, { tag: "dd", name, text }]),
    (fact) => `${fact.tag} ${fact.name}`, (fact) => make(fact.tag), (item, fact) => say(item, fact.text));
}

/** A square for each cell that there is. */
function drawCells(place, inUse, idle) {
  const kinds = [...Array(Math.min(inUse, 64)).fill("in-use"), ...Array(Math.min(idle, 64)).fill("idle")];
  while (place.children.length > kinds.length) place.lastChild.remove();
  while (place.children.length < kinds.length) place.append(make("span"));
  kinds.forEach((kind, index) => { place.children[index].className = kind; });
}

/** What a config or a tool's author wrote: a text, or an object with a name. */
const shortName = (thing) => visible(typeof thing === "string" ? thing : (thing.name ?? thing.host ?? JSON.stringify(thing)), 60);

function drawProtections(protections) {
  const [place, active] = [at("protections"), protections.filter((it) => it.is_active).length];
  const [summary, list] = place.children;
  say(summary, `${active} of ${protections.length} protections are active`);
  const text = (it) => `${visible(it.name, 40)}${it.is_active ? "" : " (off)"}`;
  reconcile(list, protections, (it) => it.name, () => make("li"), (item, it) => {
    say(item, text(it));
    item.className = it.is_active ? "" : "off";
  });
  show(place, protections.length > 0);
}
