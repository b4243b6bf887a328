// Runs the steps of the workflow for pull requests as GitHub would, one after the other, in a scratch repository: with a
// change that makes nothing slower, and with one that the gate must stop.
//
//     node run.mjs WORKFLOW ROOT SITE
//
// ROOT is a checkout of the project, whose examples are the kernels; SITE is a folder in which releases lie.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";

const [file, root, site] = process.argv.slice(2);
const workflow = parse(readFileSync(file, "utf8"));
const GATE = "Predict the pull request";

// One kernel of the examples with conflicts of banks, and one without.
function kernel(example) {
  const read = (name) => readFileSync(join(root, "examples", example, name), "utf8").replaceAll(example, "product");
  return { "product.cu": read(`${example}.cu`), "product.toml": read("launch.toml") };
}

function must(folder, words) {
  const done = spawnSync(words[0], words.slice(1), { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${words.join(" ")}: ${done.stderr}`);
  return done.stdout.trim();
}

function commit(folder, files, message) {
  mkdirSync(join(folder, "kernels"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "kernels", name), text);
  must(folder, ["git", "add", "-A"]);
  must(folder, ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", message]);
  return must(folder, ["git", "rev-parse", "HEAD"]);
}

// The few contexts that the workflow uses.
function filled(text, base) {
  return String(text).replaceAll(/\$\{\{\s*(.*?)\s*\}\}/g, (_, name) => {
    if (name === "github.event.pull_request.base.sha") return base;
    throw new Error(`no value for ${name}`);
  });
}

// Returns the exit code of each step by its name.
function perform(before, after) {
  const scratch = mkdtempSync(join(tmpdir(), "workflow-"));
  try {
    const [folder, temporary] = [join(scratch, "repository"), join(scratch, "temp")];
    mkdirSync(folder), mkdirSync(temporary);
    must(folder, ["git", "init", "-q"]);
    const base = commit(folder, before, "before");
    commit(folder, after, "after");
    const [paths, summary] = [join(scratch, "path"), join(scratch, "summary")];
    for (const empty of [paths, summary]) writeFileSync(empty, "");
    const codes = {};
    let failed = false;
    for (const step of workflow.jobs.predict.steps.filter((step) => step.run)) {
      if (failed && step.if !== "always()") continue;
      const added = readFileSync(paths, "utf8").split("\n").filter(Boolean);
      const env = {
        ...process.env,
        ...workflow.env,
        RELEASES: pathToFileURL(site).href,
        ...Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value, base)])),
        PATH: [...added, process.env.PATH].join(":"),
        RUNNER_TEMP: temporary,
        GITHUB_PATH: paths,
        GITHUB_STEP_SUMMARY: summary,
      };
      const done = spawnSync("bash", ["-eo", "pipefail", "-c", filled(step.run, base)], { cwd: folder, env, encoding: "utf8" });
      codes[step.name] = done.status;
      console.log(`  ${step.name}: ${done.status}`);
      if (done.status !== 0 && step.name !== GATE) console.error(done.stdout, done.stderr);
      failed ||= done.status !== 0;
    }
    return { codes, shown: readFileSync(summary, "utf8") };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const [fast, slow] = [kernel("abt_conflict_free"), kernel("abt_conflict")];
let wrong = 0;
for (const [what, before, after, code] of [
  ["a kernel that gets faster", slow, fast, 0],
  ["a kernel that gets slower", fast, slow, 3],
]) {
  console.log(`${what}:`);
  const { codes, shown } = perform(before, after);
  const others = Object.entries(codes).filter(([name, status]) => name !== GATE && status !== 0);
  if (codes[GATE] !== code || others.length || !shown.includes("h200")) {
    console.error(`${what}: the gate ended with ${codes[GATE]} in place of ${code}; summary:\n${shown}`);
    wrong++;
  }
}
process.exit(wrong ? 1 : 0);
