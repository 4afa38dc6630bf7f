import { globSync, readFileSync } from 'node:fs';

/** A document of the repository, with its code set apart from its text. */
export type Document = {
  readonly path: string;
  readonly text: string;
  /** What stands between backticks, outside blocks of code, in order. */
  readonly spans: readonly Span[];
  /** The lines of its blocks of code. */
  readonly codeLines: readonly string[];
};

/** A piece of code in the text; `follows` is the one that only a space divides from it. */
type Span = { readonly code: string; readonly follows: string | undefined };

/** A block of code. */
const FENCE = /^```.*\n([\s\S]*?)^```$/gm;

/** Every document that people read; what measurements print is left out. */
export const DOCUMENTS: readonly Document[] = globSync([
  '*.md',
  'docs/**/*.md',
  'loadtest/*.md',
  'clients/*.md',
  'clients/{cases,typescript,python}/*.md',
])
  .toSorted()
  .map((path) => documentOf(path, readFileSync(path, 'utf8')));

/** Takes a document apart. */
export function documentOf(path: string, text: string): Document {
  const codeLines = [...text.matchAll(FENCE)].flatMap(([, code = '']) => code.split('\n'));
  const prose = text.replaceAll(FENCE, '');
  const spans: Span[] = [];
  let end = -1;
  for (const match of prose.matchAll(/`([^`\n]+)`/g)) {
    const follows = prose.slice(end, match.index) === ' ' ? spans.at(-1)?.code : undefined;
    spans.push({ code: match[1] ?? '', follows });
    end = match.index + match[0].length;
  }
  return { path, text, spans, codeLines };
}

/** The anchors that GitHub gives to the headings of a text. */
export function anchorsIn(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replaceAll(FENCE, '').matchAll(/^#+ (.+)$/gm)) {
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '');
    const anchor = words.replaceAll(' ', '-');
    let n = 0;
    while (anchors.has(n === 0 ? anchor : `${anchor}-${n}`)) n += 1;
    anchors.add(n === 0 ? anchor : `${anchor}-${n}`);
  }
  return anchors;
}
