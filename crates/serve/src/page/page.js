// What is asked lives in this tab and in the fragment of its address: two tabs do not disturb each other, and an address
// that is copied asks the same. The server draws and phrases; here questions are put and answers are placed.
import { $, SIMULATION, Place, ask, heartbeat } from "./ask.js";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, text = "", properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text }, properties);

const STEPS_OF_TWO = 20; // steps of a slider from one factor to twice that
const MOST_COMPARED = 6;
const TABS = all("[role=tab]");
const values = (select) => [...select.options].map((option) => option.value);
const KERNELS = values($("#kernel")), GPUS = values($("#gpu"));

// --- the state, and the address that holds it

const state = {};

function read() {
  const query = new URLSearchParams(location.hash.slice(1));
  const one = (name, known, usual) => (known.includes(query.get(name)) ? query.get(name) : usual);
  const several = (name, known) => query.getAll(name).filter((value) => known.includes(value));
  state.view = one("view", TABS.map((tab) => tab.id.slice(4)), "graph");
  state.kernel = one("kernel", KERNELS, KERNELS[0]);
  state.gpu = one("gpu", GPUS, GPUS[0]);
  state.set = new Map(query.getAll("set").filter((text) => text.includes("="))
    .map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]));
  state.without = new Set(query.getAll("without"));
  state.prices = one("prices", values($("#prices-model")), values($("#prices-model"))[0]);
  state.model = one("model", values($("#compare-model")), values($("#compare-model"))[0]);
  state.lines = one("lines", values($("#lines")), "auto");
  state.baseline = query.get("against") ?? "";
  state.simulate = query.get("simulate") !== "no";
  state.kernels = several("with", KERNELS);
  state.gpus = several("on", GPUS);
  if (state.kernels.length === 0) state.kernels = KERNELS.slice(0, MOST_COMPARED);
  if (state.gpus.length === 0) state.gpus = KERNELS.length > 1 ? [state.gpu] : GPUS.slice(0, MOST_COMPARED);
}

function write() {
  const query = new URLSearchParams({ view: state.view, kernel: state.kernel, gpu: state.gpu });
  for (const text of changes()) query.append(...text);
  if (state.view === "prices") query.append("prices", state.prices);
  if (state.view === "listing") query.append("lines", state.lines);
  if (!state.simulate) query.append("simulate", "no");
  if (state.view === "compare") {
    state.kernels.forEach((name) => query.append("with", name));
    state.gpus.forEach((name) => query.append("on", name));
    query.append("model", state.model);
    if (state.baseline) query.append("against", state.baseline);
  }
  history.replaceState(null, "", `#${query}`);
}

/** What is supposed, as parameters of a question. */
const changes = () => [...state.set].map(([name, value]) => ["set", `${name}=${value}`])
  .concat([...state.without].map((name) => ["without", name]));

const question = (...more) =>
  new URLSearchParams([["kernel", state.kernel], ["gpu", state.gpu], ...more]).toString();

const far = (reply) => {
  if (reply.waits) return "waits for another answer";
  const steps = reply.total > 1 ? `, step ${Math.min(reply.done + 1, reply.total)} of ${reply.total}` : "";
  return `${reply.simulates ? "simulating" : "working"} for ${reply.seconds.toFixed(1)} s${steps}`;
};

function progress(bar, reply) {
  const steps = !reply.waits && reply.total > 1;
  if (steps) [bar.max, bar.value] = [reply.total, reply.done];
  else bar.removeAttribute("value");
  bar.setAttribute("aria-label", "how far the answer is");
}

/** A box of a panel that shows answers as the server renders them. */
function panel(name, view = name, after = () => {}) {
  const box = $(`.result[data-view="${name}"]`);
  const shown = make("div", "", { className: "shown" });
  const status = make("div", "", { className: "progress", hidden: true });
  const bar = make("progress"), words = make("span");
  status.append(bar, words);
  box.replaceChildren(status, shown);
  const place = new Place(view, {
    begun: () => box.setAttribute("aria-busy", "true"),
    running: (reply) => {
      status.hidden = false;
      words.textContent = far(reply);
      progress(bar, reply);
    },
    done: (reply, query) => {
      box.removeAttribute("aria-busy");
      status.hidden = true;
      if (reply.state === "done") answered(shown, reply, view, query);
      else shown.replaceChildren(refusal(reply));
      after(reply, query);
    },
  });
  place.hint = (text) => {
    place.forget();
    box.removeAttribute("aria-busy");
    status.hidden = true;
    shown.replaceChildren(make("p", text, { className: "hint" }));
  };
  return place;
}

function answered(shown, reply, view, query) {
  shown.innerHTML = reply.html; // The server escapes names and lines; the policy of the page lets nothing in it run.
  for (const tools of all(".tools", shown)) tools.hidden = false;
  const told = make("div", "", { className: "told" });
  const copy = make("button", "Copy", { type: "button" }), save = make("button", "Save data", { type: "button" });
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(reply.command);
    copy.textContent = "Copied";
  });
  save.addEventListener("click", async () => {
    save.textContent = "Saving";
    download(await ask(view, query, new AbortController().signal, () => {}, "data"));
    save.textContent = "Save data";
  });
  const command = make("code", reply.command, { tabIndex: 0 });
  command.setAttribute("aria-label", "the command that says the same");
  told.append(make("span", took(reply.milliseconds)), command, copy, save);
  shown.append(told);
}

const took = (time) => `answered in ${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;

function refusal(reply) {
  const box = make("div", "", { className: "refused" });
  box.setAttribute("role", "alert");
  for (const text of [reply.message, ...(reply.details ?? []), reply.help]) if (text) box.append(make("p", text));
  return box;
}

function download(data) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
  make("a", "", { href: address, download: "warplens.json" }).click();
  URL.revokeObjectURL(address);
}

// --- the headline

function card(id) {
  const box = $(id), time = $(".time", box), bound = $(".bound", box), status = $(".progress", box);
  const title = $("h2", box), name = title.textContent;
  const idle = () => {
    box.classList.remove("old");
    if (status) status.hidden = true;
  };
  return new Place("answer", {
    begun: () => {
      box.classList.add("old");
      // Before the first answer there is nothing to look at.
      if (!status || time.textContent.trim() !== "") return;
      status.hidden = false;
      $("span", status).textContent = "simulating";
    },
    running: (reply) => {
      if (!status) return;
      status.hidden = false;
      progress($("progress", status), reply);
      $("span", status).textContent = far(reply);
    },
    done: (reply) => {
      idle();
      const told = reply.state === "done" ? reply.extra : { refused: reply.message };
      title.textContent = told.model ? `${name}: ${told.model}` : name;
      time.textContent = told.time ?? "no answer";
      const line = told.line ? ` at ${told.line}` : "";
      bound.textContent = told.refused ?? `bound by ${told.bound}, ${told.share} of the time${line}`;
    },
  });
}

// --- sliders, effects and the list of what is supposed

const SLIDERS = all(".slider").map((box) => ({
  name: box.dataset.name, box, input: $("input", box), output: $("output", box), about: "", of: undefined,
}));
const EFFECTS = all("[data-without]");

const factor = (step) => `${Number((2 ** (step / STEPS_OF_TWO)).toPrecision(3))}x`;

function step(text) {
  const number = /^[\d.]+x$/.test(text ?? "") ? Number.parseFloat(text) : 1;
  return Math.max(-40, Math.min(40, Math.round(STEPS_OF_TWO * Math.log2(number)) || 0));
}

function controls() {
  for (const slider of SLIDERS) {
    const text = state.set.get(slider.name);
    slider.input.value = step(text);
    slider.box.classList.toggle("set", text !== undefined);
    // The value behind a colon is that of the graph; while another one is drawn there is none.
    const value = slider.about && slider.of === text ? `${text ?? "as is"}: ${slider.about}` : text ?? "as is";
    slider.output.textContent = value;
    slider.input.setAttribute("aria-valuetext", value);
  }
  for (const box of EFFECTS) box.checked = state.without.has(box.dataset.without);
  const chips = changes().map(([kind, text]) => {
    const words = kind === "set" ? text : `without ${text}`;
    const button = make("button", `${words} \u00d7`, { type: "button" });
    button.setAttribute("aria-label", `take back ${words}`);
    button.addEventListener("click", () => {
      if (kind === "set") state.set.delete(text.slice(0, text.indexOf("=")));
      else state.without.delete(text);
      changed();
      ($("#chips button") ?? $(`#tab-${state.view}`)).focus();
    });
    const item = make("li");
    item.append(button);
    return item;
  });
  $("#chips").replaceChildren(...chips);
  $("#no-chips").hidden = chips.length > 0;
  $("#reset").hidden = chips.length === 0;
}

/** The values of the knobs that the X-graph was drawn with. */
function knobs(reply, query) {
  if (reply.state !== "done") return;
  const drawn = new Map(new URLSearchParams(query).getAll("set").map((text) => text.split("=")));
  for (const slider of SLIDERS) {
    const known = reply.extra.knobs[slider.name];
    if (known === undefined) continue;
    slider.box.classList.toggle("none", known === null);
    slider.input.disabled = known === null;
    slider.about = known === null ? "not here" : known.after;
    slider.of = drawn.get(slider.name);
  }
  controls();
}

for (const slider of SLIDERS) {
  slider.input.addEventListener("input", () => {
    const at = Number(slider.input.value);
    if (at === 0) state.set.delete(slider.name);
    else state.set.set(slider.name, factor(at));
    changed();
  });
}
for (const box of EFFECTS) {
  box.addEventListener("change", () => {
    state.without[box.checked ? "add" : "delete"](box.dataset.without);
    changed();
  });
}
$("#reset").addEventListener("click", () => {
  state.set.clear();
  state.without.clear();
  changed();
  $(`#tab-${state.view}`).focus();
});
$("#own").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("#own-name"), value = $("#own-value");
  if (name.value.trim() === "" || value.value.trim() === "") return (name.value.trim() ? value : name).focus();
  state.set.set(name.value.trim(), value.value.trim());
  name.value = value.value = "";
  changed();
  name.focus();
});
for (const form of all("form")) form.addEventListener("submit", (event) => event.preventDefault());

// --- views

const simulated = card("#card-simulated"), closed = card("#card-closed");
const graph = panel("graph", "graph", knobs), prices = panel("prices");
// A question that makes no sense is refused once.
const whatif = panel("whatif", "whatif", (reply, query) => {
  if (reply.state === "done") simulate(query);
  else also.hint("There is no question to simulate.");
});
const also = panel("whatif-simulated", "whatif"), compare = panel("compare"), listing = panel("listing");
const answer = panel("answer");
const nothing = () => {};
const pricing = new Place("prices", { begun: nothing, running: nothing, done: price }, "data");

/** The share of the time that each effect costs, beside it. */
function price(reply) {
  const rows = reply.prices ?? [];
  for (const box of EFFECTS) {
    const share = rows.find((row) => row.effect === box.dataset.without)?.share;
    const shown = $(".price", box.parentElement);
    shown.textContent = share ? `${(100 * share).toFixed(1)} %` : "";
    shown.classList.toggle("much", share >= 0.05);
  }
}

/** Asks the simulation what the closed forms were asked. */
function simulate(query) {
  const asked = changes();
  const known = asked.some(([kind, text]) => kind === "without" || !text.startsWith("x-model."));
  if (!state.simulate) also.hint("Questions are not simulated.");
  else if (!known) also.hint("What is supposed are quantities of the X-model, which the simulation does not have.");
  else if (query === question(...asked)) also.want(question(["model", SIMULATION], ...asked));
}

const VIEWS = {
  graph: () => graph.want(question(...changes())),
  whatif: () => {
    const asked = changes();
    $("#pricing").textContent = state.prices;
    pricing.want(question(["model", state.prices]));
    if (asked.length === 0) {
      whatif.hint("Nothing is supposed. Move a slider, take an effect away, or name a parameter below.");
      return also.hint("The simulation answers the same question, a few seconds later.");
    }
    if (whatif.shown === question(...asked)) simulate(whatif.shown);
    else whatif.want(question(...asked));
  },
  prices: () => prices.want(question(["model", state.prices])),
  compare: () => {
    if (state.kernels.length * state.gpus.length < 2) {
      const served = KERNELS.length * GPUS.length < 2;
      return compare.hint(served
        ? "One kernel on one GPU is served: start warplens serve with several inputs, or with --gpu a,b."
        : "Choose two kernels or two GPUs.");
    }
    const against = state.baseline ? [["baseline", state.baseline]] : [];
    compare.want(new URLSearchParams([...state.kernels.map((name) => ["kernel", name]),
      ...state.gpus.map((name) => ["gpu", name]), ["model", state.model], ...against]).toString());
  },
  listing: () => listing.want(question(["lines", state.lines])),
  answer: () => answer.want(question()),
};

function changed() {
  write();
  controls();
  $("#kernel").value = state.kernel;
  $("#gpu").value = state.gpu;
  $("#prices-model").value = state.prices;
  $("#compare-model").value = state.model;
  $("#lines").value = state.lines;
  $("#simulate").checked = state.simulate;
  $("#title-kernel").textContent = state.kernel;
  $("#title-gpu").textContent = state.gpu;
  document.title = `${state.kernel} on ${state.gpu} - warplens`;
  comparison();
  for (const tab of TABS) {
    const chosen = tab.id === `tab-${state.view}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    $(`#panel-${tab.id.slice(4)}`).hidden = !chosen;
  }
  closed.want(question());
  // Its simulation is the one that is wanted first; that of the headline comes after it.
  VIEWS[state.view]();
  simulated.want(question(["model", SIMULATION]));
}

function comparison() {
  for (const box of all("[data-compared]")) box.checked = state[`${box.dataset.compared}s`].includes(box.value);
  const names = [...(state.kernels.length > 1 ? state.kernels : []), ...(state.gpus.length > 1 ? state.gpus : [])];
  if (!names.includes(state.baseline)) state.baseline = "";
  const options = [make("option", "the first", { value: "" }), ...names.map((name) => make("option", name, { value: name }))];
  $("#baseline").replaceChildren(...options);
  $("#baseline").value = state.baseline;
}

const choose = (selector, name, of = "value") =>
  $(selector).addEventListener("change", (event) => {
    state[name] = event.target[of];
    changed();
  });
choose("#kernel", "kernel");
choose("#gpu", "gpu");
choose("#prices-model", "prices");
choose("#compare-model", "model");
choose("#lines", "lines");
choose("#baseline", "baseline");
choose("#simulate", "simulate", "checked");
for (const box of all("[data-compared]")) {
  box.addEventListener("change", () => {
    const list = `${box.dataset.compared}s`, known = list === "kernels" ? KERNELS : GPUS;
    const chosen = new Set(state[list]);
    chosen[box.checked ? "add" : "delete"](box.value);
    state[list] = known.filter((name) => chosen.has(name));
    changed();
  });
}

function open(tab) {
  state.view = tab.id.slice(4);
  changed();
}
TABS.forEach((tab, at) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = TABS[(to + TABS.length) % TABS.length];
    open(next);
    next.focus();
  });
});
document.addEventListener("change", (event) => {
  const tools = event.target.closest(".tools");
  if (tools) tools.nextElementSibling.classList.toggle("counted", event.target.checked);
});
// The fragment holds the question, so that it cannot say where to go.
$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("#main").focus();
});

// --- light and dark

const root = document.documentElement, theme = $("#theme"), night = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : night.matches);
const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
night.addEventListener("change", name);
name();

window.addEventListener("hashchange", () => { read(); changed(); });
read();
changed();
heartbeat();
