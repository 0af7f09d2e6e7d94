// The server, as the page asks it. The token is in this tab's storage and in one header, nowhere
// else; addresses are relative, so the page also works below a path of a reverse proxy.

const KEPT = "belljar-token";

export const token = {
  get: () => sessionStorage.getItem(KEPT),
  keep: (text) => sessionStorage.setItem(KEPT, text),
  forget: () => sessionStorage.removeItem(KEPT),
};

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
    this.field = problem.field;
  }
}

/** The server did not answer. */
export class Unreachable extends Error {
  constructor() { super("the server cannot be reached"); }
}

/** A path of which a part was chosen by somebody else. It stays below the part before. */
export function path(...parts) {
  const names = parts.flatMap((part) => String(part).split("/"));
  if (names.some((name) => name === "." || name === "..")) throw new Error("there is no such file");
  return names.map(encodeURIComponent).join("/");
}

/** Asks. The answer is one that the server gave gladly; otherwise `Refused` or `Unreachable`. */
export async function ask(address, { method = "GET", body, json, headers = {}, signal } = {}) {
  const sent = new Headers(headers);
  const text = token.get();
  if (text) sent.set("Authorization", `Bearer ${text}`);
  if (json !== undefined) sent.set("Content-Type", "application/json");
  let answer;
  try {
    answer = await fetch(address, {
      method, headers: sent, signal, body: json === undefined ? body : JSON.stringify(json),
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (answer.ok) return answer;
  let problem = {};
  try { problem = await answer.json(); } catch { /* It is not from this server, but from one before it. */ }
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("unauthorized", { detail: problem.detail }));
  throw new Refused(answer.status, problem);
}

/** Asks for JSON. */
export const askJson = async (address, options) => (await ask(address, options)).json();

/** Begins a run, and says its id. It goes on when this page is closed. */
export async function begin(address, request) {
  const answer = await askJson(address, { method: "POST", json: request, headers: { Prefer: "respond-async" } });
  return answer.id;
}

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

/**
 * The events of a run, from the first to the verdict. When the connection breaks, it asks again from
 * where it was: each event comes once. `lost` is told when it waits for the server, and when not.
 */
export async function* follow(id, signal, lost = () => {}) {
  let [next, failures] = [0, 0];
  while (!signal.aborted) {
    try {
      const address = `${path("v1/runs", id, "events")}?from=${next}`;
      const answer = await ask(address, { headers: { Accept: "application/x-ndjson" }, signal });
      for await (const line of lines(answer.body)) {
        const event = read(line);
        [next, failures] = [event.seq + 1, 0];
        lost(false);
        yield event;
        if (event.type === "ended") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      // 429 and 5xx pass; a run that is not there will not come.
      if (error instanceof Refused && error.status < 429) throw error;
    }
    failures += 1;
    lost(failures > 1);
    await pause(Math.min(250 * 2 ** failures, 5000), signal);
  }
}

/** An event. Whole numbers that JavaScript would round are kept digit by digit, where it can. */
function read(line) {
  if (!/\d{16}/.test(line) || !JSON.rawJSON) return JSON.parse(line);
  return JSON.parse(line, (_, value, { source }) => {
    const isRounded = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isRounded && /^-?\d+$/.test(source) ? JSON.rawJSON(source) : value;
  });
}

/** The lines of a body as they come. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    // The pieces of a line are put together once: a line may be long, and come in many.
    let pieces = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const [first, ...others] = value.split("\n");
      pieces.push(first);
      for (const piece of others) {
        const line = pieces.join("");
        pieces = [piece];
        if (line) yield line;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Does something again and again: soon after it is done, not while the page is hidden, and at once
 * when the page is seen again or `now` is called. It ends with `signal`.
 */
export function repeat(act, ms, signal) {
  let [timer, isBusy, isWanted] = [0, false, false];
  const now = async () => {
    if (isBusy) { isWanted = true; return; }
    clearTimeout(timer);
    if (signal.aborted) return;
    isBusy = true;
    try { if (!document.hidden) await act(); } finally { isBusy = false; }
    if (signal.aborted) return;
    timer = setTimeout(now, isWanted ? 0 : ms());
    isWanted = false;
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) now(); }, { signal });
  now();
  return now;
}
