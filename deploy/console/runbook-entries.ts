import { readFileSync } from 'node:fs';

/** Parts of a runbook entry: meaning, checks and actions. */
type Parts = readonly (readonly [title: string, text: string])[];

/**
 * Runbook entries by name, as plain text. The build embeds the entries in the cluster page, so the
 * page needs no network and no checkout.
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

/** Removes Markdown and line breaks. */
function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
