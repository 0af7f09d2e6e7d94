// The console: asks for a token where one is needed, and puts the parts together.

import { Refused, Unreachable, ask, askJson, token } from "./api.js";
import { Compose } from "./compose.js";
import { at, notice, say, show } from "./dom.js";
import { SessionFiles, Workspaces } from "./files.js";
import { Gauges } from "./gauges.js";
import { RunList } from "./runs.js";
import { Transcript } from "./transcript.js";

/** Ends with what needs the token. */
let stop = null;

async function enter() {
  try {
    await ask("v1/status");
    open();
  } catch (error) {
    if (error instanceof Unreachable) {
      notice("The server cannot be reached. Trying again.");
      setTimeout(enter, 2000);
    } else if (!(error instanceof Refused && error.status === 401)) {
      notice(error.message);
    }
  }
}

/** Shows the door, and says why if a token was refused. */
function close(reason) {
  stop?.abort();
  stop = null;
  const wasGiven = token.get() !== null;
  token.forget();
  show(at("desk"), false);
  show(at("gauges"), false);
  show(at("server"), false);
  show(at("forget"), false);
  show(at("door"), true);
  say(at("token-error"), wasGiven && reason ? reason : "");
  at("token").focus();
}

/** Shows the desk. */
function open() {
  notice();
  show(at("door"), false);
  show(at("desk"), true);
  show(at("forget"), token.get() !== null);
  stop = new AbortController();
  const { signal } = stop;
  const output = new Output();
  const list = new RunList((id) => { location.hash = id; output.only(id); list.mark(id); at("output").focus(); reveal(); }, signal);
  const files = new SessionFiles(signal);
  const compose = new Compose({
    started: (run) => {
      const look = () => { list.refresh(); gauges.refresh(); };
      const transcript = output.begun(run, () => { files.refresh(); look(); });
      list.mark(run.id);
      look();
      return transcript;
    },
    placed: (session) => { files.show(session); output.session(session); },
  }, signal);
  const gauges = new Gauges((names) => compose.setSandboxes(names), signal);
  new Workspaces(signal).refresh();
  signal.addEventListener("abort", () => output.clear());
  const wanted = /^#(run_\w+)$/.exec(location.hash)?.[1];
  if (wanted) { output.only(wanted); list.mark(wanted); }
  else at("script").focus();
}

/** On a narrow page the list is below the output. */
function reveal() {
  const top = at("output").getBoundingClientRect().top;
  if (top < 0 || top > innerHeight * 0.7) at("output").scrollIntoView({ block: "start" });
}

/** The runs that are shown: one, or the steps of a session with the last on top. */
class Output {
  #shown = [];
  #session = null;

  /** Shows one run alone. */
  only(id) {
    this.clear();
    this.#add(new Transcript(id, { isOpen: true }));
  }

  /** Shows a run that was just begun. */
  begun({ id, session, script }, onEnd) {
    if (!session || this.#session !== session) this.clear();
    this.#session = session ?? null;
    return this.#add(new Transcript(id, { script, isOpen: Boolean(session), onEnd }));
  }

  /** Shows what a session has done so far. */
  async session(session) {
    if (!session || session === this.#session) return;
    this.clear();
    this.#session = session;
    try {
      const { runs } = await askJson(`v1/runs?${new URLSearchParams({ session, limit: 20 })}`);
      const isNew = (run) => !this.#shown.some((shown) => shown.id === run.id);
      if (this.#session !== session) return;
      for (const run of runs.filter(isNew).reverse()) this.#add(new Transcript(run.id, { isOpen: true }));
    } catch { /* Its steps are in the list of runs, too. */ }
  }

  clear() {
    for (const transcript of this.#shown) transcript.close();
    [this.#shown, this.#session] = [[], null];
    show(at("output-empty"), true);
  }

  #add(transcript) {
    this.#shown.unshift(transcript);
    show(at("output-empty"), false);
    at("output-title").after(transcript.element);
    // Neither the page nor its reader needs all steps of a long session.
    while (this.#shown.length > 40) this.#shown.pop().close();
    return transcript;
  }
}

document.addEventListener("unauthorized", (event) => close(event.detail));
at("forget").addEventListener("click", () => close());
at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("token").value.trim();
  at("token").value = "";
  // A header has none of the others, and a token has none of them either.
  if (!/^[\x21-\x7e]+$/.test(text)) { say(at("token-error"), "This is not a token."); return; }
  token.keep(text);
  enter();
});
enter();
