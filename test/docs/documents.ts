import { globSync, readFileSync } from 'node:fs';

/** A parsed document. */
export type Document = {
  readonly path: string;
  readonly text: string;
  /** Code spans outside code blocks, in order. */
  readonly spans: readonly Span[];
  /** Lines of all code blocks. */
  readonly codeLines: readonly string[];
};

/** A code span. `follows` is the previous span, if only a space separates the two spans. */
type Span = { readonly code: string; readonly follows: string | undefined };

/** Matches a fenced code block. */
const FENCE = /^```.*\n([\s\S]*?)^```$/gm;

/** All documents for people. */
export const DOCUMENTS: readonly Document[] = globSync([
  '*.md',
  'docs/**/*.md',
  'loadtest/*.md',
  'clients/*.md',
  'clients/{cases,mcp,typescript,python}/*.md',
])
  .toSorted()
  .map((path) => documentOf(path, readFileSync(path, 'utf8')));

/** Parses a document. */
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

/** Anchors that GitHub generates for the headings of a text. */
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
