import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

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

/**
 * Whether browser tests are skipped: Chromium is missing, and this is not CI, where that is a
 * failure.
 */
export const isChromiumMissing = executablePath === undefined && process.env['CI'] !== 'true';
if (isChromiumMissing) {
  console.log('skipped because no Chromium was found (apt-get install chromium)');
}

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
