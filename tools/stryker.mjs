// For tools/mutate_javascript.py: `node stryker.mjs FILE`, beside node_modules/, writes the mutants that Stryker makes of a
// file as JSON. Strings are not changed.
import { readFileSync } from "node:fs";
import { Instrumenter } from "@stryker-mutator/instrumenter";

const [name] = process.argv.slice(2);
const logger = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };
const files = [{ name, mutate: true, content: readFileSync(name, "utf-8") }];
const options = { plugins: null, excludedMutations: ["StringLiteral"], ignorers: [] };
const { mutants } = await new Instrumenter(logger).instrument(files, options);
console.log(JSON.stringify(mutants.filter(({ status }) => status !== "Ignored")));
