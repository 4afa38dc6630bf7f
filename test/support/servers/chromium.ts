import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { suite as plainSuite } from 'uvu';
import { suiteUnless } from '#test/support/servers/real-servers';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

const executablePath = findChromium();

const lack =
  executablePath === undefined ? 'no Chromium was found (apt-get install chromium)' : undefined;

/** uvu's `suite`. Without Chromium, tests are skipped and hooks do not run. */
export const chromiumSuite: typeof plainSuite = (name, context) => suiteUnless(lack)(name, context);

/** Starts Chromium with further arguments. */
export function launchChromium(more: readonly string[] = []): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error('Chromium is missing: apt-get install chromium');
  }
  const args = [...ARGUMENTS, ...more];
  return chromium.launch({ executablePath, args, chromiumSandbox: false });
}

function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH'];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = [...folders.map((folder) => join(folder, 'chromium')), '/usr/bin/chromium'];
  return (named === undefined ? candidates : [named]).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
