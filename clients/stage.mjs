// The program, the real Codex and a scripted model, set up for one test of a client.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const programs = process.env.PILOTHOUSE_BIN_DIR ?? join(root, "target/debug");

/** The real Codex: what the environment names, else what `cargo xtask test` installed. */
function codex() {
  if (process.env.PILOTHOUSE_CODEX) return process.env.PILOTHOUSE_CODEX;
  const version = readFileSync(join(root, "codex-version.txt"), "utf8").trim();
  const [npm, rust] = process.arch === "arm64" ? ["arm64", "aarch64"] : ["x64", "x86_64"];
  return join(
    root,
    ".tools/codex",
    version,
    `node_modules/@openai/codex-linux-${npm}/vendor/${rust}-unknown-linux-musl/bin/codex`,
  );
}

/** Sets a stage; `close` takes it down again. */
export async function setStage() {
  const program = join(programs, "pilothouse");
  for (const file of [program, codex()]) {
    if (!existsSync(file)) throw new Error(`${file} is missing; run: cargo xtask test`);
  }
  const folder = (name) => mkdtempSync(join(tmpdir(), `pilothouse-${name}-`));
  const [home, project] = [folder("home"), folder("project")];
  const model = spawn(join(programs, "scripted-model"), { stdio: ["pipe", "pipe", "inherit"] });
  const [place] = await new Promise((resolve) =>
    createInterface(model.stdout).once("line", (line) => resolve([JSON.parse(line)])),
  );
  const gone = new Promise((resolve) => model.once("exit", resolve));
  return {
    project,
    command: program,
    args: ["mcp"],
    env: {
      PATH: process.env.PATH,
      HOME: place.codexHome,
      CODEX_HOME: place.codexHome,
      HOME: place.codexHome,
      SCRIPTED_KEY: "scripted",
      PILOTHOUSE_HOME: home,
      PILOTHOUSE_CODEX: codex(),
    },
    async close() {
      model.stdin.end();
      await gone;
      for (const it of [home, project]) rmSync(it, { recursive: true, force: true });
    },
  };
}

/** A prompt that holds what the model will say and do. */
export const prompt = (...steps) => `go\nSCRIPT:${JSON.stringify(steps)}`;
