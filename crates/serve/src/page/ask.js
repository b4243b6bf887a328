// The server as the page sees it: questions are put until there is an answer, and it is told when nobody answers.

const RETRY = 1000, HEARTBEAT = 2000, SILENCE = 8000; // milliseconds
const OTHER = "A server is there that has another address: open the one that it printed.";
const ENDED = "It was ended, or it is busy. Start it again with the same --port and token, and this page goes on.";
/** The model that takes its time. */
export const SIMULATION = "teg";

export const $ = (selector, within = document) => within.querySelector(selector);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const link = $("#link"), gone = $("#gone");

function found() {
  if (gone.hidden) return;
  gone.hidden = true;
  link.className = "";
  link.textContent = "connected";
}

function lost(why) {
  $("#gone-why").textContent = why;
  if (!gone.hidden) return;
  gone.hidden = false;
  link.className = "lost";
  link.textContent = "no server";
}

/** Asks until there is an answer; tells how far it is, and waits for a server that went away. */
export async function ask(view, query, signal, running, form = "ask") {
  for (;;) {
    let reply;
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(SILENCE)]);
      const response = await fetch(`${form}/${view}?${query}`, { signal: limit });
      if (response.status === 404) {
        lost(OTHER);
        reply = null;
      } else {
        reply = await response.json();
      }
    } catch (error) {
      if (signal.aborted) throw error;
      lost(ENDED);
      reply = null;
    }
    signal.throwIfAborted();
    if (reply === null) {
      await pause(RETRY);
      continue;
    }
    found();
    if (reply.state !== "running") return reply;
    running(reply);
  }
}

export async function heartbeat() {
  for (;;) {
    await pause(HEARTBEAT);
    if (document.hidden) continue;
    try {
      const response = await fetch("page.css", { method: "HEAD", signal: AbortSignal.timeout(SILENCE) });
      if (response.ok) found();
      else lost(OTHER);
    } catch {
      lost(ENDED);
    }
  }
}

// --- a place for the answers to one kind of question

/** Asks one question at a time; of those that come meanwhile, the last. */
export class Place {
  constructor(view, { begun, running, done }, form = "ask") {
    Object.assign(this, { view, begun, running, done, form, wanted: null, shown: null, busy: false });
  }

  want(query) {
    if (query === this.wanted) return;
    this.wanted = query;
    // What is simulated is given up; what answers at once is awaited, so that a slider draws while it moves.
    if (this.waits) this.controller.abort();
    if (!this.busy) this.run();
  }

  async run() {
    this.busy = true;
    while (this.wanted !== null && this.wanted !== this.shown) {
      const query = this.wanted;
      this.controller = new AbortController();
      this.waits = query.includes(`model=${SIMULATION}`) || this.view === "listing";
      this.begun();
      try {
        const reply = await ask(this.view, query, this.controller.signal, (reply) => {
          this.waits = true;
          this.running(reply);
        }, this.form);
        this.shown = query;
        this.done(reply, query);
      } catch (error) {
        if (!this.controller.signal.aborted) throw error;
      }
      this.waits = false;
    }
    this.busy = false;
  }

  /** Nothing is asked any more. */
  forget() {
    this.wanted = this.shown = null;
    if (this.busy) this.controller.abort();
  }
}
