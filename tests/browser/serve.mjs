// Starts `warplens serve` and uses its page in a headless Chromium as a reader would: by keyboard, in light and dark,
// 500 pixels wide, in two tabs, and while the server goes away and comes back.
//
//     node serve.mjs WARPLENS EXAMPLES        [CHROMIUM=/usr/bin/chromium] [SCREENSHOTS=folder]
//
// Ends with 1 when a check fails, and says which.

import { chromium } from "playwright-core";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [program, examples] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const screenshots = process.env.SCREENSHOTS;
const failures = [];
const TOKEN = "browser-test-0123456789abcdef";
const HOSTILE = `<marquee onclick>&"'`;
// A kernel whose simulation takes seconds.
const LARGE = "matmul_large";
const PATIENCE = { timeout: 60_000 };
/** Milliseconds in which closed forms answer: five times what is promised, as the build of tests is slow. */
const AT_ONCE = 1000;

function check(holds, what) {
  if (!holds) failures.push(what);
}

/** A server with the token of the tests; port 0 for any. */
async function serve(port) {
  const input = (name, launch) => `${examples}/${name}/ptx/sm_80.ptx@${examples}/${name}/${launch}.toml`;
  const words = ["serve", `matmul_naive=${input("matmul_naive", "launch")}`,
    `matmul_tiled=${input("matmul_tiled", "launch-512")}`, `${HOSTILE}=${input("vector_add", "launch")}`,
    `${LARGE}=${input("matmul_tiled", "launch-2000")}`,
    "--gpu", "h200,a100-80", "--port", String(port)];
  const child = spawn(program, words, { env: { ...process.env, WARPLENS_SERVE_TOKEN: TOKEN }, stdio: ["ignore", "pipe", "inherit"] });
  const [address] = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve([line]));
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return { child, address, port: Number(new URL(address).port) };
}

function end(child, signal) {
  return new Promise((resolve) => {
    child.once("exit", (code) => resolve(code));
    child.kill(signal);
  });
}

async function open(context, address) {
  const tab = await context.newPage();
  tab.on("pageerror", (error) => failures.push(`script error: ${error.message}`));
  tab.on("console", (message) => {
    const text = message.text();
    // A server that is gone is a failed request, and so is a question that makes no sense; all else is a fault.
    if (message.type() === "error" && !/ERR_CONNECTION|status of 400/.test(text)) failures.push(`console: ${text}`);
  });
  tab.on("dialog", () => failures.push("a name of an input ran as a script"));
  tab.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.hostname !== "127.0.0.1") failures.push(`asks the network for ${url}`);
  });
  await tab.goto(address, { waitUntil: "load" });
  return tab;
}

async function shoot(tab, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await tab.screenshot({ path: join(screenshots, `serve-${name}.png`), fullPage: true });
}

const panel = (view) => `#panel-${view}`;
const result = (name) => `.result[data-view="${name}"]`;
/** Waits until a box shows the answer to what was asked last. */
const settled = (tab, name) => tab.waitForSelector(`${result(name)}:not([aria-busy]) .told`, { ...PATIENCE, state: "visible" });
const milliseconds = async (tab, name) =>
  Number.parseFloat((await tab.locator(`${result(name)} .told span`).first().textContent()).match(/([\d.]+) ms/)[1]);
const fragment = (tab) => new URLSearchParams(new URL(tab.url()).hash.slice(1));
const focused = (tab, selector) => tab.evaluate((wanted) => document.activeElement.matches(wanted), selector);

async function press(tab, key, times = 1) {
  for (let n = 0; n < times; n += 1) await tab.keyboard.press(key);
}

/** Presses Tab until something has the focus. */
async function reach(tab, selector) {
  for (let presses = 0; presses < 150; presses += 1) {
    if (await focused(tab, selector)) return true;
    await tab.keyboard.press("Tab");
  }
  failures.push(`Tab does not reach ${selector}`);
  return false;
}

async function content(tab) {
  await settled(tab, "graph");
  await tab.waitForSelector("#card-simulated:not(.old)", PATIENCE);
  for (const id of ["#card-simulated", "#card-closed"]) {
    const text = await tab.locator(`${id} .time`).textContent();
    check(/\d+ [num]s/.test(text), `${id} has no time: ${text}`);
  }
  check((await tab.locator(`${result("graph")} svg path`).count()) >= 2, "the X-graph has no curves");
  check((await tab.locator(".slider").count()) >= 30, "knobs have no sliders");
  const unnamed = await tab.evaluate(() =>
    [...document.querySelectorAll("input, select, button, [tabindex='0']")]
      .filter((one) => !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label")))
      .map((one) => one.id || one.outerHTML.slice(0, 60)));
  check(unnamed.length === 0, `has no name for a screen reader: ${unnamed}`);
  check(await tab.evaluate((name) => [...document.querySelectorAll("#kernel option")].some((o) => o.text === name), HOSTILE),
    "a name of an input is not shown as it is");
}

async function keyboard(tab) {
  await tab.locator("body").press("Tab");
  check(await focused(tab, ".skip"), "Tab does not reach the skip link");
  await press(tab, "Enter");
  check(await focused(tab, "#main"), "the skip link does not skip");
  await reach(tab, "#tab-graph");
  await reach(tab, "#s-x-model-n");
  await press(tab, "ArrowLeft", 20);
  await tab.waitForFunction(() => document.querySelector("#o-x-model-n").textContent.startsWith("0.5x: "), null, PATIENCE);
  await settled(tab, "graph");
  check(fragment(tab).get("set") === "x-model.n=0.5x", `the address holds ${fragment(tab).get("set")}`);
  const outline = await tab.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  check(outline !== "none", "the focus cannot be seen");
  check((await tab.locator(`${result("graph")} svg`).textContent()).includes("after"), "the X-graph shows nothing after a change");
  const time = await milliseconds(tab, "graph");
  check(time < AT_ONCE, `the X-graph took ${time} ms`);
  await shoot(tab, "graph");
  await tab.locator("#chips button").focus();
  await press(tab, "Enter");
  check(!fragment(tab).has("set"), "a supposition is not taken back by Enter");
  check(await focused(tab, "#tab-graph"), "the focus is lost behind a supposition");
  await press(tab, "ArrowRight");
  check((await focused(tab, "#tab-whatif")) && (await tab.locator(panel("whatif")).isVisible()), "arrows do not choose a view");
  await press(tab, "End");
  check(await tab.locator(panel("answer")).isVisible(), "End does not choose the last view");
  await settled(tab, "answer");
  await shoot(tab, "answer");
  await press(tab, "Home");
  check(await tab.locator(panel("graph")).isVisible(), "Home does not choose the first view");
}

async function whatif(tab) {
  await tab.locator("#tab-whatif").press("Enter");
  await tab.locator("[data-without=memory-latency]").press("Space");
  await settled(tab, "whatif");
  check((await tab.locator(`${result("whatif")} tr`).count()) >= 6, "a question is not answered by the models");
  await tab.locator("#s-dram-bandwidth").focus();
  await press(tab, "ArrowRight", 20);
  await settled(tab, "whatif");
  const time = await milliseconds(tab, "whatif");
  check(time < AT_ONCE, `a question took ${time} ms`);
  await settled(tab, "whatif-simulated");
  check((await tab.locator(result("whatif-simulated")).textContent()).includes("teg"), "a question is not simulated");
  await shoot(tab, "whatif");
  await tab.locator("#own-name").fill("dram.bandwith");
  await tab.locator("#own-value").fill("2x");
  await tab.locator("#own-value").press("Enter");
  const refusal = tab.locator(`${result("whatif")} .refused`);
  await refusal.waitFor(PATIENCE);
  check((await refusal.textContent()).includes("did you mean `dram.bandwidth`?"), "a misspelled name gets no help");
  await shoot(tab, "refused");
  await tab.locator("#reset").press("Enter");
  check((await tab.locator("#chips li").count()) === 0, "not everything is taken back");
}

async function others(tab) {
  await tab.locator("#tab-prices").click();
  await settled(tab, "prices");
  check((await tab.locator(`${result("prices")} tr`).count()) >= 14, "not every effect has a price");
  const time = await milliseconds(tab, "prices");
  check(time < AT_ONCE, `the prices took ${time} ms`);
  await shoot(tab, "prices");
  const kernel = await tab.locator("#kernel").inputValue();
  // Seconds of simulation on any machine, of which something is seen.
  await tab.locator("#kernel").selectOption(LARGE);
  await tab.locator("#prices-model").selectOption("teg");
  await tab.waitForSelector(`${result("prices")} .progress:not([hidden])`, PATIENCE);
  await shoot(tab, "progress");
  await settled(tab, "prices");
  await tab.locator("#kernel").selectOption(kernel);
  await tab.locator("#tab-compare").click();
  await settled(tab, "compare");
  check((await tab.locator(`${result("compare")} tr`).count()) >= 4, "kernels are not compared");
  for (const gpu of await tab.locator("[data-compared=gpu]").all()) await gpu.check();
  await settled(tab, "compare");
  check((await milliseconds(tab, "compare")) < 2 * AT_ONCE, "a comparison on two GPUs takes long");
  await shoot(tab, "compare");
  await tab.locator("#tab-listing").click();
  await settled(tab, "listing");
  check((await tab.locator(`${result("listing")} .listing tr`).count()) > 5, "there is no listing");
  check((await tab.locator(`${result("listing")} .listing`).first().textContent()).includes("long_scoreboard"), "the listing has no stalls");
  await shoot(tab, "listing");
}

/** Brightness of the page and of its text, 0 to 255. */
const brightness = (tab) => tab.evaluate(() => {
  const mean = (color) => color.match(/\d+/g).slice(0, 3).map(Number).reduce((sum, part) => sum + part, 0) / 3;
  const style = getComputedStyle(document.body);
  return { ground: mean(style.backgroundColor), text: mean(style.color) };
});

async function dark(browser, address) {
  const context = await browser.newContext({ colorScheme: "dark", viewport: { width: 1280, height: 900 } });
  const tab = await open(context, address);
  await settled(tab, "graph");
  const at = await brightness(tab);
  check(at.ground < 60 && at.text > 180, "is not readable in the dark");
  await shoot(tab, "dark");
  await tab.locator("#theme").press("Enter");
  check((await brightness(tab)).ground > 200, "the button does not leave the dark");
  await context.close();
}

async function narrow(browser, address) {
  const context = await browser.newContext({ viewport: { width: 500, height: 900 } });
  const tab = await open(context, address);
  for (const view of ["graph", "whatif", "prices", "compare", "listing", "answer"]) {
    await tab.locator(`#tab-${view}`).click();
    if (view === "whatif") await tab.locator("[data-without=uncoalesced]").check();
    await settled(tab, view);
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wide <= 0, `${view} is ${wide} pixels wider than a narrow window`);
    await shoot(tab, `narrow-${view}`);
  }
  await context.close();
}

async function twoTabs(context, address) {
  const one = await open(context, `${address}#view=graph&kernel=matmul_naive&gpu=h200&set=x-model.Z%3D2x`);
  const other = await open(context, `${address}#view=prices&kernel=matmul_tiled&gpu=a100-80`);
  await settled(one, "graph");
  await settled(other, "prices");
  await other.locator("#gpu").selectOption("h200");
  await settled(other, "prices");
  check((await one.locator("#title-gpu").textContent()) === "h200" && (await one.locator("#kernel").inputValue()) === "matmul_naive",
    "a tab follows another");
  check((await one.locator("#s-x-model-Z").inputValue()) === "20", "an address does not turn its slider");
  await one.reload();
  await settled(one, "graph");
  check((await one.locator("#chips").textContent()).includes("x-model.Z=2x"), "a question is lost when a tab loads again");
  await one.close();
  await other.close();
}

async function killed(tab, server) {
  await tab.locator("#tab-graph").click();
  await end(server.child, "SIGKILL");
  await tab.locator("#gone").waitFor({ ...PATIENCE, state: "visible" });
  await tab.locator("#s-x-model-n").focus();
  await press(tab, "ArrowLeft", 10);
  check((await tab.locator(`${result("graph")} svg`).count()) > 0, "what was shown is lost with the server");
  await shoot(tab, "gone");
  const again = await serve(server.port);
  await tab.locator("#gone").waitFor({ ...PATIENCE, state: "hidden" });
  await tab.waitForFunction(() => document.querySelector("#o-x-model-n").textContent.startsWith("0.707x: "), null, PATIENCE);
  await settled(tab, "graph");
  return again;
}

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
let server = await serve(0);
try {
  const context = await browser.newContext({ colorScheme: "light", viewport: { width: 1280, height: 900 } });
  const stranger = await context.request.get(server.address.replace(TOKEN, "x".repeat(32)));
  check(stranger.status() === 404 && (await stranger.text()) === "", "a wrong token is told something");
  const tab = await open(context, `${server.address}#kernel=matmul_tiled`);
  await content(tab);
  await keyboard(tab);
  await whatif(tab);
  await others(tab);
  await dark(browser, server.address);
  await narrow(browser, server.address);
  await twoTabs(context, server.address);
  server = await killed(tab, server);
} catch (error) {
  failures.push(error.message);
} finally {
  await browser.close();
  check((await end(server.child, "SIGINT")) === 0, "Ctrl-C does not end the server with 0");
}
failures.forEach((failure) => console.error(failure));
console.log(`the live page, ${failures.length} failures`);
process.exitCode = failures.length > 0 ? 1 : 0;
