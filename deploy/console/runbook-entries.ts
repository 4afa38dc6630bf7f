import { readFileSync } from 'node:fs';

/** An entry of the runbook, part by part: what it means, what to look at, what to do. */
type Parts = readonly (readonly [title: string, text: string])[];

/**
 * The entries of the runbook by their names, as plain text: the page of the cluster shows them where they
 * are wanted, without a network or a checkout.
 */
export function runbookEntries(file = 'docs/runbook.md'): Readonly<Record<string, Parts>> {
  const text = readFileSync(file, 'utf8');
  const entries = text.split(/^### /m).slice(1);
  return Object.fromEntries(
    entries.map((entry) => {
      const [name = '', ...lines] = entry.split('\n');
      return [name, partsOf(lines.join('\n').split(/^## /m)[0] ?? '')];
    }),
  );
}

function partsOf(text: string): Parts {
  const [, ...pieces] = text.split(/^\*\*(Means|Look at|Do)\.\*\*\s/m);
  const titles = pieces.filter((_, index) => index % 2 === 0);
  return titles.map((title, index) => [title, plain(pieces[2 * index + 1] ?? '')]);
}

/** Without the marks of Markdown, and in one line. */
function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
