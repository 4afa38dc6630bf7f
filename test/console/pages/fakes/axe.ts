import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type Finding = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

/** Accessibility violations on the current page, found by axe. */
export async function faultsOf(page: Page): Promise<string[]> {
  // Injected through the debugger: the page's own policy would block a script.
  await page.evaluate(`if (typeof axe === 'undefined') { ${AXE} }`);
  const found = (await page.evaluate(
    'axe.run().then(({ violations }) => violations)',
  )) as Finding[];
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
