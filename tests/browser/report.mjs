// Opens report pages in a headless Chromium, without a network, and uses them as a reader would.
//
//     node report.mjs PAGE.html...        [CHROMIUM=/usr/bin/chromium] [SCREENSHOTS=folder]
//
// Ends with 1 when a page fails a check, and says which.

import { chromium } from "playwright-core";
import { mkdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const LARGEST_BYTES = 6 * 1024 * 1024;
const pages = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const screenshots = process.env.SCREENSHOTS;
const failures = [];

function check(page, holds, what) {
  if (!holds) failures.push(`${basename(page)}: ${what}`);
}

async function open(browser, page, colorScheme) {
  const context = await browser.newContext({ offline: true, colorScheme, viewport: { width: 1280, height: 900 } });
  const tab = await context.newPage();
  tab.on("pageerror", (error) => failures.push(`${basename(page)}: script error: ${error.message}`));
  tab.on("console", (message) => {
    if (message.type() === "error") failures.push(`${basename(page)}: console: ${message.text()}`);
  });
  tab.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) failures.push(`${basename(page)}: asks the network for ${request.url()}`);
  });
  await tab.goto(pathToFileURL(resolve(page)).href, { waitUntil: "load" });
  return tab;
}

async function content(tab, page) {
  check(page, statSync(page).size < LARGEST_BYTES, "is not below 6 MB");
  check(page, (await tab.title()).length > 0, "has no title");
  const links = await tab.locator("nav a").evaluateAll((all) => all.map((link) => link.getAttribute("href").slice(1)));
  check(page, links.length >= 5, `lists ${links.length} parts only`);
  for (const id of links) check(page, (await tab.locator(`[id="${id}"]`).count()) === 1, `has no part #${id}`);
  const figures = await tab.locator("figure").evaluateAll((all) =>
    all.map((figure) => {
      const svg = figure.querySelector("svg");
      const box = svg?.getBoundingClientRect();
      const shapes = svg?.querySelectorAll("path,line,polyline,polygon,rect,circle").length ?? 0;
      const texts = [...(svg?.querySelectorAll("text") ?? [])];
      const outside = texts.filter((text) => {
        const at = text.getBoundingClientRect();
        return at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1;
      });
      const rows = figure.querySelectorAll("details tr").length;
      const words = outside.map((text) => text.textContent).join(", ");
      return { id: figure.id, words, width: box?.width ?? 0, height: box?.height ?? 0, shapes, outside: outside.length, rows,
        name: svg?.getAttribute("aria-label") ?? svg?.querySelector("title")?.textContent ?? "" };
    }));
  check(page, figures.length >= 4, `has ${figures.length} pictures only`);
  for (const figure of figures) {
    check(page, figure.width > 200 && figure.height > 100, `${figure.id} is ${figure.width} x ${figure.height}`);
    check(page, figure.shapes >= 5, `${figure.id} is empty`);
    check(page, figure.outside === 0, `${figure.id} has texts outside of the picture: ${figure.words}`);
    check(page, figure.rows >= 2, `${figure.id} has no data beside it`);
    check(page, figure.name.length > 0, `${figure.id} has no name for a screen reader`);
  }
  check(page, (await tab.locator(".listing tr").count()) > 5, "has no listing");
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(page, wide <= 0, `is ${wide} pixels wider than the window`);
}

async function keyboard(tab, page) {
  await tab.keyboard.press("Tab");
  check(page, await tab.evaluate(() => document.activeElement.className === "skip"), "Tab does not reach the skip link");
  await tab.keyboard.press("Enter");
  check(page, tab.url().endsWith("#main"), "the skip link does not skip");
  const focus = async (selector) => {
    for (let presses = 0; presses < 200; presses += 1) {
      await tab.keyboard.press("Tab");
      if (await tab.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return true;
    }
    return false;
  };
  check(page, await focus("figure details > summary"), "Tab does not reach the data of a picture");
  await tab.keyboard.press("Enter");
  check(page, (await tab.locator("details[open]").count()) === 1, "Enter does not show the data of a picture");
  check(page, await focus(".tools input"), "Tab does not reach the filter of the listing");
  // A page has several listings: the one behind the filter that has the focus.
  const shown = () =>
    tab.evaluate(() => {
      const rows = document.activeElement.closest(".tools").nextElementSibling.querySelectorAll("tr");
      return [...rows].filter((row) => row.getClientRects().length > 0).length;
    });
  const before = await shown();
  await tab.keyboard.press("Space");
  const after = await shown();
  check(page, after > 1 && after < before, `the filter shows ${after} of ${before} lines`);
}

/** Brightness of the page and of its text, 0 to 255. */
async function brightness(tab) {
  return tab.evaluate(() => {
    const mean = (color) => color.match(/\d+/g).slice(0, 3).map(Number).reduce((sum, part) => sum + part, 0) / 3;
    const style = getComputedStyle(document.body);
    return { ground: mean(style.backgroundColor), text: mean(style.color) };
  });
}

async function themes(tab, page, colorScheme) {
  const at = await brightness(tab);
  const isDark = colorScheme === "dark";
  check(page, isDark ? at.ground < 60 && at.text > 180 : at.ground > 220 && at.text < 80, `is not readable in ${colorScheme}`);
  await tab.locator("#theme").press("Enter");
  const other = await brightness(tab);
  check(page, other.ground > 128 === isDark, `the button does not leave ${colorScheme}`);
  await tab.locator("#theme").press("Enter");
}

async function narrow(tab, page) {
  await tab.setViewportSize({ width: 420, height: 900 });
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const widest = await tab.evaluate(() =>
    [...document.querySelectorAll("main > *, section > *, nav > *")].filter((box) => box.getBoundingClientRect().right > innerWidth)
      .map((box) => `${box.tagName.toLowerCase()}${box.className && "." + box.className}`).slice(0, 3).join(", "));
  check(page, wide <= 0, `is ${wide} pixels wider than a narrow window: ${widest}`);
}

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
try {
  for (const page of pages) {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await open(browser, page, colorScheme);
      await content(tab, page);
      if (colorScheme === "light") await keyboard(tab, page);
      await themes(tab, page, colorScheme);
      if (screenshots) {
        mkdirSync(screenshots, { recursive: true });
        await tab.screenshot({ path: join(screenshots, `${basename(page, ".html")}-${colorScheme}.png`), fullPage: true });
      }
      await narrow(tab, page);
      await tab.context().close();
    }
  }
} finally {
  await browser.close();
}
if (pages.length === 0) failures.push("no page given");
failures.forEach((failure) => console.error(failure));
console.log(`${pages.length} pages, ${failures.length} failures`);
process.exitCode = failures.length > 0 ? 1 : 0;
